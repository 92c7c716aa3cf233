"""Compute ``lam="auto"`` and ``pairwise_scale="auto"`` from the size and scale of the data."""

from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

# lam * n divided by the spread of the features, for samples of one node. Errors hardly differ
# between 0.25 and 0.5 (benchmarks/defaults.py).
STRENGTH = 0.4
# The power of the number of nodes. With a larger lam, samples of many nodes are predicted equally
# well and fits are faster: ten times for images of thousands of pixels.
NODES_POWER = 0.2
# The constant for label sets (benchmarks/multilabel.py); it is 1 if pairwise features are scaled in
# proportion to node features. Both decrease for more than FEW_SAMPLES samples
# (benchmarks/notes/defaults.md).
LABEL_SET_STRENGTH = 0.6
FEW_SAMPLES = 422
SAMPLES_POWER = 1 / 3
# Lower bounds of the spread, as a fraction of the mean squared norm of a row, and for a bias. The
# number of passes grows with that norm / (lam n); at these bounds it remains below `max_iter`.
MIN_SHARE = 1 / 400
MIN_SHARE_BESIDE_BIAS = 1 / 40
# The size of pairwise features divided by the root mean square norm of node features
# (benchmarks/pairwise_scale.py).
PAIRWISE_SHARE = 0.5
# Number of entries of features processed in one chunk.
AT_ONCE = 2**19


@dataclass(frozen=True)
class TrainedNodes:
    """The training data from which a Scale is computed.

    Attributes
    ----------
    features : ndarray or CSR matrix of shape (n_rows, n_features)
    weight : ndarray of shape (n_rows,)
        Weight of the sample of each row; 0 for rows that are not used in training.
    n_nodes : float
        Average number of training nodes per sample; 1 for label sets.
    mean_cost : float
        Average cost of a wrong node (`mean_cost`).
    bias : bool
    cost_spread : float
        Dispersion of the costs of labels in sets (`cost_spread`); 1 for labels of nodes.
    n_windows : float
        Average number of windows per sample.
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
    """Statistics of some of the samples; `joined` combines those of disjoint subsets.

    Attributes
    ----------
    moments : tuple of (float, ndarray, ndarray, ndarray)
        Weight of the rows; for each feature, the weight of the rows in which it is nonzero, its
        mean, and the sum of squared deviations from the mean.
    total_weight : float
        Weight of the samples.
    nodes : TrainedNodes
        Without features and weights.
    """

    moments: tuple
    total_weight: float
    nodes: TrainedNodes


def scale_of(nodes, total_weight):
    """Return the Scale of TrainedNodes, given the total weight of the samples."""
    features, weights, moments = nodes.features, nodes.weight, None
    # Rows are read in chunks, since features may be on disk.
    if sparse.issparse(features):
        at = np.arange(0, features.nnz, max(AT_ONCE, features.shape[1]))
        cuts = np.unique(np.r_[0, np.searchsorted(features.indptr, at), features.shape[0]])
    else:
        step = max(1, AT_ONCE // max(1, features.shape[1]))
        cuts = [*range(0, len(features), step), len(features)]
    for a, b in pairwise(cuts):
        total = weights[a:b].sum()  # weights are not negative
        if total > 0:
            part = _moments(features[a:b], weights[a:b], total)
            moments = part if moments is None else _merged(moments, part)
    if moments is None:
        moments = 0.0, *np.zeros((3, features.shape[1]))
    return Scale(moments, total_weight, replace(nodes, features=None, weight=None))


def joined(scales):
    """Return the Scale of all samples from the Scales of disjoint subsets."""
    parts = [scale.nodes for scale in scales]
    weights = np.array([scale.total_weight for scale in scales])
    nodes = weights * [part.n_nodes for part in parts]
    costs = nodes * [part.mean_cost for part in parts]
    moments = reduce(_merged, [scale.moments for scale in scales])
    spread = 1.0
    if any(part.cost_spread != 1 for part in parts):
        squares = costs @ [part.mean_cost * part.cost_spread for part in parts]
        spread = float(squares * nodes.sum() / costs.sum() ** 2)
    all_nodes = replace(
        parts[0],
        n_nodes=float(nodes.sum() / weights.sum()),
        mean_cost=float(costs.sum() / nodes.sum()),
        cost_spread=spread,
        n_windows=float(weights @ [part.n_windows for part in parts] / weights.sum()),
    )
    return Scale(moments, float(weights.sum()), all_nodes)


def pairwise_from_scale(scale):
    """Return a size of pairwise features in proportion to the norm of node features.

    It is 0.5 times the root mean square norm, or 1 if all features are 0. Scaling node features by
    t scales the size by t, and with ``lam="auto"`` predictions do not change. A sample of weight k
    is equivalent to k copies.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total, _, mean, squares = scale.moments
        return float(PAIRWISE_SHARE * np.sqrt((squares / total + mean**2).sum())) or 1.0


def lam_from_scale(scale, slack=False, pairwise_scale=1.0, proportional=False):
    r"""Return a lam that adapts to the scale of features and loss.

    .. math:: \lambda = 0.4\, \frac{V m^{1/5}}{n\, c}

    for the spread V of the features (`feature_spread`), m nodes per sample or window on average,
    the total weight n of the samples, and the average cost c of a wrong node, which is 1 for
    ``"hamming-count"``. Scaling features by t scales lam by t^2; scaling costs by t scales lam by
    1/t. Neither changes predictions (except through the bias and pairwise features, whose size does
    not change), nor does dividing losses by the number of nodes (for samples of equal size). With
    pairwise features in proportion to node features,

    .. math:: \lambda = \frac{V}{n\, c} \min\left(1, \frac{7.5}{b^{1/3}}\right)

    for b samples or windows. Label sets always use this second formula, multiplied by 0.6, since
    larger values lose rare labels. A sample of weight k is equivalent to k copies. With slack
    rescaling, costs are weights of hinge losses instead of margins, and lam is multiplied by c
    instead of divided by it.

    For label sets whose costs differ, as with ``loss="balanced"``, c is the mean weighted by the
    costs themselves (the mean times `cost_spread`). With margin rescaling a cost is a margin: a
    label whose errors cost t times as much needs weights t times as large. The plain mean ignores
    rare labels, since balanced costs have the mean 1 / K however rare a label is. For labels of
    nodes, the plain mean gives better results (benchmarks/notes/defaults.md).

    Parameters
    ----------
    scale : Scale
    slack : bool
        Whether hinge losses are slack-rescaled.
    pairwise_scale : float
        Size of the bias feature, and of other features that are not in the rows.
    proportional : bool
        Whether `pairwise_scale` was computed by `pairwise_from_scale`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If lam overflows or underflows.

    Notes
    -----
    O(nnz) time. The form and the constants were chosen by cross-validation on about thirty data
    sets (``benchmarks/defaults.py``). Among sums of squares and of variances, with and without the
    bias, and their powers, the sum of variances predicts the best lam n. The numbers of nodes and
    labels hardly improve the prediction; the power of the number of nodes makes fits faster.
    """
    nodes, total_weight = scale.nodes, scale.total_weight
    spread = feature_spread(scale.moments, nodes.bias * (pairwise_scale * pairwise_scale))
    cost = nodes.mean_cost or 1.0
    if not slack:
        cost *= nodes.cost_spread
    if proportional or nodes.label_sets:
        more = total_weight * nodes.n_windows / FEW_SAMPLES
        strength = LABEL_SET_STRENGTH if nodes.label_sets else 1.0
        strength *= min(1.0, more**-SAMPLES_POWER)
    else:
        strength = STRENGTH * (nodes.n_nodes / nodes.n_windows) ** NODES_POWER
    lam = strength * (spread or 1.0) / total_weight
    lam *= cost if slack else 1 / cost
    if not 0 < lam < np.inf:
        raise ValueError(
            f'lam="auto" is {lam:g} for features of variance {spread:g}, samples of total weight '
            f"{total_weight:g} and errors of cost {cost:g}, which is out of the range of floating "
            "point; rescale the features, the weights or the loss, or set lam to a number"
        )
    return float(lam)


def feature_spread(moments, bias):
    r"""Return the sum of the variances of features, with less weight on outlying scales.

    .. math:: V = \max\Big( \Big(\sum_f p_f\Big) \Big(
        \frac{\sum_f p_f (v_f / p_f)^{1/3}}{\sum_f p_f}\Big)^3, \frac{S}{400},
        \frac{1}{40} [\text{bias}] \Big)

    for the variance v_f of feature f, the fraction p_f of rows in which it is nonzero, and S the
    mean squared norm of a row. If all features have the same scale, sparse or dense, this is about
    the sum of variances. If one feature is a thousand times larger than the others, it follows the
    others, so that these are not regularized away, within the limits in which a fit converges. The
    same limits apply to features far from 0, and to features much smaller than the bias.

    Parameters
    ----------
    moments : tuple
        Of the features, see `Scale`.
    bias : float
        Square of the feature of the bias; 0 without one.

    Returns
    -------
    float
        Infinite if squares of features overflow.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total, present, mean, squares = moments
        if total == 0:  # there are no rows, as in matchings without pairs
            return MIN_SHARE_BESIDE_BIAS * bias
        share, variance = present / total, squares / total
        if not np.isfinite(variance + mean**2).all():
            return np.inf
        squares = variance + mean**2
        least = max(MIN_SHARE * squares.sum(), MIN_SHARE_BESIDE_BIAS * bias)
        # Rounding errors of a constant feature are not variance.
        varies = variance > 1e-22 * squares
        share, variance = share[varies], variance[varies]
        if not varies.any():
            return float(least)
        present = share.sum()
        typical = (share * np.cbrt(variance / share)).sum() / present
        return float(max(present * typical**3, least))


@np.errstate(over="ignore", invalid="ignore")
def _merged(moments, others):
    """Return the moments of two disjoint subsets of the rows, given those of each."""
    total, present, mean, squares = moments
    part, here, center, spread = others
    # The means of subsets differ: add their squared deviations from the common mean.
    step = center - mean
    squares = squares + spread + step**2 * (total * part / (total + part))
    return total + part, present + here, mean + step * (part / (total + part)), squares


@np.errstate(over="ignore", invalid="ignore")
def _moments(rows, weight, total):
    """Return the moments of rows, whose weights have the sum `total`, see `Scale`."""
    if not sparse.issparse(rows):
        rows = rows.astype(np.float64)
        # Unlike products of BLAS, these sums do not depend on the number of threads.
        if rows.all():
            here = np.full(rows.shape[1], total)
        else:
            here = np.einsum("i,ij->j", weight, rows != 0)
        mean = np.einsum("i,ij->j", weight, rows) / total
        rows -= mean
        return total, here, mean, np.einsum("i,ij,ij->j", weight, rows, rows)
    columns, values = rows.indices, rows.data.astype(np.float64)
    weight = np.repeat(weight, np.diff(rows.indptr))

    def added(terms):
        return np.bincount(columns, terms, minlength=rows.shape[1])

    stored = added(weight)
    if (values == 1).all():  # usually words; the sum of weights is sufficient
        here, mean = stored, stored / total
        squares = stored * (1 - mean) ** 2
    else:
        here = stored if values.all() else added(weight * (values != 0))
        mean = added(weight * values) / total
        squares = added(weight * (values - mean[columns]) ** 2)
    rest = total - stored
    rest[rest < 1e-12 * total] = 0  # rounding
    return total, here, mean, squares + rest * mean**2


def mean_cost(cost, codes, node_weight, total_weight):
    """Return the average cost of a wrong node.

    Parameters
    ----------
    cost : ndarray of shape (K, K)
        Rows are true labels; zero diagonal.
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
    """Return the mean square of costs divided by their squared mean, 1 if all are equal.

    Parameters
    ----------
    cost : ndarray
        Cost of an error for each label and true value.
    count : ndarray of the same shape
        Weight of the samples with each true value.
    """
    cost, count = cost[count > 0], count[count > 0]
    if not cost.any() or (cost == cost[0]).all():  # exactly 1, without rounding errors
        return 1.0
    cost = cost / cost.max()
    return float((count @ cost**2) * count.sum() / (count @ cost) ** 2)
