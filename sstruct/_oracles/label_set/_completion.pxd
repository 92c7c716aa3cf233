from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.label_set._roof_duality cimport RelaxedLabels


cdef class LabelCompletion(Storage):
    cdef double* gain             # (n_labels,) score gained by turning a label on, given the others
    cdef double* middle           # (n_labels,) gains with all members off
    cdef double* tolerance        # (n_labels,) rounding error of the gains
    cdef int32_t* best            # (n_labels,) best labels so far of a component
    cdef int32_t* order           # (n_labels,) order in which a pass flips labels
    cdef int32_t* queue           # (n_labels,) concatenated components
    cdef int32_t* component       # (n_labels,) component of a label of value 1/2; -1 if not assigned

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
