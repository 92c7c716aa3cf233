from libc.stdint cimport int32_t

from sstruct._kernels._random cimport Random
from sstruct._oracles.core._interval cimport Interval


cdef struct OracleAnswer:
    double value    # loss_weight L(y) + <w, phi(x_i, y)>, up to the block's constant (see `scores`)
    double work     # cost of the call, in units of about one scalar multiply-add
    bint exact      # whether no labeling has a larger value
    double bound    # upper bound of the value of any labeling; valid only if `bounded` and not `exact`
    bint found      # whether there is a labeling; set only by `maximize_between`


cdef class BlockProblem:
    cdef readonly Py_ssize_t n_blocks
    cdef readonly Py_ssize_t n_weights
    cdef readonly Py_ssize_t max_code_size
    cdef public Py_ssize_t batch_size
    cdef readonly double oracle_work, product_work
    cdef readonly bint bounded, may_be_hasty, has_product, has_between, has_ranking, keeps_planes
    cdef readonly Py_ssize_t ahead_size, n_choices
    cdef bint has_labels
    cdef object _layout

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil
    cdef void prefetch(self, Py_ssize_t i) noexcept nogil
    cdef void set_hasty(self, bint hasty) noexcept nogil
    cdef int lacks(self, const char* method) except -1 nogil
    cdef int need_labels(self) except -1 nogil
    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil
    cdef int maximize(
        self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
        OracleAnswer* answer) except -1 nogil
    cdef const double* choice_scores(self) noexcept nogil
    cdef int maximize_product(
        self, Py_ssize_t i, const double* w, double margin, int32_t* code,
        OracleAnswer* answer) except -1 nogil
    cdef int maximize_between(
        self, Py_ssize_t i, const double* w, double loss_weight, double margin,
        const Interval* interval, int32_t* code, OracleAnswer* answer) except -1 nogil
    cdef double ranked(
        self, Py_ssize_t i, const double* w, double loss_weight, bint first, int32_t* code,
        double* work) except? -1 nogil
    cdef Py_ssize_t n_values(self, Py_ssize_t i) noexcept nogil
    cdef double log_partition(
        self, Py_ssize_t i, const double* w, double scale, const int32_t* known) except? -1 nogil
    cdef int probabilities(self, double* out) except -1 nogil
    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil
    cdef int ask_ahead(
        self, const Py_ssize_t* blocks, Py_ssize_t count, const double* w,
        double loss_weight) except -1 nogil
    cdef void track(self, const double* w) noexcept nogil
    cdef int retain(
        self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) except -1 nogil
    cdef int scores(
        self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
        Py_ssize_t count, double* out, double* work) except -1 nogil
    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil
    cdef int squared_distance(
        self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil
    cdef int scatter(
        self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
        double* out) except -1 nogil
    cdef int exchange(
        self, Py_ssize_t i, const int32_t* gain, const int32_t* lose, double c,
        double* out) except -1 nogil
    cdef int offset_nodes(
        self, Py_ssize_t count, const int32_t* position, const double* offsets) except -1 nogil
    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1
    cdef int check_node_labels(
        self, Py_ssize_t i, const int32_t[::1] code, Py_ssize_t n_labels) except -1
    cpdef BlockProblem fork(self)
    cpdef remember(self, bint kept)


cdef class WrappedProblem(BlockProblem):
    cdef readonly BlockProblem problem
