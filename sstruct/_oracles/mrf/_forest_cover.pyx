# Design:
# (a) Partition the edges of a graph into the smallest number of forests, the union of k graphic
#     matroids. An edge is inserted by a shortest chain of exchanges: it replaces an edge of the cycle
#     that it closes in one forest, which replaces an edge of a cycle in another, until an edge closes
#     no cycle.
# (b) The search labels edges breadth first. All forests are rooted at an end u of the new edge; in
#     each, the labeled edges are a subtree that contains u, whose nodes are `inside`. An edge is
#     labeled from a node that is inside, so one of its ends is inside in every forest when it is
#     taken from the queue. The unlabeled edges of its cycle are those on the path from the other end
#     up to the first node inside. If there is no path, it closes no cycle in that forest.
# (c) A search that fails has found a set of edges that is too dense for k forests, so k must be
#     increased. The number of forests is therefore minimal (Nash-Williams).
# (d) sstruct/inference/_model/tree_cover.py selects the decomposition of a model.
"""Partition of a graph's edges into forests and their trees."""

from libc.stdint cimport int32_t

import numpy as np

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.core.incidence import by_node, edges_by_node


cdef Py_ssize_t root_of(int32_t* above, Py_ssize_t v) noexcept nogil:
    """Return the root of v in a union-find forest, with path halving."""
    while above[v] != v:
        above[v] = above[above[v]]
        v = above[v]
    return v


def elimination(Py_ssize_t n_nodes, edges):
    """Remove nodes of smallest degree, one at a time.

    Parameters
    ----------
    n_nodes : int
    edges : ndarray of shape (E, 2), dtype int32
        Simple edges, validated by the caller.

    Returns
    -------
    rank : ndarray of shape (n_nodes,), dtype int32
        The position of each node in the order of removal.
    least : int
        Lower bound on the number of forests: by Nash-Williams for the remaining graphs.

    Notes
    -----
    The complexity is O(V log V + E).
    """
    ends = np.ascontiguousarray(edges, dtype=np.int32).reshape(-1, 2)
    begins, edge = edges_by_node(ends, n_nodes)
    counts = np.diff(begins)
    cdef const int32_t[:, ::1] end = ends
    cdef const int32_t[::1] first = begins, arc = edge
    cdef int32_t[::1] degree = counts.copy()
    # Nodes sorted by degree, and the start of each degree.
    cdef int32_t[::1] line = np.argsort(counts, kind="stable").astype(np.int32)
    cdef int32_t[::1] at = np.empty(n_nodes, dtype=np.int32)
    cdef int32_t[::1] begin = np.searchsorted(
        np.sort(counts), np.arange(int(counts.max(initial=0)) + 2)).astype(np.int32)
    cdef Py_ssize_t i, j, v, u, k, left = end.shape[0], least = 0
    for i in range(n_nodes):
        at[line[i]] = <int32_t> i
    with nogil:
        for i in range(n_nodes):
            if n_nodes - i > 1:
                least = max(least, (left + n_nodes - i - 2) // (n_nodes - i - 1))
            v = line[i]
            for j in range(first[v], first[v + 1]):
                u = end[arc[j], 0] + end[arc[j], 1] - v
                if at[u] <= i:
                    continue
                left -= 1
                if degree[u] <= degree[v]:
                    continue  # its degree is not below the one being removed
                # Swap u with the first node of its degree, and shift the start of that degree.
                k = begin[degree[u]]
                line[at[u]] = line[k]
                at[line[k]] = at[u]
                line[k] = <int32_t> u
                at[u] = <int32_t> k
                begin[degree[u]] += 1
                degree[u] -= 1
    return np.array(at), least


cdef class ForestPartition:
    """Partition of edges into `n_forests` forests, or into more if these are not enough.

    Parameters
    ----------
    n_nodes : int
    edges : ndarray of shape (E, 2), dtype int32
        Simple edges, validated by the caller.
    n_forests : int
        Number of forests to start with, from 1 to the smallest possible number.

    Notes
    -----
    Edges are inserted in the given order. No exchanges are necessary if nodes are added one at a time,
    each with at most `n_forests` edges to earlier ones.
    """

    cdef readonly Py_ssize_t n_nodes, n_edges, n_forests
    cdef const int32_t[:, ::1] edges
    cdef int32_t[::1] forest_of, first, arc, reason, waiting
    cdef int32_t[:, ::1] above, way        # by forest and node: parent in the rooted tree, edge to it
    cdef char[:, ::1] inside

    def __init__(self, n_nodes, edges, n_forests):
        ends = np.ascontiguousarray(edges, dtype=np.int32).reshape(-1, 2)
        self.n_nodes, self.n_edges, self.edges = n_nodes, len(ends), ends
        self.first, self.arc = edges_by_node(ends, n_nodes)
        self.forest_of = np.full(self.n_edges, -1, dtype=np.int32)
        self.reason, self.waiting = np.empty((2, self.n_edges + 1), dtype=np.int32)
        self.resize(n_forests)

    def resize(self, n_forests):
        self.n_forests = n_forests
        self.above, self.way = np.empty((2, n_forests, self.n_nodes), dtype=np.int32)
        self.inside = np.empty((n_forests, self.n_nodes), dtype=np.int8)

    def run(self):
        """Return the index of the forest of each edge, (E,) int32."""
        cdef Py_ssize_t e, f, a, b
        cdef int32_t[:, ::1] joined = np.repeat(
            np.arange(self.n_nodes, dtype=np.int32)[np.newaxis], self.n_forests, axis=0)
        # Greedy insertion first.
        for e in range(self.n_edges):
            for f in range(self.n_forests):
                a = root_of(&joined[f, 0], self.edges[e, 0])
                b = root_of(&joined[f, 0], self.edges[e, 1])
                if a != b:
                    joined[f, a] = <int32_t> b
                    self.forest_of[e] = <int32_t> f
                    break
            poll_signals(20.0 * self.n_forests)
        for e in range(self.n_edges):
            if self.forest_of[e] < 0 and not self.enter(e):
                self.resize(self.n_forests + 1)
                self.forest_of[e] = <int32_t> (self.n_forests - 1)
        return np.array(self.forest_of)

    cdef void hang(self, Py_ssize_t f, Py_ssize_t root) noexcept nogil:
        """Compute parents in forest f for the root's tree; -1 for the root and for other trees."""
        cdef Py_ssize_t v, u, i, e, head = 0, tail = 1
        # `reason` is not in use before a search.
        cdef int32_t* line = &self.reason[0]
        for v in range(self.n_nodes):
            self.above[f, v] = -1
            self.inside[f, v] = 0
        line[0] = <int32_t> root
        self.inside[f, root] = 1
        while head < tail:
            v = line[head]
            head += 1
            for i in range(self.first[v], self.first[v + 1]):
                e = self.arc[i]
                u = self.edges[e, 0] + self.edges[e, 1] - v
                if self.forest_of[e] == f and u != root and self.above[f, u] < 0:
                    self.above[f, u] = <int32_t> v
                    self.way[f, u] = <int32_t> e
                    line[tail] = <int32_t> u
                    tail += 1

    cdef bint enter(self, Py_ssize_t new) except -1 nogil:
        """Find a place for an edge by exchanges; return whether there is one."""
        cdef Py_ssize_t f, e, v, at, count, head = 0, tail = 1, next_edge, previous
        cdef int32_t swap
        for f in range(self.n_forests):
            self.hang(f, self.edges[new, 0])
            poll_signals(2.0 * self.n_nodes + 5.0 * self.n_edges)
        for e in range(self.n_edges):
            self.reason[e] = -1
        self.waiting[0] = <int32_t> new
        self.reason[new] = <int32_t> new
        while head < tail:
            e = self.waiting[head]
            head += 1
            for f in range(self.n_forests):
                if f == self.forest_of[e]:
                    continue
                v = self.edges[e, 0] if not self.inside[f, self.edges[e, 0]] else self.edges[e, 1]
                if self.inside[f, v]:
                    continue
                if self.above[f, v] < 0:
                    # No cycle: insert e there, and shift each edge of the chain to the next place.
                    while True:
                        previous, next_edge = self.forest_of[e], self.reason[e]
                        self.forest_of[e] = <int32_t> f
                        if e == new:
                            return True
                        f, e = previous, next_edge
                count = 0
                while not self.inside[f, v]:
                    self.inside[f, v] = 1
                    self.reason[self.way[f, v]] = <int32_t> e
                    self.waiting[tail + count] = self.way[f, v]
                    count += 1
                    v = self.above[f, v]
                # Edges next to a node that was inside come first.
                for at in range(count // 2):
                    swap = self.waiting[tail + at]
                    self.waiting[tail + at] = self.waiting[tail + count - 1 - at]
                    self.waiting[tail + count - 1 - at] = swap
                tail += count
        return False


def trees_of_forests(Py_ssize_t n_nodes, edges, forest_of, Py_ssize_t n_forests):
    """List the trees with at least one edge of all forests, from root to leaves.

    Parameters
    ----------
    n_nodes : int
    edges : ndarray of shape (E, 2), dtype int32
    forest_of : ndarray of shape (E,), dtype int32

    Returns
    -------
    start : ndarray of shape (n_trees + 1,), dtype int64
    node, parent, edge : ndarrays of shape (start[-1],), dtype int32
        The node of each position in a tree, the position of its parent, and the edge to it; parent
        and edge are -1 at a root, and parents come before children.

    Raises
    ------
    ValueError
        If a forest has a cycle.
    """
    cdef const int32_t[:, ::1] ends = np.ascontiguousarray(edges, dtype=np.int32).reshape(-1, 2)
    cdef Py_ssize_t n_edges = ends.shape[0], f, tail = 0, root, v, u, i, e, head, begin, begun
    cdef const int32_t[::1] first_of, arcs
    nodes, parents, ways = np.empty((3, 2 * n_edges), dtype=np.int32)
    cdef int32_t[::1] node = nodes, parent = parents, way = ways
    cdef int32_t[::1] seen = np.full(n_nodes, -1, dtype=np.int32)
    of_edge = np.ascontiguousarray(forest_of, dtype=np.int32)
    starts = [0]
    for f in range(n_forests):
        members = np.flatnonzero(of_edge == f).astype(np.int32)
        first, arc = by_node(
            np.repeat(members, 2), np.asarray(ends)[members].ravel(), n_nodes)
        first_of, arcs, begun = first, arc, tail
        for root in range(n_nodes):
            if seen[root] == f or first_of[root] == first_of[root + 1]:
                continue
            begin = head = tail
            node[tail], parent[tail], way[tail] = <int32_t> root, -1, -1
            seen[root] = <int32_t> f
            tail += 1
            while head < tail:
                v = node[head]
                for i in range(first_of[v], first_of[v + 1]):
                    e = arcs[i]
                    u = ends[e, 0] + ends[e, 1] - v
                    if seen[u] != f:
                        seen[u] = <int32_t> f
                        node[tail], parent[tail] = <int32_t> u, <int32_t> (head - begin)
                        way[tail] = <int32_t> e
                        tail += 1
                head += 1
            starts.append(tail)
        if tail - begun - len(members) != len(starts) - 1 - np.searchsorted(starts, begun):
            raise ValueError(f"forest {f} has a cycle")
    return np.array(starts, dtype=np.int64), nodes[:tail], parents[:tail], ways[:tail]
