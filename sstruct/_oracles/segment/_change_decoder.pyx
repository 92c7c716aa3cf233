# Design:
# (a) Optimal partitioning: the best score of the nodes before node t is the maximum over the start s of
#     the last segment of best[s] + score of the segment + score of the change before t.
# (b) Pruning as in PELT (Killick, Fearnhead, Eckley, 2012). Costs satisfy cost(s, t) + cost(t, u) <=
#     cost(s, u), since each is the minimum of a sum over nodes. If best[s] - cost(s, t) <= best[t], the
#     start t is then at least as good as s for every later end u. Segments from t are only allowed from
#     u = t + least on, so s is kept until then.
# (c) This remains exact with the loss of the change before u. It depends on the start of the segment: -1 if
#     the segment starts before the window of a true change that contains u, else 1. Since s < t, the loss
#     from s is at most that from t.
# (d) Scores of durations may have any sign. They are equal from some duration on, so s and t have the
#     same one for ends that are farther from t. So s is kept until then, too.
# (e) If there is one change in each of some intervals, and no other one, starts in the interval before that
#     of the end are compared, without pruning: a start that is better may not be allowed.
# (f) Pruning requires nonnegative weights and a nonnegative loss weight. Otherwise, all starts are
#     compared, O(L^2).
"""The best change points of signals for given weights of costs."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.segment._segment_costs cimport segment_cost

import numpy as np

# Entry of `last` for a start that is kept for all ends.
cdef int64_t NO_END = np.iinfo(np.int64).max


cdef class ChangeDecoder(Storage):
    """Decoder of signals, one at a time; each thread requires its own decoder."""

    cdef int prepare(self, const ChangeScores* scores) except -1 nogil:
        """Allocate memory for a signal, and list the costs with a weight."""
        cdef Py_ssize_t c, f, F = scores.sums.n_features, L = scores.L
        self.grow(<void**> &self.cost, scores.n_costs * F, sizeof(WeightedCost))
        self.grow(<void**> &self.best, L + 1, sizeof(double))
        self.grow(<void**> &self.before, L + 1, sizeof(int32_t))
        self.grow(<void**> &self.start, L + 1, sizeof(int32_t))
        self.grow(<void**> &self.last, L + 1, sizeof(int64_t))
        self.grow(<void**> &self.score, L + 1, sizeof(double))
        self.n_costs = 0
        for c in range(scores.n_costs):
            for f in range(F):
                if scores.weight[c * F + f] != 0:
                    self.cost[self.n_costs].kind, self.cost[self.n_costs].feature = scores.kind[c], f
                    self.cost[self.n_costs].weight = scores.weight[c * F + f]
                    self.n_costs += 1
        return 0

    cdef double decode(
            self, const ChangeScores* scores, int32_t* begins, double* work) except? -1 nogil:
        """Write 1 for each node before which there is a change, else 0; return the score.

        Returns -inf if the limits on durations, or the intervals, allow no segmentation; then nothing is
        written. `work` is increased by about the number of costs computed.
        """
        cdef Py_ssize_t L = scores.L, t, k, c, n = 0, kept
        cdef int64_t s
        cdef double score, value, change, highest
        cdef int32_t best
        cdef bint prunes = scores.loss_weight >= 0 and scores.interval == NULL
        cdef int32_t number = 0, own
        cdef Py_ssize_t n_durations = scores.n_durations
        cdef int64_t delay = max(scores.least, <int64_t> n_durations)
        self.prepare(scores)
        for c in range(self.n_costs):
            prunes = prunes and self.cost[c].weight > 0
        self.best[0], self.before[0] = 0, -1
        for t in range(1, L + 1):
            s = t - scores.least
            if s >= 0 and self.best[s] > -INFINITY:
                self.start[n] = <int32_t> s
                self.last[s] = NO_END
                n += 1
            if scores.interval != NULL:
                number = scores.n_intervals + 1 if t == L else scores.interval[t]
                if number == 0:
                    self.best[t], self.before[t] = -INFINITY, -1
                    continue
            highest, best, kept = -INFINITY, -1, 0
            for k in range(n):
                s = self.start[k]
                if self.last[s] < t or t - s > scores.most:
                    continue
                if scores.interval != NULL:
                    own = scores.interval[s] if s > 0 else 0
                    if own < number - 1:
                        continue
                    if own > number - 1:
                        self.start[kept] = <int32_t> s
                        kept += 1
                        continue
                score = self.best[s]
                for c in range(self.n_costs):
                    score -= self.cost[c].weight * segment_cost(
                        &scores.sums, self.cost[c].kind, self.cost[c].feature, s, t)
                self.start[kept], self.score[kept] = <int32_t> s, score
                kept += 1
                value = score
                if n_durations > 0:
                    value += scores.duration[min(t - s, <int64_t> n_durations) - 1]
                if t < L:
                    change = -scores.penalty
                    if scores.window != NULL:
                        change += scores.loss_weight * (-1 if s < scores.window[t] else 1)
                    value += change
                if value > highest:
                    highest, best = value, <int32_t> s
            n = kept
            self.best[t], self.before[t] = highest, best
            if prunes:
                for k in range(n):
                    s = self.start[k]
                    if self.score[k] <= highest and self.last[s] == NO_END:
                        self.last[s] = t + delay - 1
            work[0] += n * self.n_costs + 1
            poll_signals(5 * n * (self.n_costs + 1))
        if self.best[L] == -INFINITY:
            return -INFINITY
        for t in range(L):
            begins[t] = 0
        t = self.before[L]
        while t > 0:
            begins[t] = 1
            t = self.before[t]
        return self.best[L]
