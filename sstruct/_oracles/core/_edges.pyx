# Design:
# (a) Validation of edges for the Python functions of graph decoders: the endpoints of an edge must be
#     different and in range and, if costs would be ambiguous otherwise, edges must be unique.
# (b) Arrays with an entry per edge or node must have the expected shape and finite values.
# (c) Images have a million edges, so duplicate edges are found by counting (edges sorted by their
#     lower node, then marks on the higher ones) instead of comparisons, in O(V + E).
"""Validation of the edges of graphs."""

from libc.stdint cimport int32_t

import numpy as np

from sstruct._checks.arrays import array_of, real_array


def check_finite(values, name):
    """Raise ValueError for the first entry, or row, of an array that is not finite."""
    if np.isfinite(values).all():  # the common case
        return
    wrong = ~np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    i = int(wrong.argmax())
    raise ValueError(f"{name}[{i}] = {values[i].tolist()} must be finite")


def checked_edge_tables(tables, n_edges, name):
    """Return validated numbers (E,) or tables (E, 2, 2) of edges as float64."""
    tables = np.ascontiguousarray(real_array(tables, name))
    shapes = (n_edges,), (n_edges, 2, 2)
    if tables.shape not in shapes and (n_edges or tables.size):
        raise ValueError(
            f"{name} must have shape {shapes[0]} or {shapes[1]}, one entry for each edge; "
            f"found {tables.shape}")
    return tables


def checked_edges(edges, n_nodes, nodes="nodes"):
    """Return validated edges between different nodes as an int32 array (n_edges, 2).

    nodes : the name of nodes in errors, such as "labels"
    """
    edges = array_of(edges, "edges")
    if edges.size == 0:
        edges = np.empty((0, 2), dtype=np.int32)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"edges must have shape (n_edges, 2); found {edges.shape}")
    if edges.dtype.kind not in "iu":
        raise ValueError(f"edges must be integers; found dtype {edges.dtype}")
    if n_nodes >= 2 ** 31 or len(edges) >= 2 ** 30:
        raise ValueError(
            f"expected fewer than {2 ** 31} {nodes} and {2 ** 30} edges; found {n_nodes} and {len(edges)}")
    if edges.size and (edges.min() < 0 or edges.max() >= n_nodes):
        e = int(((edges < 0) | (edges >= n_nodes)).any(axis=1).argmax())
        raise ValueError(
            f"edges[{e}] = {tuple(edges[e].tolist())} is out of range for {n_nodes} {nodes}")
    loops = edges[:, 0] == edges[:, 1]
    if loops.any():
        e = int(loops.argmax())
        raise ValueError(f"edges[{e}] = {tuple(edges[e].tolist())} is a self-loop")
    return np.ascontiguousarray(edges, dtype=np.int32)


def checked_simple_edges(edges, n_nodes, nodes="nodes"):
    """Return validated edges as `checked_edges` does, and raise an error for duplicate edges."""
    edges = checked_edges(edges, n_nodes, nodes)
    cdef const int32_t[:, ::1] pairs = edges
    cdef Py_ssize_t E = pairs.shape[0], V = n_nodes, e, k, v
    cdef int32_t low, high, other, first = -1, second = -1
    cdef int32_t[::1] place = np.zeros(V + 1, dtype=np.int32)     # start of edges with this lower node
    cdef int32_t[::1] order = np.empty(E, dtype=np.int32)
    cdef int32_t[::1] last = np.full(V, -1, dtype=np.int32)       # last edge with this higher node
    with nogil:
        for e in range(E):
            place[min(pairs[e, 0], pairs[e, 1]) + 1] += 1
        for v in range(V):
            place[v + 1] += place[v]
        for e in range(E):
            low = min(pairs[e, 0], pairs[e, 1])
            order[place[low]] = <int32_t> e
            place[low] += 1
        for k in range(E):
            e = order[k]
            low, high = min(pairs[e, 0], pairs[e, 1]), max(pairs[e, 0], pairs[e, 1])
            other = last[high]
            if other >= 0 and min(pairs[other, 0], pairs[other, 1]) == low:
                first, second = other, <int32_t> e
                break
            last[high] = <int32_t> e
    if second >= 0:
        raise ValueError(
            f"edges[{second}] = {tuple(edges[second].tolist())} joins the same {nodes} as edges[{first}]; "
            "keep one of them, with the sum of their costs if there are any")
    return edges
