"""Node costs: how wrong each label is where another is true."""

import numpy as np

NAMES = ("hamming", "hamming-count", "balanced")


def node_costs(loss, codes, weights, n_labels):
    """Turn a `loss` parameter into a table of node costs.

    The loss of a labelling is the sum of its nodes' costs, times 1 / (number of labelled
    nodes) where `divided`.

    Parameters
    ----------
    loss : str or array-like
        ``"hamming"``, ``"hamming-count"``, ``"balanced"``, an array (K,) of node weights by true
        label, or a (K, K) cost matrix.
    codes : ndarray of int of shape (n_nodes,)
        True labels of the labelled nodes, 0 ... K - 1.
    weights : ndarray of shape (n_nodes,)
        Sample weight of each node's sample.
    n_labels : int
        K.

    Returns
    -------
    cost : ndarray of shape (K, K)
        Rows the truth, zero diagonal.
    divided : bool

    Raises
    ------
    ValueError
        If `loss` is no known name, or an array of another shape, with negative or non-finite
        entries, or with a diagonal that is not zero.
    """
    wrong = 1.0 - np.eye(n_labels)
    if isinstance(loss, str):
        if loss not in NAMES:
            raise ValueError(f"loss must be one of {NAMES} or an array, found {loss!r}")
        if loss == "balanced":
            # N / (K N_k), every N sample-weighted; a label that never is the truth costs nothing.
            count = np.bincount(codes, weights=weights, minlength=n_labels)
            weight = np.divide(
                count.sum(), n_labels * count, out=np.zeros(n_labels), where=count > 0
            )
            return weight[:, np.newaxis] * wrong, True
        return wrong, loss == "hamming"
    try:
        table = np.asarray(loss, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"loss must be one of {NAMES} or an array, found {loss!r}") from None
    if table.shape not in ((n_labels,), (n_labels, n_labels)):
        raise ValueError(
            f"loss has shape {table.shape}, expected {(n_labels,)} or {(n_labels, n_labels)} "
            f"for {n_labels} classes"
        )
    if not np.isfinite(table).all() or (table < 0).any():
        raise ValueError("loss must not contain negative or non-finite entries")
    if table.ndim == 1:
        return table[:, np.newaxis] * wrong, True
    if np.diag(table).any():
        raise ValueError("loss must have a zero diagonal: the truth costs nothing")
    return table, True


def class_weights(class_weight, classes, codes, weights):
    """Turn a `class_weight` parameter into the weight of each class, as scikit-learn does.

    Sample weights count as copies, and any hashable label may be a key.

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
        A class that does not occur has weight 1 with "balanced".

    Raises
    ------
    ValueError
        If it is neither of these, a weight is negative or not finite, or a key is no class while
        some class has no key.
    """
    K = len(classes)
    if class_weight is None:
        return np.ones(K)
    if isinstance(class_weight, str) and class_weight == "balanced":
        count = np.bincount(codes, weights=weights, minlength=K)
        present = count > 0
        return np.divide(count.sum(), present.sum() * count, out=np.ones(K), where=present)
    if not isinstance(class_weight, dict):
        raise ValueError(f'class_weight must be a dict, "balanced" or None, found {class_weight!r}')
    given = [class_weight.get(label) for label in classes.tolist()]
    named = sum(weight is not None for weight in given)
    if named < min(K, len(class_weight)):
        missing = [label for label, weight in zip(classes.tolist(), given) if weight is None]
        raise ValueError(f"the classes {missing} are not in class_weight: {class_weight}")
    out = np.array([1.0 if weight is None else weight for weight in given], dtype=np.float64)
    if not np.isfinite(out).all() or (out < 0).any():
        raise ValueError(f"class_weight must be finite and not negative, found {class_weight}")
    return out
