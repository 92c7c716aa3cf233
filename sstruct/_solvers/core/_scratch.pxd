# Memory of visits, header only: scratch arrays of a thread, as long as the largest working set that it
# has visited; the move that a visit makes in v; and the copies of w (lanes) that visits read.
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
    """Allocate space for a working set of `size` labelings."""
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
    # v += sum_k coefficient_k phi(codes_k); the codes point into the working set of the block.
    sstruct_counter found   # 1 + number of the visit that computed the move
    Py_ssize_t block, count, room
    const int32_t** codes
    double* coefficient
    double linear, gain     # change of the dual's linear part; gain of the dual at the w of the visit
    double work
    double gap              # gap of the block if its oracle was called; otherwise negative
    Py_ssize_t n_new        # labelings added minus labelings dropped
    bint exact, stepped     # whether the oracle's answer is exact; whether an exact visit made a step
    char[64] apart          # padding: threads must not share cache lines


cdef struct Lane:
    # A copy of w that visits read, with the memory that a thread needs. The first lane holds the
    # weights of the state itself.
    double* weights
    double* hidden          # of bounded weights, see `DualState`
    double* clipped
    Scratch* scratch
    Move* move              # move of the current visit
    double work             # work of the previous visit
    int64_t begun           # number of moves that the first lane has started to apply
    sstruct_counter applied  # number of moves applied to `weights`
    char[128] apart


cdef inline void begin_move(Move* move) noexcept nogil:
    move.block, move.count, move.n_new = -1, 0, 0
    move.linear = move.gain = move.work = 0
    move.gap, move.exact, move.stepped = -1, True, False


cdef inline int reserve_move(Move* move, Py_ssize_t count) except -1 nogil:
    """Allocate space for changes of `count` labelings."""
    if count > move.room:
        grow(<void**> &move.codes, 2 * count, sizeof(int32_t*))
        grow(<void**> &move.coefficient, 2 * count, sizeof(double))
        move.room = 2 * count
    return 0


cdef inline void release_move(Move* move) noexcept nogil:
    free(move.codes)
    free(move.coefficient)
