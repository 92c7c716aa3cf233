# Shared by graph decoders: lists of edges by node, and a maximum flow over the edges of a graph.
from libc.stdint cimport int32_t

from sstruct._oracles.core._graph_costs cimport GraphCosts
from sstruct._oracles.cut._maxflow cimport MaxFlow


cdef inline int set_flow(MaxFlow flow, const GraphCosts* costs) except -1 nogil:
    """Set the graph of a flow to the graph of the costs, as a grid if possible."""
    if not costs.connectivity:
        flow.set_graph(costs.n_nodes, costs.n_edges, costs.edges)
        return 0
    flow.set_grid(costs.height, costs.width, costs.connectivity)
    if flow.n_nodes != costs.n_nodes or flow.n_edges != costs.n_edges:
        with gil:
            raise ValueError("the nodes and edges of the costs do not match their grid")
    return 0


cdef inline void list_arcs(const GraphCosts* costs, int32_t* first, int32_t* arc) noexcept nogil:
    """List the edges of each node by counting: those of v are arc[first[v]] ... arc[first[v + 1] - 1].

    first: (n_nodes + 1,), arc: (2 n_edges,)    OUT
    """
    cdef Py_ssize_t i, v
    for v in range(costs.n_nodes + 1):
        first[v] = 0
    for i in range(2 * costs.n_edges):
        first[costs.edges[i]] += 1
    for v in range(costs.n_nodes):
        first[v + 1] += first[v]
    for i in range(2 * costs.n_edges - 1, -1, -1):
        v = costs.edges[i]
        first[v] -= 1
        arc[first[v]] = <int32_t> (i // 2)
