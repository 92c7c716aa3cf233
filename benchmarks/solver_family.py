#!/usr/bin/env python3
"""Every combination of solver, step, sampling, caching and averaging: calls and seconds to a gap.

    python benchmarks/solver_family.py [--problems ocr-small digits] [--limit 20] [--seeds 5]
    python benchmarks/solver_family.py --quick

Problems: OCR letters, fold 0 (ocr-small) and folds 1-9 (ocr-large), three lambdas; CoNLL-2000
chunking (attributes that occur three times and more; conll-500: the first 500 sentences); digits
and USPS, multiclass; and two on which nothing was tuned: make_sequences (12 labels, 40 features)
and Yeast with its frequent sets of labels as classes. USPS and Yeast are read from SSTRUCT_DATA.

Protocol (``observed_fit.py``). One thread; CPU time of the solver, packing not included. Solvers
run without certificates; the primal is computed after each pass and not timed. Gap sampling and
caching require exact block gaps every 10 passes: these full passes are part of the method, so
their n oracle calls and their time are counted. For averaging methods the primal is the smaller one
of the last and the averaged iterate (with gap sampling or caching, refreshing passes evaluate both,
which takes up to a tenth too much time, but no additional calls). The passes of batch Frank-Wolfe
and of cutting planes compute certificates; the subgradient method has no dual, so its gap is
relative to the best lower bound of all runs. A fit ends at the smallest gap, after ``--limit``
seconds, or after ``--patience`` times the seconds of "auto"; "-" means not reached by then.

All combinations run once. Then the ``--finalists`` combinations that were fastest to 0.01 (or, if
none reached it, closest to it) and "auto" run alternately with ``--seeds`` seeds for up to
``--final-limit`` seconds, and their medians decide whether "auto" takes at most 1.3 times as long
as the best. Finalists that do not average use the averages of passes of the default in this
comparison, which users could choose, too. Writes tables to the screen; the first runs into
solver_family.csv, from which ``claims.py`` judges the claims of the papers; and the last comparison
as JSON, and a plot for each problem, into --output.
"""

import argparse
import itertools
import json
import math
import os
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmark_problems import LAMS, LOADERS, UNTUNED, machine, packed
from observed_fit import options_of, watch
from reports import Table, command, origin, parsed

GAPS = (0.1, 0.01, 0.001)
SOLVERS = ("bcfw", "mp-bcfw")
STEPS = ("fw", "pairwise", "away", "corrective")
SAMPLINGS = ("uniform", "permutation", "gap")
AUTO_RATIO = 1.3
DRAWN = ("auto", "bcfw, fw, uniform", "bcfw, pairwise, gap, cache", "mp-bcfw, fw, permutation")
QUICK = (
    "bcfw, fw, permutation",
    "bcfw, pairwise, permutation",
    "bcfw, pairwise, gap",
    "bcfw, pairwise, permutation, cache",
    "mp-bcfw, fw, permutation",
    "mp-bcfw, pairwise, permutation",
    "mp-bcfw, corrective, gap, cache, average",
)


def combinations():
    """Map the name of each combination to its parameters."""
    found = {}
    for solver, step, sampling, cache, average in itertools.product(
        SOLVERS, STEPS, SAMPLINGS, (False, True), (False, True)
    ):
        name = ", ".join([solver, step, sampling] + cache * ["cache"] + average * ["average"])
        found[name] = {
            "solver": solver,
            "step": step,
            "sampling": sampling,
            "cache": cache,
            "average": average,
        }
    return found


def baselines():
    """Return the names of the baselines that can run here."""
    try:
        import clarabel  # noqa: F401
    except ImportError:
        print("clarabel is missing: no cutting plane")
        return ("fw", "ssg")
    return ("fw", "cutting-plane", "ssg")


def reached(curve, n, lower=None):
    """Return calls / n and seconds to each gap (None: not reached) and at the end, with the gap."""
    end = [curve.calls[-1] / n, curve.seconds[-1], float(curve.gaps(lower)[-1])]
    row = {"end": end, "status": curve.status}
    for gap in GAPS:
        at = curve.reach(gap, lower)
        row[gap] = None if at is None else [curve.calls[at] / n, curve.seconds[at]]
    return row


def sweep(data, combos, arguments):
    """Run "auto", every combination and the baselines once; return the rows and the curves."""
    curves = {"auto": watch(data, options_of(data), arguments.limit, GAPS[-1])}
    limit = min(arguments.limit, max(arguments.patience * curves["auto"].seconds[-1], 0.2))
    for name, parameters in combos.items():
        curves[name] = watch(data, options_of(data, **parameters), limit, GAPS[-1])
    plain = options_of(data)
    for name in baselines():
        lower = max(curve.lower for curve in curves.values()) if name == "ssg" else None
        curves[name] = watch(data, plain, limit, GAPS[-1], baseline=name, lower=lower)
    lower = max(curve.lower for curve in curves.values())
    rows = {
        name: reached(curve, data.n, lower if name == "ssg" else None)
        for name, curve in curves.items()
    }
    return rows, curves, lower


def final(data, rows, combos, arguments):
    """Run "auto" and the most promising combinations alternately; compare seconds to 0.01."""
    auto = options_of(data)
    combos = {
        name: parameters if parameters["average"] else {**parameters, "average": "auto"}
        for name, parameters in combos.items()
    }
    others = {name: options_of(data, **parameters) for name, parameters in combos.items()}
    same = [name for name, options in others.items() if options == auto]

    def key(name):
        at, (_, _, gap) = rows[name][0.01], rows[name]["end"]
        return (math.inf if at is None else at[1], gap)

    ranked = sorted((name for name in combos if name not in same), key=key)
    names = ["auto", *ranked[: arguments.finalists]]
    runs = {name: [] for name in names}
    for seed in range(arguments.seeds):
        for name in names:
            parameters = combos.get(name, {})
            curve = watch(data, options_of(data, seed, **parameters), arguments.final_limit, 0.01)
            at = curve.reach(0.01)
            runs[name].append(None if at is None else float(curve.seconds[at]))
    medians = {
        name: median(math.inf if value is None else value for value in values)
        for name, values in runs.items()
    }
    best = min(medians, key=medians.get)
    known = math.isfinite(medians["auto"])
    ratio = medians["auto"] / medians[best] if known else None
    return {"auto_is": same, "seconds": runs, "best": best, "ratio": ratio}


def as_columns(row):
    """Return the columns of solver_family.csv for the figures of a run."""
    columns = {}
    for gap in (*GAPS, "end"):
        calls, seconds = (row[gap] or ("", ""))[:2]
        columns[f"calls_{gap}"] = calls and f"{calls:.4g}"
        columns[f"seconds_{gap}"] = seconds and f"{seconds:.4g}"
    return columns | {"gap_end": f"{row['end'][2]:.3g}", "status": row["status"]}


def verdict(race, seeds):
    """Describe the comparison of "auto" with the best combination."""
    if race["ratio"] is None:
        return f"auto did not reach 0.01 in the limit; best: {race['best']}"
    words = "within" if race["ratio"] <= AUTO_RATIO else "NOT WITHIN"
    return (
        f"auto takes {race['ratio']:.2f} x the best ({race['best']}), {words} {AUTO_RATIO} "
        f"(seconds to 0.01, medians of {seeds}; auto is {' = '.join(race['auto_is']) or '-'})"
    )


def show(title, rows):
    """Print a table, fastest to 0.01 first."""
    print(f"\n{title}")
    head = "".join(f"{f'to {gap:g}':>20s}" for gap in GAPS)
    print(f"{'oracle calls / n, CPU seconds':50s}{head}")

    def key(name):
        return [math.inf if rows[name][gap] is None else rows[name][gap][1] for gap in (0.01, 0.1)]

    for name in sorted(rows, key=key):
        cells = (
            f"{'-':>20s}" if rows[name][gap] is None else "{:12.1f}{:8.3f}".format(*rows[name][gap])
            for gap in GAPS
        )
        print(f"{name:50s}{''.join(cells)}")


def draw(title, curves, lower, n, extra, target):
    """Plot gaps against oracle calls and seconds."""
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is missing: no plot")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    for name in dict.fromkeys([*DRAWN, extra, "fw", "cutting-plane", "ssg"]):
        if name in curves:
            gaps = curves[name].gaps(lower if name == "ssg" else None)
            axes[0].loglog(curves[name].calls / n, gaps, label=name)
            axes[1].loglog(curves[name].seconds, gaps)
    axes[0].set(title=title, xlabel="oracle calls / n", ylabel="relative gap")
    axes[1].set(xlabel="CPU seconds", ylim=(GAPS[-1] / 2, 1))
    axes[1].legend(*axes[0].get_legend_handles_labels(), fontsize="small", loc="lower left")
    figure.tight_layout()
    figure.savefig(target, dpi=120)
    plt.close(figure)


def parse():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="*", choices=[*LOADERS])
    parser.add_argument("--lam", type=float, nargs="*", help="instead of LAMS; 0: 1/n")
    parser.add_argument("--limit", type=float, default=20, help="maximum seconds of one fit")
    parser.add_argument("--final-limit", type=float, default=60, help="of the last comparison")
    parser.add_argument(
        "--patience", type=float, default=20, help='limit relative to the seconds of "auto"'
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--finalists", type=int, default=5)
    parser.add_argument("--combinations", nargs="*", help="only those with these names")
    parser.add_argument("--quick", action="store_true", help="few combinations, as a test")
    arguments = parsed(parser)
    if arguments.quick:
        arguments.limit, arguments.final_limit = 1, 2
        arguments.seeds, arguments.finalists = 1, 2
    if arguments.problems is None:
        arguments.problems = ["ocr-small", "digits"] if arguments.quick else [*LAMS]
    return arguments


def main():
    arguments = parse()
    combos = combinations()
    if arguments.quick:
        combos = {name: combos[name] for name in QUICK}
    if arguments.combinations is not None:
        combos = {name: combos[name] for name in arguments.combinations}
    arguments.output.mkdir(parents=True, exist_ok=True)
    target = arguments.output / "solver_family.json"
    table = Table(arguments.output / "solver_family.csv", ["problem", "lam", "method"])
    report = {"machine": machine(), "limit": arguments.limit, "problems": []}
    print(report["machine"])
    for problem in arguments.problems:
        lams = LAMS.get(problem, (0.0,)) if arguments.lam is None else arguments.lam
        for data in packed(problem, lams):
            rows, curves, lower = sweep(data, combos, arguments)
            title = f"{problem}, n {data.n}, lam {data.lam:.3g}"
            show(title + (" (nothing was tuned on it)" * (problem in UNTUNED)), rows)
            for name, row in rows.items():
                key = {"problem": problem, "n": data.n, "lam": f"{data.lam:.4g}", "method": name}
                table.put(key | as_columns(row) | origin(command(), arguments.load))
            race = final(data, rows, combos, arguments)
            print(verdict(race, arguments.seeds), flush=True)
            report["problems"].append(
                {"problem": problem, "n": data.n, "lam": data.lam, "race": race}
            )
            picture = arguments.output / f"solver_family_{problem}_{data.lam:.2g}.png"
            draw(title, curves, lower, data.n, race["best"], picture)
            # Write after each problem, since a run takes hours.
            target.write_text(json.dumps(report, indent=1))
    print('\n"auto" against the best fixed combination')
    for entry in report["problems"]:
        where = f"{entry['problem']}, lam {entry['lam']:.3g}"
        print(f"{where:28s}{verdict(entry['race'], arguments.seeds)}")
    target.write_text(json.dumps(report, indent=1))
    print(f"\nwrote {target}")


if __name__ == "__main__":
    main()
