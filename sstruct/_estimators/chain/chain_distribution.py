"""The distribution over the labelings of sequences that a fitted model defines."""

import numpy as np

from sstruct._input.threads import n_threads
from sstruct._problems.chain._chain_sums import sum_blocks


class ChainDistribution:
    """Probabilities proportional to ``exp(scale * score)`` of the labelings of each sequence.

    Parameters
    ----------
    problem : ChainProblem or None
        Its blocks are the nonempty sequences. None if all are empty.
    model : FittedModel
    lengths : ndarray of shape (n,)
    n_jobs : int or None
    """

    def __init__(self, problem, model, lengths, n_jobs):
        self.problem, self.model, self.lengths = problem, model, lengths
        self.some = np.flatnonzero(lengths)
        self.n_threads = 1 if len(self.some) < 2 else n_threads(n_jobs)

    def log_partition(self, scale):
        """Return log Z of each sequence, -inf if no labeling is allowed; shape (n,)."""
        out = np.zeros(len(self.lengths))  # an empty sequence has one labeling of score 0
        if self.problem is not None:
            out[self.some] = self._sums(scale)[0]
        return out

    def marginals(self, scale):
        """Return the probability of each label at each node, of shape (n_nodes, K)."""
        if self.problem is None:
            return np.empty((0, len(self.model.classes_)))
        return self._checked(scale, marginals=True)

    def draw(self, scale, n_draws, random):
        """Return, for each sequence, the codes of random labelings, of shape (n_draws, L)."""
        seeds = random.randint(0, 2**64, size=len(self.lengths), dtype=np.uint64)[self.some]
        if self.problem is None:
            flat = np.empty(0, dtype=np.int32)
        else:
            flat = self._checked(scale, n_draws=n_draws, seeds=seeds)
        parts = np.split(flat, n_draws * np.cumsum(self.lengths)[:-1])
        return [part.reshape(n_draws, -1 if len(part) else 0) for part in parts]

    def spans(self, scale, spans, inside, continues):
        """Return the probability of each span.

        spans : ndarray of int of shape (n_spans, 4)
            Rows of sequence, start, stop and index of the type, in the order of sequences.
        inside : ndarray of bool of shape (n_types, K)
            The labels of spans of each type.
        continues : ndarray of bool of shape (K, K)
            The transitions within spans.
        """
        if self.problem is None:
            return np.empty(0)
        rows = np.array(spans, dtype=np.int64).reshape(-1, 4)
        rows[:, 0] = np.searchsorted(self.some, rows[:, 0])
        return self._checked(scale, spans=(rows, inside, continues))

    def _sums(self, scale, **wanted):
        return sum_blocks(self.problem, self.model._w, scale, self.n_threads, **wanted)

    def _checked(self, scale, **wanted):
        """Return the second result of `sum_blocks`, or raise if a sequence has no labeling."""
        log_partition, out = self._sums(scale, **wanted)
        none = np.flatnonzero(log_partition == -np.inf)
        if len(none):
            i = self.some[none[0]]
            raise ValueError(
                f"transition_mask forbids every labeling of X[{i}], which has {self.lengths[i]} "
                "nodes"
            )
        return out
