from libc.stdint cimport int32_t


cdef class MaxFlow:
    cdef void* workspace          # sstruct_flow of maxflow.h, which is private to _maxflow.pyx
    cdef Py_ssize_t n_nodes, n_edges
    cdef double* terminal         # (n_nodes,) > 0: capacity from the source, < 0: minus that to the sink
    cdef double* capacity         # (n_edges, 2) capacities of u -> v and v -> u, nonnegative

    cdef int set_graph(
        self, Py_ssize_t n_nodes, Py_ssize_t n_edges, const int32_t* edges) except -1 nogil
    cdef int set_grid(self, Py_ssize_t height, Py_ssize_t width, int connectivity) except -1 nogil
    cdef int solve(self, double* flow, double* work) except -1 nogil
    cdef int solve_again(self, double* work) except -1 nogil
    cdef bint on_sink_side(self, Py_ssize_t node) noexcept nogil
    cdef void add_flows(self, double* flow) noexcept nogil
    cdef void sides(self, int32_t* side) noexcept nogil
    cdef void ready(self) noexcept nogil
