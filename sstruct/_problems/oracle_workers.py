"""Oracle calls in joblib's workers: data sent once, answers in the order of the questions."""

import copy
import os
import tempfile
import weakref
from collections import OrderedDict
from functools import partial
from itertools import pairwise
from uuid import uuid4

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import LokyBackend, get_active_backend

from sstruct._problems.oracle_calls import OracleCalls

try:
    import cloudpickle
except ImportError:  # joblib before 1.6 brings its own
    from joblib.externals import cloudpickle

# Tasks for each worker: more of them even out oracles of unequal cost.
TASKS = 2
# Blocks of a certificate that are asked at the same time, for each worker; and of a pass, at most,
# the batch.
AT_ONCE = 64
# Fits whose data a worker keeps.
KEPT = 4

# By token: the data of fits of this process, as long as they live, and those read from files.
_own = weakref.WeakValueDictionary()
_read = OrderedDict()


class Workers:
    """Answer oracle calls through joblib, with whichever backend is active when this is made.

    Threads get the data themselves; processes read them once from a file, arrays as memory maps,
    and keep them for the fits of their last few tokens. What travels with each call is w and the
    numbers of the samples, and back come features and losses.

    Parameters
    ----------
    calls : OracleCalls
    n_jobs : int or None
        As joblib takes it.
    overlap : bool
        Whether ``start`` is to return before the answers are there, where the backend can.
    """

    def __init__(self, calls, n_jobs, overlap=False):
        self.n_workers = effective_n_jobs(n_jobs)
        self.at_once = AT_ONCE * self.n_workers
        self.calls, self.token, self.path = calls, uuid4().hex, None
        _own[self.token] = calls
        backend, _ = get_active_backend()
        waits = not (overlap and getattr(backend, "supports_return_generator", False))
        self.parallel = Parallel(
            n_jobs=n_jobs,
            batch_size=1,
            pre_dispatch="all",
            return_as="list" if waits else "generator",
        )
        self.under_way = None
        if not getattr(backend, "supports_sharedmem", False):
            self.path = _write(calls, self.token)
            weakref.finalize(self, _remove, self.path)

    def start(self, blocks, w, loss_weight, known=None):
        """Ask, and return a function that returns what ``OracleCalls.ask`` does for each block."""
        if hasattr(self.under_way, "close"):
            self.under_way.close()  # what an interruption has left behind
        n_tasks = min(TASKS * self.n_workers, len(blocks))
        ends = np.linspace(0, len(blocks), n_tasks + 1).round().astype(int)
        found = self.parallel(
            delayed(_ask)(self.token, self.path, blocks[a:b], w, loss_weight)
            for a, b in pairwise(ends.tolist())
        )
        self.under_way = found
        return lambda: [answer for answers in found for answer in answers]


class Processes:
    """Ask in joblib's worker processes, one call at a time for each thread that asks.

    For searches, whose next question is the last answer's: joblib's ``Parallel`` would have them
    wait for one another. Of joblib's backends that start processes, for loky.

    Parameters
    ----------
    workers : Workers
        That have sent the data.
    """

    def __init__(self, workers):
        self.workers, n = workers, workers.n_workers
        # A copy: `Parallel` takes its pool from a backend where it ends.
        self.backend = copy.copy(get_active_backend()[0])
        self.backend.configure(n_jobs=n, parallel=Parallel(n_jobs=n))
        # Before joblib 1.5 under another name.
        self.submit = getattr(self.backend, "submit", None) or self.backend.apply_async

    def ask(self, name, i, w, *args):
        """Return what the method `name` of `OracleCalls` returns."""
        # Bytes: an array of a megabyte would go through a file.
        task = partial(_ask_once, self.workers.token, self.workers.path, name, i, w.tobytes(), args)
        return self.submit(task).result()


class CallsInProcesses(OracleCalls):
    """`OracleCalls` whose answers come from worker processes, for several threads at a time."""

    def __init__(self, calls, workers):
        vars(self).update(vars(calls))
        self.processes, self.n_threads = Processes(workers), workers.n_workers

    def ask(self, *args):
        return self.processes.ask("ask", *args)

    def ask_between(self, *args):
        return self.processes.ask("ask_between", *args)


def for_searches(calls, n_jobs):
    """Return calls that as many threads ask as there are workers, where the backend is for that.

    Threads then make the calls themselves; processes are waited for, each by a thread.
    """
    n_workers, backend = effective_n_jobs(n_jobs), get_active_backend()[0]
    if n_workers > 1 and getattr(backend, "supports_sharedmem", False):
        calls.n_threads = n_workers
    elif n_workers > 1 and isinstance(backend, LokyBackend):
        calls = CallsInProcesses(calls, Workers(calls, n_jobs))
    return calls


def _ask_once(token, path, name, i, w, args):
    """Task of a worker."""
    return getattr(_calls(token, path), name)(i, np.frombuffer(w), *args)


def _ask(token, path, blocks, w, loss_weight):
    """Task of a worker."""
    calls = _calls(token, path)
    w = np.frombuffer(w.tobytes())  # one that the oracle cannot write to
    return [calls.ask(i, w, loss_weight) for i in blocks]


def _calls(token, path):
    """The data of a fit: at hand, or read from its file."""
    calls = _own.get(token)
    if calls is None:
        calls = _read.get(token)
    if calls is None:
        calls = _read[token] = _load(path)
        while len(_read) > KEPT:
            _read.popitem(last=False)
    return calls


def _write(value, token):
    """Pickle to a file of its own, buffers apart so that they can be mapped; return its path."""
    buffers = []
    pickled = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    handle, path = tempfile.mkstemp(prefix="sstruct-", suffix=f"-{token}")
    with os.fdopen(handle, "wb") as file:
        np.save(file, np.array([len(pickled), *(view.nbytes for view in raw)], dtype=np.int64))
        for part in (pickled, *raw):
            file.write(b"\0" * (-file.tell() % 64))
            file.write(part)
    return path


def _load(path):
    """Undo `_write`; buffers are read-only views of the file."""
    with open(path, "rb") as file:
        sizes = np.load(file).tolist()
        at = file.tell()
    memory = memoryview(np.memmap(path, dtype=np.uint8, mode="r"))
    parts = []
    for size in sizes:
        at += -at % 64
        parts.append(memory[at : at + size])
        at += size
    return cloudpickle.loads(parts[0], buffers=parts[1:])


def _remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
