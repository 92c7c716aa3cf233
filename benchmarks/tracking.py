#!/usr/bin/env python3
"""Integer linear programs solved to learn the weights of a tracker, compared with structsvm.

    python benchmarks/tracking.py [--graphs 10] [--lam 1 0.1 0.01] [--seeds 3]

A graph has candidate detections of moving objects in several frames, and candidate links between
consecutive frames. As in motile, variables of value 0 or 1 select detections and links, and mark
detections where a track appears, disappears or divides; linear constraints make them a forest of
tracks. The weights of costs are learned from the true tracks with a Hamming loss, by StructuredSVM
with MILPOracle (HiGHS), and by the BundleMethod of structsvm 0.2.0 (SCIP, through ilpy), which
minimizes the same objective; for several graphs, by its method for the mean of their losses.

* One graph: the objective at the weights of each, both with a relative gap of 1e-6, computed by
  exact solutions with HiGHS.
* --graphs graphs: the integer programs solved until the relative gap is at most --gap. Those of
  certificates are included. structsvm has no relative gap; here it is computed from the smallest
  objective and the lower bound of each iteration. SCIP takes minutes for its small quadratic
  programs if lam is 0.03 or less, so clarabel solves these, in both comparisons.

Figures are medians over --seeds random sets of graphs. Prints a table and writes its rows into
tracking.csv in --output. Needs structsvm==0.2.0 and clarabel; without structsvm, only the rows of
sstruct are written.
"""

import argparse
import os
import time
from importlib.metadata import PackageNotFoundError, version
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import Table, command, origin, parsed
from scipy import sparse
from scipy.linalg import block_diag
from scipy.optimize import LinearConstraint

from sstruct import StructuredSVM
from sstruct.extending import BinaryProgram, MILPOracle

# Features of detections, links, appearances, disappearances and divisions.
FEATURES = (
    *("detection", "score", "size"),
    *("link", "distance", "squared distance", "growth"),
    *("appear", "appear far from the border", "disappear", "disappear far from the border"),
    *("divide", "divide by size"),
)
# Largest number of candidate links from a detection.
MAX_LINKS = 3
# Most iterations of either solver.
MAX_PASSES = 1000


class CountingOracle(MILPOracle):
    """MILPOracle that counts the programs that it solves."""

    n_solved = 0

    def _solve(self, x, value):
        CountingOracle.n_solved += 1
        return super()._solve(x, value)


def simulate(rng, n_frames, n_objects):
    """Return detections by frame, (n, 4) of x, y, size and score, and the parent of each, or -1.

    A parent is the index of a detection in the frame before. False detections have lower scores on
    average, and the third list is False for them.
    """
    places, sizes = rng.random((n_objects, 2)), rng.random(n_objects)
    before, frames, parents, truth = np.full(n_objects, -1), [], [], []
    for _ in range(n_frames):
        n = len(places)
        seen = rng.random(n) < 0.95
        n_false = rng.poisson(1.0)
        rows = np.column_stack([places, sizes, rng.normal(1, 0.7, n)])[seen]
        false = np.column_stack([rng.random((n_false, 3)), rng.normal(0, 0.7, n_false)])
        frames.append(np.vstack([rows, false]))
        parents.append(np.r_[before[seen], np.full(n_false, -1)])
        truth.append(np.arange(seen.sum() + n_false) < seen.sum())
        number = np.where(seen, np.cumsum(seen) - 1, -1)
        # The next frame: objects die, divide, move, and leave or enter at the border.
        copies = rng.choice([0, 1, 2], n, p=[0.05, 0.85, 0.1])
        before = np.repeat(number, copies)
        places = np.repeat(places, copies, axis=0)
        places = places + rng.normal(scale=0.05, size=places.shape)
        sizes = np.repeat(sizes, copies) + rng.normal(scale=0.05, size=copies.sum())
        inside = ((places > 0) & (places < 1)).all(axis=1)
        n_new = rng.poisson(0.1 * n_objects)
        new = np.column_stack([rng.uniform(0, 0.05, n_new), rng.random(n_new)])
        before = np.r_[before[inside], np.full(n_new, -1)]
        places = np.vstack([places[inside], new])
        sizes = np.r_[sizes[inside], rng.random(n_new)]
    return frames, parents, truth


def tracking_graph(rng, n_frames=6, n_objects=8):
    """Return the BinaryProgram of a graph and its true tracks."""
    frames, parents, truth = simulate(rng, n_frames, n_objects)
    offsets = np.cumsum([0, *map(len, frames)])
    links, link_rows, true_links = [], [], []
    for t in range(n_frames - 1):
        a, b = frames[t], frames[t + 1]
        distance = np.linalg.norm(a[:, np.newaxis, :2] - b[:, :2], axis=2)
        near = np.argsort(np.argsort(distance, axis=1), axis=1) < MAX_LINKS
        is_link = parents[t + 1] == np.arange(len(a))[:, np.newaxis]
        u, v = np.nonzero(near | is_link)
        links.append(np.column_stack([offsets[t] + u, offsets[t + 1] + v]))
        growth = np.abs(a[u, 2] - b[v, 2])
        link_rows.append(
            np.column_stack([np.ones(len(u)), distance[u, v], distance[u, v] ** 2, growth])
        )
        true_links.append(is_link[u, v])
    links, is_link = np.concatenate(links), np.concatenate(true_links).astype(int)
    n, m = offsets[-1], len(links)
    leaving = sparse.csr_array((np.ones(m), (links[:, 0], np.arange(m))), (n, m))
    entering = sparse.csr_array((np.ones(m), (links[:, 1], np.arange(m))), (n, m))
    is_node = np.concatenate(truth).astype(int)
    n_in, n_out = (entering @ is_link).astype(int), (leaving @ is_link).astype(int)
    divides = (n_out == 2).astype(int)
    y = np.concatenate([is_node, is_link, is_node - n_in, is_node + divides - n_out, divides])
    # Tracks appear in the first frame and disappear in the last one at no cost.
    first, last = np.zeros((2, n))
    first[offsets[1] :], last[: offsets[-2]] = 1, 1
    rows, one = np.concatenate(frames), np.ones(n)
    border = np.minimum(rows[:, :2], 1 - rows[:, :2]).min(axis=1)
    features = block_diag(
        np.column_stack([one, rows[:, 3], rows[:, 2]]),
        np.concatenate(link_rows),
        np.column_stack([first, first * border]),
        np.column_stack([last, last * border]),
        np.column_stack([one, rows[:, 2]]),
    )
    one, none = sparse.eye_array(n), sparse.csr_array((n, n))
    no_link = sparse.csr_array((n, m))
    constraints = [
        LinearConstraint(sparse.hstack([-one, entering, one, none, none], "csr"), 0, 0),
        LinearConstraint(sparse.hstack([-one, leaving, none, one, -one], "csr"), 0, 0),
        LinearConstraint(sparse.hstack([-one, no_link, none, one, one], "csr"), -np.inf, 0),
    ]
    return BinaryProgram(features, constraints, np.ones(len(y))), y


def objective(X, y, lam, w):
    """Return the objective, with exact solutions."""
    oracle, hinges = MILPOracle(), []
    for x, truth in zip(X, y, strict=True):
        truth = oracle.encode(x, truth)
        found = oracle.argmax(x, w, truth)
        hinges.append(oracle.loss(truth, found) + (found[0] - truth[0]) @ (x.features @ w))
    return 0.5 * lam * float(w @ w) + float(np.mean(hinges))


def fit_sstruct(X, y, lam, gap, seed):
    """Return the weights, the number of solved programs, the seconds and the relative gap."""
    CountingOracle.n_solved, begin = 0, time.perf_counter()
    model = StructuredSVM(
        CountingOracle(), lam=lam, tol=gap, max_iter=MAX_PASSES, random_state=seed
    ).fit(X, y)
    seconds = time.perf_counter() - begin
    return model.w_, CountingOracle.n_solved, seconds, model.dual_gap_ / model.objective_


def fit_structsvm(X, y, lam, gap):
    """Return the same for structsvm; its weights are costs, so their sign is changed."""
    import structsvm

    losses = [
        structsvm.SoftMarginLoss(_constraints(x), x.features.T, truth.astype(np.float64))
        for x, truth in zip(X, y, strict=True)
    ]
    n_solved, seen = 0, [(np.inf, None)]

    def value_and_gradient(w):
        nonlocal n_solved
        n_solved += len(losses)
        found = [loss.value_and_gradient(w) for loss in losses]
        value = float(np.mean([value for value, _ in found]))
        seen[0] = min(seen[0], (value + 0.5 * lam * w @ w, w.copy()), key=lambda each: each[0])
        return value, np.mean([gradient for _, gradient in found], axis=0)

    bundle = bundle_method(structsvm.BundleMethod)(
        value_and_gradient, X[0].features.shape[1], lam, seen, gap
    )
    begin = time.perf_counter()
    with silent():
        bundle.optimize(MAX_PASSES)
    return -seen[0][1], n_solved, time.perf_counter() - begin, bundle.gap


def bundle_method(base):
    """Return structsvm's class with a relative gap and another solver of its quadratic programs."""

    class Bundle(base):
        def __init__(self, callback, dims, lam, seen, gap):
            super().__init__(callback, dims, lam, 0.0)
            self.seen, self.stop_at, self.rows, self.offsets = seen, gap, [], []

        def _add_hyperplane(self, a, b):
            self.rows.append(a)
            self.offsets.append(b)

        def _find_min_lower_bound(self):
            w, lower = least_bound(np.array(self.rows), np.array(self.offsets), self._lambda)
            best = self.seen[0][0]
            self.gap = (best - lower) / best
            # The method stops if the lower bound reaches the smallest value.
            return w, best if self.gap <= self.stop_at else lower

    return Bundle


def least_bound(rows, offsets, lam):
    """Return the minimizer of lam / 2 |w|^2 + max_i (<rows_i, w> + offsets_i), and its value."""
    import clarabel

    m, d = rows.shape
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(np.r_[np.full(d, lam), 0.0])),
        np.r_[np.zeros(d), 1.0],
        sparse.csc_matrix(np.column_stack([rows, np.full(m, -1.0)])),
        -offsets,
        [clarabel.NonnegativeConeT(m)],
        settings,
    ).solve()
    return np.array(solution.x[:d]), solution.obj_val


class silent:
    """Context manager that hides the output of SCIP."""

    def __enter__(self):
        self.kept, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)

    def __exit__(self, *error):
        os.dup2(self.kept, 1)
        os.close(self.kept)


def _constraints(x):
    """Return the constraints of a BinaryProgram for ilpy."""
    import ilpy

    out = ilpy.Constraints()
    matrix = sparse.csr_array(x.matrix)
    for row, (lower, upper) in enumerate(zip(x.lower, x.upper, strict=True)):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        constraint = ilpy.Constraint()
        for j, value in zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True):
            constraint.set_coefficient(j, value)
        constraint.set_relation(ilpy.Relation.Equal if lower == upper else ilpy.Relation.LessEqual)
        constraint.set_value(float(upper))
        out.add(constraint)
    return out


def compared(X, y, lam, gap, seed, has_structsvm):
    """Return a dict of the results of each package."""
    found = {"sstruct": fit_sstruct(X, y, lam, gap, seed)}
    if has_structsvm:
        found["structsvm 0.2.0"] = fit_structsvm(X, y, lam, gap)
    return {
        name: {
            "programs": n_solved,
            "seconds": seconds,
            "gap": reached,
            "objective": objective(X, y, lam, w),
        }
        for name, (w, n_solved, seconds, reached) in found.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=int, default=10)
    parser.add_argument("--frames", type=int, default=6)
    parser.add_argument("--objects", type=int, default=8)
    parser.add_argument("--lam", type=float, nargs="*", default=[1.0, 0.1, 0.01])
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parsed(parser)
    try:
        has_structsvm = version("structsvm") == "0.2.0"
    except PackageNotFoundError:
        has_structsvm = False
    table = Table(arguments.output / "tracking.csv", ["graphs", "lam", "gap", "method"])
    print(f"{'graphs':>6} {'lam':>6} {'gap':>7} {'method':20} programs seconds  objective")
    for n_graphs, gap in ((1, 1e-6), (arguments.graphs, arguments.gap)):
        for lam in arguments.lam:
            runs = []
            for seed in range(arguments.seeds):
                rng = np.random.default_rng(seed)
                size = arguments.frames, arguments.objects
                X, y = zip(*(tracking_graph(rng, *size) for _ in range(n_graphs)), strict=True)
                runs.append(compared(list(X), list(y), lam, gap, seed, has_structsvm))
            for method in runs[0]:
                row = {key: median(run[method][key] for run in runs) for key in runs[0][method]}
                table.put(
                    {"graphs": n_graphs, "lam": f"{lam:g}", "gap": gap, "method": method}
                    | {key: f"{value:.8g}" for key, value in row.items() if key != "gap"}
                    | {"largest_gap": f"{max(run[method]['gap'] for run in runs):.2g}"}
                    | origin(command(), arguments.load)
                )
                print(
                    f"{n_graphs:6d} {lam:6g} {gap:7g} {method:20} {row['programs']:8g} "
                    f"{row['seconds']:7.2f} {row['objective']:12.8g}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
