"""Metrics for predicted spans, such as named entities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import (
    classification_report,
    confusion_matrix,
    f1_score,
    precision_score,
    recall_score,
)

from sstruct._input.label_schemes import LabelCodes
from sstruct.metrics._flat_labels import averaged
from sstruct.metrics._flat_spans import read_spans, same_bounds, sorted_types
from sstruct.metrics._scores import make_flat_scorer
from sstruct.spans import Invalid, Scheme

Average = Literal["micro", "macro", "weighted"]
NO_SPAN = -1


class FlatSpans:
    """True and predicted spans as the labels of a classification problem.

    The items are all spans of y_true and y_pred. A true and a predicted span with equal bounds and
    types are one item; with `by_bounds`, so are those with equal bounds and different types. The
    code of an item is its type, or NO_SPAN if y_true or y_pred does not have it.
    """

    def __init__(
        self, y_true, y_pred, scheme, invalid, suffix, sample_weight, ignore_label, by_bounds=False
    ):
        table = LabelCodes(scheme, suffix)
        true, predicted, weights = read_spans(
            y_true, y_pred, table, invalid, sample_weight, ignore_label
        )
        match = same_bounds(true, predicted)
        if not by_bounds:
            kind = np.append(predicted.kind, NO_SPAN)  # for the index -1
            match = np.where(kind[match] == true.kind, match, -1)
        matched = match >= 0
        rest = np.ones(len(predicted.start), dtype=bool)
        rest[match[matched]] = False
        counterpart = np.full(len(match), NO_SPAN)
        counterpart[matched] = predicted.kind[match[matched]]
        true_kind = np.append(true.kind, np.full(rest.sum(), NO_SPAN))
        predicted_kind = np.append(counterpart, predicted.kind[rest])
        self.types, code = sorted_types(true, predicted)
        self.true, self.predicted = code[true_kind], code[predicted_kind]
        self.weights = None
        if weights is not None:
            self.weights = weights[np.append(true.sequence(), predicted.sequence()[rest])]

    def score(self, metric, average, zero_division):
        """Return a metric of scikit-learn over the types."""
        options = {"average": average, "zero_division": zero_division}
        if not self.types and average is not None:  # 0 / 0
            options["labels"] = [NO_SPAN + 1]
            return float(metric([NO_SPAN], [NO_SPAN], **options))
        if not self.types:
            return np.empty(0)
        return averaged(metric, self, labels=range(len(self.types)), **options)


def span_f1_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    scheme: Scheme = "bio",
    average: Average | None = "micro",
    invalid: Invalid = "repair",
    suffix: bool = False,
    zero_division: float | Literal["warn"] = "warn",
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float | np.ndarray:
    """F1 score of spans.

    A span is correct if its type and both of its bounds are correct.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences.
    scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
        The scheme of the labels, see :func:`sstruct.spans.spans_of`.
    average : {"micro", "macro", "weighted"} or None, default="micro"
        ``"micro"`` counts the spans of all types together; ``"macro"`` is the mean over the types,
        ``"weighted"`` the mean weighted by their number of true spans, and ``None`` returns the
        score of each type, in sorted order.
    invalid : {"repair", "drop", "raise"}, default="repair"
        How to treat labels that do not follow the scheme: as the script conlleval and the default
        mode of seqeval, as its strict mode, or by an error.
    suffix : bool, default=False
        Whether the letter follows the type, as in ``"PER-B"``.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        Value of 0 / 0, as in scikit-learn.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. An ignored node ends a span, like O.

    Returns
    -------
    score : float or ndarray of shape (n_types,)
        Each span has the weight of its sequence.

    See Also
    --------
    span_classification_report : Scores of all types in one table.

    Examples
    --------
    >>> from sstruct.metrics import span_f1_score
    >>> y_true = [["B-PER", "E-PER", "O", "S-LOC"]]
    >>> y_pred = [["B-PER", "E-PER", "O", "O"]]
    >>> span_f1_score(y_true, y_pred, scheme="bioes")
    0.666...
    """
    spans = FlatSpans(y_true, y_pred, scheme, invalid, suffix, sample_weight, ignore_label)
    return spans.score(f1_score, average, zero_division)


def span_precision_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    scheme: Scheme = "bio",
    average: Average | None = "micro",
    invalid: Invalid = "repair",
    suffix: bool = False,
    zero_division: float | Literal["warn"] = "warn",
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float | np.ndarray:
    """Precision of spans: the fraction of predicted spans that are correct.

    A span is correct if its type and both of its bounds are correct.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences.
    scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
        The scheme of the labels, see :func:`sstruct.spans.spans_of`.
    average : {"micro", "macro", "weighted"} or None, default="micro"
        ``"micro"`` counts the spans of all types together; ``"macro"`` is the mean over the types,
        ``"weighted"`` the mean weighted by their number of true spans, and ``None`` returns the
        score of each type, in sorted order.
    invalid : {"repair", "drop", "raise"}, default="repair"
        How to treat labels that do not follow the scheme: as the script conlleval and the default
        mode of seqeval, as its strict mode, or by an error.
    suffix : bool, default=False
        Whether the letter follows the type, as in ``"PER-B"``.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        Value of 0 / 0, as in scikit-learn.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. An ignored node ends a span, like O.

    Returns
    -------
    score : float or ndarray of shape (n_types,)
        Each span has the weight of its sequence.

    See Also
    --------
    span_classification_report : Scores of all types in one table.

    Examples
    --------
    >>> from sstruct.metrics import span_precision_score
    >>> y_true = [["B-PER", "E-PER", "O", "S-LOC"]]
    >>> y_pred = [["B-PER", "E-PER", "O", "O"]]
    >>> span_precision_score(y_true, y_pred, scheme="bioes")
    1.0
    """
    spans = FlatSpans(y_true, y_pred, scheme, invalid, suffix, sample_weight, ignore_label)
    return spans.score(precision_score, average, zero_division)


def span_recall_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    scheme: Scheme = "bio",
    average: Average | None = "micro",
    invalid: Invalid = "repair",
    suffix: bool = False,
    zero_division: float | Literal["warn"] = "warn",
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float | np.ndarray:
    """Recall of spans: the fraction of true spans that are predicted.

    A span is correct if its type and both of its bounds are correct.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences.
    scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
        The scheme of the labels, see :func:`sstruct.spans.spans_of`.
    average : {"micro", "macro", "weighted"} or None, default="micro"
        ``"micro"`` counts the spans of all types together; ``"macro"`` is the mean over the types,
        ``"weighted"`` the mean weighted by their number of true spans, and ``None`` returns the
        score of each type, in sorted order.
    invalid : {"repair", "drop", "raise"}, default="repair"
        How to treat labels that do not follow the scheme: as the script conlleval and the default
        mode of seqeval, as its strict mode, or by an error.
    suffix : bool, default=False
        Whether the letter follows the type, as in ``"PER-B"``.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        Value of 0 / 0, as in scikit-learn.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. An ignored node ends a span, like O.

    Returns
    -------
    score : float or ndarray of shape (n_types,)
        Each span has the weight of its sequence.

    See Also
    --------
    span_classification_report : Scores of all types in one table.

    Examples
    --------
    >>> from sstruct.metrics import span_recall_score
    >>> y_true = [["B-PER", "E-PER", "O", "S-LOC"]]
    >>> y_pred = [["B-PER", "E-PER", "O", "O"]]
    >>> span_recall_score(y_true, y_pred, scheme="bioes")
    0.5
    """
    spans = FlatSpans(y_true, y_pred, scheme, invalid, suffix, sample_weight, ignore_label)
    return spans.score(recall_score, average, zero_division)


@overload
def span_classification_report(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    scheme: Scheme = ...,
    digits: int = ...,
    output_dict: Literal[False] = ...,
    invalid: Invalid = ...,
    suffix: bool = ...,
    zero_division: float | Literal["warn"] = ...,
    sample_weight: ArrayLike | None = ...,
    ignore_label: Any = ...,
) -> str: ...
@overload
def span_classification_report(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    scheme: Scheme = ...,
    digits: int = ...,
    output_dict: Literal[True],
    invalid: Invalid = ...,
    suffix: bool = ...,
    zero_division: float | Literal["warn"] = ...,
    sample_weight: ArrayLike | None = ...,
    ignore_label: Any = ...,
) -> dict[str, Any]: ...
def span_classification_report(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    scheme: Scheme = "bio",
    digits: int = 2,
    output_dict: bool = False,
    invalid: Invalid = "repair",
    suffix: bool = False,
    zero_division: float | Literal["warn"] = "warn",
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> str | dict[str, Any]:
    """Report precision, recall and F1 score of the spans of each type.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences.
    scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
        The scheme of the labels, see :func:`sstruct.spans.spans_of`.
    digits : int, default=2
        Number of digits after the decimal point.
    output_dict : bool, default=False
        Whether to return a dict instead of a string. ``pandas.DataFrame(report).T`` is a table.
    invalid : {"repair", "drop", "raise"}, default="repair"
        How to treat labels that do not follow the scheme: as the script conlleval and the default
        mode of seqeval, as its strict mode, or by an error.
    suffix : bool, default=False
        Whether the letter follows the type, as in ``"PER-B"``.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        Value of 0 / 0, as in scikit-learn.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. An ignored node ends a span, like O.

    Returns
    -------
    report : str or dict
        The output of scikit-learn's ``classification_report`` with a row for each type, where
        spans without types are in the row ``"span"``, and the micro, macro and weighted averages.

    Raises
    ------
    ValueError
        If there are no spans.

    Examples
    --------
    >>> from sstruct.metrics import span_classification_report
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> y_pred = [["B-PER", "I-PER", "O", "B-PER"]]
    >>> print(span_classification_report(y_true, y_pred, zero_division=0.0))
                  precision    recall  f1-score   support
    <BLANKLINE>
             LOC       0.00      0.00      0.00         1
             PER       0.50      1.00      0.67         1
    <BLANKLINE>
       micro avg       0.50      0.50      0.50         2
       macro avg       0.25      0.50      0.33         2
    weighted avg       0.25      0.50      0.33         2
    <BLANKLINE>
    """
    spans = FlatSpans(y_true, y_pred, scheme, invalid, suffix, sample_weight, ignore_label)
    if not spans.types:
        raise ValueError("y_true and y_pred have no spans to report")
    return classification_report(
        np.append(spans.true, NO_SPAN),  # scikit-learn omits the micro average of all classes
        np.append(spans.predicted, NO_SPAN),
        labels=range(len(spans.types)),
        target_names=[kind or "span" for kind in spans.types],
        digits=digits,
        output_dict=output_dict,
        zero_division=zero_division,
        sample_weight=None if spans.weights is None else np.append(spans.weights, 0.0),
    )


def span_confusion_matrix(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    scheme: Scheme = "bio",
    invalid: Invalid = "repair",
    suffix: bool = False,
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> tuple[np.ndarray, list[str]]:
    """Count the types of true and predicted spans with the same bounds.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences.
    scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
        The scheme of the labels, see :func:`sstruct.spans.spans_of`.
    invalid : {"repair", "drop", "raise"}, default="repair"
        How to treat labels that do not follow the scheme: as the script conlleval and the default
        mode of seqeval, as its strict mode, or by an error.
    suffix : bool, default=False
        Whether the letter follows the type, as in ``"PER-B"``.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. An ignored node ends a span, like O.

    Returns
    -------
    matrix : ndarray of shape (n_types + 1, n_types + 1)
        ``matrix[j, k]`` is the number of spans of type j that are predicted as type k. The last
        column has the true spans without a prediction of the same bounds, and the last row the
        predicted spans without a true one.
    types : list of str of length n_types
        The types that occur, sorted.

    Examples
    --------
    >>> from sstruct.metrics import span_confusion_matrix
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> y_pred = [["B-PER", "I-PER", "O", "B-PER"]]
    >>> matrix, types = span_confusion_matrix(y_true, y_pred)
    >>> types
    ['LOC', 'PER']
    >>> matrix
    array([[0, 1, 0],
           [0, 1, 0],
           [0, 0, 0]])
    """
    spans = FlatSpans(
        y_true, y_pred, scheme, invalid, suffix, sample_weight, ignore_label, by_bounds=True
    )
    if not spans.types:
        return np.zeros((1, 1), dtype=np.int64), []
    matrix = confusion_matrix(
        spans.true,
        spans.predicted,
        labels=[*range(len(spans.types)), NO_SPAN],
        sample_weight=spans.weights,
    )
    return matrix, spans.types


def chunk_precision_recall_f1(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> tuple[float, float, float]:
    """Precision, recall and F1 score of chunks, counted as by the conlleval script.

    A chunk is correct if its type and both ends are correct. Tags are ``B-type``, ``I-type`` and
    ``O``, as in [1]_; a chunk starts at B, and also at an I that is the first tag or follows O or
    another type.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels in BIO format, as a list, an object array or Sequences.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. An ignored node ends a chunk, like O.

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
    spans = FlatSpans(y_true, y_pred, "bio", "repair", False, sample_weight, ignore_label)
    precision, recall, f1 = (
        spans.score(metric, "micro", 0.0) for metric in (precision_score, recall_score, f1_score)
    )
    return precision, recall, f1


def chunk_f1_score(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float:
    """F1 score of chunks in BIO labels, counted as by the conlleval script.

    This is :func:`span_f1_score` with its default options, except that 0 / 0 is 0.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels in BIO format, as a list, an object array or Sequences.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. An ignored node ends a chunk, like O.

    Returns
    -------
    score : float
        The F1 score; 0 if there are no chunks.

    Examples
    --------
    >>> from sstruct.metrics import chunk_f1_score
    >>> chunk_f1_score([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "B-VP"]])
    0.666...
    """
    spans = FlatSpans(y_true, y_pred, "bio", "repair", False, sample_weight, ignore_label)
    return spans.score(f1_score, "micro", 0.0)


chunk_f1_scorer = make_flat_scorer(chunk_f1_score)
