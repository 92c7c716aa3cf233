"""Run cases in child processes, detect crashes and hangs, and continue with the next child.

The parent stays small and has no threads, so that it can fork children. A child writes the number
of its case to shared memory before the case starts, and sends findings through a pipe.
"""

import faulthandler
import json
import mmap
import os
import resource
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from tests.hostile.case import Case
from tests.hostile.domains import DOMAINS
from tests.hostile.judge import FindingError

# Limits of a child: seconds for a case, and bytes of memory. Sanitizers map terabytes.
MAX_SECONDS, MAX_BYTES = 20, 6 * 2**30
# Interval in seconds in which a child sends its counts.
REPORT_EVERY = 1.0
# Number of repetitions of a case to leave out damages that are not necessary.
MAX_TRIALS = 12
RESULT = "RESULT"


def run_case(domain, seed, number, without=(), log=None):
    """Run a case in this process; return the case, and its finding or None."""
    case = Case(domain, seed, number, without, log)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            DOMAINS[domain](case)
    except FindingError as finding:
        return case, finding
    return case, None


def _limit(log):
    if "asan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable(log, all_threads=False)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(log.fileno(), 2)


def _fork(work, log):
    """Run a function in a child with limits and stderr in a log; return the id of the child."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        _limit(log)
        work()
        status = 0
    except BaseException:
        traceback.print_exc(file=log)
    finally:
        log.flush()
        os._exit(status)


def _child(plan, place, send, log):
    """Run the cases of a plan until its time limit; `place` receives the number of the case."""
    counts, next_report = Counter(), 0.0
    for number in plan.numbers():
        struct.pack_into("q", place, 0, number)
        # If the child dies, the log is that of its last case.
        log.seek(0)
        log.truncate()
        faulthandler.dump_traceback_later(MAX_SECONDS, exit=True, file=log)
        case, finding = run_case(plan.domain, plan.seed, number)
        counts.update(case.counts, cases=1)
        if finding is not None:
            send({"finding": _described(finding), "number": number, "log": case.log})
        now = time.monotonic()
        if now >= next_report:
            send({"counts": counts})
            counts, next_report = Counter(), now + REPORT_EVERY
            if now >= plan.end:
                break
    faulthandler.cancel_dump_traceback_later()
    send({"counts": counts, "done": True})


def _described(finding):
    return {name: getattr(finding, name) for name in ("kind", "message", "where", "details")}


@dataclass
class Plan:
    """Cases of one worker: numbers first, first + step, ... below last, while there is time."""

    domain: str
    seed: int
    first: int
    step: int
    last: float
    end: float

    def numbers(self):
        number = self.first
        while number < self.last:
            yield number
            number += self.step


class Worker:
    """A child process, and its successors if it dies."""

    def __init__(self, plan, report):
        self.plan, self.report = plan, report
        self.place = mmap.mmap(-1, 8)
        self._start()

    def _start(self):
        self.log = tempfile.TemporaryFile("w+")
        struct.pack_into("q", self.place, 0, self.plan.first)
        self.pipe, writing = os.pipe()
        self.received, self.done = b"", False
        stream = os.fdopen(writing, "w")

        def send(message):
            stream.write(json.dumps(message) + "\n")
            stream.flush()

        self.process = _fork(lambda: _child(self.plan, self.place, send, self.log), self.log)
        stream.close()

    def read(self):
        """Receive messages from the child; return False if there is nothing more to do."""
        block = os.read(self.pipe, 2**16)
        if block:
            *lines, self.received = (self.received + block).split(b"\n")
            for line in lines:
                self._take(json.loads(line))
            return True
        os.close(self.pipe)
        _, status = os.waitpid(self.process, 0)
        with self.log:
            text = _read_log(self.log)
        if self.done:
            return False
        number = struct.unpack_from("q", self.place, 0)[0]
        self.report.add(self.plan, number, _death(status, text), [], self.plan.first)
        self.plan.first = number + self.plan.step
        if self.plan.first >= self.plan.last or time.monotonic() >= self.plan.end:
            return False
        self._start()
        return True

    def _take(self, message):
        if "finding" in message:
            finding = FindingError(**message["finding"])
            self.report.add(self.plan, message["number"], finding, message["log"])
        if "counts" in message:
            self.report.counts[self.plan.domain].update(message["counts"])
        self.done |= message.get("done", False)


def _death(status, text):
    """Return the reason why a child ended before it was done."""
    trace = [line.strip() for line in text.splitlines() if line.strip().startswith("File ")]
    own = next((line for line in trace if "/sstruct/" in line), trace[0] if trace else "?")
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return FindingError("crash", f"killed by {name}", own, text[-6000:])
    if "Timeout" in text:
        return FindingError("hang", f"more than {MAX_SECONDS} seconds", own, text[-6000:])
    return FindingError("crash", f"the child ended with {status}", own, text[-6000:])


def _narrowed(plan, first, number):
    """Return a small range of cases, found by halving, of which the last one kills a child."""

    def named(first):
        return f"{plan.domain}:{plan.seed}:{first}-{number}-{plan.step}"

    n_steps = (number - first) // plan.step
    while n_steps > 1:
        n_steps //= 2
        later = number - n_steps * plan.step
        if not Trial(named(later)).key:
            break
        first = later
    return named(first)


@dataclass
class Report:
    """Findings of all children: the first case of each finding, and the number of its cases.

    ``counts`` and ``seconds`` have the numbers of cases, fits, recomputed certificates and so on
    of each domain, and their duration.
    """

    counts: dict = field(default_factory=lambda: defaultdict(Counter))
    seconds: Counter = field(default_factory=Counter)
    first: dict = field(default_factory=dict)
    times: Counter = field(default_factory=Counter)

    def add(self, plan, number, finding, log, first=None):
        """Add a finding; `first` is the first case of the child that died."""
        key = plan.domain, *finding.key
        self.times[key] += 1
        if key not in self.first:
            name = f"{plan.domain}:{plan.seed}:{number}"
            # An earlier case may have damaged the memory.
            if first not in (None, number) and not Trial(name).key:
                name = _narrowed(plan, first, number)
            self.first[key] = name, finding, log

    def __str__(self):
        lines = []
        for domain, counts in self.counts.items():
            what = ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))
            lines.append(f"{domain}, {self.seconds[domain]:.0f} s: {what}")
        for key, (name, finding, log) in sorted(self.first.items(), key=lambda i: i[0]):
            lines += ["", f"{name}  ({self.times[key]} times)  {finding}"]
            lines += [f"    {line}" for line in log[-8:]]
            if finding.kind in ("crash", "hang"):
                lines += [f"    {line}" for line in finding.details.splitlines()[:12]]
            lines += [f"    to reproduce: python -m tests.hostile --case {name}"]
        return "\n".join(lines)


def run(domains, seed, *, cases=None, seconds=None, workers=1):
    """Run cases of domains, one domain after another; return a Report.

    cases, seconds : maximum for each domain
    """
    report = Report()
    for domain in domains:
        began = time.monotonic()
        end = began + seconds if seconds is not None else float("inf")
        last = float("inf") if cases is None else cases
        alive = [
            Worker(Plan(domain, seed, first, workers, last, end), report)
            for first in range(workers)
        ]
        while alive:
            ready, _, _ = select.select([worker.pipe for worker in alive], [], [])
            alive = [w for w in alive if w.pipe not in ready or w.read()]
        report.seconds[domain] = time.monotonic() - began
    return report


class _Printed(list):
    """A log that prints entries at once, since its process may die."""

    def __init__(self, file):
        super().__init__()
        self.file = file

    def append(self, line):
        super().append(line)
        print(line, file=self.file, flush=True)


def _read_log(log):
    """Return the log of a child, without progress bars and the list of modules in a crash."""
    log.seek(0)
    noise = ("Extension modules", "fit (")
    lines = (line.rpartition("\r")[2] for line in log)
    return "".join(line for line in lines if not line.startswith(noise))


class Trial:
    """A case, or "first-last-step" of one domain, run once in a child.

    Attributes
    ----------
    key : tuple or None
        Identifies the finding.
    log : list of str
        Calls and damages.
    text : str
        Description of the finding.
    n_damages : int
    """

    def __init__(self, name, without=()):
        domain, seed, numbers = name.split(":")
        first, last, step = (*map(int, numbers.split("-")), None, None)[:3]
        self.log, self.n_damages = [], 0
        with tempfile.NamedTemporaryFile("w+") as file:

            def work():
                for number in range(first, (last or first) + 1, step or 1):
                    faulthandler.dump_traceback_later(MAX_SECONDS, exit=True, file=file)
                    case, finding = run_case(domain, int(seed), number, without, _Printed(file))
                found = None if finding is None else _described(finding)
                file.write(RESULT + json.dumps([case.log, case.n_damages, found]))

            _, status = os.waitpid(_fork(work, file), 0)
            self.text = _read_log(file)
        self.key = None
        if status:
            self.key = ("died", status)
        else:
            # Worker processes may write to the file, too.
            result = self.text.rpartition(RESULT)[2]
            (self.log, self.n_damages, found), _ = json.JSONDecoder().raw_decode(result)
            if found is not None:
                finding = FindingError(**found)
                self.key, self.text = finding.key, f"{finding}\n{finding.details}"


def show(name):
    """Run a case again and print its calls, with as few damages as lead to the same finding."""
    trial, without = Trial(name), set()
    for damage in range(min(trial.n_damages or MAX_TRIALS, MAX_TRIALS) if trial.key else 0):
        if Trial(name, without | {damage}).key == trial.key:
            without.add(damage)
    trial = Trial(name, without)
    print(*trial.log, trial.text[-6000:] if trial.key else "nothing found", sep="\n")
    return trial.key is not None


def debug(name):
    """Run one case in this process, for a debugger."""
    domain, seed, number = name.split(":")
    case, finding = run_case(domain, int(seed), int(number))
    print("\n".join(case.log), finding, sep="\n", file=sys.stderr)
