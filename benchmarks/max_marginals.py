#!/usr/bin/env python3
"""How long do max-marginals of images by cuts take, beside decoding them?

    python benchmarks/max_marginals.py [--sizes 64 128 256] [--strengths 0.3 1 3 10]
        [--repeats 3] [--json FILE]

A square seen through noise as strong as the signal, two labels, 4 neighbors, edges of growing
weight; CPU milliseconds of one thread, medians of --repeats. Sampled max-marginals must equal
decodings with the label forced.
"""

import argparse
import json
import os
import statistics
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._problems.core._decode import decode
from sstruct._problems.graph._max_marginals import max_marginals
from sstruct._problems.graph._pairwise import PairwiseModel
from sstruct._problems.graph._problem import GraphProblem
from sstruct._problems.graph.arguments import GraphRanges
from sstruct._problems.graph.grid_edges import grid_edges


def problem_of(image, node_scores=None):
    """The model of one image with one feature, whose second label has weight 1."""
    size = len(image)
    edges = grid_edges(size, size, 4)
    ranges = GraphRanges([0], [size**2], edges, [0], [len(edges)], grids=[(size, size, 4)])
    decoder = GraphDecoder("cut", 0)
    model = PairwiseModel("potts", 2)
    return GraphProblem(image.reshape(-1, 1), ranges, model, decoder, node_scores=node_scores)


def weights_of(problem, strength):
    w = np.zeros(problem.n_weights)
    views = problem.layout.views(w)
    views["coef"][1, 0], views["edge"][...] = 1, -strength
    return w


def seconds(call, repeats):
    """Median CPU seconds of a call, and what it returned last."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        out = call()
        spent.append(time.process_time() - start)
    return statistics.median(spent), out


def check(image, w, found, rng):
    """Compare some max-marginals with decodings in which the other label costs too much."""
    much = 10 * (abs(image).sum() + 8 * abs(w).max())
    for v in rng.choice(image.size, 4, replace=False):
        for k in range(2):
            scores = np.zeros((image.size, 2))
            scores[v, 1 - k] = -much
            _, value, _, _ = problem_of(image, scores).best_code(0, w, 0.0)
            assert abs(value - found[v, k]) < 1e-7 * much, (v, k, value, found[v, k])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--strengths", type=float, nargs="+", default=[0.3, 1, 3, 10])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rng, rows = np.random.default_rng(0), []
    print(f"{'size':>6}{'edges':>8}{'decoding':>11}{'marginals':>11}   CPU ms")
    for size in arguments.sizes:
        square = np.zeros((size, size))
        square[size // 4 : 3 * size // 4, size // 4 : 3 * size // 4] = 1
        image = 2 * square - 1 + rng.normal(size=square.shape)
        problem = problem_of(image)
        for strength in arguments.strengths:
            w = weights_of(problem, strength)
            of_decoding, _ = seconds(lambda w=w, of=problem: decode(of, w), arguments.repeats)
            of_marginals, found = seconds(
                lambda w=w, of=problem: max_marginals(of, w, [False]), arguments.repeats
            )
            check(image, w, found, rng)
            row = {"size": size, "strength": strength, "decode": of_decoding, "all": of_marginals}
            rows.append(row)
            print(f"{size:6}{strength:8g}{1e3 * of_decoding:11.1f}{1e3 * of_marginals:11.1f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
