# Design:
# (a) The part that batch methods (Frank-Wolfe over all blocks, cutting plane) need from a BlockProblem:
#     the oracles of all blocks run at the same w, in threads, and their planes are summed. Nothing is
#     stored per block.
# (b) NumPy: psi = sum(q[i] * (phi(i, truth[i]) - phi(i, y[i])) for i in blocks), and likewise for the
#     loss and the hinge. Threads write to separate entries; sums run in the order of the blocks.
# (c) Oracles run in chunks of blocks, after which a signal or a deadline can stop the pass; the plane
#     is then incomplete. The size of the chunks does not change results.
# (d) The policy is in batch_frank_wolfe.py and cutting_plane.py.
"""One oracle call per block at the same weights, summed to a plane."""

from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._thread_pool cimport ThreadPool
from sstruct._solvers.core._watch cimport Watch, poll, start_watch

import numpy as np

# Number of blocks per thread in a chunk of oracle calls.
cdef Py_ssize_t BLOCKS = 16


cdef struct BatchCalls:
    const double* weights
    Py_ssize_t first        # block of ticket 0
    int32_t* codes          # per ticket: the truth and the answer
    double* margin          # per ticket: score of the answer minus score of the truth
    double* bound           # per ticket: upper bound of the margin of any labeling
    double* work
    unsigned char* exact


cdef int call_oracle(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t ticket) except -1 nogil:
    """Task of a batch pass: call the oracle of one block."""
    cdef BatchCalls* calls = <BatchCalls*> context
    cdef Py_ssize_t i = calls.first + ticket
    cdef int32_t* truth = calls.codes + 2 * problem.max_code_size * ticket
    cdef const int32_t* codes[1]
    cdef double score = 0
    cdef OracleAnswer answer
    codes[0] = truth
    problem.maximize(i, calls.weights, 1.0, truth + problem.max_code_size, &answer)
    problem.truth(i, truth)
    calls.work[ticket] = answer.work
    problem.scores(i, NULL, 1.0, codes, 1, &score, &calls.work[ticket])
    calls.margin[ticket] = answer.value - score
    calls.bound[ticket] = answer.value - score
    if problem.bounded and not answer.exact:
        calls.bound[ticket] = max(answer.value, answer.bound) - score
    calls.exact[ticket] = answer.exact
    return 0


cdef class Plane:
    """The weighted sum of the oracles' planes at given weights.

    Parameters
    ----------
    n_weights : int

    Attributes
    ----------
    psi : ndarray of shape (n_weights,)
        sum_i q_i psi_i(y_i), where y_i is the oracle's answer in block i, or the truth if its score is at
        least as high.
    loss : float
        sum_i q_i L_i(y_i).
    hinge : float
        loss - <w, psi>, from the oracles' values: sum_i q_i H_i(w) if they are exact.
    bound : float
        Upper bound of sum_i q_i H_i(w) if inexact oracles are bounded; otherwise `hinge`.
    exact : bool
        Whether every oracle call was exact.
    n_calls : int
        Number of oracle calls, also if the pass was incomplete.
    """

    cdef readonly object psi
    cdef readonly double loss, hinge, bound
    cdef readonly bint exact
    cdef readonly Py_ssize_t n_calls

    def __init__(self, Py_ssize_t n_weights):
        self.psi = np.zeros(n_weights)
        self.exact = True

    def compute(
            self, ThreadPool pool not None, const double[::1] w not None,
            const double[::1] block_weight not None, double deadline):
        """Call the oracle of every block at w and sum the answers.

        Parameters
        ----------
        pool : ThreadPool
        w : ndarray of shape (n_weights,)
        block_weight : ndarray of shape (n_blocks,)
        deadline : float
            Deadline on the clock of `seconds`.

        Returns
        -------
        bool
            Whether the pass was complete.
        """
        cdef BlockProblem problem = pool.problem
        cdef Py_ssize_t i, k, size, n = problem.n_blocks, width = problem.max_code_size
        cdef Py_ssize_t most = min(max(BLOCKS * pool.n_threads, problem.ahead_size), n), done = 0
        cdef double work = 0, value = 0
        cdef bint late = False
        cdef BatchCalls calls
        cdef Watch watch = start_watch(deadline)
        cdef int32_t[::1] codes = np.empty(2 * most * width, dtype=np.int32)
        cdef double[::1] margin = np.empty(most), bound = np.empty(most), spent = np.empty(most)
        cdef unsigned char[::1] exact = np.empty(most, dtype=np.uint8)
        cdef Py_ssize_t[::1] asked = np.arange(n if problem.ahead_size > 0 else 1, dtype=np.intp)
        cdef double[::1] psi
        if w.shape[0] != problem.n_weights or len(self.psi) != problem.n_weights:
            raise ValueError(
                f"w has {w.shape[0]} entries and psi has {len(self.psi)}, expected {problem.n_weights}")
        if block_weight.shape[0] != n:
            raise ValueError(f"block_weight has {block_weight.shape[0]} entries, expected {n}")
        calls.weights, calls.codes, calls.margin = &w[0], &codes[0], &margin[0]
        calls.bound = &bound[0]
        calls.work, calls.exact = &spent[0], &exact[0]
        psi = self.psi = np.zeros(problem.n_weights)   # untouched pages take no memory
        self.loss = self.hinge = self.bound = 0
        self.exact = True
        self.n_calls = 0
        try:
            pool.open(call_oracle, &calls, most)
            with nogil:
                while done < n and not late:
                    size = min(most, n - done)
                    calls.first = done
                    self.n_calls += size
                    if problem.ahead_size > 0:
                        problem.ask_ahead(&asked[done], size, &w[0], 1.0)
                    pool.run(size)
                    for k in range(size):
                        i = done + k
                        self.exact = self.exact and exact[k]
                        # Otherwise the truth, whose plane is 0, replaces the answer: its score is at least
                        # as high, by rounding or because the oracle is inexact.
                        if margin[k] > 0:
                            problem.exchange(
                                i, &codes[2 * width * k], &codes[2 * width * k + width],
                                block_weight[i], &psi[0])
                            problem.loss(i, &codes[2 * width * k + width], &value)
                            self.loss += block_weight[i] * value
                            self.hinge += block_weight[i] * margin[k]
                        self.bound += block_weight[i] * max(bound[k], 0)
                        if problem.keeps_planes:
                            problem.retain(i, NULL, 0)
                        work += spent[k]
                        if poll(&watch, work):
                            late = True
                    done += size
        finally:
            pool.close()
        return done == n
