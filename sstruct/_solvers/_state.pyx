# Design:
# (a) The whole state of a Frank-Wolfe solver: w, the working sets with their dual weights, the
#     dual value, the random generator. Steps and passes change it; policy is in Python.
# (b) With q_i the block weights, w = sum_i q_i / lam sum_y alpha_i(y) psi_i(y) and
#     D = sum_i q_i sum_y alpha_i(y) L_i(y) - lam / 2 |w|^2. Steps keep both; `rebuild`
#     computes both from the working sets, so that rounding does not add up.
# (c) `export` and `DualState.restore` turn the working sets into plain arrays and back.
"""The dual state that steps and passes work on."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

from sstruct._problems._block_problem cimport BlockProblem
from sstruct._solvers._random cimport random_seed
from sstruct._solvers._working_set cimport (
    find, insert, labeling, pair, working_set_close, working_set_open)

import numpy as np

cdef extern from "_kernels.h":
    double sstruct_squared_norm(const double* w, int64_t size) noexcept nogil


cdef class DualState:
    """Working sets, weights and dual value of a fit.

    Parameters
    ----------
    problem : BlockProblem
    lam : float
        Regularisation, positive.
    block_weight : array-like of shape (n_blocks,)
        q_i > 0, the weight of each block's hinge loss.
    seed : int
        Of the random generator; taken modulo 2**64.
    """

    def __cinit__(self, BlockProblem problem not None, double lam, block_weight, seed):
        cdef Py_ssize_t i
        if not lam > 0:
            raise ValueError(f"lam must be positive, found {lam}")
        self.problem = problem
        self.lam = lam
        self.block_weight = np.ascontiguousarray(block_weight, dtype=np.float64)
        if self.block_weight.shape[0] != problem.n_blocks:
            raise ValueError(
                f"{self.block_weight.shape[0]} block weights for {problem.n_blocks} blocks")
        if not np.min(block_weight) > 0:
            raise ValueError("block weights must be positive")
        self.weights_owner = np.zeros(problem.n_weights)
        self.weights = self.weights_owner
        self.gap_estimates = np.full(problem.n_blocks, INFINITY)
        self.working_gaps = np.full(problem.n_blocks, INFINITY)
        self.order = np.arange(problem.n_blocks, dtype=np.intp)
        random_seed(&self.random, <uint64_t> (int(seed) % 2**64))
        self.working_sets = <WorkingSet*> calloc(problem.n_blocks, sizeof(WorkingSet))
        if self.working_sets == NULL:
            raise MemoryError("no memory left for the working sets")
        self.reserve(16)
        cdef int32_t[::1] code = np.zeros(problem.max_code_size, dtype=np.int32)
        for i in range(problem.n_blocks):
            working_set_open(&self.working_sets[i], problem.code_size(i), 2)
            problem.truth(i, &code[0])
            insert(&self.working_sets[i], &code[0], 0.0)
            self.working_sets[i].alpha[0] = 1
        self.n_labelings = problem.n_blocks

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.working_sets != NULL:
            for i in range(self.problem.n_blocks):
                working_set_close(&self.working_sets[i])
            free(self.working_sets)
        free(self.score)
        free(self.change)
        free(self.codes)
        free(self.member)

    cdef int reserve(self, Py_ssize_t size) except -1 nogil:
        """Make the scratch of a visit hold a working set of `size` labelings."""
        cdef void* memory[4]
        if size <= self.scratch_size:
            return 0
        size += size // 2
        memory[0] = realloc(self.score, size * sizeof(double))
        if memory[0] != NULL:
            self.score = <double*> memory[0]
        memory[1] = realloc(self.change, size * sizeof(double))
        if memory[1] != NULL:
            self.change = <double*> memory[1]
        memory[2] = realloc(self.codes, size * sizeof(int32_t*))
        if memory[2] != NULL:
            self.codes = <const int32_t**> memory[2]
        memory[3] = realloc(self.member, size * sizeof(Py_ssize_t))
        if memory[3] != NULL:
            self.member = <Py_ssize_t*> memory[3]
        if memory[0] == NULL or memory[1] == NULL or memory[2] == NULL or memory[3] == NULL:
            with gil:
                raise MemoryError("no memory left for the working sets")
        self.scratch_size = size
        return 0

    cdef double distance(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b) except? -1 nogil:
        """|psi_i(a) - psi_i(b)|^2 of two entries, computed when first asked for."""
        cdef WorkingSet* working_set = &self.working_sets[i]
        cdef double value
        if a == b:
            return 0
        value = working_set.distance[pair(a, b)]
        if value < 0:
            self.problem.squared_distance(
                i, labeling(working_set, a), labeling(working_set, b), &value)
            if not value < INFINITY:
                with gil:
                    raise ValueError(
                        f"block {i}: two labelings are {value:g} apart (squared distance); "
                        "scale the features down")
            # Rounding must not make a distance negative, which would mean: not asked for yet.
            value = max(value, 0)
            working_set.distance[pair(a, b)] = value
        return value

    @property
    def w(self):
        """The weights, a copy, in the problem's layout."""
        return np.array(self.weights)

    @property
    def live_w(self):
        """The weights themselves, which the next step changes."""
        return self.weights_owner

    def rebuild(self):
        """Compute w and the dual value from the working sets alone.

        O(labelings with alpha > 0, where they differ from the truth).
        """
        cdef Py_ssize_t i, k
        cdef WorkingSet* working_set
        cdef double linear = 0, factor
        cdef double* w = &self.weights[0]
        self.weights[:] = 0
        with nogil:
            for i in range(self.problem.n_blocks):
                working_set = &self.working_sets[i]
                factor = self.block_weight[i] / self.lam
                for k in range(1, working_set.size):
                    if working_set.alpha[k] > 0:
                        self.problem.scatter(
                            i, labeling(working_set, 0), labeling(working_set, k),
                            factor * working_set.alpha[k], w)
                        linear += self.block_weight[i] * working_set.alpha[k] * working_set.loss[k]
        self.dual = linear - 0.5 * self.lam * self.squared_norm()

    @property
    def estimated_gap(self):
        """Sum of the block gaps at their last exact visits, each before its step; inf at first."""
        return float(np.dot(self.block_weight, self.gap_estimates))

    def squared_norm(self):
        """|w|^2."""
        return sstruct_squared_norm(&self.weights[0], self.problem.n_weights)

    def export(self):
        """Return the working sets as plain arrays.

        Returns
        -------
        dict
            size (n_blocks,): labelings a block, the truth first; alpha, loss and last_active
            (n_labelings,); code (int32): all labelings, one after another.
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

    def restore(self, exported):
        """Take over the labelings and dual weights of `export`, then rebuild w.

        Losses are computed anew, so that the problem's loss may have changed; its labelings not.
        """
        cdef const int64_t[::1] size = exported["size"]
        cdef const double[::1] alpha = exported["alpha"]
        cdef const int32_t[::1] code = exported["code"]
        cdef Py_ssize_t i, j, at = 0, position = 0, length
        cdef double loss = 0
        cdef WorkingSet* working_set
        if size.shape[0] != self.problem.n_blocks:
            raise ValueError(f"{size.shape[0]} blocks, expected {self.problem.n_blocks}")
        if np.min(size) < 1 or np.sum(size) != alpha.shape[0] or np.min(alpha) < 0:
            raise ValueError("size and alpha do not describe dual weights")
        sums = np.add.reduceat(alpha, np.cumsum(size) - size)
        if not np.allclose(sums, 1, rtol=0, atol=1e-9):
            raise ValueError("the dual weights of a block do not sum to 1")
        self.n_labelings = 0
        for i in range(self.problem.n_blocks):
            working_set = &self.working_sets[i]
            length = working_set.code_size
            for j in range(working_set.size):
                working_set.alpha[j] = 0
            for _ in range(size[i]):
                if position + length > code.shape[0]:
                    raise ValueError("the arrays end before the last block")
                self.problem.check_code(i, code[position:position + length])
                j = find(working_set, &code[position])
                if j < 0:
                    self.problem.loss(i, &code[position], &loss)
                    j = insert(working_set, &code[position], loss)
                working_set.alpha[j] += alpha[at]
                at += 1
                position += length
            self.reserve(working_set.size)
            self.n_labelings += working_set.size
        self.rebuild()
