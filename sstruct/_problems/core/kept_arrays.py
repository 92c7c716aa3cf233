"""Arrays that a file or a fitted model has kept: none is trusted before it has been here."""

import numpy as np

from sstruct._checks.arrays import contiguous

# More calls, passes or queries than any fit makes; sums of many are still exact.
MOST_COUNTED = 2**40


def kept_array(
    kept, name, dtype, size=None, *, least=None, most=None, positive=False, values="finite"
):
    """Return an array of a dict, checked: native, contiguous, one-dimensional, within bounds.

    Parameters
    ----------
    kept : dict
    name : str
    dtype : dtype
        The one that it must have: nothing is cast.
    size : int or None
        Number of entries; None: any.
    least, most : number or None
        Bounds of all entries.
    positive : bool
        Whether `least` itself is none of the values.
    values : {"finite", "infinite", "any"}
        Of floats: whether +inf may be one; with "any" NaN and -inf too.

    Raises
    ------
    ValueError
        Names the field, what was found and what is expected.
    """
    array, dtype = kept.get(name), np.dtype(dtype)
    if not isinstance(array, np.ndarray):
        found = "nothing" if array is None else type(array).__name__
        raise ValueError(f"{name}: expected an array of {dtype}, found {found}")
    if array.dtype != dtype or array.ndim != 1:
        raise ValueError(
            f"{name}: expected an array of {dtype} in one dimension, found {array.dtype} of shape "
            f"{array.shape}"
        )
    if size is not None and len(array) != size:
        raise ValueError(f"{name}: expected {size} entries, found {len(array)}")
    if len(array) == 0:
        return contiguous(array)
    low, high = array.min(), array.max()  # NaN where there is one
    fine = values == "any" or (low > -np.inf and (high < np.inf or values == "infinite"))
    if dtype.kind == "f" and not fine:
        at = int(np.argmax(~(array > -np.inf) | ((array == np.inf) & (values == "finite"))))
        raise ValueError(f"{name}: entry {at} is {array[at]}, expected a {values} number")
    if least is not None and (low <= least if positive else low < least):
        at, bound = int(np.argmin(array)), "more than" if positive else "at least"
        raise ValueError(f"{name}: entry {at} is {low}, expected {bound} {least}")
    if most is not None and high > most:
        raise ValueError(
            f"{name}: entry {int(np.argmax(array))} is {high}, expected at most {most}"
        )
    return contiguous(array)


def kept_sizes(kept, name, n_blocks, total, what, *, least=0):
    """Return counts of blocks that sum to `total`, and the sums of those before each.

    Overflow cannot hide in the sum: each is bounded before they are added.

    Parameters
    ----------
    kept : dict
    name : str
    n_blocks, total : int
    what : str
        The field that has `total` entries.
    least : int
        Of each count.
    """
    size = kept_array(kept, name, np.int64, n_blocks, least=least, most=total)
    ends = np.cumsum(size)
    # At most `total` each: the first sum beyond it is seen before any can wrap around.
    found = int(ends[-1]) if n_blocks else 0
    if found != total or (n_blocks and int(ends.max()) > total):
        raise ValueError(f"{name}: the counts do not sum to {total}, the entries of {what}")
    return size, ends - size
