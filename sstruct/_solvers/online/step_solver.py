"""Base class of solvers that make one step per sample, and can continue on later samples."""

import math

import numpy as np

from sstruct._problems.core.kept_arrays import MAX_COUNT, kept_array
from sstruct._solvers.core.checkpoint import note
from sstruct._solvers.core.solver import Solver


class StepSolver(Solver):
    """Passes over a ``StepState``, which a subclass creates in ``_new_state(setup, kept)``.

    There is no dual: ``dual`` is NaN, and ``tol`` is never reached.
    """

    supports_partial_fit = True
    dual = math.nan
    unshuffled = ("given",)

    def __init__(self, setup):
        super().__init__(setup)
        self.state = self._new_state(setup, kept_steps(setup.warm, setup.problem))
        self.random = np.random.default_rng(self.options.seed)

    @property
    def n_oracle_calls(self):
        return self.state.n_steps

    def _pass(self):
        """Visit as many blocks as there are; return whether the pass was complete."""
        n, sampling = self.problem.n_blocks, self.options.sampling
        if sampling == "uniform":
            order = self.random.integers(n, size=n)
        elif sampling in self.unshuffled:
            order = np.arange(n)
        else:
            order = self.random.permutation(n)
        return self.state.run(order.astype(np.intp, copy=False), self.deadline)

    def _estimate(self):
        return math.nan

    def export(self):
        """Return the state from which training on later samples can continue."""
        return self.state.export()


def kept_steps(kept, problem):
    """Return the validated arguments `weights`, `moment` and `n_steps` of a state to continue from.

    Parameters
    ----------
    kept : dict or None
        State returned by ``export``, or None to start from scratch.
    problem : BlockProblem

    Raises
    ------
    ValueError
        If a field is invalid; the message names it.
    """
    if kept is None:
        return {}
    found = {
        name: problem.without_padding(kept_array(kept, name, np.float64, problem.n_weights))
        for name in ("weights", "moment")
    }
    return {**found, "n_steps": note(kept, "n_steps", int, MAX_COUNT)}
