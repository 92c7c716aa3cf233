"""Accumulation of the terms of an MRF, for readers and converters of models."""

import numpy as np


class TermList:
    """Accumulate terms, and return them as arguments of MRF.

    The scope of a term is the tuple of its nodes. Terms of the same node or pair are added up.
    Terms without nodes are added to node 0. Equal tables of pairs and larger scopes are stored
    once.

    Parameters
    ----------
    n_labels : list of int
        Number of labels of each node.
    """

    def __init__(self, n_labels):
        self.n_labels = n_labels
        self.node, self.pairs, self.factors, self.known = {}, {}, [], {}

    def has_pair(self, scope):
        """Return True if the scope is a pair of nodes that has a table, in either order."""
        return scope in self.pairs or scope[::-1] in self.pairs

    def add(self, scope, costs):
        """Add a term; its nodes must be different, and `costs` must have an axis for each node."""
        if len(scope) <= 1:
            v = scope[0] if scope else 0
            self.node[v] = self.node.get(v, 0.0) + costs
        elif len(scope) == 2:
            if scope[::-1] in self.pairs:
                scope, costs = scope[::-1], np.ascontiguousarray(costs.T)
            is_known = scope in self.pairs
            self.pairs[scope] = self.pairs[scope] + costs if is_known else self._stored(costs)
        else:
            self.factors.append((scope, self._stored(costs)))

    def _stored(self, table):
        """Return the same array object for equal arrays."""
        key = (table.shape, hash(table.tobytes()))
        found = self.known.setdefault(key, table)
        return found if np.array_equal(found, table) else table

    def arguments(self):
        """Return node_costs, edges, edge_costs, weights and factors of the MRF."""
        costs = [np.zeros(count) + self.node.get(v, 0.0) for v, count in enumerate(self.n_labels)]
        return costs, list(self.pairs), list(self.pairs.values()), None, self.factors
