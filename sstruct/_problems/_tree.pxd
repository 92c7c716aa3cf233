from libc.stdint cimport int32_t

from sstruct._problems._part_trees cimport PartTrees


cdef class TreeProblem(PartTrees):
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
