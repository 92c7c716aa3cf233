"""Numbers of any kind as doubles: of integers beyond them NumPy makes an OverflowError."""

import numpy as np

__all__ = ["check_depth", "real_array"]

# Lists in lists, of which NumPy looks at every entry; those that hold themselves have no end.
MOST_DEEP = 8


def check_depth(values, name):
    """Raise ValueError where lists are nested deeper than any array that is read."""
    depth = 0
    while isinstance(values, list | tuple) and len(values):
        values, depth = values[0], depth + 1
        if depth > MOST_DEEP:
            raise ValueError(f"{name} has lists nested more than {MOST_DEEP} deep")


def real_array(values, name):
    """Return values as a float64 array, a view where they are that.

    Raises
    ------
    ValueError, TypeError
        Where they are no real numbers, or beyond the range of double precision; names them.
    """
    check_depth(values, name)
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name} has a number beyond the range of double precision") from None
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} is no array of real numbers: {error}") from None
