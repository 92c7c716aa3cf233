# Design:
# (a) Blocks overlap in nodes: a copy c of a node in another block has a free label. Multipliers m_c(k)
#     are added to the scores of the copy's labels and subtracted from the scores of the node's labels.
#     For every m the sum of the blocks' maxima is an upper bound of the maximum over labelings of the
#     whole sample, in which both have the same label.
# (b) m_c(k) = center[c, k] + scale_c w[n + c K + k], where n is the number of the model's weights. Weight
#     n + c K + k belongs to a feature that is scale_c if copy c has label k, minus scale_c if its node has
#     this label, and 0 otherwise. The center is added to every score, for any loss weight, and is a part of
#     the losses of planes. Since solvers regularize these weights too, they penalize the distance of the
#     multipliers from the center, which they move.
# (c) The wrapped problem reads the first n weights only, and adds given offsets to scores of nodes.
"""A problem whose blocks share nodes, with multipliers that make their labels agree."""

from libc.stdint cimport int32_t, int64_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer, WrappedProblem
from sstruct._problems.core._node_labels cimport differ_at

import numpy as np

from sstruct._checks.arrays import contiguous
from sstruct._problems.core.kept_arrays import kept_array
from sstruct._problems.core.weight_layout import WeightLayout, dense_block


cdef class CoupledProblem(WrappedProblem):
    """A problem with multipliers on the nodes that its blocks share.

    Parameters
    ----------
    problem : BlockProblem
        With `shared_nodes` and `offset_nodes`. Its other attributes are forwarded.
    scale : array-like of shape (n_copies,)
        Magnitude of the features whose weights are multipliers.
    arguments : dict, optional
        Data that forks share; for `fork` only.

    Attributes
    ----------
    n_model_weights : int
        Number of the weights of `problem`; the weights of multipliers follow.
    """

    # Data, shared by forks. An end is a copy or its node, in the block that contains it: each copy has
    # two ends, which are sorted by block.
    cdef dict arguments
    cdef const int64_t[::1] start    # (n_blocks + 1,) first end of each block
    cdef const int32_t[::1] position  # position of each end in the labeling of its block
    cdef const int64_t[::1] copy     # index of the copy that each end belongs to
    cdef const double[::1] sign      # 1 if the end is the copy, -1 if it is the node
    cdef const double[::1] scale     # (n_copies,) size of the features of a copy
    cdef double[:, ::1] center       # (n_copies, n_labels), of the multipliers
    cdef readonly Py_ssize_t n_model_weights, n_labels
    # Scratch memory of this object.
    cdef double[:, ::1] offsets      # scores that multipliers add to the labels of each end of a block
    cdef int32_t[::1] true_labeling

    def __init__(self, BlockProblem problem not None, scale, arguments=None):
        WrappedProblem.__init__(self, problem)
        self.n_labels, self.n_model_weights = problem.n_labels, problem.n_weights
        if arguments is None:
            shared = problem.shared_nodes()
            n = len(shared.cost)
            scale = contiguous(scale, dtype=np.float64)
            if scale.shape != (n,):
                raise ValueError(f"scale has {len(scale)} entries, expected one for each of {n} copies")
            if (shared.block[:, 0] == shared.block[:, 1]).any():
                raise ValueError("a block has both a node and its copy")
            arguments = dict(
                ends=shared.by_block(self.n_blocks), scale=scale,
                center=np.zeros((n, self.n_labels)))
        self.arguments = arguments
        self.start, self.position, self.copy, self.sign = arguments["ends"]
        self.scale, self.center = arguments["scale"], arguments["center"]
        n_multipliers = self.center.shape[0] * self.n_labels
        self._layout = WeightLayout({
            **problem.layout.blocks, "multipliers": dense_block((None,), (n_multipliers,))})
        self.n_weights = self.n_model_weights + n_multipliers
        n_ends = np.diff(self.start).max()
        self.oracle_work += n_ends * self.n_labels
        self.offsets = np.empty((max(n_ends, 1), self.n_labels))
        self.true_labeling = np.empty(self.max_code_size, dtype=np.int32)

    cpdef BlockProblem fork(self):
        return CoupledProblem(self.problem.fork(), None, self.arguments)

    cpdef remember(self, bint kept):
        self.problem.remember(kept)

    def memory(self):
        """Return the memory of the wrapped problem and the center."""
        return self.problem.memory() | self.planes()

    def restore_memory(self, kept):
        """Restore and validate the return value of `memory`."""
        self.problem.restore_memory(kept)
        self._set_center(kept)

    def planes(self):
        """Return the center of the multipliers, on which losses depend."""
        return {"center": np.array(self.center).ravel()}

    def restore_planes(self, kept):
        """Restore the center, if there is one, and validate it; other copies have center 0."""
        if "center" in kept:
            self._set_center(kept)

    def _set_center(self, kept):
        center = kept_array(kept, "center", np.float64)
        if len(center) > self.center.size or len(center) % self.n_labels:
            raise ValueError(
                f"center: {len(center)} entries, expected at most {self.center.size}, "
                f"{self.n_labels} for each copy")
        np.asarray(self.center)[:] = 0
        np.asarray(self.center).ravel()[:len(center)] = center

    def multipliers(self, w):
        """Return the multipliers at given weights, (n_copies, n_labels)."""
        self._check_weights(w)
        own = np.asarray(w)[self.n_model_weights:].reshape(-1, self.n_labels)
        return np.asarray(self.center) + np.asarray(self.scale)[:, np.newaxis] * own

    def move_center(self, w):
        """Move the center to the multipliers at given weights."""
        np.asarray(self.center)[:] = self.multipliers(w)

    def norms(self):
        """Return bounds of |phi|: the wrapped problem's, plus the features of multipliers."""
        sums = np.r_[0, np.cumsum(np.asarray(self.scale)[np.asarray(self.copy)])]
        return self.problem.norms() + np.diff(sums[np.asarray(self.start)])

    def fixed_scores(self):
        """Return the wrapped problem's fixed scores, plus the center."""
        most = np.abs(self.center).max(axis=1)
        sums = np.r_[0, np.cumsum(most[np.asarray(self.copy)])]
        return self.problem.fixed_scores() + np.diff(sums[np.asarray(self.start)])

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        return self.problem.code_size(i)

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        return self.problem.truth(i, code)

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        return self.problem.check_code(i, code)

    cdef double multiplier(
            self, Py_ssize_t end, Py_ssize_t label, const double* w) noexcept nogil:
        """Return the amount that an end of a copy adds to the score of a label."""
        cdef Py_ssize_t c = self.copy[end]
        return self.sign[end] * (
            self.center[c, label]
            + self.scale[c] * w[self.n_model_weights + c * self.n_labels + label])

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t e, k, first = self.start[i], n_ends = self.start[i + 1] - first
        for e in range(n_ends):
            for k in range(self.n_labels):
                self.offsets[e, k] = self.multiplier(first + e, k, w)
        self.problem.offset_nodes(n_ends, &self.position[0] + first, &self.offsets[0, 0])
        self.problem.maximize(i, w, loss_weight, code, answer)
        answer.work += n_ends * self.n_labels
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t end, k
        self.problem.scores(i, w, loss_weight, codes, count, out, work)
        if w == NULL:    # the potentials include multipliers
            return 0
        for end in range(self.start[i], self.start[i + 1]):
            if differ_at(codes, count, self.position[end]):
                for k in range(count):
                    out[k] += self.multiplier(end, codes[k][self.position[end]], w)
        work[0] += count * (self.start[i + 1] - self.start[i])
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        cdef Py_ssize_t end, v
        cdef double total = 0
        cdef int32_t* truth = &self.true_labeling[0]
        self.problem.loss(i, code, out)
        self.problem.truth(i, truth)
        for end in range(self.start[i], self.start[i + 1]):
            v = self.position[end]
            total += self.sign[end] * (
                self.center[self.copy[end], code[v]] - self.center[self.copy[end], truth[v]])
        out[0] += total
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t end, v
        cdef double total = 0
        self.problem.squared_distance(i, a, b, out)
        for end in range(self.start[i], self.start[i + 1]):
            v = self.position[end]
            if a[v] != b[v]:
                total += 2 * self.scale[self.copy[end]] * self.scale[self.copy[end]]
        out[0] += total
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t end, k, c
        cdef double* of_copy
        self.problem.scatter(i, codes, coefficient, count, out)
        for end in range(self.start[i], self.start[i + 1]):
            if not differ_at(codes, count, self.position[end]):
                continue
            c = self.copy[end]
            of_copy = out + self.n_model_weights + c * self.n_labels
            for k in range(count):
                of_copy[codes[k][self.position[end]]] += (
                    self.sign[end] * self.scale[c] * coefficient[k])
        return 0
