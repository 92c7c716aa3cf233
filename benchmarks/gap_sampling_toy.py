#!/usr/bin/env python3
"""How many oracle calls does gap sampling save on the toy problem of its paper?

    python benchmarks/gap_sampling_toy.py [--blocks 50] [--labels 500]

Appendix C of Osokin et al. (ICML 2016). One block is hard: its planes are orthogonal, and t
Frank-Wolfe steps leave a gap of 1 / (2 n t). The planes of all other blocks are equal, so one
step on any of them solves them all. Uniform sampling visits the hard block every n-th time; the
paper derives that it needs at least 0.5 n times the calls of gap sampling. Fits end at a gap of
1 / (2 n K). Writes gap_sampling_toy.csv into --output.
"""

import argparse

import numpy as np
from reports import Table, command, origin, parsed

from sstruct import StructuredSVM
from sstruct.solvers import BCFW


class Toy:
    """Blocks with labels 0, the truth, to K; block 0 is the hard one."""

    def __init__(self, n_labels):
        self.n_labels = n_labels

    def joint_feature(self, block, label):
        features = np.zeros(self.n_labels + 1)
        if label > 0 and block == 0:
            features[label - 1] = -np.sqrt(0.5)
        elif label > 0:
            features[-1] = -1.0
        return features

    def loss(self, truth, label):
        return float(label != truth)

    def argmax(self, block, w, y_true=None, loss_weight=1.0):
        wrong = 1 if block > 0 else 1 + int(np.argmin(w[:-1]))
        score = w @ self.joint_feature(block, wrong)
        return wrong if score + (y_true is not None) * loss_weight > 0 else 0


def count_calls(n_blocks, n_labels, sampling):
    """Return the number of max-oracle calls of a fit by BCFW to the gap of the paper."""
    optimum = (1.5 - 1 / (4 * n_labels)) / n_blocks
    model = StructuredSVM(
        Toy(n_labels),
        lam=1 / n_blocks,
        solver=BCFW(step="fw", sampling=sampling, cache=False, average=False, certificate_every=1),
        batch_size=1,
        tol=0.99 / (2 * n_blocks * n_labels) / optimum,
        max_iter=10**6,
        random_state=0,
    )
    return model.fit(range(n_blocks), [0] * n_blocks).n_oracle_calls_


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=50)
    parser.add_argument("--labels", type=int, default=500)
    arguments = parsed(parser)
    calls = {
        sampling: count_calls(arguments.blocks, arguments.labels, sampling)
        for sampling in ("uniform", "gap")
    }
    ratio = calls["uniform"] / calls["gap"]
    print(f"calls: {calls}, ratio {ratio:.1f}, 0.5 n = {0.5 * arguments.blocks:g}")
    table = Table(arguments.output / "gap_sampling_toy.csv", ["blocks", "labels"])
    row = {"blocks": arguments.blocks, "labels": arguments.labels}
    row |= {f"{sampling}_calls": number for sampling, number in calls.items()}
    table.put(row | {"ratio": f"{ratio:.2f}"} | origin(command(), arguments.load))


if __name__ == "__main__":
    main()
