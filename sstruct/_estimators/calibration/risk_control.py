"""The smallest threshold of conformity scores that controls the fraction of misses."""

import numpy as np

# Rounding errors of a confidence level and of sums of weights, relative to the sum of weights: for
# example, 1 - 0.9 is slightly less than 0.1.
ROUNDING = 1e-12


class HeldOutScores:
    """Conformity scores of the true labels of held-out samples, sorted.

    A large score means that the true label is unlikely according to the model. A threshold t misses
    the true labels with a larger score.

    Attributes
    ----------
    scores : ndarray of shape (m,)
        Ascending; ``inf`` is missed at every finite threshold, ``-inf`` at none.
    shares : ndarray of shape (m,)
        Weight of the sample of each score, divided by the number of scores of the sample.
    n_samples : int
        Number of samples of positive weight. Their mean weight is 1. Samples without a score have
        no misses.
    """

    def __init__(self, scores, shares, n_samples):
        self.scores, self.shares, self.n_samples = scores, shares, n_samples

    @classmethod
    def from_samples(cls, scores, samples, weights):
        """Return the scores of samples.

        Parameters
        ----------
        scores : ndarray of shape (m,)
        samples : ndarray of int of shape (m,)
            The sample of each score.
        weights : ndarray of shape (n,)
            Weights of the samples; at least one is positive.
        """
        n_samples = np.count_nonzero(weights)
        weights = weights * (n_samples / weights.sum())
        counts = np.bincount(samples, minlength=len(weights))
        shares = (weights / np.maximum(counts, 1))[samples]
        order = np.argsort(scores, kind="stable")
        order = order[shares[order] > 0]
        return cls(scores[order], shares[order], n_samples)

    def allowed(self, confidence_level):
        """Return the allowed sum of losses; if it is negative, there are too few samples."""
        return (1 - confidence_level + ROUNDING) * (self.n_samples + 1) - 1

    def threshold(self, confidence_level, least=0.0):
        """Return the smallest threshold >= least whose risk is at most 1 - confidence_level.

        The risk is (sum_i w_i loss_i + 1) / (n + 1): the fraction of misses in each sample, with a
        further sample whose true labels are all missed. ``inf`` if no threshold is sufficient.
        """
        allowed = self.allowed(confidence_level)
        if allowed < 0:
            return np.inf
        values, first = np.unique(self.scores, return_index=True)
        # tail[j] is the sum of the shares of scores from j on, and missed[k] that of scores above
        # values[k - 1].
        tail = np.append(np.cumsum(self.shares[::-1])[::-1], 0.0)
        missed = np.append(tail[first], 0.0)
        values = np.append(least, values)  # all are counted as missed at `least`
        sufficient = np.flatnonzero(missed <= allowed)
        return max(float(values[sufficient[0]]), least)
