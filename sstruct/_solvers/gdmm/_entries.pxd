# Sparse vectors of GDMM's factors: short lists that grow and shrink. Header only.
#
# Design:
# (a) One type of entry is used for active labels of a unigram factor (first: the label), active pairs
#     of a bigram factor (first, second) and messages between them (first; value: the residual of
#     consistency; multiplier: the scaled multiplier mu). Entry 0 of a factor is its truth.
# (b) Entries that are not listed are zero.
from libc.stdint cimport int32_t

from sstruct._kernels._memory cimport grow

cdef extern from *:
    """
    #define SSTRUCT_GDMM_ROUNDING 1e-14
    """
    const double ROUNDING "SSTRUCT_GDMM_ROUNDING"   # share of a mass that counts as rounding error


cdef struct Entry:
    int32_t first, second
    double value, multiplier


cdef struct Entries:
    int32_t size, capacity
    Entry* at


cdef inline int append(Entries* entries, int32_t first, int32_t second, double value) except -1 nogil:
    """Append an entry; return its index."""
    cdef int32_t capacity = entries.capacity + entries.capacity // 2 + 2
    if entries.size == entries.capacity:
        grow(<void**> &entries.at, capacity, sizeof(Entry))
        entries.capacity = capacity
    entries.at[entries.size].first = first
    entries.at[entries.size].second = second
    entries.at[entries.size].value = value
    entries.at[entries.size].multiplier = 0
    entries.size += 1
    return entries.size - 1


cdef inline void drop_zeros(Entries* entries) noexcept nogil:
    """Remove active labels or pairs without weight, but never the truth."""
    cdef int32_t k, kept = 1
    for k in range(1, entries.size):
        if entries.at[k].value != 0:
            entries.at[kept] = entries.at[k]
            kept += 1
    entries.size = kept
