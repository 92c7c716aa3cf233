# The working set of a block: its cached labelings. Frequently called functions are inline.
from libc.stdint cimport int32_t, uint32_t

cdef struct WorkingSet:
    # Entry 0 is the truth and is never removed. All arrays share one allocation, at `alpha`.
    Py_ssize_t size, capacity, code_size
    double spread           # sum_{k<l} alpha_k alpha_l |phi(k) - phi(l)|^2, or -1 if not computed
    double* alpha           # dual weights: nonnegative with sum 1; 0 for labelings that are only cached
    double* loss
    bint has_table          # whether `distance` is used
    double* distance        # |phi(a) - phi(b)|^2, `capacity` per row, or -1 if not computed
    int32_t* last_active    # last pass in which it was the best labeling
    uint32_t* hash
    int32_t* codes          # capacity x code_size


cdef inline int32_t* labeling(const WorkingSet* working_set, Py_ssize_t k) noexcept nogil:
    return working_set.codes + k * working_set.code_size


cdef inline double* distances(const WorkingSet* working_set, Py_ssize_t k) noexcept nogil:
    """Return row k of the table of distances."""
    return working_set.distance + k * working_set.capacity


cdef int working_set_open(
    WorkingSet* working_set, Py_ssize_t code_size, Py_ssize_t capacity,
    bint has_table) except -1 nogil
cdef void working_set_close(WorkingSet* working_set) noexcept nogil
cdef Py_ssize_t working_set_bytes(const WorkingSet* working_set) noexcept nogil
cdef Py_ssize_t find(const WorkingSet* working_set, const int32_t* code) noexcept nogil
cdef Py_ssize_t insert(WorkingSet* working_set, const int32_t* code, double loss) except -1 nogil
cdef void erase(WorkingSet* working_set, Py_ssize_t k) noexcept nogil
