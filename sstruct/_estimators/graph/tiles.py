"""Split images into tiles for training. Each tile is a block with copies of adjacent pixels."""

from dataclasses import dataclass, replace

import numpy as np

from sstruct._problems.graph.grid_edges import grid_edges


@dataclass(frozen=True)
class Tiles:
    """The tiles of the images of one shape.

    Attributes
    ----------
    pixels : ndarray of shape (n_pixels,)
        Indices of the pixels, in the order of tiles and row by row within each tile.
    edge_order : ndarray of shape (n_edges,)
        Indices into `grid_edges`, in the order of tiles; edges to copies are the last of a tile.
    edges : ndarray of int32 of shape (n_edges, 2)
        Ends of the edges in this order, numbered within the tile: own pixels first, then copies.
    copies : ndarray of int of shape (n_copies,)
        Position in `pixels` of the pixel of each copy.
    grids : ndarray of shape (n_tiles, 3)
        Height, width and connectivity of each tile.
    n_edges, n_copies : ndarray of shape (n_tiles,)
        Number of edges of each tile, and of edges to copies.
    """

    pixels: np.ndarray
    edge_order: np.ndarray
    edges: np.ndarray
    copies: np.ndarray
    grids: np.ndarray
    n_edges: np.ndarray
    n_copies: np.ndarray


def tile_counts(height, width, size):
    """Return the numbers of rows and columns of tiles of at most `size` pixels.

    The cut crosses as few edges between neighboring pixels of a row or column as possible.

    Examples
    --------
    >>> from sstruct._estimators.graph.tiles import tile_counts
    >>> tile_counts(64, 128, 1024)
    (2, 4)
    >>> tile_counts(1, 100, 30)
    (1, 4)
    """
    n_rows = np.arange(1, height + 1)
    highest = -(-height // n_rows)
    n_rows, highest = n_rows[highest <= size], highest[highest <= size]
    n_columns = -(-width // np.minimum(size // highest, width))
    best = np.argmin((n_rows - 1) * width + (n_columns - 1) * height)
    return int(n_rows[best]), int(n_columns[best])


def tiles_of(height, width, connectivity, size):
    """Return the Tiles of at most `size` pixels of images of one shape.

    Each pixel and each edge is in exactly one tile; an edge is in the tile of its first pixel. The
    sides of two tiles differ by at most one pixel.
    """
    n_rows, n_columns = tile_counts(height, width, size)
    rows, columns = np.arange(n_rows + 1) * height // n_rows, np.arange(n_columns + 1)
    columns = columns * width // n_columns
    n_tiles = n_rows * n_columns
    tile = np.arange(n_tiles, dtype=np.int32).reshape(n_rows, n_columns)
    tile = np.repeat(tile, np.diff(rows), axis=0)
    tile = np.repeat(tile, np.diff(columns), axis=1).ravel()
    sides = np.stack(np.meshgrid(np.diff(rows), np.diff(columns), indexing="ij"), axis=-1)
    grids = np.column_stack([sides.reshape(-1, 2), np.full(n_tiles, connectivity)])
    length = grids[:, 0] * grids[:, 1]
    pixels = np.argsort(tile, kind="stable")
    place = np.empty(len(pixels), dtype=np.int32)
    place[pixels] = np.arange(len(pixels))
    edges = grid_edges(height, width, connectivity)
    owner = tile[edges[:, 0]]
    leaves = tile[edges[:, 1]] != owner
    edge_order = np.argsort(2 * owner + leaves, kind="stable")
    owner, leaves, ends = owner[edge_order], leaves[edge_order], place[edges[edge_order]]
    n_copies = np.bincount(owner[leaves], minlength=n_tiles)
    copies = ends[leaves, 1].astype(np.int64)
    first = np.repeat(np.cumsum(n_copies) - n_copies, n_copies)
    ends -= (np.cumsum(length) - length).astype(np.int32)[owner][:, np.newaxis]
    ends[leaves, 1] = np.repeat(length, n_copies) + np.arange(len(copies)) - first
    n_edges = np.bincount(owner, minlength=n_tiles)
    return Tiles(pixels, edge_order, ends, copies, grids, n_edges, n_copies)


def cut_into_tiles(graphs, longest, size):
    """Cut images of more than `longest` pixels into tiles of at most `size` pixels.

    Parameters
    ----------
    graphs : Graphs
        Images. All of their pixels are nodes.

    Returns
    -------
    graphs : Graphs
        A block for each tile and for each smaller image. Rows are copied in the order of blocks.
    rows : ndarray of int of shape (n_rows,)
        Indices of these rows among those of the images.
    image : ndarray of int of shape (n_blocks,)
        Index of the image of each block.
    """
    shapes, shape_of = np.unique(graphs.grids, axis=0, return_inverse=True)
    # Images of one shape may share the features of edges.
    kinds, kind_of = np.unique(
        np.column_stack([shape_of.ravel(), graphs.feature_start]), axis=0, return_inverse=True
    )
    shape_of, kind_of = shape_of.ravel(), kind_of.ravel()
    tiles = [
        tiles_of(height, width, connectivity, size if height * width > longest else height * width)
        for height, width, connectivity in shapes.tolist()
    ]
    n_tiles = np.array([len(own.grids) for own in tiles])
    image = np.repeat(np.arange(len(shape_of)), n_tiles[shape_of])
    number = np.arange(len(image)) - np.repeat(
        np.cumsum(n_tiles[shape_of]) - n_tiles[shape_of], n_tiles[shape_of]
    )
    # Index of the tile of each block among the tiles of all shapes.
    which = (np.cumsum(n_tiles) - n_tiles)[shape_of[image]] + number
    grids, n_edges, n_copies = (
        np.concatenate([getattr(own, name) for own in tiles])
        for name in ("grids", "n_edges", "n_copies")
    )
    edge_start = np.cumsum(n_edges) - n_edges
    total = np.array([len(own.edges) for own in tiles])
    features, feature_start = graphs.edge_features, edge_start[which]
    if features is not None:
        features = np.concatenate(
            [features[first + tiles[shape].edge_order] for shape, first in kinds.tolist()]
        )
        kind_start = np.cumsum(total[kinds[:, 0]]) - total[kinds[:, 0]]
        shape_start = np.cumsum(total) - total
        feature_start = feature_start - shape_start[shape_of[image]] + kind_start[kind_of[image]]
    length = (grids[:, 0] * grids[:, 1])[which]
    start = np.cumsum(length) - length
    first = np.cumsum(graphs.length) - graphs.length
    rows = np.concatenate(
        [at + tiles[shape].pixels for at, shape in zip(graphs.start.tolist(), shape_of.tolist())]
    )
    copies = np.concatenate(
        [at + tiles[shape].copies for at, shape in zip(first.tolist(), shape_of.tolist())]
    )
    cut = replace(
        graphs,
        nodes=replace(graphs.nodes, flat=graphs.nodes.flat[rows]),
        start=start,
        length=length,
        edges=np.concatenate([own.edges for own in tiles]),
        edge_start=edge_start[which],
        n_edges=n_edges[which],
        edge_features=features,
        feature_start=feature_start,
        grids=grids[which],
        n_copies=n_copies[which],
        copies=copies,
    )
    return cut, rows, image
