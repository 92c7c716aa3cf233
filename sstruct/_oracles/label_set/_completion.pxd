from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.label_set._roof_duality cimport RelaxedLabels


cdef class LabelCompletion(Storage):
    cdef double* gain             # (n_labels,) what a label on adds, given the others
    cdef double* middle           # (n_labels,) gains of all members off
    cdef double* tolerance        # (n_labels,) what of that is rounding
    cdef int32_t* best            # (n_labels,) of a component, the best labels so far
    cdef int32_t* order           # (n_labels,) in which a pass turns labels
    cdef int32_t* queue           # (n_labels,) components, one after another
    cdef int32_t* component       # (n_labels,) of a half; -1: none (yet)

    cdef int complete(
        self, RelaxedLabels relaxed, const int32_t* code, int32_t* labels, double* value,
        bint* exact, double* work) except -1 nogil
    cdef void set_gains(
        self, RelaxedLabels relaxed, const int32_t* labels, const int32_t* members,
        Py_ssize_t n) noexcept nogil
    cdef void flip(self, RelaxedLabels relaxed, int32_t* labels, Py_ssize_t v) noexcept nogil
    cdef double enumerate_labels(
        self, RelaxedLabels relaxed, int32_t* labels, const int32_t* members,
        Py_ssize_t n) noexcept nogil
    cdef double improve(
        self, RelaxedLabels relaxed, int32_t* labels, const int32_t* members, Py_ssize_t n,
        int start) except? -1 nogil
    cdef int reserve(self, Py_ssize_t n_labels) except -1 nogil
