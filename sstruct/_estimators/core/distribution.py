"""The distribution over the labelings of samples that a fitted model defines."""

from copy import copy
from dataclasses import dataclass

import numpy as np

from sstruct._checks.arrays import first_true
from sstruct._input.threads import n_threads
from sstruct._problems.core._sums import sum_blocks


@dataclass(frozen=True)
class ObservedLabels:
    """Known labels of samples, for the calibration of probabilities and conformal prediction.

    Attributes
    ----------
    codes : ndarray of int32 of shape (n_nodes,)
        Code of each node, in the order of samples, -1 if it is unknown.
    unseen : ndarray of bool of shape (n_nodes,)
        Whether a label is known but not among the labels of the model; its code is then -1.
    n_nodes : ndarray of int of shape (n,)
        Number of nodes of each sample.
    of_labelings : ndarray of int32 of shape (n_nodes,)
        Known codes for the distribution of labelings, by default `codes`. They may contain more
        than the labels of nodes, such as boundaries between segments with the same label.
    """

    codes: np.ndarray
    unseen: np.ndarray
    n_nodes: np.ndarray
    of_labelings: np.ndarray | None = None

    def __post_init__(self):
        if self.of_labelings is None:
            object.__setattr__(self, "of_labelings", self.codes)

    @property
    def sample(self):
        """The sample of each node."""
        return np.repeat(np.arange(len(self.n_nodes)), self.n_nodes)


class BlockDistribution:
    """Probabilities proportional to ``exp(scale * score)`` of the labelings of each sample.

    Parameters
    ----------
    problem : BlockProblem or None
        Its blocks are the nonempty samples. None if all are empty.
    model : FittedModel
    n_nodes : ndarray of int of shape (n,)
        Number of nodes of each sample.
    n_jobs : int or None
    """

    codes = None

    def __init__(self, problem, model, n_nodes, n_jobs):
        self.problem, self.model, self.n_nodes = problem, model, n_nodes
        self.some = np.flatnonzero(n_nodes)
        self.n_threads = 1 if len(self.some) < 2 else n_threads(n_jobs)

    def given(self, codes):
        """Return the distribution of the labelings that agree with known codes, -1 if unknown.

        Its log Z is the logarithm of the sum of ``exp(scale * score)`` over these labelings only.
        """
        other = copy(self)
        other.codes = np.ascontiguousarray(codes, dtype=np.int32)
        return other

    def log_partition(self, scale):
        """Return log Z of each sample, -inf if no labeling is possible; shape (n,)."""
        out = np.zeros(len(self.n_nodes))  # an empty sample has one labeling of score 0
        if self.problem is not None:
            out[self.some] = self._sums(scale)[0]
        return out

    def marginals(self, scale):
        """Return the probability of each label at each node, concatenated."""
        if self.problem is None:
            return np.empty(0)
        return self._checked(scale, marginals=True)

    def draw(self, scale, n_draws, random):
        """Return, for each sample, the codes of random labelings, of shape (n_draws, n_nodes)."""
        seeds = random.randint(0, 2**64, size=len(self.n_nodes), dtype=np.uint64)[self.some]
        if self.problem is None:
            flat = np.empty(0, dtype=np.int32)
        else:
            flat = self._checked(scale, n_draws=n_draws, seeds=seeds)
        parts = np.split(flat, n_draws * np.cumsum(self.n_nodes)[:-1])
        return [part.reshape(n_draws, -1 if len(part) else 0) for part in parts]

    def _sums(self, scale, **wanted):
        w = self.model._w
        return sum_blocks(self.problem, w, scale, self.n_threads, known=self.codes, **wanted)

    def _checked(self, scale, **wanted):
        """Return the second result of `_sums`, or raise if a sample has no labeling."""
        log_partition, out = self._sums(scale, **wanted)
        if (k := first_true(log_partition == -np.inf)) is not None:
            raise ValueError(self._without_labeling(self.some[k]))
        return out

    def _without_labeling(self, i):
        """Return the error message for a sample without a labeling."""
        return f"X[{i}] has no possible labeling"


class IndependentNodes:
    """Probabilities proportional to ``exp(scale * score)`` of the labels of each node.

    Nodes are independent. This is exact for rows with one label each, and approximate for
    max-marginals of larger structures.

    Parameters
    ----------
    scores : ndarray of shape (n_nodes, K), or (n_scores,) with `start`
    start : ndarray of int of shape (n_nodes,), optional
        Position of the first score of each node, which has at least one.
    """

    def __init__(self, scores, start=None):
        if start is None:
            start = np.arange(len(scores)) * scores.shape[1]
        self.scores, self.start = np.asarray(scores, dtype=np.float64).ravel(), start
        sizes = np.diff(start, append=len(self.scores))
        self.node = np.repeat(np.arange(len(start)), sizes)

    def given(self, codes, excluded=False):
        """Return the distribution of the labels that agree with known codes, -1 if unknown.

        excluded : True for the labels that differ from the known codes instead
        """
        other, codes = copy(self), np.asarray(codes)[self.node]
        label = np.arange(len(self.scores)) - self.start[self.node]
        allowed = (codes < 0) | ((codes == label) != excluded)
        other.scores = np.where(allowed, self.scores, -np.inf)
        return other

    def best_scores(self):
        """Return the highest score of each node, shape (n_nodes,)."""
        return self._reduced(np.maximum, self.scores)

    def log_partition(self, scale):
        """Return log Z of each node, -inf if no label is possible; shape (n_nodes,)."""
        highest, terms = self._terms(scale)
        with np.errstate(divide="ignore"):
            return scale * highest + np.log(self._reduced(np.add, terms))

    def marginals(self, scale):
        """Return the probability of each label at each node, concatenated."""
        _, terms = self._terms(scale)
        return terms / self._reduced(np.add, terms)[self.node]

    def draw(self, scale, n_draws, random):
        """Return, for each node, the codes of random labels, of shape (n_draws, 1)."""
        uniform = random.random_sample((len(self.start), n_draws))
        parts = np.split(self.marginals(scale), self.start[1:])
        return [
            np.searchsorted(sums / sums[-1], u, side="right")[:, np.newaxis]
            for sums, u in zip(map(np.cumsum, parts), uniform)
        ]

    def _reduced(self, ufunc, values):
        """Reduce the values of each node; NumPy requires at least one node."""
        return ufunc.reduceat(values, self.start) if len(self.start) else np.empty(0)

    def _terms(self, scale):
        """Return the highest finite score of each node, and the exponentials relative to it."""
        highest = self.best_scores()
        highest = np.where(highest > -np.inf, highest, 0)
        with np.errstate(under="ignore", over="ignore"):
            return highest, np.exp(scale * (self.scores - highest[self.node]))
