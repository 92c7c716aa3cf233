"""The distribution over the segmentations of sequences that a fitted model defines."""

import numpy as np

from sstruct._estimators.core.distribution import BlockDistribution
from sstruct._problems.core._sums import sum_blocks
from sstruct._problems.segment._segment_sums import SegmentSums


class SegmentDistribution(BlockDistribution):
    """Probabilities proportional to ``exp(scale * score)`` of the segmentations of each sequence.

    Parameters
    ----------
    problem : SegmentProblem or None
        Its blocks are the nonempty sequences. None if all are empty.
    model, n_nodes, n_jobs : as in BlockDistribution
    nothing_allowed : str
        Beginning of the error for a sequence without an allowed segmentation.
    """

    def __init__(self, problem, model, n_nodes, n_jobs, nothing_allowed):
        sums = None if problem is None else SegmentSums(problem)
        super().__init__(sums, model, n_nodes, n_jobs)
        self.nothing_allowed = nothing_allowed

    def segments(self, scale, rows):
        """Return the probability of each segment.

        rows : ndarray of int of shape (n_segments, 4)
            Sequence, start, stop and code of the label, in the order of sequences.
        """
        if self.problem is None:
            return np.empty(0)
        rows = np.array(rows, dtype=np.int64).reshape(-1, 4)
        rows[:, 0] = np.searchsorted(self.some, rows[:, 0])
        return self.problem.of_segments(self.model._w, scale, rows)

    def _without_labeling(self, i):
        return f"{self.nothing_allowed} X[{i}], which has {self.n_nodes[i]} nodes"


def max_marginals(problem, w, n_threads):
    """Return the best score of a segmentation with each label at each node, (n_nodes, K).

    -inf at all nodes of a sequence without an allowed segmentation.
    """
    best, flat = sum_blocks(SegmentSums(problem, maxima=True), w, 1.0, n_threads, marginals=True)
    scores = flat.reshape(-1, problem.n_labels)
    scores[np.repeat(best, problem.code_sizes()) == -np.inf] = -np.inf
    return scores
