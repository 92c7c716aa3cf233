"""Compare the default fit of each workload in workloads.csv with the best baseline.

Only needs NumPy, so that the chart of the manual (`doc/charts.py`) reads the same numbers.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PATH = Path(__file__).parent / "results" / "workloads.csv"
LOWER_IS_BETTER = ("error", "Hamming loss", "missed joints")
OURS = ("default", "PathCV")


@dataclass
class Comparison:
    """The default fit and the best baseline of a workload in one metric, medians over seeds.

    Attributes
    ----------
    workload, metric : str
    value, seconds : float
        Of the default fit; NaN if it was stopped.
    converged : bool
    baseline : str
        Name of the best baseline, or an empty string if all were stopped.
    baseline_value, baseline_seconds : float
        Of the best baseline.
    loss : float
        Difference by which the default is worse than the best baseline, relative to the baseline;
        negative if the default is better; NaN if all baselines were stopped.
    first : bool
        Whether the mean difference over seeds is at most its standard error, or there is none.
    faster : str
        The fastest baseline that is at least as good as the default, or an empty string.
    times : float
        Ratio of the CPU seconds of the default and of `faster`; NaN without one.
    """

    workload: str
    metric: str
    value: float
    seconds: float
    converged: bool
    baseline: str
    baseline_value: float
    baseline_seconds: float
    loss: float
    first: bool
    faster: str
    times: float


def read(path=PATH):
    """Return the rows of workloads.csv."""
    with open(path, newline="") as lines:
        return list(csv.DictReader(lines))


def number(text):
    return float(text) if text else np.nan


def judged(rows):
    """Return the pairs of workload and metric: the first metric of each, and macro F1."""
    metrics = {}
    for row in rows:
        metrics.setdefault(row["workload"], []).append(row["metric"])
    return [
        (name, metric)
        for name, found in metrics.items()
        for metric in dict.fromkeys(found)
        if metric in (found[0], "macro F1")
    ]


def compare(rows):
    """Return a Comparison for each workload and judged metric that has a default fit."""
    found = []
    for workload, metric in judged(rows):
        table = {}
        for row in rows:
            if (row["workload"], row["metric"]) == (workload, metric):
                table.setdefault(row["method"], {})[row["seed"]] = row
        others = {name: each for name, each in table.items() if name not in OURS}
        if "default" not in table or not others:
            continue
        found.append(_comparison(workload, metric, table["default"], others))
    return found


def _comparison(workload, metric, default, others):
    sign = 1 if metric in LOWER_IS_BETTER else -1

    def median(column, rows):
        return float(np.median([number(row[column]) for row in rows.values()]))

    def cost(rows):
        value = median("value", rows)
        return np.inf if np.isnan(value) else sign * value

    best = min(others, key=lambda name: cost(others[name]))
    value, best_value = median("value", default), median("value", others[best])
    seeds = [seed for seed in default if seed in others[best]]
    apart = np.array([
        sign * (number(default[seed]["value"]) - number(others[best][seed]["value"]))
        for seed in seeds
    ])  # fmt: skip
    error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else 0.0
    seconds = median("cpu_seconds", default)
    as_good = [name for name in others if cost(others[name]) <= cost(default)]
    faster = min(as_good, key=lambda name: median("cpu_seconds", others[name]), default="")
    return Comparison(
        workload,
        metric,
        value,
        seconds,
        all(row["converged"] == "True" for row in default.values()),
        "" if np.isnan(best_value) else best,
        best_value,
        median("cpu_seconds", others[best]),
        sign * (value - best_value) / max(abs(best_value), 1e-12),
        not apart.mean() > error,
        faster,
        seconds / median("cpu_seconds", others[faster]) if faster else np.nan,
    )


def print_summary(rows):
    """Print a line for each comparison, and the totals."""
    found = compare(rows)
    if not found:
        print("no workload has a default fit and a baseline")
        return
    print(f"{'workload':26}{'metric':14}{'default':>9}{'CPU s':>8}  {'best baseline':20}"
          f"{'':>9}{'CPU s':>8}{'loss':>9}  {'fastest as good':20}{'times':>6}")  # fmt: skip
    for c in found:
        print(
            f"{c.workload:26}{c.metric:14}{c.value:9.4f}{c.seconds:8.2f}{' !'[not c.converged]} "
            f"{c.baseline:20}{c.baseline_value:9.4f}{c.baseline_seconds:8.2f}"
            f"{100 * c.loss:7.1f} %{'* '[c.first]} {c.faster or '-':20}"
            + (f"{c.times:6.1f}" if c.faster else f"{'-':>6}")
        )
    losses = [c for c in found if not c.first]
    single = {c.workload: c for c in found}
    slow = [c.workload for c in single.values() if c.times > 3]
    open_fits = [name for name, c in single.items() if not c.converged]
    worst = max(found, key=lambda c: np.nan_to_num(c.loss, nan=-np.inf))
    print(
        f"\nfirst or within one standard error: {len(found) - len(losses)} of {len(found)} "
        f"(behind: *); worse by more than 3 %: {sum(c.loss > 0.03 for c in found)}; worst loss "
        f"{100 * worst.loss:.1f} % ({worst.workload}, {worst.metric})\n"
        f"not converged (!): {', '.join(open_fits) or 'none'}\n"
        f"more than 3 times the time of the fastest baseline as good: {', '.join(slow) or 'none'}"
    )
