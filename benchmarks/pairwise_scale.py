#!/usr/bin/env python3
"""Measure the held-out error for several sizes of pairwise features relative to node features.

    python benchmarks/pairwise_scale.py [--data "OCR letters, large" ...] [--shares]
        [--seeds 1] [--output folder]

Multiplies the node features by s, with lam="auto" and pairwise features (transitions, starts, ends,
edges, biases) of size 1: the same model as with ``pairwise_scale=1 / s`` and unscaled features.
"norm" is the root mean square norm of the unscaled features of a node. For each set of
``defaults_data.py`` with pairwise features, and some additional sets of chains, prints the error at
each s divided by the error at s = 1, and CPU seconds. Rows are appended to pairwise_scale.csv in
--output; existing rows are not measured again. With --shares, the size of pairwise features is a
fraction of "norm": s is 1 / (share * norm). Results are means over --seeds random seeds. Fits use
one thread. Requires SSTRUCT_DATA.
"""

import argparse
import csv
import gzip
import os
import time
import warnings
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from benchmark_problems import shared_file
from defaults import error_of, node_features
from defaults_data import SETS, Trial, taken
from scipy import sparse

from sstruct import ChainSSVM, Sequences
from sstruct.datasets import fetch_ocr_letters

COLUMNS = ("data", "norm", "size", "error", "seconds", "passes", "converged")
FACTORS = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05)
SHARES = (0.35, 0.5, 0.6, 0.7, 0.85, 1.0, 1.4)


def ocr_folds(small):
    """Return OCR letters, trained on fold 0 and tested on the others if `small`, or vice versa."""
    bunch = fetch_ocr_letters()
    first, others = np.flatnonzero(bunch.fold == 0), np.flatnonzero(bunch.fold != 0)
    held_out = [(first, others) if small else (others, first)]
    return Trial(ChainSSVM, list(bunch.data), list(bunch.target), held_out=held_out)


def many_labels(n_labels=200, n_tokens=12_000, n_features=40, length=20):
    """Return chains in which each label has five likely successors."""
    rng = np.random.default_rng(0)
    successors = rng.integers(n_labels, size=(n_labels, 5))
    centers = rng.normal(size=(n_labels, n_features))
    n = 2 * n_tokens // length
    y = np.empty((n, length), dtype=int)
    y[:, 0] = rng.integers(n_labels, size=n)
    for at in range(1, length):
        likely = successors[y[:, at - 1], rng.integers(5, size=n)]
        y[:, at] = np.where(rng.random(n) < 0.9, likely, rng.integers(n_labels, size=n))
    X = 1.2 * centers[y] + rng.normal(scale=1.65, size=(n, length, n_features))
    halves = np.arange(n // 2), np.arange(n // 2, n)
    return Trial(ChainSSVM, list(X), list(y), held_out=[halves])


def ewt_vectors(n_sentences=3000):
    """Return sentences with universal tags; the only features are word vectors of norm 4."""
    with np.load(shared_file("word_vectors_256.npz")) as file:
        place = {word: i for i, word in enumerate(file["words"].tolist())}
        vectors = file["vectors"].astype(np.float32)
    vectors *= 4 / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    none = np.zeros(vectors.shape[1], dtype=np.float32)
    with gzip.open(shared_file("ud_english_ewt_train.txt.gz"), "rt", encoding="utf-8") as lines:
        blocks = lines.read().strip().split("\n\n")
    blocks = blocks[:: len(blocks) // n_sentences][:n_sentences]
    rows = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    X = [
        np.array([vectors[place[w[0].lower()]] if w[0].lower() in place else none for w in s])
        for s in rows
    ]
    return Trial(ChainSSVM, X, [[w[1] for w in s] for s in rows], repeats=0, n_folds=3)


CHAINS = {
    "OCR letters, 626 words": lambda: ocr_folds(small=True),
    "OCR letters, 6,251 words": lambda: ocr_folds(small=False),
    "200 labels": many_labels,
    "EWT tags, vectors": ewt_vectors,
}
# Sets that are excluded: without pairwise features, and with positions as features.
WITHOUT_PAIRS = ("iris", "wine", "breast", "digits", "USPS")
WITH_POSITIONS = ("poses", "stick figures")


def scaled(X, s):
    """Return samples whose node features are multiplied by s."""
    if isinstance(X, Sequences):
        return Sequences(X.flat * s, X.offsets)
    if sparse.issparse(X) or isinstance(X, np.ndarray):
        return X * s
    return [(x[0] * s, *x[1:]) if isinstance(x, tuple) else np.asarray(x) * s for x in X]


def root_mean_square_norm(trial):
    """Return the root mean square norm of the features of a node."""
    rows, _ = node_features(trial)
    squares = rows.multiply(rows) if sparse.issparse(rows) else np.square(rows, dtype=float)
    return float(np.sqrt(squares.sum() / rows.shape[0]))


def measure(trial, X, n_seeds):
    """Return error, CPU seconds, passes and convergence: means over folds and seeds."""
    rows = []
    for (fit, held), seed in product(trial.folds(), range(n_seeds)):
        model = trial.kind(random_state=seed)
        if "pairwise_scale" in model.get_params():
            model.set_params(pairwise_scale=1.0)
        begin = time.process_time()
        model.fit(taken(X, fit), taken(trial.y, fit))
        seconds = time.process_time() - begin
        error = error_of(model, taken(X, held), taken(trial.y, held))
        rows.append([error, seconds, model.n_iter_, model.converged_])
    return np.mean(rows, axis=0)


def main():
    excluded = (*WITHOUT_PAIRS, *WITH_POSITIONS)
    sets = {name: make for name, make in SETS.items() if not name.startswith(excluded)} | CHAINS
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", choices=[*sets], default=[*sets])
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--shares", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    path, known = arguments.output / "pairwise_scale.csv", {}
    if path.exists():
        with path.open(newline="", encoding="utf-8") as lines:
            known = {(row["data"], row["size"]): row for row in csv.DictReader(lines)}
    sizes = [f"s={s:g}" for s in FACTORS]
    if arguments.shares:
        sizes = ["s=1", *(f"share={share:g}" for share in SHARES)]
    print(f"{'data':25}{'norm':>7}" + "".join(f"{size:>16}" for size in sizes))
    for name in arguments.data:
        trial = norm = None
        for size in sizes:
            if (name, size) in known:
                continue
            if trial is None:
                trial = sets[name]()
                norm = root_mean_square_norm(trial)
            kind, value = size.split("=")
            s = float(value) if kind == "s" else 1 / (float(value) * norm)
            found = measure(trial, scaled(trial.X, s), arguments.seeds)
            row = dict(zip(COLUMNS, (name, f"{norm:.4g}", size, *(f"{x:.6g}" for x in found))))
            with path.open("a", newline="", encoding="utf-8") as lines:
                writer = csv.DictWriter(lines, COLUMNS)
                if not known:
                    writer.writeheader()
                writer.writerow(row)
            known[name, size] = row
        first = known[name, "s=1"]
        print(f"{name:25}{float(first['norm']):7.3g}", end="")
        for row in (known[name, size] for size in sizes):
            print(f"{float(row['error']) / float(first['error']):9.3f}", end="")
            print(f"{float(row['seconds']):6.2f}s", end="")
        print(f"  {float(first['error']):.4f}", flush=True)


if __name__ == "__main__":
    main()
