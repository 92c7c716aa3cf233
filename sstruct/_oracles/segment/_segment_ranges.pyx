# Design:
# (a) The score of a segment of label k from node s to e - 1 is
#         total[e] - total[s] - stay + duration score of e - s + term of s and e,
#     where total[e] sums the scores of the label's nodes before e, each with a step inside a segment.
# (b) The highest score of each node is subtracted, and the sum of these is kept as `shift`. Sums, and the
#     rounding errors of their differences, then remain small at nodes where the model is confident.
# (c) Forbidden nodes are not added to `total`. Its users must exclude segments that contain them.
"""Scores of a sequence of segments, for sums, max-marginals and rankings of segmentations."""

import numpy as np

from sstruct._kernels._interruption cimport poll_signals

from sstruct._oracles.segment.duration_ranges import duration_ranges


cdef class SegmentRanges(Storage):
    """Durations with the same score, and the scores of one sequence at a time.

    Parameters
    ----------
    bins : int64 ndarray of shape (n_bins,)
        The smallest duration of each bin, increasing, the first one 1. The last bin has no end.
    least, most : int64 ndarray of shape (K,)
        The range of durations of each label, ``1 <= least <= most``.
    """

    def __init__(self, bins, least, most):
        bins, least, most, first, last = duration_ranges(bins, least, most)
        self.n_labels, self.n_bins = len(least), len(bins)
        # Only bins that contain a duration of the label.
        label, bin_ = np.nonzero(first <= last)
        self.range_at = np.searchsorted(label, np.arange(len(least) + 1)).astype(np.int64)
        self.least, self.most = first[label, bin_], last[label, bin_]
        self.bin = bin_.astype(np.int64)

    cdef int load(self, const SegmentScores* scores, double scale) except -1 nogil:
        """Set the scores of a sequence whose ends are known; the arrays must remain valid."""
        cdef Py_ssize_t l, j, k, K = self.n_labels, at, L = scores.L, KP = scores.KP
        cdef const double* theta = scores.theta
        cdef const double* edge = scores.edge
        cdef double highest
        self.theta, self.L, self.KP, self.edge = theta, L, KP, edge
        self.duration, self.terms, self.scale, self.shift = scores.duration, scores.terms, scale, 0
        self.bound, self.splits = scores.bound, scores.split != NULL
        self.grow(<void**> &self.total, (L + 1) * K, sizeof(double))
        self.grow(<void**> &self.step, K * K, sizeof(double))
        self.grow(<void**> &self.stay, K, sizeof(double))
        self.grow(<void**> &self.single, K, sizeof(unsigned char))
        for k in range(K):
            for j in range(K):
                self.step[k * K + j] = -INFINITY if j == k else (
                    scale * edge[j * KP + k] if edge != NULL else 0)
            if self.splits:
                self.step[k * K + k] = scale * scores.split[k]
            self.stay[k] = scale * edge[k * KP + k] if edge != NULL else 0
            self.single[k] = self.stay[k] == -INFINITY
            if self.single[k]:
                self.stay[k] = 0
            self.total[k * (L + 1)] = 0
        for l in range(L):
            highest = -INFINITY
            for k in range(K):
                highest = max(highest, theta[l * KP + k])
            highest = highest if highest > -INFINITY else 0
            self.shift += scale * highest
            for k in range(K):
                at = k * (L + 1) + l
                self.total[at + 1] = self.total[at] + self.stay[k]
                if not self.is_forbidden(l, k):
                    self.total[at + 1] += scale * (theta[l * KP + k] - highest)
            poll_signals(5.0 * K)
        return 0
