#!/usr/bin/env python3
"""Bounds and energies of MAP inference over time, on real models.

    python benchmarks/map_inference.py [--seconds 10] [--methods trws bp ...] [--instances NAME ...]
                                       [--lp-entries 40000] [--plot FILE]

The models are in the folder mrf of the data folder (SSTRUCT_DATA): UAI files, graph matching
problems (as models whose pairs forbid using a right node twice), and two images. For each model,
the script prints the reference (with = if it is proven to be the minimum, see reference.json), the
value of the linear program over the local polytope if it has at most --lp-entries variables
(HiGHS), and for each method the bound, the energy, wall-clock seconds and the status. Methods are
the methods of `map_mrf` ("exact" is HiGHS on the integer program, if it has at most --lp-entries
variables), and

fwmap-zero        "fwmap" that starts from multipliers of 0 instead of messages
fwmap-published   the same with the published step
subgradient       subgradient ascent on the same trees, from 0, with Polyak's steps
matching          `graph_matching`, for matching problems
toulbar2          the package pytoulbar2, if it is installed: in its own process, with costs
                  rounded down to integers, and a time limit in CPU seconds

The plot has axes for each model with bounds and energies over time. Writes map_inference.csv into
--output.
"""

import argparse
import json
import math
import multiprocessing
import os
import re
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from reports import Table, command, origin, parsed
from scipy.optimize import linprog

from sstruct._oracles.mrf._packed_mrf import PackedMRF
from sstruct._problems.map._map_problem import MapProblem
from sstruct._problems.map._rounding import SequentialRounding
from sstruct._problems.map.map_arguments import project
from sstruct.inference import MRF, graph_matching, map_mrf, read_dd, read_uai
from sstruct.inference._applications.matching_model import matching_model
from sstruct.inference._methods.exact import local_polytope, n_marginals
from sstruct.inference._methods.map_mrf import METHODS
from sstruct.inference._model.auxiliary import pairwise_model
from sstruct.inference._model.map_result import Record
from sstruct.inference._model.tree_cover import tree_cover

# The costs of a labeling for toulbar2 are integers below two to this power.
BITS = 50


def load(folder, name):
    """Return the model of an instance of reference.json, and unary and pairwise of a matching."""
    path, *pair = name.split()
    path = folder / path
    if name.endswith(".uai.gz"):
        return read_uai(path), None
    if name.endswith(".npz"):
        arrays = np.load(path)
        if "unary_cost" in arrays:
            return MRF(arrays["unary_cost"], arrays["edges"], arrays["pair_cost"]), None
        node = -arrays["unary_tables"].astype(float)[arrays["unary_index"]]
        return MRF(node, arrays["edges"], -arrays["pair_tables"][0].astype(float)), None
    problem = read_dd(path)
    problem = problem[tuple(map(int, pair[1:]))] if pair else problem
    return matching_model(*problem).mrf, problem


def reference_energy(entry):
    """Return the reference energy, NaN if it is unknown, and whether it is the minimum."""
    energy = entry.get("cost", -entry.get("log_score", math.nan))
    return energy, entry.get("status") == "optimal"


def polytope_value(mrf, most):
    """Return the value of the linear program, NaN if it is too large."""
    model, _ = pairwise_model(mrf)
    if n_marginals(model) > most:
        return math.nan
    costs, matrix, sums = local_polytope(model)
    allowed = np.isfinite(costs)
    answer = linprog(
        costs[allowed],
        A_eq=matrix[:, np.flatnonzero(allowed)],
        b_eq=sums,
        method="highs",
        options={"time_limit": 60},
    )
    return answer.fun if answer.status == 0 else math.nan


def _toulbar2(mrf, seconds):
    """Return the labels of toulbar2, or None, its bound, and wall-clock and CPU seconds."""
    from pytoulbar2 import CFN

    nodes = [((v,), mrf.node_cost(v)) for v in range(mrf.n_nodes)]
    edges = [(edge, mrf.edge_cost(e)) for e, edge in enumerate(mrf.edges.tolist())]
    terms = nodes + edges + [mrf.factor(f) for f in range(mrf.n_factors)]
    spread = sum(float(np.ptp(costs[np.isfinite(costs)])) for _, costs in terms)
    # Rounding down keeps bounds valid; sums of these integers are exact in double precision.
    scale = 2.0 ** math.floor(BITS - math.log2(spread + 1))
    begin, cpu, constant = time.monotonic(), time.process_time(), 0.0
    network = CFN()
    for v, n_labels in enumerate(mrf.n_labels.tolist()):
        network.AddVariable(f"x{v}", range(n_labels))
    for scope, costs in terms:
        costs = np.floor(costs * scale)
        constant += costs.min()
        network.AddFunction(list(scope), (costs - costs.min()).ravel().tolist())
    answer = network.Solve(timeLimit=math.ceil(seconds))
    spent = dict(seconds=time.monotonic() - begin, cpu_seconds=time.process_time() - cpu)
    return answer and answer[0], (network.GetDDualBound() + constant) / scale, spent


def toulbar2(mrf, seconds):
    """Run toulbar2 on a model in a new process; return a row."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        labels, bound, spent = pool.apply(_toulbar2, (mrf, seconds))
    energy = math.inf if labels is None else mrf.energy(np.array(labels, dtype=np.int32))
    is_proven = labels is not None and energy - bound <= 1e-6 * (1 + abs(energy))
    status = "PROVEN" if is_proven else "NONE" if labels is None else "TIME_LIMIT"
    return dict(energy=energy, bound=min(bound, energy), status=status) | spent


def subgradient(mrf, seconds, patience=20):
    """Maximize the lower bound h by subgradient steps; return a MapResult.

    Steps along a subgradient g are (best energy - h) / |g|^2 times a factor of 1, which is halved
    if the bound has not increased for `patience` iterations. Labels are computed every fifth
    iteration, as by "fwmap".
    """
    labels = np.array([mrf.node_cost(v).argmin() for v in range(mrf.n_nodes)], dtype=np.int32)
    record = Record(mrf, labels, 1e-6, seconds)
    model, order = pairwise_model(mrf)
    problem = MapProblem(model, tree_cover(model.n_nodes, model.edges))
    rounding, search = SequentialRounding(problem, order), PackedMRF(mrf)
    at, factor, last_rise, k, status = np.zeros(problem.n_weights), 1.0, 0, 0, "TIME_LIMIT"
    ones = {"size": np.ones(problem.n_blocks, dtype=np.int64), "alpha": np.ones(problem.n_blocks)}
    while not record.is_late():
        problem.begin(at)
        planes, free = problem.mean_planes({**ones, "code": problem.first_codes})
        bound = free + float(planes @ at)
        if k % 5 == 0:
            found = rounding.run(at, k % 10 == 0)[: mrf.n_nodes].copy()
            record.offer(found, search.improve(found, 20 * mrf.n_nodes))
        if bound > record.lower_bound:
            last_rise = k
        elif k - last_rise >= patience:
            factor, last_rise = factor / 2, k
        record.bound(bound)
        record.row()
        direction = project(problem.copy_start, planes)
        length = float(direction @ direction)
        if record.is_closed() or length == 0:
            status = "CONVERGED"
            break
        gap = record.energy - bound
        at += factor * (gap / length if gap < np.inf else 1.0) * direction
        k += 1
    return record.result(status, "subgradient")


OPTIONS = {
    "fwmap-zero": dict(method="fwmap", start="zero"),
    "fwmap-published": dict(method="fwmap", start="zero", step="published"),
}


def solve(mrf, problem, method, seconds):
    """Return the MapResult of a method, or None if it does not support the model."""
    limits = dict(max_time=seconds, max_iter=10**6)
    if method == "subgradient":
        return subgradient(mrf, seconds)
    if method == "matching":
        return None if problem is None else graph_matching(*problem, **limits, random_state=0)
    try:
        return map_mrf(mrf, **OPTIONS.get(method, {"method": method}), **limits, random_state=0)
    except ValueError as error:
        print(f"{method}: {error}", file=sys.stderr)
        return None


def cpu_seconds():
    """Return the CPU seconds of this process and of its processes that have ended."""
    return time.process_time() + sum(os.times()[2:4])


def run(mrf, problem, method, seconds, most):
    """Return a row and the history of a method, or None if it does not support the model."""
    if method == "toulbar2":
        return toulbar2(mrf, seconds), None
    if method == "exact" and n_marginals(pairwise_model(mrf)[0]) > most:
        return None, None
    begin, cpu = time.monotonic(), cpu_seconds()
    result = solve(mrf, problem, method, seconds)
    if result is None:
        return None, None
    row = dict(
        energy=result.energy,
        bound=result.lower_bound,
        seconds=time.monotonic() - begin,
        cpu_seconds=cpu_seconds() - cpu,
        iterations=len(result.history["seconds"]) - 2,
        status=result.status,
    )
    return row, result.history


def title(name):
    """Return the name of an instance without the endings of its file."""
    return re.sub(r"\.(uai|dd|txt|npz)\b|\.gz\b", "", name)


def plot(results, file):
    """Draw axes for each model."""
    import matplotlib.pyplot as plt

    from sstruct.plotting import BoundDisplay

    n_columns = 4
    n_rows = math.ceil(len(results) / n_columns)
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=(4.5 * n_columns, 3.2 * n_rows), squeeze=False
    )
    for ax, result in zip(axes.flat, results, strict=False):
        BoundDisplay(result["histories"]).plot(ax=ax)
        ax.set_title(result["instance"], fontsize=8)
        ax.set_xscale("symlog", linthresh=1e-3)
        ax.legend(fontsize=6)
    for ax in axes.flat[len(results) :]:
        ax.remove()
    figure.tight_layout()
    figure.savefig(file, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10)
    others = "auto", "graph-cut", "alpha-expansion", "toulbar2"
    known = [method for method in METHODS if method not in others]
    known += ["fwmap-zero", "fwmap-published", "subgradient", "matching"]
    known += ["toulbar2"] if find_spec("pytoulbar2") else []
    parser.add_argument("--methods", nargs="+", default=known)
    parser.add_argument("--instances", nargs="+", help="beginnings of names; all by default")
    parser.add_argument("--lp-entries", type=int, default=40_000)
    parser.add_argument("--plot", help="write a figure to this file")
    arguments = parsed(parser)
    folder = Path(os.environ["SSTRUCT_DATA"]) / "mrf"
    entries = json.loads((folder / "reference.json").read_text())
    wanted = tuple(arguments.instances or [""])
    table = Table(arguments.output / "map_inference.csv", ["model", "method"])
    results = []
    for name in sorted(name for name in entries if name.startswith(wanted)):
        mrf, problem = load(folder, name)
        energy, is_minimum = reference_energy(entries[name])
        value = polytope_value(mrf, arguments.lp_entries)
        print(f"{name}: {mrf}")
        print(f"    {'reference':16}{energy:32.5f}{' =' if is_minimum else ''}")
        print(f"    {'polytope':16}{value:16.5f}", flush=True)
        result = dict(instance=name, histories={})
        for method in arguments.methods:
            row, history = run(mrf, problem, method, arguments.seconds, arguments.lp_entries)
            if row is None:
                continue
            if history is not None:
                result["histories"][method] = history
            figures = {
                "model": title(name),
                "reference": f"{energy:.6g}",
                "proven": "yes" if is_minimum else "no",
                "local_polytope": "" if math.isnan(value) else f"{value:.6f}",
                "method": method,
                "bound": f"{row['bound']:.6f}",
                "energy": f"{row['energy']:.6f}",
                "seconds": f"{row['seconds']:.3g}",
                "status": row["status"],
            }
            table.put(figures | origin(command(), arguments.load))
            print(
                f"    {method:16}{row['bound']:16.5f}{row['energy']:16.5f}{row['seconds']:9.2f} s"
                f"  {row['status']}",
                flush=True,
            )
        results.append(result)
    if arguments.plot:
        plot([result for result in results if result["histories"]], arguments.plot)


if __name__ == "__main__":
    main()
