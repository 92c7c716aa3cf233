"""Comparisons of the Frank-Wolfe solvers, from the table of ``solver_family.py``.

Two runs are compared if they differ in one option, on one problem, to one gap. Their ratio of
oracle calls, or of seconds, is known if both reached the gap. If only one did, the calls or seconds
of the other until its end are a lower bound, which is used if it decides which of the two needs
more.
"""

import math
from statistics import median

GAPS = (0.1, 0.01, 0.001)
# "mp-bcfw, fw, gap, cache" and so on, as solver_family.py names them.
SOLVER, STEP, SAMPLING = range(3)
CALLS, SECONDS = range(2)
# BCFW as published, except for the option that is compared.
PLAIN = {"solver": "bcfw", "cache": False, "average": False}


def group_by_problem(table):
    """Return a dict with the runs by name for each problem and lam of solver_family.csv."""
    problems = {}
    for line in table:
        key = line["problem"], float(line["lam"])
        problem = problems.setdefault(
            key, {"problem": key[0], "lam": key[1], "n": int(line["n"]), "rows": {}}
        )
        problem["rows"][line["method"]] = {
            gap: (float(line[f"calls_{gap}"]), float(line[f"seconds_{gap}"]))
            if line[f"calls_{gap}"]
            else None
            for gap in (*GAPS, "end")
        }
    return list(problems.values())


def ratio(a, b, gap, unit=CALLS):
    """Return calls (or seconds) of run a over those of run b, a bound, or None if unknown."""
    if a[gap] is not None and b[gap] is not None:
        return a[gap][unit] / b[gap][unit]
    if a[gap] is None and b[gap] is None:
        return None
    spent = [(run["end"] if run[gap] is None else run[gap])[unit] for run in (a, b)]
    known = spent[0] / spent[1]
    # A run that did not reach the gap needs more than it has spent.
    return known if (known > 1) == (a[gap] is None) else None


def pairs(rows, position, a, b, **fixed):
    """Yield names of runs that differ in one option only, a and b at its position."""
    for name in rows:
        parts = name.split(", ")
        if len(parts) > position and parts[position] == a:
            other = ", ".join([*parts[:position], b, *parts[position + 1 :]])
            if other in rows and has_options(parts, fixed):
                yield name, other


def has_options(parts, fixed):
    """Return whether a run has the given options."""
    places = {"solver": SOLVER, "step": STEP, "sampling": SAMPLING}
    return all(
        (key in parts) == value if key in ("cache", "average") else parts[places[key]] == value
        for key, value in fixed.items()
    )


def ratios(problems, position, a, b, gaps=GAPS, unit=CALLS, **fixed):
    """Return the ratios a / b that are known, over problems, gaps and the other options."""
    found = (
        ratio(problem["rows"][x], problem["rows"][y], gap, unit)
        for problem in problems
        for x, y in pairs(problem["rows"], position, a, b, **fixed)
        for gap in gaps
    )
    return [value for value in found if value is not None]


def cache_ratios(problems, unit=CALLS):
    """Return the ratios of runs with caching over those without."""
    found = []
    for problem in problems:
        rows = problem["rows"]
        for name in rows:
            parts = name.split(", ")
            without = ", ".join(part for part in parts if part != "cache")
            if "cache" in parts and without in rows:
                found += [ratio(rows[name], rows[without], gap, unit) for gap in GAPS]
    return [value for value in found if value is not None]


def gain_by_size(problems, unit=CALLS):
    """Return medians of the ratios without / with gap sampling: fewer samples, more samples."""
    sizes = sorted({problem["n"] for problem in problems})
    middle = sizes[len(sizes) // 2]
    halves = [], []
    for problem in problems:
        for other in ("uniform", "permutation"):
            halves[problem["n"] >= middle].extend(
                ratios([problem], SAMPLING, other, "gap", unit=unit, **PLAIN)
            )
    return middle, *(median(half) if half else math.nan for half in halves)


def gain_by_lam(problems, unit=CALLS):
    """Return, by data set, the ratios Frank-Wolfe / pairwise at its smallest and largest lam.

    The gap is the smallest one at which both ratios are known.
    """
    found = {}
    for name in dict.fromkeys(problem["problem"] for problem in problems):
        same = sorted((p for p in problems if p["problem"] == name), key=lambda p: p["lam"])
        for gap in reversed(GAPS):
            ends = [
                ratios([end], STEP, "fw", "pairwise", [gap], unit, **PLAIN)
                for end in (same[0], same[-1])
            ]
            if len(same) > 1 and all(ends):
                found[name] = tuple(median(end) for end in ends)
                break
    return found
