# Design:
# (a) Makes the oracle of any problem slow, and times it, without changing answers: the behavior of solvers
#     with costly oracles can then be measured on data with cheap ones. For tests and benchmarks.
# (b) The wait polls the clock without the GIL: it occupies a core, as an oracle would.
# (c) The declared work is a fixed number of units per second, and not measured: fits remain reproducible
#     to the bit.
"""A problem with a costly oracle."""

from libc.stdint cimport int32_t

from sstruct._kernels._interruption cimport sstruct_seconds
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer

import math

from sstruct._problems.core._block_problem import batch_size as usual_batch_size

# A core makes about one scalar multiply-add per nanosecond if it waits for its operands.
WORK_PER_SECOND = 1e9
cdef double _WORK_PER_SECOND = WORK_PER_SECOND


cdef class CostlyProblem(BlockProblem):
    """A problem whose oracle calls take longer.

    Parameters
    ----------
    problem : BlockProblem
        The problem that computes all answers.
    seconds : float
        Busy wait after each call of its oracle; declared as `seconds` * WORK_PER_SECOND of work.
    batch_size : int, optional
        By default the larger one of the batch sizes for `problem` and for the declared work.
    work : float, optional
        Work of a call without the wait, by default the work that `problem` reports. If given, a score
        counts as 1.

    Attributes
    ----------
    problem, seconds
    n_calls : int
        Number of oracle calls so far, including calls of forks.
    oracle_seconds : float
        Time of these calls, by the wall clock of each thread, including waits.
    """

    cdef readonly BlockProblem problem    # the wrapped problem
    cdef readonly double seconds
    cdef Py_ssize_t own_calls
    cdef double own_seconds, own_work
    cdef list forks

    def __init__(self, BlockProblem problem not None, double seconds, *, batch_size=None, work=None):
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"seconds must be finite and nonnegative, found {seconds}")
        self.problem, self.seconds, self.forks = problem, seconds, []
        self.n_blocks, self.n_weights = problem.n_blocks, problem.n_weights
        self.max_code_size, self.bounded = problem.max_code_size, problem.bounded
        self.keeps_planes = problem.keeps_planes
        self.own_work = -1 if work is None else work
        self.oracle_work = problem.oracle_work + seconds * WORK_PER_SECOND
        self.batch_size = batch_size if batch_size is not None else max(
            problem.batch_size, usual_batch_size(problem.n_blocks, seconds * WORK_PER_SECOND))

    @property
    def n_calls(self):
        return self.own_calls + sum(fork.n_calls for fork in self.forks)

    @property
    def oracle_seconds(self):
        return self.own_seconds + sum(fork.oracle_seconds for fork in self.forks)

    cpdef BlockProblem fork(self):
        other = CostlyProblem(
            self.problem.fork(), self.seconds, batch_size=self.batch_size,
            work=None if self.own_work < 0 else self.own_work)
        self.forks.append(other)
        return other

    def begin_fit(self):
        self.problem.begin_fit()

    cpdef remember(self, bint kept):
        self.problem.remember(kept)

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef double now, end, begin = sstruct_seconds()
        self.problem.maximize(i, w, loss_weight, code, answer)
        now = sstruct_seconds()
        end = now + self.seconds
        while now < end:
            now = sstruct_seconds()
        self.own_seconds += now - begin
        if self.own_work >= 0:
            answer.work = self.own_work
        answer.work += self.seconds * _WORK_PER_SECOND
        self.own_calls += 1
        return 0

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        return self.problem.code_size(i)

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        return self.problem.truth(i, code)

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef double before = work[0]
        self.problem.scores(i, w, loss_weight, codes, count, out, work)
        if self.own_work >= 0:
            work[0] = before + count
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        return self.problem.loss(i, code, out)

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        return self.problem.squared_distance(i, a, b, out)

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        return self.problem.scatter(i, codes, coefficient, count, out)

    cdef int retain(
            self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) except -1 nogil:
        return self.problem.retain(i, codes, count)

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        return self.problem.check_code(i, code)
