"""Numbering of image segments as nodes, and conversion of node values to pixels."""

import numpy as np

from sstruct._checks.arrays import array_of, concatenated

FEW = 4  # limit on the ratio of the largest label to the number of pixels for counting


def numbered(segments, mask=None):
    """Number the segments of an image from 0 in the order of their labels.

    Parameters
    ----------
    segments : array-like of int of shape (height, width)
        Segment of each pixel; negative for pixels in no segment.
    mask : array-like of bool of shape (height, width), optional
        Pixels with value False are in no segment.

    Returns
    -------
    nodes : ndarray of int of shape (height, width)
        Index of each pixel's segment, -1 for pixels in no segment.
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
    """Assign to each pixel the value of its node, or `fill` if it has none."""
    values = array_of(values, "node_labels")
    if values.ndim == 0 or len(values) != n_nodes:
        raise ValueError(
            f"node_labels has shape {values.shape}, expected one value for each of {n_nodes} "
            "segments; if the graph was built with a mask, pass the same mask"
        )
    if nodes.min() >= 0:
        return values[nodes]
    if values.dtype.kind in "US" and not isinstance(fill, str | bytes):
        values = values.astype(object)  # otherwise -1 would become "-1"
    filled, shape = array_of(fill, "fill"), values.shape[1:]
    try:
        last = np.broadcast_to(filled, shape)[None]
    except ValueError:
        expected = f"a value of shape {shape} like each segment" if shape else "a single value"
        raise ValueError(f"fill has shape {filled.shape}, expected {expected}") from None
    # Index -1 refers to the last entry.
    return concatenated([values, last], "node_labels and fill")[nodes]
