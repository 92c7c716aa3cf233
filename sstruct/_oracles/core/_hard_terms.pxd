# Labels and pairs that the constraints of graphs forbid.
from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.core._graph_costs cimport GraphCosts


cdef struct HardTerms:
    # The constraints of one graph with V nodes, E edges and K labels. Nodes V, V + 1, ... are auxiliary.
    const unsigned char* is_forbidden   # (V, K)
    const int32_t* edge_table           # (E,): index of the table (K, K) of each edge, or -1
    Py_ssize_t n_extra                  # number of auxiliary nodes
    const int32_t* n_states             # (n_extra,): their numbers of labels
    Py_ssize_t n_links                  # number of edges to auxiliary nodes
    const int32_t* ends                 # (n_links, 2): sorted by the second end, which is auxiliary
    const int32_t* link_table           # (n_links,)
    const int64_t* first_entry          # position of each table in `tables`
    const unsigned char* tables         # 1 if the pair of labels is forbidden
    Py_ssize_t n_counters               # number of counters
    const int32_t* counters             # (n_counters, 4): first link, number of nodes, least, most
    const unsigned char* wanted         # (n_counters, K): labels that are counted


cdef class GraphConstraints:
    cdef readonly object arguments
    cdef readonly Py_ssize_t n_graphs, n_labels
    cdef const unsigned char[:, ::1] is_forbidden
    cdef const int32_t[::1] edge_table, n_states, link_table, allowed_labels
    cdef const int32_t[:, ::1] ends, counters
    cdef const int64_t[::1] first_row, first_edge, first_extra, first_link, first_entry, samples
    cdef const int64_t[::1] first_counter
    cdef const unsigned char[::1] tables
    cdef const unsigned char[:, ::1] wanted
    cdef bint has_allowed_labels

    cdef HardTerms of_graph(self, Py_ssize_t i) noexcept nogil
    cdef const int32_t* allowed_of(self, Py_ssize_t i) noexcept nogil


cdef inline Py_ssize_t counted_node(
        const HardTerms* hard, Py_ssize_t c, Py_ssize_t i) noexcept nogil:
    """Return node i that counter c counts."""
    cdef Py_ssize_t first = hard.counters[4 * c]
    return hard.ends[2 * (first + 2 * i - 1) if i else 2 * first]


cdef bint are_allowed(
    const HardTerms* hard, const GraphCosts* costs, const int32_t* labels, int32_t* states) noexcept nogil
