#!/usr/bin/env python3
"""Proven minima of map_mrf and of toulbar2, on real models.

    python benchmarks/map_proofs.py [--seconds 60] [--repeat 5] [--methods auto toulbar2]
                                    [--instances NAME ...]

The models are those of map_inference.py. `map_mrf` with method="auto" and toulbar2 (the package
pytoulbar2) run alternately. The time limit is in wall-clock seconds for `map_mrf`, and in CPU
seconds for toulbar2. The reported seconds are medians of --repeat runs, or those of one run if it
takes more than two CPU seconds. The time of toulbar2 does not include the start of its process.
Writes map_proofs.csv into --output.
"""

import argparse
import json
import os
from pathlib import Path
from statistics import median

from map_inference import load, run, title
from reports import Table, command, origin, parsed

METHODS = ("auto", "toulbar2")
# A run that takes more CPU seconds is not repeated.
LONG = 2.0


def runs(mrf, problem, methods, seconds, repeat):
    """Return the rows of each method."""
    rows = {method: [] for method in methods}
    for _ in range(repeat):
        for method in methods:
            if not rows[method] or rows[method][0]["cpu_seconds"] <= LONG:
                rows[method].append(run(mrf, problem, method, seconds, 0)[0])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--instances", nargs="+", help="beginnings of names; all by default")
    arguments = parsed(parser)
    folder = Path(os.environ["SSTRUCT_DATA"]) / "mrf"
    names = sorted(json.loads((folder / "reference.json").read_text()))
    table = Table(arguments.output / "map_proofs.csv", ["model", "method"])
    for name in names:
        if not name.startswith(tuple(arguments.instances or [""])):
            continue
        mrf, problem = load(folder, name)
        options = arguments.methods, arguments.seconds, arguments.repeat
        for method, rows in runs(mrf, problem, *options).items():
            # Results may depend on the time limit; the last run is reported.
            row = rows[-1]
            figures = {
                "model": title(name),
                "method": method,
                "bound": f"{row['bound']:.6f}",
                "energy": f"{row['energy']:.6f}",
                "status": row["status"],
                "seconds": f"{median(row['seconds'] for row in rows):.3g}",
                "cpu_seconds": f"{median(row['cpu_seconds'] for row in rows):.3g}",
                "runs": len(rows),
            }
            table.put(figures | origin(command(), arguments.load))
            print(*list(figures.values()), flush=True)
    for method in METHODS:
        n_proven = sum(
            row["status"] == "PROVEN" for key, row in table.rows.items() if method in key
        )
        print(f"{method}: {n_proven} proven")


if __name__ == "__main__":
    main()
