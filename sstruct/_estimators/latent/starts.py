"""Where rounds begin: states below labels, and samples weighted at random."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from sstruct._input.frames import items_of
from sstruct._input.ragged import check_weights, is_of_nodes


def first_states(known, labels, n_states, random):
    """Return states of all nodes: clusters of the features of each label's nodes, by k-means.

    Parameters
    ----------
    known : KnownLabels
        With the features of its nodes.
    labels : ndarray of int32 of shape (n_nodes,)
        Label of each node, hidden ones completed.
    n_states : int
        S.
    random : RandomState

    Returns
    -------
    ndarray of int32 of shape (n_nodes,)
        ``label * S + state``.
    """
    states = labels * np.int32(n_states)
    for k in range(len(known.classes)):
        rows = np.flatnonzero(known.trained & (labels == k))
        if len(rows) <= n_states:
            states[rows] += np.arange(len(rows), dtype=np.int32)
            continue
        means = KMeans(n_states, n_init=1, random_state=random.randint(np.iinfo(np.int32).max))
        with warnings.catch_warnings():  # fewer different nodes than states: some have none
            warnings.simplefilter("ignore", ConvergenceWarning)
            states[rows] += means.fit_predict(known.features[rows]).astype(np.int32)
    return states


def randomly_weighted(sample_weight, n_samples, random):
    """Return weights as ``fit`` takes them, each sample's times a draw: the Bayesian bootstrap.

    Draws are exponential, so that no sample's weight is 0 and no label is lost. [Rubin 1981, The
    Bayesian Bootstrap, Annals of Statistics 9(1)]
    """
    draws = random.exponential(size=n_samples)
    sample_weight = items_of(sample_weight)
    if not is_of_nodes(sample_weight):
        return check_weights(sample_weight, n_samples) * draws
    return [np.asarray(weights) * draw for weights, draw in zip(sample_weight, draws)]
