"""Charts of benchmarks.rst, one function each, from the CSV files in benchmarks/results."""

import csv
import math
import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

# matplotlib.sphinxext.plot_directive runs this file in its own folder, without __file__.
HERE = Path(globals().get("__file__", "charts.py")).resolve().parent
RESULTS = HERE.parent / "benchmarks" / "results"
OURS, OURS_TOO, OTHER, OTHER_TOO = "#1b6ca8", "#7fb2d6", "#8a8f98", "#c3c7cd"
ACCENT = "#d1603d"
LONGEST = 60  # percent; longer bars of `workloads` are cut

# Applied to each chart instead of globally, since tests import this file.
STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.edgecolor": "#666666",
    "legend.frameon": False,
}


def read(name):
    """Return the rows of a file as dicts, with numbers as floats and empty cells as None."""

    def value(text):
        try:
            return float(text) if text else None
        except ValueError:
            return text

    with open(RESULTS / f"{name}.csv", newline="") as file:
        return [{key: value(text) for key, text in row.items()} for row in csv.DictReader(file)]


def plain(axis, ticks):
    """Label a logarithmic axis with plain numbers at given values."""
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.9g}"))


def bars(axes, names, values, colors, notes):
    """Draw horizontal bars from the top, each with a note at its end."""
    places = range(len(names))
    axes.barh(places, values, color=colors, height=0.68)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    for place, value, note in zip(places, values, notes, strict=True):
        axes.annotate(note, (value, place), xytext=(4, 0), textcoords="offset points", va="center")


@mpl.rc_context(STYLE)
def workloads():
    """Compare default fits with the best baseline: relative loss or gain, and CPU seconds."""
    summary = runpy.run_path(str(RESULTS.parent / "workload_summary.py"))
    found = summary["compare"](summary["read"]())
    _, (left, right) = plt.subplots(
        1, 2, figsize=(7.6, 0.8 + 0.19 * len(found)), sharey=True, width_ratios=(1, 0.7),
        layout="constrained",
    )  # fmt: skip
    places = range(len(found))
    losses = [100 * c.loss for c in found]
    left.barh(
        places, np.clip(losses, -LONGEST, LONGEST),
        color=[OURS if c.first else ACCENT for c in found], height=0.7,
    )  # fmt: skip
    for place, (c, loss) in enumerate(zip(found, losses, strict=True)):
        left.annotate(
            f"{c.value:.3f} | "
            + (f"{c.baseline_value:.3f} {c.baseline}" if c.baseline else "no baseline ended"),
            (np.clip(loss, 0, LONGEST) if loss > 0 else 0, place), xytext=(3, 0),
            textcoords="offset points", va="center", fontsize=6, color="#444444",
        )  # fmt: skip
    left.axvline(0, color="#666666", linewidth=0.8)
    left.set_yticks(places, [f"{c.workload}: {c.metric}" for c in found], fontsize=7)
    left.invert_yaxis()
    left.tick_params(axis="y", length=0)
    left.set(xlim=(-LONGEST, 2.2 * LONGEST), xticks=[-50, -25, 0, 25, 50])
    left.set_xlabel("% worse than the best baseline")
    left.set_title("Default | best baseline")
    for label, key, color in (
        ("best baseline", "baseline_seconds", OTHER), ("default fit", "seconds", OURS)
    ):  # fmt: skip
        right.scatter([getattr(c, key) for c in found], places, color=color, s=14, label=label)
    unfinished = [place for place, c in enumerate(found) if not c.converged]
    right.scatter(
        [found[place].seconds for place in unfinished], unfinished, marker="x", color=ACCENT, s=26,
        label="not converged",
    )  # fmt: skip
    right.set_xscale("log")
    plain(right.xaxis, [0.01, 0.1, 1, 10, 100])
    right.grid(axis="y", color="#eeeeee", linewidth=0.6)
    right.set_axisbelow(True)
    right.tick_params(axis="y", length=0)
    right.set(xlabel="CPU seconds of a fit")
    right.legend(fontsize=7, loc="lower left", handletextpad=0.2)


@mpl.rc_context(STYLE)
def chunking():
    rows = [row for row in read("chunking") if row["attributes"] == 335674]
    _, axes = plt.subplots(figsize=(7.6, 2.2), layout="constrained")
    bars(
        axes,
        [row["program"] for row in rows],
        [row["seconds_from_dicts"] for row in rows],
        [OURS if "SSVM" in row["program"] else OTHER for row in rows],
        [f"{row['seconds_from_dicts']:g} s, chunk F1 {row['chunk_f1']:.4f}" for row in rows],
    )
    axes.set(xlim=(0, 130), xlabel="seconds of training, from feature dicts to the fitted model")
    axes.set_title("CoNLL-2000 text chunking, 335,674 attributes")


@mpl.rc_context(STYLE)
def multiclass():
    rows = read("multiclass")
    _, axes = plt.subplots(figsize=(7.6, 4.0), layout="constrained")
    names, values, colors, notes = [], [], [], []
    for row in rows:
        ratio = row["sstruct_seconds"] / row["liblinear_seconds"]
        lam = row["lam"] if row["lam"] == "1/n" else f"{row['lam']:g}"
        for program, column, color in (
            ("sstruct", "sstruct_seconds", OURS),
            ("LIBLINEAR", "liblinear_seconds", OTHER),
        ):
            names.append(f"{row['data']}, lam {lam}: {program}")
            values.append(row[column])
            colors.append(color)
            more = f"  ({ratio:.2f} of LIBLINEAR's)" if program == "sstruct" else ""
            notes.append(f"{row[column]:g} s{more}")
    bars(axes, names, values, colors, notes)
    axes.set_xscale("log")
    axes.set(xlim=(0.01, 30), xlabel="seconds to an objective 0.001 above the optimum")
    plain(axes.xaxis, [0.01, 0.1, 1, 10])
    axes.set_title("Crammer-Singer multiclass SVM")


@mpl.rc_context(STYLE)
def published_methods():
    rows = read("published_methods")
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    _, all_axes = plt.subplots(
        len(problems), figsize=(7.6, 4.2), sharex=True, layout="constrained",
        height_ratios=[sum(row["problem"] == name for row in rows) for name in problems],
    )  # fmt: skip
    for axes, name in zip(all_axes, problems, strict=True):
        mine = [row for row in rows if row["problem"] == name]
        notes = []
        for row in mine:
            sign = "> " if "more" in row["how"] else ""
            end = " (computed)" if "projected" in row["how"] else ""
            notes.append(f"{sign}{row['seconds']:,g} s{end}")
        bars(
            axes,
            [row["method"] for row in mine],
            [row["seconds"] for row in mine],
            [OURS if row["method"] == "sstruct" else OTHER for row in mine],
            notes,
        )
        axes.set_title(f"{name}: seconds to a relative gap of {mine[0]['gap']:g}")
        axes.set_xscale("log")
        axes.set_xlim(0.3, 80000)
    plain(all_axes[-1].xaxis, [1, 10, 100, 1000, 10000])


@mpl.rc_context(STYLE)
def cuts():
    _, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.6), layout="constrained")
    rows = read("cuts")
    for column, marker, color, label in (
        ("graph_cut_ms", "o", OURS, "graph_cut"),
        ("grid_ms", "s", OURS_TOO, "GridCRFSSVM's decoder"),
    ):
        left.scatter(
            [row["pymaxflow_ms"] for row in rows], [row[column] for row in rows],
            marker=marker, color=color, label=label, s=24, zorder=3,
        )  # fmt: skip
    left.set_title("Two labels: minimum cut")
    left.set(xlabel="PyMaxflow, ms", ylabel="sstruct, ms")
    equal_times(left, (0.15, 900), [1, 10, 100])
    rows = read("expansion")
    for column, marker, color, label in (
        ("gco_ms", "o", OTHER, "against gco"),
        ("pymaxflow_ms", "s", ACCENT, "against PyMaxflow"),
    ):
        known = [row for row in rows if row[column] is not None]
        right.scatter(
            [row[column] for row in known], [row["sstruct_ms"] for row in known],
            marker=marker, color=color, label=label, s=24, zorder=3,
        )  # fmt: skip
    right.set_title("5 and 16 labels: alpha-expansion")
    right.set(xlabel="the other, ms", ylabel="alpha_expansion, ms")
    equal_times(right, (20, 9000), [100, 1000])


def equal_times(axes, limits, ticks):
    """Draw logarithmic axes with the line of equal times."""
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits, aspect="equal")
    axes.plot(limits, limits, color="#999999", linewidth=1)
    axes.annotate(
        "equal", (limits[0], limits[0]), xytext=(62, 65), textcoords="offset points",
        color="#666666", rotation=45, rotation_mode="anchor",
    )  # fmt: skip
    plain(axes.xaxis, ticks)
    plain(axes.yaxis, ticks)
    axes.legend(loc="upper left", handletextpad=0.2)


@mpl.rc_context(STYLE)
def map_inference():
    """Draw the gaps of bounds and energies to the best value of each model, in percent."""
    methods = (
        ("trws", OTHER, "TRW-S"),
        ("fwmap", OURS, "FWMAP"),
        ("toulbar2", ACCENT, "toulbar2"),
    )
    models = {}
    for row in read("map_inference"):
        models.setdefault(row["model"], {})[row["method"]] = row
    # Models that some method does not solve, with only two pairs of images of the house.
    rows = [rows for rows in models.values() if is_open(rows, [key for key, *_ in methods])]
    houses = [r for r in rows if r["trws"]["model"].startswith("mgm_house")]
    rows = [each for each in rows if each not in houses[2:]]
    figure, all_axes = plt.subplots(1, 2, figsize=(7.6, 4.9), sharey=True, layout="constrained")
    best = [
        min(
            value
            for row in each.values()
            for value in (row["energy"], row["reference"])
            if math.isfinite(value)
        )
        for each in rows
    ]
    for axes, kind, sign in zip(all_axes, ("bound", "energy"), (-1, 1), strict=True):
        for place, (row, least) in enumerate(zip(rows, best, strict=True)):
            for (key, color, label), shift in zip(methods, (-0.22, 0, 0.22), strict=True):
                gap = 100 * sign * (row[key][kind] - least) / abs(least)
                axes.scatter(
                    max(gap, 0.0), place + shift, color=color, s=22, zorder=3,
                    label=label if place == 0 else None,
                )  # fmt: skip
            axes.axhline(place + 0.5, color="#e6e6e6", linewidth=0.8)
        axes.set_xscale("symlog", linthresh=0.1)
        axes.set_xlim(-0.02, 300)
        plain(axes.xaxis, [0, 0.1, 1, 10, 100])
    all_axes[0].set_yticks(range(len(rows)), [row["trws"]["model"] for row in rows])
    all_axes[0].invert_yaxis()
    all_axes[0].tick_params(axis="y", length=0)
    all_axes[1].tick_params(axis="y", length=0)
    all_axes[0].set_title("Bound after six seconds")
    all_axes[0].set_xlabel("% below the best energy known\n(linear up to 0.1, then logarithmic)")
    all_axes[1].set_title("Energy after six seconds")
    all_axes[1].set_xlabel("% above the best energy known\n(linear up to 0.1, then logarithmic)")
    figure.legend(
        *all_axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=3,
        handletextpad=0.2,
    )  # fmt: skip


def is_open(rows, methods):
    """Whether all methods were run on a model, and not all of them prove its minimum."""
    if not all(key in rows and math.isfinite(rows[key]["bound"]) for key in methods):
        return False
    chosen = [rows[key] for key in methods]
    return any(row["energy"] - row["bound"] > 1e-4 * abs(row["bound"]) for row in chosen)


@mpl.rc_context(STYLE)
def growth():
    _, (left, middle, right) = plt.subplots(
        1, 3, figsize=(7.6, 3.0), width_ratios=(1, 1, 1.1), layout="constrained"
    )
    for of, color in (("samples", OURS), ("samples, noisy", OTHER)):
        power_line(left, of, of.removeprefix("samples, "), color)
    plain(left.xaxis, [1000, 10000, 100000, 1000000])
    plain(left.yaxis, [0.01, 0.1, 1, 10, 100])
    left.tick_params(axis="x", labelsize=7)
    left.set(xlabel="sequences", ylabel="CPU seconds", ylim=(None, 2000))
    left.legend(loc="upper left", fontsize=8)
    left.set_title("Default fit")
    for solver, color, label in (("gdmm", OURS, "GDMM"), ("mp-bcfw", OTHER, "MP-BCFW")):
        rows = [row for row in read("labels") if row["solver"] == solver]
        known = [row for row in rows if row["seconds_to_50"] is not None]
        middle.loglog(
            [row["labels"] for row in known], [row["seconds_to_50"] for row in known],
            "o-", color=color, label=label,
        )  # fmt: skip
        for row in rows:
            if row["seconds_to_50"] is None:
                middle.plot(row["labels"], row["stopped_after"], "^", color=color)
                middle.annotate(
                    f"not reached\nin {row['stopped_after']:g} s",
                    (row["labels"], row["stopped_after"]), xytext=(-6, 0),
                    textcoords="offset points", va="center", ha="right", color="#666666",
                )  # fmt: skip
    plain(middle.xaxis, [45, 300, 3000])
    plain(middle.yaxis, [0.1, 1, 10, 100])
    middle.set(xlabel="labels", ylabel="CPU seconds", ylim=(0.03, 200))
    middle.set_title("Half of the best bound")
    middle.legend(loc="lower right")
    rows = read("threads")
    names = [f"{row['problem']}\n{row['job']}" for row in rows]
    places = range(len(rows))
    right.barh(places, [row["two_threads"] for row in rows], color=OURS, height=0.66)
    right.plot([row["two_processes"] for row in rows], places, "|", color="black", markersize=11,
               markeredgewidth=2, label="two processes")  # fmt: skip
    right.set_yticks(places, names, fontsize=7.5)
    right.tick_params(axis="y", length=0)
    right.invert_yaxis()
    right.set(xlim=(1, 2.2), xlabel="speed-up")
    right.set_title("Two threads")


def power_line(axes, of, name, color):
    """Draw the seconds of growth.csv against a size, with the slope of a fitted line."""
    rows = [row for row in read("growth") if row["of"] == of]
    x, seconds = ([row[key] for row in rows] for key in ("value", "seconds"))
    slope = np.polyfit(np.log(x), np.log(seconds), 1)[0]
    axes.loglog(x, seconds, "o-", color=color, markersize=4, label=f"{name}, power {slope:.2f}")


@mpl.rc_context(STYLE)
def growth_of_data():
    _, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.0), layout="constrained")
    for of, color in (("labels", OURS), ("features", OTHER), ("nodes", ACCENT)):
        power_line(left, of, of, color)
    plain(left.xaxis, [4, 16, 64, 256])
    plain(left.yaxis, [0.1, 1, 10])
    left.set(xlabel="labels, features, nodes of a sequence", ylabel="CPU seconds")
    left.set_title("5,000 sequences")
    left.legend(loc="upper left", fontsize=8)
    rows = read("growth")
    for of, color in (("samples", OURS), ("samples, noisy", OTHER)):
        mine = [row for row in rows if row["of"] == of]
        right.semilogx(
            [row["value"] for row in mine], [row["bytes_a_sequence"] for row in mine],
            "o-", color=color, markersize=4, label=of,
        )  # fmt: skip
    right.axhline(rows[0]["feature_bytes"], color="#999999", linewidth=1)
    right.annotate(
        "features", (1e6, rows[0]["feature_bytes"]), xytext=(0, 3), textcoords="offset points",
        ha="right", color="#666666",
    )  # fmt: skip
    plain(right.xaxis, [1000, 10000, 100000, 1000000])
    right.set(xlabel="sequences", ylabel="bytes a sequence", ylim=(0, None))
    right.set_title("Memory beyond the data")
    right.legend(loc="upper right", fontsize=8)


# Number of concurrent visits (`sstruct._solvers.frank_wolfe.block_coordinate`).
MAX_VISITS = 4


def speed_up(row, cores):
    """Speed-up of a fit by a model: decoders are shared by all cores, visits by at most four.

    Of visits that part is shared which makes two threads as fast as measured.
    """
    visits, decoders, control = row["visits"], row["decoders"], row["two_processes"]
    rest = 1 - visits - decoders
    of_two = (1 / row["speed_up"] - rest - decoders / control) / visits
    shared = np.clip((1 - of_two) / (1 - 1 / control), 0, 1)
    return 1 / (
        rest + decoders / cores + visits * (1 - shared + shared / np.minimum(cores, MAX_VISITS))
    )


@mpl.rc_context(STYLE)
def cores():
    """Draw measured speed-ups of two threads, and a model for more cores."""
    rows = sorted(read("scaling"), key=lambda row: -row["speed_up"])
    _, (left, right) = plt.subplots(
        1, 2, figsize=(7.6, 3.4), width_ratios=(1, 1.15), layout="constrained"
    )
    places = range(len(rows))
    bars(
        left, [row["set"] for row in rows], [row["speed_up"] for row in rows], OURS,
        [f"{row['seconds_one_thread']:.2g} s" for row in rows],
    )  # fmt: skip
    left.plot([row["two_processes"] for row in rows], places, "|", color="black", markersize=11,
              markeredgewidth=2, label="two processes")  # fmt: skip
    left.set(xlim=(0.8, 2.4), xlabel="speed-up of a whole fit")
    left.tick_params(axis="y", labelsize=8)
    left.set_title("Two threads, measured")
    left.legend(loc="lower right", fontsize=8)
    numbers = 2.0 ** np.arange(0, 6.01, 0.25)
    colors = mpl.colormaps["viridis"](np.linspace(0, 0.85, len(rows)))
    for row, color in zip(rows, colors, strict=True):
        right.plot(numbers, speed_up(row, numbers), color=color, linewidth=1.3, label=row["set"])
        right.plot([1, 2], [1, row["speed_up"]], "o", color=color, markersize=4)
    right.set(xscale="log", yscale="log", xlabel="cores", ylabel="speed-up", ylim=(0.9, 6))
    right.plot(numbers, numbers, color="#bbbbbb", linewidth=1)
    plain(right.xaxis, [1, 2, 4, 8, 16, 32, 64])
    plain(right.yaxis, [1, 2, 4])
    right.set_title("More cores, by a model")
    right.legend(loc="upper left", fontsize=7)


@mpl.rc_context(STYLE)
def hidden_labels():
    """Test errors of LatentSSVM and of what one would do without it."""
    rows = [row for row in read("hidden_labels") if row["seed"] == 0]
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    _, axes = plt.subplots(figsize=(7.6, 0.9 + 0.5 * len(tasks)), layout="constrained")
    looks = (
        (("cut", "off", "1 state"), -0.28, OTHER, "labels cut out or off, or one state"),
        (("latent", "2 states"), 0, OURS, "LatentSSVM"),
        (("latent, kernels first",), 0.28, OURS_TOO, "LatentSSVM, init: kernel features"),
    )
    for ways, shift, color, label in looks:
        own = [row for row in rows if row["way"] in ways]
        places = [tasks.index(row["task"]) + shift for row in own]
        errors = [100 * row["error"] for row in own]
        axes.barh(places, errors, color=color, height=0.26, label=label)
        for place, error in zip(places, errors, strict=True):
            axes.annotate(
                f"{error:.1f}", (error, place), xytext=(4, 0), textcoords="offset points",
                va="center", fontsize=8,
            )  # fmt: skip
    axes.set_yticks(range(len(tasks)), tasks)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel="wrong labels of the test part, %")
    axes.legend(fontsize=8)
