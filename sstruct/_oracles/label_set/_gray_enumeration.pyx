# Design:
# (a) The labels are divided into L low and K - L high labels. The states of the high labels are visited
#     in Gray code, which changes one label per step. For each of them, a table of the scores of all 2^L
#     states of the low labels is filled by doubling: the entries of the sets of labels 0 ... k - 1, plus
#     the gain of label k, are the entries of these sets with label k. The scores of pairs of low labels
#     are computed once per call.
# (b) The gains and scores of a state of the high labels form a stack with one level per high label, of
#     which the lowest label has the last. A step recomputes the levels of the changed label and of
#     lower ones, two on average. Nothing is subtracted, so errors do not accumulate, and the score of
#     a set does not depend on the order of steps.
# (c) The loss of a set is the sum of the losses of its low and high labels, each a sum of nonnegative
#     costs. It is exactly 0 for the truth.
# (d) Maxima are computed in eight lanes, which compilers vectorize; the argmax is searched only if a
#     table of 2^L sets improves on the best value so far.
# (e) Ties: the first set in the order of the enumeration.
# (f) Sets that violate constraints, listed once for each model, have the value -inf.
"""Decoder of label sets of few labels, by enumeration in Gray code."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcpy

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.core._interval cimport Interval
from sstruct._kernels._random cimport Random
from sstruct._oracles.label_set._set_constraints cimport SetConstraints
from sstruct._oracles.label_set._set_decoder cimport LabelAnswer, LabelDecoder, LabelLoss
from sstruct._oracles.label_set._set_sums cimport SetSums

import numpy as np

# Number of low labels: a table of 256 doubles stays in the L1 cache.
cdef Py_ssize_t LOW = 8
# Work of a label set, in scalar multiply-adds.
cdef double SET_WORK = 0.5
# Limit on the number of labels; a call scores 2^20 sets of 20 labels.
MAX_LABELS = 20


cdef double greatest(const double* values, Py_ssize_t count) noexcept nogil:
    """values.max()"""
    cdef double[8] lane
    cdef double best
    cdef Py_ssize_t a, q
    if count < 8:
        best = values[0]
        for a in range(1, count):
            best = values[a] if values[a] > best else best
        return best
    for q in range(8):
        lane[q] = values[q]
    for a in range(8, count, 8):    # count is a power of two
        for q in range(8):
            lane[q] = values[a + q] if values[a + q] > lane[q] else lane[q]
    best = lane[0]
    for q in range(1, 8):
        best = lane[q] if lane[q] > best else best
    return best


cdef class GrayEnumeration(LabelDecoder):
    """Decodes by enumeration of all label sets; exact, O(2^K).

    Parameters
    ----------
    n_labels : int
        K, at most 20.
    edges : array-like of int of shape (E, 2)
    constraints : SetConstraints or None

    Raises
    ------
    ValueError
        If there are too many labels, or no set satisfies the constraints.
    """

    cdef Py_ssize_t n_low, n_high, n_sets    # n_sets: of the low labels
    cdef double[:, ::1] between              # (K, K) edge scores, symmetric
    cdef double[:, ::1] gain                 # (n_high + 1, K) of the labels below a level
    cdef double[::1] high_score, high_loss   # (n_high + 1,)
    # For each set of low labels: score, score of its pairs, loss, and the values to maximize.
    cdef double[::1] low_score, low_pairs, low_loss, value, most
    cdef double[:, ::1] high_most            # (2, n_high)
    cdef SetSums sums
    cdef const unsigned char[::1] allowed    # (2^K,) whether a set satisfies the constraints, or empty

    def __init__(self, n_labels, edges=None, SetConstraints constraints=None):
        if n_labels > MAX_LABELS:
            raise ValueError(f"cannot enumerate {n_labels} labels, expected at most {MAX_LABELS}")
        self._set_model(n_labels, edges)
        self._set_constraints(constraints)
        self.allowed = np.empty(0, dtype=np.uint8)
        if constraints is not None:
            self.allowed = constraints.allowed_sets()
            if not np.any(self.allowed):
                raise ValueError("no set of labels satisfies the constraints")
        self.work = SET_WORK * (1 << self.n_labels)
        self.product_work = 2 * self.work
        self.has_product = self.has_between = True

    def _set_scratch(self):
        LabelDecoder._set_scratch(self)
        cdef Py_ssize_t K = self.n_labels
        self.n_low = min(K, LOW)
        self.n_high, self.n_sets = K - self.n_low, 1 << self.n_low
        self.between = np.zeros((K, K))
        self.gain = np.zeros((self.n_high + 1, K))
        self.high_score, self.high_loss = np.zeros((2, self.n_high + 1))
        self.low_score, self.low_pairs, self.low_loss, self.value, self.most = np.zeros(
            (5, self.n_sets))
        self.high_most = np.zeros((2, max(self.n_high, 1)))
        self.sums = SetSums()

    cpdef LabelDecoder fork(self):
        cdef GrayEnumeration other = GrayEnumeration.__new__(GrayEnumeration)
        self._share(other)
        other.allowed = self.allowed
        return other

    cdef inline void forbid(self, uint32_t high) noexcept nogil:
        """Set the value of sets that violate constraints to -inf."""
        cdef Py_ssize_t a, first = <Py_ssize_t> high << self.n_low
        if self.constraints is None:
            return
        for a in range(self.n_sets):
            if not self.allowed[first + a]:
                self.value[a] = -INFINITY

    cdef void begin(
            self, const double* theta, const double* pair, const LabelLoss* loss) noexcept nogil:
        """Set the tables of a call and the first level of the stack."""
        cdef Py_ssize_t e, k, a, size, K = self.n_labels
        cdef int32_t u, v
        cdef double* pairs = &self.low_pairs[0]
        cdef double* losses = &self.low_loss[0]
        cdef double total
        for e in range(self.n_edges):
            u, v = self.edges[e, 0], self.edges[e, 1]
            self.between[u, v] = self.between[v, u] = pair[e]
        memcpy(&self.gain[self.n_high, 0], theta, K * sizeof(double))
        self.high_score[self.n_high] = self.high_loss[self.n_high] = 0
        pairs[0] = losses[0] = 0
        for k in range(self.n_low):
            size = 1 << k
            for a in range(size):
                total = 0
                for u in range(<int32_t> k):
                    if (a >> u) & 1:
                        total += self.between[k, u]
                pairs[size + a] = pairs[a] + total
            if loss != NULL:
                for a in range(size):
                    losses[size + a] = losses[a] + loss.on[k]
                    losses[a] += loss.off[k]

    cdef void climb(self, uint32_t high, Py_ssize_t top, const LabelLoss* loss) noexcept nogil:
        """Recompute the levels `top` ... 0 of the stack for a state of the high labels."""
        cdef Py_ssize_t level, j, k
        cdef const double* above
        cdef const double* row
        cdef double* gain
        for level in range(top, -1, -1):
            j = self.n_low + level
            above, gain, row = &self.gain[level + 1, 0], &self.gain[level, 0], &self.between[j, 0]
            self.high_score[level] = self.high_score[level + 1]
            self.high_loss[level] = self.high_loss[level + 1]
            if (high >> level) & 1:
                self.high_score[level] += above[j]
                for k in range(j):
                    gain[k] = above[k] + row[k]
                if loss != NULL:
                    self.high_loss[level] += loss.on[j]
            else:
                memcpy(gain, above, j * sizeof(double))
                if loss != NULL:
                    self.high_loss[level] += loss.off[j]

    cdef bint step(self, uint32_t count, uint32_t* high, const LabelLoss* loss) noexcept nogil:
        """Move to state number `count` of the high labels and score it with all sets of low labels;
        return False after the last.
        """
        cdef Py_ssize_t k, a, size, changed = 0
        cdef double* score = &self.low_score[0]
        cdef const double* gain
        if count >> self.n_high:
            return False
        high[0] = count ^ (count >> 1)
        if count == 0:
            if self.n_high > 0:
                self.climb(high[0], self.n_high - 1, loss)
        else:
            while not (count >> changed) & 1:
                changed += 1
            self.climb(high[0], changed, loss)
        gain = &self.gain[0, 0]
        score[0] = self.high_score[0]
        for k in range(self.n_low):
            size = 1 << k
            for a in range(size):
                score[size + a] = score[a] + gain[k]
        return True

    cdef void improve(
            self, uint32_t high, double* best, int32_t* code, bint* found) noexcept nogil:
        """Use the maximum of `value` if it is above the best so far."""
        cdef Py_ssize_t k, a = 0
        cdef double top = greatest(&self.value[0], self.n_sets)
        if not top > best[0]:
            return
        best[0], found[0] = top, True
        while self.value[a] != top:
            a += 1
        for k in range(self.n_low):
            code[k] = 2 * ((a >> k) & 1)
        for k in range(self.n_high):
            code[self.n_low + k] = 2 * ((high >> k) & 1)

    cdef int maximize(
            self, const double* theta, const double* pair, int32_t* code,
            LabelAnswer* answer) except -1 nogil:
        cdef uint32_t count = 0, high = 0
        cdef Py_ssize_t a
        cdef double best = -INFINITY
        cdef bint found = False
        cdef double* value = &self.value[0]
        cdef const double* score = &self.low_score[0]
        cdef const double* pairs = &self.low_pairs[0]
        self.begin(theta, pair, NULL)
        while self.step(count, &high, NULL):
            for a in range(self.n_sets):
                value[a] = score[a] + pairs[a]
            self.forbid(high)
            self.improve(high, &best, code, &found)
            count += 1
        answer.work, answer.exact = self.work, True
        return poll_signals(self.work)

    cdef int maximize_product(
            self, const double* theta, const double* pair, const LabelLoss* loss, double offset,
            int32_t* code, LabelAnswer* answer) except -1 nogil:
        cdef uint32_t count = 0, high = 0
        cdef Py_ssize_t a
        cdef double best = 0, above
        cdef bint found = False
        cdef double* value = &self.value[0]
        cdef const double* score = &self.low_score[0]
        cdef const double* pairs = &self.low_pairs[0]
        cdef const double* losses = &self.low_loss[0]
        memcpy(code, loss.truth, self.n_labels * sizeof(int32_t))      # value 0
        self.begin(theta, pair, loss)
        while self.step(count, &high, loss):
            above = self.high_loss[0]
            for a in range(self.n_sets):
                value[a] = (losses[a] + above) * (offset + (score[a] + pairs[a]))
            self.forbid(high)
            self.improve(high, &best, code, &found)
            count += 1
        answer.work, answer.exact = self.product_work, True
        return poll_signals(self.product_work)

    cdef int maximize_between(
            self, const double* theta, const double* pair, const LabelLoss* loss, double offset,
            double loss_weight, const Interval* interval, int32_t* code,
            LabelAnswer* answer) except -1 nogil:
        cdef uint32_t count = 0, high = 0
        cdef Py_ssize_t a
        cdef double best = -INFINITY, of_loss, margin, least, most
        cdef double lower = interval.lower, upper = interval.upper
        cdef bint above = interval.above, below = interval.below, inside
        cdef double* value = &self.value[0]
        self.begin(theta, pair, loss)
        answer.found = False
        while self.step(count, &high, loss):
            for a in range(self.n_sets):
                of_loss = self.low_loss[a] + self.high_loss[0]
                margin = offset + (self.low_score[a] + self.low_pairs[a])
                least, most = lower * margin, upper * margin
                inside = margin > 0
                inside &= of_loss > least if above else of_loss >= least
                inside &= of_loss < most if below else of_loss <= most
                value[a] = margin + loss_weight * of_loss if inside else -INFINITY
            self.forbid(high)
            self.improve(high, &best, code, &answer.found)
            count += 1
        answer.work, answer.exact = 4 * self.work, True
        return poll_signals(answer.work)

    cdef int marginals(
            self, const double* theta, const double* pair, double* out) except -1 nogil:
        """Write, for each label, the best score of sets with the label minus that of sets without it.

        One enumeration collects the best score of each set of low labels and, for each high label,
        the best scores with and without it.
        """
        cdef uint32_t count = 0, high = 0
        cdef Py_ssize_t a, k
        cdef double top
        cdef double* value = &self.value[0]
        cdef double* most = &self.most[0]
        cdef double[2] best
        for a in range(self.n_sets):
            most[a] = -INFINITY
        for k in range(self.n_high):
            self.high_most[0, k] = self.high_most[1, k] = -INFINITY
        self.begin(theta, pair, NULL)
        while self.step(count, &high, NULL):
            for a in range(self.n_sets):
                value[a] = self.low_score[a] + self.low_pairs[a]
            self.forbid(high)
            for a in range(self.n_sets):
                most[a] = value[a] if value[a] > most[a] else most[a]
            top = greatest(value, self.n_sets)
            for k in range(self.n_high):
                if top > self.high_most[(high >> k) & 1, k]:
                    self.high_most[(high >> k) & 1, k] = top
            count += 1
        for k in range(self.n_low):
            best[0] = best[1] = -INFINITY
            for a in range(self.n_sets):
                if most[a] > best[(a >> k) & 1]:
                    best[(a >> k) & 1] = most[a]
            out[k] = best[1] - best[0]
        for k in range(self.n_high):
            out[self.n_low + k] = self.high_most[1, k] - self.high_most[0, k]
        return 0

    cdef double log_partition(
            self, const double* theta, const double* pair, const int32_t* known,
            double scale) except? -1 nogil:
        cdef const unsigned char* allowed = NULL
        if self.constraints is not None:
            allowed = &self.allowed[0]
        return self.sums.log_partition(
            self.n_labels, self.n_edges, &self.edges[0, 0], theta, pair, known, scale, allowed)

    cdef int probabilities(self, double* out) except -1 nogil:
        return self.sums.marginals(out)

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        return self.sums.sample(random, labels)
