"""What ``lam="auto"`` and ``pairwise_scale="auto"`` stand for, from sizes and scale of the data."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

# lam * n over the features' spread, for samples of one node. By benchmarks/defaults.py the errors
# hardly differ from 0.25 to 0.5.
STRENGTH = 0.4
# The power of the number of nodes. Samples of more nodes do as well with a larger lam, and their
# fits are faster: with images of thousands of pixels ten times.
NODES_POWER = 0.2
# The same for label sets (by benchmarks/multilabel.py), and 1 with pairwise features in proportion
# to node features; both decrease beyond FEW_SAMPLES samples (benchmarks/notes/defaults.md).
LABEL_SET_STRENGTH = 0.6
FEW_SAMPLES = 422
SAMPLES_POWER = 1 / 3
# The least spread, as a share of a row's mean squared norm, and beside a bias: it is with that norm
# over lam n that the number of passes grows, to somewhat below `max_iter` at these.
LEAST_SHARE = 1 / 400
LEAST_BESIDE_BIAS = 1 / 40
# The size of pairwise features over the root mean square norm of a node's features, by
# benchmarks/pairwise_scale.py.
PAIRWISE_SHARE = 0.5
# Entries of features that are looked at together.
AT_ONCE = 2**19


@dataclass(frozen=True)
class TrainedNodes:
    """What the scale of a fit's data is read from.

    Attributes
    ----------
    features : ndarray or CSR matrix of shape (n_rows, n_features)
    weight : ndarray of shape (n_rows,)
        Weight of each row's sample; 0 where the row is not trained on.
    n_nodes : float
        Nodes of a sample that are trained on, on average over samples; 1 for label sets.
    mean_cost : float
        What a wrong node costs, on average over nodes (`mean_cost`).
    bias : bool
    cost_spread : float
        How much the costs of labels in sets differ (`cost_spread`); 1 for labels of nodes.
    n_windows : float
        Windows that a sample is cut into, on average over samples.
    label_sets : bool
        Whether the samples are label sets.
    """

    features: Any
    weight: np.ndarray
    n_nodes: float
    mean_cost: float
    bias: bool
    cost_spread: float = 1.0
    n_windows: float = 1.0
    label_sets: bool = False


@dataclass(frozen=True)
class Scale:
    """What is read from some of the samples, which that of others may be added to.

    Attributes
    ----------
    moments : tuple of (float, ndarray, ndarray, ndarray)
        Of the rows: weight, and of each feature the weight of rows where it is not 0, mean, and
        squares about it.
    total_weight : float
        Of the samples.
    n_nodes, mean_cost, bias, cost_spread, n_windows, label_sets : as in `TrainedNodes`
    """

    moments: tuple
    total_weight: float
    n_nodes: float
    mean_cost: float
    bias: bool
    cost_spread: float = 1.0
    n_windows: float = 1.0
    label_sets: bool = False


def scale_of(nodes, total_weight):
    """Return the Scale of TrainedNodes, of samples of a total weight."""
    return Scale(
        _moments(nodes.features, nodes.weight),
        total_weight,
        nodes.n_nodes,
        nodes.mean_cost,
        nodes.bias,
        nodes.cost_spread,
        nodes.n_windows,
        nodes.label_sets,
    )


def joined(scales):
    """Return the Scale of all samples from those of parts of them."""
    weights = np.array([scale.total_weight for scale in scales])
    nodes = weights * [scale.n_nodes for scale in scales]
    costs = nodes * [scale.mean_cost for scale in scales]
    with np.errstate(over="ignore", invalid="ignore"):
        moments = _joined([scale.moments for scale in scales])
    spread = 1.0
    if any(scale.cost_spread != 1 for scale in scales):
        squares = costs @ [scale.mean_cost * scale.cost_spread for scale in scales]
        spread = float(squares * nodes.sum() / costs.sum() ** 2)
    return Scale(
        moments,
        float(weights.sum()),
        float(nodes.sum() / weights.sum()),
        float(costs.sum() / nodes.sum()),
        scales[0].bias,
        spread,
        float(weights @ [scale.n_windows for scale in scales] / weights.sum()),
        scales[0].label_sets,
    )


def pairwise_from_scale(scale):
    """Return a size of pairwise features in proportion to the norm of a node's features.

    0.5 times the root mean square norm: node features times t give t times the size, and with
    ``lam="auto"`` the same predictions. Weight k is k copies. 1 if all features are 0.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total, _, mean, squares = scale.moments
        return float(PAIRWISE_SHARE * np.sqrt((squares / total + mean**2).sum())) or 1.0


def lam_from_scale(scale, slack=False, pairwise_scale=1.0, proportional=False):
    r"""Return a lam that asks for about as much whatever the scale of features and loss.

    .. math:: \lambda = 0.4\, \frac{V m^{1/5}}{n\, c}

    for the features' spread V (`feature_spread`), m nodes a sample, or a window of one, on average,
    the samples' total weight n, and c, what a wrong node costs on average: 1 for
    ``"hamming-count"``. Features times t give lam times t^2, costs times t lam over t: in both
    cases the labels predicted are the same (but for the regularized bias), as they are whether
    losses are divided by the number of nodes or not (for samples of one size). With pairwise
    features in proportion to node features,

    .. math:: \lambda = \frac{V}{n\, c} \min\left(1, \frac{7.5}{b^{1/3}}\right)

    for b samples or windows of them. For label sets it is 0.6 times that, as larger values lose
    rare labels. Weight k is k copies. With slack rescaling, where costs do not set margins but
    weigh hinges, lam is multiplied by c.

    In sets of labels whose costs differ, as with ``loss="balanced"``, c is the mean weighted by the
    costs themselves (the mean times `cost_spread`). With margin rescaling a cost is a margin: a
    label whose errors cost t times as much needs weights t times as large. The plain mean does not
    see rare labels, since costs that balance on and off have the mean 1 / K however rare "on" is.
    Labels of nodes keep the plain mean, which is better there (benchmarks/notes/defaults.md).

    Parameters
    ----------
    scale : Scale
    slack : bool
        Whether hinge losses are slack-rescaled.
    pairwise_scale : float
        Size of the bias feature, and of other features that are not in the rows.
    proportional : bool
        Whether that is `pairwise_from_scale`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If there is no such number in floating point.

    Notes
    -----
    O(nnz) time. Form and constant were chosen by cross-validation over some thirty sets,
    ``benchmarks/defaults.py``: of the sums of squares and of variances, with and without the bias,
    and powers of these, it is the variance that the best lam n follows. Numbers of nodes and labels
    add little to that; the power of the nodes is for the time of fits.
    """
    spread = _spread(scale.moments, scale.bias * pairwise_scale**2)
    total_weight = scale.total_weight
    cost = scale.mean_cost or 1.0
    if not slack:
        cost *= scale.cost_spread
    if proportional or scale.label_sets:
        more = total_weight * scale.n_windows / FEW_SAMPLES
        strength = LABEL_SET_STRENGTH if scale.label_sets else 1.0
        strength *= min(1.0, more**-SAMPLES_POWER)
    else:
        strength = STRENGTH * (scale.n_nodes / scale.n_windows) ** NODES_POWER
    lam = strength * (spread or 1.0) / total_weight
    lam *= cost if slack else 1 / cost
    if not 0 < lam < np.inf:
        raise ValueError(
            f'lam="auto" is {lam:g} for features of variance {spread:g}, samples of a total weight '
            f"of {total_weight:g} and errors that cost {cost:g}: out of the range of floating "
            "point; scale the features, the weights or the loss, or give a number"
        )
    return float(lam)


def feature_spread(features, weights, bias):
    r"""Return the variance of a row's features, added up; features of outlying scale count less.

    .. math:: V = \max\Big( \Big(\sum_f p_f\Big) \Big(
        \frac{\sum_f p_f (v_f / p_f)^{1/3}}{\sum_f p_f}\Big)^3, \frac{S}{400},
        \frac{1}{40} [\text{bias}] \Big)

    for the variance v_f of feature f, the share p_f of rows in which it is not 0, and S the mean
    squared norm of a row. With one scale in all features, sparse or dense, that is about the sum of
    variances. With one feature a thousand times larger than the others it follows these, so that
    they are not regularized away, as far as a fit then still converges; so it is with features far
    from 0, and with features far smaller than the bias.

    Parameters
    ----------
    features : ndarray or CSR matrix of shape (n_rows, n_features)
    weights : ndarray of shape (n_rows,)
        Not all of them 0.
    bias : bool

    Returns
    -------
    float
        Infinite where the squares of features are.
    """
    return _spread(_moments(features, weights), bias)


def _spread(moments, bias):
    """`feature_spread` from the moments of the features; bias: the square of its feature."""
    with np.errstate(over="ignore", invalid="ignore"):
        total, present, mean, squares = moments
        share, variance = present / total, squares / total
        if not np.isfinite(variance + mean**2).all():
            return np.inf
        squares = variance + mean**2
        least = max(LEAST_SHARE * squares.sum(), LEAST_BESIDE_BIAS * bias)
        # What is left of a constant by rounding is no variance.
        varies = variance > 1e-22 * squares
        share, variance = share[varies], variance[varies]
        if not varies.any():
            return float(least)
        present = share.sum()
        typical = (share * np.cbrt(variance / share)).sum() / present
        return float(max(present * typical**3, least))


def _moments(features, weights):
    """Return the weight of all rows, and of each feature what `_sums` returns."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = (
            (weight.sum(), *_sums(rows, weight, weight.sum()))
            for rows, weight in _parts(features, weights)
            if weight.any()
        )
        return _joined(sums, features.shape[1])


def _joined(sums, n_features=None):
    """Add up moments of parts of the rows."""
    total, out = 0.0, None
    for part, here, center, spread in sums:
        if out is None:
            total, out = part, (here, center, spread)
            continue
        present, mean, squares = out
        # Means of parts differ: their squares about the mean of both.
        step = center - mean
        squares = squares + spread + step**2 * (total * part / (total + part))
        out = present + here, mean + step * (part / (total + part)), squares
        total += part
    return (total, *(np.zeros((3, n_features)) if out is None else out))


def _parts(features, weights):
    """Yield rows and their weights, some at a time: features may be on disk."""
    if sparse.issparse(features):
        at = np.arange(0, features.nnz, max(AT_ONCE, features.shape[1]))
        cuts = np.unique(np.r_[0, np.searchsorted(features.indptr, at), features.shape[0]])
    else:
        step = max(1, AT_ONCE // max(1, features.shape[1]))
        cuts = np.r_[np.arange(0, len(features), step), len(features)]
    for a, b in pairwise(cuts):
        yield features[a:b], weights[a:b]


def _sums(rows, weight, total):
    """Return of each feature the weight of rows where it is not 0, mean, and squares about it."""
    if not sparse.issparse(rows):
        rows, weight = rows.astype(np.float64), weight[:, np.newaxis]
        here = (weight * (rows != 0)).sum(axis=0)
        mean = (weight * rows).sum(axis=0) / total
        rows -= mean
        return here, mean, (weight * rows**2).sum(axis=0)
    columns, values = rows.indices, rows.data.astype(np.float64)
    weight = np.repeat(weight, np.diff(rows.indptr))

    def added(terms):
        return np.bincount(columns, terms, minlength=rows.shape[1])

    stored = added(weight)
    if (values == 1).all():  # words, as a rule: nothing more to add up
        here, mean = stored, stored / total
        squares = stored * (1 - mean) ** 2
    else:
        here = stored if values.all() else added(weight * (values != 0))
        mean = added(weight * values) / total
        squares = added(weight * (values - mean[columns]) ** 2)
    rest = total - stored
    rest[rest < 1e-12 * total] = 0  # rounding
    return here, mean, squares + rest * mean**2


def mean_cost(cost, codes, node_weight, total_weight):
    """Return what a wrong node costs on average.

    Parameters
    ----------
    cost : ndarray of shape (K, K)
        Rows the truth, zero diagonal.
    codes : ndarray of int of shape (n_nodes,)
        True labels.
    node_weight : ndarray of shape (n_nodes,)
        Weight of each node's sample times the node's weight in the loss.
    total_weight : float
        Sum over nodes of the weights of their samples.
    """
    count = np.bincount(codes, weights=node_weight, minlength=len(cost))
    return float((count * cost.sum(axis=1)).sum() / (max(len(cost) - 1, 1) * total_weight))


def cost_spread(cost, count):
    """Return the mean square of costs over their squared mean: 1 where all are equal.

    Parameters
    ----------
    cost : ndarray
        Cost of an error at each label and true value.
    count : ndarray of the same shape
        Weight of the samples with that true value.
    """
    cost, count = cost[count > 0], count[count > 0]
    if not cost.any() or (cost == cost[0]).all():  # exactly 1, whatever rounding does
        return 1.0
    cost = cost / cost.max()
    return float((count @ cost**2) * count.sum() / (count @ cost) ** 2)
