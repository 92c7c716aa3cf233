"""Constraints of graphs with several types of nodes as hard terms of decoders."""

import numpy as np

from sstruct._estimators.graph.graph_training import rows_of
from sstruct._estimators.graph.typed_constraints import (
    COUNT,
    EXCLUDES,
    IMPLIES,
    N_COLUMNS,
    TypedConstraint,
    directed_edges,
)
from sstruct._oracles.core._hard_terms import GraphConstraints
from sstruct.inference._methods._exact_decoder import LARGEST


def hard_terms(rows, graphs, types, samples, used=None, codes=None, known=None):
    """Return the GraphConstraints of graphs.

    Parameters
    ----------
    rows : ndarray
        Result of `typed_constraint_rows`.
    graphs : Graphs
        With label_counts, and at least one node each.
    types : ndarray of int of shape (n_nodes,)
        Type of each node.
    samples : ndarray of int
        Index of each graph in X.
    used : ndarray of bool of shape (n_nodes,), optional
        Other nodes may have any labels: constraints must hold for some labels of these nodes.
    codes : ndarray of int of shape (n_nodes,), optional
        Labels that satisfy the constraints.
    known : ndarray of int of shape (n_nodes,), optional
        The only label that each node may have; -1 for any label.
    """
    constraints = [TypedConstraint(row) for row in rows]
    K, tables = rows.shape[1] - N_COLUMNS, _Tables()
    pairs, parts = _pair_tables(constraints, tables), []
    used = np.ones(len(types), dtype=bool) if used is None else used
    for i in range(len(graphs.length)):
        at = slice(graphs.start[i], graphs.start[i] + graphs.length[i])
        terms = _GraphTerms(tables, graphs.label_counts[at], K, used[at], samples[i])
        if known is not None:
            own = known[at, np.newaxis]
            terms.is_forbidden |= (own >= 0) & (own != np.arange(K))
        edges = graphs.edges[graphs.edge_start[i] : graphs.edge_start[i] + graphs.n_edges[i]]
        edges = edges[used[at][edges].all(axis=1)]
        own = types[at]
        terms.edge_table = [pairs.get(pair, -1) for pair in map(tuple, own[edges].tolist())]
        for constraint in constraints:
            if not constraint.along_edges:
                terms.add_of_nodes(constraint, own)
            elif constraint.kind == COUNT:
                u, v = directed_edges(graphs, types, constraint.types, slice(i, i + 1))
                u, v = u - graphs.start[i], v - graphs.start[i]
                order = np.argsort(u, kind="stable")
                ends = np.flatnonzero(np.diff(u[order])) + 1
                for neighbors in np.split(v[order], ends) if len(u) else ():
                    terms.add_count(constraint, neighbors)
        parts.append(terms)
    counters = [(i, *counter) for i, terms in enumerate(parts) for counter in terms.counters]
    if codes is not None:
        own = rows_of(graphs.start, graphs.length)
        codes = codes[own][used[own]]
    return GraphConstraints(
        np.concatenate([terms.is_forbidden for terms in parts]),
        [table for terms in parts for table in terms.edge_table],
        [size for terms in parts for size in terms.n_states],
        [link for terms in parts for link in terms.ends],
        [table for terms in parts for table in terms.link_table],
        tables.tables,
        [terms.sizes() for terms in parts],
        samples,
        counters,
        [wanted for terms in parts for wanted in terms.wanted],
        codes,
    )


class _Tables:
    """The distinct tables of forbidden pairs, and the distinct counters."""

    def __init__(self):
        self.tables, self._index, self._chains = [], {}, {}

    def index(self, table):
        key = table.shape, table.tobytes()
        if key not in self._index:
            self._index[key] = len(self.tables)
            self.tables.append(table)
        return self._index[key]

    def chain(self, n, wanted, least, most):
        """Return the auxiliary nodes of a counter, and the counts of the states of the last one.

        An auxiliary node is (number of states, table of the link to the node before, table of the
        link to its own node). A state combines the count before the own node with whether this node
        has a wanted label. If `most` is n, counts of max(1, `least`) or more are not distinguished.
        """
        key = n, least, most, wanted.tobytes()
        if key in self._chains:
            return self._chains[key]
        cap = most if most < n else max(least, 1)
        out, number = [], np.minimum(wanted, cap)
        for j in range(1, n):
            before, is_on = np.divmod(np.arange(2 * min(j, cap) + 2), 2)
            after = before + is_on
            kept = after >= least - (n - 1 - j)
            if most < n:
                kept &= after <= most
            before, is_on, after = before[kept], is_on[kept], np.minimum(after[kept], cap)
            links = number[:, np.newaxis] != before, wanted[:, np.newaxis] != is_on
            out.append((len(before), *map(self.index, links)))
            number = after
        self._chains[key] = out, number
        return out, number


def _pair_tables(constraints, tables):
    """Return the index of the table of edges that join two types, by pair of types."""
    forbidden = {}
    for constraint in constraints:
        if not constraint.along_edges or constraint.kind == COUNT:
            continue
        t, u = constraint.types
        second = constraint.second if constraint.kind == EXCLUDES else ~constraint.second
        own = np.outer(constraint.first, second)
        for pair, table in {(u, t): own.T, (t, u): own}.items():  # only `own` if t == u
            forbidden[pair] = forbidden.get(pair, False) | table
    return {pair: tables.index(table) for pair, table in forbidden.items()}


class _GraphTerms:
    """The hard terms of one graph, to which constraints are added.

    The arguments of public methods and of `_used` number all nodes of the graph. Attributes and the
    arguments of other methods number only the nodes that are used.
    """

    def __init__(self, tables, label_counts, K, used, sample):
        self.tables, self.used, self.place = tables, used, np.cumsum(used) - 1
        self.sample, self.n_entries = sample, 0
        self.is_forbidden = np.arange(K) >= label_counts[used, np.newaxis]
        self.edge_table, self.n_states, self.ends, self.link_table = [], [], [], []
        self.counters, self.wanted = [], []

    def sizes(self):
        """Return the numbers of nodes, edges, auxiliary nodes and links."""
        lists = self.edge_table, self.n_states, self.ends
        return [len(self.is_forbidden), *map(len, lists)]

    def add_of_nodes(self, constraint, types):
        """Add a constraint of all nodes of one or two types."""
        first_nodes, second_nodes = (np.flatnonzero(types == t) for t in constraint.types)
        if constraint.kind == COUNT:
            self.add_count(constraint, first_nodes)
        elif constraint.kind == IMPLIES:
            if self.used[second_nodes].all():
                self._add_implication(constraint, self._used(first_nodes), self._used(second_nodes))
        else:
            self._add_exclusion(constraint, self._used(first_nodes), self._used(second_nodes))

    def _used(self, nodes):
        """Return the nodes that are used, among these nodes, numbered among all used nodes."""
        return self.place[nodes[self.used[nodes]]]

    def add_count(self, constraint, nodes):
        """Bound the number of nodes with one of the labels; has no effect without nodes."""
        own = self._used(nodes)
        n, n_free = len(own), len(nodes) - len(own)
        least = max(constraint.least - n_free, 0)
        most = n if constraint.most < 0 else min(constraint.most, n)
        wanted = constraint.first
        if least > most:
            self.is_forbidden[own[:1]] = True
        elif most < n and most == 0:
            self.is_forbidden[own] |= wanted
        elif least > 0 and least == n:
            self.is_forbidden[own] |= ~wanted
        elif least > 0 or most < n:
            # Counting the other labels may require fewer states.
            if (most if most < n else least) > (n - least if least > 0 else n - most):
                wanted, least, most = ~wanted, n - most, n - least
            self.counters.append((len(self.ends), n, least, most))
            self.wanted.append(wanted)
            self._count(own, wanted, least, most)

    def _add_node(self, n_states, links):
        """Add an auxiliary node that is joined to earlier nodes; return it.

        links : list of (node, index of a table (labels of the node, n_states))
        """
        v = len(self.is_forbidden) + len(self.n_states)
        self.n_states.append(n_states)
        self.ends += [(u, v) for u, _ in links]
        self.link_table += [table for _, table in links]
        return v

    def _count(self, nodes, wanted, least, most):
        """Count nodes with wanted labels; return the last auxiliary node and its counts."""
        n = len(nodes)
        cap = most if most < n else max(least, 1)
        # Checked before tables are created, most of which have (2 cap + 2)^2 entries.
        self.n_entries += 4 * n * (cap + 1) ** 2
        if self.n_entries > LARGEST:
            raise ValueError(
                f"the constraints of X[{self.sample}] require about {self.n_entries} table "
                f"entries, expected at most {LARGEST}; use smaller bounds on numbers of nodes, or "
                "smaller graphs"
            )
        chain, number = self.tables.chain(n, wanted, least, most)
        last = int(nodes[0])
        for (n_states, before, own), v in zip(chain, nodes[1:].tolist()):
            last = self._add_node(n_states, [(last, before), (v, own)])
        return last, number

    def _add_implication(self, constraint, nodes, others):
        """If a node has the first label, one of the others must have the second one."""
        if len(others) < 2:
            self_only = len(others) == 1 and constraint.types[0] == constraint.types[1]
            if len(others) == 0 or self_only:
                self.is_forbidden[nodes] |= constraint.first
                return
        last, number = self._count(others, constraint.second, 0, len(others))
        # State 0: no node has the first label; 1: one of the others has the second one.
        links = [(last, self._star(number < 0, number == 0))]
        star = self._star(constraint.first, np.zeros_like(constraint.first))
        self._add_node(2, links + [(v, star) for v in nodes.tolist()])

    def _add_exclusion(self, constraint, nodes, others):
        """If a node has the first label, none of the others may have the second one."""
        # State 0: no node has the first label; 1: none of the others has the second one.
        none = np.zeros_like(constraint.first)
        first, second = constraint.first, constraint.second
        if constraint.types[0] == constraint.types[1]:
            links = [(v, self._star(first, second)) for v in nodes.tolist()]
        else:
            links = [(v, self._star(first, none)) for v in nodes.tolist()]
            links += [(v, self._star(none, second)) for v in others.tolist()]
        if len(nodes) and len(others):
            self._add_node(2, links)

    def _star(self, *forbidden):
        """Return the index of the table of labels that each of two states forbids."""
        return self.tables.index(np.stack(forbidden, axis=1))
