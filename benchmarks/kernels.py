#!/usr/bin/env python3
"""Nanoseconds per position of a chain, for each instruction set of this machine.

    python benchmarks/kernels.py [--labels 4 8 16 26 32 64] [--repeats 7]

CPU time per position of a chain of 500 nodes, for each number of labels: potentials from 256 dense
features and from 30 of 128 indicators (and the best label of each node), and the additional time of
transitions (Viterbi). One process for each instruction set, in turn; the minimum of the repeats.
Prints a table and JSON.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np
from scipy import sparse

SETS = ("default", "x86-64-v3", "x86-64-v4")
LENGTH = 500
KINDS = ("dense", "indicators", "viterbi")


def nanoseconds(problem, w, repeats):
    """Return the CPU nanoseconds per position of a call of the oracle."""
    problem.best_code(0, w, 0.0)
    least, n_calls = np.inf, 20
    for _ in range(repeats):
        begin = time.thread_time()
        for _ in range(n_calls):
            problem.best_code(0, w, 0.0)
        least = min(least, time.thread_time() - begin)
    return 1e9 * least / (n_calls * LENGTH)


def measure(n_labels, repeats):
    """Return the instruction set in use and its nanoseconds: {K: {kind: ns}}."""
    from sstruct._oracles.chain._viterbi import instructions
    from sstruct._problems.chain._chain_problem import ChainProblem
    from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
    from sstruct._solvers.core._state import aligned_zeros

    rng = np.random.default_rng(0)
    columns = np.concatenate([np.sort(rng.permutation(128)[:30]) for _ in range(LENGTH)])
    indicators = sparse.csr_matrix(
        (np.ones(len(columns)), columns, np.arange(LENGTH + 1) * 30), (LENGTH, 128)
    )
    features = {"dense": rng.standard_normal((LENGTH, 256)), "indicators": indicators}
    out = {}
    for K in n_labels:
        out[K] = {}
        for kind in KINDS:
            X = features.get(kind, indicators)
            problem = ChainProblem(
                X, ChainRanges([0], [LENGTH]), ChainModel(K, transitions=kind == "viterbi")
            )
            w = aligned_zeros(problem.n_weights)
            for part in problem.layout.views(w).values():
                part[...] = rng.standard_normal(part.shape)
            out[K][kind] = nanoseconds(problem, w, repeats)
        out[K]["viterbi"] -= out[K]["indicators"]
    return instructions(), out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, nargs="+", default=[4, 8, 16, 26, 32, 64])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--measure", action="store_true", help="only this process, as JSON")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.labels, arguments.repeats)))
        return
    results = {}
    for highest in SETS:
        done = subprocess.run(
            [sys.executable, __file__, "--measure", *sys.argv[1:]],
            env={**os.environ, "SSTRUCT_INSTRUCTIONS": highest},
            capture_output=True,
            text=True,
            check=True,
        )
        used, figures = json.loads(done.stdout)
        results[used] = figures
    print(f"{'set':12s}{'K':>4s}" + "".join(f"{kind:>12s}" for kind in KINDS))
    for used, figures in results.items():
        for K, row in figures.items():
            print(f"{used:12s}{K:>4s}" + "".join(f"{row[kind]:12.1f}" for kind in KINDS))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
