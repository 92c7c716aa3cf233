"""Training on windows: samples of many nodes are cut into blocks that overlap in free labels."""

import numpy as np

from sstruct._checks.shown import shortened
from sstruct._estimators.core.threads import n_threads
from sstruct._input.ragged import check_choice, check_number
from sstruct._solvers.core.solver import objective_at
from sstruct._solvers.proximal.coupled import Coupled

# The solvers whose blocks may be windows.
SOLVERS = ("mp-bcfw", "bcfw")


class Windows:
    """Mixin of estimators with windows: their parameters and ``whole_objective_``."""

    def _check_parameters(self):
        super()._check_parameters()
        if not isinstance(self.couple_windows, bool | np.bool_):
            raise TypeError(
                f"couple_windows must be True or False, found {shortened(self.couple_windows)}"
            )
        if self.couple_windows:
            self._check_coupling()
        if self.window_size is None:
            return
        if isinstance(self.window_size, str):
            check_choice("window_size", self.window_size, ("auto",))
            return
        check_number("window_size", self.window_size, least=1, whole=True)
        if self.rescaling != "margin":
            raise ValueError(
                f"window_size={self.window_size} cannot be combined with rescaling='slack', which "
                "does not split into windows; leave window_size='auto' or set rescaling='margin'"
            )

    def _check_coupling(self):
        """Raise if other parameters do not allow multipliers on the copies of windows."""
        average = getattr(self.solver, "average", "auto")
        if average != "auto" and average:
            raise ValueError(
                "couple_windows=True cannot be combined with average=True; use average='auto'"
            )
        if self.early_stopping:
            raise ValueError(
                "couple_windows=True cannot be combined with early_stopping=True; set one of them "
                "to False"
            )

    def _solver_class(self, solver, training):
        if self.couple_windows and training.whole is not None:
            return Coupled
        return super()._solver_class(solver, training)

    def _window_sizes(self, longest, size):
        """Return the size up to which samples are not cut, and the largest size of a window.

        longest, size : the values of ``window_size="auto"``
        """
        if self.window_size is None:
            return np.inf, 1
        if not isinstance(self.window_size, str):
            return int(self.window_size), int(self.window_size)
        # Depends on one sample only, so partitions and added samples do not change the windows.
        refused = self.rescaling != "margin" or self._solver_name not in ("auto", *SOLVERS)
        return (np.inf, 1) if refused else (longest, size)

    def _after_solve(self, training, solution):
        if training.whole is not None and solution.interruption is None:
            problem, first = training.whole()
            training.attributes["whole_objective_"] = objective_at(
                problem,
                training.solver_lam,
                training.block_weight[first],
                solution.w,
                n_threads(self.n_jobs),
            )
        return super()._after_solve(training, solution)

    def _fitted_attributes(self, solution, lam, solver, attributes):
        attributes = {"whole_objective_": None} | attributes  # None: not there
        return super()._fitted_attributes(solution, lam, solver, attributes)
