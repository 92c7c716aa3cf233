"""Pixels cut into segments by an array of labels, and the segments numbered as nodes."""

import numpy as np

from sstruct._checks.arrays import array_of, concatenated

FEW = 4  # labels a pixel, up to the largest


def numbered(segments, mask=None):
    """Number the segments of an image from 0, in the order of their labels.

    Parameters
    ----------
    segments : array-like of int of shape (height, width)
        Which segment each pixel is in; negative: none.
    mask : array-like of bool of shape (height, width), optional
        False: the pixel is in no segment.

    Returns
    -------
    nodes : ndarray of int of shape (height, width)
        Number of each pixel's segment, -1 where it has none.
    n_nodes : int
    """
    segments = array_of(segments, "segments")
    if segments.ndim != 2:
        raise ValueError(f"segments has shape {segments.shape}, expected (height, width)")
    if segments.dtype.kind not in "iub":
        raise TypeError(
            f"segments has dtype {segments.dtype}, expected integers: the label of each pixel's "
            "segment"
        )
    inside = segments >= 0
    if mask is not None:
        mask = array_of(mask, "mask")
        if mask.shape != segments.shape or mask.dtype != bool:
            raise ValueError(
                f"mask has shape {mask.shape} and dtype {mask.dtype}, expected a bool array of the "
                f"shape of segments, {segments.shape}"
            )
        inside &= mask
    if not inside.any():
        raise ValueError("segments has no pixel in a segment: all are negative or masked")
    nodes = np.full(segments.shape, -1, dtype=np.intp)
    labels = segments[inside]
    if labels.max() <= FEW * labels.size:  # counting is faster than sorting
        labels = labels.astype(np.intp)
        occurs = np.bincount(labels) > 0
        nodes[inside] = (np.cumsum(occurs) - 1)[labels]
        return nodes, int(occurs.sum())
    found, nodes[inside] = np.unique(labels, return_inverse=True)
    return nodes, len(found)


def painted(nodes, n_nodes, values, fill):
    """Give each pixel the value of its node, or `fill` where it has none."""
    values = array_of(values, "node_labels")
    if values.ndim == 0 or len(values) != n_nodes:
        raise ValueError(
            f"there are values of shape {values.shape} for {n_nodes} segments, expected one for "
            "each; with a mask give the one that the graph was made with"
        )
    if nodes.min() >= 0:
        return values[nodes]
    if values.dtype.kind in "US" and not isinstance(fill, str | bytes):
        values = values.astype(object)  # else -1 would become "-1"
    filled, shape = array_of(fill, "fill"), values.shape[1:]
    try:
        last = np.broadcast_to(filled, shape)[None]
    except ValueError:
        expected = f"a value of shape {shape}, as each segment has" if shape else "a single value"
        raise ValueError(f"fill has shape {filled.shape}, expected {expected}") from None
    # Nodes of -1 find it at the end.
    return concatenated([values, last], "node_labels and fill")[nodes]
