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
