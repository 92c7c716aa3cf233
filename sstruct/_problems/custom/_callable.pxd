from libc.stdint cimport int32_t, int64_t

from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.custom._plane_table cimport PlaneTable, StoredPlane


cdef class CallableProblem(BlockProblem):
    cdef readonly object calls
    cdef object workers              # answer the calls of a batch, or None
    # Shared by forks.
    cdef PlaneTable table
    cdef int64_t[::1] poor           # number of answers whose bound a known plane exceeded, per block
    cdef int64_t[::1] wrong          # number of answers that differ from the truth, per block
    cdef double[::1] norm, most      # largest norm and loss of the planes found, per block
    cdef list failures               # exceptions of the oracle, or of the validation of its answers
    cdef signed char[::1] open       # whether answers may be stored in the table
    # Of this object.
    cdef PlaneTable passing          # answers of certificates, kept until the next block
    cdef Py_ssize_t passing_block
    cdef double[::1] difference      # scratch memory for distances
    cdef double excess               # bound minus value of the last answer
    cdef object frozen_w
    cdef const double* last_w
    cdef double last_loss_weight
    cdef dict ahead
    cdef object ahead_w
    cdef double ahead_loss_weight

    cdef int share(self, CallableProblem other) except -1
    cdef const StoredPlane* plane(self, Py_ssize_t i, int32_t code) noexcept nogil
    cdef double score(
        self, const StoredPlane* plane, const double* w, double loss_weight,
        double* size) noexcept nogil
    cdef object weights_of(self, const double* w)
    cdef int32_t take(self, Py_ssize_t i, taken) except? -1
    cdef int32_t keep(
        self, Py_ssize_t i, double loss, Py_ssize_t size, const int32_t* index,
        const double* value) except? -1 nogil
    cdef object answer(self, Py_ssize_t i, const double* w, double loss_weight)
    cdef int ask(
        self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code) except -1 nogil
