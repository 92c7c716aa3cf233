# Design:
# (a) A code is the plane itself: phi(x_i, y) - phi(x_i, y_i), then L_i(y), each double as two int32.
#     Where there are few weights for each node of a labeling, as with images, scores are then
#     products of short vectors, whatever the structure.
# (b) The oracle is the inner problem's. Labelings of equal planes become one.
# (c) Codes have an even size, so in a working set and in a batch, where they begin on a border of
#     eight bytes, their doubles do too.
"""Any problem, with explicit planes in place of compact labelings."""

from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer, WrappedProblem

import numpy as np

cdef extern from "sstruct/_kernels/kernels.h":
    void sstruct_products(
        const double* rows, int64_t count, int64_t n, const double* w, double* out) noexcept nogil
    double sstruct_squared_norm(const double* w, int64_t size) noexcept nogil

# Work of a multiply-add of long vectors, in scalar ones.
cdef double VECTOR_WORK = 1.0 / 8
# Up to so many weights for each node of a labeling, planes are worth their memory. On superpixels
# (four weights a node) fits were ten times faster than with labelings, for eight times the memory.
cdef double WEIGHTS_PER_NODE = 16


def explicit_where_cheaper(BlockProblem problem not None):
    """Return the problem with explicit planes, or as it is where there are too many weights.

    The score of a plane takes a multiply-add for each weight, that of a labeling a feature row for
    each node where it differs from others. A plane takes 2 n_weights / n_nodes times the memory.
    """
    cdef Py_ssize_t i, n_nodes = 0
    for i in range(problem.n_blocks):
        n_nodes += problem.code_size(i)
    if problem.n_weights * problem.n_blocks <= WEIGHTS_PER_NODE * n_nodes:
        return ExplicitProblem(problem)
    return problem


cdef class ExplicitProblem(WrappedProblem):
    """A problem whose labelings are named by their planes.

    Parameters
    ----------
    problem : BlockProblem
        Answers the oracle calls and knows the joint feature map and the loss; its other
        attributes are this one's too.

    Notes
    -----
    Scores are relative to those of the truths. What `problem` counts as loss beside
    ``<w, phi>`` enters at the loss weight, so with costs that are no loss only loss weight 1
    is right: that of training under margin rescaling.
    """

    def __init__(self, BlockProblem problem not None):
        WrappedProblem.__init__(self, problem)
        self.max_code_size = 2 * (problem.n_weights + 1)
        self.oracle_work += problem.n_weights
        self.difference, self.last_w = np.empty((2, problem.n_weights))
        self.labeling, self.true_labeling = np.empty((2, problem.max_code_size), dtype=np.int32)

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        memset(code, 0, self.max_code_size * sizeof(int32_t))
        return 0

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef double* plane = <double*> code
        cdef Py_ssize_t j
        cdef double slack
        self.problem.maximize(i, w, loss_weight, &self.labeling[0], answer)
        slack = answer.bound - answer.value if self.bounded else 0
        self.problem.truth(i, &self.true_labeling[0])
        memset(plane, 0, self.n_weights * sizeof(double))
        self.problem.exchange(i, &self.labeling[0], &self.true_labeling[0], 1.0, plane)
        self.problem.loss(i, &self.labeling[0], &plane[self.n_weights])
        for j in range(self.n_weights + 1):
            plane[j] += 0.0   # -0 becomes 0: equal planes are to have equal bits
        sstruct_products(plane, 1, self.n_weights, w, &answer.value)
        answer.value += loss_weight * plane[self.n_weights]
        answer.bound = answer.value + slack
        memcpy(&self.last_w[0], w, self.n_weights * sizeof(double))
        answer.work += self.n_weights
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k
        if w == NULL:
            w = &self.last_w[0]
        for k in range(count):
            sstruct_products(<const double*> codes[k], 1, self.n_weights, w, &out[k])
            out[k] += loss_weight * (<const double*> codes[k])[self.n_weights]
        work[0] += count * (1 + VECTOR_WORK * self.n_weights)
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        out[0] = (<const double*> code)[self.n_weights]
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t j
        for j in range(self.n_weights):
            self.difference[j] = (<const double*> a)[j] - (<const double*> b)[j]
        out[0] = sstruct_squared_norm(&self.difference[0], self.n_weights)
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        # Size and coefficient in locals: for all that a compiler knows, they might lie in out.
        cdef Py_ssize_t j, k, size = self.n_weights
        cdef const double* plane
        cdef double step
        for k in range(count):
            plane = <const double*> codes[k]
            step = coefficient[k]
            for j in range(size):
                out[j] += step * plane[j]
        return 0

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        BlockProblem.check_code(self, i, code)
        cdef double[::1] plane = np.array(code).view(np.float64)
        cdef Py_ssize_t j
        for j in range(plane.shape[0]):
            if not isfinite(plane[j]):
                raise ValueError(f"block {i}: entry {j} of a plane is {plane[j]}")
        return 0
