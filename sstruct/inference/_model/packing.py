"""Conversion of the arguments of MRF to flat arrays, with errors that name the entry."""

import math

import numpy as np

from sstruct._checks.arrays import (
    LARGEST,
    array_of,
    concatenated,
    concatenated_rows,
    first_beyond,
    is_sized,
    listed,
    real_array,
    without_view,
)
from sstruct._checks.shown import shortened

# Exclusive limit on the labels of all nodes, and on the entries of a factor's table.
MAX_ENTRIES = 2**31
# Limit on the nodes of a factor: arrays of NumPy 1 have at most 32 axes.
MAX_NODES = 31

PAIRS = "a list of pairs (scope, table)"


def check_costs(flat, name_of):
    """Raise ValueError for NaN, -inf and too large costs; name_of(position) names an entry."""
    wrong = np.isnan(flat) | np.isneginf(flat)
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(f"{name_of(at)} is {flat[at]}, expected a finite cost or +inf (forbidden)")
    wrong = (np.abs(flat) > LARGEST) & (flat != np.inf)
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(
            f"{name_of(at)} is {flat[at]}, expected at most {LARGEST:g} in absolute value, or "
            "+inf: divide all costs by a constant, or use inf to forbid labels"
        )


def _listed(items, name):
    """Return numeric arrays unchanged, and other sized objects as a list."""
    items = without_view(items)
    if not is_sized(items):
        raise ValueError(f"{name} must be an array or a list; found {shortened(items)}")
    return items if isinstance(items, np.ndarray) and items.dtype != object else list(items)


def _is_row(item):
    """Return True if an item is a row of numbers, in which case the list of items is a table."""
    try:
        return np.ndim(item) == 1
    except ValueError:  # the error is raised when tables are converted
        return False


def pack_node_costs(node_costs):
    """Return the concatenated costs of all nodes, and the start of each node."""
    flat, start = concatenated_rows(node_costs, "node_costs")

    def name_of(at):
        v = int(np.searchsorted(start, at, side="right")) - 1
        return f"node_costs[{v}][{at - start[v]}]"

    check_costs(flat, name_of)
    if len(flat) >= MAX_ENTRIES:
        raise ValueError(f"node_costs has {len(flat)} labels, expected fewer than {MAX_ENTRIES}")
    return flat, start


def _pack_tables(given, expected, name):
    """Return the concatenated tables of a list, the start of each, and the table of each item.

    given : list of tables; the same object is stored once    expected : shape of each table
    """
    given = list(given)  # keeps the objects alive, so that their ids stay unique
    item_table, tables, known = np.empty(len(given), dtype=np.int32), [], {}
    for i, (table, shape) in enumerate(zip(given, expected, strict=True)):
        t = known.get(id(table))
        if t is None:
            t = known[id(table)] = len(tables)
            tables.append(real_array(table, name(i)))
        if tables[t].shape != shape:
            raise ValueError(
                f"{name(i)} must have shape {shape}, one axis for the labels of each node; found "
                f"{tables[t].shape}"
            )
        item_table[i] = t
    start = np.zeros(len(tables) + 1, dtype=np.int64)
    np.cumsum([table.size for table in tables], out=start[1:])
    tables = [table.ravel() for table in tables]
    flat = concatenated(tables, "tables") if tables else np.empty(0)

    def name_of(at):
        t = int(np.searchsorted(start, at, side="right")) - 1
        i = int((item_table == t).argmax())
        place = [int(k) for k in np.unravel_index(at - start[t], expected[i])]
        return f"{name(i)}{place}"

    check_costs(flat, name_of)
    return flat, start, item_table


def pack_edge_costs(edge_costs, edges, n_labels):
    """Return the concatenated tables, the start of each, and the table of each edge."""
    n_edges = len(edges)
    edge_costs = _listed(edge_costs, "edge_costs")
    count = len(edge_costs)
    if isinstance(edge_costs, np.ndarray):
        array = real_array(edge_costs, "edge_costs")
    elif count and _is_row(edge_costs[0]):  # the rows of one table
        array = real_array(edge_costs, "edge_costs")
    else:
        array = None
    shared = array is not None and array.ndim == 2
    if array is not None and not (shared or array.ndim == 3 or array.size == 0):
        raise ValueError(
            "edge_costs must be a list of tables or have shape (E, K, L) or (K, L); found "
            f"{array.shape}"
        )
    if n_edges == 0:
        if count and not shared:
            raise ValueError(f"edge_costs has {count} tables, but there are no edges")
        return np.empty(0), np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
    if not shared and count != n_edges:
        raise ValueError(f"edge_costs has {count} tables, expected {n_edges}, one for each edge")
    sizes = n_labels[edges]
    if array is None:
        shapes = [tuple(pair) for pair in sizes.tolist()]
        return _pack_tables(edge_costs, shapes, lambda e: f"edge_costs[{e}]")
    wrong = (sizes != array.shape[-2:]).any(axis=1)
    if wrong.any():
        e = int(wrong.argmax())
        raise ValueError(
            f"{'edge_costs' if shared else f'edge_costs[{e}]'} has shape {array.shape[-2:]}, but "
            f"edges[{e}] joins nodes with {sizes[e, 0]} and {sizes[e, 1]} labels"
        )
    flat = array.flatten()

    def name_of(at):
        return f"edge_costs{[int(k) for k in np.unravel_index(at, array.shape)]}"

    check_costs(flat, name_of)
    n_tables = 1 if shared else n_edges
    start = np.arange(n_tables + 1, dtype=np.int64) * (array.shape[-2] * array.shape[-1])
    edge_table = np.zeros(n_edges, dtype=np.int32) if shared else np.arange(n_edges, dtype=np.int32)
    return flat, start, edge_table


def checked_weights(weights, edge_table, tables, table_start):
    """Return the validated weights of edges."""
    n_edges = len(edge_table)
    if weights is None:
        return np.ones(n_edges)
    out = real_array(weights, "weights").copy()
    if out.shape != (n_edges,):
        raise ValueError(
            f"weights must have shape {(n_edges,)}, one entry for each edge; found {out.shape}"
        )
    wrong = first_beyond(out)
    if wrong is not None:
        e, value = wrong
        raise ValueError(
            f"weights[{e}] is {value}, expected finite and at most {LARGEST:g} in absolute value"
        )
    if n_edges and (out <= 0).any() and np.isinf(tables).any():
        forbids = np.add.reduceat(np.isinf(tables), table_start[:-1]) > 0
        wrong = forbids[edge_table] & (out <= 0)
        if wrong.any():
            e = int(wrong.argmax())
            raise ValueError(
                f"weights[{e}] is {out[e]}, expected a positive weight: the table forbids pairs"
            )
    return out


def pack_factors(factors, n_labels):
    """Return the nodes, starts and table index of all factors, and the tables and their starts."""
    scopes, tables = [], []
    factors = [] if factors is None else listed(factors, "factors", PAIRS)
    for f, item in enumerate(factors):
        try:
            scope, table = without_view(item) if is_sized(item) else ()
        except (TypeError, ValueError):
            raise ValueError(
                f"factors[{f}] must be a pair (scope, table), found {shortened(item)}"
            ) from None
        scope = array_of(scope, f"the scope of factors[{f}]")
        is_scope = scope.ndim == 1 and 3 <= len(scope) <= MAX_NODES
        if not is_scope or scope.dtype.kind not in "iu":
            raise ValueError(
                f"factors[{f}] must have a scope of 3 to {MAX_NODES} nodes (use node_costs and "
                f"edge_costs for one and two); found {shortened(scope.tolist())}"
            )
        if scope.min() < 0 or scope.max() >= len(n_labels):
            raise ValueError(
                f"factors[{f}] has the scope {scope.tolist()}, but there are {len(n_labels)} nodes"
            )
        if len(set(scope.tolist())) < len(scope):
            raise ValueError(f"factors[{f}] has the scope {scope.tolist()}, which repeats a node")
        scopes.append(scope.astype(np.int32))
        tables.append(table)
    shapes = [tuple(n_labels[scope].tolist()) for scope in scopes]
    for f, shape in enumerate(shapes):
        count = math.prod(shape)
        if count >= MAX_ENTRIES:
            raise ValueError(f"factors[{f}] has {count} entries, expected fewer than {MAX_ENTRIES}")
    flat, table_start, factor_table = _pack_tables(tables, shapes, lambda f: f"factors[{f}][1]")
    start = np.zeros(len(scopes) + 1, dtype=np.int64)
    np.cumsum([len(scope) for scope in scopes], out=start[1:])
    nodes = np.concatenate(scopes) if scopes else np.empty(0, dtype=np.int32)
    return nodes, start, factor_table, flat, table_start
