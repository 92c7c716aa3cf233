"""Metrics of the probabilities of labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.parameters import check_choice, check_number
from sstruct.metrics._flat_probabilities import FlatProbabilities

STRATEGIES = ("uniform", "quantile")


def flat_log_loss(
    y_true: Iterable[Any],
    y_proba: Iterable[Any],
    *,
    labels: Iterable[Any],
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float:
    """Mean negative logarithm of the probabilities of the true labels of all nodes.

    Parameters
    ----------
    y_true : list of n label sequences
        True labels. Those that are not in `labels` have probability 0.
    y_proba : list of n arrays of shape (L_i, K)
        Probabilities, as returned by ``predict_proba`` of
        :class:`~sstruct.calibration.CalibratedSSVM`. For images, arrays (H, W, K).
    labels : list of K labels
        The label of each column, such as ``classes_``.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error.

    Returns
    -------
    loss : float
        Nonnegative; lower is better. As in scikit-learn's ``log_loss``, probabilities are at least
        the machine precision, 2.2e-16.

    Examples
    --------
    >>> from sstruct.metrics import flat_log_loss
    >>> y_proba = [[[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5]]]
    >>> round(flat_log_loss([["a", "b"], ["b"]], y_proba, labels=["a", "b"]), 3)
    0.558
    """
    flat = FlatProbabilities(y_true, y_proba, labels, sample_weight, ignore_label)
    return flat.mean(-np.log(np.clip(flat.of_truth(), np.finfo(float).eps, 1)))


def flat_brier_score_loss(
    y_true: Iterable[Any],
    y_proba: Iterable[Any],
    *,
    labels: Iterable[Any],
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float:
    """Mean squared error of the probabilities of all nodes, summed over the labels.

    Parameters
    ----------
    y_true : list of n label sequences
        True labels. Those that are not in `labels` have probability 0.
    y_proba : list of n arrays of shape (L_i, K)
        Probabilities, as returned by ``predict_proba`` of
        :class:`~sstruct.calibration.CalibratedSSVM`. For images, arrays (H, W, K).
    labels : list of K labels
        The label of each column, such as ``classes_``.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error.

    Returns
    -------
    loss : float
        Between 0 and 2; lower is better. For two labels, twice the default of scikit-learn's
        ``brier_score_loss``, which counts only one of them.

    Examples
    --------
    >>> from sstruct.metrics import flat_brier_score_loss
    >>> y_proba = [[[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5]]]
    >>> flat_brier_score_loss([["a", "b"], ["b"]], y_proba, labels=["a", "b"])
    0.375
    """
    flat = FlatProbabilities(y_true, y_proba, labels, sample_weight, ignore_label)
    truth = flat.codes[:, np.newaxis] == np.arange(flat.tables.shape[1])
    unseen = flat.codes < 0  # their own label has probability 0
    return flat.mean(((flat.tables - truth) ** 2).sum(axis=1) + unseen)


def flat_calibration_error(
    y_true: Iterable[Any],
    y_proba: Iterable[Any],
    *,
    labels: Iterable[Any],
    n_bins: int = 10,
    strategy: Literal["uniform", "quantile"] = "uniform",
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> float:
    r"""Expected calibration error of the most probable label of each node.

    Parameters
    ----------
    y_true : list of n label sequences
        True labels. Those that are not in `labels` have probability 0.
    y_proba : list of n arrays of shape (L_i, K)
        Probabilities, as returned by ``predict_proba`` of
        :class:`~sstruct.calibration.CalibratedSSVM`. For images, arrays (H, W, K).
    labels : list of K labels
        The label of each column, such as ``classes_``.
    n_bins : int, default=10
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        As in scikit-learn's ``calibration_curve``: bins of equal width, or with equal numbers of
        nodes.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error.

    Returns
    -------
    error : float
        The absolute difference of the mean probability of the most probable label and the accuracy
        in each bin, averaged over the bins with their weighted numbers of nodes as weights. Between
        0 and 1; lower is better.

    Notes
    -----
    Bins with few nodes increase the error, which is not 0 even for the true probabilities. Compare
    models on the same nodes. See [1]_.

    References
    ----------
    .. [1] M. P. Naeini, G. F. Cooper, M. Hauskrecht. Obtaining Well Calibrated Probabilities Using
       Bayesian Binning. AAAI 2015.

    Examples
    --------
    >>> from sstruct.metrics import flat_calibration_error
    >>> y_proba = [[[0.4, 0.6], [0.25, 0.75]], [[0.4, 0.6]]]
    >>> round(flat_calibration_error([["a", "b"], ["b"]], y_proba, labels=["a", "b"]), 3)
    0.15
    """
    check_number("n_bins", n_bins, least=1, whole=True)
    check_choice("strategy", strategy, STRATEGIES)
    flat = FlatProbabilities(y_true, y_proba, labels, sample_weight, ignore_label)
    probability, right = flat.events()
    edges = np.linspace(0, 1, int(n_bins) + 1)
    if strategy == "quantile":
        edges = np.quantile(probability, edges)
    index = np.searchsorted(edges[1:-1], probability)
    bias = np.bincount(index, weights=flat.weights * (probability - right))
    return float(np.abs(bias).sum() / flat.weights.sum())
