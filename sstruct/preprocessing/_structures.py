"""Conversion of images, graphs and sequences with edge features to sequences of nodes and back."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import array_of, check_depth, concatenated, is_empty, is_sized
from sstruct._input.edge_features import join_edge_features, split_edge_features
from sstruct._input.labels import masked_as_none, object_array
from sstruct.sequences import Sequences, check_sequences


@dataclass(frozen=True)
class EdgeRows:
    """Edge features of the samples that have some.

    Attributes
    ----------
    rows : Sequences
        The rows of each of these samples.
    sample : ndarray of int of shape (len(rows),)
        Indices of the samples.
    """

    rows: Sequences
    sample: np.ndarray

    def of_edges(self, values):
        """Repeat the entry of each sample for each of its edges; `values` has one per sample."""
        return np.repeat(values[self.sample], self.rows.lengths)

    def replaced(self, out):
        """Return the EdgeRows with transformed rows."""
        n_edges = self.rows.offsets[-1]
        if len(np.shape(out)) != 2 or np.shape(out)[0] != n_edges:
            raise ValueError(
                f"the edge_transformer returned an array of shape {np.shape(out)} for {n_edges} "
                "edges, expected one row per edge"
            )
        return EdgeRows(Sequences(out, self.rows.offsets), self.sample)


@dataclass(frozen=True)
class Plain:
    """Sequences or rows of single nodes, used unchanged; the base class of the others.

    Attributes
    ----------
    given : object
        X as passed by the user.
    """

    given: object
    kind = "sequences"

    @property
    def items(self):
        """Return the sequences of nodes, for ``pack_nodes``."""
        return self.given

    @property
    def edges(self):
        """Return the EdgeRows, or None if there are no edge features."""
        return None

    def labels(self, y):
        """Return the label sequences."""
        return y

    def node_weights(self, sample_weight):
        """Return a sequence of weights for each sequence of nodes."""
        return sample_weight

    def restored(self, items, edge_rows=None):
        """Return transformed sequences of nodes and EdgeRows in the original structure."""
        return items


class Chains(Plain):
    """Sequences with edge features: tuples, or ``Sequences`` with ``edge_features``."""

    @property
    def items(self):
        """Return the node features of each sequence."""
        return split_edge_features(self.given)[0]

    @property
    def edges(self):
        """Return the EdgeRows of the sequences."""
        items, edges = split_edge_features(self.given)
        if isinstance(edges, Sequences):
            check_sequences(self.given, "X")
        else:
            lengths = np.array([_n_rows(item) for item in items])
            flat, _ = join_edge_features(edges, lengths, "X")
            edges = Sequences.from_lengths(flat, np.maximum(lengths - 1, 0))
        return EdgeRows(edges, np.arange(len(edges)))

    def restored(self, items, edge_rows=None):
        """Return sequences with transformed features of nodes and, if given, edges."""
        edges = split_edge_features(self.given)[1] if edge_rows is None else edge_rows.rows
        if isinstance(items, Sequences):
            items.edge_features = edges
            return items
        out = list(zip(items, edges, strict=True))
        return object_array(out) if isinstance(self.given, np.ndarray) else out


class Images(Plain):
    """Arrays (H, W, F): a list or an object array of them, or one array (n, H, W, F)."""

    kind = "images"

    @property
    def items(self):
        """Return the pixels of each image in row-major order."""
        if not _is_list(self.given):
            n, height, width, n_channels = self.given.shape
            return self.given.reshape(n, height * width, n_channels)
        return [self._pixels(i, item) for i, item in enumerate(self.given)]

    def _pixels(self, i, item):
        image = _image(item, f"X[{i}]")
        if image.ndim != 3:
            raise ValueError(f"X[{i}] has shape {image.shape}, expected (height, width, channels)")
        height, width, n_channels = image.shape  # reshape(-1) is ambiguous without channels
        return image.reshape(height * width, n_channels)

    def labels(self, y):
        """Return the labels of each image in row-major order."""
        if y is None or isinstance(y, str) or not is_sized(y) or len(y) != len(self):
            return y  # errors are raised when labels are concatenated
        return self._as_pixels(map(masked_as_none, y), "y")

    def node_weights(self, sample_weight):
        """Return the pixel weights of each image in row-major order."""
        return self._as_pixels(sample_weight, "sample_weight")

    def _as_pixels(self, values, name):
        """Return flat arrays with a value for each pixel of each image."""
        out = []
        for i, item in enumerate(values):
            array = array_of(item, f"{name}[{i}]")
            shape = np.shape(self.given[i])[:2] if i < len(self) else array.shape
            if array.shape != shape and (array.size or 0 not in shape):
                raise ValueError(
                    f"X[{i}] is an image of shape {shape} but {name}[{i}] has shape {array.shape}"
                )
            out.append(array.ravel())
        return out

    def __len__(self):
        return len(self.given)

    def restored(self, items, edge_rows=None):
        """Return the transformed pixels as images of the original shapes."""
        if isinstance(items, Sequences) or any(sparse.issparse(item) for item in items):
            raise ValueError(
                "the transformer returned sparse rows, but images are dense arrays; set "
                "sparse_output=False, for example"
            )
        if not _is_list(self.given):
            return items.reshape(*self.given.shape[:3], items.shape[-1])
        shapes = (_image(image, "X").shape[:2] for image in self.given)
        out = [item.reshape(*shape, item.shape[1]) for shape, item in zip(shapes, items)]
        return object_array(out) if isinstance(self.given, np.ndarray) else out


class GraphList(Plain):
    """Tuples (node features, edges[, edge features[, node sizes]])."""

    kind = "graphs"

    @property
    def items(self):
        """Return the node features of each graph."""
        for i, graph in enumerate(self.given):
            is_graph = isinstance(graph, tuple | list | np.ndarray) and is_sized(graph)
            if not is_graph or len(graph) < 2:
                raise ValueError(
                    f"X[{i}] is not a graph like X[0], expected a tuple (node features, edges"
                    "[, edge features[, node sizes]])"
                )
        return [graph[0] for graph in self.given]

    @property
    def edges(self):
        """Return the EdgeRows of the graphs with edge features, or None if there are none."""
        own = {i: _features_of_edges(i, graph) for i, graph in enumerate(self.given)}
        own = {i: rows for i, rows in own.items() if rows is not None}
        if not own:
            return None
        first = next((i for i, rows in own.items() if rows.size), None)
        if first is None:  # the graphs have no edges
            rows = Sequences.from_lengths(np.empty((0, 0)), np.zeros(len(own), dtype=np.int64))
            return EdgeRows(rows, np.array(list(own)))
        n_features = own[first].shape[1]
        for i, rows in own.items():
            if rows.size == 0:  # a graph without edges may have features of any shape
                own[i] = own[first][:0]
            elif rows.shape[1] != n_features:
                raise ValueError(
                    f"X[{i}] has {rows.shape[1]} edge features, but X[{first}] has {n_features}"
                )
        flat = concatenated(list(own.values()), "edge features")
        rows = Sequences.from_lengths(flat, [len(rows) for rows in own.values()])
        return EdgeRows(rows, np.array(list(own)))

    def restored(self, items, edge_rows=None):
        """Return graphs with transformed features of nodes and, if given, edges."""
        out = [(rows, *graph[1:]) for rows, graph in zip(items, self.given)]
        if edge_rows is not None:
            for i, rows in zip(edge_rows.sample.tolist(), edge_rows.rows):
                rows = rows.toarray() if sparse.issparse(rows) else rows
                out[i] = (*out[i][:2], rows, *out[i][3:])
        return object_array(out) if isinstance(self.given, np.ndarray) else out


def structures_of(X):
    """Detect whether X contains images, graphs, sequences with edge features, or plain sequences.

    The decision is based on the first nonempty item. Tuples are distinguished by the first one with
    several nodes.
    """
    if isinstance(X, Sequences) and X.edge_features is not None:
        return Chains(X)
    if isinstance(X, np.ndarray) and X.dtype != object:
        return Images(X) if X.ndim == 4 else Plain(X)
    if not _is_list(X) or not is_sized(X) or len(X) == 0:
        return Plain(X)
    check_depth(X, "X")
    at = next((i for i, item in enumerate(X) if not _is_blank(item)), 0)
    first = X[at]
    check_depth(first, f"X[{at}]")
    has_parts = isinstance(first, tuple) and len(first) > 0
    has_parts = has_parts and (_depth(first[0]) == 2 or (_is_blank(first) and len(first) > 1))
    # Lists of rows are graphs or sequences with edge features only if they cannot be an image.
    if has_parts or (isinstance(first, list | np.ndarray) and _holds_arrays(first)):
        X = _with_parts(X)
        return Chains(X) if _are_sequences(X) else GraphList(X)
    return Images(X) if _depth(first) == 3 else Plain(X)


def _are_sequences(X):
    """Return True if tuples of two tables are sequences: the second has a row per edge.

    Pairs of integers are edges of a graph, even if their number is that expected for a sequence.
    Without edges, the second table of a sequence has another number of columns or dtype.
    """
    for item in X:
        if not isinstance(item, tuple | np.ndarray) or not is_sized(item) or len(item) != 2:
            return False
        n_nodes = _n_rows(item[0])
        if n_nodes > 1:
            return _n_rows(item[1]) == n_nodes - 1 and not _are_pairs(item[1])
    return any(len(getattr(part, "shape", ())) == 2 and not _are_pairs(part) for _, part in X)


def _is_blank(item):
    """Return True if an item is empty, or a tuple of empty parts."""
    return is_empty(item) or (isinstance(item, tuple) and all(map(is_empty, item)))


def _with_parts(X):
    """Return samples of several parts, with empty samples replaced by two empty parts."""
    if not any(map(is_empty, X)):
        return X
    out = [([], []) if is_empty(item) else item for item in X]
    return object_array(out) if isinstance(X, np.ndarray) else out


def _image(item, name):
    """Return an image as an array; an empty list or array has shape (0, 0, 0)."""
    return np.empty((0, 0, 0)) if is_empty(item) else array_of(item, name)


def _n_rows(table):
    """Return the number of rows; 0 for objects that are not tables."""
    shape = getattr(table, "shape", None)
    if shape is None:
        return len(table) if is_sized(table) else 0
    return shape[0] if shape else 0


def _are_pairs(table):
    """Return True if rows are pairs of integers; of lists, only the first row is checked."""
    if hasattr(table, "dtype"):
        return table.shape[1:] == (2,) and table.dtype.kind in "iu"
    row = next(iter(table), ())
    return is_sized(row) and len(row) == 2 and all(isinstance(v, Integral) for v in row)


def _is_list(X):
    return isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object)


def _holds_arrays(parts):
    """Return True if the first part is a 2-D array, dense or sparse."""
    own = isinstance(parts, list) or (parts.dtype == object and parts.ndim == 1)
    return own and len(parts) > 1 and _depth(parts[0]) == 2 and hasattr(parts[0], "shape")


def _depth(item):
    """Return the number of dimensions of an array, or the depth of nested lists by first items."""
    if hasattr(item, "shape"):
        return len(item.shape) if isinstance(item.shape, tuple) else 0  # a damaged matrix
    if not isinstance(item, list | tuple):
        return 0
    return 1 + (_depth(item[0]) if len(item) else 0)


def _features_of_edges(i, graph):
    """Return the edge features (E, G) of a graph, or None."""
    features = graph[2] if len(graph) > 2 else None
    if features is None:
        return None
    rows = array_of(features, f"the edge features of X[{i}]")
    if rows.ndim != 2 and rows.size:
        raise ValueError(f"the edge features of X[{i}] have shape {rows.shape}, expected (E, G)")
    return rows
