# Design:
# (a) Slack rescaling for any problem: the plane of y is L(y) (psi(y), 1). Codes are those of the inner
#     problem, whose scores, distances and scatters are scaled by losses. Solvers need no changes: phi(y)
#     here is L(y) (phi(y) - phi(truth)).
# (b) The max-oracle is `maximize_product` if the inner problem has one, and otherwise a search by queries
#     of its lambda-oracle (_search.pyx). A search starts at the last best labeling of the block, and
#     stores the new one with its lam and the number of queries, in a memory that forks share.
# (c) Certificates do not change this memory (`remember`), and checkpoints save it.
"""Any problem under slack rescaling."""

from libc.stdint cimport int32_t
from libc.string cimport memcpy

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer, WrappedProblem
from sstruct._problems.core._scored_codes cimport ScoredCodes
from sstruct._problems.slack._search cimport ANGULAR, BINARY, BISECTING, PRODUCT, SlackSearch

import numpy as np

from sstruct._checks.shown import shortened
from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.core.kept_arrays import MAX_COUNT, kept_array

SEARCHES = {"product": PRODUCT, "angular": ANGULAR, "bisecting": BISECTING, "binary": BINARY}
# Approximate number of queries of a search, for batch sizes and choices of solvers.
QUERIES = {"angular": 4, "bisecting": 6, "binary": 12}


cdef class SearchMemory:
    """State of searches from which the next searches of the same blocks start."""

    def __init__(self, BlockProblem problem not None, bint codes):
        cdef Py_ssize_t i, n = problem.n_blocks
        self.open = True
        self.queries, self.lam = np.zeros(n, dtype=np.int64), np.ones(n)
        start = problem.code_starts().astype(np.int64) if codes else np.zeros(1, dtype=np.int64)
        n = len(start) - 1
        self.start, self.code = start, np.zeros(start[n], dtype=np.int32)
        for i in range(n):
            problem.truth(i, &self.code[self.start[i]])


cdef class SlackProblem(WrappedProblem):
    """A problem whose planes are scaled by their losses.

    Parameters
    ----------
    problem : BlockProblem
        Its other attributes are also available here.
    search : {"auto", "product", "angular", "bisecting", "binary"}
        ``"auto"`` is the first one that the problem supports; ``"bisecting"`` and ``"binary"`` are always
        supported, the latter for comparison with [C15].
    memory : SearchMemory, optional
        Memory of another such problem, to be shared.

    Attributes
    ----------
    search : str
        The resolved search.

    Notes
    -----
    ``maximize`` with loss weight m finds argmax_y L(y) (m + <w, phi(y) - phi(truth)>). Searches read
    the weights of the last call again in ``scores``, so they must still exist then.
    """

    def __init__(self, BlockProblem problem not None, search="auto", memory=None):
        problem.prepare_product()
        if search == "auto":
            search = (
                "product" if problem.has_product
                else "angular" if problem.has_between else "bisecting")
        if search not in SEARCHES:
            raise ValueError(f"search must be one of {('auto', *SEARCHES)}, found {shortened(search)}")
        for name, there in (("product", problem.has_product), ("angular", problem.has_between)):
            if search == name and not there:
                raise ValueError(
                    f"search={name!r} requires an oracle that {type(problem).__name__} does not have")
        WrappedProblem.__init__(self, problem)
        self.search, self.kind = search, SEARCHES[search]
        # A search needs the bounds of its queries.
        self.keeps_planes, self.may_be_hasty = problem.keeps_planes, False
        self.oracle_work = (
            problem.product_work or problem.oracle_work if search == "product"
            else QUERIES[search] * problem.oracle_work)
        self.batch_size = max(problem.batch_size, batch_size(self.n_blocks, self.oracle_work))
        self.found = SearchMemory(problem, search != "product") if memory is None else memory
        self.searcher = SlackSearch(problem)
        self.true_labeling = np.empty(problem.max_code_size, dtype=np.int32)
        self.scored = ScoredCodes()

    cpdef BlockProblem fork(self):
        return SlackProblem(self.problem.fork(), self.search, self.found)

    def norms(self):
        """Return the norms of the inner problem times the largest losses; |phi| is at most twice this."""
        norms = self.problem.norms()
        return None if norms is None else norms * self.problem.largest_losses()

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        return self.problem.code_size(i)

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        return self.problem.truth(i, code)

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        return self.problem.loss(i, code, out)

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef const int32_t* codes[1]
        cdef double work = 0, unit = loss_weight if loss_weight > 0 else 1
        cdef Py_ssize_t size = self.problem.code_size(i)
        self.last_w = w
        if self.kind == PRODUCT:
            self.problem.maximize_product(i, w, loss_weight, code, answer)
            if self.found.open:
                self.found.queries[i] += 1
            codes[0] = code   # as in `scores`, with the same order of sums
            self.scores(i, NULL, loss_weight, codes, 1, &answer.value, &work)
            answer.work += work
            return 0
        memcpy(&self.searcher.best[0], &self.found.code[self.found.start[i]], size * sizeof(int32_t))
        self.searcher.run(self.kind, i, w, loss_weight, unit * self.found.lam[i])
        memcpy(code, &self.searcher.best[0], size * sizeof(int32_t))
        answer.value, answer.bound = self.searcher.value, self.searcher.bound
        answer.exact, answer.work = self.searcher.exact, self.searcher.work
        if self.found.open:
            memcpy(&self.found.code[self.found.start[i]], code, size * sizeof(int32_t))
            self.found.lam[i] = self.searcher.lam / unit
            self.found.queries[i] += self.searcher.n_queries
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        """Compute L(y) (loss_weight + <w, phi(y) - phi(truth)>); for w == NULL see `maximize`."""
        cdef Py_ssize_t k
        cdef double loss = 0
        cdef const int32_t** all
        cdef double* value
        self.scored.reserve(count + 1)
        all, value = self.scored.codes, self.scored.value
        self.problem.truth(i, &self.true_labeling[0])
        for k in range(count):
            all[k] = codes[k]
        all[count] = &self.true_labeling[0]
        if w == NULL and self.kind != PRODUCT:
            w = self.last_w
        self.problem.scores(i, w, 0, all, count + 1, value, work)
        for k in range(count):
            self.problem.loss(i, codes[k], &loss)
            # Zero times an infinite score is zero too.
            out[k] = 0 if loss == 0 else loss * (loss_weight + (value[k] - value[count]))
        work[0] += count * self.problem.code_size(i)
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        """Compute |L_a psi_a - L_b psi_b|^2 from the three distances of a, b and the truth."""
        cdef double loss_a = 0, loss_b = 0, to_a = 0, to_b = 0, between = 0
        self.problem.truth(i, &self.true_labeling[0])
        self.problem.loss(i, a, &loss_a)
        self.problem.loss(i, b, &loss_b)
        if loss_a < loss_b:   # rounding may depend on the order, for example with fused operations
            a, b, loss_a, loss_b = b, a, loss_b, loss_a
        self.problem.squared_distance(i, a, b, &between)
        if loss_a != loss_b:
            self.problem.squared_distance(i, a, &self.true_labeling[0], &to_a)
            self.problem.squared_distance(i, b, &self.true_labeling[0], &to_b)
        out[0] = max(
            (loss_a - loss_b) * (loss_a * to_a - loss_b * to_b) + loss_a * loss_b * between, 0)
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k, n = 0
        cdef double loss = 0, rest = 0
        cdef const int32_t** all
        cdef double* value
        self.scored.reserve(count + 1)
        all, value = self.scored.codes, self.scored.value
        self.problem.truth(i, &self.true_labeling[0])
        for k in range(count):
            self.problem.loss(i, codes[k], &loss)
            if loss != 0:
                all[n] = codes[k]
                value[n] = coefficient[k] * loss
                rest -= value[n]
                n += 1
        if n == 0:
            return 0
        all[n] = &self.true_labeling[0]
        value[n] = rest
        return self.problem.scatter(i, all, value, n + 1, out)

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        return self.problem.check_code(i, code)

    cdef int retain(
            self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) except -1 nogil:
        """Retain the stored labeling of the block, too, since its next search starts there."""
        cdef Py_ssize_t k
        if self.kind == PRODUCT:
            return self.problem.retain(i, codes, count)
        self.scored.reserve(count + 1)
        for k in range(count):
            self.scored.codes[k] = codes[k]
        self.scored.codes[count] = &self.found.code[self.found.start[i]]
        return self.problem.retain(i, self.scored.codes, count + 1)

    cpdef remember(self, bint kept):
        self.found.open = kept
        self.problem.remember(kept)

    @property
    def failure(self):
        """Failure of the inner problem."""
        return self.problem.failure

    def counts(self):
        """Return the number of queries, without those of certificates."""
        return {**self.problem.counts(), "queries": int(np.sum(self.found.queries))}

    def planes(self):
        """Return the planes of the inner problem."""
        return self.problem.planes()

    def restore_planes(self, kept):
        """Restore the planes of `planes`."""
        self.problem.restore_planes(kept)

    def memory(self):
        """Return the starting points of searches, and the numbers of queries."""
        return {
            **self.problem.memory(),
            "search_queries": np.array(self.found.queries),
            "search_lam": np.array(self.found.lam),
            "search_code": np.array(self.found.code),
        }

    def restore_memory(self, kept):
        """Restore the state of `memory` after validating codes."""
        self.problem.restore_memory(kept)
        cdef const int32_t[::1] code = kept_array(
            kept, "search_code", np.int32, self.found.code.shape[0])
        cdef Py_ssize_t i, n = self.n_blocks
        queries = kept_array(kept, "search_queries", np.int64, n, least=0, most=MAX_COUNT // n)
        lams = kept_array(kept, "search_lam", np.float64, n, values="any")
        for i in range(self.found.start.shape[0] - 1):
            self.problem.check_code(i, code[self.found.start[i]:self.found.start[i + 1]])
        np.asarray(self.found.queries)[:] = queries
        np.asarray(self.found.lam)[:] = lams
        np.asarray(self.found.code)[:] = code
