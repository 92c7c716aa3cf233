"""Metrics for predicted label sequences, over nodes, sequences and chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, signature
from typing import Any, Literal, overload

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

from sstruct.metrics._flat_labels import FlatLabels


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
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error.

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
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error.

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
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error.

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
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error.

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


@overload
def flat_classification_report(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    labels: Iterable[Any] | None = ...,
    target_names: Sequence[str] | None = ...,
    digits: int = ...,
    output_dict: Literal[False] = ...,
    zero_division: float | Literal["warn"] = ...,
    sample_weight: ArrayLike | None = ...,
    ignore_label: Any = ...,
) -> str: ...
@overload
def flat_classification_report(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    labels: Iterable[Any] | None = ...,
    target_names: Sequence[str] | None = ...,
    digits: int = ...,
    output_dict: Literal[True],
    zero_division: float | Literal["warn"] = ...,
    sample_weight: ArrayLike | None = ...,
    ignore_label: Any = ...,
) -> dict[str, Any]: ...
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
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error.

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
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error.

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


def make_flat_scorer(metric: Callable[..., Any], **kwargs: Any) -> Callable[..., float]:
    """Make a scorer for scikit-learn's model selection from a metric of this module.

    Parameters
    ----------
    metric : callable
        A function of y_true and y_pred, such as :func:`flat_f1_score`.
    **kwargs : dict
        Further arguments of the metric, such as `average`, and those of scikit-learn's
        ``make_scorer``: ``greater_is_better=False`` for a loss, and
        ``response_method="predict_proba"`` for a metric of probabilities, which also requires
        `labels`, and scikit-learn 1.9 or later.

    Returns
    -------
    scorer : callable
        For the `scoring` parameter of ``GridSearchCV`` and similar tools. It can be pickled if the
        metric can.

    Raises
    ------
    TypeError
        If the metric requires `labels` and they are missing.

    Examples
    --------
    >>> from sstruct.metrics import flat_f1_score, make_flat_scorer
    >>> make_flat_scorer(flat_f1_score, average="macro")
    make_scorer(flat_f1_score, response_method='predict', average=macro)
    """
    labels = signature(metric).parameters.get("labels")
    if "labels" not in kwargs and labels is not None and labels.default is Parameter.empty:
        raise TypeError(
            f"a scorer of {metric.__name__} requires labels: pass all labels, sorted, here and as "
            "classes of the estimator, since folds may lack some"
        )
    return make_scorer(metric, **kwargs)


flat_accuracy_scorer = make_flat_scorer(flat_accuracy_score)
sequence_accuracy_scorer = make_flat_scorer(sequence_accuracy_score)
