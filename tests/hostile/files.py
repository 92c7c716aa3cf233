"""Corrupt text files, mapped arrays and matrices."""

import functools
import io

import numpy as np
from scipy import sparse

from sstruct import MulticlassSSVM
from sstruct.mapped import open_mapped
from tests.hostile.case import REJECTED
from tests.hostile.workplace import folder
from tests.inference import fuzz_files

MAX_ENTRIES = 20_000


@functools.cache
def texts():
    """Return the bytes of valid model files by reader."""
    rng = np.random.default_rng(0)
    return [pair for _ in range(5) for pair in fuzz_files.sources(rng, folder()).items()]


def long_words(random, text):
    """Insert a word, a comment or a line that is much longer than all others."""
    at = random.randrange(len(text) + 1)
    piece = random.choice((b"9", b"a", b" ", b"\t", b"c ", b"#", b"1 ", b"-", b"\n", b"\0"))
    return text[:at] + piece * random.choice((1000, 80_000)) + text[at:]


def attack(case):
    """Read a damaged file."""
    kind = case.random.random()
    path = folder() / "damaged"
    if kind < 0.6:
        reader, text = case.random.choice(texts())
        text = fuzz_files.damaged(case.generator(), text)
        if case.random.random() < 0.02:
            text = long_words(case.random, text)
        path.write_bytes(text)
        case.attempt(f"{reader.__name__} {text[:80]!r}", reader, path, max_entries=MAX_ENTRIES)
    else:
        mapped(case, path)


def mapped(case, path):
    """Memory-map an array or a matrix, and use the result as a user would."""
    matrix = np.arange(12.0).reshape(4, 3) % 5
    file = io.BytesIO()
    if case.random.random() < 0.3:
        np.save(file, stored(case, "array", matrix))
    else:
        parts = sparse.csr_matrix(matrix)
        arrays = {
            "indices": parts.indices, "indptr": parts.indptr, "data": parts.data,
            "format": np.array("csr"), "shape": np.array(parts.shape),
        }  # fmt: skip
        for _ in range(case.random.randint(0, 2)):
            arrays = damaged_arrays(case, arrays)
        np.savez(file, **arrays)
    text = file.getvalue()
    if case.random.random() < 0.4:
        text = damaged_bytes(case.random, text)
    path.write_bytes(text)
    found = case.attempt("open_mapped", open_mapped, path)
    if found is not REJECTED:
        case.attempt("repr", repr, found)
        # The mapped data may be invalid; a fit validates them first.
        labels = np.arange(found.shape[0] if found.ndim else 1) % 2
        case.attempt("fit", MulticlassSSVM(max_iter=2, random_state=0).fit, found, labels)


def damaged_arrays(case, arrays):
    """Return arrays by name as a file may contain them, one of them damaged."""
    name = case.random.choice(list(arrays))
    out = dict(arrays)
    if case.random.random() < 0.1:
        del out[name]
        return out
    out[name] = stored(case, name, arrays[name])
    return out


def stored(case, name, valid):
    """Return a damaged array that a file can hold."""
    try:
        new = np.asarray(case.damaged(name, valid))
        np.save(io.BytesIO(), new)  # pickles objects
    except Exception:  # not convertible to an array, or not to bytes
        return valid
    return new


def damaged_bytes(random, text):
    """Change, drop or add some bytes."""
    text = bytearray(text)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(text)) if text else 0
        kind = random.randrange(4)
        if kind == 0 and text:
            text[at] ^= 1 << random.randrange(8)
        elif kind == 1 and text:
            text[at] = random.choice((0, 255, 127))
        elif kind == 2:
            del text[at : at + random.randint(1, 40)]
        else:
            text[at:at] = bytes(random.randrange(256) for _ in range(random.randint(1, 8)))
    return bytes(text)
