"""Which values are numbers: for NumPy, a difference of times is an integer."""

import numbers

import numpy as np


def is_real(value):
    """Whether it is a real number, and not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.timedelta64)


def is_integer(value):
    """Whether it is an integer, and not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.timedelta64)
