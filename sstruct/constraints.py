"""Constraints of the labels of sets and graphs, which predictions always satisfy."""

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
