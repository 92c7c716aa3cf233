"""How a fit ended."""

from enum import StrEnum


class Status(StrEnum):
    """Why the solver stopped; compares equal to its name."""

    CONVERGED = "CONVERGED"
    MAX_ITER = "MAX_ITER"
    TIME_LIMIT = "TIME_LIMIT"
    STOPPED_BY_CALLBACK = "STOPPED_BY_CALLBACK"
    EARLY_STOPPED = "EARLY_STOPPED"  # held-out samples said which weights to keep
    STALLED = "STALLED"
    INTERRUPTED = "INTERRUPTED"
    ROUNDING = "ROUNDING"  # rounding may be larger than the tolerance: no certificate
    INFEASIBLE = "INFEASIBLE"  # of models: no labeling is allowed
    UNPROVEN = "UNPROVEN"  # of models: all methods have ended, the gap is above the tolerance


class Limit(StrEnum):
    """What was used up when a fit ended as MAX_ITER or TIME_LIMIT."""

    PASSES = "passes"
    CALLS = "calls"  # of the oracle: as many as max_iter passes would make
    ROUNDS = "rounds"  # passes most of whose visits find a cached labeling
    TIME = "time"
