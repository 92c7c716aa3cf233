"""Descriptors of methods that an estimator lacks, with errors that explain what to use instead.

``hasattr`` returns False for them, as scikit-learn expects.
"""

from collections.abc import Callable
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any


class AvailableIf:
    """A method that only some instances of a class have.

    Parameters
    ----------
    check : callable
        Called with an instance; raises an AttributeError if the instance does not have the method.
        scikit-learn's ``available_if`` hides the message of that error.
    method : function
    """

    def __init__(self, check: Callable[[Any], None], method: Callable) -> None:
        self.check, self.method = check, method
        update_wrapper(self, method)

    def __get__(self, estimator, owner=None):
        if estimator is not None:
            self.check(estimator)
            return MethodType(self.method, estimator)

        @wraps(self.method)
        def unbound(estimator, *args, **keywords):
            self.check(estimator)
            return self.method(estimator, *args, **keywords)

        return unbound


class Missing:
    """A method that a class lacks, although users may expect it.

    Parameters
    ----------
    reason : callable
        Returns the reason, and an alternative, for a given class.
    """

    def __init__(self, reason: Callable[[type], str]) -> None:
        self.reason = reason

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, estimator, owner):
        raise AttributeError(f"{owner.__name__} has no {self.name}: {self.reason(owner)}")


def no_probabilities(owner):
    """Return the reason for the missing ``predict_proba``."""
    text = "a support vector machine does not estimate probabilities"
    # Meta-estimators have no structure of their own.
    structure = getattr(owner, "_structure_class", None)
    if not hasattr(owner, "decision_function"):
        return text
    if not getattr(structure, "has_distribution", True):
        return f"{text}. decision_function returns scores (how_to/confidence in the manual)"
    inner = "estimator" if structure is None else f"{owner.__name__}(...)"
    return (
        f"{text}. decision_function returns the score of each label. CalibratedSSVM({inner}) of "
        "sstruct.calibration has predict_proba (how_to/confidence in the manual)"
    )


def only_proba(owner):
    """Return the reason for the missing ``predict_log_proba`` of an estimator of probabilities."""
    return (
        "use numpy.log of the arrays of predict_proba, or log_proba for the log-probability of "
        "labelings"
    )


def only_for_sequences(owner):
    """Return the reason for the missing ``predict_top_k``."""
    return (
        "only ChainSSVM and SegmentSSVM compute the k best outputs; predict returns the best output"
    )


def requires_all_samples(owner):
    """Return the reason for the missing ``partial_fit`` of a meta-estimator."""
    return (
        "it requires all samples. The estimators themselves support partial_fit with "
        'solver="perceptron", "pa" or "ssg" (how_to/learn_as_data_come)'
    )
