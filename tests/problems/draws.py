"""Comparison of drawn labelings with their distribution."""

import numpy as np
from scipy.special import logsumexp
from scipy.stats import chisquare


def check_draws(drawn, labelings, scores):
    """Test drawn labelings, (n_draws, n_nodes), by a chi-squared test.

    labelings : the allowed labelings, possibly with duplicates
    scores : the logarithms of their probabilities, up to a constant
    """
    labelings, n_draws = np.array(labelings), len(drawn)
    number = (1 + max(labelings.max(), drawn.max())) ** np.arange(labelings.shape[1])
    every, inverse = np.unique(labelings @ number, return_inverse=True)
    counts = np.bincount(drawn @ number, minlength=every.max() + 1)
    assert counts.sum() == counts[every].sum() == n_draws  # only allowed labelings
    p = np.bincount(inverse, np.exp(scores - logsumexp(scores)))
    many = p * n_draws >= 5
    seen = np.append(counts[every][many], counts[every][~many].sum())
    expected = np.append(p[many], p[~many].sum()) * n_draws
    if expected[-1] < 5:
        assert seen[-1] < 30
        seen, expected = seen[:-1], expected[:-1]
    if len(seen) > 1:
        assert chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-5
