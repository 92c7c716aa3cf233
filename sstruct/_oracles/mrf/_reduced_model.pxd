from libc.stdint cimport int8_t, int32_t, int64_t

from sstruct._kernels._storage cimport Storage


cdef class ReducedModel(Storage):
    cdef Py_ssize_t n_nodes, n_edges, n_active, n_eliminated, n_choices
    cdef double bound
    # Nodes, and their labels: those of node v start at first_label[v].
    cdef int32_t* n_labels
    cdef int64_t* first_label
    cdef double* costs
    cdef double* star
    cdef double* scratch
    cdef int8_t* is_gone
    cdef int32_t* labels
    cdef int32_t* best
    cdef int32_t* part
    cdef int32_t* node_from
    cdef int32_t* label_from
    # Edges, with tables and messages of both ends; allocated numbers of edges, entries and messages.
    cdef Py_ssize_t edge_room, entry_room, message_room
    cdef int32_t* ends
    cdef int8_t* edge_gone
    cdef int64_t* first_entry
    cdef double* tables
    cdef double* potts
    cdef int64_t* first_message
    cdef double* messages
    # Arc 2 e + k is edge e at its end k; a list of arcs for each node.
    cdef int32_t* arc_head
    cdef int32_t* arc_next
    cdef int32_t* degree
    cdef int32_t* waiting
    # Eliminated nodes in order, and their best labels for the labels of their neighbors.
    cdef int32_t* eliminated
    cdef int64_t* first_choice
    cdef int32_t* choices

    cdef int reserve(self, Py_ssize_t n_nodes, Py_ssize_t n_labels) except -1 nogil
    cdef int reserve_edge(self, Py_ssize_t u, Py_ssize_t v) except -1 nogil
    cdef int grow_edges(self, Py_ssize_t room) except -1 nogil
    cdef void link(self, Py_ssize_t e) noexcept nogil
    cdef int build(self, ReducedModel parent, Py_ssize_t fixed, Py_ssize_t label,
                   Py_ssize_t part, double most) except -1 nogil
    cdef int simplify(self) except -1 nogil
    cdef int eliminate(self, Py_ssize_t v) except -1 nogil
    cdef void unlink(self, Py_ssize_t e) noexcept nogil
    cdef void complete(self) noexcept nogil
    cdef void hand_over(self, ReducedModel parent) noexcept nogil
    cdef bint sweep(self, bint forward, double* work) noexcept nogil
    cdef double round(self, double* work) noexcept nogil
    cdef double look_ahead(self, double most, double* work) noexcept nogil
    cdef double remove_dominated(self, double* work) noexcept nogil
    cdef Py_ssize_t split(self) noexcept nogil
    cdef double n_entries(self) noexcept nogil
