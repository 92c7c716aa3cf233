"""Training on windows: large samples are split into blocks that overlap in free labels."""

import numpy as np

# Solvers that support windows as blocks.
SOLVERS = ("mp-bcfw", "bcfw")


class Windowed:
    """Mixin for structures whose samples can be split into windows: checks of parameters."""

    def check(self):
        super().check()
        if self.couple_windows and self.early_stopping:
            raise ValueError(
                "couple_windows=True of the solver cannot be combined with early_stopping=True; "
                "set one of them to False"
            )
        if not (self.window_size in (None, "auto") or self.rescaling == "margin"):
            raise ValueError(
                f"window_size={self.window_size} cannot be combined with rescaling='slack', which "
                "does not split into windows; use window_size='auto' or rescaling='margin'"
            )

    def window_sizes(self, longest, size):
        """Return the size up to which samples are not split, and the largest window size.

        longest, size : the values of ``window_size="auto"``
        """
        if self.window_size is None:
            return np.inf, 1
        if not isinstance(self.window_size, str):
            return int(self.window_size), int(self.window_size)
        # Independent of other samples, so partitions and added samples do not change the windows.
        refused = self.rescaling != "margin" or self.solver_name not in ("auto", *SOLVERS)
        return (np.inf, 1) if refused else (longest, size)

    def describe(self, attributes):
        # None if samples are not split, which removes the value of an earlier fit.
        return super().describe({"whole_objective_": None} | attributes)
