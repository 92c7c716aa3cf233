"""Reasons why a fit ended."""

from enum import StrEnum


class Status(StrEnum):
    """Why the solver stopped; compares equal to its name."""

    CONVERGED = "CONVERGED"
    MAX_ITER = "MAX_ITER"
    TIME_LIMIT = "TIME_LIMIT"
    STOPPED_BY_CALLBACK = "STOPPED_BY_CALLBACK"
    EARLY_STOPPED = "EARLY_STOPPED"  # the score on held-out samples no longer improved
    STALLED = "STALLED"
    INTERRUPTED = "INTERRUPTED"
    ROUNDING = "ROUNDING"  # rounding errors may exceed the tolerance: no certificate
    INFEASIBLE = "INFEASIBLE"  # of models: no labeling is allowed
    PROVEN = "PROVEN"  # of models: the labeling is optimal, up to the tolerance
    UNPROVEN = "UNPROVEN"  # of models: all methods have ended with a gap above the tolerance


class Limit(StrEnum):
    """Limit that was reached when a fit ended as MAX_ITER or TIME_LIMIT."""

    PASSES = "passes"
    CALLS = "calls"  # of the oracle, equivalent to max_iter passes
    ROUNDS = "rounds"  # passes in which most visits use a cached labeling
    TIME = "time"
