# The costs of the labelings of a graph, the input of all graph and grid decoders.
from libc.stdint cimport int32_t


cdef struct GraphCosts:
    # Minimized: sum_v node_costs[v, y_v] + sum_e cost_e(y_u, y_v), e = (u, v).
    Py_ssize_t n_nodes, n_labels, n_edges
    Py_ssize_t stride               # row stride of node_costs, >= n_labels (rows are padded)
    const double* node_costs        # (n_nodes, stride)
    const int32_t* edges            # (n_edges, 2)
    Py_ssize_t n_features           # G
    const double* edge_weights      # (n_edges, G)
    const double* tables            # (G, K, K); NULL: Potts (G = 1)
    Py_ssize_t height, width        # size of a grid whose edges have the order of _maxflow.pxd
    int connectivity                # 4 or 8; 0 for a general graph


cdef struct GraphAnswer:
    double cost                     # cost of the labels
    double work                     # units of about one scalar multiply-add
    bint exact                      # True if the labels are known to be a minimum
    double bound                    # lower bound on all costs; set by `bounded` decoders if not exact


cdef inline double edge_cost(
        const GraphCosts* costs, Py_ssize_t e, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    """Return the cost of edge e with label a at its first and b at its second node.

    sum_g edge_weights[e, g] tables[g, a, b]; Potts: edge_weights[e] [a != b].
    """
    cdef Py_ssize_t g, K = costs.n_labels
    cdef const double* weight = costs.edge_weights + e * costs.n_features
    cdef double cost = 0
    if costs.tables == NULL:
        return weight[0] if a != b else 0
    for g in range(costs.n_features):
        cost += weight[g] * costs.tables[(g * K + a) * K + b]
    return cost


cdef inline double labeling_cost(const GraphCosts* costs, const int32_t* labels) noexcept nogil:
    """Return the cost of a labeling."""
    cdef Py_ssize_t v, e
    cdef double cost = 0
    for v in range(costs.n_nodes):
        cost += costs.node_costs[v * costs.stride + labels[v]]
    for e in range(costs.n_edges):
        cost += edge_cost(costs, e, labels[costs.edges[2 * e]], labels[costs.edges[2 * e + 1]])
    return cost


cdef inline const double* edge_table(
        const GraphCosts* costs, Py_ssize_t e, double* weight, double* room) noexcept nogil:
    """Return a table (K, K) that is the table of edge e when multiplied by `weight`; not for Potts.

    `room` (K, K) stores the sum of tables for edges with several nonzero features. If it is NULL, so is
    the result for these edges.
    """
    cdef Py_ssize_t g, i, only = -1, square = costs.n_labels * costs.n_labels
    cdef const double* weights = costs.edge_weights + e * costs.n_features
    cdef const double* table
    for g in range(costs.n_features):
        if weights[g] != 0:
            if only >= 0:
                break
            only = g
    else:
        weight[0] = weights[only] if only >= 0 else 0
        return costs.tables + max(only, 0) * square
    weight[0] = 1
    if room == NULL:
        return NULL
    for i in range(square):
        room[i] = 0
    for g in range(costs.n_features):
        if weights[g] != 0:
            table = costs.tables + g * square
            for i in range(square):
                room[i] += weights[g] * table[i]
    return room
