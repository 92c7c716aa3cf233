# Design:
# (a) Score of the labels a and b of two neighbors, where f are the features of their edge:
#         fixed     -strength [a != b]                no weights
#         potts     w [a != b]                        w (1,)
#         contrast  <w, f> [a != b]                   w (G,)
#         full      (w[a, b] + w[b, a]) / 2           w (K, K)
#         directed  sum_g f_g w[g, a, b]              w (G, K, K)
# (b) It is implemented three times: as a number (`score`), as costs for a decoder, which minimizes
#     (`price`), and as its adjoint (`add`). Edges are rows of `features`; the caller knows their ends.
# (c) Weights are a pointer to the pairwise part of the caller's weight vector.
"""Pairwise models of graphs."""

from libc.stdint cimport int32_t

from sstruct._oracles.core._graph_costs cimport GraphCosts

import numpy as np

from sstruct._problems.graph.graph_arguments import PAIRWISE, WITH_FEATURES, check_edge_features, edge_shape


cdef class PairwiseModel:
    """A pairwise model with its edge features.

    Parameters
    ----------
    name : {"fixed", "potts", "contrast", "full", "directed"}
    n_labels : int
        K.
    features : array-like of shape (n_rows, G), optional
        Edge features, for ``"contrast"`` (nonnegative) and ``"directed"``; contiguous float64 arrays
        are not copied.
    strength : float
        Nonnegative cost of two neighbors with different labels; for ``"fixed"``.

    Attributes
    ----------
    shape : tuple
        Shape of the weights, () if there are none.
    n_weights : int
    """

    def __init__(self, name, n_labels, features=None, double strength=0.0):
        features = check_edge_features(name, features)
        if n_labels < 1:
            raise ValueError(f"n_labels must be at least 1, found {n_labels}")
        if not (np.isfinite(strength) and strength >= 0):
            raise ValueError(f"strength must be finite and nonnegative, found {strength}")
        self.name, self.kind = name, PAIRWISE.index(name)
        self.n_labels, self.strength = n_labels, strength
        self.n_rows, self.n_features = features.shape
        # Never empty, so that its address exists.
        self.features = features if len(features) else np.zeros((1, self.n_features))
        self.shape = edge_shape(name, n_labels, self.n_features)
        self.n_weights = int(np.prod(self.shape)) if self.shape else 0
        n_tables = {FULL: 1, DIRECTED: self.n_features}.get(self.kind, 0)
        self.table = np.empty(max(n_tables * self.n_labels**2, 1))
        self.weight = np.ones(1)

    def fork(self):
        """Return the same model with separate scratch memory, for another thread."""
        # The features have already been validated.
        cdef PairwiseModel other = PairwiseModel(
            self.name, self.n_labels, np.zeros((1, self.n_features)), self.strength)
        other.features, other.n_rows = self.features, self.n_rows
        return other

    @property
    def has_features(self):
        """Whether each edge has its own features."""
        return self.name in WITH_FEATURES

    cdef int reserve(self, Py_ssize_t n_edges) except -1:
        """Allocate memory for the costs of `n_edges` edges."""
        if self.kind != DIRECTED and self.weight.shape[0] < n_edges:
            self.weight = np.ones(n_edges)
        return 0

    cdef void price(
            self, Py_ssize_t first, Py_ssize_t n_edges, const double* w,
            GraphCosts* costs) noexcept nogil:
        """Set the edge costs to minus the scores of the edges that start at row `first`."""
        cdef Py_ssize_t e, g, a, b, K = self.n_labels, G = self.n_features
        cdef const double* feature = &self.features[0, 0] + G * first
        cdef double* weight = &self.weight[0]
        cdef double* table = &self.table[0]
        cdef double value
        costs.n_features, costs.edge_weights, costs.tables = 1, weight, NULL
        if self.kind == CONTRAST:
            for e in range(n_edges):
                value = 0
                for g in range(G):
                    value -= w[g] * feature[e * G + g]
                weight[e] = value
        elif self.kind == FULL:
            costs.tables = table     # every edge has weight 1, set at the start
            for a in range(K):
                for b in range(K):
                    table[a * K + b] = -0.5 * (w[a * K + b] + w[b * K + a])
        elif self.kind == DIRECTED:
            costs.tables, costs.n_features, costs.edge_weights = table, G, feature
            for a in range(G * K * K):
                table[a] = -w[a]
        else:
            value = self.strength if self.kind == FIXED else -w[0]
            for e in range(n_edges):
                weight[e] = value

    cdef double score(
            self, Py_ssize_t row, int32_t a, int32_t b, const double* w) noexcept nogil:
        """Return the score of the labels a and b at the ends of an edge."""
        cdef Py_ssize_t g, K = self.n_labels, G = self.n_features
        cdef const double* feature
        cdef double value = 0
        if self.kind == FULL:
            return 0.5 * (w[a * K + b] + w[b * K + a])
        feature = &self.features[0, 0] + G * row
        if self.kind == DIRECTED:
            for g in range(G):
                value += feature[g] * w[(g * K + a) * K + b]
        elif a != b:
            if self.kind == FIXED:
                value = -self.strength
            elif self.kind == POTTS:
                value = w[0]
            else:
                for g in range(G):
                    value += feature[g] * w[g]
        return value

    cdef void add(
            self, Py_ssize_t row, Py_ssize_t u, Py_ssize_t v, const int32_t** codes,
            const double* coefficient, Py_ssize_t count, double* out) noexcept nogil:
        """Add sum_k coefficient_k times the indicator of one edge u, v to `out`: adjoint of `score`."""
        cdef Py_ssize_t k, g, K = self.n_labels, G = self.n_features
        cdef const double* feature = &self.features[0, 0] + G * row
        cdef int32_t a, b
        cdef bint first = codes[0][u] != codes[0][v]
        cdef double change = 0
        for k in range(count):
            a, b = codes[k][u], codes[k][v]
            if self.kind == FULL:
                out[a * K + b] += 0.5 * coefficient[k]
                out[b * K + a] += 0.5 * coefficient[k]
            elif self.kind == DIRECTED:
                for g in range(G):
                    out[(g * K + a) * K + b] += feature[g] * coefficient[k]
            elif (a != b) != first:    # relative to the first, since the coefficients sum to zero
                change += coefficient[k] if a != b else -coefficient[k]
        if self.kind == POTTS:
            out[0] += change
        elif self.kind == CONTRAST and change != 0:
            for g in range(G):
                out[g] += change * feature[g]
