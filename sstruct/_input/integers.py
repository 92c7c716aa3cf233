"""Validation of arrays of integers, such as the states of parts or the heads of tokens."""

import numpy as np

from sstruct._checks.arrays import array_of, items_of, without_view
from sstruct._input.labels import as_labels, is_label, masked_as_none


def integers(value, name):
    """Return an array of integers; floats without fractions are converted."""
    array = array_of(without_view(value), name, "an array of integers")
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iuf" or (array != np.trunc(array)).any():
        raise TypeError(f"{name} must contain integers, found dtype {array.dtype}")
    if not (abs(array) < 2**31).all():
        largest = array.ravel()[np.argmax(abs(array))]
        raise ValueError(f"{name} contains {largest}, expected integers between -2^31 and 2^31")
    return array.astype(np.int64)


def integer_labels(item, name, kind, shape, ignore_label, *rules):
    """Return the labels of one sample, which are integers, and a mask of the ignored ones.

    Parameters
    ----------
    item : as passed by users
    name : str
        Name of the sample, for errors.
    kind : str
        Description of the entries, for errors.
    shape : tuple
        Expected shape.
    ignore_label : object
        Marker of unknown labels, or None.
    *rules : `place` and `advice` of `as_labels`

    Raises
    ------
    TypeError, ValueError
        If the shape is wrong or labels are not integers.
    """
    labels = array_of(masked_as_none(items_of(item)), name, f"an array of {kind}")
    if labels.ndim == 1 and labels.dtype.kind in ("f", "O"):
        labels = as_labels(labels, ignore_label, *rules)
    if labels.shape != shape:
        raise ValueError(f"{name} has shape {labels.shape}, expected {shape}: {kind}")
    if labels.size == 0:  # of any dtype
        labels = np.empty(shape, dtype=np.int64)
    if labels.dtype.kind not in "iuf":  # floats are whole numbers at this point
        raise TypeError(f"{name} has dtype {labels.dtype}, expected integers: {kind}")
    return labels, is_label(labels, ignore_label)
