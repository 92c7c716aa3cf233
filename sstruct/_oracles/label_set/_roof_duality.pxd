from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.cut._maxflow cimport MaxFlow


cdef class RelaxedLabels(Storage):
    # maximized: constant + sum_k node[k] q_k + sum_e interaction[e] q_e(1, 1)
    cdef double* node             # (n_labels,)   IN
    cdef double* interaction      # (n_edges,)    IN
    cdef double constant          # IN
    cdef Py_ssize_t n_labels, n_edges
    cdef int32_t* edges           # (n_edges, 2)
    cdef int32_t* first           # (n_labels + 1,) edges of a label: arc[first[k]] ...
    cdef int32_t* arc             # (2 n_edges,)
    cdef MaxFlow cut
    # results of the last call
    cdef double* score            # (n_labels,) score of a label, given the labels fixed by dominance
    cdef double* middle           # (n_labels,) its mean over the other labels
    cdef double* reach            # (n_labels,) maximal deviation from the mean
    cdef int32_t* place           # (n_labels,) node of the cut
    cdef int32_t* twin            # (n_labels,) node of the complement; -1 if there is none
    cdef int32_t* flip            # (n_labels,) whether the label is complemented in the cut
    cdef int32_t* queue           # (n_labels,)
    cdef int32_t* cut_edges       # (2 n_edges, 2)
    cdef double* cut_weight       # (2 n_edges,)
    cdef Py_ssize_t n_open        # number of labels that dominance left undecided

    cdef int set_graph(
        self, Py_ssize_t n_labels, Py_ssize_t n_edges, const int32_t* edges) except -1 nogil
    cdef void load(
        self, const double* node_scores, const double* edge_scores, bint tables) noexcept nogil
    cdef int maximize(self, int32_t* code, double* value, double* work) except -1 nogil
    cdef int maximize_again(
        self, bint again, int32_t* code, double* value, double* work) except -1 nogil
    cdef void write_bits(self, int32_t* code) noexcept nogil
    cdef void read_sides(self, int32_t* code) noexcept nogil
    cdef double value(self, const int32_t* code) noexcept nogil
    cdef void fix(self, int32_t* code, double* work) noexcept nogil
    cdef Py_ssize_t split(self, const int32_t* code) noexcept nogil
    cdef int cut_rest(self, Py_ssize_t n_nodes, int32_t* code, double* work) except -1 nogil
    cdef int reserve(self, Py_ssize_t n_labels, Py_ssize_t n_edges) except -1 nogil


cdef int load_problem(RelaxedLabels relaxed, node_scores, edges, edge_scores) except -1
