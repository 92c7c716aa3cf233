from libc.stdint cimport int32_t, int64_t

from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._sharing cimport Sharing
from sstruct._solvers.core._average cimport RunningAverage
from sstruct._kernels._random cimport Random
from sstruct._solvers.core._sampling cimport SumTree
from sstruct._solvers.core._scratch cimport Lane, Move, Scratch
from sstruct._solvers.core._working_set cimport WorkingSet


cdef extern from "sstruct/_kernels/kernels.h":
    void sstruct_prefetch(const void* memory, int64_t size) noexcept nogil
    double sstruct_squared_norm(const double* w, int64_t size) noexcept nogil

cdef enum:
    N_MOVES = 256   # largest number of visits by which one lane may lag behind another


cdef class DualState:
    cdef readonly BlockProblem problem
    # The garbage collector may have cleared `problem` before the memory of its blocks is freed.
    cdef readonly Py_ssize_t n_blocks
    cdef readonly double lam
    cdef readonly double dual             # D(alpha), updated after every step
    cdef readonly bint estimated          # whether `dual` is an estimate of visits with a lag
    cdef readonly double linear           # sum_i q_i sum_y alpha_i(y) L_i(y)
    cdef readonly Py_ssize_t n_oracle_calls
    cdef readonly Py_ssize_t n_steps      # steps of exact visits, except those below rounding errors
    cdef readonly double work             # counted by the passes
    cdef readonly Py_ssize_t n_labelings  # over all working sets
    cdef readonly bint exact              # whether all oracle calls of the last exact pass were exact
    cdef double total_gap                 # sum_i q_i gap_i at the last full pass with gaps; 0 if unknown
    cdef const double[::1] block_weight   # q_i, the weight of each block's hinge loss
    cdef object weights_owner
    cdef double[::1] weights              # w, in the array `weights_owner`
    cdef WorkingSet* working_sets
    cdef double[::1] gap_estimates        # gap at the block's last oracle call, before its step
    cdef double[::1] working_gaps         # gap over the working set only; inf after an exact visit
    cdef SumTree draws                    # q_i gap_estimates_i, for drawing blocks, or None
    cdef RunningAverage exact_average, approximate_average   # or None
    # Box constraints: `boxed` weights have bounds. For these, w = clip(v), and v is in `hidden`.
    cdef readonly Py_ssize_t n_boxed
    cdef const Py_ssize_t[::1] boxed
    cdef const double[::1] lower, upper
    cdef double[::1] hidden, clipped
    cdef readonly object prior            # w_0, the center of the regularizer, or None for 0
    cdef Py_ssize_t[::1] order            # order of the blocks in exact passes; shuffled again in each pass
    # Memory of approximate passes: the blocks with more than one labeling (n_shared = -1: outdated),
    # and the blocks to visit.
    cdef Py_ssize_t n_shared, n_planned
    cdef Py_ssize_t[::1] shared, visits
    cdef Random random
    cdef Scratch* scratch                 # one per thread or lane
    cdef Py_ssize_t n_scratches
    cdef Lane* lanes                      # the first one holds the weights of the state
    cdef Py_ssize_t n_lanes
    cdef Py_ssize_t n_in_step             # number of lanes with the same weights as the first lane
    cdef list lane_owners
    cdef Move* moves                      # N_MOVES entries: visit k uses entry k modulo N_MOVES
    cdef int64_t n_visits                 # number of visits so far
    cdef Sharing[2] sharing               # of runs of approximate visits, and of exact ones
    cdef double relaxation                # of corrective visits, see _steps

    cdef int no_dual_weight(self, Py_ssize_t i) except -1 nogil
    cdef double distance(
        self, BlockProblem problem, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b) except? -1 nogil
    cdef int check_distance(self, Py_ssize_t i, double value) except -1 nogil
    cdef const double* known_distances(
        self, BlockProblem problem, Py_ssize_t i, Py_ssize_t a) except NULL nogil
    cdef void prefetch(self, Py_ssize_t i) noexcept nogil
    cdef int reserve_scratches(self, Py_ssize_t n_threads) except -1
    cdef void set_gap(self, Py_ssize_t i, double gap) noexcept nogil
    cdef int reserve_lanes(self, Py_ssize_t n_lanes) except -1
    cdef void uncover(self, Lane* lane) noexcept nogil
    cdef double cover(self, Lane* lane) noexcept nogil
    cdef int apply_to_lane(
        self, BlockProblem problem, Lane* lane, const Move* move, double* gain) except -1 nogil
    cdef int apply_move(
        self, BlockProblem problem, const Move* move, RunningAverage average) except -1 nogil
    cdef int hold_average(
        self, BlockProblem problem, RunningAverage average, const Move* move) except -1 nogil
