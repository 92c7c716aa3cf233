from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.label_set._codes cimport relaxed_code_size
from sstruct._oracles.label_set._roof_duality cimport RelaxedLabels


cdef inline Py_ssize_t mixture_code_size(Py_ssize_t n_labels, Py_ssize_t n_edges) noexcept nogil:
    """Number of int32 entries of a mixture's code: the share as a double, then two codes."""
    return 2 + 2 * relaxed_code_size(n_labels, n_edges)


cdef struct Corner:
    int32_t* code
    double h, g


cdef struct MixtureAnswer:
    double h, g       # values of the mixture
    bint exact        # True if the mixture is optimal up to rounding
    double bound      # upper bound on h + loss_weight g or h g
    bint found        # True if there is a feasible mixture
    double work


cdef class RelaxedPolygon(Storage):
    cdef RelaxedLabels relaxed    # relaxation for the current direction
    cdef double* node             # (n_labels,)   score f
    cdef double* interaction      # (n_edges,)
    cdef double* charge           # (n_labels,)   change of the loss if a label is on
    cdef int32_t* codes           # (3, relaxed_code_size)
    cdef double sign              # sign of the interactions stored in `relaxed`; 0 before the first cut
    cdef bint hard                # dominance left most labels undecided
    cdef bint whole               # the last cut of `relaxed` contained all labels and these interactions
    cdef Corner start, end, other
    cdef double margin, true_score, true_loss
    cdef double score_scale, loss_scale
    cdef Py_ssize_t n_labels, n_edges, size

    cdef int set_graph(
        self, Py_ssize_t n_labels, Py_ssize_t n_edges, const int32_t* edges) except -1 nogil
    cdef void load(
        self, const double* node_scores, const double* edge_scores, bint tables,
        const int32_t* truth, const double* weights, double margin) noexcept nogil
    cdef int support(
        self, double h_weight, double g_weight, Corner* corner, double* work) except -1 nogil
    cdef int between(
        self, double loss_weight, double lower, double upper, int32_t* code,
        MixtureAnswer* answer) except -1 nogil
    cdef int product(self, int32_t* code, MixtureAnswer* answer) except -1 nogil
    cdef int cut_corner(
        self, double h_weight, double g_weight, int32_t* code, double* work) except -1 nogil
    cdef bint beyond(self, double h_weight, double g_weight, double* work) except -1 nogil
    cdef void write(self, double share, int32_t* code, MixtureAnswer* answer) noexcept nogil
    cdef void replace(self, Corner* corner) noexcept nogil
