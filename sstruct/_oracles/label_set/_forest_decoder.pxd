from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.label_set._set_decoder cimport LabelDecoder, LabelLoss
from sstruct._oracles.tree._tree_sums cimport TableSums


cdef class LabelForest(LabelDecoder):
    # The forest, shared by forks. Node K is the parent of all roots and always on.
    cdef bint hierarchy
    cdef const int32_t[::1] order           # (K,) labels, parents first
    cdef const int32_t[::1] above           # (K,) parent of each label, K at roots
    cdef const int32_t[::1] edge_above      # (K,) edge to the parent, -1 if there is none
    cdef const int32_t[::1] size            # (K + 1,) number of labels of a subtree, including its root
    # Scratch: best scores of subtrees with their root off and on.
    cdef double[:, ::1] best, outside       # (2, K + 1)
    # Scratch of maximize_product, allocated on first use: best scores by number of errors.
    cdef Py_ssize_t[::1] table_start        # (K + 1,) first entry of a node's table
    cdef Py_ssize_t[::1] split_start        # (K,) first entry of a child's backpointers
    cdef double[::1] table, message, merged
    cdef int32_t[::1] filled, left, state, share

    # The labels as nodes with two states, allocated on first use: node scores and tables of edges.
    cdef TableSums sums
    cdef int32_t[::1] sum_parents
    cdef int64_t[::1] sum_start, sum_table_at
    cdef double[::1] sum_theta, sum_tables, sum_out

    cdef double edge_score(self, const double* pair, Py_ssize_t k) noexcept nogil
    cdef void send(self, const double* theta, const double* pair) noexcept nogil
    cdef int count_errors(
        self, const double* theta, const double* pair, const LabelLoss* loss) except -1 nogil
