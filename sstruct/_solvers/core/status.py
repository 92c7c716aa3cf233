"""How a fit ended."""

from enum import StrEnum


class Status(StrEnum):
    """Why the solver stopped; compares equal to its name."""

    CONVERGED = "CONVERGED"
    MAX_ITER = "MAX_ITER"
    TIME_LIMIT = "TIME_LIMIT"
    STOPPED_BY_CALLBACK = "STOPPED_BY_CALLBACK"
    STALLED = "STALLED"
    INTERRUPTED = "INTERRUPTED"
    INFEASIBLE = "INFEASIBLE"  # of models: no labeling is allowed
