"""Limits on the magnitude of input, so that squares, sums and products are finite in float64."""

import numpy as np

# For features, costs and potentials. Sums of squares over 1e9 features of 1e9 nodes stay far below
# the largest float64, 1.8e308.
LARGEST = 1e100
# Number of entries, possibly memory-mapped, that are checked together, by one thread of BLAS.
AT_ONCE = 2**13


def first_beyond(values, largest=LARGEST):
    """Return (index along the first axis, value) of the first entry that is NaN or too large.

    Returns None if all entries are valid. O(size), without a copy.
    """
    if values.size == 0 or values.dtype.kind != "f":
        return None
    step = max(1, AT_ONCE * len(values) // values.size)
    for first in range(0, len(values), step):
        part = values[first : first + step]
        # One entry that is too large makes the sum of squares too large; faster than max and min.
        if float(np.vdot(part, part)) < largest**2:
            continue
        largest = min(largest, float(np.finfo(values.dtype).max))
        if not (part.max() <= largest and part.min() >= -largest):  # also True for NaN
            wrong = ~(np.abs(part) <= largest)
            at = np.unravel_index(int(wrong.argmax()), wrong.shape)
            return first + int(at[0]), float(part[at])
    return None


def check_magnitudes(values, what, largest=LARGEST):
    """Raise ValueError for the first entry that is NaN or too large.

    what : str
        Subject and verb of the message, such as "X[3] contains".
    """
    wrong = first_beyond(values, largest)
    if wrong is not None:
        raise ValueError(f"{what} {complaint(wrong[1], largest)}")


def complaint(value, largest=LARGEST):
    """Return a description of an invalid feature value, with advice."""
    if not np.isfinite(value):
        return "NaN or infinity"
    return f"{value:g}, expected at most {largest:g} so that squares are finite; scale the features"
