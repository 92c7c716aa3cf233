from libc.stdint cimport int32_t, int64_t


# Rows of float32 or float64 scores, with any steps between them.
cdef struct ScoreRows:
    const char* data
    Py_ssize_t n_rows
    Py_ssize_t row_step             # bytes between rows
    Py_ssize_t column_step
    bint single


# The allowed transitions by their second label; row indices ascend in each column.
cdef struct StoredTransitions:
    const int64_t* indptr           # (K + 1,)
    const int32_t* indices
    const double* values


cdef class ChainTerms:
    cdef readonly Py_ssize_t n_labels
    cdef readonly Py_ssize_t n_tables        # 0: transitions are stored
    cdef Py_ssize_t KP, edge_step
    cdef const double* edge                  # n_tables x K x KP, or NULL
    cdef const double* bounds                # 3 KP bounds of one table, or NULL
    cdef StoredTransitions stored
    cdef const double* start                 # KP each
    cdef const double* end
    cdef tuple owners                        # the arrays that the pointers refer to

    cdef int load(
        self, const ScoreRows* rows, Py_ssize_t first, Py_ssize_t count, double* theta,
        str name) except -1 nogil


cdef ScoreRows rows_of(scores)

cdef bint load_rows(
    const ScoreRows* rows, Py_ssize_t first, Py_ssize_t count, Py_ssize_t K, Py_ssize_t KP,
    double* out) noexcept nogil

cdef int stored_forward(
    const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP,
    const StoredTransitions* stored, Py_ssize_t begin, double* best, int32_t* origin) except -1 nogil
