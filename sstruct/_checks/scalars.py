"""Type checks for numbers; NumPy treats timedelta as an integer."""

import numbers

import numpy as np


def is_real(value):
    """Return True if a value is a real number, but not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.timedelta64)


def is_integer(value):
    """Return True if a value is an integer, but not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.timedelta64)
