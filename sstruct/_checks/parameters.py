"""Valid values of parameters, declared in tables of name and values, and their validation.

The parameter random_state is converted to a seed.
"""

import math
import numbers
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.utils import check_random_state

from sstruct._checks.arrays import check_not_sparse
from sstruct._checks.shown import brief, shortened

FLAG = (False, True)
# Types that Python and NumPy treat as integers.
NOT_NUMBERS = (bool, np.timedelta64)
# Seeds that are drawn from generators are less than this.
MAX_SEEDS = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Range:
    """A finite number in a range.

    Attributes
    ----------
    above, below, least : float or None
        Bounds; the number may be equal only to `least`.
    whole : bool
        Whether it must be an integer.
    other : tuple
        Other valid values: strings, None, True or False.
    """

    above: float | None = None
    below: float | None = None
    least: float | None = None
    whole: bool = False
    other: tuple = ()

    def check(self, name, value):
        """Raise TypeError or ValueError if a value is invalid."""
        if value is None or isinstance(value, str | bool):
            for each in self.other:
                if value is each or (isinstance(value, str) and value == each):
                    return
        kind = numbers.Integral if self.whole else numbers.Real
        if not isinstance(value, kind) or isinstance(value, NOT_NUMBERS):
            kinds = ["an integer" if self.whole else "a number", *map(repr, self.other)]
            text = isinstance(value, str) and any(isinstance(each, str) for each in self.other)
            raise (ValueError if text else TypeError)(
                f"{name} must be {' or '.join(kinds)}, found {shortened(value)}"
            )
        try:
            finite = math.isfinite(value)
        except OverflowError:  # an integer that exceeds the range of floats
            finite = False
        if finite and not self.whole:
            value = float(value)  # tiny fractions are rounded to zero
        if not finite or (self.above is not None and value <= self.above):
            bound = "" if self.above is None else f" and above {self.above}"
            raise ValueError(f"{name} must be finite{bound}, found {shortened(value)}")
        if self.least is not None and value < self.least:
            raise ValueError(f"{name} must be at least {self.least}, found {shortened(value)}")
        if self.below is not None and value >= self.below:
            limit = f"at most {self.below - 1}" if self.whole else f"below {self.below}"
            raise ValueError(f"{name} must be {limit}, found {shortened(value)}")


def check_values(values, valid, owner=""):
    """Raise TypeError or ValueError if a parameter is invalid.

    Parameters
    ----------
    values : dict
        Values by name.
    valid : dict
        By name, a Range or the tuple of valid strings and bools; other names in `values` are not
        checked, and names that are not in `values` are ignored.
    owner : str
        Text after the name in errors.
    """
    for name, expected in valid.items():
        if name not in values:
            continue
        if isinstance(expected, Range):
            expected.check(name + owner, values[name])
        else:
            check_choice(name + owner, values[name], expected)


def check_choice(name, value, choices):
    """Raise an error unless a parameter has one of the given values; True differs from 1."""
    for kind in (str, bool | np.bool_):
        if isinstance(value, kind):
            for choice in choices:
                if isinstance(choice, kind) and choice == value:
                    return
    raise ValueError(f"{name} must be one of {choices}, found {shortened(value)}")


def check_number(name, value, **limits):
    """Raise an error unless a parameter is in the Range with these limits."""
    Range(**limits).check(name, value)


def is_real(value):
    """Return True if a value is a real number, but not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, NOT_NUMBERS)


def is_integer(value):
    """Return True if a value is an integer, but not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, NOT_NUMBERS)


def seed_of(random_state):
    """Return a seed between 0 and 2^31 - 2.

    Parameters
    ----------
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        If it is a generator, a seed is drawn from it.

    Raises
    ------
    ValueError
        If `random_state` has another type.
    """
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(MAX_SEEDS))
    return drawn_seed(random_state)


def drawn_seed(random_state):
    """Return a seed drawn from the RandomState of a seed or a generator, or raise ValueError."""
    if type(random_state) is int:
        return _seed_of_seed(random_state)
    return int(random_of(random_state).randint(MAX_SEEDS))


@lru_cache
def _seed_of_seed(seed):
    # A new generator takes 0.1 ms, a twentieth of a small fit.
    return int(random_of(seed).randint(MAX_SEEDS))


def random_of(random_state):
    """Return the RandomState for a seed, as scikit-learn does, or raise ValueError."""
    expected = "an int, a RandomState or None"
    check_not_sparse(random_state, "random_state", expected)
    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise ValueError(f"random_state must be {expected}: {brief(error)}") from None
