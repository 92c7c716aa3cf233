"""Coverage and size of prediction sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arrays import check_listed, type_name, without_view
from sstruct._checks.parameters import check_choice
from sstruct._input.ragged import NoNodesError, check_weights
from sstruct.metrics._flat_labels import as_lists, unknown_labels
from sstruct.metrics._flat_probabilities import FlatTables, flat_tables


def flat_coverage_score(
    y_true: Iterable[Any],
    y_pred_set: Iterable[Any],
    *,
    labels: Iterable[Any],
    average: Literal["samples", "micro"] = "samples",
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float:
    """Fraction of nodes whose set contains the true label.

    Parameters
    ----------
    y_true : list of n label sequences
        True labels. Sets do not contain those that are not in `labels`.
    y_pred_set : list of n arrays of bool of shape (L_i, K)
        Whether each label belongs to the set of each node, as returned by ``predict_set`` of
        :class:`~sstruct.calibration.ConformalSSVM` for ``target="nodes"``. For one label per
        sample, as of MulticlassSSVM, pass lists of length 1: ``[y_true]`` and ``[y_pred_set]``.
    labels : list of K labels
        The label of each column, such as ``classes_``; for label sets ``[0, 1]``.
    average : {"samples", "micro"}, default="samples"
        The mean of the fractions of each sequence, which ConformalSSVM bounds, or the fraction of
        all nodes.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error.

    Returns
    -------
    score : float
        Between 0 and 1. The name is that of MAPIE's ``classification_coverage_score``.

    Examples
    --------
    >>> from sstruct.metrics import flat_coverage_score
    >>> y_pred_set = [[[True, False], [True, True]], [[True, False]]]
    >>> flat_coverage_score([["a", "b"], ["b"]], y_pred_set, labels=["a", "b"])
    0.5
    """
    check_choice("average", average, ("samples", "micro"))
    flat = FlatTables(y_true, y_pred_set, "y_pred_set", labels, sample_weight, ignore_label)
    _check_boolean(flat.tables)
    weights = flat.weights
    if average == "samples":
        weights = weights / np.bincount(flat.sequence)[flat.sequence]
    return float(np.average(flat.of_truth(), weights=weights))


def flat_mean_width_score(y_pred_set: Iterable[Any]) -> float:
    """Mean number of labels in the sets of all nodes.

    Parameters
    ----------
    y_pred_set : list of n arrays of bool of shape (L_i, K)
        Whether each label belongs to the set of each node, as returned by ``predict_set`` of
        :class:`~sstruct.calibration.ConformalSSVM` for ``target="nodes"``. For one label per
        sample, as of MulticlassSSVM, pass a list of length 1: ``[y_pred_set]``.

    Returns
    -------
    score : float
        Smaller sets are more informative. The name is that of MAPIE's
        ``classification_mean_width_score``.

    Examples
    --------
    >>> from sstruct.metrics import flat_mean_width_score
    >>> flat_mean_width_score([[[True, False], [True, True]], [[True, False]]])
    1.333...
    """
    tables = flat_tables(y_pred_set, "y_pred_set")
    _check_boolean(tables)
    if not len(tables):
        raise NoNodesError("y_pred_set has no nodes, expected at least one")
    return float(tables.sum(axis=1).mean())


def sequence_coverage_score(
    y_true: Iterable[Any],
    y_pred_set: Iterable[Any],
    *,
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float:
    """Fraction of sequences whose set contains the true labeling.

    Parameters
    ----------
    y_true : list of n label sequences
        True labels.
    y_pred_set : list of n arrays of shape (m_i, L_i)
        Labelings, as returned by ``predict_set`` of :class:`~sstruct.calibration.ConformalSSVM` for
        ``target="labelings"``. Of incomplete sets, only the given labelings count.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes whose label in the set does not matter. If it is given, nodes
        whose true label is None or NaN are ignored, too; otherwise, they agree with no label.

    Returns
    -------
    score : float
        Between 0 and 1, over the sequences with a known label. The name is that of MAPIE's
        ``classification_coverage_score``.

    Examples
    --------
    >>> from sstruct.metrics import sequence_coverage_score
    >>> sets = [[["B", "I"], ["B", "B"]], [["O"]]]
    >>> sequence_coverage_score([["B", "B"], ["B"]], sets)
    0.5
    """
    truths = as_lists(y_true, "y_true")
    weights = check_weights(sample_weight, len(truths))
    sets = _as_sets(y_pred_set)
    if len(sets) != len(truths):
        raise ValueError(f"y_pred_set has {len(sets)} sets, expected {len(truths)}")
    covered, counted = np.zeros((2, len(truths)), dtype=bool)
    for i, (labels, own) in enumerate(zip(truths, sets, strict=True)):
        unknown = set() if ignore_label is None else unknown_labels(labels, ignore_label)
        known = [v for v, label in enumerate(labels) if label not in unknown]
        counted[i] = bool(known)
        for labeling in as_lists(own, f"y_pred_set[{i}]"):
            if len(labeling) != len(labels):
                raise ValueError(
                    f"y_pred_set[{i}] has a labeling of {len(labeling)} nodes, expected "
                    f"{len(labels)}"
                )
            if all(labeling[v] == labels[v] for v in known):
                covered[i] = True
                break
    if not weights[counted].any():
        raise NoNodesError("there is no node to score, or none with a weight")
    return float(np.average(covered[counted], weights=weights[counted]))


def sequence_mean_width_score(y_pred_set: Iterable[Any]) -> float:
    """Mean number of labelings in the sets of all sequences.

    Parameters
    ----------
    y_pred_set : list of n arrays of shape (m_i, L_i)
        Labelings, as returned by ``predict_set`` of :class:`~sstruct.calibration.ConformalSSVM` for
        ``target="labelings"``. Of incomplete sets, only the given labelings count.

    Returns
    -------
    score : float
        Smaller sets are more informative. The name is that of MAPIE's
        ``classification_mean_width_score``.

    Examples
    --------
    >>> from sstruct.metrics import sequence_mean_width_score
    >>> sequence_mean_width_score([[["B", "I"], ["B", "B"]], [["O"]]])
    1.5
    """
    sizes = [len(own) for own in _as_sets(y_pred_set)]
    if not sizes:
        raise ValueError("y_pred_set is empty, expected at least one set")
    return float(np.mean(sizes))


def _as_sets(y_pred_set):
    """Return the sets as a list, each with a length."""
    check_listed(y_pred_set, "y_pred_set", "sets", type_name)
    sets = list(without_view(y_pred_set))
    for i, own in enumerate(sets):
        check_listed(own, f"y_pred_set[{i}]", "labelings", "{!r:.50}".format)
    return sets


def _check_boolean(tables):
    if tables.dtype != bool:
        raise TypeError(f"y_pred_set must have arrays of bool, found dtype {tables.dtype}")
