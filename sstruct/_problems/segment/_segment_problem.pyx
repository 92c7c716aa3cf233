# Design:
# (a) A chain whose runs of equal labels have scores and limits of their durations. In addition to phi of
#     _chain_problem.pyx, phi has the number of runs of each label and bin of durations. A code consists of
#     the labels of the nodes. If a segment may follow one with the same label, K is added to the label of
#     its first node (segment_arguments.py); this is a split. A run is a longest part of a code with one
#     label and without splits. Methods of the chain are called with the labels of the nodes, and their
#     results are corrected: a split has its own weight, which replaces that of the transition.
# (b) A run at an end of a block that is not an end of the sequence (`starts_here`, `ends_here`) may
#     continue at nodes that are not used. Its duration is unknown: it has no duration weight and no
#     minimum duration.
# (c) phi may also have features of whole segments, for each label: the mean of the rows of a run; for each
#     of its ends inside the block, the mean minus the row outside (contrast); its first and last row; and
#     given features. Runs of unknown duration have none. The weights of features that are computed from
#     rows follow the weights of rows.
# (d) The loss may be a sum over segments in place of one over nodes, see SegmentLoss: the number of true
#     segments (boundaries) plus, for each segment (boundary) of the labeling, -1 if it matches a true one,
#     else 1.
# (e) The decoder gets potentials and transitions from the plain chain. Weights of durations are the table
#     K x n_bins that the decoder reads; with those of splits and given features, they follow the weights
#     of the chain.
# (f) Runs that all labelings share cancel out, and are not visited. A run is taken as shared if all
#     labelings agree at its nodes and at both neighbors.
"""Joint feature map and max-oracle of SegmentSSVM."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sstruct._kernels._constants cimport VECTOR_WORK
from sstruct._oracles.segment._segment_decoder cimport SegmentDecoder
from sstruct._oracles.segment._segment_terms cimport (
    FORBIDDEN, FREE, REQUIRED, SegmentScores, SegmentTerms, loss_term, segment_term)
from sstruct._problems.chain._chain_problem cimport MAX_PAIRS, ChainProblem
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._node_labels cimport differ_at
from sstruct._problems.core._rows cimport (
    potentials_of_rows, sstruct_add_row, sstruct_row_size, sstruct_row_start,
    sstruct_some_potentials)

import numpy as np

from sstruct._problems.chain.chain_arguments import NoLabelingError
from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.segment.segment_arguments import (
    FEATURE_KINDS, FIRST_BIN, check_segment_loss, check_segment_rows, labels_of, number_of_bins,
    segment_layout)

# Work of the score of one segment, relative to a multiply-add.
cdef double SEGMENT_WORK = 5


class NoSegmentationError(NoLabelingError):
    """A block has no labeling that limits of durations, masks and known labels allow."""

    def __str__(self):
        return f"block {self.block} of {self.length} nodes has no allowed segmentation"


cdef class NodeLabels(Storage):
    """Scratch memory for the labels of the nodes of several segmentations."""

    cdef const int32_t** convert(
            self, const int32_t** codes, Py_ssize_t count, Py_ssize_t length,
            Py_ssize_t n_labels) except NULL nogil:
        """Return the labels of the nodes, `length` for each of the codes."""
        cdef Py_ssize_t k, l
        cdef int32_t* row
        self.grow(<void**> &self.label, count * length, sizeof(int32_t))
        self.grow(<void**> &self.rows, count, sizeof(int32_t*))
        for k in range(count):
            row = self.label + k * length
            self.rows[k] = row
            for l in range(length):
                row[l] = codes[k][l] - (<int32_t> n_labels if codes[k][l] >= n_labels else 0)
        return self.rows


cdef class SegmentProblem(ChainProblem):
    """Chains over flat rows, with weights and limits of the durations of segments.

    Parameters
    ----------
    X, chains, **options : as for ChainProblem
        Chains are not cut into windows.
    model : SegmentModel
    labels, known : array-like of shape (n_rows,), dtype int32, or None
        The true code of each row, and known codes, see segment_arguments.py; -1 if there is none.
    given : SegmentRows or None
        Features of segments, if the model has weights for them.
    segment_loss : SegmentLoss or None
        The loss; `cost` must be zero. If None, the loss is a sum over nodes.
    """

    def __init__(
            self, X, chains, model, labels=None, *, known=None, given=None, segment_loss=None,
            **options):
        self.splits = model.self_transitions
        of_nodes = [
            codes if codes is None or not self.splits else labels_of(codes, n * model.n_labels, model)
            for codes, n in ((labels, 2), (known, 3))]
        super().__init__(X, chains, model, of_nodes[0], known=of_nodes[1], **options)
        self.arguments |= dict(labels=labels, known=known, given=given, segment_loss=segment_loss)
        self._set_splits(labels, known)
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
        self._set_terms(model, given, segment_loss)
        # A step of the decoder takes about 5 scalar operations for each label and bin.
        length = np.asarray(self.length).mean()
        self.oracle_work += 5.0 * length * K * (K + max(self.n_bins, 1))
        if self.has_terms:
            self.oracle_work += SEGMENT_WORK * K * self.n_pairs(
                np.asarray(self.length), np.max(model.most)).mean()
        self.batch_size = batch_size(self.n_blocks, self.oracle_work)

    def layout_of(self, model, n_edge_features=0):
        return segment_layout(
            self.n_labels, self.n_features, self.bias, self.boundaries, self.transitions,
            number_of_bins(model.bins), self.features.n_scores > 0,
            self.group_count.shape[0] if self.tied else None, model.kinds, model.n_given,
            model.self_transitions)

    def _set_splits(self, labels, known):
        """Set the attributes for segments that follow one with the same label."""
        K, no_codes = self.n_labels, np.zeros(1, dtype=np.int32)
        if self.splits and self.states_per_label > 1:
            raise ValueError("segments after one with the same label require one state per label")
        has_weights = self.splits and self.transitions
        self.split_at = self._layout.starts["self_transition"] if has_weights else -1
        self.true_code, self.known_code = [
            np.ascontiguousarray(no_codes if codes is None else codes, dtype=np.int32)
            for codes in (labels, known)]
        self.split, self.plain = np.zeros(K), NodeLabels()
        self.split_count = np.zeros(2 * K, dtype=np.int32)
        self.bound = np.zeros(self.max_code_size if self.splits else 1, dtype=np.uint8)

    def _set_terms(self, model, given, segment_loss):
        """Set the attributes for the features of segments and their loss."""
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

    def prepare_product(self):
        """Do nothing, because the table of a chain by number of errors lacks the scores of segments."""

    @property
    def oracle_is_quick(self):
        """Always False, since the oracle takes so long that it is worthwhile to save calls."""
        return False

    def norms(self):
        """Return upper bounds of |phi|: the bounds of a chain plus bounds for durations and segments."""
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
        cdef Py_ssize_t k
        ChainProblem.potentials(self, i, w, loss_weight)
        if self.has_terms:
            self.set_terms(i, w, loss_weight)
        for k in range(self.n_labels if self.splits else 0):
            self.split[k] = w[self.split_at + k] if self.split_at >= 0 else 0
            if self.masked:
                self.split[k] += self.edge_penalty[k, k]
        if self.splits:
            self.set_bound(
                self.length[i], &self.known_code[self.start[i]] if self.has_known else NULL)
        return 0

    cdef void set_bound(self, Py_ssize_t L, const int32_t* known) noexcept nogil:
        """Set the boundaries that known codes of a block require or forbid, or none if NULL."""
        cdef Py_ssize_t l, K = self.n_labels
        for l in range(L):
            self.bound[l] = FREE
            if known != NULL and known[l] >= K:
                self.bound[l] = FORBIDDEN if known[l] >= 2 * K else REQUIRED

    cdef void set_scores(self, Py_ssize_t i, const double* w, SegmentScores* scores) noexcept nogil:
        """Set the scores of block i, after `potentials`."""
        scores.theta, scores.L, scores.KP = &self.theta[0], self.length[i], self.KP
        scores.edge, scores.duration = self.edge, w + self.duration_at if self.n_bins > 0 else NULL
        scores.split = &self.split[0] if self.splits else NULL
        scores.bound = &self.bound[0] if self.splits else NULL
        scores.open_start, scores.open_end = not self.starts_here[i], not self.ends_here[i]
        scores.terms = self.terms_or_null()

    cdef inline int32_t label_of(self, int32_t code) noexcept nogil:
        """Return the label of a node, given its code."""
        return code - <int32_t> self.n_labels if code >= self.n_labels else code

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        self.need_labels()
        memcpy(code, &self.true_code[self.start[i]], self.length[i] * sizeof(int32_t))
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
        """Set the fields that `loss_term` reads."""
        cdef Py_ssize_t first = self.start[i]
        terms.L, terms.window, terms.label = self.length[i], NULL, NULL
        if self.has_segment_loss and self.by_windows:
            terms.window = &self.window[first]
        elif self.has_segment_loss:
            terms.label = &self.labels[first]
            terms.begin, terms.stop = &self.begin_of[first], &self.stop_of[first]

    cdef int sum_rows(self, Py_ssize_t i, const double* w) except -1 nogil:
        """Compute the sums of the scores of rows that SegmentTerms describes."""
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
        self.set_scores(i, w, &scores)
        self.duration = scores.duration
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
        cdef int32_t label = self.label_of(code[first])
        stop[0] = first + 1
        while stop[0] < L and code[stop[0]] == label:
            stop[0] += 1
        if first == 0 and not self.starts_here[i] or stop[0] == L and not self.ends_here[i]:
            return -1
        return label * self.n_bins + self.decoder.bin_of(stop[0] - first)

    cdef void compare(
            self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) noexcept nogil:
        """Count the positions at which labelings differ."""
        cdef Py_ssize_t l
        for l in range(self.length[i]):
            self.n_differ[l + 1] = self.n_differ[l] + differ_at(codes, count, l)

    cdef bint is_shared(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t stop) noexcept nogil:
        """Return whether all labelings compared agree at a run and at both of its neighbors."""
        return self.n_differ[min(stop + 1, self.length[i])] == self.n_differ[max(first - 1, 0)]

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, first, stop
        cdef int64_t e
        cdef int32_t label
        cdef const double* duration = self.duration if w == NULL else w + self.duration_at
        if self.splits:
            ChainProblem.scores(
                self, i, w, loss_weight, self.plain.convert(codes, count, self.length[i], self.n_labels),
                count, out, work)
            self.correct_scores(i, w, codes, count, out)
        else:
            ChainProblem.scores(self, i, w, loss_weight, codes, count, out, work)
        if self.n_bins == 0 and not self.has_terms:
            return 0
        if w != NULL:
            self.compare(i, codes, count)
        for k in range(count):
            stop = 0
            while stop < self.length[i]:
                first, label = stop, self.label_of(codes[k][stop])
                e = self.bin_of_run(i, codes[k], first, &stop)
                if e >= 0 and (w == NULL or not self.is_shared(i, first, stop)):
                    if self.n_bins > 0:
                        out[k] += duration[e]
                    if w != NULL and self.has_features:
                        out[k] += self.features_of_run(i, label, first, stop, w, work)
                if w == NULL and self.has_terms:
                    out[k] += segment_term(&self.terms, first, stop, label)
            if self.has_segment_loss and w == NULL:
                out[k] += self.terms.loss * self.n_true[i]
            elif self.has_segment_loss and loss_weight != 0:
                out[k] += loss_weight * self.loss_scale[i] * self.loss_of(i, codes[k])
        work[0] += count * self.length[i]
        return 0

    cdef void correct_scores(
            self, Py_ssize_t i, const double* w, const int32_t** codes, Py_ssize_t count,
            double* out) noexcept nogil:
        """Replace the scores of transitions from a label to itself by those of splits."""
        cdef Py_ssize_t k, l, K = self.n_labels
        cdef int32_t label, g
        cdef double score
        for k in range(count):
            for l in range(1, self.length[i]):
                if codes[k][l] < K:
                    continue
                label = self.label_of(codes[k][l])
                if w == NULL:
                    score = self.split[label] - (
                        self.edge[label * self.KP + label] if self.edge != NULL else 0)
                elif self.split_at < 0:
                    continue
                else:
                    g = self.group[label, label] if self.tied else label * <int32_t> self.KP + label
                    score = w[self.split_at + label] - (w[self.edge_at + g] if g >= 0 else 0)
                out[k] += score

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
            self.bin_of_run(i, code, first, &stop)
            total += loss_term(&terms, first, stop, self.label_of(code[first]))
        return total

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        cdef const int32_t** codes = &code
        if not self.has_segment_loss:
            if self.splits:
                codes = self.plain.convert(codes, 1, self.length[i], self.n_labels)
            return ChainProblem.loss(self, i, codes[0], out)
        self.need_labels()
        out[0] = self.loss_scale[i] * self.loss_of(i, code)
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t l, n_nodes = 0, stop
        cdef int64_t e
        cdef double total = 0
        cdef const int32_t* both[2]
        cdef const int32_t** labels = both
        cdef int side
        if self.has_features or self.splits and self.tied:
            return self.scattered_distance(i, a, b, out)
        both[0], both[1] = a, b
        if self.splits:
            labels = self.plain.convert(both, 2, self.length[i], self.n_labels)
        for l in range(self.length[i]):
            n_nodes += labels[0][l] != labels[1][l]
        if self.splits and n_nodes > MAX_PAIRS:
            return self.scattered_distance(i, a, b, out)
        ChainProblem.squared_distance(self, i, labels[0], labels[1], out)
        if self.split_at >= 0:
            total = self.correction_of_distance(self.length[i], a, b)
        if self.n_bins == 0 or n_nodes > MAX_PAIRS:    # whole planes have been summed by `scatter`
            out[0] += total
            return 0
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

    cdef double correction_of_distance(
            self, Py_ssize_t L, const int32_t* a, const int32_t* b) noexcept nogil:
        """Return how much splits increase the squared distance of the labelings without splits.

        Let n be the difference between the numbers of splits of label k. Splits decrease the difference
        between the counts of transitions from k to itself by n, and increase that between the counts of
        splits by n.
        """
        cdef Py_ssize_t l, side, K = self.n_labels
        cdef double total = 0, n
        cdef int32_t label, sign
        cdef const int32_t* code
        cdef int32_t* repeats = &self.split_count[0]    # transitions from a label to itself
        cdef int32_t* splits = repeats + K
        for side in range(2):
            code, sign = (a, 1) if side == 0 else (b, -1)
            for l in range(1, L):
                label = self.label_of(code[l])
                repeats[label] += sign * (self.label_of(code[l - 1]) == label)
                splits[label] += sign * (code[l] >= K)
        for label in range(K):
            n = splits[label]
            total += 2 * n * (n - repeats[label])
            repeats[label] = splits[label] = 0
        return total

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
        if self.splits:
            ChainProblem.scatter(
                self, i, self.plain.convert(codes, count, self.length[i], self.n_labels), coefficient,
                count, out)
            self.correct_scatter(i, codes, coefficient, count, out)
        else:
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
                        self.add_features(
                            i, self.label_of(codes[k][first]), first, stop, coefficient[k], out)
        return 0

    cdef void correct_scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) noexcept nogil:
        """Replace the transitions from a label to itself by splits."""
        cdef Py_ssize_t k, l, K = self.n_labels
        cdef int32_t label, g
        for l in range(1, self.length[i] if self.split_at >= 0 else 0):
            for k in range(count if differ_at(codes, count, l) else 0):
                if codes[k][l] >= K:
                    label = self.label_of(codes[k][l])
                    g = self.group[label, label] if self.tied else label * <int32_t> self.KP + label
                    out[self.split_at + label] += coefficient[k]
                    if g >= 0:
                        out[self.edge_at + g] -= coefficient[k]

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
        cdef Py_ssize_t first, l, stop = 0, L = self.length[i]
        cdef bint known
        labels = code
        if self.splits:
            self.check_node_labels(i, code, 2 * self.n_labels)
            labels = np.asarray(code) % self.n_labels
            for l in range(L):
                if code[l] >= self.n_labels and (
                        l == 0 or self.label_of(code[l - 1]) != self.label_of(code[l])):
                    raise ValueError(
                        f"block {i}: a labeling code has {code[l]} at position {l}, which requires "
                        f"label {code[l] % self.n_labels} at the position before")
        ChainProblem.check_code(self, i, labels)
        while stop < L:
            first = stop
            self.bin_of_run(i, &code[0], first, &stop)
            known = (first > 0 or self.starts_here[i]) and (stop < L or self.ends_here[i])
            if (known and stop - first < self.decoder.least[labels[first]]
                    or stop - first > self.decoder.most[labels[first]]):
                raise ValueError(
                    f"block {i}: a labeling code has {stop - first} positions from {first} on with "
                    f"label {labels[first]}, which the limits of durations forbid")
        return 0
