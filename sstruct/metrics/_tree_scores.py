"""Attachment scores of dependency trees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arrays import check_depth, items_of, listed
from sstruct._estimators.core.structure import weighted_accuracy
from sstruct._estimators.dependency.sentence_samples import tree_of_any_size
from sstruct.metrics._flat_labels import check_pairs


def unlabeled_attachment_score(
    y_true: Iterable[Any], y_pred: Iterable[Any], *, sample_weight: ArrayLike | None = None
) -> float:
    """Fraction of tokens with the true head (UAS).

    Parameters
    ----------
    y_true, y_pred : list of n int arrays of shape (n_tokens,), or of n pairs (heads, labels)
        True and predicted head of each token, 0 for the root. Labels are ignored.
    sample_weight : array-like of shape (n,), default=None
        Weights of the tokens of each sentence.

    Returns
    -------
    score : float
        The fraction, over the tokens of all sentences. Punctuation counts; to leave it out, remove
        these tokens from both.

    Raises
    ------
    ValueError, TypeError
        If heads are invalid, or y_true and y_pred differ in their numbers of sentences or tokens.

    See Also
    --------
    labeled_attachment_score : The same with labels.

    Examples
    --------
    >>> from sstruct.metrics import unlabeled_attachment_score
    >>> unlabeled_attachment_score([[2, 0, 2], [0]], [[2, 0, 1], [0]])
    0.75
    """
    return _attachment_score(y_true, y_pred, False, sample_weight)


def labeled_attachment_score(
    y_true: Iterable[Any], y_pred: Iterable[Any], *, sample_weight: ArrayLike | None = None
) -> float:
    """Fraction of tokens with the true head and the true label (LAS).

    Parameters
    ----------
    y_true, y_pred : list of n pairs (heads, labels)
        True and predicted head of each token, 0 for the root, and label of its arc; both of shape
        (n_tokens,).
    sample_weight : array-like of shape (n,), default=None
        Weights of the tokens of each sentence.

    Returns
    -------
    score : float
        The fraction, over the tokens of all sentences.

    Raises
    ------
    ValueError, TypeError
        If trees are invalid, or y_true and y_pred differ in their numbers of sentences or tokens.

    See Also
    --------
    unlabeled_attachment_score : The same without labels.

    Examples
    --------
    >>> from sstruct.metrics import labeled_attachment_score
    >>> y_true = [([2, 0, 2], ["nsubj", "root", "obj"])]
    >>> labeled_attachment_score(y_true, [([2, 0, 2], ["nsubj", "root", "obl"])])
    0.6666666666666666
    """
    return _attachment_score(y_true, y_pred, True, sample_weight)


def _attachment_score(y_true, y_pred, labeled, sample_weight):
    """Return the fraction of tokens with the true head and, if `labeled`, the true label."""
    true, predicted = _trees(y_true, "y_true", labeled), _trees(y_pred, "y_pred", labeled)
    weights = check_pairs(true, predicted, "sentence", sample_weight)
    right, lengths = [], []
    for i, ((heads, labels), (other, names)) in enumerate(zip(true, predicted, strict=True)):
        if len(heads) != len(other):
            raise ValueError(f"y_true[{i}] has {len(heads)} tokens, but y_pred[{i}] {len(other)}")
        same = heads == other
        if labeled:
            pairs = zip(labels.tolist(), names.tolist(), strict=True)
            same = same & np.array([a == b for a, b in pairs], dtype=bool)
        right.append(same)
        lengths.append(len(same))
    return weighted_accuracy(np.concatenate(right), np.repeat(weights, lengths))


def _trees(y, name, labeled):
    """Return the validated heads, and labels or None, of each sentence."""
    check_depth(y, name)
    trees = listed(items_of(y), name, "a list of trees, one per sentence")
    return [tree_of_any_size(f"{name}[{i}]", item, labeled) for i, item in enumerate(trees)]
