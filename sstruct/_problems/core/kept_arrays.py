"""Validation of arrays from files and fitted models, before any other use."""

import numpy as np

from sstruct._checks.arrays import contiguous

# Upper limit of stored counts, such as calls or passes. No fit reaches it, and sums of many counts
# below it are exact.
MAX_COUNT = 2**40


def kept_array(
    kept, name, dtype, size=None, *, least=None, most=None, positive=False, values="finite"
):
    """Return an array of a dict as a contiguous array, after checking its type, shape and values.

    Parameters
    ----------
    kept : dict
    name : str
    dtype : dtype
        Required dtype; nothing is cast.
    size : int or None
        Expected number of entries; None for any.
    least, most : number or None
        Bounds of all entries.
    positive : bool
        Whether `least` itself is excluded.
    values : {"finite", "infinite", "any"}
        For floats: whether +inf is allowed; with "any" also NaN and -inf.

    Raises
    ------
    ValueError
        If the array is missing or invalid; names the field, the value found and the expected value.
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
    low, high = array.min(), array.max()  # NaN if any entry is NaN
    fine = values == "any" or (low > -np.inf and (high < np.inf or values == "infinite"))
    if dtype.kind == "f" and not fine:
        at = int(np.argmax(~(array > -np.inf) | ((array == np.inf) & (values == "finite"))))
        expected = "a finite number" if values == "finite" else "a number or inf"
        raise ValueError(f"{name}: entry {at} is {array[at]}, expected {expected}")
    if least is not None and (low <= least if positive else low < least):
        at, bound = int(np.argmin(array)), "more than" if positive else "at least"
        raise ValueError(f"{name}: entry {at} is {low}, expected {bound} {least}")
    if most is not None and high > most:
        raise ValueError(
            f"{name}: entry {int(np.argmax(array))} is {high}, expected at most {most}"
        )
    return contiguous(array)


def kept_sizes(kept, name, n_blocks, total, what, *, least=0):
    """Return counts per block that sum to `total`, and the sums of the counts before each block.

    Each count is bounded before they are summed, so that an overflow cannot go unnoticed.

    Parameters
    ----------
    kept : dict
    name : str
    n_blocks, total : int
    what : str
        The field that has `total` entries.
    least : int
        Lower bound of each count.
    """
    size = kept_array(kept, name, np.int64, n_blocks, least=least, most=total)
    ends = np.cumsum(size)
    # Each count is at most `total`: the first sum beyond it is detected before any can overflow.
    found = int(ends[-1]) if n_blocks else 0
    if found != total or (n_blocks and int(ends.max()) > total):
        raise ValueError(
            f"{name}: the counts do not sum to {total}, the number of entries of {what}"
        )
    return size, ends - size
