"""Validate and pack graphs and images passed by users; errors name the sample.

These functions run before the solver.
"""

import math
import numbers
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import (
    LARGEST,
    NUMBERS,
    array_of,
    check_magnitudes,
    is_empty,
    is_sized,
    items_of,
    real_array,
)
from sstruct._checks.compressed import as_csr, check_attributes, check_compressed
from sstruct._checks.shown import plain, shortened
from sstruct._estimators.graph.graph_training import Graphs
from sstruct._input.frames import check_names, column_names
from sstruct._input.labels import masked_as_none, object_array
from sstruct._input.ragged import Nodes, flat_labels, pack_nodes
from sstruct._problems.graph.graph_arguments import WITH_FEATURES
from sstruct._problems.graph.grid_edges import grid_directions, grid_edges

PARTS = ("node features", "edges", "edge features", "node sizes")
GRAPH = "(node features, edges[, edge features[, node sizes]])"


@dataclass
class ImageNodes(Nodes):
    """Nodes that are pixels of images; predictions are returned as images."""

    shapes: np.ndarray | None = None

    def shape_of(self, i):
        return tuple(self.shapes[i].tolist())

    def like_input(self, values):
        if self.form != "ragged":
            return super().like_input(values)
        out = super().like_input(values)
        for i, shape in enumerate(self.shapes.tolist()):
            out[i] = out[i].reshape(*shape, *values.shape[1:])
        return out


def pack_graphs(expected_input, X, pairwise, n_edge_features=None, edge_names=None):
    """Validate X of GraphCRFSSVM and return its Graphs.

    Parameters
    ----------
    expected_input : ExpectedInput
    X : as passed to ``fit``
    pairwise : str
        Name of the pairwise model.
    n_edge_features, edge_names : int or None, list of str or None
        Values from the fit.
    """
    items = _graph_items(X)
    if items is None:
        _check_not_one_graph(X)
        nodes = pack_nodes(expected_input, X)
        if nodes.form != "rows":
            raise ValueError(
                f"X must be a list of graphs {GRAPH}, or one 2-D array of single nodes, found "
                f"{type(X).__name__} of arrays"
            )
        return _edgeless(nodes, pairwise, n_edge_features)
    nodes = pack_nodes(expected_input, [item[0] for item in items])
    edges = [
        _edges_of(item[1], n_nodes, i)
        for i, (item, n_nodes) in enumerate(zip(items, nodes.lengths.tolist()))
    ]
    n_edges = np.array([len(own) for own in edges], dtype=np.int64)
    flat = np.concatenate([np.zeros((0, 2), dtype=np.int64), *edges])
    _check_edges(flat, n_edges, nodes)
    start = np.cumsum(n_edges) - n_edges
    features = _edge_features(items, n_edges, pairwise, n_edge_features)
    edges, sizes = (flat.astype(np.int32), start, n_edges, start), _node_sizes(items, nodes)
    names = None
    if pairwise in WITH_FEATURES:
        names = _edge_names(items, edge_names)
    return Graphs.from_nodes(nodes, *edges, edge_features=features, sizes=sizes, edge_names=names)


def _graph_items(X):
    """Return the graphs as tuples, or None if X is not a list of graphs."""
    X = items_of(X)
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and X.size:
        if _is_table(X[0, 0]):  # an array that NumPy made from a list of tuples
            X = [tuple(item) for item in X]
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1:
        X = list(X)
    if isinstance(X, Mapping) and not sparse.issparse(X):  # a dok_matrix is a dict
        raise TypeError(f"X must be a list of graphs, tuples {GRAPH}, found {type(X).__name__}")
    if not isinstance(X, list | tuple):
        return None
    for i, item in enumerate(X):
        _check_graph_type(item, i)
    X = [_empty_as_graph(item) for item in X]
    if X and not any(_is_graph(item) for item in X):
        return None
    X = [tuple(item) if isinstance(item, list) else item for item in X]
    for i, item in enumerate(X):
        if not _is_graph(item) or not 2 <= len(item) <= len(PARTS):
            kind = type(item).__name__
            found = f"a {kind} of {len(item)} parts" if _is_graph(item) else f"of type {kind}"
            raise ValueError(f"X[{i}] is {found}, expected a tuple of 2 to 4 parts: {PARTS}")
    return X


def _empty_as_graph(item):
    """Return an empty list or array as the graph (nodes, edges) without nodes; others unchanged."""
    if type(item) is tuple and item:
        return item
    if is_empty(item):
        return [], []
    shape = getattr(item, "shape", None)  # missing in a damaged sparse matrix
    return (item, []) if isinstance(shape, tuple) and shape[:1] == (0,) else item


def _is_table(part):
    return not isinstance(part, tuple) and (
        sparse.issparse(part) or array_of(part, "X[0][0]").ndim == 2
    )


def _check_graph_type(item, i):
    """Raise TypeError for a dict, or a graph object of another package."""
    keys = f" with keys {shortened(list(item))}" if isinstance(item, Mapping) else ""
    known = isinstance(item, Sequence | numbers.Number)
    known |= sparse.issparse(item) or hasattr(item, "ndim") or hasattr(item, "__array__")
    if keys or not known:
        raise TypeError(
            f"X[{i}] is a {type(item).__name__}{keys}, expected a tuple {GRAPH}: arrays (V, F), "
            "(E, 2), (E, G) and (V,)"
        )


def _is_graph(item):
    """Whether an item is a tuple or list of the parts of a graph, not a row or table of numbers."""
    if not isinstance(item, tuple | list) or not is_sized(item) or len(item) == 0:
        return False
    first = item[0]
    if sparse.issparse(first):  # its shape is checked later
        return True
    if isinstance(first, tuple | list):
        if not is_sized(first) or len(first) == 0:
            return is_sized(first) and isinstance(item, tuple) and len(item) > 1
        return isinstance(first[0], tuple | list | np.ndarray)
    return len(getattr(first, "shape", ())) > (0 if isinstance(item, tuple) else 1)


def _check_not_one_graph(X):
    """Raise an error if X has the parts of one graph instead of a list of graphs."""
    if not isinstance(X, list | tuple) or not is_sized(X) or not 2 <= len(X) <= len(PARTS):
        return
    edges = X[1]
    if not hasattr(edges, "dtype"):
        try:
            edges = array_of(edges, "edges")
        except (TypeError, ValueError):  # ragged
            return
    for part in (X[0], edges):
        if sparse.issparse(part):
            check_attributes(part, "a sparse part of X", ndims=(1, 2))
    shapes = [getattr(part, "shape", ()) for part in (X[0], edges)]
    if len(shapes[0]) != 2 or len(shapes[1]) != 2:
        return
    pairs = shapes[1][1] == 2 and getattr(edges.dtype, "kind", "") in ("i", "u")
    if pairs or (sparse.issparse(edges) and shapes[1] == (shapes[0][0],) * 2 != shapes[0]):
        raise ValueError(
            f"X is one graph, node features {shapes[0]} and edges {shapes[1]}, expected a list of "
            "graphs: one graph is a list of one tuple, [(node features, edges)]"
        )


def _edgeless(nodes, pairwise, n_edge_features):
    """Return Graphs without edges."""
    nothing = np.zeros(len(nodes), dtype=np.int64)
    features = None
    if pairwise in WITH_FEATURES and n_edge_features is not None:
        features = np.zeros((0, n_edge_features))
    edges = np.zeros((0, 2), dtype=np.int32)
    return Graphs.from_nodes(nodes, edges, nothing, nothing, nothing, edge_features=features)


def _edges_of(edges, n_nodes, i):
    """Return the edges of one graph as integers, (E, 2)."""
    if sparse.issparse(edges):
        return _adjacent_pairs(edges, n_nodes, i)

    def hint(edges):
        if edges.shape == (n_nodes, n_nodes):
            both = "A" if np.array_equal(edges, edges.T) else "(A != 0) | (A != 0).T"
            return f"; for an adjacency matrix A use np.argwhere(np.triu({both}, 1))"
        if edges.shape[1:] == (2,):
            return ""
        if edges.dtype.kind == "f":
            return "; a graph is (node features, edges), in this order"
        return "; use edges.T" if edges.shape[:1] == (2,) else ""

    return edge_pairs(edges, f"the edges of X[{i}]", hint)


def edge_pairs(edges, what, hint=lambda edges: ""):
    """Return edges as integers, (E, 2).

    Parameters
    ----------
    edges : array-like
    what : str
        Name in errors.
    hint : callable
        Returns advice for edges of another shape or dtype.
    """
    edges = array_of(edges, what, "an (E, 2) array")
    if edges.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"{what} have shape {edges.shape}, expected (E, 2){hint(edges)}")
    if edges.dtype.kind not in "iu":
        raise TypeError(f"{what} have dtype {edges.dtype}, expected integers{hint(edges)}")
    return edges


def _adjacent_pairs(matrix, n_nodes, i):
    """Return the edges of an adjacency matrix: the upper triangle, row by row."""
    name = f"the adjacency matrix of X[{i}]"
    check_compressed(matrix, name)
    if matrix.shape != (n_nodes, n_nodes):
        raise ValueError(f"{name} has shape {matrix.shape}, expected {(n_nodes, n_nodes)}")
    matrix = sparse.csr_array(as_csr(matrix), copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    rows, columns = matrix.nonzero()
    wrong = np.flatnonzero(matrix.data != 1)
    if len(wrong):
        e = wrong[0]
        raise ValueError(
            f"{name} has the weight {plain(matrix.data[e])} at {(int(rows[e]), int(columns[e]))}, "
            "expected only ones, since weights are not used. Pass edge features, or use "
            "matrix.astype(bool)"
        )
    loops = np.flatnonzero(rows == columns)
    if len(loops):
        raise ValueError(
            f"{name} has an entry on its diagonal, at node {rows[loops[0]]}, a self-loop; use "
            "matrix.setdiag(0)"
        )
    one_way = (matrix.astype(np.int8) - matrix.T.astype(np.int8)).tocoo()
    one_way.eliminate_zeros()
    if one_way.nnz:
        u, v = sorted((int(one_way.row[0]), int(one_way.col[0])))
        raise ValueError(
            f"{name} is not symmetric: it has an edge between {u} and {v} in only one direction; "
            "use matrix.maximum(matrix.T)"
        )
    upper = rows < columns
    return np.column_stack([rows[upper], columns[upper]])


def edge_advice(edges):
    """Return code that removes duplicate edges and self-loops of a graph."""
    pairs = "np.sort(edges, axis=1)"
    if (edges[:, 0] == edges[:, 1]).any():
        pairs = "np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1)"
    return f"use np.unique({pairs}, axis=0); return_index=True returns which edge features to keep"


def _check_edges(edges, n_edges, nodes):
    """Raise an error for the first edge that is out of range, a self-loop, or a duplicate."""
    graph = np.repeat(np.arange(len(nodes)), n_edges)
    first = np.cumsum(n_edges) - n_edges

    def name(e):
        return f"edge {e - first[graph[e]]} of X[{graph[e]}] is {edges[e].tolist()}"

    def advice(e):
        return edge_advice(edges[graph == graph[e]])

    outside = np.flatnonzero(
        (edges < 0).any(axis=1) | (edges >= nodes.lengths[graph][:, np.newaxis]).any(axis=1)
    )
    if len(outside):
        e = outside[0]
        last = nodes.lengths[graph[e]] - 1
        expected = f"nodes 0 to {last}" if last >= 0 else "no edges, since the graph has no nodes"
        raise ValueError(f"{name(e)}, expected {expected}")
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        raise ValueError(f"{name(loops[0])}, a self-loop; {advice(loops[0])}")
    ends = edges.astype(np.int64) + nodes.offsets[graph][:, np.newaxis]
    pairs = ends.min(axis=1) * nodes.offsets[-1] + ends.max(axis=1)
    order = np.argsort(pairs, kind="stable")
    duplicates = order[1:][np.diff(pairs[order]) == 0]
    if len(duplicates):
        e = duplicates.min()
        raise ValueError(f"{name(e)}, a duplicate, in either direction; {advice(e)}")


def _edge_features(items, n_edges, pairwise, expected):
    """Return the features of all edges, (E, G), or None if the model does not use them."""
    parts, needed = [], pairwise in WITH_FEATURES
    for i, item in enumerate(items):
        features = item[2] if len(item) > 2 else None
        if features is None:
            if needed and n_edges[i] > 0:
                raise ValueError(f'X[{i}] has no edge features, required by pairwise="{pairwise}"')
            continue
        features = real_array(features, f"the edge features of X[{i}]")
        if n_edges[i] == 0 and features.shape in ((0,), (0, 0)):
            continue
        if features.ndim != 2 or len(features) != n_edges[i]:
            raise ValueError(
                f"the edge features of X[{i}] have shape {features.shape}, expected one row for "
                f"each of {n_edges[i]} edges"
            )
        expected = features.shape[1] if expected is None else expected
        if needed and (features.shape[1] != expected or expected == 0):
            raise ValueError(
                f"X[{i}] has {features.shape[1]} edge features, expected {expected or 'at least 1'}"
            )
        check_magnitudes(features, f"the edge features of X[{i}] contain")
        if pairwise == "contrast" and (features < 0).any():
            raise ValueError(
                f'the edge features of X[{i}] contain {features.min():g}, but pairwise="contrast" '
                "requires nonnegative features, since neighbors must not repel each other"
            )
        parts.append(features)
    if not needed:
        return None
    if not parts:
        return None if expected is None else np.zeros((0, expected))
    return np.concatenate(parts)


def _edge_names(items, names):
    """Return the column names of edge features that are data frames; they must equal `names`."""
    expected = "the names of the fit"
    for i, item in enumerate(items):
        found = column_names(item[2]) if len(item) > 2 else None
        if found is None:
            continue
        if names is None:
            names, expected = found, f"the names of X[{i}]"
        check_names(found, np.array(names, dtype=object), f"the edge features of X[{i}]", expected)
    return None if names is None else list(names)


def _node_sizes(items, nodes):
    """Return all node sizes, 1 for graphs without sizes, or None if no graph has sizes."""
    if not any(len(item) > 3 and item[3] is not None for item in items):
        return None
    sizes = np.ones(nodes.offsets[-1])
    for i, item in enumerate(items):
        if len(item) < 4 or item[3] is None:
            continue
        own = array_of(item[3], f"the node sizes of X[{i}]", NUMBERS)
        if own.shape != (nodes.lengths[i],) or own.dtype.kind not in "fiu":
            raise ValueError(
                f"the node sizes of X[{i}] have shape {own.shape} and dtype {own.dtype}, expected "
                f"{nodes.lengths[i]} numbers"
            )
        wrong = own[~((own > 0) & (own <= LARGEST))]
        if len(wrong):
            raise ValueError(
                f"the node sizes of X[{i}] must be positive and at most {LARGEST:g}, found "
                f"{wrong[0]:g}"
            )
        sizes[nodes.offsets[i] : nodes.offsets[i + 1]] = own
    return sizes


def pack_grids(expected_input, X, pairwise, connectivity):
    """Validate X of GridCRFSSVM and return its Graphs, with the edge features of the model."""
    nodes = _image_nodes(expected_input, X)
    if nodes.form == "rows" or nodes.offsets[-1] == 0:
        return _edgeless(nodes, pairwise, n_grid_features(pairwise, connectivity))
    # Grids of one shape share their edges.
    shapes = np.where(nodes.lengths[:, np.newaxis] > 0, nodes.shapes, 1)  # no pixels, no edges
    shapes, shape_of = np.unique(shapes, axis=0, return_inverse=True)
    edges = [grid_edges(*shape, connectivity) for shape in shapes.tolist()]
    count = np.array([len(shape_edges) for shape_edges in edges])
    edge_start, n_edges = (np.cumsum(count) - count)[shape_of.ravel()], count[shape_of.ravel()]
    edges = np.concatenate(edges)
    features, feature_start = None, edge_start
    if pairwise == "directed":
        directions = [grid_directions(*shape, connectivity) for shape in shapes.tolist()]
        features = np.eye(n_grid_features(pairwise, connectivity))[np.concatenate(directions)]
    elif pairwise == "contrast":
        features = _contrasts(nodes, edges, edge_start, n_edges)
        feature_start = np.cumsum(n_edges) - n_edges
    grids = np.column_stack([nodes.shapes, np.full(len(nodes), connectivity)])
    edges = edges, edge_start, n_edges, feature_start
    return Graphs.from_nodes(nodes, *edges, edge_features=features, grids=grids)


def n_grid_features(pairwise, connectivity):
    return connectivity // 2 if pairwise == "directed" else 2


def _image_nodes(expected_input, X):
    X = items_of(X)
    stacked = isinstance(X, np.ndarray) and (X.dtype != object or X.ndim == 0)
    if stacked and X.ndim == 4:
        if 0 in X.shape[:3] and not expected_input.fitted:
            raise ValueError(f"X has shape {X.shape}: no samples, or images without pixels")
        n, height, width, n_features = X.shape
        nodes = pack_nodes(expected_input, X.reshape(n, height * width, n_features))
        nodes.sample_shape = height, width
        return ImageNodes(**vars(nodes), shapes=np.full((n, 2), [height, width]))
    if stacked and X.ndim == 3:
        raise ValueError(
            f"X has shape {X.shape}, expected a list of images (height, width, channels) or one "
            "array (n, height, width, channels); for a single image x use [x], and for gray images "
            "X[..., np.newaxis], with one channel"
        )
    items = []
    if isinstance(X, list | tuple | np.ndarray) and not (stacked and X.ndim < 3):
        items = [
            np.empty((0, 0, 0)) if is_empty(item) else array_of(item, f"X[{i}]")
            for i, item in enumerate(X)
        ]
    if any(item.ndim >= 2 for item in items):
        for i, item in enumerate(items):
            if item.ndim != 3:
                raise ValueError(
                    f"X[{i}] has shape {item.shape}, expected (height, width, channels)"
                    + "; for a gray image x use x[..., np.newaxis]" * (item.ndim == 2)
                )
        flat = [item.reshape(math.prod(item.shape[:2]), item.shape[2]) for item in items]
        alone = len(flat) == 1 and flat[0].size
        nodes = pack_nodes(expected_input, flat[0][np.newaxis] if alone else flat)
        nodes.form = "ragged"
        return ImageNodes(**vars(nodes), shapes=np.array([item.shape[:2] for item in items]))
    nodes = pack_nodes(expected_input, X)
    return ImageNodes(**vars(nodes), shapes=np.ones((len(nodes), 2), dtype=np.int64))


def contrast(square):
    """Return exp(-s / (2 mean(s))) for the squared distances s of the edges, 1 if all are 0."""
    mean = square.mean() if len(square) else 0.0
    return np.exp(-square / (2 * mean)) if mean > 0 else np.ones(len(square))


def _contrasts(nodes, edges, edge_start, n_edges):
    """Return 1 and the `contrast` of each edge, given the squared distances of an image's edges."""
    out = np.ones((n_edges.sum(), 2))
    at = 0
    for i, (first, count) in enumerate(zip(edge_start.tolist(), n_edges.tolist())):
        image = nodes.flat[nodes.offsets[i] : nodes.offsets[i + 1]]
        own = edges[first : first + count]
        square = np.zeros(count)
        for channel in image.T.astype(np.float64):
            square += (channel[own[:, 0]] - channel[own[:, 1]]) ** 2
        out[at : at + count, 1] = contrast(square)
        at += count
    return out


def label_image(item):
    """Return labels as a 2-D array; lists of rows become an array of objects.

    Labels may be tuples, which NumPy would convert to further axes.
    """
    item = items_of(item)
    if isinstance(item, np.ndarray):
        return item
    if not isinstance(item, list | tuple):
        return np.asarray(item) if hasattr(item, "__array__") else object_array([item])
    if not all(isinstance(row, list | tuple | np.ndarray) and is_sized(row) for row in item):
        return object_array(item)
    rows = [object_array(masked_as_none(row)) for row in item]
    if len({len(row) for row in rows}) != 1:
        return object_array(rows)
    return np.stack(rows)


def image_labels(y, nodes, structure):
    """Return all labels of images as one array with an entry per pixel."""
    y = items_of(y)
    is_invalid = y is None or isinstance(y, str | Mapping | Set) or not is_sized(y)
    if nodes.form == "rows" or is_invalid:
        return flat_labels(y, nodes, structure)
    if len(y) != len(nodes):
        raise ValueError(f"X has {len(nodes)} samples but y has {len(y)}")
    items = []
    for i, item in enumerate(y):
        item = label_image(item)
        if item.shape != tuple(nodes.shapes[i]) and (item.size or nodes.lengths[i]):
            shape = *nodes.shapes[i].tolist(), nodes.flat.shape[1]
            raise ValueError(
                f"X[{i}] is an image of shape {shape[:2]} but y[{i}] has shape {item.shape}"
                f"{_advice(i, item.shape, shape)}"
            )
        items.append(item.ravel())
    return flat_labels(items, nodes, structure)


def _advice(i, found, shape):
    """Return advice for labels with a third axis or an image with channels first, else "".

    found : shape of the labels y[i]
    shape : height, width and channels of the image X[i]
    """
    if found == shape[1:]:
        return f". If channels are the first axis, use np.moveaxis(X[{i}], 0, -1)"
    if len(found) != 3 or found[:2] != shape[:2]:
        return ""
    if found[2] == 1:
        return f". Use y[{i}][..., 0]"
    return (
        f". Convert colors to labels; if these are indicators (one-hot), use y[{i}].argmax(axis=2)"
    )
