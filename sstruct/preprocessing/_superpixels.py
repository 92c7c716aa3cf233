"""Graphs from segmented images, and conversion of labels between pixels and segments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sstruct._checks.arrays import array_of
from sstruct._estimators.graph.graph_samples import contrast, label_image
from sstruct._input.labels import as_labels, encode, find_classes, is_label, masked_as_none
from sstruct._input.segments import numbered, painted

__all__ = ["pixel_labels", "superpixel_graph", "superpixel_labels"]

# Number of pixels processed at a time, which limits temporary memory and the delay of Ctrl-C.
BAND = 2**20


def superpixel_graph(
    image: ArrayLike,
    segments: ArrayLike,
    *,
    features: ArrayLike | None = None,
    mask: ArrayLike | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Build a sample for :class:`sstruct.GraphCRFSSVM` from a segmented image.

    The segments (superpixels) are the nodes, ordered by their labels; edges join adjacent segments.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, n_channels)
        Any real dtype; uint8 and uint16 are scaled to [0, 1].
    segments : array-like of int of shape (height, width)
        Segment label of each pixel, such as the output of ``skimage.segmentation.slic``; labels may
        have gaps. Pixels with a negative label belong to no segment.
    features : array-like of shape (height, width) or (height, width, n_features), optional
        Features of the pixels, such as filter responses or the output of a network, to use instead
        of the channels of the image.
    mask : array-like of bool of shape (height, width), optional
        Pixels with value False belong to no segment, regardless of their label.

    Returns
    -------
    node_features : ndarray of shape (n_nodes, n_channels or n_features)
        Means over the pixels of each segment.
    edges : ndarray of int of shape (n_edges, 2)
        Pairs of horizontally or vertically adjacent segments, sorted and without duplicates, with
        the smaller index first.
    edge_features : ndarray of shape (n_edges, 2)
        Features for ``pairwise="contrast"``. First column: l, the length of the border between the
        segments divided by its mean over the image. Second column: l times
        ``exp(-|a - b|**2 / (2 * mean))``, where a and b are the mean colors of the segments and
        mean is the mean of ``|a - b|**2`` over all edges; small if colors differ.
    node_sizes : ndarray of int of shape (n_nodes,)
        Number of pixels of each segment, used as the weight of the node in the loss.

    Raises
    ------
    ValueError, TypeError
        If shapes are inconsistent, or pixels in segments are NaN or infinite.

    See Also
    --------
    superpixel_labels : Convert labels of pixels to labels of nodes, for training.
    pixel_labels : Convert labels of nodes to labels of pixels, for predictions.

    Notes
    -----
    If every pixel is a separate segment, edges and edge features equal those of
    ``GridCRFSSVM(connectivity=4, pairwise="contrast")``, up to the order of the edges.

    The complexity is O(n (log n + n_features)) for n pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from sstruct.preprocessing import superpixel_graph
    >>> image = np.array([[0.0, 0.0, 1.0], [0.2, 0.2, 1.0]])
    >>> segments = np.array([[1, 1, 3], [2, 2, 3]])
    >>> nodes, edges, edge_features, sizes = superpixel_graph(image, segments)
    >>> nodes.ravel().tolist(), sizes.tolist()
    ([0.0, 0.2, 1.0], [2, 2, 2])
    >>> edges.tolist()
    [[0, 1], [0, 2], [1, 2]]
    >>> edge_features.round(2)
    array([[1.5 , 1.45],
           [0.75, 0.31],
           [0.75, 0.42]])
    """
    nodes, n_nodes = numbered(segments, mask)
    image = _pixels("image", image, nodes.shape)
    if image.dtype.kind == "u" and image.dtype.itemsize <= 2:
        # Image files store intensities from 0 to 1 as integers.
        image = image / np.iinfo(image.dtype).max
    described = image if features is None else _pixels("features", features, nodes.shape)
    sizes = np.bincount(nodes[nodes >= 0], minlength=n_nodes)
    means = _means("image", image, nodes, sizes)
    edges, border = _touching(nodes, n_nodes)
    length = border / border.mean() if len(border) else border.astype(float)
    square = ((means[edges[:, 0]] - means[edges[:, 1]]) ** 2).sum(axis=1)
    if features is not None:
        means = _means("features", described, nodes, sizes)
    return means, edges, np.column_stack([length, length * contrast(square)]), sizes


def superpixel_labels(
    segments: ArrayLike,
    labels: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    ignore_label: Any = -1,
) -> np.ndarray:
    """Compute the majority label of each segment.

    Parameters
    ----------
    segments : array-like of int of shape (height, width)
        As in :func:`superpixel_graph`.
    labels : array-like of shape (height, width)
        Label of each pixel, of any hashable type.
    mask : array-like of bool of shape (height, width), optional
        As in :func:`superpixel_graph`.
    ignore_label : object, default=-1
        Pixels with this label do not vote; segments without votes are assigned it. Pixels whose
        label is None, NaN or masked do not vote either. If None, all pixels vote, and unknown
        labels raise an error.

    Returns
    -------
    node_labels : ndarray of shape (n_nodes,)
        Labels in the order of the graph's nodes. Ties are resolved by the order of labels.

    See Also
    --------
    superpixel_graph : Build the graph of these labels.
    pixel_labels : The inverse mapping.

    Examples
    --------
    >>> from sstruct.preprocessing import superpixel_labels
    >>> superpixel_labels([[1, 1, 3], [2, 1, 3]], [[0, 0, 1], [0, 1, -1]])
    array([0, 0, 1])
    """
    nodes, n_nodes = numbered(segments, mask)
    labels = label_image(masked_as_none(labels))
    if labels.shape != nodes.shape:
        raise ValueError(f"labels has shape {labels.shape}, but segments has shape {nodes.shape}")
    flat, at, width = labels.ravel(), nodes.ravel(), nodes.shape[1]
    flat = as_labels(flat, ignore_label, lambda k: f"the label of pixel {divmod(k, width)}")
    classes = find_classes(flat)
    ignored = is_label(flat, ignore_label)
    voting = (at >= 0) & ~ignored
    # Count the votes for each pair of node and label. In each node, the label with the most votes
    # comes first, and the first one in the order of labels in case of a tie.
    pairs = at[voting] * len(classes) + encode(flat, classes)[voting]
    pairs, votes = np.unique(pairs, return_counts=True)
    node, code = np.divmod(pairs, len(classes))
    order = np.lexsort((code, -votes, node))
    node, first = np.unique(node[order], return_index=True)
    # All pixels of a node without votes have an ignored label.
    other = int(ignored.argmax())
    out = np.repeat(flat[other : other + 1], n_nodes).astype(classes.dtype)
    out[node] = classes[code[order[first]]]
    return out


def pixel_labels(
    segments: ArrayLike,
    node_labels: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    fill: Any = -1,
) -> np.ndarray:
    """Assign to each pixel the label of its segment.

    Parameters
    ----------
    segments : array-like of int of shape (height, width)
        As in :func:`superpixel_graph`.
    node_labels : array-like of shape (n_nodes,) or (n_nodes, n_values)
        Output of :meth:`sstruct.GraphCRFSSVM.predict` for the graph, or several values per node.
    mask : array-like of bool of shape (height, width), optional
        As in :func:`superpixel_graph`.
    fill : object, default=-1
        Value for pixels that belong to no segment.

    Returns
    -------
    labels : ndarray of shape (height, width) or (height, width, n_values)
        Labels of the pixels.

    See Also
    --------
    superpixel_graph : Build the graph of these labels.
    superpixel_labels : The inverse mapping.

    Notes
    -----
    If segments are numbered from 0 without gaps, this is ``node_labels[segments]``.

    Examples
    --------
    >>> from sstruct.preprocessing import pixel_labels
    >>> pixel_labels([[1, 1, 3], [2, 1, 3]], ["sky", "tree", "sky"])
    array([['sky', 'sky', 'sky'],
           ['tree', 'sky', 'sky']], dtype='<U4')
    """
    return painted(*numbered(segments, mask), node_labels, fill)


def _pixels(name, values, shape):
    """Return the values of pixels with shape (height, width, n_values)."""
    values = array_of(values, name)
    if values.ndim not in (2, 3) or values.shape[:2] != shape or 0 in values.shape:
        raise ValueError(
            f"{name} has shape {values.shape}, but segments has shape {shape}; expected {shape} or "
            f"({shape[0]}, {shape[1]}, n)"
        )
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {values.dtype}, expected real numbers")
    return values.reshape(*shape, -1)


def _means(name, values, nodes, sizes):
    """Return the means over segments (n_nodes, n_values)."""
    at, values = nodes.ravel(), values.reshape(nodes.size, -1)
    if nodes.min() < 0:
        at, values = at[at >= 0], values[at >= 0]
    # A sparse product sums the rows in one pass over the pixels.
    membership = np.ones(len(at)), at, np.arange(len(at) + 1)
    means = sparse.csc_array(membership, (len(sizes), len(at))) @ values
    means /= sizes[:, np.newaxis]
    if not np.isfinite(means).all():
        raise ValueError(f"{name} contains NaN or infinity in a segment")
    return means


def _touching(nodes, n_nodes):
    """Return the sorted pairs of adjacent nodes and the number of adjacent pixels of each."""
    height = max(1, BAND // nodes.shape[1])
    pairs, counts = [], []
    for top in range(0, len(nodes), height):
        band, below = nodes[top : top + height], nodes[top + 1 : top + height + 1]
        for a, b in ((band[:, :-1], band[:, 1:]), (band[: len(below)], below)):
            border = (a != b) & (np.minimum(a, b) >= 0)
            u, v = a[border], b[border]
            pair_codes = np.minimum(u, v) * n_nodes + np.maximum(u, v)
            for found, part in zip(np.unique(pair_codes, return_counts=True), (pairs, counts)):
                part.append(found)
    u, v = np.divmod(np.concatenate(pairs), n_nodes)
    # Sums the counts of a pair over all bands.
    number = sparse.coo_array((np.concatenate(counts), (u, v)), (n_nodes, n_nodes)).tocsr()
    number.sort_indices()
    number = number.tocoo()
    return np.column_stack([number.row, number.col]).astype(np.intp, copy=False), number.data
