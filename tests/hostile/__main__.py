"""Run random fuzz cases of all domains and print the findings.

python -m tests.hostile --seconds 600
"""

import argparse
import os
import random
import sys

# One thread, so that children can be forked; set before NumPy is imported.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"


def main():
    from tests.hostile import runner

    names = list(runner.DOMAINS)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, help="for all domains together")
    parser.add_argument("--cases", type=int, help="for each domain")
    parser.add_argument("--seed", type=int, default=None, help="default: random")
    parser.add_argument("--domains", nargs="*", choices=names, default=names)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--case", help="run one case again, as the report names it")
    parser.add_argument("--debug", help="run one case again in this process, for a debugger")
    arguments = parser.parse_args()
    if arguments.debug:
        return runner.debug(arguments.debug)
    if arguments.case:
        return int(runner.show(arguments.case))
    seed = random.randrange(2**31) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    seconds = arguments.seconds
    if seconds is None and arguments.cases is None:
        seconds = 60.0
    report = runner.run(
        arguments.domains,
        seed,
        cases=arguments.cases,
        seconds=None if seconds is None else seconds / len(arguments.domains),
        workers=arguments.workers,
    )
    print(report)
    return int(bool(report.first))


if __name__ == "__main__":
    sys.exit(main())
