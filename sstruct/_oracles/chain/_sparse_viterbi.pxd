from libc.stdint cimport int32_t, int64_t


# Stored transition scores by row; all others are 0. Column indices are sorted and unique per row.
cdef struct SparseTransitions:
    Py_ssize_t n_labels
    const int64_t* indptr           # (K + 1,)
    const int32_t* indices
    const double* values
    const double* row_most          # (K,) largest stored score of each row, -inf if it is empty


# Scratch for K labels.
cdef struct SparseScratch:
    int32_t* heap                   # (K,)
    int32_t* order                  # (K,)
    int32_t* free_at                # (K,)


cdef double sparse_viterbi_labels(
    const double* theta, Py_ssize_t L, Py_ssize_t KP, const SparseTransitions* edge,
    Py_ssize_t beam, int32_t* labels, double* best, int32_t* origin,
    SparseScratch* scratch) except? -1 nogil
