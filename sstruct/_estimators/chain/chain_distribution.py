"""The distribution over the labelings of sequences that a fitted model defines."""

import numpy as np

from sstruct._estimators.core.distribution import BlockDistribution
from sstruct._problems.chain._chain_sums import ChainLabelings, span_probabilities
from sstruct._problems.core._sums import sum_blocks


class ChainDistribution(BlockDistribution):
    """Probabilities proportional to ``exp(scale * score)`` of the labelings of each sequence.

    Parameters
    ----------
    problem_given : callable
        Returns the ChainProblem, given known codes or None: the problem depends on them, since they
        may violate its masks.
    model, n_nodes, n_jobs : as in BlockDistribution
    """

    def __init__(self, problem_given, model, n_nodes, n_jobs):
        super().__init__(problem_given(None), model, n_nodes, n_jobs)
        self.problem_given = problem_given

    def given(self, codes):
        other = super().given(codes)
        other.problem = self.problem_given(other.codes)
        return other

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

    def _sums(self, scale, spans=None, **wanted):
        arguments = ChainLabelings(self.problem), self.model._w, scale, self.n_threads
        if spans is not None:
            return span_probabilities(*arguments, *spans)
        return sum_blocks(*arguments, **wanted)

    def _without_labeling(self, i):
        return (
            f"transition_mask forbids every labeling of X[{i}], which has {self.n_nodes[i]} nodes"
        )
