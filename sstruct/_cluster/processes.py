"""Oracle calls in joblib's workers, to which data are sent once."""

import atexit
import copy
import os
import tempfile
import weakref
from collections import OrderedDict
from concurrent.futures import wait
from functools import partial
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import LokyBackend, get_active_backend

from sstruct._kernels._interruption import GracePeriod
from sstruct._problems.custom.oracle_calls import OracleCalls

try:
    import cloudpickle
except ImportError:  # joblib before 1.6 includes a copy
    from joblib.externals import cloudpickle

# A task is this share of the remaining calls per worker. The last tasks are single calls, so that
# workers finish together although oracles and cores may have different speeds.
SHARE = 0.5
# Number of blocks per worker that a certificate asks about at the same time; a pass asks about at
# most its batch.
AT_ONCE = 64
# Number of fits whose data a worker keeps.
KEPT = 4

# Data of fits by token: of this process, as long as the fits exist, and those read from files.
_own = weakref.WeakValueDictionary()
_read = OrderedDict()


class Workers:
    """Oracle calls through joblib, with the backend that is active when this is created.

    Threads use the data directly; processes read them once from a file, with arrays as memory maps,
    and keep them for the last few tokens. Each call sends w and the indices of the samples, and
    returns planes.

    Parameters
    ----------
    calls : OracleCalls
    n_jobs : int or None
        As in joblib.
    """

    def __init__(self, calls, n_jobs):
        self.n_workers = effective_n_jobs(n_jobs)
        self.at_once = AT_ONCE * self.n_workers
        self.calls, self.token, self.path = calls, uuid4().hex, None
        _own[self.token] = calls
        backend, _ = get_active_backend()
        if not getattr(backend, "supports_sharedmem", False):
            self.path = _write(calls, self.token)
            weakref.finalize(self, _remove, self.path)
        self.processes = self.parallel = None
        if isinstance(backend, LokyBackend):
            self.processes = Processes(self.n_workers, self.token, self.path)
        else:
            self.parallel = Parallel(n_jobs=n_jobs, batch_size=1, pre_dispatch="all")

    def ask_all(self, blocks, w, loss_weight, known=None):
        """Return the value of ``OracleCalls.ask`` for each block."""
        ends = pairwise(_ends(len(blocks), self.n_workers))
        if self.processes is not None:
            return self.processes.ask_all([blocks[a:b] for a, b in ends], w, loss_weight)
        w = w.tobytes()
        found = self.parallel(
            delayed(_ask)(self.token, self.path, blocks[a:b], w, loss_weight) for a, b in ends
        )
        return [answer for answers in found for answer in answers]


class Processes:
    """joblib's loky processes, without its ``Parallel``.

    ``Parallel`` takes 11 ms per call instead of 1, because it sleeps while waiting. In searches,
    in which each call depends on the previous answer, threads would also wait for each other.

    Parameters
    ----------
    n_workers : int
    token, path : str
        Token and file of the data.
    """

    def __init__(self, n_workers, token, path):
        self.n_workers, self.data, self.pending = n_workers, (token, path), []
        self.parallel = Parallel(n_jobs=n_workers)
        # A copy, because `Parallel` removes the pool from a backend when it ends.
        self.backend = copy.copy(get_active_backend()[0])
        self.renew()

    def renew(self):
        """Start all worker processes, also if some have died.

        Called only if necessary, because joblib keeps a record of each call until the process ends.
        """
        # joblib would start other processes unless the arguments are the same as in `Parallel`.
        arguments = getattr(self.parallel, "_backend_kwargs", {})
        self.backend.configure(n_jobs=self.n_workers, parallel=self.parallel, **arguments)
        # joblib before 1.5 uses another name.
        self.submit = getattr(self.backend, "submit", None) or self.backend.apply_async

    def ask_all(self, tasks, w, loss_weight):
        """Return the answers for the blocks of all tasks, as `Workers.ask_all`."""
        # Bytes, because joblib sends large arrays through files.
        given = w.tobytes(), loss_weight
        calls = [partial(_ask, *self.data, blocks, *given) for blocks in tasks]
        try:
            self._submit(calls)
        except RuntimeError:  # processes have died or have been shut down
            self.renew()
            self._submit(calls)
        try:
            remaining = GracePeriod.remaining()
            if remaining is not None and wait(self.pending, remaining).not_done:
                raise KeyboardInterrupt("the oracle calls after a signal take too long")
            return [answer for future in self.pending for answer in future.result()]
        finally:
            self.cancel()

    def _submit(self, calls):
        self.cancel()  # left over from an interruption
        self.pending = []
        for call in calls:
            self.pending.append(self.submit(call))

    def cancel(self):
        """Cancel the tasks that no worker has started."""
        for future in self.pending:
            future.cancel()
        self.pending = []

    def ask(self, i, w, loss_weight, constraint):
        """Return the value of `OracleCalls.ask`, for a thread that waits for it."""
        task = partial(_ask, *self.data, [i], w.tobytes(), loss_weight, constraint)
        return self.submit(task).result()[0]


class CallsInProcesses(OracleCalls):
    """`OracleCalls` whose answers come from worker processes, for several threads at a time."""

    def __init__(self, calls, workers):
        vars(self).update(vars(calls))
        # The data's file lives as long as `workers`.
        self.workers, self.n_threads = workers, workers.n_workers

    def ask(self, i, w, loss_weight, constraint=None):
        return self.workers.processes.ask(i, w, loss_weight, constraint)


def for_searches(calls, n_jobs):
    """Return calls that can be asked by as many threads as there are workers, if possible.

    With threads, these threads make the calls themselves; with joblib's loky processes, each thread
    waits for one process. With other backends, calls are made by one thread.
    """
    backend, _ = get_active_backend()
    if getattr(backend, "supports_sharedmem", False):
        calls.n_threads = effective_n_jobs(n_jobs)
    elif isinstance(backend, LokyBackend):
        calls = CallsInProcesses(calls, Workers(calls, n_jobs))
    return calls


def _ends(count, n_workers):
    """Return the boundaries of tasks for `count` calls."""
    ends = [0]
    while ends[-1] < count:
        ends.append(ends[-1] + max(1, int(SHARE * (count - ends[-1]) / n_workers)))
    return ends


def _ask(token, path, blocks, w, loss_weight, constraint=None):
    """Task: return the answers for some blocks."""
    calls = _calls(token, path)
    w = np.frombuffer(w)  # read-only for the oracle
    return [calls.ask(i, w, loss_weight, constraint) for i in blocks]


def _calls(token, path):
    """Return the data of a fit, from memory or from its file."""
    calls = _own.get(token)
    if calls is None:
        calls = _read.get(token)
    if calls is None:
        calls = _read[token] = _load(path)
        while len(_read) > KEPT:
            _read.popitem(last=False)
    return calls


def _write(value, token):
    """Pickle to a new file, with separate buffers that can be mapped; return its path."""
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


def _remove(path, at_exit=False):
    """Remove a file of `_write`; on Windows, not before workers that have mapped it have ended."""
    try:
        Path(path).unlink(missing_ok=True)
    except PermissionError:
        if not at_exit:
            atexit.register(_remove, path, at_exit=True)


def _load(path):
    """Load a file of `_write`; buffers are read-only views of the file."""
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
