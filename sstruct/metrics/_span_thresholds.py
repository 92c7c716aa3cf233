"""Precision and recall of spans with probabilities, and thresholds for a target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import precision_recall_curve

from sstruct._checks.arrays import check_listed, is_sized
from sstruct._checks.parameters import Range, is_integer, is_real
from sstruct._checks.shown import shortened
from sstruct._input.label_schemes import LabelCodes
from sstruct._input.ragged import NoNodesError
from sstruct.metrics._flat_labels import as_lists, unknown_labels
from sstruct.metrics._flat_spans import read_spans
from sstruct.spans import Scheme

TARGET = Range(above=0, other=(None,))


class SpanEvents:
    """Predicted spans with their probabilities, and whether they are true spans.

    Attributes
    ----------
    probability, weights : ndarray of shape (n_spans,)
    right : ndarray of bool of shape (n_spans,)
    n_true : float
        Weighted number of true spans, predicted or not.
    """

    def __init__(self, y_true, y_spans, scheme, suffix, sample_weight, ignore_label):
        y_true = as_lists(y_true, "y_true")
        spans = _listed(y_spans, [*map(len, y_true)])
        table = LabelCodes(scheme, suffix)
        true, _, weights = read_spans(y_true, y_true, table, "repair", sample_weight, ignore_label)
        weights = np.ones(len(y_true)) if weights is None else weights
        sequence = true.sequence()
        self.n_true = float(weights[sequence].sum())
        kinds = (str(true.kinds[k]) for k in true.kind.tolist())
        first = true.offsets[sequence]
        bounds = (true.start - first).tolist(), (true.stop - first).tolist()
        truths = set(zip(sequence.tolist(), *bounds, kinds, strict=True))
        rows = []
        for i, (labels, own) in enumerate(zip(y_true, spans, strict=True)):
            unknown = set() if ignore_label is None else unknown_labels(labels, ignore_label)
            hidden = np.cumsum([0, *(label in unknown for label in labels)])
            for start, stop, kind, probability in own:
                if hidden[stop] == hidden[start]:
                    right = (i, int(start), int(stop), str(kind)) in truths
                    rows.append((float(probability), right, weights[i]))
        columns = zip(*rows, strict=True) if rows else ([], [], [])
        self.probability, right, self.weights = (np.array(c, dtype=float) for c in columns)
        self.right = right > 0


def span_precision_recall_curve(
    y_true: Iterable[Any],
    y_spans: Iterable[Any],
    *,
    scheme: Scheme = "bio",
    suffix: bool = False,
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute precision and recall of spans for all thresholds of their probabilities.

    Parameters
    ----------
    y_true : list of n label sequences
        True labels.
    y_spans : list of n lists of tuple (start, stop, type, probability)
        Predicted spans, as returned by ``predict_spans`` of
        :class:`~sstruct.calibration.CalibratedSSVM`.
    scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
        Label scheme, as for :func:`sstruct.spans.spans_of`. Invalid labels are repaired.
    suffix : bool, default=False
        Whether the letter follows the type, as in ``"PER-B"``.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. Ignored nodes are outside of true spans, and
        predicted spans that contain them are ignored.

    Returns
    -------
    precision, recall : ndarray of shape (m + 1,)
        Values for the spans whose probability is at least each threshold. Recall refers to all true
        spans, predicted or not. The last values are 1 and 0, as in scikit-learn.
    thresholds : ndarray of shape (m,)
        The distinct probabilities of predicted spans, ascending.

    See Also
    --------
    sklearn.metrics.precision_recall_curve : The same for one label per sample.

    Examples
    --------
    >>> from sstruct.metrics import span_precision_recall_curve
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> y_spans = [[(0, 2, "PER", 0.9), (2, 3, "LOC", 0.3)]]
    >>> precision, recall, thresholds = span_precision_recall_curve(y_true, y_spans)
    >>> precision.tolist(), recall.tolist(), thresholds.tolist()
    ([0.5, 1.0, 1.0], [0.5, 0.5, 0.0], [0.3, 0.9])
    """
    return _curve(SpanEvents(y_true, y_spans, scheme, suffix, sample_weight, ignore_label))


def span_threshold(
    y_true: Iterable[Any],
    y_spans: Iterable[Any],
    *,
    precision: float | None = None,
    recall: float | None = None,
    scheme: Scheme = "bio",
    suffix: bool = False,
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float:
    """Find the threshold of the probabilities of spans for a target precision or recall.

    Use samples that were not used for training.

    Parameters
    ----------
    y_true : list of n label sequences
        True labels.
    y_spans : list of n lists of tuple (start, stop, type, probability)
        Predicted spans, as returned by ``predict_spans`` of
        :class:`~sstruct.calibration.CalibratedSSVM`.
    precision, recall : float, default=None
        Target for one of the two, above 0 and at most 1.
    scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
        Label scheme, as for :func:`sstruct.spans.spans_of`. Invalid labels are repaired.
    suffix : bool, default=False
        Whether the letter follows the type, as in ``"PER-B"``.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. Ignored nodes are outside of true spans, and
        predicted spans that contain them are ignored.

    Returns
    -------
    threshold : float
        Keep the spans whose probability is at least the threshold. For a precision, the smallest
        threshold with at least this precision on the given samples; for a recall, the largest with
        at least this recall.

    Raises
    ------
    ValueError
        If no threshold reaches the target (the message states the best value), or y_true has no
        spans.

    See Also
    --------
    span_precision_recall_curve : Precision and recall for all thresholds.
    sstruct.calibration.ConformalSSVM : Predict sets of spans with a bound on the expected fraction
        of missed spans. The sets may contain spans that are not predicted.

    Examples
    --------
    >>> from sstruct.metrics import span_threshold
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> y_spans = [[(0, 2, "PER", 0.9), (2, 3, "LOC", 0.3)]]
    >>> span_threshold(y_true, y_spans, precision=0.8)
    0.9
    """
    for name, value in (("precision", precision), ("recall", recall)):
        TARGET.check(name, value)
        if value is not None and value > 1:
            raise ValueError(f"{name} must be at most 1, found {shortened(value)}")
    if (precision is None) == (recall is None):
        given = "none" if precision is None else "both"
        raise ValueError(f"span_threshold requires one target, precision or recall, found {given}")
    events = SpanEvents(y_true, y_spans, scheme, suffix, sample_weight, ignore_label)
    precisions, recalls, thresholds = _curve(events)
    name, target, values = (
        ("recall", recall, recalls) if precision is None else ("precision", precision, precisions)
    )
    reached = np.flatnonzero(values[:-1] >= target)
    if not len(reached):
        best = f"the largest is {values[:-1].max():.3g}" if len(thresholds) else "y_spans is empty"
        raise ValueError(f"no threshold has a {name} of {target}; {best}")
    return float(thresholds[reached[-1 if precision is None else 0]])


def _curve(events):
    """Return precision, recall and thresholds of SpanEvents."""
    if events.n_true == 0:
        raise NoNodesError("y_true has no spans of positive weight; recall is undefined")
    used = events.weights > 0
    if not used.any():
        return np.ones(1), np.zeros(1), np.empty(0)
    right, weights = events.right[used], events.weights[used]
    if not right.any():
        thresholds = np.unique(events.probability[used])
        zeros = np.zeros(len(thresholds))
        return np.append(zeros, 1), np.append(zeros, 0), thresholds
    precision, recall, thresholds = precision_recall_curve(
        right, events.probability[used], sample_weight=weights
    )
    return precision, recall * (weights[right].sum() / events.n_true), thresholds


def _listed(y_spans, lengths) -> list[Sequence[Any]]:
    """Return the spans of each sequence after validation."""
    check_listed(y_spans, "y_spans", "lists of spans")
    y_spans = list(y_spans)
    if len(y_spans) != len(lengths):
        raise ValueError(f"y_spans has {len(y_spans)} sequences, expected {len(lengths)}")
    for i, (own, length) in enumerate(zip(y_spans, lengths, strict=True)):
        check_listed(own, f"y_spans[{i}]", "spans")
        for span in own:
            if not isinstance(span, tuple | list) or not is_sized(span) or len(span) != 4:
                raise TypeError(
                    f"y_spans[{i}] has {shortened(span)}, expected (start, stop, type, probability)"
                )
            start, stop, _, probability = span
            whole = is_integer(start) and is_integer(stop)
            if not whole or not 0 <= start < stop <= length:
                raise ValueError(
                    f"y_spans[{i}] has a span from {shortened(start)} to {shortened(stop)}, "
                    f"expected integers with 0 <= start < stop <= {length}"
                )
            if not is_real(probability) or not 0 <= probability <= 1 + 1e-6:
                raise ValueError(
                    f"y_spans[{i}] has the probability {shortened(probability)}, expected a number "
                    "from 0 to 1"
                )
    return y_spans
