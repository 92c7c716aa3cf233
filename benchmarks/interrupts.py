#!/usr/bin/env python3
"""How soon does Ctrl-C end a call, and what does it leave?

    python benchmarks/interrupts.py [--moments 200] [--cases "fit*" "map*"] [--seed 0]
    python benchmarks/interrupts.py --survey

Each case is a call of one to a few seconds in a process of its own: a fit, a prediction, a decoder,
a reader, a path, a search. It runs once undisturbed; then SIGINT comes at random moments of so long
a run. A line for each moment: the case, the moment as a share of the run, the seconds from the
signal until the call has returned (CPU seconds of the process, and wall clock), how it ended, and
whether what it left is sound:

* a fit that had begun leaves a model of status INTERRUPTED, or one that is finished, which predicts
  and whose objective is not below the dual; it is what a new full pass finds at its weights, and
  for chains and rows what plain NumPy does; an earlier one leaves no attribute;
* a result (of `map_mrf`) has the energy of its labels, and a bound not above it;
* after its last moment a case runs undisturbed again, and must give the same bits as at first.

The wall clock is of this machine as it is: others' processes are in it. With several threads CPU
seconds are those of all together. Cases that end in "(group)" send the signal to the processes that
the call has started too, as a terminal does; all others to the caller alone, as notebooks do.

A survey sends no SIGINT. It has a timer run a handler every 10 ms and prints how long it had to
wait at most, in each case, and where: the handler runs when the call looks for signals.
"""

import argparse
import csv
import faulthandler
import fnmatch
import multiprocessing
import os
import signal
import sys
import time
import traceback
import warnings
from itertools import pairwise

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from interrupt_cases import CASES

COLUMNS = ("case", "moment", "cpu_seconds", "wall_seconds", "end", "state")
TICK = 0.01
# Of a call's length: what comes later may come after its end.
LATEST = 0.95
PATIENCE = 60


def cpu_seconds(pid):
    """CPU seconds of another process; NaN where the platform does not tell."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except (AttributeError, OSError):
        return np.nan


def attempt(case):
    """Run a case until it ends or is interrupted; return how it ended, when, and its result."""
    end, result = "finished", None
    try:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            result = case.run()
            end = str(getattr(result, "status", end))  # of `map_mrf`, which returns what it has
        except KeyboardInterrupt:
            end = "KeyboardInterrupt"
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            at = time.process_time(), time.monotonic()
    except KeyboardInterrupt:  # between the last lines
        end, at = "KeyboardInterrupt", (time.process_time(), time.monotonic())
    return end, at, result


def complaint_of(check, *args):
    """What a check has to complain of; "" where all is well."""
    try:
        return check(*args) or ""
    except Exception as error:
        return f"{type(error).__name__}: {error} {traceback.format_exc()[-300:]!r}"


def child(name, group, pipe):
    """Set up a case; run it whenever the pipe says so."""
    if group:
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    faulthandler.dump_traceback_later(PATIENCE - 5)
    case = CASES[name]()
    pipe.send("ready")
    bits = None
    while (order := pipe.recv()) != "end":
        faulthandler.dump_traceback_later(PATIENCE - 5)  # where is it?
        if order == "survey":
            pipe.send(survey(case))
            continue
        begin = time.monotonic()
        pipe.send("begun")
        end, at, result = attempt(case)
        if order == "undisturbed":
            found = case.bits(result)
            state = "" if bits is None or found == bits else "other bits than at first"
            bits = found
            pipe.send((time.monotonic() - begin, end, state))
        else:
            pipe.send((end, at, complaint_of(case.check, end, result)))
    case.close()
    for process in multiprocessing.active_children():  # joblib's, which would be waited for
        process.terminate()
    pipe.send("closed")


def survey(case):
    """Longest time between two calls of a handler that is due all the time, and where it ended."""
    calls = []

    def handler(_, frame):
        stack = []
        while frame is not None and len(stack) < 4:
            stack.append(f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}")
            frame = frame.f_back
        calls.append((time.process_time(), time.monotonic(), " < ".join(stack)))

    signal.signal(signal.SIGALRM, handler)
    begin = time.monotonic()
    handler(0, None)
    signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
    try:
        case.run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        handler(0, None)
    gaps = [
        (after[0] - before[0], after[1] - before[1], f"{before[2]} -> {after[2]}")
        for before, after in pairwise(calls)
    ]
    return time.monotonic() - begin, sorted(gaps, reverse=True)[:3]


class Child:
    """The process of one case, seen from outside."""

    def __init__(self, name):
        self.group = "(group)" in name
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=child, args=(name, self.group, theirs))
        self.process.start()
        self.answer()

    def answer(self):
        """What the child says next."""
        if not self.pipe.poll(PATIENCE):
            raise TimeoutError(f"no answer in {PATIENCE} seconds")
        return self.pipe.recv()

    def order(self, what):
        """Send an order; return the answer to it."""
        self.pipe.send(what)
        return self.answer()

    def undisturbed(self):
        """Run without a signal; return the run's length and what is wrong with it."""
        self.order("undisturbed")
        seconds, _, state = self.answer()
        return seconds, state

    def interrupted(self, moment):
        """Send SIGINT after so many seconds; return the row without the case and the moment."""
        self.order("run")
        time.sleep(moment)
        pid = self.process.pid
        cpu, wall = cpu_seconds(pid), time.monotonic()
        (os.killpg if self.group else os.kill)(pid, signal.SIGINT)
        end, (cpu_after, wall_after), state = self.answer()
        return cpu_after - cpu, wall_after - wall, end, state

    def close(self):
        """Send the child home."""
        if self.process.is_alive():
            try:
                self.order("end")
                self.process.join(PATIENCE)
            except (TimeoutError, EOFError, OSError):
                pass
            self.process.kill()
        self.process.join()


def shares(names, moments, rng):
    """Moments of each case as shares of its length, as many for each, all at random."""
    counts = np.full(len(names), moments // len(names))
    counts[: moments % len(names)] += 1
    return [np.sort(rng.uniform(0, LATEST, count)) for count in counts]


def write_survey(names):
    """Print the longest gaps of each case."""
    for name in names:
        try:
            one = Child(name)
            try:
                seconds, gaps = one.order("survey")
            finally:
                one.close()
        except (TimeoutError, EOFError, OSError) as error:
            print(f"{name}: lost, {error!r}", flush=True)
            continue
        print(f"{name}: {seconds:.2f} s", flush=True)
        for cpu, wall, where in gaps:
            print(f"    {cpu:.3f} CPU, {wall:.3f} wall: {where}", flush=True)


def measure(names, moments, rng, out):
    """Write a row a moment; return all rows."""
    rows = []
    for name, places in zip(names, shares(names, moments, rng)):
        found = []
        try:
            one = Child(name)
            try:
                seconds, _ = one.undisturbed()
                for share in places:
                    row = one.interrupted(share * seconds)
                    while row[1] < 0 and seconds > TICK:  # it was over: faster than at first
                        seconds /= 2
                        row = one.interrupted(share * seconds)
                    found.append((name, round(share, 3), *row))
                _, state = one.undisturbed()
                found.append((name, 1.0, 0.0, 0.0, "finished", state))
            finally:
                one.close()
        except (TimeoutError, EOFError, OSError) as error:
            found.append((name, np.nan, np.nan, np.nan, "lost", repr(error)))
        for case, share, cpu, wall, end, state in found:
            out.writerow((case, share, f"{cpu:.3f}", f"{wall:.3f}", end, state or "sound"))
        sys.stdout.flush()
        rows += found
    return rows


def summary(rows):
    """Print the worst of each case, then of all."""
    print(f"\n{'case':34} {'moments':>7} {'CPU s':>7} {'wall s':>7}  end")
    for name in dict.fromkeys(row[0] for row in rows):
        own = [row for row in rows if row[0] == name]
        cut = [row for row in own if row[4] != "finished"]
        ends = sorted({row[4] for row in own if row[1] < 1 or row[4] == "lost"})
        worst = [max((row[k] for row in cut), default=0.0) for k in (2, 3)]
        bad = sorted({row[5] for row in own if row[5]})
        print(f"{name:34} {len(cut):7} {worst[0]:7.3f} {worst[1]:7.3f}  {', '.join(ends + bad)}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--moments", type=int, default=200, help="of all cases together")
    parser.add_argument("--cases", nargs="*", default=["*"], help="names or patterns")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--survey", action="store_true", help="how often calls look for signals")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    args = parser.parse_args()
    names = [name for name in CASES if any(fnmatch.fnmatch(name, p) for p in args.cases)]
    if args.list:
        print("\n".join(names))
    elif args.survey:
        write_survey(names)
    else:
        out = csv.writer(sys.stdout)
        out.writerow(COLUMNS)
        rng = np.random.default_rng(args.seed)
        summary(measure(names, args.moments, rng, out))


if __name__ == "__main__":
    main()
