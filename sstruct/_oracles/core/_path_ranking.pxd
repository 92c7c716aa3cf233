from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage


# One way to reach a node: a way to reach one of its inputs, which it extends.
cdef struct Way:
    double value
    Py_ssize_t before                # way to reach the input, or -1
    Py_ssize_t node
    Py_ssize_t next                  # the next best way to reach the same node, or -1


cdef class PathRanking(Storage):
    cdef Py_ssize_t L                # length of a code
    cdef Py_ssize_t end              # the final node
    cdef Way* ways
    cdef Py_ssize_t n_ways, way_room
    cdef Py_ssize_t* last            # worst known way to reach each node
    cdef Py_ssize_t* front           # position of each node's front, or -1
    cdef Py_ssize_t* front_size      # of each node
    cdef double* front_value         # of the next way through each input; its offset; the input's way
    cdef double* front_offset
    cdef Py_ssize_t* front_way
    cdef Py_ssize_t front_stop, front_room
    cdef Py_ssize_t* path

    cdef int add_inputs(self, Py_ssize_t node) except -1 nogil
    cdef double own_score(self, Py_ssize_t node) noexcept nogil
    cdef double write_code(self, Py_ssize_t way, int32_t* code) except? -1 nogil
    cdef int begin(self, Py_ssize_t n_nodes, Py_ssize_t longest) except -1 nogil
    cdef Py_ssize_t find(self, Py_ssize_t k) except -1 nogil
    cdef bint advance(self) except -1 nogil
    cdef int find_next(self, Py_ssize_t node) except -1 nogil
    cdef Py_ssize_t open_front(self, Py_ssize_t node) except -1 nogil
    cdef int reserve_front(self, Py_ssize_t count) except -1 nogil


cdef inline void add_input(PathRanking ranking, Py_ssize_t node, double offset) noexcept nogil:
    """Append an input with its best way to the last front, after `reserve_front`."""
    cdef Py_ssize_t at = ranking.front_stop
    ranking.front_value[at] = ranking.ways[node].value + offset
    ranking.front_offset[at], ranking.front_way[at] = offset, node
    ranking.front_stop += 1
