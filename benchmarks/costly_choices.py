#!/usr/bin/env python3
"""Compare steps, samplings and caching by the calls and seconds they need with costly oracles.

    python benchmarks/costly_choices.py [--data superpixels snakes ocr digits yeast] [--seeds 3]

``solver="mp-bcfw"`` with pairwise or corrective steps, permutations or gap sampling, with and
without caching, and the best combination of [O16] without approximate passes (pairwise steps,
gap sampling, caching). The default options resolve to one of these combinations.

The oracles are minimum cuts (Weizmann horses, superpixels, contrast model, attractive weights),
fusion moves (snakes, directed model), and three cheap oracles: OCR letters (fold 0), digits and
Yeast (frequent label sets as classes). --wait seconds are added to the CPU time for each call of a
cheap oracle; nothing actually waits. Calls are made in batches, as in ``fit``.

The protocol is that of ``observed_fit.py``: one thread, and the time to compute primal values is
not counted, but the full passes of gap sampling and caching are. Results are medians over seeds; an
entry is empty if a seed did not reach the gap in --limit seconds. Writes costly_choices.csv into
--output. Reads SSTRUCT_DATA.
"""

import argparse
import os
from dataclasses import replace
from itertools import product
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmark_problems import pack, packed
from defaults_data import SETS
from observed_fit import options_of, watch
from reports import Table, origin, parsed
from segmentation import Pictures

from sstruct._problems.core._block_problem import batch_size
from sstruct._testing._costly import WORK_PER_SECOND, CostlyProblem
from sstruct.solvers import BCFW, MPBCFW

GAPS = (0.1, 0.01)
STEPS, SAMPLINGS = ("corrective", "pairwise"), ("gap", "permutation")
LAMS = {
    "superpixels": (0.03, 0.003),
    "snakes": (0.01, 0.001),
    "ocr": (0.01, 0.001),
    "digits": (0.001,),
    "yeast": (0.001,),
}
CHEAP = {"ocr": "ocr-small", "digits": "digits", "yeast": "yeast"}


def methods():
    """Map the name of each combination to its parameters."""
    found = {}
    for step, sampling, cache in product(STEPS, SAMPLINGS, (True, False)):
        name = ", ".join(["mp-bcfw", step, sampling] + cache * ["cache"])
        found[name] = {"solver": MPBCFW(step=step, sampling=sampling, cache=cache)}
    paper = {"solver": BCFW(step="pairwise", sampling="gap", cache=True)}
    return found | {"bcfw, pairwise, gap, cache": paper}


def problems(name, wait):
    """Yield packed problems, each with the plain problem and the seconds to add for each call."""
    if name in CHEAP:
        for data in packed(CHEAP[name], LAMS[name]):
            work = wait * WORK_PER_SECOND
            size = batch_size(data.n, work)
            costly = CostlyProblem(data.problem, 0.0, batch_size=size, work=work)
            yield replace(data, problem=costly), data.problem, wait
        return
    if name == "snakes":
        trial = SETS["snakes"]()
        estimator, X, y = trial.kind(random_state=0), trial.X, trial.y
    else:
        pictures = Pictures("horses-superpixels")
        estimator = pictures.model("auto", "contrast")
        X, y = pictures.X["train"], pictures.y["train"]
    for data in pack(name, estimator, X, y, LAMS[name]):
        yield data, data.problem, 0.0


def reached(curve, n, wait):
    """Return the calls per sample and the seconds until each gap, None if it was not reached."""
    found = []
    for gap in GAPS:
        at = curve.reach(gap)
        row = (None, None)
        if at is not None:
            row = (curve.calls[at] / n, float(curve.seconds[at]) + wait * curve.calls[at])
        found.extend(row)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", choices=[*LAMS], default=[*LAMS])
    parser.add_argument("--limit", type=float, default=60, help="maximum CPU seconds of one fit")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--wait", type=float, default=1e-3, help="seconds added for each call of a cheap oracle"
    )
    parser.add_argument("--methods", nargs="*", help="names of combinations; default: all")
    arguments = parsed(parser)
    table = Table(arguments.output / "costly_choices.csv", ("problem", "lam", "method"))
    columns = [f"{what}_to_{gap}" for gap in GAPS for what in ("calls", "seconds")]
    for name in arguments.data:
        command = (
            f"python benchmarks/costly_choices.py --data {name} --limit {arguments.limit:g} "
            f"--seeds {arguments.seeds} --wait {arguments.wait:g}"
        )
        for data, plain, wait in problems(name, arguments.wait):
            chosen = {k: v for k, v in methods().items() if k in (arguments.methods or methods())}
            runs = {method: [] for method in chosen}
            for seed in range(arguments.seeds):
                for method, parameters in chosen.items():
                    options = options_of(data, seed, **parameters)
                    curve = watch(data, options, arguments.limit, GAPS[-1], plain=plain)
                    runs[method].append(reached(curve, data.n, wait))
            for method, rows in runs.items():
                cells = [
                    "" if None in column else float(f"{median(column):.4g}")
                    for column in zip(*rows)
                ]
                print(f"{name} {data.lam:.3g} {method:40s}", *cells, flush=True)
                table.put(
                    {"problem": name, "lam": f"{data.lam:.4g}", "method": method}
                    | dict(zip(columns, cells))
                    | origin(command, arguments.load)
                )


if __name__ == "__main__":
    main()
