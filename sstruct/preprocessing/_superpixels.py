"""Images cut into segments as graphs, and labels between pixels and segments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sstruct._checks.arrays import array_of
from sstruct._estimators.graph.samples import contrast
from sstruct._input.labels import as_labels, encode, find_classes, is_label, masked_as_none
from sstruct._input.segments import numbered, painted

__all__ = ["pixel_labels", "superpixel_graph", "superpixel_labels"]

# Pixels looked at between two chances for Ctrl-C, in a cache's size.
BAND = 2**20


def superpixel_graph(
    image: ArrayLike,
    segments: ArrayLike,
    *,
    features: ArrayLike | None = None,
    mask: ArrayLike | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Make a sample of :class:`sstruct.GraphCRFSSVM` from an image that is cut into segments.

    The segments (superpixels) are the nodes, in the order of their labels; an edge joins two that
    touch.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, n_channels)
        Any real dtype; uint8 and uint16 are brought to between 0 and 1.
    segments : array-like of int of shape (height, width)
        Label of each pixel's segment, as ``skimage.segmentation.slic`` returns it; labels may have
        gaps. Pixels with a negative label are in no segment.
    features : array-like of shape (height, width) or (height, width, n_features), optional
        Describes the pixels, where the image's channels are not what the model is to see: responses
        of filters, or the output of a network.
    mask : array-like of bool of shape (height, width), optional
        False: the pixel is in no segment, whatever its label.

    Returns
    -------
    node_features : ndarray of shape (n_nodes, n_channels or n_features)
        Mean over the pixels of each segment.
    edges : ndarray of int of shape (n_edges, 2)
        Pairs of segments that touch, horizontally or vertically: each pair once, the smaller number
        first, sorted.
    edge_features : ndarray of shape (n_edges, 2)
        For ``pairwise="contrast"``. First column: l, the length of the border between the two
        segments, divided by its mean over the image. Second column: l times
        ``exp(-|a - b|**2 / (2 * mean))``, for mean colors a and b of the segments and the mean of
        ``|a - b|**2`` over the image's edges: small where colors differ.
    node_sizes : ndarray of int of shape (n_nodes,)
        Number of pixels of each segment: the weight of the node in the loss.

    Raises
    ------
    ValueError, TypeError
        Where arrays do not fit together, or pixels in segments are NaN or infinite.

    See Also
    --------
    superpixel_labels : Labels of pixels to labels of nodes, for training.
    pixel_labels : Labels of nodes to labels of pixels, for predictions.

    Notes
    -----
    If every pixel is a segment of its own, edges and edge features are those of
    ``GridCRFSSVM(connectivity=4, pairwise="contrast")``.

    O(n (log n + n_features)) for n pixels.

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
        # How files hold intensities from 0 to 1.
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
    """Find the label that most pixels of each segment have.

    Parameters
    ----------
    segments : array-like of int of shape (height, width)
        As in :func:`superpixel_graph`.
    labels : array-like of shape (height, width)
        Label of each pixel, of any hashable type.
    mask : array-like of bool of shape (height, width), optional
        As in :func:`superpixel_graph`.
    ignore_label : object, default=-1
        Pixels with this label have no vote; a segment without a vote gets it. Pixels whose label is
        None, NaN or masked have no vote either. None: all have one.

    Returns
    -------
    node_labels : ndarray of shape (n_nodes,)
        In the order of the graph's nodes; of labels that are equally frequent, the first in order.

    See Also
    --------
    superpixel_graph : The graph that these are the labels of.
    pixel_labels : The other way.

    Examples
    --------
    >>> from sstruct.preprocessing import superpixel_labels
    >>> superpixel_labels([[1, 1, 3], [2, 1, 3]], [[0, 0, 1], [0, 1, -1]])
    array([0, 0, 1])
    """
    nodes, n_nodes = numbered(segments, mask)
    labels = masked_as_none(labels)
    if not isinstance(labels, np.ndarray):
        try:
            labels = np.asarray(labels, dtype=object)
        except ValueError:
            raise ValueError(
                f"labels has rows of different shapes, expected that of segments, {nodes.shape}"
            ) from None
    if labels.shape != nodes.shape:
        raise ValueError(
            f"labels has shape {labels.shape}, expected that of segments, {nodes.shape}"
        )
    flat, at, width = labels.ravel(), nodes.ravel(), nodes.shape[1]
    flat = as_labels(flat, ignore_label, lambda k: f"the label of pixel {divmod(k, width)}")
    classes = find_classes(flat)
    ignored = is_label(flat, ignore_label)
    voting = (at >= 0) & ~ignored
    # Occurring pairs of a node and a label, and of each node the first of the most frequent.
    pairs = at[voting] * len(classes) + encode(flat, classes)[voting]
    pairs, votes = np.unique(pairs, return_counts=True)
    node, code = np.divmod(pairs, len(classes))
    order = np.lexsort((code, -votes, node))
    node, first = np.unique(node[order], return_index=True)
    # A node that nobody votes for has pixels of that label alone.
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
    """Give each pixel the label of its segment.

    Parameters
    ----------
    segments : array-like of int of shape (height, width)
        As in :func:`superpixel_graph`.
    node_labels : array-like of shape (n_nodes,) or (n_nodes, n_values)
        What :meth:`sstruct.GraphCRFSSVM.predict` returns for the graph; or several values a node.
    mask : array-like of bool of shape (height, width), optional
        As in :func:`superpixel_graph`.
    fill : object, default=-1
        For pixels that are in no segment.

    Returns
    -------
    labels : ndarray of shape (height, width) or (height, width, n_values)
        Labels of the pixels.

    See Also
    --------
    superpixel_graph : The graph whose nodes are labeled.
    superpixel_labels : The other way.

    Notes
    -----
    Where segments are numbered from 0 without gaps this is ``node_labels[segments]``.

    Examples
    --------
    >>> from sstruct.preprocessing import pixel_labels
    >>> pixel_labels([[1, 1, 3], [2, 1, 3]], ["sky", "tree", "sky"])
    array([['sky', 'sky', 'sky'],
           ['tree', 'sky', 'sky']], dtype='<U4')
    """
    return painted(*numbered(segments, mask), node_labels, fill)


def _pixels(name, values, shape):
    """Return values of pixels as (height, width, n_values)."""
    values = array_of(values, name)
    if values.ndim not in (2, 3) or values.shape[:2] != shape or 0 in values.shape:
        raise ValueError(
            f"{name} has shape {values.shape}, expected {shape} or {(*shape, 'n')} as segments has "
            f"shape {shape}"
        )
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {values.dtype}, expected real numbers")
    return values.reshape(*shape, -1)


def _means(name, values, nodes, sizes):
    """Return the means over segments, (n_nodes, n_values)."""
    at, values = nodes.ravel(), values.reshape(nodes.size, -1)
    if nodes.min() < 0:
        at, values = at[at >= 0], values[at >= 0]
    # A product adds row after row, in one sweep over the pixels.
    one_a_pixel = np.ones(len(at)), at, np.arange(len(at) + 1)
    means = sparse.csc_array(one_a_pixel, (len(sizes), len(at))) @ values
    means /= sizes[:, np.newaxis]
    if not np.isfinite(means).all():
        raise ValueError(f"{name} has NaN or infinity in a segment")
    return means


def _touching(nodes, n_nodes):
    """Return the pairs of nodes with neighboring pixels, in order, and the number of these."""
    height = max(1, BAND // nodes.shape[1])
    pairs, counts = [], []
    for top in range(0, len(nodes), height):
        band, below = nodes[top : top + height], nodes[top + 1 : top + height + 1]
        for a, b in ((band[:, :-1], band[:, 1:]), (band[: len(below)], below)):
            border = (a != b) & (np.minimum(a, b) >= 0)
            u, v = a[border], b[border]
            of_band = np.minimum(u, v) * n_nodes + np.maximum(u, v)
            for found, part in zip(np.unique(of_band, return_counts=True), (pairs, counts)):
                part.append(found)
    u, v = np.divmod(np.concatenate(pairs), n_nodes)
    # Adds up what several bands have of a pair.
    number = sparse.coo_array((np.concatenate(counts), (u, v)), (n_nodes, n_nodes)).tocsr()
    number.sort_indices()
    number = number.tocoo()
    return np.column_stack([number.row, number.col]).astype(np.intp, copy=False), number.data
