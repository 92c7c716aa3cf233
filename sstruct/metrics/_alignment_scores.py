"""Metrics for alignments, based on the aligned pairs of positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arrays import array_of, listed
from sstruct._estimators.alignment.alignment_samples import increasing_pairs
from sstruct._input.integers import integers
from sstruct.metrics._flat_labels import check_pairs


def alignment_accuracy(
    y_true: Iterable[Any], y_pred: Iterable[Any], *, sample_weight: ArrayLike | None = None
) -> float:
    """Fraction of the true pairs of alignments that are found.

    Parameters
    ----------
    y_true, y_pred : list of n int arrays of shape (n_rows,) or (n_pairs, 2)
        True and predicted alignments: the column of each row, -1 if it is unaligned; or the rows
        and columns of all aligned pairs.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples.

    Returns
    -------
    score : float
        Weighted number of pairs in both alignments, divided by the weighted number of true pairs; 1
        if there are no true pairs.

    Raises
    ------
    ValueError, TypeError
        If the columns or pairs are not increasing integers, or y_true and y_pred differ in their
        number of samples or of rows.

    See Also
    --------
    alignment_f1_score : The F1 score of pairs, which decreases for wrong additional pairs.

    Notes
    -----
    O(number of rows) time. In bioinformatics, this is the developer score, or the sum-of-pairs
    score of two sequences.

    Examples
    --------
    >>> from sstruct.metrics import alignment_accuracy
    >>> alignment_accuracy([[0, 1, -1, 2]], [[0, -1, 1, 2]])
    0.6666666666666666
    >>> alignment_accuracy([[[0, 0], [1, 1], [3, 2]]], [[0, -1, 1, 2]])
    0.6666666666666666
    """
    n_common, n_true, _ = _counts(y_true, y_pred, sample_weight)
    return n_common / n_true if n_true else 1.0


def alignment_f1_score(
    y_true: Iterable[Any], y_pred: Iterable[Any], *, sample_weight: ArrayLike | None = None
) -> float:
    """F1 score of the pairs of alignments.

    Parameters
    ----------
    y_true, y_pred : list of n int arrays of shape (n_rows,) or (n_pairs, 2)
        True and predicted alignments: the column of each row, -1 if it is unaligned; or the rows
        and columns of all aligned pairs.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples.

    Returns
    -------
    score : float
        Twice the weighted number of pairs in both alignments, divided by the sum of the weighted
        numbers of true and predicted pairs; 1 if there are no pairs.

    Raises
    ------
    ValueError, TypeError
        If the columns or pairs are not increasing integers, or y_true and y_pred differ in their
        number of samples or of rows.

    See Also
    --------
    alignment_accuracy : The fraction of true pairs that are found.

    Notes
    -----
    O(number of rows) time.

    Examples
    --------
    >>> from sstruct.metrics import alignment_f1_score
    >>> alignment_f1_score([[0, 1, -1, 2]], [[0, -1, -1, 2]])
    0.8
    """
    n_common, n_true, n_predicted = _counts(y_true, y_pred, sample_weight)
    return 2 * n_common / (n_true + n_predicted) if n_true + n_predicted else 1.0


def _counts(y_true, y_pred, sample_weight):
    """Return the weighted numbers of common, true and predicted pairs."""
    true, predicted = (
        listed(y, name, "a list of alignments")
        for y, name in zip((y_true, y_pred), ("y_true", "y_pred"))
    )
    weights, total = check_pairs(true, predicted, "sample", sample_weight), np.zeros(3)
    for i, (a, b) in enumerate(zip(true, predicted)):
        (a, n_rows), (b, n_others) = _pairs(a, f"y_true[{i}]"), _pairs(b, f"y_pred[{i}]")
        if None not in (n_rows, n_others) and n_rows != n_others:
            raise ValueError(f"y_true[{i}] has {n_rows} rows, but y_pred[{i}] has {n_others}")
        columns = dict(a.tolist())
        n_common = sum(columns.get(r) == c for r, c in b.tolist())
        total += weights[i] * np.array([n_common, len(a), len(b)])
    return total.tolist()


def _pairs(alignment, name):
    """Return the pairs (k, 2) of an alignment, and its number of rows, or None if it is unknown."""
    alignment = integers(array_of(alignment, name), name)
    if alignment.ndim != 1:
        return increasing_pairs(alignment, name).T, None
    if len(alignment) and alignment.min() < -1:
        raise ValueError(f"{name} contains {alignment.min()}, expected columns or -1")
    rows = np.flatnonzero(alignment >= 0)
    pairs = np.stack([rows, alignment[rows]], axis=1)
    # An empty array may also be an alignment without pairs.
    return increasing_pairs(pairs, name).T, len(alignment) or None
