"""Conversion of the parameters `loss` and `class_weight` to cost tables and weights."""

import numpy as np

from sstruct._checks.arrays import LARGEST, first_true, is_sized
from sstruct._checks.shown import shortened

NAMES = ("hamming", "hamming-count", "balanced")
LABEL_SET_NAMES = (*NAMES, "asymmetric")
# Losses of segments are sums over segments, so the costs of nodes are 0.
OF_SEGMENTS = ("segments", "boundaries")
SEGMENT_NAMES = (*NAMES, *OF_SEGMENTS)
# Cost of a missed label with loss="asymmetric"; a false label costs 1. Labels are then predicted if
# their probability is at least 1/3. The threshold that maximizes an F1 score is half the largest
# score, so this one is optimal for a score of 2/3.
MISSED = 2.0


def unknown_loss(loss, names):
    """Return the error about a `loss` that is neither an array nor one of `names`."""
    return ValueError(f"loss must be one of {names} or an array, found {shortened(loss)}")


def _cost_array(loss, shapes, expected, names):
    """Validate a loss that is not a name; return it as an array of one of the shapes."""
    try:
        costs = np.asarray(loss, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise unknown_loss(loss, names) from None
    if costs.shape not in shapes:
        raise ValueError(f"loss has shape {costs.shape}, expected {expected}")
    wrong = costs[~(np.isfinite(costs) & (costs >= 0))]
    if len(wrong):
        raise ValueError(f"loss must contain finite costs of at least 0, found {wrong[0]:g}")
    if costs.max(initial=0) > LARGEST:
        raise ValueError(
            f"loss contains {costs.max():g}, expected at most {LARGEST:g}: divide all costs and "
            "lam by the same number"
        )
    return costs


def node_costs(loss, codes, weights, n_labels, names=NAMES):
    """Convert the parameter `loss` to a table of node costs.

    The loss of a labeling is the sum of the costs of its nodes, divided by the number of labeled
    nodes if `divided`.

    Parameters
    ----------
    loss : str or array-like
        ``"hamming"``, ``"hamming-count"``, ``"balanced"``, an array (K,) of node weights for each
        true label, or a (K, K) cost matrix.
    codes : ndarray of int of shape (n_nodes,)
        True labels of the labeled nodes, 0 ... K - 1.
    weights : ndarray of shape (n_nodes,)
        Sample weight of each node.
    n_labels : int
        K.
    names : tuple of str
        Valid names.

    Returns
    -------
    cost : ndarray of shape (K, K)
        Rows are true labels; the diagonal is zero. All zero for losses of segments.
    divided : bool
        Whether the loss of a labeling is a mean over its nodes.

    Raises
    ------
    ValueError
        If `loss` is an array with the wrong shape, negative or non-finite entries, or a nonzero
        diagonal. Names are validated by the Structure.
    """
    wrong = 1.0 - np.eye(n_labels)
    if isinstance(loss, str):
        if loss in OF_SEGMENTS:
            return 0 * wrong, False
        if loss == "balanced":
            return _balanced(codes, weights, n_labels)[:, np.newaxis] * wrong, True
        return wrong, loss == "hamming"
    shapes = [(n_labels,), (n_labels, n_labels)]
    expected = f"{shapes[0]} or {shapes[1]} for {n_labels} classes"
    cost = _cost_array(loss, shapes, expected, names)
    if cost.ndim == 1:
        return cost[:, np.newaxis] * wrong, True
    if (k := first_true(np.diag(cost) != 0)) is not None:
        raise ValueError(
            f"loss must have a zero diagonal, since the cost of the true label is 0; found "
            f"loss[{k}, {k}] = {cost[k, k]:g}"
        )
    return cost, True


def _balanced(codes, weights, n_labels, missing=0):
    """Return N / (K N_k) for the K labels that occur, with weighted N; `missing` for others."""
    count = np.bincount(codes, weights=weights, minlength=n_labels)
    occurs, out = count > 0, np.full(n_labels, float(missing))
    return np.divide(count.sum(), occurs.sum() * count, out=out, where=occurs)


def class_weighted_costs(cost, class_weight, classes, codes, weights):
    """Multiply node costs by the weight of the true label according to `class_weight`.

    Parameters
    ----------
    cost : ndarray of shape (K, K)
        Rows are true labels.
    class_weight : dict or "balanced"
        ``"balanced"`` is N / (K N_k) for the K labels that occur, as with ``loss="balanced"``.
    classes : ndarray of shape (K,)
    codes : ndarray of int of shape (n_nodes,)
        True labels of the labeled nodes, 0 ... K - 1.
    weights : ndarray of shape (n_nodes,)
        Sample weights times node weights.

    Returns
    -------
    ndarray of shape (K, K)

    Raises
    ------
    ValueError
        See `class_weights`; also if all labeled nodes have weight 0.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        factor = _balanced(codes, weights, len(classes))
    else:
        factor = class_weights(class_weight, classes, codes, weights)
    if not factor[codes].any():
        raise ValueError(
            f"class_weight gives all labeled nodes weight 0: {shortened(class_weight)}"
        )
    return factor[:, np.newaxis] * cost


def label_costs(loss, on, total):
    """Convert the parameter `loss` to costs of errors in label sets.

    The loss of a label set is the sum of the costs of its wrong labels.

    Parameters
    ----------
    loss : str or array-like
        ``"hamming"``: 1 / K for each error; ``"hamming-count"``: 1; ``"asymmetric"``: 1 for a
        false and 2 for a missed label; ``"balanced"``: N / (2 K N_k) at label k, where N_k is the
        weight of the samples with the same true value; an array (K,): costs of each label,
        divided by K.
    on : ndarray of shape (K,)
        Weight of the samples with each label.
    total : float, or ndarray of shape (K,)
        N, the weight of all samples; or for each label, of the samples in which it is known.

    Returns
    -------
    ndarray of shape (2, K)
        Costs of errors for labels whose true value is 0 and 1.

    Raises
    ------
    ValueError
        If `loss` is an array with the wrong shape or negative or non-finite entries. Names are
        validated by the Structure.
    """
    K = len(on)
    if isinstance(loss, str):
        if loss == "asymmetric":
            return np.repeat([[1.0], [MISSED]], K, axis=1)
        if loss != "balanced":
            return np.full((2, K), 1.0 if loss == "hamming-count" else 1 / K)
        count = np.array([total - on, on])
        return np.divide(total, 2 * K * count, out=np.zeros((2, K)), where=count > 0)
    expected = f"{(K,)}: for label sets, the cost of an error for each label"
    return np.tile(_cost_array(loss, [(K,)], expected, LABEL_SET_NAMES) / K, (2, 1))


def label_set_weights(class_weight, Y, weights):
    """Convert the parameter `class_weight` to sample weights, the product over all labels.

    As ``compute_sample_weight`` in scikit-learn for multiple outputs; sample weights count as
    copies.

    Parameters
    ----------
    class_weight : list of K dicts with keys 0 and 1, "balanced" or None
        Weights of the absence and presence of each label.
    Y : CSC matrix of shape (n, K)
        Ones for the labels of each sample.
    weights : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
    """
    n, K = Y.shape
    product = np.ones(n)
    if class_weight is None:
        return product
    if isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be a list of {K} dicts for label sets, found a dict")
    listed = isinstance(class_weight, list | tuple | np.ndarray) and is_sized(class_weight)
    if not isinstance(class_weight, str) and not listed:
        raise TypeError(
            f'class_weight must be a list of {K} dicts, "balanced" or None, found '
            f"{type(class_weight).__name__}"
        )
    if listed and len(class_weight) != K:
        raise ValueError(f"class_weight has {len(class_weight)} dicts, expected {K}, one per label")
    for k in range(K):
        label_weight = class_weight if isinstance(class_weight, str) else class_weight[k]
        codes = np.zeros(n, dtype=np.int64)
        codes[Y.indices[Y.indptr[k] : Y.indptr[k + 1]]] = 1
        product *= class_weights(label_weight, np.arange(2), codes, weights)[codes]
    return product


def class_weights(class_weight, classes, codes, weights):
    """Convert the parameter `class_weight` to the weight of each class, as scikit-learn does.

    Sample weights count as copies, and keys may be any hashable labels.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
    classes : ndarray of shape (K,)
    codes : ndarray of int of shape (n,)
        Class of each sample, 0 ... K - 1.
    weights : ndarray of shape (n,)
        Sample weights.

    Returns
    -------
    ndarray of shape (K,)
        Classes that do not occur have weight 1 with "balanced".

    Raises
    ------
    ValueError
        If `class_weight` is invalid, a weight is negative or not finite, or a key is not a class
        while some class is not a key.
    """
    K = len(classes)
    if class_weight is None:
        return np.ones(K)
    if isinstance(class_weight, str) and class_weight == "balanced":
        return _balanced(codes, weights, K, missing=1)
    if not isinstance(class_weight, dict):
        raise ValueError(
            f'class_weight must be a dict, "balanced" or None, found {shortened(class_weight)}'
        )
    given = [class_weight.get(label) for label in classes.tolist()]
    named = sum(weight is not None for weight in given)
    if named < min(K, len(class_weight)):
        missing = [label for label, weight in zip(classes.tolist(), given) if weight is None]
        unknown = [label for label in class_weight if label not in classes.tolist()]
        raise ValueError(
            f"class_weight has the keys {unknown}, which are not in y, and the classes {missing} "
            f"are not in class_weight: {class_weight}. If a fold of cross-validation may lack a "
            "rare label, pass all labels as `classes`"
        )
    try:
        out = np.array([1.0 if weight is None else weight for weight in given], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        out = np.empty(0)
    if out.shape != (K,):  # values may be arrays
        raise ValueError(f"class_weight must contain real numbers, found {class_weight}")
    if not np.isfinite(out).all() or (out < 0).any():
        raise ValueError(f"class_weight must be finite and not negative, found {class_weight}")
    if out.max(initial=0) > LARGEST:
        raise ValueError(f"class_weight must be at most {LARGEST:g}, found {class_weight}")
    return out
