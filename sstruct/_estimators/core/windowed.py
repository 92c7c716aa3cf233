"""Training on windows: samples of many nodes are cut into blocks that overlap in free labels."""

import numpy as np

from sstruct._checks.shown import shortened
from sstruct._input.ragged import check_choice, check_number

# The solvers whose blocks may be windows.
SOLVERS = ("mp-bcfw", "bcfw")


class Windowed:
    """Mixin of structures whose samples may be cut into windows: the parameters of that."""

    def check(self):
        super().check()
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

    def window_sizes(self, longest, size):
        """Return the size up to which samples are not cut, and the largest size of a window.

        longest, size : the values of ``window_size="auto"``
        """
        if self.window_size is None:
            return np.inf, 1
        if not isinstance(self.window_size, str):
            return int(self.window_size), int(self.window_size)
        # Depends on one sample only, so partitions and added samples do not change the windows.
        refused = self.rescaling != "margin" or self.solver_name not in ("auto", *SOLVERS)
        return (np.inf, 1) if refused else (longest, size)

    def describe(self, attributes):
        # None: samples are not cut. Fits before may have left a number.
        return super().describe({"whole_objective_": None} | attributes)
