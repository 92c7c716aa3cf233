# Design:
# (a) E(x) = sum_v node[v, x_v] + sum_e edge[e, 2 x_u + x_v] with x_v in {0, 1}. `BinaryEnergy` is a
#     workspace like `MaxFlow`: set the graph first, then the costs, then call `minimize` or
#     `roof_duality`.
# (b) Normal form of an edge: 00 + along_u x_u + along_v x_v + forth (1 - x_u) x_v + back x_u (1 - x_v)
#     with nonnegative forth and back. It exists if and only if 00 + 11 <= 01 + 10 (attractive).
#     Label 1 is the sink side of the cut, so forth is the capacity u -> v. An edge with equal
#     costs of equal labels requires no node terms, as in images.
# (c) Roof duality: node v has a complement v + V with label 1 - x_v. A repulsive edge (u, v) is an
#     attractive one between u and the complement of v. Each term enters twice, once with all its
#     nodes complemented, so the graph is symmetric. If v is on the sink side of the minimum cut with
#     the smallest sink side, its complement is on the source side, and every minimum of E has x_v = 1.
# (d) Edges that are repulsive only because of rounding (relative to their costs) are treated as
#     modular, 00 + 11 = 01 + 10.
"""Exact minima of binary energies by cuts, and partial optimality by roof duality."""

from libc.math cimport fabs
from libc.stdint cimport int32_t
from libc.string cimport memcpy

import numpy as np

from sstruct._kernels._constants cimport ROUNDING
from sstruct._oracles.core._edges import check_finite, checked_edge_tables, checked_simple_edges
from sstruct._checks.arrays import flag, real_array


cdef struct NormalForm:
    double along_u, along_v, forth, back


cdef inline bint normal_form(
        double c00, double c01, double c10, double c11, NormalForm* term) noexcept nogil:
    """Compute the normal form of an edge; return False if it is repulsive."""
    cdef double attraction = (c01 - c00) + (c10 - c11)
    cdef double along = 0.5 * (c11 - c00)
    term.along_u = term.along_v = along
    term.forth = (c01 - c00) - along
    term.back = (c10 - c00) - along
    if term.forth >= 0 and term.back >= 0:
        return True
    if attraction < 0:
        if attraction < -ROUNDING * (fabs(c00) + fabs(c01) + fabs(c10) + fabs(c11)):
            return False
        attraction = 0
    if term.forth < 0:
        term.along_u, term.along_v = c11 - c01, c01 - c00
        term.forth, term.back = 0, attraction
    else:
        term.along_u, term.along_v = c10 - c00, c11 - c10
        term.forth, term.back = attraction, 0
    return True


cdef class BinaryEnergy:
    """Minimizes one energy of binary labels at a time; each thread requires its own object."""

    def __cinit__(self):
        self.cut = MaxFlow()
        self.doubled = MaxFlow()

    cdef int reserve(self, Py_ssize_t n_nodes, Py_ssize_t n_edges) except -1 nogil:
        """Allocate memory for costs and edges; previous contents are lost."""
        self.n_nodes = self.n_edges = 0
        self.grow(<void**> &self.node, 2 * n_nodes, sizeof(double))
        self.grow(<void**> &self.edge, 4 * n_edges, sizeof(double))
        self.grow(<void**> &self.edges, 2 * n_edges, sizeof(int32_t))
        self.n_nodes, self.n_edges = n_nodes, n_edges
        return 0

    cdef int set_graph(
            self, Py_ssize_t n_nodes, Py_ssize_t n_edges, const int32_t* edges) except -1 nogil:
        """Copy the edges (n_edges, 2) of a graph. O(V + E)."""
        cdef Py_ssize_t i
        self.n_nodes = self.n_edges = 0
        self.cut.set_graph(n_nodes, n_edges, edges)
        self.reserve(n_nodes, n_edges)
        for i in range(2 * n_edges):
            self.edges[i] = edges[i]
        return 0

    cdef int minimize(self, int32_t* labels, double* work) except -1 nogil:
        """Find a minimum, with the fewest labels 1 of all minima; raise ValueError for a repulsive edge."""
        cdef Py_ssize_t v, e
        cdef int32_t u, w
        cdef const double* cost
        cdef double* terminal = self.cut.terminal
        cdef double* capacity = self.cut.capacity
        cdef double flow
        cdef NormalForm term
        for v in range(self.n_nodes):
            terminal[v] = self.node[2 * v + 1] - self.node[2 * v]
        for e in range(self.n_edges):
            u, w = self.edges[2 * e], self.edges[2 * e + 1]
            cost = self.edge + 4 * e
            if not normal_form(cost[0], cost[1], cost[2], cost[3], &term):
                with gil:
                    raise ValueError(
                        f"edge {e} = ({u}, {w}) is repulsive: its costs 00 + 11 = "
                        f"{cost[0] + cost[3]:g} exceed 01 + 10 = {cost[1] + cost[2]:g}, so a cut does not "
                        "minimize the energy; roof_duality=True determines a part of the labels")
            terminal[u] += term.along_u
            terminal[w] += term.along_v
            capacity[2 * e] = term.forth
            capacity[2 * e + 1] = term.back
        self.cut.solve(&flow, work)
        self.cut.sides(labels)
        work[0] += <double> (self.n_nodes + self.n_edges)
        return 0

    cdef int roof_duality(self, int32_t* labels, double* bound, double* work) except -1 nogil:
        """Find labels that every minimum has, -1 if undecided, and a lower bound on the minimum."""
        cdef Py_ssize_t v, e, n = self.n_nodes
        cdef int32_t u, w
        cdef bint repulsive, one, zero
        cdef const double* cost
        cdef double* terminal
        cdef double* capacity
        cdef double flow, constant = 0
        cdef NormalForm term
        self.grow(<void**> &self.doubled_edges, 4 * self.n_edges, sizeof(int32_t))
        for e in range(self.n_edges):
            u, w = self.edges[2 * e], self.edges[2 * e + 1]
            cost = self.edge + 4 * e
            repulsive = not normal_form(cost[0], cost[1], cost[2], cost[3], &term)
            self.doubled_edges[4 * e] = u
            self.doubled_edges[4 * e + 1] = <int32_t> (w + n) if repulsive else w
            # The mirror image of an arc u -> v is v' -> u'.
            self.doubled_edges[4 * e + 2] = w if repulsive else <int32_t> (w + n)
            self.doubled_edges[4 * e + 3] = <int32_t> (u + n)
        self.doubled.set_graph(2 * n, 2 * self.n_edges, self.doubled_edges)
        terminal = self.doubled.terminal
        capacity = self.doubled.capacity
        for v in range(n):
            terminal[v] = self.node[2 * v + 1] - self.node[2 * v]
            constant += self.node[2 * v]
        for e in range(self.n_edges):
            u, w = self.edges[2 * e], self.edges[2 * e + 1]
            cost = self.edge + 4 * e
            if self.doubled_edges[4 * e + 1] == w:
                normal_form(cost[0], cost[1], cost[2], cost[3], &term)
                terminal[w] += term.along_v
                constant += cost[0]
            else:       # x_v = 1 - (1 - x_v) swaps the columns
                normal_form(cost[1], cost[0], cost[3], cost[2], &term)
                terminal[w] -= term.along_v
                constant += cost[1] + term.along_v
            terminal[u] += term.along_u
            capacity[4 * e] = capacity[4 * e + 2] = term.forth
            capacity[4 * e + 1] = capacity[4 * e + 3] = term.back
        for v in range(n):
            terminal[n + v] = -terminal[v]
            constant += min(terminal[v], <double> 0)
        self.doubled.solve(&flow, work)
        bound[0] = constant + 0.5 * flow
        for v in range(n):
            one, zero = self.doubled.on_sink_side(v), self.doubled.on_sink_side(n + v)
            labels[v] = -1 if one == zero else one
        work[0] += <double> (2 * self.n_nodes + 4 * self.n_edges)
        return 0

    cdef double value(self, const int32_t* labels) noexcept nogil:
        """Return the energy of a labeling."""
        cdef Py_ssize_t v, e
        cdef double total = 0
        for v in range(self.n_nodes):
            total += self.node[2 * v + labels[v]]
        for e in range(self.n_edges):
            total += self.edge[
                4 * e + 2 * labels[self.edges[2 * e]] + labels[self.edges[2 * e + 1]]]
        return total


def potts_cut(node_costs, edges, weights):
    """Minimize node costs (V, 2) plus Potts costs with weights (E, 1); return (labels, value).

    Same as `BinaryEnergy` but without its copies: the weights are the capacities.
    """
    cdef const double[:, ::1] node = node_costs, weight = weights
    cdef const int32_t[:, ::1] pairs = edges
    cdef Py_ssize_t v, e, V = node.shape[0], E = pairs.shape[0]
    cdef MaxFlow cut = MaxFlow()
    cdef double flow, work = 0, value = 0
    labels = np.empty(V, dtype=np.int32)
    cdef int32_t[::1] out = labels
    with nogil:
        cut.set_graph(V, E, &pairs[0, 0] if E else NULL)
        for v in range(V):
            cut.terminal[v] = node[v, 1] - node[v, 0]
        for e in range(E):
            cut.capacity[2 * e] = cut.capacity[2 * e + 1] = weight[e, 0]
        cut.solve(&flow, &work)
        cut.sides(&out[0])
        for v in range(V):
            value += node[v, out[v]]
        for e in range(E):
            if out[pairs[e, 0]] != out[pairs[e, 1]]:
                value += weight[e, 0]
    return labels, value


def checked_node_costs(node_costs, n_labels=None):
    """Return validated node costs as a float64 array (V, K)."""
    costs = np.ascontiguousarray(real_array(node_costs, "node_costs"))
    if costs.ndim != 2 or costs.shape[0] == 0 or costs.shape[1] == 0 or (
            n_labels is not None and costs.shape[1] != n_labels):
        raise ValueError(
            f"node_costs must have shape (n_nodes, {n_labels or 'n_labels'}) with n_nodes >= 1; "
            f"found {costs.shape}")
    if np.isfinite(costs).all():
        return costs
    wrong = ~((costs > -np.inf) & (costs <= np.inf)).all(axis=1)
    if wrong.any():
        v = int(wrong.argmax())
        raise ValueError(
            f"node_costs[{v}] = {costs[v].tolist()} must be finite, or inf for forbidden labels")
    wrong = (costs == np.inf).all(axis=1)
    if wrong.any():
        raise ValueError(f"node_costs[{int(wrong.argmax())}] is inf for every label: none is allowed")
    return costs


def with_finite_costs(node_costs, edges, spread):
    """Return node costs (V, K) in which costs of forbidden labels are finite but never optimal.

    Such a cost exceeds the cost of every allowed label of the node by more than its edges can gain.
    It therefore has the magnitude of other costs of the node and its edges, and precision is not lost.

    spread : ndarray of shape (E,)
        The largest difference between two costs of each edge.
    """
    is_forbidden = node_costs == np.inf
    if not is_forbidden.any():
        return node_costs
    top = np.where(is_forbidden, -np.inf, node_costs).max(axis=1)
    gain = np.bincount(edges.ravel(), np.repeat(spread, 2), len(node_costs))
    margin = np.maximum(2 * gain, np.abs(top))
    margin[margin == 0] = 1.0
    costs = np.where(is_forbidden, (top + margin)[:, np.newaxis], node_costs)
    check_finite(costs, "node_costs")
    return costs


def graph_cut(node_costs, edges, edge_costs, *, roof_duality=False):
    """Minimize an energy of binary labels by a minimum cut.

    Minimizes ``sum_v node_costs[v, y_v] + sum_e edge_costs[e, y_u, y_v]`` over labels 0 and 1, where
    edge e joins the nodes ``(u, v) = edges[e]``.

    Parameters
    ----------
    node_costs : array-like of shape (n_nodes, 2)
        Cost of each label at each node, ``+inf`` if the label is forbidden.
    edges : array-like of int of shape (n_edges, 2)
        Pairs of different nodes, without duplicates.
    edge_costs : array-like of shape (n_edges,) or (n_edges, 2, 2)
        (n_edges,): nonnegative cost of different labels at the nodes of the edge (Potts).
        (n_edges, 2, 2): cost of label a at the first and b at the second node, of any sign.
        Without `roof_duality` every edge must be attractive: ``costs[0, 0] + costs[1, 1] <=
        costs[0, 1] + costs[1, 0]`` (up to rounding).
    roof_duality : bool, default=False
        Whether to allow repulsive edges, as costs of shape (n_edges, 2, 2), and determine only labels
        that all minima share.

    Returns
    -------
    labels : ndarray of shape (n_nodes,), dtype int32
        A minimum; ties are resolved by the smallest number of labels 1. With `roof_duality`, 0 or 1
        if every minimum has this label, and -1 if roof duality does not determine it.
    value : float
        The energy of the labels; with `roof_duality`, a lower bound on the minimum, which is attained
        if every edge is attractive.

    Raises
    ------
    ValueError
        If an edge is out of range, a self-loop or a duplicate, a cost is NaN or infinite (except
        ``+inf`` in `node_costs`), both labels of a node are forbidden, shapes are inconsistent, a cost
        of shape (n_edges,) is negative, or an edge is repulsive and `roof_duality` is False.

    Notes
    -----
    The time is that of :func:`maxflow`; roof duality requires twice as many nodes and edges. The GIL
    is released during the computation.

    References
    ----------
    V. Kolmogorov and R. Zabih. What energy functions can be minimized via graph cuts? IEEE PAMI
    26(2), 2004. E. Boros and P. L. Hammer. Pseudo-Boolean optimization. Discrete Applied
    Mathematics 123, 2002 (roof duality and persistency).

    Examples
    --------
    >>> from sstruct.inference import graph_cut
    >>> graph_cut([[0.0, 2.0], [1.0, 0.5], [2.0, 0.0]], [[0, 1], [1, 2]], [1.0, 0.2])
    (array([0, 0, 1], dtype=int32), 1.2)

    Seeds: the first node must have label 1 and the last one label 0:

    >>> inf = float("inf")
    >>> graph_cut([[inf, 0.0], [0.5, 0.4], [0.0, inf]], [[0, 1], [1, 2]], [0.2, 1.0])
    (array([1, 0, 0], dtype=int32), 0.7)

    Two nodes that only prefer different labels are both undetermined:

    >>> repulsive = [[[1.0, 0.0], [0.0, 1.0]]]
    >>> graph_cut([[0.0, 0.0], [0.0, 0.0]], [[0, 1]], repulsive, roof_duality=True)
    (array([-1, -1], dtype=int32), 0.0)
    """
    roof_duality = flag(roof_duality, "roof_duality")
    node = checked_node_costs(node_costs, 2)
    edges = checked_simple_edges(edges, len(node))
    E = len(edges)
    costs = checked_edge_tables(edge_costs, E, "edge_costs")
    costs = costs.reshape(E, costs.size // E if E else 1)
    check_finite(costs, "edge_costs")
    if costs.shape[1] == 1 and E and costs.min() < 0:
        e = int((costs[:, 0] < 0).argmax())
        raise ValueError(
            f"edge_costs[{e}] = {costs[e, 0]:g} of edge {tuple(edges[e].tolist())}: expected a cost "
            ">= 0 of different labels; for a repulsive edge, pass costs (n_edges, 2, 2) and "
            "roof_duality=True")
    node = with_finite_costs(
        node, edges, costs[:, 0] if costs.shape[1] == 1 else np.ptp(costs, axis=1))
    if costs.shape[1] == 1 and not roof_duality:
        return potts_cut(node, edges, costs)
    if costs.shape[1] == 1:
        costs = costs * np.array([0.0, 1.0, 1.0, 0.0])
    cdef const double[:, ::1] of_node = node, of_edge = costs
    cdef const int32_t[:, ::1] pairs = edges
    cdef Py_ssize_t V = node.shape[0], n_edges = E
    cdef bint partial = roof_duality
    cdef double value = 0, work = 0
    cdef BinaryEnergy energy = BinaryEnergy()
    labels = np.empty(V, dtype=np.int32)
    cdef int32_t[::1] out = labels
    with nogil:
        energy.set_graph(V, n_edges, &pairs[0, 0] if n_edges else NULL)
        memcpy(energy.node, &of_node[0, 0], 2 * V * sizeof(double))
        if n_edges:
            memcpy(energy.edge, &of_edge[0, 0], 4 * n_edges * sizeof(double))
        if partial:
            energy.roof_duality(&out[0], &value, &work)
        else:
            energy.minimize(&out[0], &work)
            value = energy.value(&out[0])
    return labels, value
