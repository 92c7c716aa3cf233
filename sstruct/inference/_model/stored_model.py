"""Validation of unpickled models, since compiled code relies on the indices in their arrays."""

import numpy as np

from sstruct._checks.shown import shortened
from sstruct._oracles.core._edges import checked_simple_edges
from sstruct.inference._model.packing import (
    MAX_ENTRIES,
    MAX_NODES,
    check_costs,
    checked_weights,
)

# dtype and number of dimensions of each array.
ARRAYS = {
    "node_start": (np.int64, 1),
    "node_costs": (np.float64, 1),
    "edges": (np.int32, 2),
    "weights": (np.float64, 1),
    "edge_table": (np.int32, 1),
    "table_start": (np.int64, 1),
    "tables": (np.float64, 1),
    "factor_start": (np.int64, 1),
    "factor_nodes": (np.int32, 1),
    "factor_table": (np.int32, 1),
    "factor_table_start": (np.int64, 1),
    "factor_tables": (np.float64, 1),
}


def check_stored(state):
    """Raise ValueError unless `state` contains valid arrays of an MRF; others are derived."""
    _check_arrays(state)
    node_start = state["node_start"]
    if len(node_start) < 2:
        raise ValueError(f"node_start has {len(node_start)} entries, expected at least two")
    _check_starts(state, "node_start", "node_costs")
    if len(state["node_costs"]) >= MAX_ENTRIES:
        raise ValueError(
            f"node_costs has {len(state['node_costs'])} entries, expected fewer than {MAX_ENTRIES}"
        )
    n_labels = np.diff(node_start).astype(np.int32)
    _check_finite_or_inf(state, "node_costs")
    _check_edges(state, n_labels)
    _check_factors(state, n_labels)


def _check_arrays(state):
    if not isinstance(state, dict):
        raise ValueError(f"the state is a {type(state).__name__}, expected a dict")
    for name in state:
        if name not in ARRAYS:
            raise ValueError(f"the state has the unknown entry {shortened(name)}")
    for name, (dtype, ndim) in ARRAYS.items():
        expected = f"a contiguous {np.dtype(dtype)} array of {ndim} dimensions"
        value = state.get(name)
        if type(value) not in (np.ndarray, np.memmap):
            raise ValueError(f"{name} is a {type(value).__name__}, expected {expected}")
        if value.dtype != dtype or value.ndim != ndim or not value.flags.c_contiguous:
            found = f"of dtype {value.dtype} and shape {value.shape}"
            raise ValueError(f"{name} is {found}, expected {expected}")


def _check_starts(state, name, of):
    """Check the starts of the parts of an array: no part is empty, and the last ends the array."""
    start, end = state[name], len(state[of])
    if len(start) == 0 or start[0] != 0 or start[-1] != end or (start[1:] <= start[:-1]).any():
        raise ValueError(
            f"{name} must increase strictly from 0 to {end}, the length of {of}, found "
            f"{shortened(start)}"
        )


def _check_table_numbers(state, name, n_items, start):
    """Check the table index of each edge or factor."""
    numbers, n_tables = state[name], len(state[start]) - 1
    if len(numbers) != n_items:
        raise ValueError(f"{name} has {len(numbers)} entries, expected {n_items}")
    if n_items and not 0 <= numbers.min() <= numbers.max() < n_tables:
        raise ValueError(
            f"{name} is out of range: there are {n_tables} tables, found {numbers.min()} to "
            f"{numbers.max()}"
        )


def _check_finite_or_inf(state, name):
    check_costs(state[name], lambda at: f"{name}[{at}]")


def _check_edges(state, n_labels):
    """Check edges, their weights and their tables."""
    edges, start, edge_table = state["edges"], state["table_start"], state["edge_table"]
    if edges.shape[1] != 2:
        raise ValueError(f"edges has shape {edges.shape}, expected two columns")
    checked_simple_edges(edges, len(n_labels))
    _check_starts(state, "table_start", "tables")
    _check_table_numbers(state, "edge_table", len(edges), "table_start")
    shapes = table_shapes(start, edge_table, n_labels[edges])
    wrong = (shapes[edge_table] != n_labels[edges]).any(axis=1)
    if wrong.any():
        e = int(wrong.argmax())
        raise ValueError(
            f"edge_table[{e}] is a table of a different shape: {shapes[edge_table[e]].tolist()}, "
            f"expected {n_labels[edges[e]].tolist()}"
        )
    if not np.array_equal(np.diff(start), shapes.prod(axis=1)):
        raise ValueError("table_start does not match the numbers of labels of the edges")
    _check_finite_or_inf(state, "tables")
    checked_weights(state["weights"], edge_table, state["tables"], start)


def _check_factors(state, n_labels):
    """Check scopes of factors and their tables."""
    start, nodes, factor_table = state["factor_start"], state["factor_nodes"], state["factor_table"]
    _check_starts(state, "factor_start", "factor_nodes")
    sizes = np.diff(start)
    if len(sizes) and not 3 <= sizes.min() <= sizes.max() <= MAX_NODES:
        raise ValueError(f"factor_start has a factor that does not have 3 to {MAX_NODES} nodes")
    if len(nodes) and not 0 <= nodes.min() <= nodes.max() < len(n_labels):
        raise ValueError(
            f"factor_nodes is out of range: there are {len(n_labels)} nodes, found "
            f"{nodes.min()} to {nodes.max()}"
        )
    _check_starts(state, "factor_table_start", "factor_tables")
    _check_table_numbers(state, "factor_table", len(sizes), "factor_table_start")
    n_entries = np.diff(state["factor_table_start"])[factor_table]
    for size in np.unique(sizes):
        which = np.flatnonzero(sizes == size)
        scopes = np.sort(nodes[start[which, None] + np.arange(size)], axis=1)
        if (scopes[:, 1:] == scopes[:, :-1]).any():
            raise ValueError("factor_nodes has a factor that contains a node twice")
        # As doubles: the number of tuples may overflow an integer.
        if (n_labels[scopes].prod(axis=1, dtype=np.float64) != n_entries[which]).any():
            raise ValueError("factor_table has a table of the wrong size for its nodes")
    _check_finite_or_inf(state, "factor_tables")


def table_shapes(table_start, edge_table, shapes_of_edges):
    """Return the shapes of the tables of edges, (T, 2)."""
    shapes = np.ones((len(table_start) - 1, 2), dtype=np.int64)
    shapes[edge_table] = shapes_of_edges
    return shapes
