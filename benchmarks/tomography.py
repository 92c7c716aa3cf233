#!/usr/bin/env python3
"""Bounds of FWMAP and of subgradient ascent on discrete tomography.

    python benchmarks/tomography.py [--sizes 32 64] [--projections 2 4 6] [--levels 3]
                                    [--seconds 10] [--memory S] [--no-ascent] [--output FOLDER]

`discrete_tomography` reconstructs a phantom of a few gray levels (ellipses, similar to that of
Shepp and Logan) from sums along rays. A row has the energy of the phantom, the bound and energy of
FWMAP after --seconds of CPU time, and the bounds of plain subgradient ascent on the same blocks
after the same CPU time: "polyak" with Polyak's steps, which require the energy of the phantom, and
"decreasing" with steps of STEP / sqrt(k), which do not. The time of the ascent includes only
evaluations of the bound, at the speed of compiled code, and its vector operations. The peak memory
of the process is only printed.

In the file, "ahead_from" is the fraction of the time after which FWMAP's bound stays above the
bound of the ascent with Polyak's steps. --memory is the interval in CPU seconds of FWMAP at which
memory is printed. Writes tomography.csv into --output.
"""

import argparse
import resource
import time

import numpy as np
from reports import Table, command, origin, parsed

from sstruct._problems.map._map_problem import MapProblem
from sstruct._problems.map._ray_sums import RayTerms
from sstruct._problems.map.map_arguments import place_multipliers, project
from sstruct.inference import discrete_tomography, projection_rays
from sstruct.inference._applications import discrete_tomography as _discrete_tomography
from sstruct.inference._applications.discrete_tomography import _image_model
from sstruct.inference._applications.rays import checked_rays
from sstruct.inference._model.map_result import Record
from sstruct.inference._model.tree_cover import tree_cover

# Center, half axes, degrees and level of ellipses in [-1, 1]; later ones cover earlier ones.
ELLIPSES = [
    (0.0, 0.0, 0.7, 0.9, 0, 2),
    (0.0, 0.0, 0.6, 0.8, 0, 1),
    (0.25, -0.1, 0.15, 0.3, -18, 0),
    (-0.25, -0.1, 0.2, 0.4, 18, 0),
    (0.0, 0.4, 0.22, 0.2, 0, 2),
    (0.0, -0.55, 0.12, 0.1, 0, 2),
]
# The best of 0.1, 0.3, 1 and 3 for 64 x 64 pixels and four directions.
STEP = 0.3


def phantom(size, n_levels):
    """Return the image, with levels 0, 1 and 2 stretched to `n_levels`."""
    y, x = (np.mgrid[:size, :size] + 0.5) / size * 2 - 1
    image = np.zeros((size, size), dtype=np.int64)
    for cx, cy, a, b, degrees, level in ELLIPSES:
        t = np.deg2rad(degrees)
        along = (x - cx) * np.cos(t) + (y - cy) * np.sin(t)
        across = -(x - cx) * np.sin(t) + (y - cy) * np.cos(t)
        image[(along / a) ** 2 + (across / b) ** 2 <= 1] = level * (n_levels - 1) // 2
    return image


def energy(image):
    return int(np.abs(np.diff(image, axis=0)).sum() + np.abs(np.diff(image, axis=1)).sum())


class CPURecord(Record):
    """Record that limits CPU seconds, and prints the memory at intervals."""

    limit, memory_every = np.inf, np.inf

    def __init__(self, *arguments):
        self.begin, self.n_printed = time.process_time(), 0
        super().__init__(*arguments)

    def is_late(self):
        spent = time.process_time() - self.begin
        if spent >= (self.n_printed + 1) * self.memory_every:
            self.n_printed += 1
            print(f"{spent:8.1f} CPU s{megabytes():8.0f} MB   bound{self.lower_bound:10.2f}"
                  f"{len(self.rows):6} passes", flush=True)  # fmt: skip
        return spent >= self.limit


def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def subgradient_ascent(sums, rays, shape, n_levels, target, seconds):
    """Return CPU seconds and best bound after each iteration; target: the energy, or None."""
    model = _image_model(shape, n_levels, 1.0, None)
    terms = RayTerms(*checked_rays(rays, model.n_nodes), np.array(sums), n_levels)
    problem = MapProblem(model, tree_cover(model.n_nodes, model.edges), False, terms)
    places = place_multipliers(model, problem.cover)
    sizes, shared_start = np.diff(problem.cover.start), places["shared_start"]
    tree = np.repeat(np.arange(problem.n_blocks), np.diff(shared_start))
    # Codes have two entries after their labels.
    label_of = np.r_[0, np.cumsum(sizes + 2)][tree] + places["shared"]
    multipliers = np.zeros(problem.n_weights)
    best, factor, waited, spent, n_iterations = -np.inf, 1.0, 0, 0.0, 0
    curve = []
    while spent < seconds:
        begin = time.process_time()
        bound = problem.bound(multipliers)
        spent += time.process_time() - begin
        n_iterations += 1
        problem.begin(multipliers)
        begin = time.process_time()
        waited = 0 if bound > best else waited + 1
        best = max(best, bound)
        curve.append((spent, best))
        if waited == 20:
            factor, waited = factor / 2, 0
        gradient = np.zeros(problem.n_weights)
        gradient[places["weight_at"] + problem.first_codes[label_of] * places["stride"]] = 1
        project(problem.copy_start, gradient)
        length = gradient @ gradient
        if length == 0:
            break
        step = STEP / np.sqrt(n_iterations)
        if target is not None:
            step = factor * (target - bound) / length
        multipliers += step * gradient
        spent += time.process_time() - begin
    return np.array(curve)


def ahead_from(result, cpu, ascent):
    """Return the share of the time after which FWMAP's bound stays above the ascent's, or None."""
    history = result.history
    seconds = history["seconds"] * (cpu / max(history["seconds"][-1], 1e-9))
    bound = np.maximum.accumulate(np.nan_to_num(history["lower_bound"], nan=-np.inf))
    times = np.linspace(0, cpu, 201)[1:]
    # Neither has a bound before its first row.
    ours, theirs = (
        np.r_[-np.inf, values][np.searchsorted(at, times, side="right")]
        for at, values in ((seconds, bound), (ascent[:, 0], ascent[:, 1]))
    )
    behind = np.flatnonzero(ours < theirs)
    if len(behind) and behind[-1] == len(times) - 1:
        return None
    return float(times[behind[-1]] / cpu) if len(behind) else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[32, 64])
    parser.add_argument("--projections", nargs="+", type=int, default=[2, 4, 6])
    parser.add_argument("--levels", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--memory", type=float, default=np.inf)
    parser.add_argument("--no-ascent", action="store_true")
    arguments = parsed(parser)
    table = Table(arguments.output / "tomography.csv", ["size", "projections", "levels"])
    CPURecord.limit, CPURecord.memory_every = arguments.seconds, arguments.memory
    _discrete_tomography.Record = CPURecord
    print(f"{'size':>5}{'angles':>9}{'phantom':>9}{'FWMAP':>10}{'energy':>8}{'passes':>8}"
          f"{'CPU s':>8}{'polyak':>10}{'passes':>8}{'decreasing':>12}{'passes':>8}"
          f"{'MB':>6}")  # fmt: skip
    for size in arguments.sizes:
        image = phantom(size, arguments.levels)
        for n_angles in arguments.projections:
            rays = projection_rays(image.shape, 180 / n_angles * np.arange(n_angles))
            sums = [int(image.ravel()[ray].sum()) for ray in rays]
            begin = time.process_time()
            result = discrete_tomography(
                sums, rays, image.shape, arguments.levels,
                max_iter=10**6, random_state=0,
            )  # fmt: skip
            cpu = time.process_time() - begin
            ascents = [np.full((1, 2), np.nan)] * 2
            if not arguments.no_ascent:
                ascents = [
                    subgradient_ascent(sums, rays, image.shape, arguments.levels, target, cpu)
                    for target in (energy(image), None)
                ]
            polyak, decreasing = (ascent[-1, 1] for ascent in ascents)
            passes = len(result.history["seconds"]) - 2
            print(
                f"{size:5}{n_angles:9}{energy(image):9}{result.lower_bound:10.2f}"
                f"{result.energy:8.0f}{passes:8}{cpu:8.1f}{polyak:10.2f}{len(ascents[0]):8}"
                f"{decreasing:12.2f}{len(ascents[1]):8}{megabytes():6.0f}",
                flush=True,
            )
            if arguments.no_ascent:
                continue
            share = ahead_from(result, cpu, ascents[0])
            row = {
                "size": size,
                "projections": n_angles,
                "levels": arguments.levels,
                "phantom": energy(image),
                "energy": f"{result.energy:g}",
                "bound": f"{result.lower_bound:.2f}",
                "ascent_polyak": f"{polyak:.2f}",
                "ascent_decreasing": f"{decreasing:.2f}",
                "ahead_from": "" if share is None else f"{share:.3f}",
                "cpu_seconds": f"{cpu:.1f}",
                "status": result.status,
            }
            table.put(row | origin(command(), arguments.load))


if __name__ == "__main__":
    main()
