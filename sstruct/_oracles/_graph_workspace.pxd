# What the decoders of graphs share: room that grows, and a maximum flow over a graph's edges.
from libc.stdlib cimport realloc

from sstruct._oracles._graph_costs cimport GraphCosts
from sstruct._oracles._maxflow cimport MaxFlow


cdef inline int grow(void** items, Py_ssize_t count, size_t size) except -1 nogil:
    """Make room for `count` items of `size` bytes."""
    cdef void* memory = realloc(items[0], <size_t> max(count, 1) * size)
    if memory == NULL:
        with gil:
            raise MemoryError("no memory left for a graph")
    items[0] = memory
    return 0


cdef inline int set_flow(MaxFlow flow, const GraphCosts* costs) except -1 nogil:
    """Give a flow the nodes and edges of the costs, as a grid if they are one."""
    if not costs.connectivity:
        flow.set_graph(costs.n_nodes, costs.n_edges, costs.edges)
        return 0
    flow.set_grid(costs.height, costs.width, costs.connectivity)
    if flow.n_nodes != costs.n_nodes or flow.n_edges != costs.n_edges:
        with gil:
            raise ValueError("the costs' nodes and edges are not those of their grid")
    return 0
