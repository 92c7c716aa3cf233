# Design:
# (a) Threads process numbered tickets, each thread with its own problem (`fork`). The result of a task
#     depends only on its ticket and is written to the entry of the ticket, so results do not depend
#     on the assignment or the number of threads.
# (b) Threads live from `open` to `close`, for one pass, or for all passes of a `with` block. They are
#     Python threads, so a task may raise. The caller processes tickets too, and checks for
#     signals. With one thread, it only executes a loop. If a pass ends early, the tasks of other
#     threads also end, at their next check (`_interruption`). The memory that tasks use belongs to the
#     caller and is freed after the pass. `close` therefore waits until all threads have finished, and
#     signals do not interrupt this wait, unlike `threading.Thread.join`.
# (c) OpenMP is not used: its runtimes do not support a fork of the process, which joblib may make.
"""Threads that share the oracle calls of a problem."""

from _thread import start_new_thread

from cpython.exc cimport PyErr_CheckSignals

from sstruct._kernels._interruption cimport check_signals, set_stop_flag, sstruct_seconds
from sstruct._problems.core._block_problem cimport BlockProblem

cdef extern from "sstruct/_kernels/threads.h":
    int64_t sstruct_load(sstruct_counter* counter) noexcept nogil
    void sstruct_store(sstruct_counter* counter, int64_t value) noexcept nogil
    int64_t sstruct_add(sstruct_counter* counter, int64_t value) noexcept nogil
    bint sstruct_replace(sstruct_counter* counter, int64_t old, int64_t value) noexcept nogil
    void sstruct_wait(int64_t turn) noexcept nogil
    void sstruct_rest(int64_t turn) noexcept nogil

# `wait` measures its duration from SHORT_WAIT turns on. It yields the processor after 1 / YIELD_FACTOR of
# the turns of a wait for tickets, since the task that it waits for may have no processor.
cdef int64_t SHORT_WAIT = 32, YIELD_FACTOR = 8


cdef struct BlockRun:
    BlockTask task
    void* context
    const double* tracked
    Py_ssize_t first, last, chunk   # blocks [first, last), and the number of blocks per ticket


cdef int process_chunk(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t ticket) except -1 nogil:
    cdef BlockRun* run = <BlockRun*> context
    cdef Py_ssize_t i, begin = run.first + ticket * run.chunk
    if run.tracked != NULL:
        problem.track(run.tracked)
    try:
        for i in range(begin, min(begin + run.chunk, run.last)):
            run.task(run.context, problem, thread, i)
    finally:
        if run.tracked != NULL:
            problem.track(NULL)
    return 0


cdef class ThreadPool:
    """Threads that process the blocks of one problem.

    In a ``with`` block, threads are kept between passes, for many short passes.

    Parameters
    ----------
    problem : BlockProblem
    n_threads : int
        At least 1, including the caller; at most one thread per block is started.
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
        """Start the threads, which wait for `run`; `close` must always be called afterwards.

        most : maximum number of tickets of a run, and therefore of threads
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
                set_stop_flag(&self.closed)
                self.process_tickets(problem, thread)
        except BaseException as error:
            self.errors.append(error)
            sstruct_store(&self.failed, 1)
        finally:
            sstruct_add(&self.inside, -1)

    cdef Py_ssize_t take(self) noexcept nogil:
        """Take the next ticket; return -1 if there is none at present."""
        cdef int64_t ticket = sstruct_load(&self.taken)
        while ticket < sstruct_load(&self.limit):
            if sstruct_replace(&self.taken, ticket, ticket + 1):
                return ticket
            ticket = sstruct_load(&self.taken)
        return -1

    cdef int process_tickets(self, BlockProblem problem, Py_ssize_t thread) except -1 nogil:
        """Process tickets until the pool is closed; the loop of a started thread."""
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
        """Process tickets 0 ... count - 1, and wait until they are finished."""
        cdef Py_ssize_t ticket
        cdef int64_t turn = 0
        # Ticket numbers increase from run to run, so that a late thread cannot take one of another run.
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
                check_signals()
        return 0

    cdef double wait(self, sstruct_counter* counter, int64_t least) except -1 nogil:
        """Wait, in a task, until another task has raised a counter to `least`; raise if the pass ends.

        Return the seconds waited, or 0 for about a microsecond or less.
        """
        cdef int64_t turn = 0
        cdef double begin = 0
        while sstruct_load(counter) < least:
            sstruct_wait(YIELD_FACTOR * turn)
            turn += 1
            if turn == SHORT_WAIT:
                begin = sstruct_seconds()
            elif turn % 4096 == 0:
                check_signals()
                if sstruct_load(&self.failed):
                    with gil:
                        raise self.errors[0]
        return sstruct_seconds() - begin if turn >= SHORT_WAIT else 0

    cdef int run_once(self, Task task, void* context, Py_ssize_t count) except -1:
        """Open the pool, run, and close it."""
        try:
            self.open(task, context, count)
            with nogil:
                self.run(count)
        finally:
            self.close()
        return 0

    cdef int run_blocks(
            self, BlockTask task, void* context, const double* tracked, Py_ssize_t first,
            Py_ssize_t last) except -1:
        """Open the pool, process blocks [first, last), and close it.

        tracked : weights that the problems `track`, or NULL
        """
        cdef BlockRun blocks
        # Small tickets cost overhead, large ones leave threads idle.
        cdef Py_ssize_t chunk = max(1, min(16, (last - first) // 64))
        blocks.task, blocks.context, blocks.tracked = task, context, tracked
        blocks.first, blocks.last, blocks.chunk = first, last, chunk
        return self.run_once(process_chunk, &blocks, (last - first + chunk - 1) // chunk)

    cdef int close(self) except -1:
        """Stop the threads and wait for them; each finishes or leaves its current ticket.

        The exception of a signal handler is raised afterwards and replaces a pending one. In a
        ``with`` block the threads are kept, unless tickets are unfinished.
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
