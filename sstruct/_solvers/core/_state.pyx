# Design:
# (a) DualState is the whole state of a Frank-Wolfe solver: w, the working sets with their dual
#     weights, the dual value, and the random generator. Steps and passes change it; the schedule of
#     passes is in Python.
# (b) With q_i the block weights, v = sum_i q_i / lam sum_y alpha_i(y) psi_i(y) and w = v, or
#     w = clip(v) if weights are bounded,
#         D = sum_i q_i sum_y alpha_i(y) L_i(y) - lam <w, v> + lam / 2 |w|^2.
#     Steps update both; `rebuild` computes both from the working sets, so that rounding errors do
#     not accumulate. With a prior w_0, the regularizer is lam / 2 |w - w_0|^2: v starts at w_0 instead
#     of 0, and D has the additional constant lam / 2 |w_0|^2. Steps only use differences of D, so
#     they do not depend on w_0.
# (c) v and w share one array. For bounded weights, it contains w, and `hidden` contains v. `uncover`
#     restores v before a visit changes it; `cover` clips it again, and adds to the dual value its
#     difference from the quadratic minorizer that the steps use ([O16], appendix H).
# (d) `export` and `restore` pass working sets from fit to fit (warm_start.py); `snapshot` and `resume`
#     preserve every bit, for checkpoints.
"""Dual state of the Frank-Wolfe solvers."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._sharing cimport begin_sharing
from sstruct._kernels._interruption cimport poll_signals
from sstruct._kernels._memory cimport grow
from sstruct._kernels._random cimport random_seed, random_shuffle
from sstruct._solvers.core._scratch cimport Lane, Move, Scratch, release, release_move, reserve
from sstruct._solvers.core._working_set cimport (
    distances, find, insert, labeling, working_set_bytes, working_set_close, working_set_open)

import numpy as np

from sstruct._checks.arrays import contiguous
from sstruct._kernels.compact import compact, expand
from sstruct._kernels.slices import by_slices
from sstruct._problems.core.kept_arrays import kept_array
from sstruct._solvers.core.warm_start import kept_dual_weights

# The dual weights of a block are normalized again once their sum deviates from 1 by this much.
cdef double DRIFT = 1e-14


def squared_norm(const double[::1] w not None):
    """Return |w|^2."""
    return sstruct_squared_norm(&w[0], w.shape[0]) if w.shape[0] > 0 else 0.0


def from_prior(w, prior):
    """Return w minus the prior; w itself if the prior is None."""
    return w if prior is None else by_slices(np.subtract, w, prior)


def dual_value(linear, w, moved, prior, lam):
    """Return the dual value ``linear - lam <w, moved> + lam / 2 |w - prior|^2``.

    Parameters
    ----------
    linear : float
    w : ndarray of shape (n_weights,)
        ``prior + moved``, clipped to the bounds.
    moved : ndarray of shape (n_weights,)
        Sum of the planes, divided by lam.
    prior : ndarray of shape (n_weights,) or None
    lam : float
    """
    linear = linear - lam * float(w @ np.asarray(moved))
    return linear + 0.5 * lam * squared_norm(from_prior(w, prior))


def aligned_zeros(size):
    """Return zeros aligned to 64 bytes; each group of eight weights occupies one cache line."""
    owner = np.zeros(size + 7)
    skip = -(owner.ctypes.data // owner.itemsize) % 8
    return owner[skip:skip + size]


cdef class DualState:
    """Working sets, weights and dual value of a fit.

    Parameters
    ----------
    problem : BlockProblem
    lam : float
        Regularization parameter, positive.
    block_weight : array-like of shape (n_blocks,)
        q_i > 0, the weight of each block's hinge loss.
    seed : int
        Seed of the random generator; taken modulo 2**64.
    bounds : array-like of shape (2, n_weights), optional
        Lower and upper bounds of the weights, in the problem's layout; infinite if there is no bound.
    draw : bool
        Whether blocks will be drawn in proportion to their gaps.
    average : bool
        Whether to keep weighted averages of the iterates.
    prior : ndarray of shape (n_weights,), optional
        w_0, the center of the regularizer; default: 0.
    """

    def __cinit__(
            self, BlockProblem problem not None, double lam, block_weight, seed, bounds=None,
            draw=False, average=False, prior=None):
        begin_sharing(&self.sharing[0], problem.n_weights)
        begin_sharing(&self.sharing[1], problem.n_weights)
        if not lam > 0:
            raise ValueError(f"lam must be positive, found {lam}")
        self.problem, self.n_blocks = problem, problem.n_blocks
        self.lam = lam
        self.block_weight = contiguous(block_weight, dtype=np.float64)
        if self.block_weight.shape[0] != problem.n_blocks:
            raise ValueError(
                f"block_weight has {self.block_weight.shape[0]} entries, expected {problem.n_blocks}")
        if not np.min(block_weight) > 0:
            raise ValueError(f"block weights must be positive, found {np.min(block_weight)}")
        self.weights_owner = aligned_zeros(problem.n_weights)
        self.weights = self.weights_owner
        self._set_bounds(bounds)
        if prior is not None and np.shape(prior) != (problem.n_weights,):
            raise ValueError(f"prior has shape {np.shape(prior)}, expected {(problem.n_weights,)}")
        self.prior = prior
        self.gap_estimates, self.working_gaps = np.full((2, problem.n_blocks), INFINITY)
        self.order = np.arange(problem.n_blocks, dtype=np.intp)
        self.shared, self.visits = np.empty((2, problem.n_blocks), dtype=np.intp)
        random_seed(&self.random, <uint64_t> (int(seed) % 2**64))
        self.draws = SumTree(problem.n_blocks) if draw else None
        if average:
            self.exact_average = RunningAverage(problem.n_weights)
            self.approximate_average = RunningAverage(problem.n_weights)
        self.working_sets = <WorkingSet*> calloc(problem.n_blocks, sizeof(WorkingSet))
        self.moves = <Move*> calloc(N_MOVES, sizeof(Move))
        if self.working_sets == NULL or self.moves == NULL:
            raise MemoryError("not enough memory for the working sets")
        self.lane_owners, self.n_in_step = [], 1
        self.reserve_lanes(1)
        reserve(self.scratch, 16)
        self._open_working_sets()
        self.set_v(self.weights_owner if prior is None else np.zeros(problem.n_weights), 0)

    def _open_working_sets(self):
        """Reset each working set to the true labeling, with dual weight 1."""
        cdef Py_ssize_t i
        cdef int32_t[::1] code = np.zeros(self.problem.max_code_size, dtype=np.int32)
        for i in range(self.problem.n_blocks):
            working_set_close(&self.working_sets[i])
            working_set_open(
                &self.working_sets[i], self.problem.code_size(i), 2, self.problem.n_choices == 0)
            self.problem.truth(i, &code[0])
            insert(&self.working_sets[i], &code[0], 0.0)
            self.working_sets[i].alpha[0] = 1
        self.n_labelings, self.n_shared = self.problem.n_blocks, -1

    def _set_bounds(self, bounds):
        if bounds is None:
            self.boxed = np.empty(0, dtype=np.intp)
            self.lower, self.upper, self.hidden, self.clipped = np.empty((4, 0))
            return
        bounds = np.asarray(bounds, dtype=np.float64)
        if bounds.shape != (2, self.problem.n_weights):
            raise ValueError(f"bounds has shape {bounds.shape}, expected "
                             f"{(2, self.problem.n_weights)}")
        lower, upper = bounds
        if not (lower <= upper).all() or (lower == np.inf).any() or (upper == -np.inf).any():
            raise ValueError("bounds must satisfy lower <= upper, with a finite value between them")
        boxed = np.flatnonzero((lower > -np.inf) | (upper < np.inf))
        self.n_boxed = len(boxed)
        self.boxed = boxed
        self.lower, self.upper = lower[boxed], upper[boxed]
        self.hidden, self.clipped = np.zeros((2, len(boxed)))

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.working_sets != NULL:
            for i in range(self.n_blocks):
                working_set_close(&self.working_sets[i])
            free(self.working_sets)
        for i in range(self.n_scratches):
            release(&self.scratch[i])
        free(self.scratch)
        free(self.lanes)
        if self.moves != NULL:
            for i in range(N_MOVES):
                release_move(&self.moves[i])
            free(self.moves)

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        """Prefetch the memory of a later visit of block i."""
        cdef const WorkingSet* working_set = &self.working_sets[i]
        sstruct_prefetch(working_set.alpha, working_set_bytes(working_set))
        self.problem.prefetch(i)

    cdef int reserve_scratches(self, Py_ssize_t n_threads) except -1:
        """Allocate scratch memory for `n_threads` threads."""
        cdef Py_ssize_t k
        if n_threads > self.n_scratches:
            grow(<void**> &self.scratch, n_threads, sizeof(Scratch))
            memset(&self.scratch[self.n_scratches], 0,
                   (n_threads - self.n_scratches) * sizeof(Scratch))
            self.n_scratches = n_threads
            for k in range(self.n_lanes):
                self.lanes[k].scratch = &self.scratch[k]
        return 0

    cdef void set_gap(self, Py_ssize_t i, double gap) noexcept nogil:
        gap = max(gap, 0)
        self.gap_estimates[i] = gap
        if self.draws is not None:
            self.draws.put(i, self.block_weight[i] * gap)

    cdef int reserve_lanes(self, Py_ssize_t n_lanes) except -1:
        """Allocate a lane for each thread, with its own scratch memory and the current w."""
        cdef Py_ssize_t k, had = self.n_lanes
        cdef double[::1] vector
        self.reserve_scratches(n_lanes)
        if n_lanes > had:
            grow(<void**> &self.lanes, n_lanes, sizeof(Lane))
            memset(&self.lanes[had], 0, (n_lanes - had) * sizeof(Lane))
            for k in range(had, n_lanes):
                self.lanes[k].scratch = &self.scratch[k]
                vectors = [self.weights, self.hidden, self.clipped]
                if k > 0:
                    vectors = [aligned_zeros(len(vector)) for vector in vectors]
                    self.lane_owners.append(vectors)
                vector = vectors[0]
                self.lanes[k].weights = &vector[0]
                if self.n_boxed > 0:
                    vector = vectors[1]
                    self.lanes[k].hidden = &vector[0]
                    vector = vectors[2]
                    self.lanes[k].clipped = &vector[0]
            self.n_lanes = n_lanes
        for k in range(n_lanes):
            self.lanes[k].applied = self.lanes[k].begun = self.n_visits
            if k >= self.n_in_step:
                memcpy(self.lanes[k].weights, self.lanes[0].weights,
                       self.problem.n_weights * sizeof(double))
                memcpy(self.lanes[k].hidden, self.lanes[0].hidden, self.n_boxed * sizeof(double))
        return 0

    cdef void uncover(self, Lane* lane) noexcept nogil:
        """Replace w by v in the weights of a lane."""
        cdef Py_ssize_t b
        for b in range(self.n_boxed):
            lane.clipped[b] = lane.weights[self.boxed[b]]
            lane.weights[self.boxed[b]] = lane.hidden[b]

    cdef double cover(self, Lane* lane) noexcept nogil:
        """Replace v by w = clip(v); return the change of the dual value minus that of its minorizer."""
        cdef Py_ssize_t b
        cdef double v, w, before, step, gain = 0
        for b in range(self.n_boxed):
            v = lane.weights[self.boxed[b]]
            before = lane.clipped[b]
            step = v - lane.hidden[b]
            w = min(max(v, self.lower[b]), self.upper[b])
            # m(v) = w^2 / 2 - w v, against m(v_0) - w_0 (v - v_0) - (v - v_0)^2 / 2
            gain += (0.5 * (w - before) * (w + before) - w * v + before * lane.hidden[b]
                     + before * step + 0.5 * step * step)
            lane.hidden[b] = v
            lane.weights[self.boxed[b]] = w
        return self.lam * gain

    cdef int apply_to_lane(
            self, BlockProblem problem, Lane* lane, const Move* move, double* gain) except -1 nogil:
        """Compute v += sum_k coefficient_k phi(y_k) in a lane; add the result of `cover` to `gain`."""
        if move.count > 0:
            if self.n_boxed > 0:
                self.uncover(lane)
            problem.scatter(move.block, move.codes, move.coefficient, move.count, lane.weights)
            if self.n_boxed > 0:
                gain[0] += self.cover(lane)
        return 0

    cdef int apply_move(
            self, BlockProblem problem, const Move* move, RunningAverage average) except -1 nogil:
        """Apply a move to the state; the averages stay fixed, except that `average` is updated."""
        self.apply_to_lane(problem, self.lanes, move, &self.dual)
        if move.count > 0 and self.exact_average is not None:
            self.hold_average(problem, self.exact_average, move)
            self.hold_average(problem, self.approximate_average, move)
        self.linear += move.linear
        self.dual += move.gain
        self.work += move.work
        self.n_labelings += move.n_new
        self.exact = self.exact and move.exact
        self.n_steps += move.stepped
        if move.gap >= 0:
            self.n_oracle_calls += 1
            self.set_gap(move.block, move.gap)
        if average is not None:
            average.update(self.linear)
        return 0

    cdef int hold_average(
            self, BlockProblem problem, RunningAverage average, const Move* move) except -1 nogil:
        """Keep an average fixed while v moves."""
        cdef Py_ssize_t k
        cdef double* change
        reserve(self.lanes.scratch, move.count)
        change = self.lanes.scratch.change
        for k in range(move.count):
            change[k] = -move.coefficient[k] / average.scale
        return problem.scatter(
            move.block, move.codes, change, move.count, &average.offset[0])

    cdef int no_dual_weight(self, Py_ssize_t i) except -1 nogil:
        """Raise an error for a block whose dual weights do not have a positive finite sum."""
        cdef Py_ssize_t k
        with gil:
            alpha = np.array([self.working_sets[i].alpha[k] for k in range(self.working_sets[i].size)])
            raise ValueError(
                f"block {i}: the dual weights of its labelings sum to {alpha.sum()}, expected 1. The fit "
                "has exceeded the range of float64: rescale the features, or increase lam, currently "
                f"{self.lam:g}")

    cdef double distance(
            self, BlockProblem problem, Py_ssize_t i, Py_ssize_t a,
            Py_ssize_t b) except? -1 nogil:
        """Return |psi_i(a) - psi_i(b)|^2 of two entries; the table, if any, caches it."""
        cdef WorkingSet* working_set = &self.working_sets[i]
        cdef double value = -1
        if working_set.has_table:
            value = distances(working_set, a)[b]
        if value >= 0:
            return value
        problem.squared_distance(
            i, labeling(working_set, a), labeling(working_set, b), &value)
        self.check_distance(i, value)
        # Rounding must not make a distance negative, which marks unknown entries.
        value = max(value, 0)
        if working_set.has_table:
            distances(working_set, a)[b] = distances(working_set, b)[a] = value
        return value

    cdef int check_distance(self, Py_ssize_t i, double value) except -1 nogil:
        """Raise an error if a squared distance exceeds the range of float64."""
        if not value < INFINITY:
            with gil:
                raise ValueError(
                    f"block {i}: the squared distance of two labelings is {value:g}; "
                    "scale the features down")
        return 0

    cdef const double* known_distances(
            self, BlockProblem problem, Py_ssize_t i, Py_ssize_t a) except NULL nogil:
        """Return the distances of entry a to all entries of a working set with a table."""
        cdef const double* row = distances(&self.working_sets[i], a)
        cdef Py_ssize_t k
        for k in range(self.working_sets[i].size):
            if row[k] < 0:
                self.distance(problem, i, a, k)
        return row

    @property
    def w(self):
        """Copy of the weights, in the problem's layout."""
        return np.array(self.weights)

    @property
    def live_w(self):
        """The weights without a copy; the next step changes them."""
        return self.weights_owner

    def rebuild(self, parts=None):
        """Compute w and the dual value from the working sets only.

        The time is linear in the number of labelings with alpha > 0, times the positions at which they
        differ from the truth. After an interruption, both remain unchanged. Without a prior, w is
        computed in place, since a vector of all weights may be larger than everything else in a fit;
        its nonzero entries are saved, and restored after an interruption.

        parts : ranges [first, last) of blocks, in the order in which they are added, or None for all
        """
        parts = [(0, self.n_blocks)] if parts is None else parts
        if self.prior is None:
            v, kept = self.weights_owner, compact(self.weights_owner)
        else:
            v = np.empty(self.weights.shape[0])
        try:
            v[:] = 0
            linear = 0.0
            for first, last in parts:
                linear += self.add_planes(v, first, last)
        except BaseException:
            if self.prior is None:
                expand(kept, v)
            raise
        self.set_v(v, linear)

    def add_planes(self, double[::1] rebuilt not None, Py_ssize_t first, Py_ssize_t last):
        """Accumulate the contribution of blocks [first, last) to v; return their contribution to `linear`."""
        cdef Py_ssize_t i, k, count
        cdef WorkingSet* working_set
        cdef double linear = 0, sum_others, total
        if rebuilt.shape[0] != self.weights.shape[0] or not 0 <= first <= last <= self.n_blocks:
            raise ValueError(
                f"found {rebuilt.shape[0]} weights and blocks [{first}, {last}), expected "
                f"{self.weights.shape[0]} weights and a range within [0, {self.n_blocks})")
        self.problem.track(&rebuilt[0])
        try:
            with nogil:
                for i in range(first, last):
                    working_set = &self.working_sets[i]
                    working_set.spread = -1
                    total = 0
                    for k in range(working_set.size):
                        total += working_set.alpha[k]
                    if not 0 < total < INFINITY:
                        self.no_dual_weight(i)
                    count = 0
                    sum_others = 0
                    for k in range(working_set.size):
                        if fabs(total - 1) > DRIFT:
                            working_set.alpha[k] /= total
                        if k > 0 and working_set.alpha[k] > 0:
                            linear += self.block_weight[i] * working_set.alpha[k] * working_set.loss[k]
                            # psi(y) = phi(truth) - phi(y)
                            self.scratch.change[count] = (
                                -working_set.alpha[k] * self.block_weight[i] / self.lam)
                            sum_others -= self.scratch.change[count]
                            self.scratch.codes[count] = labeling(working_set, k)
                            count += 1
                    if count > 0:
                        self.scratch.change[count] = sum_others
                        self.scratch.codes[count] = labeling(working_set, 0)
                        self.problem.scatter(
                            i, self.scratch.codes, self.scratch.change, count + 1, &rebuilt[0])
                    poll_signals((count + 1) * (100 + self.problem.oracle_work))
                poll_signals(rebuilt.shape[0])
        finally:
            self.problem.track(NULL)
        return linear

    def set_v(self, const double[::1] rebuilt not None, double linear):
        """Set v, without the prior, and `linear` to the sums of `add_planes` over all blocks."""
        cdef Py_ssize_t b
        cdef double v, w
        if self.prior is not None:
            by_slices(np.add, np.asarray(rebuilt), self.prior, out=self.weights_owner)
        elif &rebuilt[0] != &self.weights[0]:
            self.weights[:] = rebuilt
        self.n_in_step = 1
        for b in range(self.n_boxed):
            v = self.weights[self.boxed[b]]
            w = min(max(v, self.lower[b]), self.upper[b])
            self.hidden[b] = v
            self.weights[self.boxed[b]] = w
        self.linear = linear
        self.measure_dual(rebuilt)

    def measure_dual(self, moved=None):
        """Compute the dual value from the current v and `linear`.

        moved : v minus the prior, if it is known without the rounding errors of that difference
        """
        cdef Py_ssize_t b
        cdef double w, gain = 0
        self.estimated = False
        if self.prior is not None:
            self.dual = dual_value(
                self.linear, np.asarray(self.weights),
                self.live_v - self.prior if moved is None else moved, self.prior, self.lam)
            return
        for b in range(self.n_boxed):
            w = self.weights[self.boxed[b]]
            gain += w * (w - self.hidden[b])
        self.dual = self.linear - 0.5 * self.lam * squared_norm(self.weights) + self.lam * gain

    def permutation(self, Py_ssize_t size):
        """Return 0 to size - 1 in random order."""
        cdef Py_ssize_t[::1] order = np.arange(size, dtype=np.intp)
        if size > 1:
            random_shuffle(&self.random, &order[0], size)
        return np.asarray(order).tolist()

    @property
    def live_v(self):
        """The weights without clipping; the next step may change them."""
        return self.v() if self.n_boxed > 0 else self.weights_owner

    def v(self):
        """Return a copy of the weights without clipping."""
        v = np.array(self.weights)
        v[np.asarray(self.boxed)] = self.hidden
        return v

    def moved(self):
        """Return v minus the prior, without the rounding errors of v."""
        if self.prior is None:
            return self.v()
        v = np.zeros(self.weights.shape[0])
        self.add_planes(v, 0, self.n_blocks)
        return v

    @property
    def has_average(self):
        """Whether there is an averaged iterate."""
        return self.exact_average is not None and self.exact_average.count > 0

    def average(self):
        """Return the averaged iterate.

        It interpolates between the averages over exact and over approximate visits, and maximizes the
        dual value (if weights have bounds, its minorizer).

        Returns
        -------
        w : ndarray of shape (n_weights,), or None before the first visit
        """
        if not self.has_average:
            return None
        v = self.live_v
        a = self.exact_average.weights(v)
        if self.approximate_average.count > 0:
            step = self.approximate_average.weights(v)
            by_slices(np.subtract, step, a, out=step)
            slope = (self.approximate_average.linear - self.exact_average.linear
                     - self.lam * (step @ (self.clip(a.copy()) if self.n_boxed > 0 else a)))
            curvature = self.lam * (step @ step)
            if slope > 0:
                rate = min(slope / curvature, 1) if curvature > 0 else 1
                by_slices(lambda of_exact, change: of_exact + rate * change, a, step, out=a)
        return self.clip(a)

    def clip(self, v):
        """Clip weights to their bounds, in place."""
        if self.n_boxed == 0:
            return v
        boxed = np.asarray(self.boxed)
        v[boxed] = np.clip(v[boxed], self.lower, self.upper)
        return v

    @property
    def estimated_gap(self):
        """sum_i q_i gap_i, with the gap of each block before the step of its last oracle call, or inf."""
        cdef Py_ssize_t i
        cdef double total = 0
        for i in range(self.n_blocks):
            total += self.block_weight[i] * self.gap_estimates[i]
        return total

    def export(self):
        """Return the working sets as plain arrays.

        Returns
        -------
        dict
            size (n_blocks,): number of labelings per block, the truth first; alpha, loss and
            last_active (n_labelings,); code (int32): all labelings, concatenated.
        """
        cdef Py_ssize_t i, k, at = 0, position = 0, n = 0, total = 0
        cdef WorkingSet* working_set
        for i in range(self.problem.n_blocks):
            n += self.working_sets[i].size
            total += self.working_sets[i].size * self.working_sets[i].code_size
        sizes = np.empty(self.problem.n_blocks, dtype=np.int64)
        alphas, losses = np.empty(n), np.empty(n)
        stamps, codes = np.empty(n, dtype=np.int32), np.empty(total, dtype=np.int32)
        cdef int64_t[::1] size = sizes
        cdef double[::1] alpha = alphas, loss = losses
        cdef int32_t[::1] stamp = stamps, code = codes
        for i in range(self.problem.n_blocks):
            working_set = &self.working_sets[i]
            size[i] = working_set.size
            for k in range(working_set.size):
                alpha[at] = working_set.alpha[k]
                loss[at] = working_set.loss[k]
                stamp[at] = working_set.last_active[k]
                at += 1
            memcpy(&code[position], working_set.codes,
                   working_set.size * working_set.code_size * sizeof(int32_t))
            position += working_set.size * working_set.code_size
        return {"size": sizes, "alpha": alphas, "loss": losses, "last_active": stamps,
                "code": codes}

    def checked(self, kept, n_blocks):
        """Return size, alpha and code of `export`, validated except for the labelings themselves.

        n_blocks : expected number of blocks, or None for any number of the first blocks
        """
        cdef Py_ssize_t i, length, position = 0
        cdef const int64_t[::1] counts
        size, alpha = kept_dual_weights(kept, n_blocks)
        if not 0 < len(size) <= self.n_blocks:
            raise ValueError(f"size: {len(size)} blocks, expected at most {self.n_blocks}")
        code = kept_array(kept, "code", np.int32)
        counts = size
        for i in range(counts.shape[0]):
            length = self.working_sets[i].code_size
            if counts[i] > (len(code) - position) // length:
                raise ValueError(
                    f"code: {len(code)} entries are too few for the {counts[i]} labelings of block {i}")
            position += counts[i] * length
        if position != len(code):
            raise ValueError(f"code: {len(code)} entries, expected {position}")
        return size, alpha, code

    def restore(self, exported):
        """Restore the labelings and dual weights of `export`, then rebuild w.

        The export may cover only the first blocks; the other blocks are not changed. The loss and the true
        labelings of the problem may differ from those at the export: losses are recomputed, and the dual
        weight of a block's first labeling, the truth at the export, is assigned to the current truth.
        """
        cdef const int64_t[::1] size
        cdef const double[::1] alpha
        cdef const int32_t[::1] code
        cdef Py_ssize_t i, j, k, at = 0, position = 0, length
        cdef double loss = 0
        cdef WorkingSet* working_set
        size, alpha, code = self.checked(exported, None)
        self.n_labelings, self.n_shared = 0, -1
        for i in range(size.shape[0]):
            working_set = &self.working_sets[i]
            length = working_set.code_size
            for j in range(working_set.size):
                working_set.alpha[j] = 0
            for k in range(size[i]):
                self.problem.check_code(i, code[position:position + length])
                j = find(working_set, &code[position]) if k > 0 else 0
                if j < 0:
                    self.problem.loss(i, &code[position], &loss)
                    j = insert(working_set, &code[position], loss)
                working_set.alpha[j] += alpha[at]
                at += 1
                position += length
            reserve(self.scratch, working_set.size)
            self.n_labelings += working_set.size
        for i in range(size.shape[0], self.problem.n_blocks):
            self.n_labelings += self.working_sets[i].size
        self.rebuild()
