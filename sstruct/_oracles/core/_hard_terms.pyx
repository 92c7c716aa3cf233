# Design:
# (a) Constraints forbid labels of nodes, pairs of labels at edges, and combinations of any number of
#     labels. These combinations are expressed by auxiliary nodes, whose states may be counts, and by edges
#     with forbidden pairs (links) that join them to nodes and to other auxiliary nodes. Decoders of pairwise
#     models support such constraints without further code, and their bounds remain valid.
# (b) An auxiliary node may have more than one possible state, given earlier nodes, only if no later node
#     is joined to it; this is not validated. To check a labeling, the first possible state of each auxiliary
#     node is chosen in order; the labeling is forbidden if and only if an auxiliary node has none.
# (c) Many edges share a few tables. All indices are validated here once.
# (d) A counter bounds the number of nodes with certain labels. Counters are also listed, for decoders that
#     search for their Lagrange multipliers ("prices"). A counter of n nodes has n - 1 auxiliary nodes with
#     two consecutive links each: to the auxiliary node before (the first one: to the first counted node),
#     and to the next counted node.
"""Hard constraints of the labels of graphs."""

from libc.stdint cimport int32_t

import numpy as np

from sstruct._oracles.core.hard_term_arguments import check_counters, check_sizes, check_tables


cdef class GraphConstraints:
    """The constraints of the graphs of a problem, in the order of its blocks.

    Parameters
    ----------
    is_forbidden : array-like of bool of shape (n_rows, K)
        Whether each label is forbidden at each node; the rows are the nodes of all graphs.
    edge_table : array-like of int of shape (n_edges,)
        Index of the table of forbidden pairs, of shape (K, K), of each edge; -1 if it has none.
    n_states : array-like of int
        Number of states of each auxiliary node.
    ends : array-like of int of shape (n_links, 2)
        Edges to auxiliary nodes, which follow the nodes of their graph. The second end is auxiliary and
        after the first one. In each graph, links are sorted by their second ends.
    link_table : array-like of int of shape (n_links,)
        Index of the table of each link.
    tables : list of ndarray of bool
        Forbidden pairs of labels.
    sizes : array-like of int of shape (n_graphs, 4)
        The number of nodes, edges, auxiliary nodes and links of each graph.
    samples : array-like of int of shape (n_graphs,)
        Index of each graph in X, for messages.
    counters : array-like of int of shape (n_counters, 5)
        For each counter, sorted by graph: its graph, the first of its links in the graph, the number
        n >= 2 of counted nodes, and the bounds, 0 to n, on the number that have a wanted label.
    wanted : array-like of bool of shape (n_counters, K)
        The labels that each counter counts.
    allowed_labels : array-like of int of shape (n_rows,), optional
        Labels of all nodes that satisfy the constraints. If None, decoders have to search for them.

    Raises
    ------
    ValueError
        If shapes or indices are not valid, or `allowed_labels` do not satisfy the constraints.
    """

    def __init__(
            self, is_forbidden, edge_table, n_states, ends, link_table, tables, sizes, samples,
            counters=(), wanted=(), allowed_labels=None):
        sizes = np.array(sizes, dtype=np.int64).reshape(-1, 4)
        firsts = np.zeros((4, len(sizes) + 1), dtype=np.int64)
        firsts[:, 1:] = np.cumsum(sizes, axis=0).T
        self.first_row, self.first_edge, self.first_extra, self.first_link = firsts
        is_forbidden = np.array(is_forbidden, dtype=np.uint8, ndmin=2)
        self.n_graphs, self.n_labels = len(sizes), is_forbidden.shape[1]
        edge_table, n_states, link_table = (
            np.array(each, dtype=np.int32) for each in (edge_table, n_states, link_table))
        ends = np.array(ends, dtype=np.int32).reshape(-1, 2)
        shapes = np.array([table.shape for table in tables], dtype=np.int64).reshape(-1, 2)
        check_sizes(sizes, is_forbidden, edge_table, n_states, ends, link_table, samples)
        check_tables(sizes, firsts, self.n_labels, edge_table, n_states, ends, link_table, shapes)
        counters = np.array(counters, dtype=np.int32).reshape(-1, 5)
        wanted = np.array(wanted, dtype=np.uint8).reshape(-1, self.n_labels)
        check_counters(sizes, firsts[3], ends, counters, wanted)
        self.arguments = (
            is_forbidden, edge_table, n_states, ends, link_table, tables, sizes, samples, counters, wanted,
            allowed_labels)
        self.first_counter = np.searchsorted(counters[:, 0], np.arange(len(sizes) + 1))
        # Never empty, so that addresses exist.
        self.is_forbidden = is_forbidden
        self.edge_table, self.n_states, self.link_table = (
            np.append(each, np.int32(0)) for each in (edge_table, n_states, link_table))
        self.ends = np.append(ends, np.zeros((1, 2), dtype=np.int32), axis=0)
        self.counters = np.append(counters[:, 1:], np.zeros((1, 4), dtype=np.int32), axis=0)
        self.wanted = np.append(wanted, np.zeros((1, self.n_labels), dtype=np.uint8), axis=0)
        self.first_entry = np.append(0, np.cumsum(shapes.prod(axis=1))).astype(np.int64)
        flat = [np.asarray(table, dtype=np.uint8).ravel() for table in tables]
        self.tables = np.concatenate([*flat, np.zeros(1, dtype=np.uint8)])
        self.samples = np.array(samples, dtype=np.int64)
        self.has_allowed_labels = allowed_labels is not None
        self.allowed_labels = np.zeros(1, dtype=np.int32)
        if self.has_allowed_labels:
            allowed_labels = np.ascontiguousarray(allowed_labels, dtype=np.int32)
            if allowed_labels.shape != (len(is_forbidden),):
                raise ValueError(
                    f"allowed_labels must have {len(is_forbidden)} entries, found shape "
                    f"{allowed_labels.shape}")
            self.allowed_labels = allowed_labels

    cdef HardTerms of_graph(self, Py_ssize_t i) noexcept nogil:
        """Return the constraints of a graph."""
        cdef HardTerms out
        out.is_forbidden = &self.is_forbidden[self.first_row[i], 0]
        out.edge_table = &self.edge_table[self.first_edge[i]]
        out.n_extra = self.first_extra[i + 1] - self.first_extra[i]
        out.n_states = &self.n_states[self.first_extra[i]]
        out.n_links = self.first_link[i + 1] - self.first_link[i]
        out.ends = &self.ends[self.first_link[i], 0]
        out.link_table = &self.link_table[self.first_link[i]]
        out.first_entry, out.tables = &self.first_entry[0], &self.tables[0]
        out.n_counters = self.first_counter[i + 1] - self.first_counter[i]
        out.counters = &self.counters[self.first_counter[i], 0]
        out.wanted = &self.wanted[self.first_counter[i], 0]
        return out

    cdef const int32_t* allowed_of(self, Py_ssize_t i) noexcept nogil:
        """Return labels of a graph that satisfy the constraints, or NULL."""
        return &self.allowed_labels[self.first_row[i]] if self.has_allowed_labels else NULL

    def n_entries(self):
        """Return the number of table entries of the links of each graph, float64 (n_graphs,)."""
        tables = np.asarray(self.link_table)[:self.first_link[self.n_graphs]]
        entries = np.append(0.0, np.cumsum(np.diff(self.first_entry).astype(np.float64)[tables]))
        return np.diff(entries[np.asarray(self.first_link)])

    def n_multipliers(self):
        """Return the number of multipliers of each graph.

        There is one for each label of each end of an edge or link, followed by the prices of counters.
        """
        sizes, links = self.arguments[6], np.asarray(self.link_table)[:self.first_link[self.n_graphs]]
        shapes = np.array([table.shape for table in self.arguments[5]], dtype=np.int64).reshape(-1, 2)
        of_links = np.append(0, np.cumsum(shapes.sum(axis=1)[links]))
        of_edges = 2 * self.n_labels * sizes[:, 1] + np.diff(of_links[np.asarray(self.first_link)])
        return of_edges + np.diff(self.first_counter)

    def satisfied(self, edges, labels):
        """Return whether labels of all nodes satisfy the constraints of each graph, after validating them.

        Parameters
        ----------
        edges : list of ndarray of shape (E, 2)
            Edges of each graph.
        labels : ndarray of int of shape (n_rows,)

        Returns
        -------
        list of bool
        """
        cdef int32_t[::1] codes = np.ascontiguousarray(labels, dtype=np.int32)
        cdef int32_t[::1] states
        cdef int32_t[:, ::1] own
        cdef GraphCosts costs
        cdef HardTerms hard
        cdef Py_ssize_t i
        if codes.shape[0] != self.first_row[self.n_graphs]:
            raise ValueError(f"expected {self.first_row[self.n_graphs]} labels, found {len(codes)}")
        if codes.shape[0] and (min(codes) < 0 or max(codes) >= self.n_labels):
            raise ValueError(
                f"labels must be between 0 and {self.n_labels - 1}, found {min(codes)} to {max(codes)}")
        out = []
        for i in range(self.n_graphs):
            hard = self.of_graph(i)
            own = np.append(edges[i], [[0, 0]], axis=0).astype(np.int32)
            costs.n_nodes = self.first_row[i + 1] - self.first_row[i]
            costs.n_labels, costs.n_edges = self.n_labels, self.first_edge[i + 1] - self.first_edge[i]
            if own.shape[0] != costs.n_edges + 1 or np.asarray(own).min() < 0 or (
                    np.asarray(own).max() >= costs.n_nodes):
                raise ValueError(
                    f"expected {costs.n_edges} edges of graph {i} between its {costs.n_nodes} nodes")
            costs.edges = &own[0, 0]
            states = np.zeros(hard.n_extra + 1, dtype=np.int32)
            out.append(bool(are_allowed(&hard, &costs, &codes[self.first_row[i]], &states[0])))
        return out


cdef bint are_allowed(
        const HardTerms* hard, const GraphCosts* costs, const int32_t* labels,
        int32_t* states) noexcept nogil:
    """Return whether labels satisfy the constraints; set the states (n_extra,) of auxiliary nodes."""
    cdef Py_ssize_t v, e, k, a, b, s, t, first, after, V = costs.n_nodes, K = costs.n_labels
    cdef const int32_t* table = hard.link_table
    cdef const int32_t* ends = hard.ends
    cdef bint possible
    for v in range(V):
        if hard.is_forbidden[v * K + labels[v]]:
            return False
    for e in range(costs.n_edges):
        if hard.edge_table[e] >= 0:
            a, b = labels[costs.edges[2 * e]], labels[costs.edges[2 * e + 1]]
            if hard.tables[hard.first_entry[hard.edge_table[e]] + a * K + b]:
                return False
    after = 0
    for t in range(hard.n_extra):
        first = after
        while after < hard.n_links and ends[2 * after + 1] == V + t:
            after += 1
        for s in range(hard.n_states[t]):
            possible = True
            for k in range(first, after):
                v = ends[2 * k]
                a = labels[v] if v < V else states[v - V]
                if hard.tables[hard.first_entry[table[k]] + a * hard.n_states[t] + s]:
                    possible = False
                    break
            if possible:
                states[t] = <int32_t> s
                break
        else:
            return False
    return True
