# Design:
# (a) Sums over the segmentations of a SegmentProblem, or maxima. The class implements the methods that
#     `sum_blocks` of _problems/core calls in threads.
# (b) Blocks are whole sequences, so all durations are known.
"""Sums, max-marginals and rankings of the segmentations of all blocks."""

from libc.math cimport INFINITY, exp, fabs
from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._interruption cimport poll_signals
from sstruct._kernels._random cimport Random
from sstruct._oracles.segment._segment_ranking cimport SegmentRanking
from sstruct._oracles.segment._segment_sweeps cimport SegmentSweeps
from sstruct._oracles.segment._segment_terms cimport SegmentScores
from sstruct._problems.segment._segment_problem cimport SegmentProblem
from sstruct._problems.core._block_problem cimport BlockProblem, WrappedProblem

import numpy as np

from sstruct._oracles.core._path_ranking import ranked_arrays
from sstruct._problems.segment._segment_problem import NoSegmentationError
from sstruct._problems.segment.segment_arguments import FIRST_BIN

# Larger than the rounding errors of max-marginals relative to the best score.
cdef double NODE_ROUNDING = 1e-6


cdef class SegmentSums(WrappedProblem):
    """The segmentations of all blocks of a SegmentProblem.

    Parameters
    ----------
    problem : SegmentProblem
        For decoding whole sequences, without labels.
    maxima : bool
        Whether sums are maxima: ``log_partition`` returns the best score and ``probabilities`` writes
        max-marginals.
    """

    cdef SegmentProblem chains
    cdef SegmentSweeps sweeps

    def __init__(self, problem, maxima=False):
        super().__init__(problem)
        if not isinstance(problem, SegmentProblem):
            raise TypeError(f"expected a SegmentProblem, found {type(problem).__name__}")
        self.chains = problem
        if not (np.all(self.chains.starts_here) and np.all(self.chains.ends_here)):
            raise ValueError("sums over segmentations require whole sequences")
        if self.chains.states_per_label != 1:
            raise ValueError("sums over segmentations require one state per label")
        model = self.chains.arguments["model"]
        bins = FIRST_BIN if model.bins is None else model.bins
        self.sweeps = SegmentSweeps(bins, model.least, model.most, maxima)

    cpdef BlockProblem fork(self):
        return SegmentSums(self.problem.fork(), self.sweeps.maxima)

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        return self.chains.length[i]

    cdef Py_ssize_t n_values(self, Py_ssize_t i) noexcept nogil:
        return self.chains.length[i] * self.chains.n_labels

    cdef void track(self, const double* w) noexcept nogil:
        self.chains.track(w)

    cdef double log_partition(
            self, Py_ssize_t i, const double* w, double scale, const int32_t* known) except? -1 nogil:
        cdef SegmentScores scores
        cdef Py_ssize_t l, k, K = self.chains.n_labels, L = self.chains.length[i]
        self.chains.potentials(i, w, 0.0)
        for l in range(L if known != NULL else 0):
            for k in range(K if known[l] >= 0 else 0):
                if k != known[l] % K:
                    self.chains.theta[l * self.chains.KP + k] = -INFINITY
        if known != NULL and self.chains.splits:
            self.chains.set_bound(L, known)
        self.chains.set_scores(i, w, &scores)
        return self.sweeps.forward(&scores, scale)

    cdef int probabilities(self, double* out) except -1 nogil:
        self.sweeps.backward()
        return self.sweeps.marginals(out)

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        return self.sweeps.sample(random, labels)

    def of_segments(self, const double[::1] w, double scale, segments):
        """Return the probability of each segment; if `maxima`, the best score of segmentations with it.

        segments : ndarray of int of shape (n_segments, 4)
            Rows of block, start, stop and label, in the order of blocks.
        """
        self._check_weights(w)
        rows = np.ascontiguousarray(segments, dtype=np.int64).reshape(-1, 4)
        block, start, stop, label = rows.T
        lengths = np.asarray(self.chains.length)
        if ((block < 0) | (block >= self.n_blocks) | (np.diff(block, prepend=0) < 0)).any() or (
                (start < 0) | (stop <= start) | (stop > lengths[block])
                | (label < 0) | (label >= self.chains.n_labels)).any():
            raise ValueError("segments must be rows (block, start, stop, label) in the order of blocks")
        cdef const int64_t[:, ::1] row = rows
        out = np.empty(len(rows))
        cdef double[::1] values = out
        cdef Py_ssize_t r, i = -1
        cdef double total = -INFINITY
        self.chains.track(&w[0])
        try:
            with nogil:
                for r in range(row.shape[0]):
                    if row[r, 0] != i:
                        i = row[r, 0]
                        total = self.log_partition(i, &w[0], scale, NULL)
                        if total > -INFINITY:
                            self.sweeps.backward()
                    values[r] = -INFINITY if total == -INFINITY else self.sweeps.log_segment(
                        row[r, 1], row[r, 2], row[r, 3])
                    if not self.sweeps.maxima:
                        values[r] = exp(values[r] - total) if total > -INFINITY else 0
        finally:
            self.chains.track(NULL)
        return out

    def segments_within(self, const double[::1] w, double threshold):
        """Find all segments in segmentations with scores near the best one; requires `maxima`.

        threshold : float
            Largest difference between the best score and the best one of segmentations with the segment.

        Returns
        -------
        rows : ndarray of int64 of shape (n_segments, 4)
            Block, start, stop and label of each segment, in the order of blocks.
        """
        self._check_weights(w)
        if not self.sweeps.maxima:
            raise ValueError("segments_within requires maxima=True")
        cdef Py_ssize_t i, s, e, k, last, L, K = self.chains.n_labels, n = 0
        cdef double best, lowest, near
        cdef double[::1] nodes = np.empty(self.chains.max_code_size * K)
        found = np.empty((64, 4), dtype=np.int64)
        cdef int64_t[:, ::1] row = found
        self.chains.track(&w[0])
        try:
            with nogil:
                for i in range(self.n_blocks):
                    best, L = self.log_partition(i, &w[0], 1.0, NULL), self.chains.length[i]
                    if best == -INFINITY:
                        continue
                    self.sweeps.backward()
                    self.sweeps.marginals(&nodes[0])
                    lowest = best - threshold
                    # No segment is better than its worst node, up to rounding.
                    near = lowest - NODE_ROUNDING * max(1, fabs(best))
                    for k in range(K):
                        for s in range(L):
                            last = s + min(<int64_t> L - s, self.chains.decoder.most[k])
                            for e in range(s + 1, last + 1):
                                if nodes[(e - 1) * K + k] < near or (
                                        e > s + 1 and self.sweeps.must_start(e - 1, k)):
                                    break
                                poll_signals(10)
                                if not best - self.sweeps.log_allowed(s, e, k) <= threshold:
                                    continue
                                if n == row.shape[0]:
                                    with gil:
                                        found = np.resize(found, (2 * n, 4))
                                        row = found
                                row[n, 0], row[n, 1], row[n, 2], row[n, 3] = i, s, e, k
                                n += 1
        finally:
            self.chains.track(NULL)
        return found[:n]


def segment_top_k(SegmentSums segments not None, const double[::1] w, Py_ssize_t k):
    """Return the best segmentations of each block at w.

    Returns
    -------
    list of (codes, values), one per block
        ndarrays of shape (m, L) of int32 and (m,), best first; m is k, or the number of allowed
        segmentations if that is smaller.

    Raises
    ------
    NoSegmentationError
        If a block has no allowed segmentation.
    """
    segments._check_weights(w)
    cdef SegmentProblem chains = segments.chains
    model = chains.arguments["model"]
    bins = FIRST_BIN if model.bins is None else model.bins
    cdef SegmentRanking ranking = SegmentRanking(bins, model.least, model.most)
    cdef SegmentScores scores
    cdef Py_ssize_t i, m
    ranked = []
    chains.track(&w[0])
    try:
        for i in range(chains.n_blocks):
            with nogil:
                chains.potentials(i, &w[0], 0.0)
                chains.set_scores(i, &w[0], &scores)
                m = ranking.rank(&scores, k)
            if m == 0:
                raise NoSegmentationError(i, chains.length[i])
            ranked.append(ranked_arrays(ranking, m))
    finally:
        chains.track(NULL)
    return ranked
