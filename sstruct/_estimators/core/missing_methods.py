"""Methods that an estimator does not have: looking them up raises an error that says what to use.

``hasattr`` is False for them, as scikit-learn expects.
"""

from collections.abc import Callable
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any


class AvailableIf:
    """A method of some instances of a class.

    Parameters
    ----------
    check : callable
        Called with an instance; raises an AttributeError if it does not have the method.
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
    """A method that a class does not have, and that users look for.

    Parameters
    ----------
    reason : callable
        Returns why, and what to use, given the class.
    """

    def __init__(self, reason: Callable[[type], str]) -> None:
        self.reason = reason

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, estimator, owner):
        raise AttributeError(f"{owner.__name__} has no {self.name}: {self.reason(owner)}")


def no_probabilities(owner):
    """Say why there is no ``predict_proba``."""
    text = "a support vector machine does not estimate probabilities"
    if not hasattr(owner, "decision_function"):
        return text
    return (
        f"{text}. decision_function returns the score of each label; how to calibrate such scores "
        'is shown in the manual under "Tell how confident a prediction is" (how_to/confidence)'
    )


def only_all_samples(owner):
    """Say why a meta-estimator has no ``partial_fit``."""
    return (
        "it needs all samples at once. The estimators themselves have it with "
        'solver="perceptron", "pa" or "ssg" (how_to/learn_as_data_come)'
    )
