"""Metrics that compare segments of frame labels, such as activities over time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arrays import check_listed
from sstruct._checks.parameters import check_number
from sstruct._checks.shown import shortened
from sstruct._estimators.segment.label_spans import labels_and_splits
from sstruct._input.ragged import NoNodesError
from sstruct.metrics._flat_labels import FlatLabels


def segment_f1_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    iou: float = 0.5,
    background: Iterable[Hashable] = (),
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float:
    """F1 score of segments that overlap sufficiently with a true segment.

    In sequences of labels, a segment is a maximal run of frames with the same label. Unlike the
    accuracy of frames, this score [1]_ ignores small shifts of boundaries and penalizes short false
    segments.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences, or of n lists of spans
        True and predicted labels, as a list, an object array or Sequences. Labels may be of any
        hashable type. Alternatively, segments as returned by :meth:`SegmentSSVM.predict_spans
        <sstruct.SegmentSSVM.predict_spans>`: spans (start, stop, label), each of which starts where
        the previous one stops. Adjacent spans may have the same label.
    iou : float, default=0.5
        The smallest intersection over union, in frames, of a predicted segment and the true segment
        of the same label that it matches, in (0, 1]. Usual values are 0.1, 0.25 and 0.5.
    background : list of labels, default=()
        Labels whose segments do not count.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of frames to ignore. If it is given, frames whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. An ignored frame ends a segment.

    Returns
    -------
    score : float
        ``2 TP / (2 TP + FP + FN)`` over the segments of all sequences, for TP correct predicted
        segments, FP other ones and FN true segments without a match; 0 if there are no matches.

    Notes
    -----
    Each predicted segment is compared with the true segment of the same label that has the largest
    intersection over union; ties go to the first one. The two are matched if the intersection over
    union is at least `iou`. If several predicted segments match the same true segment, only one of
    them is correct.

    References
    ----------
    .. [1] C. Lea, M. D. Flynn, R. Vidal, A. Reiter, G. D. Hager. Temporal convolutional networks
       for action segmentation and detection. CVPR 2017.

    Examples
    --------
    >>> from sstruct.metrics import segment_f1_score
    >>> y_true = [["sit", "sit", "sit", "walk", "walk", "walk"]]
    >>> y_pred = [["sit", "sit", "walk", "walk", "walk", "sit"]]
    >>> segment_f1_score(y_true, y_pred)
    0.8

    Segments with the same label, the last two of which are predicted as one:

    >>> y_true = [[(0, 3, "sit"), (3, 6, "walk"), (6, 8, "walk")]]
    >>> segment_f1_score(y_true, [[(0, 3, "sit"), (3, 8, "walk")]])
    0.8
    """
    check_number("iou", iou, above=0)
    if iou > 1:
        raise ValueError(f"iou must be at most 1, found {shortened(iou)}")
    right = n_true = n_predicted = 0.0
    for true, predicted, weight in _segments(
        y_true, y_pred, background, sample_weight, ignore_label
    ):
        matches = set()
        for start, stop, label in predicted:
            overlaps = [
                _overlap(start, stop, *other[:2]) if other[2] == label else 0.0 for other in true
            ]
            best = int(np.argmax(overlaps)) if overlaps else -1
            if best >= 0 and overlaps[best] >= iou:
                matches.add(best)
        right += weight * len(matches)
        n_true += weight * len(true)
        n_predicted += weight * len(predicted)
    return float(2 * right / (n_true + n_predicted)) if right else 0.0


def segment_edit_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    background: Iterable[Hashable] = (),
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float:
    """Similarity of the order of segments, ignoring their lengths.

    This is the segmental edit score reported in [1]_, as a fraction instead of a percentage.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences, or of n lists of spans
        True and predicted labels, as a list, an object array or Sequences. Labels may be of any
        hashable type. Alternatively, segments as returned by :meth:`SegmentSSVM.predict_spans
        <sstruct.SegmentSSVM.predict_spans>`: spans (start, stop, label), each of which starts where
        the previous one stops. Adjacent spans may have the same label.
    background : list of labels, default=()
        Labels whose segments do not count.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of frames to ignore. If it is given, frames whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. An ignored frame ends a segment.

    Returns
    -------
    score : float
        The mean of ``1 - d / m`` over the sequences, where d is the Levenshtein distance of the
        labels of true and predicted segments and m the larger number of segments. Sequences without
        segments do not count.

    References
    ----------
    .. [1] C. Lea, M. D. Flynn, R. Vidal, A. Reiter, G. D. Hager. Temporal convolutional networks
       for action segmentation and detection. CVPR 2017.

    Examples
    --------
    >>> from sstruct.metrics import segment_edit_score
    >>> y_true = [["sit", "sit", "sit", "walk", "walk", "walk"]]
    >>> segment_edit_score(y_true, [["sit", "walk", "walk", "walk", "walk", "walk"]])
    1.0
    >>> segment_edit_score(y_true, [["sit", "sit", "walk", "walk", "sit", "walk"]])
    0.5
    """
    scores, weights = [], []
    for true, predicted, weight in _segments(
        y_true, y_pred, background, sample_weight, ignore_label
    ):
        longest = max(len(true), len(predicted))
        if longest:
            labels = ([segment[2] for segment in part] for part in (true, predicted))
            scores.append(1 - _levenshtein(*labels) / longest)
            weights.append(weight)
    if not any(weights):
        raise NoNodesError("there is no segment to score, or none with a weight")
    return float(np.average(scores, weights=weights))


def _segments(y_true, y_pred, background, sample_weight, ignore_label):
    """Yield the true and the predicted segments of each sequence, and its weight.

    Segments are lists [start, stop, label code]. Positions count the scored frames of all
    sequences.
    """
    check_listed(background, "background", "labels", rejected=(str, bytes))
    y_true, true_splits = labels_and_splits(y_true, "y_true")
    y_pred, found_splits = labels_and_splits(y_pred, "y_pred")
    flat = FlatLabels(y_true, y_pred, sample_weight, ignore_label)
    hidden = flat.codes_of(background)
    continues = (np.diff(flat.sequence) == 0) & (np.diff(flat.kept) == 1)
    parts = []
    for codes, splits in ((flat.true, true_splits), (flat.predicted, found_splits)):
        begins = ~continues | (np.diff(codes) != 0)
        if splits is not None:
            begins |= splits[flat.kept[1:]]
        bounds = np.flatnonzero(np.r_[True, begins, True])
        start, stop = bounds[:-1], bounds[1:]
        counts = ~np.isin(codes[start], hidden)
        by_sequence = [[] for _ in range(flat.n_sequences)]
        for i, *segment in zip(
            *(each[counts].tolist() for each in (flat.sequence[start], start, stop, codes[start]))
        ):
            by_sequence[i].append(segment)
        parts.append(by_sequence)
    weights = np.ones(flat.n_sequences)
    yield from zip(*parts, weights if flat.sequence_weights is None else flat.sequence_weights)


def _overlap(start, stop, other_start, other_stop):
    common = max(0, min(stop, other_stop) - max(start, other_start))
    return common / (stop - start + other_stop - other_start - common)


def _levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, item in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (item != other))
    return row[-1]
