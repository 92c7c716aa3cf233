"""Where the weights of graphs with several types of nodes are, in those of a GraphProblem."""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from sstruct._problems.core._rows import padded_labels

# Design: nodes of all types are rows of one matrix, whose columns are a type's own: those of its
# features and, for its biases, one of ones. Labels are numbered type by type from 0, so that K is
# that of the largest set, and a node may have the first ones. Edge features have columns for each
# pair of types. What is left is a GraphProblem with "directed" edges and no bias of its own, in
# which weights that no type has stay 0: nothing is ever added to them.


@dataclass(frozen=True)
class TypedLayout:
    """The sizes of a model of T types of nodes.

    Attributes
    ----------
    n_features : tuple of int
        Of the nodes of each type.
    n_labels : tuple of int
        Of each type.
    pairs : tuple of (int, int, int)
        The pairs of types that edges join, in order: the type of an edge's first node, of its
        second, and how many features such edges have.
    bias : bool
    """

    n_features: tuple
    n_labels: tuple
    pairs: tuple
    bias: bool

    @property
    def n_types(self):
        return len(self.n_features)

    @cached_property
    def K(self):
        return max(self.n_labels)

    @cached_property
    def first_column(self):
        """First column of each type's features, and that of the ones."""
        return tuple(accumulate(self.n_features, initial=0))

    @cached_property
    def first_edge_column(self):
        """First column of the edge features of each pair, and their number."""
        return tuple(accumulate((G for _, _, G in self.pairs), initial=0))

    @property
    def n_columns(self):
        return self.first_column[-1] + self.bias * self.n_types

    @property
    def n_weights(self):
        return self.n_columns * padded_labels(self.K) + self.first_edge_column[-1] * self.K**2

    def weight_views(self, w):
        """Name the parts of a weight vector, without a copy.

        Returns
        -------
        dict
            ``coef_t`` (K_t, F_t) of each type, ``intercept_t`` (K_t,) where there are biases, and
            ``edge_t_u`` (G_tu, K_t, K_u) of each pair, in the order of the public vector.
        """
        n_rows = self.n_columns * padded_labels(self.K)
        rows = np.reshape(w[:n_rows], (self.n_columns, -1))
        tables = np.reshape(w[n_rows:], (-1, self.K, self.K))
        first, views = self.first_column, {}
        for t, K in enumerate(self.n_labels):
            views[f"coef_{t}"] = rows[first[t] : first[t + 1], :K].T
        for t, K in enumerate(self.n_labels if self.bias else ()):
            views[f"intercept_{t}"] = rows[first[-1] + t, :K]
        for (t, u, G), at in zip(self.pairs, self.first_edge_column):
            views[f"edge_{t}_{u}"] = tables[at : at + G, : self.n_labels[t], : self.n_labels[u]]
        return views
