from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.cut._maxflow cimport MaxFlow


cdef class BinaryEnergy(Storage):
    # minimized: sum_v node[v, x_v] + sum_e edge[e, 2 x_u + x_v]
    cdef double* node             # (n_nodes, 2)
    cdef double* edge             # (n_edges, 4) costs 00, 01, 10, 11
    cdef Py_ssize_t n_nodes, n_edges
    cdef MaxFlow cut              # on the graph itself
    cdef MaxFlow doubled          # on the nodes and their complements
    cdef int32_t* edges           # (n_edges, 2)
    cdef int32_t* doubled_edges   # (2 n_edges, 2)

    cdef int set_graph(
        self, Py_ssize_t n_nodes, Py_ssize_t n_edges, const int32_t* edges) except -1 nogil
    cdef int minimize(self, int32_t* labels, double* work) except -1 nogil
    cdef int roof_duality(self, int32_t* labels, double* bound, double* work) except -1 nogil
    cdef double value(self, const int32_t* labels) noexcept nogil
    cdef int reserve(self, Py_ssize_t n_nodes, Py_ssize_t n_edges) except -1 nogil
