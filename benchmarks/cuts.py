#!/usr/bin/env python3
"""Binary cuts of pixel grids: time compared with PyMaxflow.

    python benchmarks/cuts.py [--sizes 64 128 256 512] [--repeats 7] [--json FILE]

CPU milliseconds of one thread from numpy arrays (node costs, contrast weights) to labels, including
the construction of the graph, with each package called as by its users, and "grid" as by the
decoder of grids; medians of interleaved repeats. Problems: random costs, the same with strong
neighbors, and foreground against background by color on scikit-learn's two sample images with
contrast-sensitive neighbors. PyMaxflow (GPL, never a dependency) is omitted if it is not installed.
Energies must be equal.
"""

import argparse
import json
import statistics
import time

import numpy as np
from sklearn.datasets import load_sample_image

from sstruct._oracles.cut._binary_energy import BinaryEnergy
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct._testing._oracle_access import minimize_energy
from sstruct.inference import graph_cut

try:
    import maxflow as pymaxflow
except ImportError:
    pymaxflow = None


def neighbors(height, width, connectivity):
    """Return slices of both ends of the edges of each direction: right, down, and diagonals."""
    every, but_last, but_first = slice(None), slice(None, -1), slice(1, None)
    out = [((every, but_last), (every, but_first)), ((but_last, every), (but_first, every))]
    if connectivity == 8:
        out.append(((but_last, but_last), (but_first, but_first)))
        out.append(((but_last, but_first), (but_first, but_last)))
    return out


def random_problem(size, connectivity, strength):
    rng = np.random.default_rng(0)
    node = rng.normal(size=(size, size, 2))
    weights = [
        strength * rng.random(node[u].shape[:2]) for u, _ in neighbors(size, size, connectivity)
    ]
    return node, weights


def image_problem(name, size, connectivity):
    """Return distances to the colors of the center and the border, and contrast weights."""
    image = load_sample_image(name).astype(np.float64) / 255
    rows = np.linspace(0, image.shape[0] - 1, size).astype(int)
    columns = np.linspace(0, image.shape[1] - 1, size).astype(int)
    image = image[rows][:, columns]
    middle = image[size // 3 : 2 * size // 3, size // 3 : 2 * size // 3].reshape(-1, 3)
    rim = np.concatenate([image[: size // 8].reshape(-1, 3), image[:, : size // 8].reshape(-1, 3)])
    node = np.empty((size, size, 2))
    for label, sample in enumerate((rim, middle)):
        center, covariance = sample.mean(axis=0), np.cov(sample.T) + 1e-3 * np.eye(3)
        away = image - center
        node[..., label] = 0.5 * np.einsum(
            "hwi,ij,hwj->hw", away, np.linalg.inv(covariance), away
        ) + 0.5 * np.log(np.linalg.det(covariance))
    pairs = neighbors(size, size, connectivity)
    contrast = [((image[u] - image[v]) ** 2).sum(axis=2) for u, v in pairs]
    mean = np.concatenate([squares.ravel() for squares in contrast]).mean()
    return node, [0.2 + 3 * np.exp(-squares / (2 * mean)) for squares in contrast]


def energy(labels, node, weights, connectivity):
    pairs = neighbors(*labels.shape, connectivity)
    total = np.take_along_axis(node, labels[..., None], axis=2).sum()
    return total + sum(w[labels[u] != labels[v]].sum() for w, (u, v) in zip(weights, pairs))


def general_cut(node, weights, edges, connectivity):
    """Call `graph_cut` with a list of edges."""
    costs = np.concatenate([weight.ravel() for weight in weights])
    return graph_cut(node.reshape(-1, 2), edges, costs)[0].reshape(node.shape[:2])


def grid_cut(node, weights, edges, connectivity):
    """Call the private function for implicit grids, which the estimator and its decoder use."""
    costs = np.zeros((len(edges), 4))
    costs[:, 1] = costs[:, 2] = np.concatenate([weight.ravel() for weight in weights])
    labels = minimize_energy(
        BinaryEnergy(), node.reshape(-1, 2), None, costs, False, (*node.shape[:2], connectivity)
    )[0]
    return labels.reshape(node.shape[:2])


STRUCTURES = [
    [[0, 0, 0], [0, 0, 1], [0, 0, 0]],
    [[0, 0, 0], [0, 0, 0], [0, 1, 0]],
    [[0, 0, 0], [0, 0, 0], [0, 0, 1]],
    [[0, 0, 0], [0, 0, 0], [1, 0, 0]],
]


def peer_cut(node, weights, edges, connectivity):
    """Call PyMaxflow's grid functions, with an array of weights for each direction."""
    height, width = node.shape[:2]
    graph = pymaxflow.Graph[float](height * width, len(edges))
    nodes = graph.add_grid_nodes((height, width))
    pairs = neighbors(height, width, connectivity)
    for weight, structure, (u, _) in zip(weights, STRUCTURES, pairs):
        padded = np.zeros((height, width))
        padded[u] = weight
        graph.add_grid_edges(nodes, padded, structure=np.array(structure), symmetric=True)
    graph.add_grid_tedges(nodes, node[..., 1], node[..., 0])
    graph.maxflow()
    return graph.get_grid_segments(nodes).astype(np.int32)


def measure(problem, connectivity, repeats):
    """Return milliseconds and energies of each method, interleaved."""
    node, weights = problem
    edges = grid_edges(*node.shape[:2], connectivity)
    ways = {"graph_cut": general_cut, "grid": grid_cut}
    if pymaxflow is not None:
        ways["PyMaxflow"] = peer_cut
    seconds, energies = {name: [] for name in ways}, {}
    for repeat in range(repeats + 1):
        for name, way in ways.items():
            begin = time.thread_time()
            labels = way(node, weights, edges, connectivity)
            if repeat:
                seconds[name].append(time.thread_time() - begin)
            energies[name] = energy(labels, node, weights, connectivity)
    spread = max(energies.values()) - min(energies.values())
    assert spread <= 1e-9 * abs(energies["grid"]), energies
    return {name: 1e3 * statistics.median(values) for name, values in seconds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256, 512])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", help="file to which the figures are written")
    arguments = parser.parse_args()
    kinds = {
        "random": lambda size, connectivity: random_problem(size, connectivity, 1.0),
        "random, strong": lambda size, connectivity: random_problem(size, connectivity, 3.0),
        "china": lambda size, connectivity: image_problem("china.jpg", size, connectivity),
        "flower": lambda size, connectivity: image_problem("flower.jpg", size, connectivity),
    }
    rows = []
    print("problem           size links  graph_cut     grid  PyMaxflow  ratios")
    for kind, make in kinds.items():
        for size in arguments.sizes:
            for connectivity in (4, 8):
                figures = measure(make(size, connectivity), connectivity, arguments.repeats)
                rows.append(
                    {"problem": kind, "size": size, "connectivity": connectivity, **figures}
                )
                peer = figures.get("PyMaxflow", np.nan)
                print(
                    f"{kind:16}{size:6}{connectivity:6}{figures['graph_cut']:11.2f}"
                    f"{figures['grid']:9.2f}{peer:11.2f}  "
                    f"{figures['graph_cut'] / peer:.2f} {figures['grid'] / peer:.2f}",
                    flush=True,
                )
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"unit": "CPU milliseconds", "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
