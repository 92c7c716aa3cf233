"""How a fit ended."""

from enum import Enum


class Status(str, Enum):
    """Why the solver stopped; compares equal to its name."""

    CONVERGED = "CONVERGED"
    MAX_ITER = "MAX_ITER"
    TIME_LIMIT = "TIME_LIMIT"
    STALLED = "STALLED"
    INTERRUPTED = "INTERRUPTED"

    def __str__(self):
        return self.value
