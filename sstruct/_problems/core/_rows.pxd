from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._constants cimport VECTOR_WORK
from sstruct._kernels._interruption cimport poll_signals


cdef extern from "sstruct/_kernels/kernels.h":
    ctypedef struct sstruct_rows:
        const void* values
        const int32_t* indices
        const int64_t* indptr
        int64_t n_features
        int kind
        double factor
        const double* scores
    cdef enum:
        SSTRUCT_DOUBLE
        SSTRUCT_SINGLE
        SSTRUCT_ONES
    int64_t sstruct_padded(int64_t K) noexcept nogil
    int64_t sstruct_row_start(const sstruct_rows* rows, int64_t r) noexcept nogil
    int64_t sstruct_row_size(const sstruct_rows* rows, int64_t r) noexcept nogil
    double sstruct_row_product(const sstruct_rows* rows, int64_t r, int64_t s) noexcept nogil
    # For calls with constant arguments, which the compiler optimizes; otherwise, use some_potentials.
    void sstruct_some_potentials(
        const sstruct_rows* rows, int64_t r, const double* w, int64_t KP, const int32_t* label,
        int64_t count, double* out) noexcept nogil
    void sstruct_add_row(
        const sstruct_rows* rows, int64_t r, const int32_t* label, const double* change,
        int64_t count, double* w, int64_t KP) noexcept nogil


# Kernels of kernels.h that are compiled only in this module, since each takes up to 50 kB.
cdef void row_potentials(
    const sstruct_rows* rows, int64_t first, int64_t count, const double* w, int64_t KP,
    const double* bias, const double* cost, const int32_t* truth, double scale,
    double* theta) noexcept nogil
cdef void range_potentials(
    const sstruct_rows* rows, int64_t r, const double* w, int64_t KP, int64_t low, int64_t high,
    double* out) noexcept nogil
cdef void some_potentials(
    const sstruct_rows* rows, int64_t r, const double* w, int64_t KP, const int32_t* label,
    int64_t count, double* out) noexcept nogil


cdef inline int potentials_of_rows(
        const sstruct_rows* rows, Py_ssize_t first, Py_ssize_t count, const double* w,
        Py_ssize_t KP, const double* bias, const double* cost, const int32_t* truth, double scale,
        double* theta) except -1 nogil:
    """Call `row_potentials` in chunks, and check for signals about every millisecond."""
    cdef Py_ssize_t begin = 0, step, end
    cdef double work = KP * VECTOR_WORK * (
        sstruct_row_start(rows, first + count) - sstruct_row_start(rows, first) + count)
    step = <Py_ssize_t> (count / (1 + 1e-6 * work)) + 1
    while begin < count:
        end = min(begin + step, count)
        row_potentials(
            rows, first + begin, end - begin, w, KP, bias, cost,
            truth + begin if cost != NULL else NULL, scale, theta + begin * KP)
        poll_signals(work * (end - begin) / count)
        begin = end
    return 0


# Scores of labels share one weight, which follows the weights of features: w[n_features * KP].

cdef inline void add_scores(
        const sstruct_rows* rows, Py_ssize_t first, Py_ssize_t count, const double* w,
        Py_ssize_t n_labels, Py_ssize_t KP, double* theta) noexcept nogil:
    """Add the weighted scores of all labels to the potentials of some rows."""
    cdef Py_ssize_t l, k
    cdef double weight = rows.factor * w[rows.n_features * KP]
    cdef const double* scores = rows.scores + first * KP
    for l in range(count):
        for k in range(n_labels):
            theta[l * KP + k] += weight * scores[l * KP + k]


cdef inline void add_some_scores(
        const sstruct_rows* rows, Py_ssize_t r, const double* w, Py_ssize_t KP,
        const int32_t* label, Py_ssize_t count, double* out) noexcept nogil:
    """Add the weighted scores of some labels to their potentials."""
    cdef Py_ssize_t k
    cdef double weight = rows.factor * w[rows.n_features * KP]
    for k in range(count):
        out[k] += weight * rows.scores[r * KP + label[k]]


cdef inline void collect_scores(
        const sstruct_rows* rows, Py_ssize_t r, const int32_t* label, const double* change,
        Py_ssize_t count, double* out, Py_ssize_t KP) noexcept nogil:
    """Add the scores of some labels, times `change`, to the weight that all scores share."""
    cdef Py_ssize_t k
    cdef double total = 0
    for k in range(count):
        total += change[k] * rows.scores[r * KP + label[k]]
    out[rows.n_features * KP] += rows.factor * total


cdef class FeatureRows:
    cdef sstruct_rows rows
    cdef readonly Py_ssize_t n_scores   # number of labels with scores; 0: there are none
    cdef object scores               # the array that `rows.scores` refers to, or None
    cdef tuple owners                # the arrays that the pointers of `rows` refer to
    cdef readonly Py_ssize_t n_rows, n_features, n_stored, mapped_bytes
