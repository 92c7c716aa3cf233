from libc.stdint cimport int32_t, int64_t

from sstruct._problems.label_set._multilabel cimport MultilabelProblem
from sstruct._solvers.gdmm._label_block cimport EdgeIndex, LabelBlock
from sstruct._kernels._random cimport Random


cdef extern from "sstruct/_solvers/gdmm/outcomes.h":
    enum:
        SSTRUCT_EDGE_LANES
        SSTRUCT_MASS
        SSTRUCT_MESSAGE
        SSTRUCT_WEIGHT
        SSTRUCT_LABEL_VALUE
        SSTRUCT_EDGE_ROWS
    void sstruct_outcome_steps(
        double* table, int64_t room, int64_t n, double rho, double C, double step, double* sums
        ) noexcept nogil


cdef class LabelFactors:
    cdef readonly MultilabelProblem problem
    cdef readonly double rho, lam
    cdef readonly double search_seconds, update_seconds
    cdef readonly double residual, change        # squares of the residual and of the change in the last pass
    cdef Py_ssize_t n_blocks, n_sweeps, n_parts
    cdef double multiplier_step
    cdef bint exhaustive
    cdef LabelBlock* blocks                     # (n_blocks,)
    cdef const double[::1] factor               # (n_blocks,) C_i = q_i / lam
    cdef double[::1] weights                    # in the problem's layout
    cdef readonly object prior                  # the center of the regularizer, or None for 0
    cdef const int32_t[::1] first
    cdef EdgeIndex index
    cdef double[::1] bound                      # upper bounds of the weights of BLOCK edges each
    cdef Random random
    # Scratch memory of a visit.
    cdef Py_ssize_t low, high                   # range of the label group
    cdef double[::1] theta                      # (KP,) scores of labels
    cdef double[::1] found                      # (K,) scores, or steps, of the labels in `wanted`
    cdef int32_t[::1] wanted                    # (K,)
    cdef int32_t[::1] place                     # (K,) position of an admitted label, or -1
    cdef double[::1] total, degree, slack       # (K,) by position
    cdef double[::1] begin                      # (K,) alpha at the start of the visit, by position
    cdef double[::1] table                      # of edges, see outcomes.h: rows of `room`
    cdef Py_ssize_t room

    cdef int _visit(self, Py_ssize_t i) except -1 nogil
    cdef void _score(self, Py_ssize_t i, LabelBlock* block, Py_ssize_t part) noexcept nogil
    cdef int32_t _best_label(self, double* top) noexcept nogil
    cdef int _lay_out(self, Py_ssize_t i, LabelBlock* block) except -1 nogil
    cdef void _write_back(self, Py_ssize_t i, LabelBlock* block) noexcept nogil
    cdef void _update_labels(self, Py_ssize_t i, LabelBlock* block) noexcept nogil
    cdef Py_ssize_t _best_edge(self, LabelBlock* block, double top, double* joint) noexcept nogil
    cdef double _slack_of(self, const LabelBlock* block, int32_t k) noexcept nogil
