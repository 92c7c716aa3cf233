#!/usr/bin/env python3
"""Does a fit hang in a process that was forked between fits, or beside one in another thread?

    python benchmarks/forks.py [--tries 100] [--only REGEX]

For every estimator, with one thread and with two (StructuredSVM: two processes): half of the tries
fork while another thread of the process fits, half between two fits. The child fits the same. One
that takes longer than --limit seconds counts as hung, one whose weights have other bits than the
parent's as wrong.
Prints a line of CSV a case; exits with 1 if any child hung, was wrong or failed.
"""

import argparse
import hashlib
import os
import re
import sys
import threading
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

from memory_of_fits import COMMON, FULL, OTHERS


def digest(model):
    return hashlib.sha256(model.w_.tobytes()).hexdigest()


def fitted(estimator, parameters, X, y, n_jobs):
    return digest(estimator(**{**COMMON, **parameters, "n_jobs": n_jobs}).fit(X, y))


def child_ends(work, expected, limit):
    """Fork a child that works; return how it ended, and after how many seconds."""
    began, child = time.monotonic(), os.fork()
    if child == 0:
        code = 3
        try:
            code = 0 if work() == expected else 2
        finally:
            os._exit(code)
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() - began > limit:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return "hung", limit
        time.sleep(0.001)
    ends = {0: "good", 2: "wrong"}
    return ends.get(os.waitstatus_to_exitcode(ended[1]), "failed"), time.monotonic() - began


def tries(work, number, limit):
    """Fork beside and between fits; return how often children ended how, and the longest time."""
    expected, counts, longest = work(), {}, 0.0
    stop = threading.Event()

    def fit_on():
        while not stop.is_set():
            work()

    for beside in (True, False):
        other = threading.Thread(target=fit_on)
        if beside:
            other.start()
        for _ in range(number // 2):
            if not beside:
                work()
            end, seconds = child_ends(work, expected, limit)
            counts[end] = counts.get(end, 0) + 1
            longest = max(longest, seconds)
        if beside:
            stop.set()
            other.join()
    return counts, longest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--only", default="", help="cases whose names match")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("case,threads,good,hung,wrong,failed,longest seconds")
    all_good = True
    for name, (estimator, make, parameters) in {**FULL, **OTHERS}.items():
        for n_jobs in (1, 2):
            if not re.search(arguments.only, name):
                continue
            X, y = make()
            counts, longest = tries(
                lambda a=(estimator, parameters, X, y, n_jobs): fitted(*a),
                arguments.tries,
                arguments.limit,
            )
            ends = [counts.get(end, 0) for end in ("good", "hung", "wrong", "failed")]
            print(f'"{name}",{n_jobs},{",".join(map(str, ends))},{longest:.2f}', flush=True)
            all_good = all_good and ends[0] == sum(ends)
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
