# Arrays for the scores and changes of one visit, as long as the largest working set seen; one a
# thread. Header only.
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from sstruct._kernels._memory cimport grow


cdef struct Scratch:
    Py_ssize_t size
    double* score
    double* first_score     # before the steps of a corrective visit
    double* change
    const int32_t** codes
    Py_ssize_t* member


cdef inline int reserve(Scratch* scratch, Py_ssize_t size) except -1 nogil:
    """Make room for a working set of `size` labelings."""
    if size <= scratch.size:
        return 0
    size += size // 2 + 8
    grow(<void**> &scratch.score, size, sizeof(double))
    grow(<void**> &scratch.first_score, size, sizeof(double))
    grow(<void**> &scratch.change, size, sizeof(double))
    grow(<void**> &scratch.codes, size, sizeof(int32_t*))
    grow(<void**> &scratch.member, size, sizeof(Py_ssize_t))
    scratch.size = size
    return 0


cdef inline void release(Scratch* scratch) noexcept nogil:
    free(scratch.score)
    free(scratch.first_score)
    free(scratch.change)
    free(scratch.codes)
    free(scratch.member)
