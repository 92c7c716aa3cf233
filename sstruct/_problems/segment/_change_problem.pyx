# Design:
# (a) A block is a signal of L nodes. A code has L entries: 1 at nodes before which there is a change, else
#     0; the first one is 0. phi(x, y) has, for each cost and feature, minus the sum of the costs of all
#     segments, the number of segments in each bin of durations, and minus the number of changes.
# (b) Each true change has a window of nodes. L(y) is the number of windows without a change plus the number
#     of changes that are outside of windows, or not the first one in their window. This is a sum over
#     segments: n_true, and for each change -1 if it is the first one in its window, else 1.
# (c) There are few weights, so fits wrap this problem in an ExplicitProblem, and scores of codes are not
#     optimized.
"""Joint feature map, loss and max-oracle of ChangePointSSVM."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sstruct._oracles.segment._change_decoder cimport ChangeDecoder, ChangeScores
from sstruct._oracles.segment._segment_costs cimport SegmentSums, segment_cost
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._range cimport check_scores

import numpy as np

from sstruct._problems.chain.chain_arguments import NoLabelingError
from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.segment.change_arguments import (
    check_changes, check_intervals, check_signals)

# Work of a cost, relative to a multiply-add. A guess of the number of candidate starts of a segment.
cdef double COST_WORK = 10
cdef double CANDIDATES = 50


class NoSegmentsError(NoLabelingError):
    """A signal has no segments that its length, the limits of durations and known intervals allow."""

    def __str__(self):
        return f"block {self.block} of {self.length} nodes has no segments of allowed durations"


cdef class ChangePointProblem(BlockProblem):
    """Signals that are divided into segments.

    Parameters
    ----------
    signals : SignalSums
    model : ChangePointModel
    changes : int32 ndarray of shape (n_rows,), or None
        1 at rows before which there is a true change, else 0. With None, the problem can only decode.
    windows : int32 ndarray of shape (n_rows,), or None
        For rows in the window of a true change, the first position of the window in its block, at
        least 1; else 0. Required with `changes`.
    intervals : int32 ndarray of shape (n_rows,), or None
        For rows in an interval of its block, the number of the interval, from 1 on; else 0. All labelings
        then have one change in each interval, and no other ones. For decoding only.
    """

    cdef object arguments
    cdef readonly object signals, model
    cdef const double[:, :, ::1] sums
    cdef const double[:, ::1] floor
    cdef const int64_t[::1] start, length
    cdef const int32_t[::1] kind, changes, window, interval
    cdef bint has_intervals
    cdef const int32_t[::1] bin              # of each duration up to the smallest one of the last bin
    cdef Py_ssize_t n_costs, n_features, n_durations, duration_at
    cdef int64_t least, most
    cdef ChangeDecoder decoder
    # Scratch memory of this object.
    cdef double[::1] last_w, feature, other
    cdef double[::1] duration                # score of each duration up to the smallest one of the last bin

    def __init__(self, signals, model, changes=None, windows=None, intervals=None):
        self.arguments = dict(
            signals=signals, model=model, changes=changes, windows=windows, intervals=intervals)
        self.signals, self.model = signals, model
        check_signals(signals, model)
        self.sums, self.floor = signals.sums, signals.floor
        self.length, self.start = signals.length, np.cumsum(signals.length) - signals.length
        self.n_blocks, self.n_features = len(signals.length), signals.sums.shape[1]
        self.kind, self.n_costs = model.kinds, len(model.kinds)
        self.least, self.most = model.least, model.most
        self.has_labels = changes is not None
        if self.has_labels:
            check_changes(changes, windows, signals, model)
        self.changes = changes if self.has_labels else np.zeros(1, dtype=np.int32)
        self.window = windows if self.has_labels else np.zeros(1, dtype=np.int32)
        self.has_intervals = intervals is not None
        if self.has_intervals:
            check_intervals(intervals, signals)
        self.interval = intervals if self.has_intervals else np.zeros(1, dtype=np.int32)
        self._layout = model.layout(self.n_features)
        self.duration_at, self.n_durations = self._layout.starts["duration"], len(model.bin_of_duration)
        self.bin = np.append(model.bin_of_duration, 0).astype(np.int32)   # views are never empty
        self.duration = np.zeros(len(self.bin))
        self.n_weights, self.max_code_size = self._layout.size, int(signals.length.max())
        self.decoder = ChangeDecoder()
        self.last_w, self.feature, self.other = np.zeros((3, self.n_weights))
        self.bounded = True         # `maximize` is exact
        self.oracle_work = (
            COST_WORK * CANDIDATES * self.n_costs * self.n_features * signals.length.mean())
        self.batch_size = batch_size(self.n_blocks, self.oracle_work)

    cpdef BlockProblem fork(self):
        return ChangePointProblem(**self.arguments)

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        return self.length[i]

    def norms(self):
        """Return upper bounds of |phi|, from the largest costs and the largest numbers of segments."""
        return self.model.largest_costs(self.signals) + np.asarray(self.length) * (
            1 + (self.n_durations > 0))

    cdef SegmentSums sums_of(self, Py_ssize_t i) noexcept nogil:
        cdef SegmentSums out
        # Sums of a block have one entry more than it has nodes.
        out.sums = &self.sums[self.start[i] + i, 0, 0]
        out.n_features, out.n_sums = self.n_features, self.sums.shape[2]
        out.floor = &self.floor[i, 0]
        return out

    cdef void joint_feature(
            self, Py_ssize_t i, const int32_t* code, double* out) noexcept nogil:
        """Write phi(x_i, y)."""
        cdef SegmentSums sums = self.sums_of(i)
        cdef Py_ssize_t c, f, l, first = 0, L = self.length[i]
        memset(out, 0, self.n_weights * sizeof(double))
        for l in range(1, L + 1):
            if l < L and not code[l]:
                continue
            for c in range(self.n_costs):
                for f in range(self.n_features):
                    out[c * self.n_features + f] -= segment_cost(&sums, self.kind[c], f, first, l)
            if self.n_durations > 0:
                out[self.duration_at + self.bin[min(l - first, self.n_durations) - 1]] += 1
            if l < L:
                out[self.n_weights - 1] -= 1
            first = l

    cdef double loss_of(self, Py_ssize_t i, const int32_t* code) noexcept nogil:
        cdef const int32_t* window = &self.window[self.start[i]]
        cdef const int32_t* truth = &self.changes[self.start[i]]
        cdef Py_ssize_t l, first = 0
        cdef double total = 0
        for l in range(1, self.length[i]):
            total += truth[l]
            if code[l]:
                total += -1 if first < window[l] else 1
                first = l
        return total

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        self.need_labels()
        memcpy(code, &self.changes[self.start[i]], self.length[i] * sizeof(int32_t))
        return 0

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef ChangeScores scores
        cdef const int32_t* codes[1]
        cdef double n_costs = 0, work = 0
        cdef Py_ssize_t l
        scores.sums, scores.L = self.sums_of(i), self.length[i]
        scores.n_costs, scores.kind, scores.weight = self.n_costs, &self.kind[0], w
        scores.penalty, scores.least, scores.most = w[self.n_weights - 1], self.least, self.most
        for l in range(self.n_durations):
            self.duration[l] = w[self.duration_at + self.bin[l]]
        scores.duration, scores.n_durations = &self.duration[0], self.n_durations
        scores.window, scores.interval, scores.loss_weight = NULL, NULL, loss_weight
        if self.has_intervals:
            scores.interval, scores.n_intervals = &self.interval[self.start[i]], 0
            for l in range(self.length[i]):
                scores.n_intervals = max(scores.n_intervals, scores.interval[l])
        if loss_weight != 0:
            self.need_labels()
            scores.window = &self.window[self.start[i]]
        if self.decoder.decode(&scores, code, &n_costs) == -INFINITY:
            with gil:
                raise NoSegmentsError(i, self.length[i])
        codes[0] = code
        self.scores(i, w, loss_weight, codes, 1, &answer.value, &work)
        memcpy(&self.last_w[0], w, self.n_weights * sizeof(double))
        answer.work = work + COST_WORK * n_costs
        answer.exact, answer.bound = True, answer.value
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, j
        cdef double magnitude
        if w == NULL:
            w = &self.last_w[0]
        if loss_weight != 0:
            self.need_labels()
        for k in range(count):
            self.joint_feature(i, codes[k], &self.feature[0])
            out[k] = loss_weight * self.loss_of(i, codes[k]) if loss_weight != 0 else 0
            magnitude = 0
            for j in range(self.n_weights):
                out[k] += w[j] * self.feature[j]
                magnitude += fabs(w[j] * self.feature[j])
            check_scores(i, magnitude)
        work[0] += count * self.length[i]
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        self.need_labels()
        out[0] = self.loss_of(i, code)
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t j
        cdef double difference
        self.joint_feature(i, a, &self.feature[0])
        self.joint_feature(i, b, &self.other[0])
        out[0] = 0
        for j in range(self.n_weights):
            difference = self.feature[j] - self.other[j]
            out[0] += difference * difference
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k, j
        memset(&self.other[0], 0, self.n_weights * sizeof(double))
        for k in range(count):
            self.joint_feature(i, codes[k], &self.feature[0])
            for j in range(self.n_weights):
                self.other[j] += coefficient[k] * self.feature[j]
        # Coefficients sum to zero: add the sum, which is exact if codes are equal.
        for j in range(self.n_weights):
            out[j] += self.other[j]
        return 0

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        self.check_node_labels(i, code, 2)
        cdef Py_ssize_t l, first = 0, L = self.length[i]
        if code[0] != 0:
            raise ValueError(f"block {i}: a labeling code has a change before its first position")
        for l in range(1, L + 1):
            if l < L and not code[l]:
                continue
            if not self.least <= l - first <= self.most:
                raise ValueError(
                    f"block {i}: a labeling code has a segment of {l - first} positions from {first} on, "
                    "which the limits of durations forbid")
            first = l
        return 0
