"""Validate and pack graphs with types of nodes passed by users; errors name the sample.

These functions run before the solver.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import (
    check_magnitudes,
    concatenated,
    is_empty,
    is_sized,
    listed_samples,
    listed_targets,
    real_array,
)
from sstruct._checks.compressed import as_csr, check_compressed, stacked
from sstruct._checks.parameters import is_integer
from sstruct._checks.shown import shortened
from sstruct._estimators.graph.graph_samples import edge_pairs
from sstruct._estimators.graph.graph_training import Graphs, rows_of
from sstruct._input.labels import as_labels, concatenate_labels, label_rules
from sstruct._input.partial import check_samples, known_codes
from sstruct._input.ragged import NO_NODES, Nodes, NoNodesError, check_label_sequence

GRAPH = "(node features of each type, edges of each pair of types)"


@dataclass(frozen=True)
class TypedGraphs:
    """Graphs whose nodes are sorted by type.

    Attributes
    ----------
    graphs : Graphs
        Nodes have the columns of a TypedModel, without the columns of ones for biases.
    counts : ndarray of int of shape (n, T)
        Number of nodes of each type in each sample.
    n_features : tuple of int
    pairs : tuple of (int, int, int)
        As in TypedModel.
    """

    graphs: Graphs
    counts: np.ndarray
    n_features: tuple
    pairs: tuple

    def __len__(self):
        return len(self.counts)

    @property
    def types(self):
        """The type of each node."""
        n, T = self.counts.shape
        return np.repeat(np.tile(np.arange(T), n), self.counts.ravel())

    @property
    def samples(self):
        """The sample of each node."""
        return np.repeat(np.arange(len(self)), self.counts.sum(axis=1))

    def place_of(self, t):
        """Return a function from the index of a label of type t to its place, for errors."""
        ends = np.cumsum(self.counts[:, t])

        def place(row):
            i = int(np.searchsorted(ends, row, side="right"))
            return f"y[{i}][{t}] at node {row - ends[i] + self.counts[i, t]}"

        return place

    def by_type(self, values):
        """Split an array over all nodes into a list of arrays, one per type, for each sample."""
        parts = iter(np.split(values, np.cumsum(self.counts.ravel())[:-1]))
        return [[next(parts) for _ in row] for row in self.counts]


def pack_typed(X, n_features=None, pairs=None):
    """Validate X of TypedGraphCRFSSVM and return its TypedGraphs.

    n_features, pairs : values from the fit, or None
    """
    X = listed_samples(X, f"a list of graphs, tuples {GRAPH}", "graph", n_features is not None)
    n_types = None if n_features is None else len(n_features)
    X = _with_types(X, n_types)
    for i, item in enumerate(X):
        _check_parts(item, i, n_types)
        n_types = len(item[0])
    tables = [
        _features([item[0][t] for item in X], t, n_features and n_features[t])
        for t in range(n_types)
    ]
    counts = [[part.shape[0] for part in parts] for parts, _ in tables]
    counts = np.array(counts, dtype=np.int64).reshape(len(tables), len(X)).T
    if n_features is None and not counts.any():
        raise NoNodesError(NO_NODES, range(len(X)))
    edges = [_edges(item[1], counts[i], i) for i, item in enumerate(X)]
    pairs = _pairs(edges, pairs)
    first = np.cumsum(counts, axis=1) - counts
    rows, n_edges, width = [], np.zeros(len(X), dtype=np.int64), sum(G for _, _, G in pairs)
    features = []
    for i, own in enumerate(edges):
        ends, at = [], 0
        for t, u, G in pairs:
            if (t, u) in own:
                pair_edges, values = own[t, u]
                ends.append(pair_edges + first[i, [t, u]])
                block = np.zeros((len(pair_edges), width))
                block[:, at : at + G] = values
                features.append(block)
            at += G
        rows.append(np.concatenate([np.zeros((0, 2), dtype=np.int64), *ends]))
        _check_distinct_edges(rows[-1], first[i], i)
        n_edges[i] = len(rows[-1])
    start = np.cumsum(n_edges) - n_edges
    flat = _in_order([flat for _, flat in tables], counts)
    offsets = np.r_[0, np.cumsum(counts.sum(axis=1))]
    graphs = Graphs.from_nodes(
        Nodes(flat, offsets, "ragged", flat.shape[1]),
        np.concatenate([np.zeros((0, 2)), *rows]).astype(np.int32),
        start,
        n_edges,
        start,
        edge_features=np.concatenate([np.zeros((0, width)), *features]) if width else None,
    )
    return TypedGraphs(graphs, counts, tuple(flat.shape[1] for _, flat in tables), pairs)


def _with_types(X, n_types):
    """Return X as a list, with an empty table of each type for empty items."""
    if n_types is None:
        first = next((i for i, item in enumerate(X) if not is_empty(item)), None)
        if first is None:
            raise NoNodesError(NO_NODES, range(len(X)))
        _check_parts(X[first], first, None)
        n_types = len(X[first][0])
    return [([[]] * n_types, {}) if is_empty(item) else item for item in X]


def _check_parts(item, i, n_types):
    """Raise an error unless a sample is a list of features by type, and a dict of edges."""
    if not isinstance(item, tuple | list) or not is_sized(item) or len(item) != 2:
        kind = type(item).__name__
        is_list = isinstance(item, tuple | list)
        found = f"a {kind} of {len(item)} parts" if is_list else f"of type {kind}"
        raise ValueError(f"X[{i}] is {found}, expected a tuple of 2 parts: {GRAPH}")
    features, edges = item
    if not isinstance(features, list | tuple) or not is_sized(features) or len(features) == 0:
        raise TypeError(
            f"the node features of X[{i}] are of type {type(features).__name__}, expected a list "
            "with an array (V_t, F_t) for each type of nodes"
        )
    if n_types is not None and len(features) != n_types:
        raise ValueError(
            f"X[{i}] has node features of {len(features)} types, expected {n_types}; for a type "
            "without nodes pass an array of shape (0, F_t)"
        )
    if not isinstance(edges, Mapping) or sparse.issparse(edges):
        raise TypeError(
            f"the edges of X[{i}] are of type {type(edges).__name__}, expected a dict by pair of "
            "types: {(0, 1): (edges, edge features)}"
        )


def _features(parts, t, expected):
    """Validate the node features of one type; return them per sample, and all rows as CSR."""
    out, some = [], []
    for i, part in enumerate(parts):
        what = f"the features of type {t} of X[{i}]"
        if is_empty(part):
            out.append(np.empty((0, 0)))
            continue
        if sparse.issparse(part):
            check_compressed(part, what)
            part = as_csr(part)
        else:
            part = real_array(part, what)
        if len(part.shape) != 2:
            raise ValueError(f"{what} have shape {part.shape}, expected (V_t, F_t)")
        expected = part.shape[1] if expected is None else expected
        if part.shape[1] != expected:
            raise ValueError(f"{what} have {part.shape[1]} columns, expected {expected}")
        check_magnitudes(part, f"{what} contain")
        out.append(part)
        if part.shape[0]:
            some.append(part)
    if expected is None:
        raise ValueError(
            f"no sample of X has nodes of type {t}, so its number of features F_t is unknown; pass "
            "arrays of shape (0, F_t) for it and its labels in classes, or remove the type"
        )
    if expected == 0:
        raise ValueError(
            f"type {t} of X has 0 features, expected at least 1, such as a column of ones"
        )
    n_sparse = sum(map(sparse.issparse, some))
    if n_sparse not in (0, len(some)):
        raise TypeError(
            f"the features of type {t} mix sparse and dense arrays, expected only one kind; "
            "convert all of them to CSR"
        )
    flat = (stacked if n_sparse else concatenated)(some or [np.empty((0, expected))], "X")
    return out, sparse.csr_matrix(flat, dtype=np.float64)


def _in_order(tables, counts):
    """Return the rows of all types in the order of samples, with separate columns per type."""
    type_counts = counts.sum(axis=0)
    first = np.cumsum(counts, axis=0) - counts + np.cumsum(type_counts) - type_counts
    rows = rows_of(first.ravel(), counts.ravel())
    flat = sparse.csr_matrix(sparse.block_diag(tables, format="csr")[rows])
    flat.sum_duplicates()
    return flat


def _edges(given, counts, i):
    """Validate the edges of one sample; return edges and edge features by pair of types."""
    out = {}
    for pair, value in given.items():
        known = isinstance(pair, tuple) and len(pair) == 2 and all(map(is_integer, pair))
        if not known or not all(0 <= t < len(counts) for t in pair):
            raise ValueError(
                f"the edges of X[{i}] have the key {shortened(pair)}, expected pairs of types, "
                f"0 to {len(counts) - 1}"
            )
        pair = int(pair[0]), int(pair[1])
        what = f"the edges {pair} of X[{i}]"
        features = None
        if isinstance(value, tuple):
            if len(value) != 2:
                raise ValueError(f"{what} are {len(value)} parts, expected (edges, edge features)")
            value, features = value
        edges = edge_pairs(value, what)
        outside = ((edges < 0) | (edges >= counts[list(pair)])).any(axis=1)
        if outside.any():
            e, most = int(outside.argmax()), (counts[list(pair)] - 1).tolist()
            raise ValueError(
                f"edge {e} of {what} is {edges[e].tolist()}, expected a node 0 to {most[0]} of "
                f"type {pair[0]} and a node 0 to {most[1]} of type {pair[1]}"
            )
        out[pair] = edges.astype(np.int64), _edge_features(features, len(edges), what)
    return out


def _edge_features(features, n_edges, what):
    """Return edge features as (E, G), by default a single feature, which is 1."""
    if features is None:
        return np.ones((n_edges, 1))
    features = real_array(features, f"the features of {what}")
    if features.ndim != 2 or len(features) != n_edges or features.shape[1] == 0:
        raise ValueError(
            f"the features of {what} have shape {features.shape}, expected one row for each of "
            f"{n_edges} edges"
        )
    check_magnitudes(features, f"the features of {what} contain")
    return features


def _pairs(edges, known):
    """Return the pairs of types that are joined by edges, with their numbers of features.

    known : the pairs of the fit, or None
    """
    widths = {} if known is None else {(t, u): G for t, u, G in known}
    for i, own in enumerate(edges):
        for pair, (_, features) in own.items():
            if known is not None and pair not in widths:
                raise ValueError(
                    f"X[{i}] has edges {pair}, which were not seen in fit; expected "
                    f"{sorted(widths) or 'none'}"
                )
            expected = widths.setdefault(pair, features.shape[1])
            if features.shape[1] != expected:
                raise ValueError(
                    f"the edges {pair} of X[{i}] have {features.shape[1]} features, expected "
                    f"{expected}"
                )
    return tuple((t, u, G) for (t, u), G in sorted(widths.items()))


def _check_distinct_edges(edges, first, i):
    """Raise an error if an edge of one sample is a self-loop, or a duplicate in any direction."""

    def name(v):
        t = int(np.searchsorted(first, v, side="right")) - 1
        return f"node {v - first[t]} of type {t}"

    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        raise ValueError(
            f"X[{i}] has a self-loop at {name(edges[loops[0], 0])}, expected edges between "
            "different nodes; use edges[edges[:, 0] != edges[:, 1]], and the same rows of the "
            "edge features"
        )
    _, at, count = np.unique(np.sort(edges, axis=1), axis=0, return_index=True, return_counts=True)
    if (count > 1).any():
        u, v = edges[at[count > 1].min()]
        ends = np.searchsorted(first, [u, v], side="right") - 1
        advice = "use np.unique(np.sort(edges, axis=1), axis=0)"
        if ends[0] != ends[1]:
            pair, other = tuple(ends.tolist()), tuple(ends[::-1].tolist())
            advice = f"pass it once, in the edges {pair} or {other}"
        raise ValueError(
            f"X[{i}] has a duplicate edge between {name(u)} and {name(v)}, in either direction; "
            + advice
        )


def labels_by_type(y, typed, structure):
    """Return one array of labels per type, concatenated over samples."""
    y = listed_targets(y, len(typed), "a list with the labels of each sample")
    n_types = typed.counts.shape[1]
    for i, item in enumerate(y):
        if not _has_types(item, f"y[{i}]", n_types, typed.counts[i]):
            continue
        for t, own in enumerate(item):
            check_label_sequence(own, f"y[{i}][{t}]", int(typed.counts[i, t]))
            if len(own) != typed.counts[i, t]:
                raise ValueError(
                    f"X[{i}] has {typed.counts[i, t]} nodes of type {t} but y[{i}][{t}] has "
                    f"{len(own)} labels"
                )
    # Empty arrays may have any dtype.
    y = [item for item in y if len(item)]
    labels_by_type = (
        concatenate_labels([item[t] for item in y if len(item[t])]) for t in range(n_types)
    )
    return [
        as_labels(labels, **label_rules(structure, typed.place_of(t)))
        for t, labels in enumerate(labels_by_type)
    ]


def known_codes_by_type(y_partial, typed, classes, ignore_label):
    """Return the class index of the known label of each node, -1 if it is unknown: `known_codes`.

    classes : the labels of each type
    """
    n_types, out, parts = len(classes), np.empty(len(typed.types), dtype=np.int32), []
    for i, item in enumerate(check_samples(y_partial, len(typed))):
        given = item is not None and _has_types(item, f"y_partial[{i}]", n_types, typed.counts[i])
        parts.append(item if given else [None] * n_types)
    for t, own in enumerate(classes):
        nodes = Nodes(None, np.r_[0, np.cumsum(typed.counts[:, t])], "ragged", 0)
        labels = [item[t] for item in parts]
        out[typed.types == t] = known_codes(labels, nodes, own, ignore_label, part=f"[{t}]")
    return out


def _has_types(item, name, n_types, counts):
    """Return whether the labels of a graph have an entry for each type, as required with nodes."""
    if not isinstance(item, list | tuple | np.ndarray) or not is_sized(item):
        raise TypeError(
            f"{name} is {shortened(item)}, expected a list of {n_types} lists of labels"
        )
    if is_empty(item) and not counts.any():
        return False
    if len(item) != n_types:
        raise ValueError(f"{name} has labels of {len(item)} types, expected {n_types}")
    return True
