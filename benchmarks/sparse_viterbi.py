#!/usr/bin/env python3
"""How much faster is prediction with very many labels where few transitions have a weight?

Fits ChainSSVM to `make_large_domain_sequences` of --tokens tokens and --labels labels with GDMM
(two passes; transitions that it has not met have weight 0) and decodes as many tokens with the
exact decoder for sparse transitions, which `predict` takes, and with dense Viterbi. Both must find
labelings of the same scores. CPU seconds of one thread, medians of --repeats for both in turn.

    python benchmarks/sparse_viterbi.py [--labels 300 1000 3000] [--tokens 2000] [--repeats 3]
        [--json FILE]
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from sstruct import ChainSSVM
from sstruct._estimators.chain.samples import pack_chains
from sstruct._problems.chain._sparse import decode_sparse
from sstruct._problems.core._decode import decode
from sstruct.chain import as_sparse
from sstruct.datasets import make_large_domain_sequences

MEAN_LENGTH = 14.4


def scores(model, X, labels):
    """Scores of labelings, from the fitted weights."""
    parts, found = model._views(), []
    for x, y in zip(X, labels):
        score = np.einsum("td,td->", x, parts["coef"][y]) + parts["intercept"][y].sum()
        score += parts["start"][y[0]] + parts["end"][y[-1]]
        found.append(score + parts["edge"][y[:-1], y[1:]].sum())
    return np.array(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, nargs="+", default=[300, 1000, 3000])
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    print(f"{'labels':>8}{'transitions':>13}{'tokens':>8}{'sparse':>10}{'dense':>10}{'ratio':>8}")
    for n_labels in arguments.labels:
        n = round(arguments.tokens / MEAN_LENGTH)
        X, y = make_large_domain_sequences(2 * n, n_labels, random_state=0)
        model = ChainSSVM(
            lam=1 / n,
            loss="hamming-count",
            solver="gdmm",
            max_iter=2,
            classes=np.arange(n_labels),
            random_state=0,
        ).fit(X[:n], y[:n])
        test = X[n:]
        nodes = pack_chains(model, test, fitted=True)
        problem, w = model._decoder(nodes)
        transitions = as_sparse(model._views(), model._masks)
        seconds, labels = {"sparse": [], "dense": []}, {}
        for _ in range(arguments.repeats):
            for way in seconds:
                begin = time.process_time()
                if way == "sparse":
                    codes = decode_sparse(problem, w, transitions, 1)
                else:
                    codes = decode(problem, w, 1)
                seconds[way].append(time.process_time() - begin)
                labels[way] = np.split(np.asarray(codes), np.cumsum(nodes.lengths)[:-1])
        sparse, dense = (scores(model, test, found) for found in labels.values())
        np.testing.assert_allclose(sparse, dense, rtol=1e-9, atol=1e-9)
        medians = {way: float(np.median(found)) for way, found in seconds.items()}
        row = {
            "labels": n_labels,
            "transitions": int(np.count_nonzero(model._views()["edge"])),
            "tokens": int(nodes.lengths.sum()),
            **medians,
        }
        rows.append(row)
        print(
            f"{row['labels']:8}{row['transitions']:13}{row['tokens']:8}{row['sparse']:8.3f} s"
            f"{row['dense']:8.3f} s{row['dense'] / row['sparse']:8.1f}",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
