# Scores of sequences of segments. The score of a whole segment takes constant time, by cumulative sums.
from libc.stdint cimport int32_t, int64_t


# The score of a segment of label k from node s to e - 1 is that of its features, if its ends are known,
# plus `loss` times its part of the loss.
cdef struct SegmentTerms:
    Py_ssize_t L
    bint open_start, open_end        # whether the first and the last segment may continue outside
    # K x (L + 1) each, or all NULL. `mean` and `contrast` are sums over the nodes before each one. The
    # score of a segment contains its mean of `mean`, and its mean of `contrast` for each end inside the
    # sequence. `first` has the scores of segments that start at a node, `last` of those that stop before.
    const double* mean
    const double* contrast
    const double* first
    const double* last
    # Features of the segment from node s to s + d - 1: row given_at[s] + d - 1. NULL: none.
    const double* given              # rows of n_given
    const int64_t* given_at          # L
    const double* given_weight       # K x n_given
    Py_ssize_t n_given
    double loss
    # The loss of boundaries: -1 for one before node e if the segment before it starts before window[e],
    # else 1. NULL: none.
    const int32_t* window            # L
    # The loss of segments: -1 for those that match a true one, else 1. NULL: none.
    const int32_t* label             # L: true labels
    const int32_t* begin             # L: ends of the true segment of each node
    const int32_t* stop


# Boundaries before a node, in addition to those between different labels.
cdef enum:
    FREE
    REQUIRED       # a segment starts at the node
    FORBIDDEN      # the node and the one before it are in one segment if their labels are equal


# Scores of a chain as a sequence of segments; rows of K labels are padded to KP.
cdef struct SegmentScores:
    const double* theta              # L x KP: scores of the nodes, including those of both ends; -inf forbids
    Py_ssize_t L, KP
    const double* edge               # K x KP, of neighboring nodes, or NULL: 0
    const double* split              # K: score of a segment after one with the same label; NULL: forbidden
    const unsigned char* bound       # L: FREE, REQUIRED or FORBIDDEN; NULL: all are FREE
    const double* duration           # K x n_bins, by label and bin, or NULL: 0
    bint open_start, open_end        # whether the first and the last segment may continue outside
    const SegmentTerms* terms        # scores of whole segments, or NULL: 0


cdef inline double feature_term(
        const SegmentTerms* terms, Py_ssize_t s, Py_ssize_t e, Py_ssize_t k) noexcept nogil:
    """Return the score of the features of a segment; 0 if an end is not known."""
    cdef Py_ssize_t at = k * (terms.L + 1), g
    cdef double value = 0
    cdef const double* row
    cdef const double* weight
    if terms.open_start and s == 0 or terms.open_end and e == terms.L:
        return 0
    if terms.mean != NULL:
        value = terms.mean[at + e] - terms.mean[at + s] + ((s > 0) + (e < terms.L)) * (
            terms.contrast[at + e] - terms.contrast[at + s])
        value = value / (e - s) + terms.first[at + s] + terms.last[at + e]
    if terms.given != NULL:
        row = terms.given + (terms.given_at[s] + e - s - 1) * terms.n_given
        weight = terms.given_weight + k * terms.n_given
        for g in range(terms.n_given):
            value += weight[g] * row[g]
    return value


cdef inline double loss_term(
        const SegmentTerms* terms, Py_ssize_t s, Py_ssize_t e, Py_ssize_t k) noexcept nogil:
    """Return the part of a segment in the loss."""
    cdef Py_ssize_t middle, shared, joint
    if terms.window != NULL and e < terms.L:
        return -1 if s < terms.window[e] else 1
    if terms.label != NULL:
        # A true segment that covers more than half of the nodes covers the middle one.
        middle = s + (e - s) // 2
        shared = min(e, <Py_ssize_t> terms.stop[middle]) - max(s, <Py_ssize_t> terms.begin[middle])
        joint = max(e, <Py_ssize_t> terms.stop[middle]) - min(s, <Py_ssize_t> terms.begin[middle])
        return -1 if terms.label[middle] == k and 2 * shared > joint else 1
    return 0


cdef inline double segment_term(
        const SegmentTerms* terms, Py_ssize_t s, Py_ssize_t e, Py_ssize_t k) noexcept nogil:
    """Return the score of a segment of label k from node s to e - 1."""
    cdef double value = feature_term(terms, s, e, k)
    if terms.loss != 0:
        value += terms.loss * loss_term(terms, s, e, k)
    return value
