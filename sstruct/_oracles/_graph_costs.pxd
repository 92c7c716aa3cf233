# The costs of the labels of a graph, which the decoders of graphs minimise. Header only.
from libc.stdint cimport int32_t


cdef struct GraphCosts:
    # sum_v node_costs[v, y_v] + sum_e cost_e(y_u, y_v)
    Py_ssize_t n_nodes, n_labels, n_edges
    Py_ssize_t stride               # of the rows of node_costs, at least n_labels
    const double* node_costs        # (n_nodes, stride)
    const int32_t* edges            # (n_edges, 2)
    Py_ssize_t n_features           # G
    const double* edge_weights      # (n_edges, G)
    # (G, K, K): cost_e(a, b) = sum_g edge_weights[e, g] tables[g, a, b];
    # NULL: Potts, G = 1, cost_e(a, b) = edge_weights[e] [a != b]
    const double* tables
    Py_ssize_t height, width        # of a grid, its edges in the order of `grid_edges`
    int connectivity                # 4 or 8; 0: no grid
