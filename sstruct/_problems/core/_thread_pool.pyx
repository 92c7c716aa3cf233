# Design:
# (a) Threads work off numbered tickets, each with a problem of its own (`fork`). What a task
#     does depends on its ticket alone and goes to the ticket's place, so that results do not
#     depend on who did it, nor on the number of threads.
# (b) Threads live from `open` to `close`, one pass, or through the passes of a `with` block, and are
#     Python's, so that a task may raise.
#     The caller works too and looks for signals. With one thread all this is a plain loop. What
#     ends a pass early ends the tasks of the others too, where those look (`_interruption`).
#     What tasks read and write is the caller's and goes when the pass is left: `close` counts
#     the threads out, and no signal cuts that short, as it would `threading.Thread.join`.
# (c) No OpenMP: its runtimes do not survive a fork of the process, which joblib may do.
"""Threads that share the oracle calls of a problem."""

from _thread import start_new_thread

from cpython.exc cimport PyErr_CheckSignals

from sstruct._kernels._interruption cimport look, obey, sstruct_seconds
from sstruct._problems.core._block_problem cimport BlockProblem

cdef extern from "sstruct/_kernels/threads.h":
    int64_t sstruct_load(sstruct_counter* counter) noexcept nogil
    void sstruct_store(sstruct_counter* counter, int64_t value) noexcept nogil
    int64_t sstruct_add(sstruct_counter* counter, int64_t value) noexcept nogil
    bint sstruct_replace(sstruct_counter* counter, int64_t old, int64_t value) noexcept nogil
    void sstruct_wait(int64_t turn) noexcept nogil
    void sstruct_rest(int64_t turn) noexcept nogil

# Turns of waiting for another task that need no account, and how much sooner such a wait gives the
# processor away: that task may have none.
cdef int64_t SHORT_WAIT = 32, HASTE = 8


cdef class ThreadPool:
    """Threads over one problem.

    In a ``with`` block they go from pass to pass: for short ones after one another.

    Parameters
    ----------
    problem : BlockProblem
    n_threads : int
        At least 1, the caller's included; no more than there are blocks are made.
    """

    def __init__(self, BlockProblem problem not None, n_threads=1):
        if n_threads < 1:
            raise ValueError(f"n_threads must be at least 1, found {n_threads}")
        self.problem = problem
        self.n_threads = min(n_threads, problem.n_blocks)
        self.forks = [problem.fork() for _ in range(self.n_threads - 1)]

    def __enter__(self):
        self.kept = True

    def __exit__(self, *_):
        self.kept = False
        self.close()

    cdef int open(self, Task task, void* context, Py_ssize_t most) except -1:
        """Start the threads, which wait for `run`; `close` must follow, come what may.

        most : largest number of tickets of a run; a thread without hope for one is not started.
        """
        self.task, self.context = task, context
        if self.n_started == 0:
            self.base = self.limit = self.taken = self.done = self.closed = self.failed = 0
            self.inside, self.n_started = 0, 1   # the caller
            self.errors = []
        while self.n_started < min(self.n_threads, most):
            sstruct_add(&self.inside, 1)
            try:
                start_new_thread(self._enter, (self.n_started,))
            except BaseException:
                sstruct_add(&self.inside, -1)
                raise
            self.n_started += 1
        return 0

    def _enter(self, Py_ssize_t thread):
        cdef BlockProblem problem = self.forks[thread - 1]
        try:
            with nogil:
                obey(&self.closed)
                self.attend(problem, thread)
        except BaseException as error:
            self.errors.append(error)
            sstruct_store(&self.failed, 1)
        finally:
            sstruct_add(&self.inside, -1)

    cdef Py_ssize_t take(self) noexcept nogil:
        """Take the next ticket; -1: there is none at present."""
        cdef int64_t ticket = sstruct_load(&self.taken)
        while ticket < sstruct_load(&self.limit):
            if sstruct_replace(&self.taken, ticket, ticket + 1):
                return ticket
            ticket = sstruct_load(&self.taken)
        return -1

    cdef int attend(self, BlockProblem problem, Py_ssize_t thread) except -1 nogil:
        """What a thread does between `open` and `close`."""
        cdef int64_t turn = 0
        cdef Py_ssize_t ticket
        while not sstruct_load(&self.closed):
            ticket = self.take()
            if ticket < 0:
                sstruct_rest(turn)
                turn += 1
                continue
            self.task(self.context, problem, thread, ticket - self.base)
            sstruct_add(&self.done, 1)
            turn = 0
        return 0

    cdef int run(self, Py_ssize_t count) except -1 nogil:
        """Have tickets 0 ... count - 1 worked off; return when they are."""
        cdef Py_ssize_t ticket
        cdef int64_t turn = 0
        # Tickets count on from run to run: a thread that was late cannot take one of another.
        self.base = self.limit
        sstruct_store(&self.limit, self.base + count)
        while sstruct_load(&self.done) < self.limit:
            ticket = self.take()
            if ticket >= 0:
                self.task(self.context, self.problem, 0, ticket - self.base)
                sstruct_add(&self.done, 1)
                turn = 0
            else:
                sstruct_wait(turn)
                turn += 1
            if sstruct_load(&self.failed):
                with gil:
                    raise self.errors[0]
            if count > 1 and (ticket >= 0 or turn % 4096 == 0):
                look()
        return 0

    cdef double wait(self, sstruct_counter* counter, int64_t least) except -1 nogil:
        """In a task: wait until another one has taken a counter so far, or leave with the pass.

        Return for how many seconds; 0 where that is about a microsecond or less.
        """
        cdef int64_t turn = 0
        cdef double begin = 0
        while sstruct_load(counter) < least:
            sstruct_wait(HASTE * turn)
            turn += 1
            if turn == SHORT_WAIT:
                begin = sstruct_seconds()
            elif turn % 4096 == 0:
                look()
                if sstruct_load(&self.failed):
                    with gil:
                        raise self.errors[0]
        return sstruct_seconds() - begin if turn >= SHORT_WAIT else 0

    cdef int run_once(self, Task task, void* context, Py_ssize_t count) except -1:
        """Open, run and close."""
        try:
            self.open(task, context, count)
            with nogil:
                self.run(count)
        finally:
            self.close()
        return 0

    cdef int close(self) except -1:
        """Send the threads home and wait for them; each finishes or leaves the ticket it has.

        A signal's exception comes after that, in the place of one that is on its way. In a ``with``
        block they stay, unless something is left undone.
        """
        cdef int64_t turn = 0
        if self.kept and sstruct_load(&self.done) == self.limit and not sstruct_load(&self.failed):
            return 0
        self.n_started = 0
        sstruct_store(&self.closed, 1)
        if sstruct_load(&self.inside) == 0:
            return 0
        with nogil:
            while sstruct_load(&self.inside) > 0:
                sstruct_wait(turn)
                turn += 1
        return PyErr_CheckSignals()
