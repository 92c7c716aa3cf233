# What visits work with, header only: the arrays of a thread, as long as the largest working set that it
# has seen; what a visit changes in v; and copies of w that visits are made from.
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from sstruct._kernels._memory cimport grow

cdef extern from "sstruct/_kernels/threads.h":
    ctypedef int64_t sstruct_counter


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


cdef struct Move:
    # v += sum_k coefficient_k phi(codes_k); the codes lie in the block's working set.
    sstruct_counter found   # 1 + the number of the visit that has found it
    Py_ssize_t block, count, room
    const int32_t** codes
    double* coefficient
    double linear, gain     # of the dual's linear part; of the dual at the w that the visit saw
    double work
    double gap              # of the block, as its oracle has found it; below 0: not asked
    Py_ssize_t n_new        # labelings cached, less those dropped
    bint exact, stepped     # of the oracle's answer; whether an exact visit made a step
    char[64] apart          # threads do not share cache lines


cdef struct Lane:
    # A copy of w that visits are made from, and what a thread needs for them; the first is the
    # state's own.
    double* weights
    double* hidden          # of bounded weights, see `DualState`
    double* clipped
    Scratch* scratch
    Move* move              # that the visit at hand fills
    double work             # of the visit before
    int64_t begun           # moves that the first lane has begun to make
    sstruct_counter landed  # moves that are in `weights`
    char[128] apart


cdef inline void begin_move(Move* move) noexcept nogil:
    move.block, move.count, move.n_new = -1, 0, 0
    move.linear = move.gain = move.work = 0
    move.gap, move.exact, move.stepped = -1, True, False


cdef inline int reserve_move(Move* move, Py_ssize_t count) except -1 nogil:
    """Make room for changes of `count` labelings."""
    if count > move.room:
        grow(<void**> &move.codes, 2 * count, sizeof(int32_t*))
        grow(<void**> &move.coefficient, 2 * count, sizeof(double))
        move.room = 2 * count
    return 0


cdef inline void release_move(Move* move) noexcept nogil:
    free(move.codes)
    free(move.coefficient)
