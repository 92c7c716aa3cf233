# Design:
# (a) A user's oracle as a BlockProblem. The code of a labeling is the number of its plane in a table
#     (_plane_table.pyx); scores, distances and scatters use planes, without the GIL. Python is called
#     only for labelings, their features and losses (oracle_calls.py, which validates them).
# (b) Scores are relative to the truth's: loss_weight L(y) - <w, psi(y)>.
# (c) An answer is compared with the known planes. If one of them is better, the oracle is not exact: the
#     better plane is used as the answer, and the event is counted.
# (d) If workers make the calls, a pass announces the blocks (`ask_ahead`); the answers are stored until
#     `maximize` is called at the same weights. For planes in the table, workers may return hashes.
# (e) An oracle that stops early has an upper bound of the value of any labeling. A known plane that is
#     better than its answer is used; only one that is better than the bound is counted as in (c).
# (f) Answers of certificates are not stored in the table. Their codes are negative, and valid until the
#     oracle answers for another block.
"""A problem defined by a Python object."""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t
from libc.string cimport memcmp

from sstruct._oracles.core._interval cimport Interval
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.custom._plane_table cimport (
    PlaneTable, StoredPlane, plane_add, plane_product, plane_terms)

import sys

import numpy as np

from sstruct._problems.core.kept_arrays import MAX_COUNT, kept_array
from sstruct._problems.custom.oracle_calls import Constraint

# Relative to the magnitudes of score and loss: differences below ROUNDING are rounding errors, perhaps of
# float32; an answer that is worse than the truth by more than REFUSED is an error.
cdef double ROUNDING = 1e-6
cdef double REFUSED = 1e-3


cdef class CallableProblem(BlockProblem):
    """Blocks whose joint feature map, loss and max-oracle are methods of a Python object.

    Parameters
    ----------
    calls : OracleCalls
        Or an object with the same interface: a length; `n_weights`, `sparse` and `constrained`;
        ``ask``, ``wrong_value`` and ``outside``. Forks call these methods in several threads.
    oracle_work : float
        Work of a call of the oracle, in multiply-adds.
    batch_size : int, optional
        Default: an eighth of the blocks, at most 64.
    workers : object, optional
        Answers the oracle calls of a batch. Has `at_once`, the number of blocks to ask about at the
        same time, and ``ask_all(blocks, w, loss_weight, known)``, which returns for each block
        the value of ``calls.ask``, or only the plane's hash if it is in the array ``known(block)``.

    Attributes
    ----------
    n_wrong : int
        Number of answers that differ from the truth.
    """

    def __init__(self, calls, *, oracle_work=1e6, batch_size=None, workers=None):
        self.calls, self.workers = calls, workers
        self.n_blocks, self.n_weights, self.max_code_size = len(calls), calls.n_weights, 1
        self.table = PlaneTable(self.n_blocks, self.n_weights)
        self.poor, self.wrong = np.zeros((2, self.n_blocks), dtype=np.int64)
        self.norm, self.most = np.zeros((2, self.n_blocks))
        self.failures = []
        self.open = np.ones(1, dtype=np.int8)
        self.oracle_work = oracle_work
        self.batch_size = (
            max(1, min(64, self.n_blocks // 8)) if batch_size is None else batch_size)
        self._open()

    @property
    def in_order(self):
        """Always True, since the user's oracle takes most of the time and is called in batches."""
        return True

    @property
    def oracle_is_slow(self):
        """True, because oracles of users are usually slow."""
        return True

    def _open(self):
        """Create the attributes that forks do not share."""
        self.bounded = self.keeps_planes = True
        self.has_between = self.calls.constrained
        self.ahead_size = 0 if self.workers is None else self.workers.at_once
        self.passing, self.passing_block = PlaneTable(1, self.n_weights), -1
        self.difference = np.empty(0 if self.calls.sparse else self.n_weights)
        self.ahead, self.ahead_w, self.frozen_w = {}, None, None

    cpdef BlockProblem fork(self):
        cdef CallableProblem other = CallableProblem.__new__(CallableProblem)
        other.share(self)
        return other

    cdef int share(self, CallableProblem other) except -1:
        """Set the attributes that forks share with `other`."""
        self.calls, self.workers, self.table = other.calls, other.workers, other.table
        self.poor, self.wrong, self.failures = other.poor, other.wrong, other.failures
        self.open, self.norm, self.most = other.open, other.norm, other.most
        self.n_blocks, self.n_weights, self.max_code_size = other.n_blocks, other.n_weights, 1
        self.oracle_work, self.batch_size = other.oracle_work, other.batch_size
        self._open()
        return 0

    @property
    def n_wrong(self):
        return int(np.sum(self.wrong))

    @property
    def failure(self):
        """The exception being handled, if the oracle raised it; threads may raise several."""
        error = sys.exc_info()[1]
        return error if any(error is one for one in self.failures) else None

    def _failed(self, error):
        self.failures.append(error)
        return error

    cdef const StoredPlane* plane(self, Py_ssize_t i, int32_t code) noexcept nogil:
        return &self.table.planes[i][code] if code >= 0 else &self.passing.planes[0][-code]

    cdef double score(
            self, const StoredPlane* plane, const double* w, double loss_weight,
            double* size) noexcept nogil:
        """Return loss_weight L - <w, psi>; set `size` to the magnitude of these terms."""
        cdef double product = plane_product(plane, w)
        size[0] = fabs(product) + loss_weight * plane.loss
        return loss_weight * plane.loss - product

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        code[0] = 0
        return 0

    cdef object weights_of(self, const double* w):
        """Return the weights as a read-only array; the same object while they do not change."""
        cdef const double[::1] known
        if self.frozen_w is not None:
            known = self.frozen_w
            if memcmp(&known[0], w, self.n_weights * sizeof(double)) == 0:
                return self.frozen_w
        self.frozen_w = np.frombuffer((<const char*> w)[:self.n_weights * sizeof(double)])
        return self.frozen_w

    cdef int32_t take(self, Py_ssize_t i, taken) except? -1:
        """Store a plane given by `calls.ask`, or find it by its hash; return the code."""
        cdef double loss
        cdef const int32_t[::1] indices
        cdef const double[::1] values
        if isinstance(taken, int):
            self.excess = 0
            return self.table.with_hash(i, taken)
        indices, values, loss, self.excess = taken
        cdef Py_ssize_t size = values.shape[0]
        return self.keep(
            i, loss, size, &indices[0] if indices is not None and size > 0 else NULL,
            &values[0] if size > 0 else NULL)

    cdef int32_t keep(
            self, Py_ssize_t i, double loss, Py_ssize_t size, const int32_t* index,
            const double* value) except? -1 nogil:
        """Copy a plane into the table, or into `passing` during certificates; return the code."""
        cdef Py_ssize_t j
        cdef double total = 0
        for j in range(size):
            total += value[j] * value[j]
        self.norm[i], self.most[i] = max(self.norm[i], sqrt(total)), max(self.most[i], loss)
        if self.open[0]:
            return self.table.put(i, loss, size, index, value)
        if self.passing_block != i:
            self.passing.retain(0, NULL, 0)
            self.passing_block = i
        return -self.passing.put(0, loss, size, index, value)

    cdef int ask(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code) except -1 nogil:
        """Write the code of the labeling that the oracle returns."""
        with gil:
            try:
                code[0] = self.take(i, self.answer(i, w, loss_weight))
            except Exception as error:
                raise self._failed(error)
        return 0

    cdef object answer(self, Py_ssize_t i, const double* w, double loss_weight):
        """Return the plane of a worker if there is one; otherwise call the oracle."""
        cdef const double[::1] known
        if self.ahead:
            known = self.ahead_w
            if (self.ahead_loss_weight != loss_weight
                    or memcmp(&known[0], w, self.n_weights * sizeof(double)) != 0):
                self.ahead.clear()
            elif i in self.ahead:
                return self.ahead.pop(i)
        return self.calls.ask(i, self.weights_of(w), loss_weight)

    cdef int ask_ahead(
            self, const Py_ssize_t* blocks, Py_ssize_t count, const double* w,
            double loss_weight) except -1 nogil:
        cdef Py_ssize_t k
        if self.ahead_size == 0:
            return 0
        with gil:
            self.ahead.clear()
            if count > 0:
                asked = [blocks[k] for k in range(count)]
                self.ahead_w, self.ahead_loss_weight = self.weights_of(w), loss_weight
                try:
                    answers = self.workers.ask_all(
                        asked, self.ahead_w, loss_weight, self.table.hashes)
                    self.ahead.update(zip(asked, answers))
                except Exception as error:
                    raise self._failed(error)
        return 0

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef int32_t k
        cdef double size = 0, best_size = 0, value, first, terms
        cdef bint is_poor = False
        self.ask(i, w, loss_weight, code)
        cdef int32_t found = code[0]
        self.last_w, self.last_loss_weight = w, loss_weight
        answer.value = self.score(self.plane(i, code[0]), w, loss_weight, &size)
        first, answer.work = answer.value, self.oracle_work
        answer.bound, answer.exact = first + self.excess, self.excess == 0
        if code[0] != 0:
            self.wrong[i] += 1
        # Rounding errors are larger if the terms of the score cancel.
        if first < -REFUSED * size and (
                first < -ROUNDING * plane_terms(self.plane(i, found), w)):
            with gil:
                raise self._failed(self.calls.wrong_value(i, first))
        for k in range(self.table.counts[i]):
            if not self.table.planes[i][k].used:
                continue
            value = self.score(&self.table.planes[i][k], w, loss_weight, &best_size)
            if value > answer.value:
                # Use the best known labeling, even if it is better only by rounding errors of scores,
                # or of their terms if these cancel.
                if value > answer.bound + ROUNDING * (size + best_size):
                    terms = plane_terms(self.plane(i, found), w) + plane_terms(
                        &self.table.planes[i][k], w)
                    is_poor |= value > answer.bound + ROUNDING * terms
                answer.value, code[0] = value, k
        answer.bound = max(answer.bound, answer.value)
        if is_poor:
            answer.exact = False
            self.poor[i] += 1
        return 0

    cdef int maximize_between(
            self, Py_ssize_t i, const double* w, double loss_weight, double margin,
            const Interval* interval, int32_t* code, OracleAnswer* answer) except -1 nogil:
        cdef const StoredPlane* plane = NULL
        cdef double h, tolerance, lower = interval.lower, upper = interval.upper
        cdef int32_t k
        with gil:
            try:
                constraint = Constraint(margin, lower, upper, interval.above, interval.below)
                taken = self.calls.ask(i, self.weights_of(w), loss_weight, constraint)
                answer.found = taken is not None
                if answer.found:
                    code[0] = self.take(i, taken)
                    plane = self.plane(i, code[0])
                    h = margin - plane_product(plane, w)
                    # Up to rounding, since the oracle computes its own sums.
                    tolerance = ROUNDING * (fabs(margin) + fabs(h - margin))
                    if not (h + tolerance > 0 and plane.loss >= lower * (h - tolerance)
                            and plane.loss <= upper * (h + tolerance)):
                        raise self.calls.outside(i, plane.loss, h, constraint)
            except Exception as error:
                raise self._failed(error)
        answer.work, answer.exact, answer.value = self.oracle_work, True, 0
        if answer.found:
            answer.value = margin - plane_product(plane, w) + loss_weight * plane.loss
            self.wrong[i] += code[0] != 0
        for k in range(self.table.counts[i]):
            plane = &self.table.planes[i][k]
            if k == code[0] and answer.found or not plane.used:
                continue
            h = margin - plane_product(plane, w)
            tolerance = ROUNDING * (fabs(margin) + fabs(h - margin))
            # With a margin, so that rounding is not taken for an error.
            if h > tolerance and lower * (h + tolerance) < plane.loss < upper * (h - tolerance) and (
                    not answer.found or h + loss_weight * plane.loss > answer.value + 2 * (
                        tolerance + ROUNDING * loss_weight * plane.loss)):
                answer.found = True
                answer.exact, code[0] = False, k
                answer.value = h + loss_weight * plane.loss
        answer.bound = answer.value
        if not answer.exact:
            self.poor[i] += 1
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k
        cdef double size = 0
        cdef const StoredPlane* plane = NULL
        if w == NULL:
            w, loss_weight = self.last_w, self.last_loss_weight
        for k in range(count):
            plane = self.plane(i, codes[k][0])
            out[k] = self.score(plane, w, loss_weight, &size)
            work[0] += 1 + plane.size
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        out[0] = self.plane(i, code[0]).loss
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        return self.table.squared_distance(
            self.plane(i, a[0]), self.plane(i, b[0]),
            &self.difference[0] if self.difference.shape[0] > 0 else NULL, out)

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k
        for k in range(count):
            plane_add(self.plane(i, codes[k][0]), -coefficient[k], out)
        return 0

    cdef int retain(
            self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) except -1 nogil:
        return self.table.retain(i, codes, count)

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        BlockProblem.check_code(self, i, code)
        if not self.table.holds(i, code[0]):
            raise ValueError(f"block {i}: there is no plane with code {code[0]}")
        return 0

    cpdef remember(self, bint kept):
        self.open[0] = kept

    def counts(self):
        """Return the number of answers so far whose value, or bound if any, a known labeling exceeded."""
        return {"suboptimal": int(np.sum(self.poor))}

    def norms(self):
        """Return the largest norms of the planes found so far."""
        return np.array(self.norm)

    def largest_losses(self):
        """Return the largest losses found so far."""
        return np.array(self.most)

    def planes(self):
        """Return the planes that codes refer to, as a dict of arrays."""
        return self.table.export()

    def restore_planes(self, kept):
        """Restore the planes of `planes`."""
        self.table.restore(kept, not self.calls.sparse)

    def memory(self):
        """Return the planes and the counts."""
        return {
            **self.planes(),
            "suboptimal_answers": np.array(self.poor), "wrong_answers": np.array(self.wrong)}

    def restore_memory(self, kept):
        """Restore the state of `memory`."""
        for count, name in ((self.poor, "suboptimal_answers"), (self.wrong, "wrong_answers")):
            np.asarray(count)[:] = kept_array(
                kept, name, np.int64, self.n_blocks, least=0, most=MAX_COUNT // self.n_blocks)
        self.restore_planes(kept)

    def best_code(self, Py_ssize_t i, const double[::1] w, double loss_weight=1.0):
        """Return (code, value, work, exact)."""
        # `scores` reads the weights again, so that they must still exist.
        self._check_weights(w)
        return BlockProblem.best_code(self, i, self.weights_of(&w[0]), loss_weight)
