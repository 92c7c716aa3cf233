"""Reasons why a fit ended."""

from enum import StrEnum


class Status(StrEnum):
    """Why a fit or an inference method stopped; compares equal to its name."""

    CONVERGED = "CONVERGED"
    MAX_ITER = "MAX_ITER"
    TIME_LIMIT = "TIME_LIMIT"
    STOPPED_BY_CALLBACK = "STOPPED_BY_CALLBACK"
    EARLY_STOPPED = "EARLY_STOPPED"  # the score on held-out samples no longer improved
    STALLED = "STALLED"  # no further progress is possible
    INTERRUPTED = "INTERRUPTED"  # by a signal or another exception
    ROUNDING = "ROUNDING"  # rounding errors may exceed the tolerance: no certificate
    INFEASIBLE = "INFEASIBLE"  # inference: no labeling is allowed
    PROVEN = "PROVEN"  # inference: the labeling is optimal, up to the tolerance
    UNPROVEN = "UNPROVEN"  # inference: all methods ended with a gap above the tolerance


class Limit(StrEnum):
    """Limit that was reached when a fit ended as MAX_ITER or TIME_LIMIT."""

    PASSES = "passes"
    CALLS = "calls"  # of the oracle, equivalent to max_iter passes
    ROUNDS = "rounds"  # passes in which most visits use a cached labeling
    TIME = "time"
