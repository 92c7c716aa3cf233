"""Constraints of label sets, which training sets satisfy and predictions always satisfy."""

from sstruct._input.label_constraints import (
    LabelConstraint,
    at_least,
    at_most,
    exactly_one,
    excludes,
    implies,
    ordinal,
)

__all__ = [
    "LabelConstraint",
    "at_least",
    "at_most",
    "exactly_one",
    "excludes",
    "implies",
    "ordinal",
]
