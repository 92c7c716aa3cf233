from libc.stdint cimport int32_t, int64_t


cdef class MapTerms:
    cdef readonly Py_ssize_t n_terms
    cdef readonly object start, node            # the nodes of term t: node[start[t]:start[t + 1]]
    cdef readonly object work                   # work of one minimization of each term, in multiply-adds

    cdef int minimize(
        self, Py_ssize_t t, const double* costs, const int64_t* label_at, int32_t* labels,
        double* own) except -1 nogil
    cdef int cost(self, Py_ssize_t t, const int32_t* labels, double* own) except -1 nogil
