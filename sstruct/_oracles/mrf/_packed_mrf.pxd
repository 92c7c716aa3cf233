# The costs of a model, the input of message passing, local search and other decoders of models.
from libc.stdint cimport int8_t, int32_t, int64_t

# Used instead of +inf when sums are compared, so that fewer forbidden terms are better than more.
cdef double FORBIDDEN

cdef enum TableForm:        # the codes of MRF.table_form
    TABLE, POTTS, LINEAR, QUADRATIC


cdef struct MRFCosts:       # the arrays of sstruct.inference.MRF
    Py_ssize_t n_nodes, n_edges, n_factors, max_labels
    const int32_t* n_labels
    const int64_t* node_start
    const double* node_costs
    const int32_t* edges
    const double* weights
    const int32_t* edge_table
    const int64_t* table_start
    const double* tables
    const int8_t* table_form
    const double* table_parameters
    const int64_t* factor_start
    const int32_t* factor_nodes
    const int32_t* factor_table
    const int64_t* factor_table_start
    const double* factor_tables


cdef class PackedMRF:
    cdef MRFCosts costs
    cdef object model                          # keeps the arrays
    cdef const int32_t[::1] arc_first, arc, factor_first, factor_arc
    cdef double[::1] scratch
    cdef int32_t[::1] place, site

    cdef double edge_cost(self, Py_ssize_t e, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef void add_edge_costs(
        self, Py_ssize_t e, Py_ssize_t v, Py_ssize_t label, double* out) noexcept nogil
    cdef int send(
        self, Py_ssize_t e, Py_ssize_t v, const double* source, double* out) except -1 nogil
    cdef void conditional(
        self, Py_ssize_t v, Py_ssize_t without, const int32_t* labels, double* out) noexcept nogil
    cdef double visit_work(self, Py_ssize_t v) noexcept nogil
    cdef double energy(self, const int32_t* labels) noexcept nogil
