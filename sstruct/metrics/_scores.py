"""Metrics for predicted label sequences: per node, per sequence and per chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import (
    accuracy_score,
    classification_report,
    f1_score,
    make_scorer,
    precision_score,
    recall_score,
)

from sstruct._input.ragged import check_weights
from sstruct.metrics._chunks import chunks_of
from sstruct.metrics._flat_labels import FlatLabels, matched, unknown_labels


def flat_accuracy_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float:
    """Fraction of correctly labeled nodes.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences. Labels may be of any
        hashable type. Label images and other multidimensional arrays are flattened.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. Nodes whose true label is None or NaN are ignored as well;
        with ``ignore_label=None`` such labels raise an error.

    Returns
    -------
    score : float
        ``sum_i s_i c_i / sum_i s_i L_i`` for sample weights s_i, where c_i of the L_i nodes are
        correct.

    Examples
    --------
    >>> from sstruct.metrics import flat_accuracy_score
    >>> flat_accuracy_score([["B", "I", "O"], ["O"]], [["B", "O", "O"], ["O"]])
    0.75
    """
    flat = FlatLabels(y_true, y_pred, sample_weight, ignore_label)
    return float(accuracy_score(flat.true, flat.predicted, sample_weight=flat.weights))


def flat_f1_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    labels: Iterable[Any] | None = None,
    average: Literal["weighted", "macro", "micro", "binary"] | None = "weighted",
    pos_label: Any = 1,
    zero_division: float | Literal["warn"] = "warn",
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float | np.ndarray:
    """F1 score over all nodes.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences. Labels may be of any
        hashable type. Label images and other multidimensional arrays are flattened.
    labels : list of labels, default=None
        Labels to average over, in this order. Default: all labels that occur, sorted if possible.
    average : {"weighted", "macro", "micro", "binary"} or None, default="weighted"
        As in scikit-learn; ``None`` returns the score of each label.
    pos_label : label, default=1
        The label to score with ``average="binary"``.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        Value of 0 / 0, as in scikit-learn.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. Nodes whose true label is None or NaN are ignored as well;
        with ``ignore_label=None`` such labels raise an error.

    Returns
    -------
    score : float or ndarray of shape (n_labels,)
        Each node has the weight of its sequence.

    Examples
    --------
    >>> from sstruct.metrics import flat_f1_score
    >>> y_true, y_pred = [["B", "I", "O"], ["O"]], [["B", "O", "O"], ["B"]]
    >>> flat_f1_score(y_true, y_pred, labels=["B", "O"], average="macro")
    0.583...
    """
    flat = FlatLabels(y_true, y_pred, sample_weight, ignore_label)
    return flat.score(f1_score, labels, average, pos_label, zero_division)


def flat_precision_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    labels: Iterable[Any] | None = None,
    average: Literal["weighted", "macro", "micro", "binary"] | None = "weighted",
    pos_label: Any = 1,
    zero_division: float | Literal["warn"] = "warn",
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float | np.ndarray:
    """Precision over all nodes.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences. Labels may be of any
        hashable type. Label images and other multidimensional arrays are flattened.
    labels : list of labels, default=None
        Labels to average over, in this order. Default: all labels that occur, sorted if possible.
    average : {"weighted", "macro", "micro", "binary"} or None, default="weighted"
        As in scikit-learn; ``None`` returns the score of each label.
    pos_label : label, default=1
        The label to score with ``average="binary"``.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        Value of 0 / 0, as in scikit-learn.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. Nodes whose true label is None or NaN are ignored as well;
        with ``ignore_label=None`` such labels raise an error.

    Returns
    -------
    score : float or ndarray of shape (n_labels,)
        Each node has the weight of its sequence.

    Examples
    --------
    >>> from sstruct.metrics import flat_precision_score
    >>> y_true, y_pred = [["B", "I", "O"], ["O"]], [["B", "O", "O"], ["B"]]
    >>> flat_precision_score(y_true, y_pred, labels=["B", "O"], average="macro")
    0.5
    """
    flat = FlatLabels(y_true, y_pred, sample_weight, ignore_label)
    return flat.score(precision_score, labels, average, pos_label, zero_division)


def flat_recall_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    labels: Iterable[Any] | None = None,
    average: Literal["weighted", "macro", "micro", "binary"] | None = "weighted",
    pos_label: Any = 1,
    zero_division: float | Literal["warn"] = "warn",
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float | np.ndarray:
    """Recall over all nodes.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences. Labels may be of any
        hashable type. Label images and other multidimensional arrays are flattened.
    labels : list of labels, default=None
        Labels to average over, in this order. Default: all labels that occur, sorted if possible.
    average : {"weighted", "macro", "micro", "binary"} or None, default="weighted"
        As in scikit-learn; ``None`` returns the score of each label.
    pos_label : label, default=1
        The label to score with ``average="binary"``.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        Value of 0 / 0, as in scikit-learn.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. Nodes whose true label is None or NaN are ignored as well;
        with ``ignore_label=None`` such labels raise an error.

    Returns
    -------
    score : float or ndarray of shape (n_labels,)
        Each node has the weight of its sequence.

    Examples
    --------
    >>> from sstruct.metrics import flat_recall_score
    >>> y_true, y_pred = [["B", "I", "O"], ["O"]], [["B", "O", "O"], ["B"]]
    >>> flat_recall_score(y_true, y_pred, labels=["B", "O"], average="macro")
    0.75
    """
    flat = FlatLabels(y_true, y_pred, sample_weight, ignore_label)
    return flat.score(recall_score, labels, average, pos_label, zero_division)


def flat_classification_report(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    labels: Iterable[Any] | None = None,
    target_names: Sequence[str] | None = None,
    digits: int = 2,
    output_dict: bool = False,
    zero_division: float | Literal["warn"] = "warn",
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> str | dict[str, Any]:
    """Report precision, recall and F1 score of each label over all nodes.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences. Labels may be of any
        hashable type. Label images and other multidimensional arrays are flattened.
    labels : list of labels, default=None
        Labels to report, in this order. Default: all labels that occur, sorted if possible.
    target_names : list of str, default=None
        Names to show instead of the labels.
    digits : int, default=2
        Number of digits after the decimal point.
    output_dict : bool, default=False
        Whether to return a dict instead of a string.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        Value of 0 / 0, as in scikit-learn.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. Nodes whose true label is None or NaN are ignored as well;
        with ``ignore_label=None`` such labels raise an error.

    Returns
    -------
    report : str or dict
        The output of scikit-learn's ``classification_report``.

    Examples
    --------
    >>> from sstruct.metrics import flat_classification_report
    >>> y_true, y_pred = [["B", "I", "O"], ["O"]], [["B", "I", "O"], ["B"]]
    >>> report = flat_classification_report(y_true, y_pred, output_dict=True)
    >>> report["O"]["recall"]
    0.5
    """
    flat = FlatLabels(y_true, y_pred, sample_weight, ignore_label)
    labels = flat.labels if labels is None else list(labels)
    return classification_report(
        flat.true,
        flat.predicted,
        labels=flat.codes_of(labels),
        target_names=[str(label) for label in labels] if target_names is None else target_names,
        digits=digits,
        output_dict=output_dict,
        zero_division=zero_division,
        sample_weight=flat.weights,
    )


def sequence_accuracy_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float:
    """Fraction of sequences in which every label is correct.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences. Labels may be of any
        hashable type. Label images and other multidimensional arrays are flattened.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. Nodes whose true label is None or NaN are ignored as well;
        with ``ignore_label=None`` such labels raise an error.

    Returns
    -------
    score : float
        ``sum_i s_i [all nodes of sequence i are correct] / sum_i s_i`` over the sequences with at
        least one scored node.

    Examples
    --------
    >>> from sstruct.metrics import sequence_accuracy_score
    >>> sequence_accuracy_score([["B", "I", "O"], ["O"]], [["B", "O", "O"], ["O"]])
    0.5
    """
    flat = FlatLabels(y_true, y_pred, sample_weight, ignore_label)
    wrong = np.bincount(flat.sequence, flat.true != flat.predicted, minlength=flat.n_sequences)
    counted = np.bincount(flat.sequence, minlength=flat.n_sequences) > 0
    weights = None if flat.sequence_weights is None else flat.sequence_weights[counted]
    return float(np.average(wrong[counted] == 0, weights=weights))


def chunk_precision_recall_f1(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> tuple[float, float, float]:
    """Precision, recall and F1 score of chunks, counted as by the conlleval script.

    A chunk is correct if its type and both ends are correct. Tags are ``B-type``, ``I-type`` and
    ``O``; a chunk starts at B, and also at an I that follows O, another type or nothing.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences. Labels may be of any
        hashable type. Label images and other multidimensional arrays are flattened.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. Nodes whose true label is None or NaN are ignored as well;
        with ``ignore_label=None`` such labels raise an error.
        Such a node ends a chunk, like O.

    Returns
    -------
    precision, recall, f1 : float
        Computed from the numbers of chunks, weighted by sequence; 0 if there are no chunks.

    References
    ----------
    .. [1] E. F. Tjong Kim Sang, S. Buchholz. Introduction to the CoNLL-2000 Shared Task: Chunking.
       CoNLL 2000.

    Examples
    --------
    >>> from sstruct.metrics import chunk_precision_recall_f1
    >>> y_true = [["B-NP", "I-NP", "O", "B-VP"]]
    >>> chunk_precision_recall_f1(y_true, [["B-NP", "I-NP", "B-VP", "B-VP"]])
    (0.666..., 1.0, 0.8)
    """
    y_true, y_pred = matched(y_true, y_pred)
    weights = check_weights(sample_weight, len(y_true))
    right = n_predicted = n_true = 0.0
    for i, (true, predicted) in enumerate(zip(y_true, y_pred)):
        if ignore_label is not None:
            unknown = unknown_labels(true, ignore_label)
            ignored = [label in unknown for label in true]
            true = ["O" if skip else tag for tag, skip in zip(true, ignored)]
            predicted = ["O" if skip else tag for tag, skip in zip(predicted, ignored)]
        true = set(chunks_of(true, f"y_true[{i}]"))
        predicted = set(chunks_of(predicted, f"y_pred[{i}]"))
        weight = 1.0 if weights is None else weights[i]
        right += weight * len(true & predicted)
        n_true += weight * len(true)
        n_predicted += weight * len(predicted)
    precision = right / n_predicted if n_predicted else 0.0
    recall = right / n_true if n_true else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return float(precision), float(recall), float(f1)


def chunk_f1_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float:
    """F1 score of chunks, counted as by the conlleval script.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences. Labels may be of any
        hashable type. Label images and other multidimensional arrays are flattened.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. Nodes whose true label is None or NaN are ignored as well;
        with ``ignore_label=None`` such labels raise an error.

    Returns
    -------
    score : float
        The last value returned by :func:`chunk_precision_recall_f1`.

    Examples
    --------
    >>> from sstruct.metrics import chunk_f1_score
    >>> chunk_f1_score([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "B-VP"]])
    0.666...
    """
    return chunk_precision_recall_f1(
        y_true, y_pred, sample_weight=sample_weight, ignore_label=ignore_label
    )[2]


def make_flat_scorer(metric: Callable[..., Any], **kwargs: Any) -> Callable[..., float]:
    """Make a scorer for scikit-learn's model selection from a metric of this module.

    Parameters
    ----------
    metric : callable
        A function of y_true and y_pred, such as :func:`flat_f1_score`; higher must be better.
    **kwargs : dict
        Further arguments of the metric, such as `average`.

    Returns
    -------
    scorer : callable
        For the `scoring` parameter of ``GridSearchCV`` and similar tools. It can be pickled if the
        metric can.

    Examples
    --------
    >>> from sstruct.metrics import flat_f1_score, make_flat_scorer
    >>> make_flat_scorer(flat_f1_score, average="macro")
    make_scorer(flat_f1_score, response_method='predict', average=macro)
    """
    return make_scorer(metric, **kwargs)


flat_accuracy_scorer = make_flat_scorer(flat_accuracy_score)
sequence_accuracy_scorer = make_flat_scorer(sequence_accuracy_score)
chunk_f1_scorer = make_flat_scorer(chunk_f1_score)
