# Random order within stretches of neighboring blocks, for sequential reads from disk. Header only.
from sstruct._kernels._random cimport Random, random_shuffle

cdef enum:
    STRETCHES = 64   # number of stretches; reads are out of order only within a stretch


cdef inline void shuffle_in_stretches(
        Random* random, Py_ssize_t* order, Py_ssize_t count, Py_ssize_t n_blocks) noexcept nogil:
    """Shuffle blocks, given in ascending order, within each stretch of all `n_blocks` blocks."""
    cdef Py_ssize_t length = (n_blocks + STRETCHES - 1) // STRETCHES, begin = 0, end = 0
    while begin < count:
        while end < count and order[end] // length == order[begin] // length:
            end += 1
        random_shuffle(random, order + begin, end - begin)
        begin = end
