"""The likelihood of held-out samples as a function of the temperature."""

import numpy as np

from sstruct._input.ragged import NoNodesError, is_of_nodes


class HeldOut:
    """Samples that were not used to fit a model.

    Parameters
    ----------
    structure, model : Structure and FittedModel
        Structure of an estimator fitted to other samples.
    X, y : as in ``fit``
    sample_weight : array-like, optional
        Weights of samples; weights of nodes are ignored.

    Attributes
    ----------
    inexact : tuple or None
        As :meth:`Structure.inexact`.
    """

    def __init__(self, structure, model, X, y, sample_weight=None):
        self.structure, self.model = structure, model
        self.samples = structure.pack(X, model)
        self.observed = structure.observed(model, self.samples, y)
        self.inexact = structure.inexact(model, self.samples)
        self.sample_weight = np.ones(len(self.observed.n_nodes))
        if sample_weight is not None and not is_of_nodes(sample_weight):
            self.sample_weight *= sample_weight

    def compute(self, exact):
        """Compute the scores, and the weight of each term of the likelihood.

        exact : whether the terms are labelings of samples; otherwise they are labels of nodes
        """
        observed = self.observed
        self.free = self.structure.distribution(self.model, self.samples, exact)
        self.known = self.free.given(observed.of_labelings if exact else observed.codes)
        self.weights, sample = self.sample_weight, observed.sample
        if not exact:
            self.weights, sample = self.weights[sample], np.arange(len(sample))
        informative = np.bincount(sample[observed.codes >= 0], minlength=len(self.weights)) > 0
        possible = self.known.log_partition(1.0) > -np.inf
        self.weights = np.where(informative & possible, self.weights, 0)

    def loss(self, scale):
        """Return the sum of the negative log-likelihoods at an inverse temperature."""
        used = self.weights > 0
        free, known = self.free.log_partition(scale)[used], self.known.log_partition(scale)[used]
        return float(np.sum(self.weights[used] * (free - known)))


def mean_loss(held_out, exact):
    """Return the loss of all held-out samples as a function of the inverse temperature.

    held_out : list of HeldOut
    The mean weight of the terms is 1. Raises NoNodesError if there are none.
    """
    for each in held_out:
        each.compute(exact)
    total = sum(each.weights.sum() for each in held_out)
    if total == 0:
        raise NoNodesError(
            "no held-out sample of positive weight has a known label at a node in a labeling that "
            "the model allows; the temperature requires at least one (labels not in classes_ count "
            "as unknown)"
        )
    factor = sum(np.count_nonzero(each.weights) for each in held_out) / total
    return lambda scale: factor * sum(each.loss(scale) for each in held_out)
