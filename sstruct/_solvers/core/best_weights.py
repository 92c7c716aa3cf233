"""Selection of the weights that score best on held-out samples."""

import math

import numpy as np

from sstruct._problems.core.kept_arrays import kept_array

COLUMN = "validation_score"  # column of the history


class BestWeights:
    """The best weights so far, by their score on held-out samples.

    Parameters
    ----------
    score : callable
        Function of weights, in the problem's layout, that returns a float; higher is better.
    patience : int
        Number of passes without a better score after which a fit ends.

    Attributes
    ----------
    w : ndarray or None
        The first weights with the best score, or None before the first pass.
    best : float
        Their score.
    steps : dict or None
        State that ``export`` of the solver returned for these weights, if training on later samples
        can continue from it.
    """

    def __init__(self, score, patience):
        self.score, self.patience = score, patience
        self.w, self.best, self.steps = None, -math.inf, None
        self._n_waited = 0
        self._newest = (0, math.nan)  # number of the newest pass, and its score

    def update(self, w, n_passes, export=None):
        """Score the weights after a pass; return whether the fit should end for lack of progress.

        export : function that returns the `steps` of these weights, or None
        """
        score = self.score(w)
        if score > self.best:
            steps = None if export is None else export()
            # In one statement, so that an interruption cannot mix two passes.
            self.w, self.best, self.steps, self._n_waited = np.array(w), score, steps, 0
        else:
            self._n_waited += 1
        self._newest = n_passes, score
        return self._n_waited >= self.patience

    def score_of(self, n_passes):
        """Return the score of pass `n_passes` if it is the newest scored pass, or NaN."""
        pass_number, score = self._newest
        return score if pass_number == n_passes else math.nan

    def resume(self, arrays, problem, bounded):
        """Restore the state, except `steps`, from a checkpoint, whose history has the scores.

        bounded : function that clips weights to their bounds, in place

        Raises
        ------
        ValueError
            If a field is invalid; the message names it.
        """
        scores = kept_array(arrays, f"history_{COLUMN}", np.float64)
        w = problem.without_padding(
            kept_array(arrays, "best_weights", np.float64, problem.n_weights)
        )
        if len(scores) == 0:
            raise ValueError("best_weights: found weights, but no pass with a score")
        if not np.array_equal(bounded(w.copy()), w):
            raise ValueError("best_weights: some are outside their bounds")
        at = int(np.argmax(scores))
        self.w, self.best, self._n_waited = w, float(scores[at]), len(scores) - 1 - at
