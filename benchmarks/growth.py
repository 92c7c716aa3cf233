#!/usr/bin/env python3
"""How does the time of a default fit grow with the number of samples?

    python benchmarks/growth.py [--samples 1000 10000 100000] [--repeats 3]

`make_sequences` (4 labels, 10 features, 5 to 15 nodes a sequence), ChainSSVM with its defaults
(relative gap 0.01), one thread. CPU seconds of `fit`, medians, with packing and certificates.
Writes a table to the screen and JSON into --output.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmark_problems import machine
from reports import add_output, write

from sstruct import ChainSSVM
from sstruct.datasets import make_sequences


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--samples", type=int, nargs="+", default=[1000, 3000, 10000, 30000, 100000]
    )
    parser.add_argument("--repeats", type=int, default=3)
    add_output(parser)
    arguments = parser.parse_args()
    rows = []
    for n in arguments.samples:
        X, y = make_sequences(n_samples=n, random_state=0)
        spent = []
        for seed in range(arguments.repeats):
            begin = time.process_time()
            model = ChainSSVM(random_state=seed).fit(X, y)
            spent.append(time.process_time() - begin)
        rows.append({
            "n": n,
            "nodes": sum(map(len, y)),
            "seconds": statistics.median(spent),
            "passes": model.n_iter_,
            "status": model.status_,
        })  # fmt: skip
        print("{n:8d} sequences{nodes:9d} nodes{seconds:9.3f} s{passes:4d} passes  {status}".format(
            **rows[-1]
        ))  # fmt: skip
    write({"machine": machine(), "rows": rows}, arguments.output, "growth")


if __name__ == "__main__":
    main()
