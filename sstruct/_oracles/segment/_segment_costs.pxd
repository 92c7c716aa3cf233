# Costs of segments of a signal, in constant time from sums over its first nodes.
from libc.math cimport log


cdef enum SegmentCost:
    MEAN        # squared deviations from the mean
    VARIANCE    # -2 log-likelihood of a Gaussian: mean 0, variance of the segment; minus n (1 + log(2 pi))
    NORMAL      # the same with the segment's mean
    TREND       # squared deviations from the least-squares line


# Sums of a signal. Entry l has the sums over the nodes before node l, for each feature x:
# of x, of x^2 and, if `n_sums` is 3, of x times the position of the node.
cdef struct SegmentSums:
    const double* sums               # (L + 1) x n_features x n_sums
    Py_ssize_t n_features, n_sums
    const double* floor              # n_features: the minimum of a variance, positive


cdef inline double segment_cost(
        const SegmentSums* of, int kind, Py_ssize_t f, Py_ssize_t start,
        Py_ssize_t stop) noexcept nogil:
    """Return the cost of nodes start to stop - 1 in feature f."""
    cdef Py_ssize_t step = of.n_features * of.n_sums
    cdef const double* a = of.sums + start * step + f * of.n_sums
    cdef const double* b = of.sums + stop * step + f * of.n_sums
    cdef double n = stop - start, total = b[0] - a[0], squares, slope, variance
    squares = b[1] - a[1]
    if kind != VARIANCE:
        squares -= total * (total / n)
    squares = max(squares, 0)    # rounding may leave a negative sum
    if kind == MEAN:
        return squares
    if kind == VARIANCE or kind == NORMAL:
        variance = max(squares / n, of.floor[f])
        return n * (log(variance) - 1) + squares / variance
    if n < 3:
        return 0
    # The sum of (position - mean position) x.
    slope = b[2] - a[2] - 0.5 * (<double> start + <double> stop - 1) * total
    return max(squares - slope * (slope / (n * (n * n - 1) / 12)), 0)
