from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._node_weights cimport NodeWeights
from sstruct._problems.core._rows cimport FeatureRows, sstruct_rows


cdef class MulticlassProblem(BlockProblem):
    cdef dict arguments
    # Data, shared by forks.
    cdef readonly FeatureRows features
    cdef sstruct_rows rows           # a copy of what `features` owns
    cdef const int32_t[::1] labels
    cdef const double[:, ::1] cost   # K x KP
    cdef const double[::1] loss_scale
    cdef const double[::1] distance  # squared distance between any two classes, for each row
    cdef readonly Py_ssize_t n_labels, n_features
    cdef readonly bint bias
    cdef Py_ssize_t KP, bias_at
    # Scratch memory of this object.
    cdef NodeWeights nodes
    cdef double[::1] theta, lazy_theta
    cdef int32_t[::1] label

    cdef int potentials(
        self, Py_ssize_t i, const double* w, double loss_weight, double* theta) except -1 nogil
