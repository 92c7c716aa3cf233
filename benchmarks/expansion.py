#!/usr/bin/env python3
"""Alpha-expansion compared with gco-wrapper and PyMaxflow: time and energy.

    python benchmarks/expansion.py [--sizes 64 128 256] [--labels 5 16] [--repeats 5] [--json FILE]

CPU milliseconds of one thread from numpy arrays to labels, including the construction of the graph.
Each package is called as by its users, and starts from the cheapest label of each node;
`alpha_expansion` starts twice, and the decoder of training once. Medians of interleaved repeats
(ours with another order of labels in each), and the energies (the mean, in percent of the first
package). Problems: random node costs; restoration of a noisy sample image of scikit-learn,
quantized to as many levels as labels; both on a 4-connected grid with one weight for all edges
(PyMaxflow's grids support no other), Potts and truncated linear; and graphs similar to superpixels
(a Delaunay triangulation of random points, with a quarter of the nodes of the grid) with random
weights, which PyMaxflow's expansion does not support. Other packages (gco-wrapper: research use
only; PyMaxflow: GPL; never dependencies) are omitted if they are not installed.
"""

import argparse
import json
import statistics
import time

import numpy as np
from scipy.spatial import Delaunay
from sklearn.datasets import load_sample_image

from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct.inference import alpha_expansion

try:
    import gco
except ImportError:
    gco = None
try:
    from maxflow.fastmin import aexpansion_grid
except ImportError:
    aexpansion_grid = None


def distance(kind, n_labels):
    """Return Potts costs, or differences truncated at a quarter of the labels (at least 2)."""
    line = np.abs(np.subtract.outer(np.arange(n_labels), np.arange(n_labels))).astype(float)
    return np.minimum(line, 1 if kind == "potts" else max(2, n_labels // 4))


def random_grid(size, kind, n_labels):
    rng = np.random.default_rng(0)
    edges = grid_edges(size, size)
    return rng.random((size * size, n_labels)), edges, np.full(len(edges), 0.3), size


def noisy_image(size, kind, n_labels):
    rng = np.random.default_rng(0)
    image = load_sample_image("china.jpg").mean(axis=2) / 256
    rows = np.linspace(0, image.shape[0] - 1, size).astype(int)
    columns = np.linspace(0, image.shape[1] - 1, size).astype(int)
    levels = image[rows][:, columns].ravel() * n_labels - 0.5
    noisy = levels + 0.15 * n_labels * rng.standard_normal(len(levels))
    scale = n_labels / 8
    node = np.minimum(np.abs(noisy[:, None] - np.arange(n_labels)) / scale, 4)
    edges = grid_edges(size, size)
    return node, edges, np.full(len(edges), 0.8 if kind == "potts" else 0.8 / scale), size


def superpixels(size, kind, n_labels):
    rng = np.random.default_rng(0)
    points = rng.random((size * size // 16, 2))
    corners = Delaunay(points).simplices
    pairs = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    edges = np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int32)
    return rng.random((len(points), n_labels)), edges, 0.4 * rng.random(len(edges)), None


PROBLEMS = {"random": random_grid, "image": noisy_image, "superpixels": superpixels}


def ours(node, edges, weights, size, table, seed):
    return alpha_expansion(node, edges, weights, table, random_state=seed)[0]


def decoder(node, edges, weights, size, table, seed):
    """Call the decoder of training and prediction: without validation, and for a grid."""
    grid = None if size is None else (size, size, 4)
    return GraphDecoder("expansion", seed).decode_arrays(
        node,
        edges,
        weights[:, None],
        None if table is None else table[None],
        node.argmin(axis=1),
        grid,
    )[0]


def gco_expansion(node, edges, weights, size, table, seed):
    table = distance("potts", node.shape[1]) if table is None else table
    start = node.argmin(axis=1).astype(np.int32)
    return gco.cut_general_graph(edges, weights, node, table, init_labels=start)


def grid_expansion(node, edges, weights, size, table, seed):
    table = distance("potts", node.shape[1]) if table is None else table
    return aexpansion_grid(node.reshape(size, size, -1), weights[0] * table).ravel()


def measure(problem, kind, n_labels, repeats):
    """Return milliseconds and energies of each method, interleaved."""
    node, edges, weights, size = problem
    ways = {"alpha_expansion": ours, "decoder": decoder}
    if gco is not None:
        ways["gco"] = gco_expansion
    if aexpansion_grid is not None and size is not None:
        ways["PyMaxflow"] = grid_expansion
    table = distance(kind, n_labels)
    milliseconds = {name: [] for name in ways}
    energies = {name: [] for name in ways}
    for seed in range(repeats):
        for name, way in ways.items():
            begin = time.thread_time()
            labels = way(node, edges, weights, size, None if kind == "potts" else table, seed)
            milliseconds[name].append(1e3 * (time.thread_time() - begin))
            pairs = table[labels[edges[:, 0]], labels[edges[:, 1]]]
            energies[name].append(node[np.arange(len(node)), labels].sum() + weights @ pairs)
    return (
        {name: statistics.median(values) for name, values in milliseconds.items()},
        {name: statistics.mean(values) for name, values in energies.items()},
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--labels", type=int, nargs="+", default=[5, 16])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", help="file to which the figures are written")
    arguments = parser.parse_args()
    names = ["alpha_expansion", "decoder", "gco", "PyMaxflow"]
    rows = []
    print(
        f"{'problem':12}{'edges':8}{'size':>5}{'K':>4}"
        + "".join(f"{name:>17}" for name in names)
        + "   (ms, energy in percent of that of alpha_expansion)"
    )
    for name in arguments.problems:
        for kind in ("potts", "linear"):
            for size in arguments.sizes:
                for n_labels in arguments.labels:
                    problem = PROBLEMS[name](size, kind, n_labels)
                    ms, energies = measure(problem, kind, n_labels, arguments.repeats)
                    least = energies["alpha_expansion"]
                    rows.append(
                        dict(
                            problem=name,
                            edges=kind,
                            size=size,
                            labels=n_labels,
                            ms=ms,
                            energy=energies,
                        )
                    )
                    print(
                        f"{name:12}{kind:8}{size:5}{n_labels:4}"
                        + "".join(
                            f"{ms[way]:9.1f} {100 * energies[way] / least:7.3f}"
                            if way in ms
                            else " " * 17
                            for way in names
                        ),
                        flush=True,
                    )
    print(json.dumps(rows))
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
