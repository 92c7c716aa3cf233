"""The edges of grids of pixels, in the order that the whole package uses."""

import numpy as np


def grid_edges(height, width, connectivity=4):
    """Return the edges of a grid whose nodes are numbered row by row.

    Parameters
    ----------
    height, width : int
        At least 1.
    connectivity : {4, 8}

    Returns
    -------
    ndarray of int32 of shape (E, 2)
        All edges to the right neighbor, then all down, then, for connectivity 8, all down-right,
        then all down-left; within each, row by row by the first node.

    Examples
    --------
    >>> from sstruct._problems.graph.grid_edges import grid_edges
    >>> grid_edges(2, 2).tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """
    node = np.arange(height * width, dtype=np.int32).reshape(height, width)
    return np.concatenate(
        [
            np.stack([first.ravel(), second.ravel()], axis=1)
            for first, second in _neighbors(node, connectivity)
        ]
    )


def grid_directions(height, width, connectivity=4):
    """Return the direction of each of `grid_edges`: 0 right, 1 down, 2 down-right, 3 down-left."""
    sizes = [height * (width - 1), (height - 1) * width]
    if connectivity == 8:
        sizes += [(height - 1) * (width - 1)] * 2
    return np.repeat(np.arange(len(sizes)), sizes)


def _neighbors(node, connectivity):
    """Return the first and second nodes of the edges of each direction."""
    pairs = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    if connectivity == 8:
        pairs += [(node[:-1, :-1], node[1:, 1:]), (node[:-1, 1:], node[1:, :-1])]
    return pairs
