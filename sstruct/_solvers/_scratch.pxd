# Arrays for the scores and changes of one visit, as long as the largest working set seen; one a
# thread. Header only.
from libc.stdint cimport int32_t
from libc.stdlib cimport free, realloc


cdef struct Scratch:
    Py_ssize_t size
    double* score
    double* first_score     # before the steps of a corrective visit
    double* change
    const int32_t** codes
    Py_ssize_t* member


cdef inline int reserve(Scratch* scratch, Py_ssize_t size) except -1 nogil:
    """Make room for a working set of `size` labelings."""
    cdef void* memory[5]
    if size <= scratch.size:
        return 0
    size += size // 2 + 8
    memory[0] = realloc(scratch.score, size * sizeof(double))
    if memory[0] != NULL:
        scratch.score = <double*> memory[0]
    memory[1] = realloc(scratch.change, size * sizeof(double))
    if memory[1] != NULL:
        scratch.change = <double*> memory[1]
    memory[2] = realloc(scratch.codes, size * sizeof(int32_t*))
    if memory[2] != NULL:
        scratch.codes = <const int32_t**> memory[2]
    memory[3] = realloc(scratch.member, size * sizeof(Py_ssize_t))
    if memory[3] != NULL:
        scratch.member = <Py_ssize_t*> memory[3]
    memory[4] = realloc(scratch.first_score, size * sizeof(double))
    if memory[4] != NULL:
        scratch.first_score = <double*> memory[4]
    if (memory[0] == NULL or memory[1] == NULL or memory[2] == NULL or memory[3] == NULL
            or memory[4] == NULL):
        with gil:
            raise MemoryError("no memory left for the working sets")
    scratch.size = size
    return 0


cdef inline void release(Scratch* scratch) noexcept nogil:
    free(scratch.score)
    free(scratch.first_score)
    free(scratch.change)
    free(scratch.codes)
    free(scratch.member)
