# Design:
# (a) A semi-Markov decoder. With S[e] the sum of the scores of a label's nodes before node e, the best
#     score of a label's segment that ends before node e is
#         S[e] + max over starts s of gain[s] + duration score of e - s,
#     where gain[s] is the best score of everything before s, and of the transition, minus S[s].
# (b) Durations of a bin have the same score. A bin of one duration has one candidate. The candidates of
#     a wider bin are in a window of starts that moves by one with e. Its maximum is first in a queue of
#     decreasing gains (Lemire 2006), in constant time per node, however wide the bin is.
# (c) Scores of -inf, of a node with a label or of a step between two nodes with it, are not added to S,
#     which stays finite. Instead, they limit the starts.
# (d) The score of an edge between two nodes of a segment is edge[k, k], as in a chain, so that without
#     durations this is the decoder of chains. Two segments with the same label may only be neighbors if
#     `split` has the score of the boundary. A code has the label of each node, plus K where a segment
#     starts after one with the same label, so each segmentation has one code.
# (e) If a segment may continue outside of the chain, its duration is unknown: it has no duration score
#     and no minimum duration; the maximum duration applies to its nodes in the chain.
# (f) Whole segments may have scores, which depend on both ends (`_segment_terms.pxd`). Then all starts in
#     reach are compared, in time proportional to the largest duration.
# (g) The score of the result is added up along the result, not taken from the recursion, so that
#     differences of S leave no rounding errors in it.
"""The best segmentations of chains of given scores."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.chain._chain_terms cimport ChainTerms, ScoreRows, rows_of
from sstruct._oracles.segment._segment_terms cimport FORBIDDEN, REQUIRED, segment_term

import numpy as np

from sstruct._checks.arrays import LARGEST
from sstruct._oracles.segment.duration_ranges import duration_ranges

LONGEST = np.iinfo(np.int32).max    # starts are stored as int32

# Larger scores than this might have sums that are not finite.
cdef double LARGEST_SCORE = LARGEST


cdef class SegmentDecoder(Storage):
    """Decoder of chains of segments, one at a time; each thread requires its own decoder.

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
        self.bins, self.least, self.most = bins, least, most
        tables = []
        for chosen in (first == last, first < last):
            label, bin_ = np.nonzero(chosen)
            at = np.searchsorted(label, np.arange(len(least) + 1))
            tables += [at, first[chosen], last[chosen], bin_]
        # One additional entry, so that views are never empty.
        tables = [np.append(table, 0).astype(np.int64) for table in tables]
        self.single_at, self.single, _, self.single_bin = tables[:4]
        self.window_at, self.window_least, self.window_most, self.window_bin = tables[4:]

    def segments(self, scores, ChainTerms terms not None, duration, split, str name):
        """Find the best segmentation of one chain.

        Parameters
        ----------
        scores : ndarray of float32 or float64 of shape (L, K)
        terms : ChainTerms
            Scores of both ends, and one table of edges.
        duration : float64 ndarray of shape (K, n_bins), or None
        split : float64 ndarray of shape (K,), or None
        name : str
            Name of the scores in errors.

        Returns
        -------
        segments : ndarray of intp of shape (n_segments, 3)
            Start, stop and label.
        value : float
            The score; -inf if there is no segmentation.
        """
        cdef ScoreRows rows
        cdef SegmentScores given
        cdef Py_ssize_t K = self.n_labels, L = scores.shape[0]
        cdef const double[:, ::1] durations
        cdef const double[::1] splits
        terms.check(scores, name)
        if terms.n_labels != K or terms.edge == NULL or terms.n_tables > 1:
            raise ValueError(
                f"segments require one table of edges of {K} labels, found {terms.n_tables} tables of "
                f"{terms.n_labels} labels")
        if L >= LONGEST:
            raise ValueError(f"{name} has {L} positions, expected fewer than {LONGEST}")
        given.L, given.KP, given.edge = L, terms.KP, terms.edge
        given.split, given.duration, given.open_start, given.open_end = NULL, NULL, False, False
        given.terms, given.bound = NULL, NULL
        if duration is not None:
            durations = np.ascontiguousarray(duration, dtype=np.float64)
            if durations.shape[0] != K or durations.shape[1] != self.n_bins:
                raise ValueError(
                    f"duration must have shape {(K, self.n_bins)}, found "
                    f"{(durations.shape[0], durations.shape[1])}")
            given.duration = &durations[0, 0]
        if split is not None:
            splits = np.ascontiguousarray(split, dtype=np.float64)
            if splits.shape[0] != K:
                raise ValueError(f"split must have shape {(K,)}, found {(splits.shape[0],)}")
            given.split = &splits[0]
        rows = rows_of(scores)
        cdef double[:, ::1] theta = np.empty((L, terms.KP))
        given.theta = &theta[0, 0]
        labels, begins = np.empty(L, dtype=np.int32), np.empty(L, dtype=np.uint8)
        cdef int32_t[::1] label = labels
        cdef unsigned char[::1] begin = begins
        cdef double value
        with nogil:
            terms.load(&rows, 0, L, &theta[0, 0], name)
            check_magnitudes(&given, K)
            value = self.decode(&given, &label[0], &begin[0])
        if value == -INFINITY:
            return np.empty((0, 3), dtype=np.intp), value
        starts = np.flatnonzero(begins)
        return np.column_stack([starts, np.append(starts[1:], L), labels[starts] % K]), value

    cdef int prepare(self, Py_ssize_t L) except -1 nogil:
        """Allocate memory for a chain of L nodes, and empty all windows."""
        cdef Py_ssize_t K = self.n_labels, n_windows = self.window_at[K], p
        cdef int64_t room = 0
        cdef Window* window
        self.grow(<void**> &self.gain, (L + 1) * K, sizeof(double))
        self.grow(<void**> &self.start, (L + 1) * K, sizeof(int32_t))
        self.grow(<void**> &self.before, (L + 1) * K, sizeof(int32_t))
        self.grow(<void**> &self.total, K, sizeof(double))
        self.grow(<void**> &self.best, K, sizeof(double))
        self.grow(<void**> &self.limit, K, sizeof(int64_t))
        self.grow(<void**> &self.windows, n_windows, sizeof(Window))
        for p in range(n_windows):
            window = &self.windows[p]
            window.least, window.most = self.window_least[p], self.window_most[p]
            window.bin, window.head, window.count = self.window_bin[p], 0, 0
            # All starts in reach, and the next one before the first one leaves.
            window.size = min(window.most - window.least + 1, <int64_t> L) + 1
            room += window.size
        self.grow(<void**> &self.rings, room, sizeof(int32_t))
        room = 0
        for p in range(n_windows):
            self.windows[p].start = self.rings + room
            room += self.windows[p].size
        memset(self.total, 0, K * sizeof(double))
        memset(self.limit, 0, K * sizeof(int64_t))
        return 0

    cdef void begin(self, const SegmentScores* scores, Py_ssize_t l) noexcept nogil:
        """Compute the gains of segments that start at node l."""
        cdef Py_ssize_t j, k, K = self.n_labels
        cdef double score, highest
        cdef int32_t before
        for k in range(K):
            highest, before = 0 if l == 0 else -INFINITY, -1
            for j in range(K if l > 0 else 0):
                if j != k:
                    score = self.best[j] + (
                        scores.edge[j * scores.KP + k] if scores.edge != NULL else 0)
                elif scores.split != NULL and (
                        scores.bound == NULL or scores.bound[l] != FORBIDDEN):
                    score = self.best[k] + scores.split[k]
                else:
                    continue
                if score > highest:
                    highest, before = score, <int32_t> j
            self.before[l * K + k] = before
            self.gain[k * (scores.L + 1) + l] = highest - self.total[k]

    cdef double extend(
            self, const SegmentScores* scores, Py_ssize_t end, Py_ssize_t k) noexcept nogil:
        """Find the best segment of label k that ends before node `end`; return its score."""
        cdef const double* gain = self.gain + k * (scores.L + 1)
        cdef const double* duration = (
            scores.duration + k * self.n_bins if scores.duration != NULL else NULL)
        cdef int64_t first = max(self.limit[k], end - self.most[k]), s, p
        cdef int64_t lowest = max(first, <int64_t> scores.open_start)   # start of a known duration
        cdef double score, highest = -INFINITY
        cdef int32_t start = -1
        cdef bint unknown = scores.open_end and end == scores.L
        cdef Window* window
        # A candidate must be better, so that ties are resolved by the shortest duration of a bin.
        for p in range(self.single_at[k], self.single_at[k + 1]):
            s = end - self.single[p]
            if s < lowest:
                break
            score = gain[s] + (duration[self.single_bin[p]] if duration != NULL else 0)
            if score > highest:
                highest, start = score, <int32_t> s
        for p in range(self.window_at[k], self.window_at[k + 1]):
            window = &self.windows[p]
            s = end - window.least
            if s < lowest:
                break
            while window.count > 0 and gain[last_start(window)] <= gain[s]:
                window.count -= 1
            window.count += 1
            window.start[(window.head + window.count - 1) % window.size] = <int32_t> s
            while window.start[window.head] < max(lowest, end - window.most):
                window.head = (window.head + 1) % window.size
                window.count -= 1
            score = gain[window.start[window.head]] + (
                duration[window.bin] if duration != NULL else 0)
            if score > highest:
                highest, start = score, window.start[window.head]
        if unknown:
            highest, start = -INFINITY, -1
        if scores.open_start and first == 0 and gain[0] > highest:
            highest, start = gain[0], 0
        for s in range(lowest if unknown else end, end):
            if gain[s] > highest:
                highest, start = gain[s], <int32_t> s
        self.start[end * self.n_labels + k] = start
        return highest

    cdef double extend_all(
            self, const SegmentScores* scores, Py_ssize_t end, Py_ssize_t k) noexcept nogil:
        """As `extend`, with the scores of whole segments."""
        cdef const double* gain = self.gain + k * (scores.L + 1)
        cdef const double* duration = (
            scores.duration + k * self.n_bins if scores.duration != NULL else NULL)
        cdef int64_t first = max(self.limit[k], end - self.most[k]), s, p
        cdef int64_t lowest = max(first, <int64_t> scores.open_start)   # start of a known duration
        cdef double score, added, highest = -INFINITY
        cdef int32_t start = -1
        cdef bint unknown = scores.open_end and end == scores.L
        for p in range(self.single_at[k], self.single_at[k + 1]):
            s = end - self.single[p]
            if unknown or s < lowest:
                break
            score = gain[s] + segment_term(scores.terms, s, end, k) + (
                duration[self.single_bin[p]] if duration != NULL else 0)
            if score > highest:
                highest, start = score, <int32_t> s
        for p in range(self.window_at[k], self.window_at[k + 1]):
            s = end - self.window_least[p]
            if unknown or s < lowest:
                break
            added = duration[self.window_bin[p]] if duration != NULL else 0
            for s in range(s, max(lowest, end - self.window_most[p]) - 1, -1):
                score = gain[s] + segment_term(scores.terms, s, end, k) + added
                if score > highest:
                    highest, start = score, <int32_t> s
        if scores.open_start and first == 0:
            score = gain[0] + segment_term(scores.terms, 0, end, k)
            if score > highest:
                highest, start = score, 0
        for s in range(lowest if unknown else end, end):
            score = gain[s] + segment_term(scores.terms, s, end, k)
            if score > highest:
                highest, start = score, <int32_t> s
        self.start[end * self.n_labels + k] = start
        return highest

    cdef double decode(
            self, const SegmentScores* scores, int32_t* code,
            unsigned char* begins) except? -1 nogil:
        """Write the code of the best segmentation, and at which nodes segments begin; return its score.

        If no segmentation is allowed, return -inf and write nothing. `begins` may be NULL.
        """
        cdef Py_ssize_t l, k, K = self.n_labels, best = 0
        cdef double score, stay, highest
        cdef bint required
        self.prepare(scores.L)
        for l in range(scores.L):
            self.begin(scores, l)
            required = scores.bound != NULL and scores.bound[l] == REQUIRED
            for k in range(K):
                score = scores.theta[l * scores.KP + k]
                stay = scores.edge[k * scores.KP + k] if scores.edge != NULL else 0
                # gain[l] belongs to segments from l on, with no step to node l.
                if stay == -INFINITY or required:
                    self.limit[k] = l
                elif l > 0:
                    self.total[k] += stay
                    self.gain[k * (scores.L + 1) + l] -= stay
                if score == -INFINITY:
                    self.limit[k] = l + 1
                else:
                    self.total[k] += score
                if scores.terms == NULL:
                    highest = self.extend(scores, l + 1, k)
                else:
                    highest = self.extend_all(scores, l + 1, k)
                    poll_signals(5.0 * min(<int64_t> l + 1, self.most[k]))
                self.best[k] = highest + self.total[k] if highest > -INFINITY else -INFINITY
            poll_signals(5.0 * K * (K + 5) + 2.0 * self.single_at[K] + 5.0 * self.window_at[K])
        for k in range(1, K):
            if self.best[k] > self.best[best]:
                best = k
        if self.best[best] == -INFINITY:
            return -INFINITY
        return self.trace(scores, <int32_t> best, code, begins)

    cdef double trace(
            self, const SegmentScores* scores, int32_t k, int32_t* code,
            unsigned char* begins) noexcept nogil:
        """Write the best segmentation that ends with label k; return its score."""
        cdef Py_ssize_t l, start, end = scores.L, K = self.n_labels
        cdef double value = 0
        cdef int32_t before
        cdef bint known
        while end > 0:
            start = self.start[end * K + k]
            for l in range(start, end):
                code[l] = k
                value += scores.theta[l * scores.KP + k]
                if l > start and scores.edge != NULL:
                    value += scores.edge[k * scores.KP + k]
                if begins != NULL:
                    begins[l] = l == start
            known = not (scores.open_start and start == 0 or scores.open_end and end == scores.L)
            if known and scores.duration != NULL:
                value += scores.duration[k * self.n_bins + self.bin_of(end - start)]
            if scores.terms != NULL:
                value += segment_term(scores.terms, start, end, k)
            before = self.before[start * K + k]
            if before == k:
                value += scores.split[k]
                code[start] += <int32_t> K
            elif before >= 0 and scores.edge != NULL:
                value += scores.edge[before * scores.KP + k]
            k, end = before, start
        return value

    cdef Py_ssize_t bin_of(self, int64_t duration) noexcept nogil:
        """Return the bin of a duration."""
        cdef Py_ssize_t low = 0, high = self.n_bins, middle
        while high - low > 1:
            middle = (low + high) // 2
            if self.bins[middle] <= duration:
                low = middle
            else:
                high = middle
        return low


cdef inline int32_t last_start(const Window* window) noexcept nogil:
    """Return the last start in the queue of a window."""
    return window.start[(window.head + window.count - 1) % window.size]


cdef int check_magnitudes(const SegmentScores* scores, Py_ssize_t K) except -1 nogil:
    """Raise ValueError if a score of a node is so large that sums may not be finite."""
    cdef Py_ssize_t l, k
    cdef double score
    for l in range(scores.L):
        for k in range(K):
            score = scores.theta[l * scores.KP + k]
            if not -LARGEST_SCORE <= score <= LARGEST_SCORE and score != -INFINITY:
                with gil:
                    raise ValueError(
                        f"node_scores, with start and end, contain {score:g} at position {l}, "
                        f"expected magnitudes of at most {LARGEST_SCORE:g} so that sums are finite; use "
                        "-inf to forbid a label")
        poll_signals(2.0 * K)
    return 0
