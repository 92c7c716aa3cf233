from libc.stdint cimport int32_t, int64_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer


cdef class EnumeratedProblem(BlockProblem):
    # Data, shared by forks.
    cdef const double[:, ::1] planes
    cdef const double[::1] losses
    cdef const int64_t[::1] offsets
    # Scratch memory of this object.
    cdef double[::1] score

    cdef Py_ssize_t n_labelings(self, Py_ssize_t i) noexcept nogil
    cdef void potentials(self, Py_ssize_t i, const double* w, double loss_weight) noexcept nogil
