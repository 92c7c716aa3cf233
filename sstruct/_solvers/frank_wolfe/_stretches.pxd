# Random order within stretches of neighbouring blocks: data on disk are read in one go. Header only.
from sstruct._kernels._random cimport Random, random_shuffle

cdef enum:
    STRETCHES = 64   # the data are so many; what is read out of order is one of them


cdef inline void shuffle_in_stretches(
        Random* random, Py_ssize_t* order, Py_ssize_t count, Py_ssize_t n_blocks) noexcept nogil:
    """Shuffle blocks, which ascend, within each stretch of all `n_blocks`."""
    cdef Py_ssize_t length = (n_blocks + STRETCHES - 1) // STRETCHES, begin = 0, end = 0
    while begin < count:
        while end < count and order[end] // length == order[begin] // length:
            end += 1
        random_shuffle(random, order + begin, end - begin)
        begin = end
