"""The two papers' claims on oracle calls, judged by the table of ``solver_family.py``.

A ratio a / b of calls to a gap is known where both got there. Where only one did, the calls that
the other had made in vain are a bound of its number: used if it decides which is greater. All
comparisons are between runs that differ in one option.
"""

import argparse
import json
import math
from pathlib import Path
from statistics import median

GAPS = (0.1, 0.01, 0.001)
# "mp-bcfw, fw, gap, cache" and so on, as solver_family.py names them.
SOLVER, STEP, SAMPLING = range(3)


def ratio(a, b, gap):
    """Calls of row a over those of row b, a bound of it, or None where nothing is known."""
    if a[gap] is not None and b[gap] is not None:
        return a[gap][0] / b[gap][0]
    if a[gap] is None and b[gap] is None:
        return None
    known = (a["end"] if a[gap] is None else a[gap])[0] / (b["end"] if b[gap] is None else b[gap])[
        0
    ]
    # What did not get there needs more than it has made.
    return known if (known > 1) == (a[gap] is None) else None


def pairs(rows, position, a, b, **fixed):
    """Names of the runs that differ in one option alone, a and b at its position."""
    for name in rows:
        parts = name.split(", ")
        if len(parts) > position and parts[position] == a:
            other = ", ".join([*parts[:position], b, *parts[position + 1 :]])
            if other in rows and all(fixed_in(parts, key, value) for key, value in fixed.items()):
                yield name, other


def fixed_in(parts, key, value):
    """Whether a run has an option."""
    if key in ("cache", "average"):
        return (key in parts) == value
    return parts[{"solver": SOLVER, "step": STEP, "sampling": SAMPLING}[key]] == value


def ratios(problem, position, a, b, gap, **fixed):
    """Ratios a / b of calls in one problem."""
    rows = problem["rows"]
    found = (ratio(rows[x], rows[y], gap) for x, y in pairs(rows, position, a, b, **fixed))
    return [value for value in found if value is not None]


def title(problem):
    return f"{problem['problem']} at lam {problem['lam']:.2g}"


def multi_plane(problems):
    """MP-BCFW never needs more oracle calls than BCFW (paper 000)."""
    worst, more, count = (0.0, ""), 0, 0
    for problem in problems:
        for gap in GAPS:
            for value in ratios(problem, SOLVER, "mp-bcfw", "bcfw", gap):
                count, more = count + 1, more + (value > 1)
                worst = max(worst, (value, f"{title(problem)} to {gap:g}"))
    evidence = f"more in {more} of {count} comparisons"
    if count:
        evidence += f"; at most {worst[0]:.2f} times as many ({worst[1]})"
    return None if not count else more == 0, evidence


def gap_sampling(problems):
    """Gap sampling helps most when n is large (paper 001): BCFW without caching."""
    points = []
    for problem in problems:
        for gap in GAPS:
            plain = {"solver": "bcfw", "cache": False, "average": False}
            points += [
                (problem["n"], value, problem["problem"])
                for other in ("uniform", "permutation")
                for value in ratios(problem, SAMPLING, other, "gap", gap, **plain)
            ]
    sizes = sorted({n for n, _, _ in points})
    if len(sizes) < 2:
        return None, "needs problems of several sizes"
    gains = {n: median(value for m, value, _ in points if m == n) for n in sizes}
    middle = sizes[len(sizes) // 2]
    small = median(value for n, value, _ in points if n < middle)
    large = median(value for n, value, _ in points if n >= middle)
    evidence = "calls without / with gap sampling, medians: " + ", ".join(
        f"n {n}: {gain:.2f}" for n, gain in gains.items()
    )
    return large > max(small, 1), evidence + f"; n < {middle}: {small:.2f}, others: {large:.2f}"


def pairwise(problems):
    """Pairwise steps help at small gaps and large lambda (paper 001): BCFW without caching."""

    def gain(chosen, gap):
        plain = {"solver": "bcfw", "cache": False, "average": False}
        values = [
            v for problem in chosen for v in ratios(problem, STEP, "fw", "pairwise", gap, **plain)
        ]
        return median(values) if values else math.nan

    by_gap = {gap: gain(problems, gap) for gap in GAPS}
    evidence = "calls of fw / pairwise, medians: " + ", ".join(
        f"to {gap:g}: {value:.2f}" for gap, value in by_gap.items()
    )
    known = [value for value in by_gap.values() if not math.isnan(value)]
    if len(known) < 2:
        return None, evidence
    verdict = known[-1] > max(known[0], 1)
    by_lam = []
    for name in dict.fromkeys(problem["problem"] for problem in problems):
        same = sorted((p for p in problems if p["problem"] == name), key=lambda p: p["lam"])
        for gap in reversed(GAPS):
            small, large = gain(same[:1], gap), gain(same[-1:], gap)
            if len(same) > 1 and not math.isnan(small + large):
                by_lam.append(large / small)
                evidence += f"; {name} to {gap:g}, least lam {small:.2f}, greatest {large:.2f}"
                break
    return verdict and (not by_lam or median(by_lam) > 1), evidence


def caching(problems):
    """Caching cuts oracle calls (paper 001); refreshing passes counted."""
    values = []
    for problem in problems:
        rows = problem["rows"]
        for name in rows:
            parts = name.split(", ")
            if "cache" in parts:
                without = ", ".join(part for part in parts if part != "cache")
                if without in rows:
                    values += [
                        v
                        for gap in GAPS
                        if (v := ratio(rows[name], rows[without], gap)) is not None
                    ]
    if not values:
        return None, "no comparison"
    fewer = sum(value < 1 for value in values)
    evidence = f"fewer in {fewer} of {len(values)} comparisons; median ratio {median(values):.2f}"
    return median(values) < 1, evidence


CLAIMS = (multi_plane, gap_sampling, pairwise, caching)


def judge(problems):
    """Print each claim with its verdict; return them.

    Parameters
    ----------
    problems : list of dict
        With ``problem``, ``n``, ``lam`` and ``rows``: each run's calls / n and seconds to each gap.
    """
    print("\nClaims of the papers")
    found = []
    for claim in CLAIMS:
        verdict, evidence = claim(problems)
        words = {True: "reproduced", False: "not reproduced", None: "undecided"}[verdict]
        text = claim.__doc__.splitlines()[0]
        print(f"{words}: {text}\n    {evidence}")
        found.append({"claim": text, "verdict": words, "evidence": evidence})
    return found


def main():
    """Judge the problems of several reports: a full run may be cut into segments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", type=Path, help="JSON of solver_family.py")
    problems = []
    for path in parser.parse_args().reports:
        for problem in json.loads(path.read_text())["problems"]:
            rows = {
                name: {float(key) if key[0] == "0" else key: value for key, value in row.items()}
                for name, row in problem["rows"].items()
            }
            problems.append({**problem, "rows": rows})
            race = problem["race"]
            print(
                f"{title(problem):34s}auto / best {race['ratio'] or math.nan:.2f} ({race['best']})"
            )
    judge(problems)


if __name__ == "__main__":
    main()
