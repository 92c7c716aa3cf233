# Design:
# (a) The active set of pairwise steps, the working set of MP-BCFW and the cache are one structure. A
#     labeling is stored as its code; there is no vector of the size of w.
# (b) One allocation per block, growing by a quarter: for 100,000 short chains the overhead must be
#     smaller than the features. The symmetric table of distances is stored fully, so that a step
#     reads rows.
# (c) The table holds squared distances and not products: a step moves weight between two labelings
#     and needs only their distance, which is computed without cancellation. Problems whose labelings
#     are all equally distant (`n_choices`) have no table.
"""Working sets of cached labelings."""

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy


cdef uint32_t hash_code(const int32_t* code, Py_ssize_t size) noexcept nogil:
    """Return the 64-bit FNV-1a hash over 32-bit words, folded to 32 bits by XOR."""
    cdef uint64_t h = <uint64_t> 0xCBF29CE484222325
    cdef Py_ssize_t k
    for k in range(size):
        h = (h ^ <uint32_t> code[k]) * <uint64_t> 0x100000001B3
    return <uint32_t> (h >> 32) ^ <uint32_t> h


cdef Py_ssize_t working_set_bytes(const WorkingSet* working_set) noexcept nogil:
    cdef Py_ssize_t capacity = working_set.capacity
    return capacity * (
        2 * sizeof(double) + (2 + working_set.code_size) * sizeof(int32_t)
    ) + working_set.has_table * capacity * capacity * sizeof(double)


cdef int allocate(
        WorkingSet* new, Py_ssize_t code_size, Py_ssize_t capacity, bint has_table) except -1 nogil:
    cdef void* memory
    new.capacity = capacity
    new.code_size = code_size
    new.has_table = has_table
    memory = malloc(working_set_bytes(new))
    if memory == NULL:
        with gil:
            raise MemoryError("not enough memory for the working sets")
    new.alpha = <double*> memory
    new.loss = new.alpha + capacity
    new.distance = new.loss + capacity
    new.last_active = <int32_t*> (new.distance + has_table * capacity * capacity)
    new.hash = <uint32_t*> (new.last_active + capacity)
    new.codes = <int32_t*> (new.hash + capacity)
    return 0


cdef int working_set_open(
        WorkingSet* working_set, Py_ssize_t code_size, Py_ssize_t capacity,
        bint has_table) except -1 nogil:
    working_set.size = 0
    working_set.spread = -1
    allocate(working_set, code_size, capacity, has_table)
    return 0


cdef void working_set_close(WorkingSet* working_set) noexcept nogil:
    free(working_set.alpha)
    working_set.alpha = NULL
    working_set.size = 0


cdef int grow(WorkingSet* working_set) except -1 nogil:
    cdef WorkingSet new
    cdef Py_ssize_t k, n = working_set.size
    allocate(&new, working_set.code_size, working_set.capacity + 1 + working_set.capacity // 4,
             working_set.has_table)
    new.size = n
    new.spread = working_set.spread
    memcpy(new.alpha, working_set.alpha, n * sizeof(double))
    memcpy(new.loss, working_set.loss, n * sizeof(double))
    memcpy(new.last_active, working_set.last_active, n * sizeof(int32_t))
    memcpy(new.hash, working_set.hash, n * sizeof(uint32_t))
    memcpy(new.codes, working_set.codes, n * new.code_size * sizeof(int32_t))
    for k in range(n if new.has_table else 0):
        memcpy(distances(&new, k), distances(working_set, k), n * sizeof(double))
    free(working_set.alpha)
    working_set[0] = new
    return 0


cdef Py_ssize_t find(const WorkingSet* working_set, const int32_t* code) noexcept nogil:
    """Return the index of a labeling, or -1."""
    cdef Py_ssize_t k
    cdef uint32_t h = hash_code(code, working_set.code_size)
    for k in range(working_set.size):
        if working_set.hash[k] == h and memcmp(
                labeling(working_set, k), code, working_set.code_size * sizeof(int32_t)) == 0:
            return k
    return -1


cdef Py_ssize_t insert(WorkingSet* working_set, const int32_t* code, double loss) except -1 nogil:
    """Append a new labeling with alpha 0; return its index."""
    cdef Py_ssize_t k, j
    if working_set.size == working_set.capacity:
        grow(working_set)
    k = working_set.size
    working_set.size += 1
    memcpy(labeling(working_set, k), code, working_set.code_size * sizeof(int32_t))
    working_set.alpha[k] = 0
    working_set.loss[k] = loss
    working_set.last_active[k] = 0
    working_set.hash[k] = hash_code(code, working_set.code_size)
    if working_set.has_table:
        for j in range(k):
            distances(working_set, k)[j] = distances(working_set, j)[k] = -1
        distances(working_set, k)[k] = 0
    return k


cdef void erase(WorkingSet* working_set, Py_ssize_t k) noexcept nogil:
    """Remove entry k > 0; the last entry replaces it."""
    cdef Py_ssize_t j, last = working_set.size - 1
    if k != last:
        working_set.alpha[k] = working_set.alpha[last]
        working_set.loss[k] = working_set.loss[last]
        working_set.last_active[k] = working_set.last_active[last]
        working_set.hash[k] = working_set.hash[last]
        memcpy(labeling(working_set, k), labeling(working_set, last),
               working_set.code_size * sizeof(int32_t))
        for j in range(last if working_set.has_table else 0):
            if j != k:
                distances(working_set, k)[j] = distances(working_set, last)[j]
                distances(working_set, j)[k] = distances(working_set, last)[j]
    working_set.size = last
