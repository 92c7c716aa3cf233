from libc.stdint cimport int32_t

from sstruct._oracles.label_set._polygon cimport MixtureAnswer, RelaxedPolygon
from sstruct._problems.core._block_problem cimport OracleAnswer, WrappedProblem
from sstruct._problems.label_set._multilabel cimport MultilabelProblem
from sstruct._problems.core._scored_codes cimport ScoredCodes


cdef class MixtureProblem(WrappedProblem):
    cdef MultilabelProblem sets                  # `problem`, with its type
    cdef Py_ssize_t corner_size                  # number of entries of a corner's code
    # Scratch memory of this object.
    cdef RelaxedPolygon polygon
    cdef ScoredCodes corners
    cdef double[::1] weights                     # (K,): cost of an error at each label

    cdef void repeat(self, int32_t* code) noexcept nogil
    cdef double load(self, Py_ssize_t i, const double* w, double margin) except? -1 nogil
    cdef double flattest(self, double margin) noexcept nogil
    cdef int value_of(
        self, Py_ssize_t i, double margin, const int32_t* code, double* h, double* g,
        double* work) except -1 nogil
    cdef Py_ssize_t list_corners(
        self, const int32_t** codes, Py_ssize_t count) except -1 nogil
