"""What users give as graphs or images, checked and packed; errors name the sample.

Everything here runs before any work and leaves the estimator as it was.
"""

from dataclasses import dataclass

import numpy as np

from sstruct._estimators.graph.training import Graphs
from sstruct._input.ragged import Nodes, flat_labels, pack_nodes
from sstruct._problems.graph.arguments import WITH_FEATURES
from sstruct._problems.graph.grid_edges import grid_directions, grid_edges

PARTS = ("node features", "edges", "edge features", "node sizes")


@dataclass
class ImageNodes(Nodes):
    """Nodes that are the pixels of images: predictions go out as images."""

    shapes: np.ndarray | None = None

    def shape_of(self, i):
        return tuple(self.shapes[i].tolist())

    def like_input(self, values):
        if self.form == "rows":
            return values
        if self.form == "stacked":
            return values.reshape(len(self), *self.shapes[0], *values.shape[1:])
        out = super().like_input(values)
        for i, shape in enumerate(self.shapes.tolist()):
            out[i] = out[i].reshape(*shape, *values.shape[1:])
        return out


def pack_graphs(estimator, X, pairwise, n_edge_features, *, fitted):
    """Validate X of GraphCRFSSVM and return its Graphs.

    pairwise : name of the model; n_edge_features : number of the fit, or None.
    """
    items = _graph_items(X)
    if items is None:
        nodes = pack_nodes(estimator, X, fitted=fitted)
        if nodes.form != "rows":
            raise ValueError(
                "X must be a list of graphs (node features, edges[, edge features[, node sizes]]), "
                f"or one 2-D array of single nodes, found {type(X).__name__} of arrays"
            )
        return _edgeless(nodes, pairwise, n_edge_features)
    nodes = pack_nodes(estimator, [item[0] for item in items], fitted=fitted)
    edges = [_edges_of(item[1], i) for i, item in enumerate(items)]
    n_edges = np.array([len(own) for own in edges], dtype=np.int64)
    flat = np.concatenate(edges)
    _check_edges(flat, n_edges, nodes)
    start = np.cumsum(n_edges) - n_edges
    features = _edge_features(items, n_edges, pairwise, n_edge_features)
    edges, sizes = (flat.astype(np.int32), start, n_edges, start), _node_sizes(items, nodes)
    return Graphs.of(nodes, *edges, edge_features=features, sizes=sizes)


def _graph_items(X):
    """Return the graphs as tuples; None: X is something else."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and X.size:
        if np.ndim(X[0, 0]) == 2:  # what NumPy makes of a list of tuples
            X = [tuple(item) for item in X]
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1:
        X = list(X)
    if not isinstance(X, list | tuple) or not any(_is_graph(item) for item in X):
        return None
    for i, item in enumerate(X):
        if not _is_graph(item) or not 2 <= len(item) <= len(PARTS):
            found = f"{len(item)} parts" if _is_graph(item) else type(item).__name__
            raise ValueError(f"X[{i}] is {found}, expected a tuple of 2 to 4 parts: {PARTS}")
    return X


def _is_graph(item):
    """Tell a graph, given as a tuple or a list of its parts, from a row or a table of numbers."""
    if not isinstance(item, tuple | list) or len(item) == 0:
        return False
    first = item[0]
    if isinstance(first, tuple | list):
        return len(first) > 0 and isinstance(first[0], tuple | list | np.ndarray)
    return getattr(first, "ndim", 0) > (0 if isinstance(item, tuple) else 1)


def _edgeless(nodes, pairwise, n_edge_features):
    """Nodes without edges."""
    nothing = np.zeros(len(nodes), dtype=np.int64)
    features = None
    if pairwise in WITH_FEATURES and n_edge_features is not None:
        features = np.zeros((0, n_edge_features))
    edges = np.zeros((0, 2), dtype=np.int32)
    return Graphs.of(nodes, edges, nothing, nothing, nothing, edge_features=features)


def _edges_of(edges, i):
    """Edges of one graph as integers (E, 2)."""
    edges = np.asarray(edges)
    if edges.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"the edges of X[{i}] have shape {edges.shape}, expected (E, 2)")
    if edges.dtype.kind not in "iu":
        raise TypeError(f"the edges of X[{i}] have dtype {edges.dtype}, expected integers")
    return edges


def _check_edges(edges, n_edges, nodes):
    """Raise at the first edge out of range, self-loop or edge that is there twice."""
    graph = np.repeat(np.arange(len(nodes)), n_edges)
    first = np.cumsum(n_edges) - n_edges

    def name(e):
        return f"edge {e - first[graph[e]]} of X[{graph[e]}] is {edges[e].tolist()}"

    outside = np.flatnonzero(
        (edges < 0).any(axis=1) | (edges >= nodes.lengths[graph][:, np.newaxis]).any(axis=1)
    )
    if len(outside):
        e = outside[0]
        last = nodes.lengths[graph[e]] - 1
        raise ValueError(f"{name(e)}, expected nodes 0 to {last}")
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        raise ValueError(f"{name(loops[0])}, a self-loop")
    ends = edges.astype(np.int64) + nodes.offsets[graph][:, np.newaxis]
    pairs = ends.min(axis=1) * nodes.offsets[-1] + ends.max(axis=1)
    order = np.argsort(pairs, kind="stable")
    again = order[1:][np.diff(pairs[order]) == 0]
    if len(again):
        raise ValueError(f"{name(again.min())}, which is there twice, in either direction")


def _edge_features(items, n_edges, pairwise, expected):
    """Return the features of all edges, (E, G), or None where the model reads none."""
    parts, needed = [], pairwise in WITH_FEATURES
    for i, item in enumerate(items):
        features = item[2] if len(item) > 2 else None
        if features is None:
            if needed and n_edges[i] > 0:
                raise ValueError(f'X[{i}] has no edge features, which pairwise="{pairwise}" needs')
            continue
        try:
            features = np.asarray(features, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"the edge features of X[{i}] are no numeric (E, G) array") from None
        if features.ndim != 2 or len(features) != n_edges[i]:
            if features.size == 0 and n_edges[i] == 0:
                continue
            raise ValueError(
                f"the edge features of X[{i}] have shape {features.shape}, expected one row for "
                f"each of {n_edges[i]} edges"
            )
        expected = features.shape[1] if expected is None else expected
        if needed and (features.shape[1] != expected or expected == 0):
            raise ValueError(
                f"X[{i}] has {features.shape[1]} edge features, expected {expected or 'some'}"
            )
        if not np.isfinite(features).all():
            raise ValueError(f"the edge features of X[{i}] contain NaN or infinity")
        if pairwise == "contrast" and (features < 0).any():
            raise ValueError(
                f'the edge features of X[{i}] are negative, which pairwise="contrast" does not '
                "read: neighbours would repel each other"
            )
        parts.append(features)
    if not needed:
        return None
    if not parts:
        return None if expected is None else np.zeros((0, expected))
    return np.concatenate(parts)


def _node_sizes(items, nodes):
    """Return all node sizes, 1 where a graph has none; None where no graph has."""
    if not any(len(item) > 3 and item[3] is not None for item in items):
        return None
    sizes = np.ones(nodes.offsets[-1])
    for i, item in enumerate(items):
        if len(item) < 4 or item[3] is None:
            continue
        own = np.asarray(item[3])
        if own.shape != (nodes.lengths[i],) or own.dtype.kind not in "fiu":
            raise ValueError(
                f"the node sizes of X[{i}] have shape {own.shape} and dtype {own.dtype}, expected "
                f"{nodes.lengths[i]} numbers"
            )
        if not (np.isfinite(own) & (own > 0)).all():
            raise ValueError(f"the node sizes of X[{i}] must be finite and positive")
        sizes[nodes.offsets[i] : nodes.offsets[i + 1]] = own
    return sizes


def pack_grids(estimator, X, pairwise, connectivity, *, fitted):
    """Validate X of GridCRFSSVM and return its Graphs, with the edge features of the model."""
    nodes = _image_nodes(estimator, X, fitted)
    if nodes.form == "rows":
        return _edgeless(nodes, pairwise, _n_grid_features(pairwise, connectivity))
    # Grids of one shape share their edges.
    shapes, shape_of = np.unique(nodes.shapes, axis=0, return_inverse=True)
    edges = [grid_edges(*shape, connectivity) for shape in shapes.tolist()]
    count = np.array([len(of_shape) for of_shape in edges])
    edge_start, n_edges = (np.cumsum(count) - count)[shape_of.ravel()], count[shape_of.ravel()]
    edges = np.concatenate(edges)
    features, feature_start = None, edge_start
    if pairwise == "directed":
        directions = [grid_directions(*shape, connectivity) for shape in shapes.tolist()]
        features = np.eye(_n_grid_features(pairwise, connectivity))[np.concatenate(directions)]
    elif pairwise == "contrast":
        features = _contrasts(nodes, edges, edge_start, n_edges)
        feature_start = np.cumsum(n_edges) - n_edges
    grids = np.column_stack([nodes.shapes, np.full(len(nodes), connectivity)])
    edges = edges, edge_start, n_edges, feature_start
    return Graphs.of(nodes, *edges, edge_features=features, grids=grids)


def _n_grid_features(pairwise, connectivity):
    return connectivity // 2 if pairwise == "directed" else 2


def _image_nodes(estimator, X, fitted):
    stacked = isinstance(X, np.ndarray) and X.dtype != object
    if stacked and X.ndim == 4:
        if 0 in X.shape[:3]:
            raise ValueError(f"X has shape {X.shape}: no samples, or images without pixels")
        n, height, width, n_features = X.shape
        nodes = pack_nodes(estimator, X.reshape(n, height * width, n_features), fitted=fitted)
        return ImageNodes(**vars(nodes), shapes=np.full((n, 2), [height, width]))
    if stacked and X.ndim == 3:
        raise ValueError(
            f"X has shape {X.shape}, expected a list of images (height, width, channels) or one "
            "array (n, height, width, channels); a single image x is [x]"
        )
    if isinstance(X, list | tuple | np.ndarray) and any(np.ndim(item) >= 2 for item in X):
        items = []
        for i, item in enumerate(X):
            item = np.asarray(item)
            if item.ndim != 3 or 0 in item.shape[:2]:
                raise ValueError(
                    f"X[{i}] has shape {item.shape}, expected (height, width, channels)"
                )
            items.append(item)
        flat = [item.reshape(-1, item.shape[2]) for item in items]
        nodes = pack_nodes(estimator, flat if len(flat) > 1 else flat[0][np.newaxis], fitted=fitted)
        nodes.form = "ragged"
        return ImageNodes(**vars(nodes), shapes=np.array([item.shape[:2] for item in items]))
    nodes = pack_nodes(estimator, X, fitted=fitted)
    return ImageNodes(**vars(nodes), shapes=np.ones((len(nodes), 2), dtype=np.int64))


def _contrasts(nodes, edges, edge_start, n_edges):
    """1 and exp(-|x_u - x_v|^2 / (2 mean)) of every edge, the mean over its image's edges."""
    out = np.ones((n_edges.sum(), 2))
    at = 0
    for i, (first, count) in enumerate(zip(edge_start.tolist(), n_edges.tolist())):
        image = nodes.flat[nodes.offsets[i] : nodes.offsets[i + 1]]
        own = edges[first : first + count]
        square = np.zeros(count)
        for channel in image.T.astype(np.float64):
            square += (channel[own[:, 0]] - channel[own[:, 1]]) ** 2
        mean = square.mean() if count else 0.0
        if mean > 0:
            out[at : at + count, 1] = np.exp(-square / (2 * mean))
        at += count
    return out


def image_labels(y, nodes, name):
    """Return all labels of images as one array with an entry a pixel."""
    if nodes.form == "rows" or y is None or isinstance(y, str) or not hasattr(y, "__len__"):
        return flat_labels(y, nodes, name)
    if len(y) != len(nodes):
        raise ValueError(f"X has {len(nodes)} samples but y has {len(y)}")
    items = []
    for i, item in enumerate(y):
        item = item if isinstance(item, np.ndarray) else np.asarray(item, dtype=object)
        if item.shape != tuple(nodes.shapes[i]):
            raise ValueError(
                f"X[{i}] is an image of shape {tuple(nodes.shapes[i].tolist())} but y[{i}] has "
                f"shape {item.shape}"
            )
        items.append(item.ravel())
    return flat_labels(items, nodes, name)
