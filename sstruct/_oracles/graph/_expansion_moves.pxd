from libc.stdint cimport int32_t, uint64_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.cut._binary_energy cimport BinaryEnergy
from sstruct._oracles.core._graph_costs cimport GraphAnswer, GraphCosts
from sstruct._oracles.cut._maxflow cimport MaxFlow


cdef struct EdgeTable:
    double weight           # the cost of (a, b) is weight * table[a, b]
    const double* table     # (K, K)


cdef class AlphaExpansion(Storage):
    cdef const GraphCosts* costs
    cdef MaxFlow flow               # for moves by a minimum cut
    cdef BinaryEnergy energy        # for moves by roof duality
    cdef bint is_flow_set, is_energy_set
    cdef EdgeTable* edge            # (n_edges,), unless Potts
    cdef double* sums               # the tables of edges of several features
    cdef double* flows              # (n_labels, n_edges) flow of the last cut of each label; > 0 from u to v
    cdef double* sent               # (n_nodes,) sum of the absolute flows and terminal of a node
    cdef bint keeps_flows
    cdef bint stops_early           # set by the caller: whether to stop after a cycle of little gain
    cdef double gain                # total gain of the moves so far
    cdef int32_t* move              # (n_nodes,) 1: takes the label of the move, 0: not, -1: undetermined
    cdef int32_t* start             # (n_nodes,)
    cdef Py_ssize_t* order          # (n_labels,) order of the labels in a cycle
    cdef Py_ssize_t* tried          # (n_labels,) number of accepted moves when the label was last tried

    cdef int set_costs(self, const GraphCosts* costs) except -1 nogil
    cdef int minimize(
        self, const GraphCosts* costs, uint64_t seed, int32_t* labels, GraphAnswer* answer) except -1 nogil
    cdef int cut(
        self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil
    cdef Py_ssize_t find_cut(
        self, const int32_t* labels, Py_ssize_t alpha, double* work) except -2 nogil
    cdef Py_ssize_t find_move(
        self, const int32_t* labels, Py_ssize_t alpha, double* work) except -2 nogil
    cdef Py_ssize_t fill_cut(self, const int32_t* labels, Py_ssize_t alpha) noexcept nogil
    cdef bint send_again(self, double* flow) noexcept nogil
    cdef void fill_energy(self, const int32_t* labels, Py_ssize_t alpha) noexcept nogil
    cdef bint make_move(self, int32_t* labels, Py_ssize_t alpha) noexcept nogil
    cdef bint binary(self, int32_t* labels, double* work) except -1 nogil
    cdef int forget_flows(self) except -1 nogil
    cdef int reserve(self) except -1 nogil
