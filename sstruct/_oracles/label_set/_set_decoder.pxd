from libc.stdint cimport int32_t

from sstruct._kernels._random cimport Random
from sstruct._oracles.core._interval cimport Interval
from sstruct._oracles.label_set._set_constraints cimport SetConstraints


cdef struct LabelLoss:          # of a label set y: sum_k (on[k] if y_k else off[k])
    const double* off           # (K,) 0 if label k is truly off
    const double* on            # (K,) 0 if label k is truly on
    const int32_t* truth        # its code
    double unit                 # the cost of an error if all costs are equal, else 0


cdef struct LabelAnswer:
    double work                 # in units of about one scalar multiply-add
    bint exact                  # True if the labeling is optimal
    double bound                # upper bound on f of all labelings; set if not exact
    bint found                  # True if a labeling was found; not set by every `maximize`


cdef class LabelDecoder:
    cdef readonly Py_ssize_t n_labels, n_edges
    cdef readonly Py_ssize_t code_size          # entries of a code, see _codes.pxd
    cdef readonly bint relaxed                  # whether halves may occur
    cdef readonly double work, product_work     # approximately, of `maximize` and of `maximize_product`
    # Whether maximize_product is supported; whether it requires equal costs of all errors; whether
    # maximize_between is supported.
    cdef readonly bint has_product, counts_errors, has_between
    cdef const int32_t[:, ::1] edges            # (max(E, 1), 2), in order
    cdef const int32_t[::1] first               # (K + 1,): first edge whose lower end is label k
    cdef const int32_t[::1] parents             # (K,) parents in a hierarchy, or empty
    cdef readonly SetConstraints constraints    # constraints of the sets, or None
    # Scratch of `marginals`.
    cdef double[::1] forced
    cdef int32_t[::1] forced_code

    cdef double score(
        self, const double* theta, const double* pair, const int32_t* code) noexcept nogil
    cdef int maximize(
        self, const double* theta, const double* pair, int32_t* code,
        LabelAnswer* answer) except -1 nogil
    cdef int maximize_product(
        self, const double* theta, const double* pair, const LabelLoss* loss, double offset,
        int32_t* code, LabelAnswer* answer) except -1 nogil
    cdef int maximize_between(
        self, const double* theta, const double* pair, const LabelLoss* loss, double offset,
        double loss_weight, const Interval* interval, int32_t* code,
        LabelAnswer* answer) except -1 nogil
    cdef int marginals(
        self, const double* theta, const double* pair, double* out) except -1 nogil
    cdef double log_partition(
        self, const double* theta, const double* pair, const int32_t* known,
        double scale) except? -1 nogil
    cdef int probabilities(self, double* out) except -1 nogil
    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil
    cpdef int check_code(self, const int32_t[::1] code) except -1
    cpdef LabelDecoder fork(self)
    cdef int _share(self, LabelDecoder other) except -1
