"""Conformity scores of segments."""

import numpy as np

from sstruct._checks.shown import plain
from sstruct._compat import safe_indexing
from sstruct._estimators.segment.label_spans import spans_of_nodes
from sstruct._input.labels import encode, is_label
from sstruct._input.threads import n_threads
from sstruct._problems.core._sums import sum_blocks
from sstruct._problems.segment._segment_sums import SegmentSums


class SegmentGaps:
    """Gaps of segments: the best score minus the best score of segmentations with the segment.

    They are exact. For spans of labels, only the k best labelings are compared.

    Parameters
    ----------
    structure, model : of a SegmentSSVM
    """

    def __init__(self, structure, model):
        self.structure, self.model = structure, model

    def within(self, samples, threshold, k):
        """Return the segments whose gap is at most a threshold, and the predicted segments.

        If the threshold is infinite, return the segments of the k best segmentations.

        Returns
        -------
        rows : ndarray of int of shape (m, 4)
            Sample, start, stop and index of the label, sorted.
        labels : list
        """
        structure, model = self.structure, self.model
        K, labels = len(model.classes_), [plain(label) for label in model.classes_]
        if threshold == np.inf:
            ranked = [codes for codes, _ in structure.top_k(model, samples, k)]
            counts = np.array([len(codes) for codes in ranked], dtype=np.intp)
            codes = np.concatenate([codes.ravel() for codes in ranked] or [[]]).astype(np.int32)
            offsets = np.append(0, np.cumsum(np.repeat(samples.lengths, counts)))
            segments = _rows(codes, offsets, K)
            segments[:, 0] = np.repeat(np.arange(len(ranked)), counts)[segments[:, 0]]
            return np.unique(segments, axis=0), labels
        predicted = _rows(structure.segment_codes(model, samples), samples.offsets, K)
        if len(predicted) == 0:
            return predicted, labels
        sums = SegmentSums(structure.decoder_of(model, samples), maxima=True)
        near = sums.segments_within(model._w, threshold)
        near[:, 0] = np.flatnonzero(samples.lengths)[near[:, 0]]
        return np.unique(np.concatenate([predicted, near]), axis=0), labels

    def of_truth(self, X, y, k):
        """Return the gap of each true segment, its sample, and a mask of samples.

        The samples in the mask have a known label and an allowed segmentation; others are ignored.
        The gap of segments that the model forbids is ``inf``. Segments next to unknown labels are
        ignored, because they may continue there.
        """
        structure, model = self.structure, self.model
        samples = structure.pack(X, model)
        labels = structure.labels(y, samples)
        known = ~is_label(labels, structure.ignore_label)
        sample = np.repeat(np.arange(len(samples)), samples.lengths)
        is_known = np.bincount(sample[known], minlength=len(samples)) > 0
        rows = self._true_rows(labels, known, structure.splits(y, samples), samples.offsets)
        gaps = np.full(len(rows), np.inf)
        if samples.offsets[-1] == 0:
            return gaps, rows[:, 0], is_known
        sums = SegmentSums(structure.decoder_of(model, samples), maxima=True)
        best = np.zeros(len(samples))
        best[samples.lengths > 0], _ = sum_blocks(sums, model._w, 1.0, n_threads(structure.n_jobs))
        is_known &= best > -np.inf
        rows = rows[is_known[rows[:, 0]]]
        seen, gaps = rows[:, 3] >= 0, np.full(len(rows), np.inf)
        block = np.cumsum(samples.lengths > 0) - 1
        block_segments = np.column_stack([block[rows[:, 0]], rows[:, 1:]])[seen]
        values = sums.of_segments(model._w, 1.0, block_segments)
        gaps[seen] = np.maximum(best[rows[seen, 0]] - values, 0)
        # Rounding errors must not exclude predicted segments.
        used = np.flatnonzero(is_known)
        if len(used):
            some = structure.pack(safe_indexing(X, used), model)
            predicted = _rows(
                structure.segment_codes(model, some), some.offsets, len(model.classes_)
            )
            predicted[:, 0] = used[predicted[:, 0]]
            are_predicted = set(map(tuple, predicted.tolist()))
            gaps[[tuple(row) in are_predicted for row in rows.tolist()]] = 0
        return gaps, rows[:, 0], is_known

    def _true_rows(self, labels, known, splits, offsets):
        """Return sample, start, stop and code of true segments of known duration.

        The code of labels that the model does not have is -1.
        """
        codes, ends = encode(labels, self.model.classes_), np.zeros(len(labels) + 1, dtype=bool)
        ends[offsets] = True
        begins = ends | np.append(splits, False)
        begins[1:-1] |= (labels[1:] != labels[:-1]) | (known[1:] != known[:-1])
        first = np.flatnonzero(begins[:-1])
        stop = np.append(first[1:], len(labels))[: len(first)]
        # Whether the node before or after the segment is in the sample and has no known label.
        is_cut = (~ends[first] & ~known[first - 1]) | (~ends[stop] & ~np.append(known, True)[stop])
        kept = known[first] & ~is_cut
        first, stop = first[kept], stop[kept]
        sample = np.searchsorted(offsets, first, side="right") - 1
        begin = offsets[sample]
        return np.column_stack([sample, first - begin, stop - begin, codes[first]])


def _rows(codes, offsets, n_labels):
    """Return sample, start, stop and label of the segments of codes."""
    start, stop, label, sample = spans_of_nodes(codes, offsets, n_labels)
    return np.column_stack([sample, start, stop, label]).astype(np.int64)
