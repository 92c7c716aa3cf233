from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.tree._subtree_error_table cimport TreeErrorTable
from sstruct._problems.tree._part_trees cimport PartTrees


cdef class TreeProblem(PartTrees):
    # Scratch of this object, for `maximize_product`.
    cdef TreeErrorTable error_table
    cdef double[::1] tables
    cdef int64_t[::1] table_at

    cdef void edge_row(
        self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t p, Py_ssize_t j, double* row) noexcept nogil
    cdef void potentials(self, Py_ssize_t i, const double* w, double loss_weight) noexcept nogil
    cdef int pass_up(self, Py_ssize_t i, double* work) except -1 nogil
    cdef int pass_down(self, Py_ssize_t i) except -1 nogil
    cdef int marginals(self, Py_ssize_t i, const double* w, double* out) except -1 nogil
    cdef void table_message(
        self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t p, double* out,
        int32_t* origin) noexcept nogil
    cdef int map_message(
        self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t t, const double* scores, int sign,
        double* values, int32_t* places) except -1 nogil
