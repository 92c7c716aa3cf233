"""How large a number of the data may be: with room for squares, sums and products in float64."""

import numpy as np

# Features, costs and potentials. Squares, summed over 1e9 features of 1e9 nodes, stay far below
# float64's 1.8e308.
LARGEST = 1e100
# Entries that are looked at in one go: they stay in the processor's cache, and may be on disk.
AT_ONCE = 2**16


def first_beyond(values, largest=LARGEST):
    """Return (index along the first axis, value) of the first entry that is NaN or too large.

    None where there is none. O(size), and no copy.
    """
    if values.size == 0 or values.dtype.kind != "f":
        return None
    largest = min(largest, float(np.finfo(values.dtype).max))
    step = max(1, AT_ONCE * len(values) // values.size)
    for first in range(0, len(values), step):
        part = values[first : first + step]
        if not (part.max() <= largest and part.min() >= -largest):  # NaN is neither
            wrong = ~(np.abs(part) <= largest)
            at = np.unravel_index(int(wrong.argmax()), wrong.shape)
            return first + int(at[0]), float(part[at])
    return None


def complaint(value, largest=LARGEST):
    """Say what is wrong with a feature that was found, and what to do about it."""
    if not np.isfinite(value):
        return "NaN or infinity"
    return f"{value:g}, expected at most {largest:g}, whose square is a float64: scale the features"
