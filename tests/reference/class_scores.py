"""Definition of class scores, one feature per class with a single weight."""

import numpy as np
from scipy import sparse


def embedding(n_weights, n_features, columns):
    """Return the sparse matrix that maps the weights of a model with class scores to those without.

    Without class scores, the weights are coef (K, n_features), followed by others. With class
    scores, feature ``columns[k]`` is the score of class k: the weights are coef of the remaining
    features, the weight of the scores, and the same others.
    """
    K, rest = len(columns), [f for f in range(n_features) if f not in set(columns)]
    n_own, n_others = K * len(rest), n_weights - K * n_features
    out = np.zeros((n_weights, n_own + 1 + n_others))
    for k in range(K):
        for j, f in enumerate(rest):
            out[k * n_features + f, k * len(rest) + j] = 1
        out[k * n_features + columns[k], n_own] = 1
    out[K * n_features :, n_own + 1 :] = np.eye(n_others)
    return sparse.csr_array(out)
