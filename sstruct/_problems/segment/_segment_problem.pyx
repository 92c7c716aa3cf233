# Design:
# (a) A chain whose runs of equal labels have scores and limits of their durations: in addition to phi
#     of _chain_problem.pyx, the number of runs of each label and bin of durations. A code is that of a
#     chain, the labels of the nodes.
# (b) A run at an end of a block that is not an end of the sequence (`starts_here`, `ends_here`) may
#     continue at nodes that are not used. Its duration is unknown: it has no duration weight and no
#     minimum duration.
# (c) phi may also have features of whole segments, for each label: the mean of the rows of a run; for each
#     of its ends inside the block, the mean minus the row outside (contrast); its first and last row; and
#     given features. Runs of unknown duration have none. The weights of those that are made of rows come
#     after the weights of rows.
# (d) The loss may be a sum over segments in place of one over nodes, see SegmentLoss: the number of true
#     segments (boundaries) plus, for each segment (boundary) of the labeling, -1 if it matches a true one,
#     else 1.
# (e) The decoder gets potentials and transitions from the plain chain. Weights of durations come last,
#     as the table K x n_bins that the decoder reads.
# (f) Runs that all labelings share cancel out, and are not visited. A run is taken as shared if all
#     labelings agree at its nodes and at both neighbors.
"""Chains of segments: the joint feature map and the max-oracle of SegmentSSVM."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from sstruct._kernels._constants cimport VECTOR_WORK
from sstruct._oracles.segment._segment_decoder cimport SegmentDecoder, SegmentScores
from sstruct._oracles.segment._segment_terms cimport SegmentTerms, loss_term, segment_term
from sstruct._problems.chain._chain_problem cimport MAX_PAIRS, ChainProblem
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._rows cimport (
    potentials_of_rows, sstruct_add_row, sstruct_row_size, sstruct_row_start,
    sstruct_some_potentials)

import numpy as np

from sstruct._problems.chain.chain_arguments import NoLabelingError
from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.segment.segment_arguments import (
    FEATURE_KINDS, FIRST_BIN, check_segment_loss, check_segment_rows, number_of_bins)

# Work of the score of one segment, relative to a multiply-add.
cdef double SEGMENT_WORK = 5


class NoSegmentationError(NoLabelingError):
    """A block has no labeling that limits of durations, masks and known labels allow."""

    def __str__(self):
        return f"block {self.block} of {self.length} nodes has no allowed segmentation"


cdef class SegmentProblem(ChainProblem):
    """Chains over flat rows, with weights and limits of the durations of segments.

    Parameters
    ----------
    X, chains, labels, **options : as for ChainProblem
        Chains are not cut into windows.
    model : SegmentModel
    given : SegmentRows or None
        Features of segments, if the model has weights for them.
    segment_loss : SegmentLoss or None
        The loss; `cost` must be zero. None: it is a sum over nodes.
    """

    def __init__(self, X, chains, model, labels=None, *, given=None, segment_loss=None, **options):
        super().__init__(X, chains, model, labels, **options)
        self.arguments |= dict(given=given, segment_loss=segment_loss)
        if self.windowed:
            raise ValueError("segments cannot be cut into windows")
        K, bins = self.n_labels, FIRST_BIN if model.bins is None else model.bins
        if len(model.least) != K:
            raise ValueError(f"found limits of durations of {len(model.least)} labels, expected {K}")
        self.decoder = SegmentDecoder(bins, model.least, model.most)
        self.n_bins = number_of_bins(model.bins)
        self.duration_at = self._layout.starts["duration"]
        self.duration = NULL
        self.n_differ = np.zeros(self.max_code_size + 1, dtype=np.int32)
        self.bin_count = np.zeros(max(K * self.n_bins, 1), dtype=np.int32)
        self.has_product, self.product_work = False, 0
        self._set_terms(model, given, segment_loss)
        # A step of the decoder takes about 5 scalar operations for each label and bin.
        length = np.asarray(self.length).mean()
        self.oracle_work += 5.0 * length * K * (K + max(self.n_bins, 1))
        if self.has_terms:
            self.oracle_work += SEGMENT_WORK * K * self.n_pairs(
                np.asarray(self.length), np.max(model.most)).mean()
        self.batch_size = batch_size(self.n_blocks, self.oracle_work)

    def _set_terms(self, model, given, segment_loss):
        """Set everything that features of segments and their loss need."""
        K, n_rows, at = self.n_labels, self.features.n_rows, self._layout.starts
        lengths = np.asarray(self.length)
        check_segment_rows(given, model, np.asarray(self.start), lengths, n_rows)
        check_segment_loss(segment_loss, self.arguments["labels"], lengths, n_rows)
        for kind, name in enumerate(FEATURE_KINDS):
            self.kind_at[kind] = at[name] if name in model.kinds else -1
        self.n_kinds, self.n_given, self.given_weight_at = len(model.kinds), model.n_given, at["segment"]
        self.has_segment_loss = segment_loss is not None
        self.has_features = self.n_kinds > 0 or self.n_given > 0
        self.has_terms = self.has_features or self.has_segment_loss
        size = (self.max_code_size + 1) * K if self.n_kinds > 0 else 1
        self.sums = np.zeros((N_KINDS, size))
        self.product = np.zeros(self.max_code_size * self.KP if self.n_kinds > 0 else 1)
        empty = np.zeros(1, dtype=np.int64)
        self.given = np.ascontiguousarray(
            given.values if self.n_given else np.zeros((1, 1)), dtype=np.float64)
        self.given_at = np.ascontiguousarray(given.at if self.n_given else empty, dtype=np.int64)
        loss = segment_loss
        self.n_true = empty if loss is None else np.ascontiguousarray(loss.n_true, dtype=np.int64)
        self.by_windows = loss is not None and loss.windows is not None
        self.window = np.ascontiguousarray(
            loss.windows if self.by_windows else empty, dtype=np.int32)
        by_segments = self.has_segment_loss and not self.by_windows
        self.begin_of = np.ascontiguousarray(loss.begin if by_segments else empty, dtype=np.int32)
        self.stop_of = np.ascontiguousarray(loss.stop if by_segments else empty, dtype=np.int32)

    @staticmethod
    def n_pairs(length, most):
        """Return the number of segments of at most `most` nodes in blocks."""
        reach = np.minimum(length, most).astype(np.float64)
        return reach * (length - (reach - 1) / 2)

    cpdef BlockProblem fork(self):
        return SegmentProblem(**self.arguments)

    def with_chains(self, blocks, **arguments):
        return SegmentProblem(**(self.arguments | arguments))

    @property
    def oracle_is_quick(self):
        """Whether saving calls of the oracle does not pay: it takes longer than that of a chain."""
        return False

    def norms(self):
        """Return upper bounds of |phi|: those of a plain chain plus the number of runs."""
        norms = super().norms() + (np.asarray(self.length) if self.n_bins else 0)
        if self.n_kinds > 0:
            # At most the sum over rows for "mean", "first" and "last"; four times that for "contrast",
            # two means and two rows outside.
            times = 1 + self.n_kinds + 3 * (self.kind_at[OF_CONTRAST] >= 0)
            norms = norms * times
        if self.n_given > 0:
            largest = np.sqrt((np.asarray(self.given) ** 2).sum(axis=1)).max(initial=0)
            norms = norms + largest * np.asarray(self.length)
        return norms

    cdef int potentials(self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil:
        ChainProblem.potentials(self, i, w, loss_weight)
        if self.has_terms:
            self.set_terms(i, w, loss_weight)
        return 0

    cdef const SegmentTerms* terms_or_null(self) noexcept nogil:
        """Return the scores of whole segments that the last `potentials` computed, NULL if all are 0."""
        return &self.terms if self.has_features or self.terms.loss != 0 else NULL

    cdef int set_terms(self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil:
        """Compute the scores of whole segments."""
        cdef SegmentTerms* terms = &self.terms
        cdef Py_ssize_t first = self.start[i], L = self.length[i]
        terms.L, terms.loss = L, 0
        terms.open_start, terms.open_end = not self.starts_here[i], not self.ends_here[i]
        terms.mean = terms.contrast = terms.first = terms.last = NULL
        if self.n_kinds > 0:
            self.sum_rows(i, w)
            terms.mean, terms.contrast = &self.sums[OF_MEAN, 0], &self.sums[OF_CONTRAST, 0]
            terms.first, terms.last = &self.sums[OF_FIRST, 0], &self.sums[OF_LAST, 0]
        terms.given, terms.n_given = NULL, self.n_given
        if self.n_given > 0:
            terms.given, terms.given_at = &self.given[0, 0], &self.given_at[first]
            terms.given_weight = w + self.given_weight_at
        self.set_loss(i, terms)
        if self.has_segment_loss:
            terms.loss = loss_weight * self.loss_scale[i]
        return 0

    cdef void set_loss(self, Py_ssize_t i, SegmentTerms* terms) noexcept nogil:
        """Set what `loss_term` reads."""
        cdef Py_ssize_t first = self.start[i]
        terms.L, terms.window, terms.label = self.length[i], NULL, NULL
        if self.has_segment_loss and self.by_windows:
            terms.window = &self.window[first]
        elif self.has_segment_loss:
            terms.label = &self.labels[first]
            terms.begin, terms.stop = &self.begin_of[first], &self.stop_of[first]

    cdef int sum_rows(self, Py_ssize_t i, const double* w) except -1 nogil:
        """Compute the sums of the scores of rows."""
        cdef Py_ssize_t L = self.length[i], K = self.n_labels, KP = self.KP, k, l
        cdef int kind
        cdef double score
        cdef double* sums
        cdef double* product = &self.product[0]
        for kind in range(N_KINDS):
            memset(&self.sums[kind, 0], 0, (L + 1) * K * sizeof(double))
        for kind in range(N_KINDS):
            if self.kind_at[kind] < 0:
                continue
            potentials_of_rows(
                &self.rows, self.start[i], L, w + self.kind_at[kind], KP, NULL, NULL, NULL, 0,
                product)
            for k in range(K):
                sums = &self.sums[kind, k * (L + 1)]
                for l in range(L):
                    score = product[l * KP + k]
                    if kind == OF_FIRST:
                        sums[l] += score
                    elif kind == OF_LAST:
                        sums[l + 1] += score
                    else:
                        sums[l + 1] = sums[l] + score
                    if kind == OF_CONTRAST:
                        # The row is outside of segments that start after it, or stop before it.
                        self.sums[OF_LAST, k * (L + 1) + l] -= score if l > 0 else 0
                        self.sums[OF_FIRST, k * (L + 1) + l + 1] -= score if l + 1 < L else 0
        return 0

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef SegmentScores scores
        self.potentials(i, w, loss_weight)
        self.duration = w + self.duration_at if self.n_bins > 0 else NULL
        scores.theta, scores.L, scores.KP = &self.theta[0], self.length[i], self.KP
        scores.edge, scores.split, scores.duration = self.edge, NULL, self.duration
        scores.open_start, scores.open_end = not self.starts_here[i], not self.ends_here[i]
        scores.terms = self.terms_or_null()
        answer.value = self.decoder.decode(&scores, code, NULL)
        if answer.value == -INFINITY:
            with gil:
                raise NoSegmentationError(i, self.length[i])
        answer.work = 100 + 5.0 * self.length[i] * (
            self.n_labels * (self.n_labels + max(self.n_bins, 1)) + 4)
        if scores.terms != NULL:
            answer.work += self.work_of_terms(i)
            if self.has_segment_loss:
                answer.value += self.terms.loss * self.n_true[i]
        answer.exact = True
        return 0

    cdef double work_of_terms(self, Py_ssize_t i) noexcept nogil:
        """Return the work of the scores of whole segments."""
        cdef double L = self.length[i], reach = 0, n_values
        cdef Py_ssize_t k, first = self.start[i]
        for k in range(self.n_labels):
            reach += min(L, <double> self.decoder.most[k])
        n_values = (sstruct_row_start(&self.rows, first + self.length[i])
                    - sstruct_row_start(&self.rows, first))
        return L * reach * (SEGMENT_WORK + self.n_given) + (
            VECTOR_WORK * self.KP * n_values * self.n_kinds)

    cdef int64_t bin_of_run(
            self, Py_ssize_t i, const int32_t* code, Py_ssize_t first,
            Py_ssize_t* stop) noexcept nogil:
        """Find the end of the run from position `first` on.

        Return the entry of its duration in the table of weights, -1 if its duration is unknown.
        """
        cdef Py_ssize_t L = self.length[i]
        stop[0] = first + 1
        while stop[0] < L and code[stop[0]] == code[first]:
            stop[0] += 1
        if first == 0 and not self.starts_here[i] or stop[0] == L and not self.ends_here[i]:
            return -1
        return code[first] * self.n_bins + self.decoder.bin_of(stop[0] - first)

    cdef void compare(
            self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) noexcept nogil:
        """Count the positions at which labelings differ."""
        cdef Py_ssize_t l, k
        cdef int32_t n = 0
        for l in range(self.length[i]):
            for k in range(1, count):
                if codes[k][l] != codes[0][l]:
                    n += 1
                    break
            self.n_differ[l + 1] = n

    cdef bint is_shared(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t stop) noexcept nogil:
        """Return whether all labelings compared agree at a run and at both of its neighbors."""
        return self.n_differ[min(stop + 1, self.length[i])] == self.n_differ[max(first - 1, 0)]

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, first, stop
        cdef int64_t e
        cdef const double* duration = self.duration if w == NULL else w + self.duration_at
        ChainProblem.scores(self, i, w, loss_weight, codes, count, out, work)
        if self.n_bins == 0 and not self.has_terms:
            return 0
        if w != NULL:
            self.compare(i, codes, count)
        for k in range(count):
            stop = 0
            while stop < self.length[i]:
                first = stop
                e = self.bin_of_run(i, codes[k], first, &stop)
                if e >= 0 and (w == NULL or not self.is_shared(i, first, stop)):
                    if self.n_bins > 0:
                        out[k] += duration[e]
                    if w != NULL and self.has_features:
                        out[k] += self.features_of_run(i, codes[k][first], first, stop, w, work)
                if w == NULL and self.has_terms:
                    out[k] += segment_term(&self.terms, first, stop, codes[k][first])
            if self.has_segment_loss and w == NULL:
                out[k] += self.terms.loss * self.n_true[i]
            elif self.has_segment_loss and loss_weight != 0:
                out[k] += loss_weight * self.loss_scale[i] * self.loss_of(i, codes[k])
        work[0] += count * self.length[i]
        return 0

    cdef double features_of_run(
            self, Py_ssize_t i, int32_t label, Py_ssize_t first, Py_ssize_t stop, const double* w,
            double* work) noexcept nogil:
        """Return the score of the features of a run of known duration."""
        cdef Py_ssize_t begin = self.start[i], g
        cdef double mean = 0, contrast = 0, n = stop - first, out = 0
        cdef int n_ends = (first > 0) + (stop < self.length[i])
        if self.kind_at[OF_MEAN] >= 0:
            mean = self.rows_score(begin + first, begin + stop, label, w + self.kind_at[OF_MEAN], work)
        if self.kind_at[OF_CONTRAST] >= 0:
            contrast = self.rows_score(
                begin + first, begin + stop, label, w + self.kind_at[OF_CONTRAST], work)
            if first > 0:
                out -= self.rows_score(
                    begin + first - 1, begin + first, label, w + self.kind_at[OF_CONTRAST], work)
            if stop < self.length[i]:
                out -= self.rows_score(
                    begin + stop, begin + stop + 1, label, w + self.kind_at[OF_CONTRAST], work)
        out += (mean + n_ends * contrast) / n
        if self.kind_at[OF_FIRST] >= 0:
            out += self.rows_score(
                begin + first, begin + first + 1, label, w + self.kind_at[OF_FIRST], work)
        if self.kind_at[OF_LAST] >= 0:
            out += self.rows_score(
                begin + stop - 1, begin + stop, label, w + self.kind_at[OF_LAST], work)
        for g in range(self.n_given):
            out += w[self.given_weight_at + label * self.n_given + g] * (
                self.given[self.given_at[begin + first] + stop - first - 1, g])
        return out

    cdef double rows_score(
            self, Py_ssize_t first, Py_ssize_t stop, int32_t label, const double* w,
            double* work) noexcept nogil:
        """Return the sum of the scores of rows for one label."""
        cdef Py_ssize_t r
        cdef double score, total = 0
        for r in range(first, stop):
            sstruct_some_potentials(&self.rows, r, w, self.KP, &label, 1, &score)
            total += score
            work[0] += sstruct_row_size(&self.rows, r)
        return total

    cdef double loss_of(self, Py_ssize_t i, const int32_t* code) noexcept nogil:
        """Return the loss of a labeling, if it is a sum over segments."""
        cdef Py_ssize_t first, stop = 0, L = self.length[i]
        cdef double total = self.n_true[i]
        cdef SegmentTerms terms
        self.set_loss(i, &terms)
        while stop < L:
            first = stop
            stop += 1
            while stop < L and code[stop] == code[first]:
                stop += 1
            total += loss_term(&terms, first, stop, code[first])
        return total

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        if not self.has_segment_loss:
            return ChainProblem.loss(self, i, code, out)
        self.need_labels()
        out[0] = self.loss_scale[i] * self.loss_of(i, code)
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t l, n_nodes = 0, stop
        cdef int64_t e
        cdef double total = 0
        cdef const int32_t* both[2]
        cdef int side
        if self.has_features:
            return self.scattered_distance(i, a, b, out)
        ChainProblem.squared_distance(self, i, a, b, out)
        for l in range(self.length[i]):
            n_nodes += a[l] != b[l]
        if self.n_bins == 0 or n_nodes > MAX_PAIRS:    # whole planes have been summed by `scatter`
            return 0
        both[0], both[1] = a, b
        for side in range(2):
            stop = 0
            while stop < self.length[i]:
                e = self.bin_of_run(i, both[side], stop, &stop)
                if e >= 0:
                    self.bin_count[e] += 1 - 2 * side
        for side in range(2):
            stop = 0
            while stop < self.length[i]:
                e = self.bin_of_run(i, both[side], stop, &stop)
                if e >= 0:
                    total += <double> self.bin_count[e] * self.bin_count[e]
                    self.bin_count[e] = 0
        out[0] += total
        return 0

    cdef int scattered_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        """Compute the distance from the difference of both planes."""
        cdef Py_ssize_t l = 0, L = self.length[i]
        cdef double coefficient[2]
        cdef const int32_t* both[2]
        cdef double* sums
        out[0] = 0
        while l < L and a[l] == b[l]:
            l += 1
        if l == L:
            return 0
        # The result must not depend on the order.
        both[0], both[1] = (a, b) if a[l] < b[l] else (b, a)
        coefficient[0], coefficient[1] = 1, -1
        if self.accumulator is None:
            with gil:
                self.accumulator = np.zeros(self.n_weights)
        sums = &self.accumulator[0]
        self.scatter(i, both, coefficient, 2, sums)
        for l in range(self.n_weights):
            out[0] += sums[l] * sums[l]
            sums[l] = 0
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k, first, stop
        cdef int64_t e
        ChainProblem.scatter(self, i, codes, coefficient, count, out)
        if self.n_bins == 0 and not self.has_features:
            return 0
        self.compare(i, codes, count)
        for k in range(count):
            stop = 0
            while stop < self.length[i]:
                first = stop
                e = self.bin_of_run(i, codes[k], first, &stop)
                if e >= 0 and not self.is_shared(i, first, stop):
                    if self.n_bins > 0:
                        out[self.duration_at + e] += coefficient[k]
                    if self.has_features:
                        self.add_features(i, codes[k][first], first, stop, coefficient[k], out)
        return 0

    cdef void add_features(
            self, Py_ssize_t i, int32_t label, Py_ssize_t first, Py_ssize_t stop, double change,
            double* out) noexcept nogil:
        """Add the features of a run of known duration, times `change`, to `out`."""
        cdef Py_ssize_t begin = self.start[i], g
        cdef double n = stop - first
        cdef double* of_kind
        if self.kind_at[OF_MEAN] >= 0:
            self.add_rows(begin + first, begin + stop, label, change / n, out + self.kind_at[OF_MEAN])
        if self.kind_at[OF_CONTRAST] >= 0:
            of_kind = out + self.kind_at[OF_CONTRAST]
            self.add_rows(
                begin + first, begin + stop, label,
                change * ((first > 0) + (stop < self.length[i])) / n, of_kind)
            if first > 0:
                self.add_rows(begin + first - 1, begin + first, label, -change, of_kind)
            if stop < self.length[i]:
                self.add_rows(begin + stop, begin + stop + 1, label, -change, of_kind)
        if self.kind_at[OF_FIRST] >= 0:
            self.add_rows(
                begin + first, begin + first + 1, label, change, out + self.kind_at[OF_FIRST])
        if self.kind_at[OF_LAST] >= 0:
            self.add_rows(begin + stop - 1, begin + stop, label, change, out + self.kind_at[OF_LAST])
        for g in range(self.n_given):
            out[self.given_weight_at + label * self.n_given + g] += change * (
                self.given[self.given_at[begin + first] + stop - first - 1, g])

    cdef void add_rows(
            self, Py_ssize_t first, Py_ssize_t stop, int32_t label, double change,
            double* out) noexcept nogil:
        """Add rows, times `change`, to the weights of one label."""
        cdef Py_ssize_t r
        for r in range(first, stop):
            sstruct_add_row(&self.rows, r, &label, &change, 1, out, self.KP)

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        ChainProblem.check_code(self, i, code)
        cdef Py_ssize_t first, stop = 0, L = self.length[i]
        cdef bint known
        while stop < L:
            first = stop
            self.bin_of_run(i, &code[0], first, &stop)
            known = (first > 0 or self.starts_here[i]) and (stop < L or self.ends_here[i])
            if (known and stop - first < self.decoder.least[code[first]]
                    or stop - first > self.decoder.most[code[first]]):
                raise ValueError(
                    f"block {i}: a labeling code has {stop - first} positions from {first} on with "
                    f"label {code[first]}, which the limits of durations forbid")
        return 0
