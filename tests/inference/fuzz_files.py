"""Corrupt model files; reading must succeed or raise an error with a line number.

Memory is limited in both cases.

    python -m tests.inference.fuzz_files --seconds 600
"""

import argparse
import gzip
import re
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np

from sstruct.inference import MRF, read_cfn, read_dd, read_uai, read_uai_evidence, write_uai
from tests.reference.mrf import random_model

MAX_ENTRIES = 20_000
# 16 bytes per entry, and a constant for a block of text, its words, and the buffers of NumPy.
MAX_BYTES = 16 * MAX_ENTRIES + 4_000_000
WORDS = b"0 1 -1 2 3 7 4294967296 99999999999999999999 1e999 nan inf -0.5 MARKOV p a e gm".split()

DD = b"""c two problems
gm 0 1
p 2 3 4 3
a 0 0 0 -1.5
a 1 0 2 0.25
a 2 1 0 1
a 3 1 1 -2
e 0 3 0.5
e 1 2 -1.5
e 3 1 4
gm 1 2
p 1 1 1 0
a 0 0 0 3
"""

CFN = b"""{"problem": {"name": "two", "mustbe": "<10.0"},
"variables": {"x": ["a", "b"], "y": 2, "z": 3},
"functions": {
"f": {"scope": ["x", "y"], "costs": [1, 2, 3, 4]},
"g": {"scope": ["x"], "defaultcost": 0, "costs": ["b", 1.5]},
"h": {"scope": ["y", "x"], "costs": "i"},
"i": {"scope": ["x", "y"], "costs": [-1, 0, 0, 1]},
"j": {"scope": [0, 1, 2], "defaultcost": 2, "costs": ["a", 1, 2, 0.5, 1, 1, 1, 0]}
}}
"""


def sources(rng, folder):
    """Return the contents of valid files by reader."""
    plain = random_model(rng, 5, 0.7, "forbidding", n_factors=2)
    write_uai(MRF(*plain.arguments()), folder / "valid.uai")
    evidence = b"# seen\n1\n3 0 1 2 0 4 1\n"
    return {
        read_uai: (folder / "valid.uai").read_bytes(), read_dd: DD, read_uai_evidence: evidence,
        read_cfn: CFN,
    }  # fmt: skip


def damaged(rng, text):
    """Return a text after a few random edits; sometimes compressed, and then edited again."""
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(6)
        at = int(rng.integers(len(text) + 1))
        if kind == 0:
            text = text[:at]
        elif kind == 1:
            text = text[:at] + bytes([rng.integers(256)]) + text[at + 1 :]
        elif kind == 2:
            end = at + int(rng.integers(1, 30))
            text = text[:at] + text[end:]
        elif kind == 3:
            text = text[:at] + text[at : at + int(rng.integers(1, 30))] + text[at:]
        else:
            words = list(re.finditer(rb"\S+", text))
            if words:
                word = words[rng.integers(len(words))]
                new = WORDS[rng.integers(len(WORDS))] if kind == 4 else b""
                text = text[: word.start()] + new + text[word.end() :]
    if rng.random() < 0.2:
        text = gzip.compress(text)
        if rng.random() < 0.5:
            at = int(rng.integers(len(text)))
            text = text[:at] + (bytes([rng.integers(256)]) if rng.random() < 0.5 else b"")
    return text


def attempt(reader, path):
    """Read a file; return "read" or the message of the error."""
    tracemalloc.start()
    try:
        reader(path, max_entries=MAX_ENTRIES)
        outcome = "read"
    except ValueError as error:
        outcome = str(error)
        assert re.search(r", line \d+: ", outcome), outcome
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MAX_BYTES, peak
    return outcome


def fuzz(rng, folder, continues):
    """Read damaged files while continues(n) is true; count the files read and rejected."""
    counts, n = {"read": 0, "rejected": 0}, 0
    while continues(n):
        for reader, text in sources(rng, folder).items():
            for _ in range(10):
                path = folder / "damaged"
                path.write_bytes(damaged(rng, text))
                outcome = attempt(reader, path)
                counts["read" if outcome == "read" else "rejected"] += 1
                n += 1
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(arguments.seed)
        print(fuzz(rng, Path(folder), lambda n: time.monotonic() < end))


if __name__ == "__main__":
    main()
