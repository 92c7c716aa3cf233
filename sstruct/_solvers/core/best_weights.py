"""Which weights of a fit score best on samples that take no part in it."""

import math

import numpy as np

from sstruct._problems.core.kept_arrays import kept_array

COLUMN = "validation_score"  # of the history


class BestWeights:
    """The best weights so far, by their score on held-out samples.

    Parameters
    ----------
    score : callable
        From weights, in the problem's layout, to a float; higher is better.
    patience : int
        After how many passes without a better score a fit is to end.

    Attributes
    ----------
    w : ndarray or None
        The first weights of the best score; None before there are any.
    best : float
        Their score.
    steps : dict or None
        What ``export`` of the solver gave when it had these weights, if later samples can go on
        from that.
    """

    def __init__(self, score, patience):
        self.score, self.patience = score, patience
        self.w, self.best, self.steps = None, -math.inf, None
        self._n_waited = 0
        self._newest = (0, math.nan)  # number of a pass, and its score

    def look(self, w, n_passes, export=None):
        """Score the weights after a pass; return whether there was no better score for too long.

        export : function that returns the `steps` of these weights, or None
        """
        score = self.score(w)
        if score > self.best:
            steps = None if export is None else export()
            # In one statement: an interruption leaves weights and score of one pass.
            self.w, self.best, self.steps, self._n_waited = np.array(w), score, steps, 0
        else:
            self._n_waited += 1
        self._newest = n_passes, score
        return self._n_waited >= self.patience

    def score_of(self, n_passes):
        """Return the score of the newest pass, NaN where it has none."""
        of_pass, score = self._newest
        return score if of_pass == n_passes else math.nan

    def resume(self, arrays, problem, bounded):
        """Go on from a checkpoint, which has the weights beside the history.

        bounded : function that brings weights between their bounds, in place

        Raises
        ------
        ValueError
            Names the field.
        """
        scores = kept_array(arrays, f"history_{COLUMN}", np.float64)
        w = problem.without_padding(
            kept_array(arrays, "best_weights", np.float64, problem.n_weights)
        )
        if len(scores) == 0:
            raise ValueError("best_weights: there was no pass to be the best of")
        if not np.array_equal(bounded(w.copy()), w):
            raise ValueError("best_weights: some are out of their bounds")
        at = int(np.argmax(scores))
        self.w, self.best, self._n_waited = w, float(scores[at]), len(scores) - 1 - at
