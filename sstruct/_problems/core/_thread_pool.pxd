from libc.stdint cimport int64_t

from sstruct._problems.core._block_problem cimport BlockProblem

cdef extern from "sstruct/_kernels/threads.h":
    ctypedef int64_t sstruct_counter

# Processes a ticket, with the problem and the number of the thread.
ctypedef int (*Task)(
    void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t ticket) except -1 nogil

# Processes a block.
ctypedef int (*BlockTask)(
    void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t i) except -1 nogil


cdef class ThreadPool:
    cdef readonly Py_ssize_t n_threads
    cdef Py_ssize_t n_started       # including the caller; 0: the pool is closed
    cdef bint kept                  # whether threads are kept between passes
    cdef BlockProblem problem        # of the caller
    cdef list forks, errors
    cdef Task task
    cdef void* context
    # Tickets below `limit` may be taken; `taken` is the next one, `done` counts finished ones; those of
    # a run start at `base`. `inside` counts threads that may still be in a task.
    cdef Py_ssize_t base
    cdef sstruct_counter limit, taken, done, closed, failed, inside

    cdef int open(self, Task task, void* context, Py_ssize_t most) except -1
    cdef int run(self, Py_ssize_t count) except -1 nogil
    cdef int run_once(self, Task task, void* context, Py_ssize_t count) except -1
    cdef int run_blocks(
        self, BlockTask task, void* context, const double* tracked, Py_ssize_t first,
        Py_ssize_t last) except -1
    cdef double wait(self, sstruct_counter* counter, int64_t least) except -1 nogil
    cdef int close(self) except -1
    cdef Py_ssize_t take(self) noexcept nogil
    cdef int process_tickets(self, BlockProblem problem, Py_ssize_t thread) except -1 nogil
