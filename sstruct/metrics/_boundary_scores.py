"""Metrics for change points."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sstruct._checks.parameters import Range
from sstruct._input.boundaries import boundary_f1, pack_changes
from sstruct.metrics._flat_labels import check_pairs


def boundary_f1_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    tolerance: int = 5,
    sample_weight: ArrayLike | None = None,
) -> float:
    """F1 score of change points that are near a true change point.

    Parameters
    ----------
    y_true, y_pred : list of n int arrays
        True and predicted change points of each signal: increasing indices of the first nodes of
        all segments but the first one, at least 1.
    tolerance : int, default=5
        Largest distance, in nodes, of a predicted change point from the true one that it matches.
    sample_weight : array-like of shape (n,), default=None
        Weights of the signals.

    Returns
    -------
    score : float
        ``2 TP / (2 TP + FP + FN)`` over the change points of all signals, for TP matched pairs, FP
        other predicted change points and FN other true ones; 0 if there are no matches. A change
        point belongs to at most one pair, and the number of pairs is the largest possible one.

    Raises
    ------
    ValueError, TypeError
        If change points are not increasing integers, or y_true and y_pred differ in their number of
        signals.

    See Also
    --------
    segment_f1_score : F1 score of segments with labels.

    Notes
    -----
    O(number of change points) time.

    Examples
    --------
    >>> from sstruct.metrics import boundary_f1_score
    >>> boundary_f1_score([[10, 50], [30]], [[12, 80], [30]])
    0.6666666666666666
    >>> boundary_f1_score([[10, 50], [30]], [[12, 80], [30]], tolerance=1)
    0.3333333333333333
    """
    Range(least=0, whole=True).check("tolerance", tolerance)
    true, predicted = pack_changes(y_true, "y_true"), pack_changes(y_pred, "y_pred")
    weights = check_pairs(true, predicted, "signal", sample_weight)
    return boundary_f1(true, predicted, int(tolerance), weights)
