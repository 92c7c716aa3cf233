"""Synthetic label sets with known interactions."""

from numbers import Integral

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state

_SWEEPS = 100


def make_multilabel_pairwise(
    n_samples=200,
    *,
    n_features=10,
    n_labels=6,
    n_pairs=None,
    strength=2.0,
    informativeness=1.0,
    return_interactions=False,
    random_state=None,
):
    """Make label sets of labels that attract and repel each other.

    A set y is drawn with probability proportional to
    ``exp(sum_k y_k (a_k + <b_k, x>) + sum_e t_e y_u y_v)``: the model of
    :class:`sstruct.MultilabelSSVM`, as a distribution. Features x are standard normal, the weights
    b_k drawn once; the interactions t_e of random pairs are `strength` and minus `strength` in
    turn, and a_k balances a label's own: where the others are on with probability 0.3, it is too.
    So a label says something about another that the features do not.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    n_features : int, default=10
        Number of features F.
    n_labels : int, default=6
        Number of labels K.
    n_pairs : int or None, default=None
        Number of interacting pairs, of which half attract (the first, if the number is odd). None:
        as many as labels, or all pairs if there are fewer.
    strength : float, default=2.0
        Size of an interaction, in units of the log odds of a label.
    informativeness : float, default=1.0
        Standard deviation of <b_k, x>: what the features tell of a label.
    return_interactions : bool, default=False
        Whether to return the pairs and their interactions too.
    random_state : int, RandomState instance or None, default=None
        Determines the model and the sample. Pass an int for reproducible output.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features.
    Y : int ndarray of shape (n_samples, n_labels)
        1 for the labels of a sample.
    edges : int ndarray of shape (n_pairs, 2)
        Pairs of labels that interact, the smaller label first. Only if `return_interactions`.
    interactions : ndarray of shape (n_pairs,)
        t_e of each pair: > 0 attracts, < 0 repels. Only if `return_interactions`.

    See Also
    --------
    fetch_yeast : Genes and their functions, with interactions.

    Notes
    -----
    Sets are drawn by 100 sweeps of Gibbs sampling from independent labels, all samples at once.

    Examples
    --------
    >>> from sstruct.datasets import make_multilabel_pairwise
    >>> X, Y, edges, interactions = make_multilabel_pairwise(
    ...     3, n_labels=4, n_pairs=2, return_interactions=True, random_state=0)
    >>> X.shape, Y.shape
    ((3, 10), (3, 4))
    >>> edges.tolist(), interactions.tolist()
    ([[0, 1], [2, 3]], [2.0, -2.0])
    """
    counts = {"n_samples": n_samples, "n_features": n_features, "n_labels": n_labels}
    for name, count in counts.items():
        if not isinstance(count, Integral) or count < 1:
            raise ValueError(f"{name} must be a positive integer, got {count!r}")
    most = n_labels * (n_labels - 1) // 2
    if n_pairs is None:
        n_pairs = min(n_labels, most)
    if not isinstance(n_pairs, Integral) or not 0 <= n_pairs <= most:
        raise ValueError(
            f"n_pairs must be an integer of 0 to {most}, the pairs of {n_labels} labels; "
            f"got {n_pairs!r}"
        )
    for name, size in {"strength": strength, "informativeness": informativeness}.items():
        if not 0 <= size < np.inf:
            raise ValueError(f"{name} must be a finite number >= 0, got {size!r}")

    rng = check_random_state(random_state)
    X = rng.standard_normal((n_samples, n_features))
    weights = rng.standard_normal((n_labels, n_features)) * informativeness / np.sqrt(n_features)
    pairs = np.column_stack(np.triu_indices(n_labels, 1))
    edges = pairs[rng.permutation(most)[:n_pairs]]
    interactions = np.where(np.arange(n_pairs) % 2 == 0, 1.0, -1.0) * strength
    table = np.zeros((n_labels, n_labels))
    table[edges[:, 0], edges[:, 1]] = table[edges[:, 1], edges[:, 0]] = interactions
    share = 0.3
    scores = np.log(share / (1 - share)) - share * table.sum(axis=1) + X @ weights.T
    Y = (rng.uniform(size=scores.shape) < share).astype(np.intp)
    for _ in range(_SWEEPS):
        for k in range(n_labels):
            Y[:, k] = rng.uniform(size=n_samples) < expit(scores[:, k] + Y @ table[:, k])
    return (X, Y, edges, interactions) if return_interactions else (X, Y)
