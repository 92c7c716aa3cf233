# Scores of a range of labels at one feature row. Header only.
from sstruct._problems._rows cimport (
    SSTRUCT_ONES, SSTRUCT_SINGLE, sstruct_row_size, sstruct_row_start, sstruct_rows)


cdef inline void add_part_scores(
        const sstruct_rows* rows, Py_ssize_t r, const double* w, Py_ssize_t KP, Py_ssize_t low,
        Py_ssize_t high, double* out) noexcept nogil:
    """out[low:high] += X[r] @ w[:, low:high]."""
    cdef Py_ssize_t f, k, at, start = sstruct_row_start(rows, r)
    cdef double x = 1.0
    for f in range(sstruct_row_size(rows, r)):
        at = (rows.indices[start + f] if rows.indices != NULL else f) * KP
        if rows.kind == SSTRUCT_SINGLE:
            x = (<const float*> rows.values)[start + f]
        elif rows.kind != SSTRUCT_ONES:
            x = (<const double*> rows.values)[start + f]
        for k in range(low, high):
            out[k] += x * w[at + k]
