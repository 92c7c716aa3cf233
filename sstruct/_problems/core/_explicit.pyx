# Design:
# (a) A code is the plane itself: phi(x_i, y) - phi(x_i, y_i), then L_i(y), each double as two int32.
#     If there are few weights per node of a labeling, as for images, scores are then products of short
#     vectors, whatever the structure.
# (b) The oracle is that of the inner problem. Labelings with equal planes are treated as one.
# (c) Codes have an even size. In a working set and in a batch, where codes are aligned to eight bytes,
#     their doubles are therefore aligned too.
# (d) A plane from a file or a fitted model cannot be trusted: if a fit writes planes, a labeling of each
#     plane is stored with it (`keep_labelings`), from which the plane is recomputed.
"""Wrapper for any problem that replaces compact labelings by explicit planes."""

from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer, WrappedProblem

import numpy as np

from sstruct._problems.core.kept_arrays import kept_array

cdef extern from "sstruct/_kernels/kernels.h":
    void sstruct_products(
        const double* rows, int64_t count, int64_t n, const double* w, double* out) noexcept nogil
    double sstruct_squared_norm(const double* w, int64_t size) noexcept nogil

# Work of a multiply-add in long vectors, relative to scalar ones.
cdef double VECTOR_WORK = 1.0 / 8
# Up to this number of weights per node of a labeling, planes are worth their memory. On superpixels
# (four weights per node), fits were ten times as fast as with labelings and used eight times the memory.
cdef double WEIGHTS_PER_NODE = 16
# Largest difference between planes computed on two machines, as a share of their largest entry.
cdef double ROUNDING = 1e-9


def explicit_where_cheaper(BlockProblem problem not None):
    """Return the problem with explicit planes, or the problem itself if it has many weights per node.

    The score of a plane takes a multiply-add per weight, that of a labeling a feature row per node
    where it differs from others. A plane takes 2 n_weights / n_nodes times the memory.
    """
    cdef Py_ssize_t i, n_nodes = 0
    for i in range(problem.n_blocks):
        n_nodes += problem.code_size(i)
    if problem.n_weights * problem.n_blocks <= WEIGHTS_PER_NODE * n_nodes:
        return ExplicitProblem(problem)
    return problem


cdef class LabelingsOfPlanes:
    """A labeling of each plane in use, by block and the bytes of the plane; shared by forks.

    Only one thread may use a block at a time.
    """

    cdef list of_block                    # one dict per block: a labeling of each plane in use
    cdef bint open

    def __init__(self, Py_ssize_t n_blocks):
        self.of_block, self.open = [{} for _ in range(n_blocks)], True


cdef class ExplicitProblem(WrappedProblem):
    """A problem whose codes are planes.

    Parameters
    ----------
    problem : BlockProblem
        Answers the oracle calls and provides the joint feature map and the loss; its other
        attributes are also available on this problem.

    Notes
    -----
    Scores are relative to those of the truths. Terms of `problem`'s scores other than ``<w, phi>``
    are treated as loss and multiplied by the loss weight. If there are costs that are not part of the
    loss, only loss weight 1 is therefore correct, as in training with margin rescaling.
    """

    cdef double[::1] difference, last_w   # last_w: weights of the last oracle call, for `scores`
    cdef int32_t[::1] labeling, true_labeling
    cdef LabelingsOfPlanes labelings      # or None

    def __init__(self, BlockProblem problem not None):
        WrappedProblem.__init__(self, problem)
        self.max_code_size = 2 * (problem.n_weights + 1)
        self.oracle_work += problem.n_weights
        self.difference, self.last_w = np.empty((2, problem.n_weights))
        self.labeling, self.true_labeling = np.empty((2, problem.max_code_size), dtype=np.int32)

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        memset(code, 0, self.max_code_size * sizeof(int32_t))
        return 0

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef double* plane = <double*> code
        cdef double excess
        self.problem.maximize(i, w, loss_weight, &self.labeling[0], answer)
        excess = answer.bound - answer.value if self.bounded else 0
        self.write_plane(i, plane)
        if self.labelings is not None and self.labelings.open:
            with gil:
                self.keep(i, (<const char*> plane)[:self.code_bytes()])
        sstruct_products(plane, 1, self.n_weights, w, &answer.value)
        answer.value += loss_weight * plane[self.n_weights]
        answer.bound = answer.value + excess
        memcpy(&self.last_w[0], w, self.n_weights * sizeof(double))
        answer.work += self.n_weights
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k
        if w == NULL:
            w = &self.last_w[0]
        for k in range(count):
            sstruct_products(<const double*> codes[k], 1, self.n_weights, w, &out[k])
            out[k] += loss_weight * (<const double*> codes[k])[self.n_weights]
        work[0] += count * (1 + VECTOR_WORK * self.n_weights)
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        out[0] = (<const double*> code)[self.n_weights]
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t j
        for j in range(self.n_weights):
            self.difference[j] = (<const double*> a)[j] - (<const double*> b)[j]
        out[0] = sstruct_squared_norm(&self.difference[0], self.n_weights)
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        # Local copies: the compiler must assume that members may alias `out`.
        cdef Py_ssize_t j, k, size = self.n_weights
        cdef const double* plane
        cdef double step
        for k in range(count):
            plane = <const double*> codes[k]
            step = coefficient[k]
            for j in range(size):
                out[j] += step * plane[j]
        return 0

    cdef int write_plane(self, Py_ssize_t i, double* plane) except -1 nogil:
        """Write the plane of the labeling in scratch memory."""
        cdef Py_ssize_t j
        self.problem.truth(i, &self.true_labeling[0])
        memset(plane, 0, self.n_weights * sizeof(double))
        self.problem.exchange(i, &self.labeling[0], &self.true_labeling[0], 1.0, plane)
        self.problem.loss(i, &self.labeling[0], &plane[self.n_weights])
        for j in range(self.n_weights + 1):
            plane[j] += 0.0   # -0 becomes 0, so that equal planes have equal bits
        return 0

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        BlockProblem.check_code(self, i, code)
        plane = np.array(code).view(np.float64)
        cdef Py_ssize_t j
        for j in range(plane.shape[0]):
            if not isfinite(plane[j]):
                raise ValueError(
                    f"block {i}: entry {j} of a plane is {plane[j]}, expected a finite number")
        if self.labelings is None or not plane.any():
            return 0
        known, name = self.labelings.of_block[i], plane.tobytes()
        if name in known:
            return 0
        # Sums on another machine may have a different order.
        for other in known:
            found = np.frombuffer(other)
            if np.abs(found - plane).max() <= ROUNDING * np.abs(found).max():
                known[name] = known[other]
                return 0
        raise ValueError(f"block {i}: a plane does not belong to any of the stored labelings")

    cpdef BlockProblem fork(self):
        cdef ExplicitProblem other = ExplicitProblem(self.problem.fork())
        other.labelings, other.keeps_planes = self.labelings, self.keeps_planes
        return other

    def keep_labelings(self):
        """Store a labeling of each plane in use, so that restored planes can be verified."""
        self.labelings, self.keeps_planes = LabelingsOfPlanes(self.n_blocks), True

    cdef Py_ssize_t code_bytes(self) noexcept nogil:
        return (self.n_weights + 1) * sizeof(double)

    cdef int keep(self, Py_ssize_t i, bytes plane) except -1:
        """Store the labeling in scratch memory as that of a plane, in the smallest dtype."""
        cdef dict known = self.labelings.of_block[i]
        if plane not in known:
            labels = np.asarray(self.labeling)[:self.problem.code_size(i)]
            narrow = np.int32 if labels.min() < 0 else np.min_scalar_type(int(labels.max()))
            known[plane] = labels.astype(narrow)
        return 0

    cdef int retain(
            self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) except -1 nogil:
        if self.labelings is not None:
            with gil:
                self.keep_alone(i, codes, count)
        return 0

    cdef int keep_alone(self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) except -1:
        """Keep the stored labelings of the given planes of a block, and remove all others."""
        cdef Py_ssize_t k
        cdef dict known = self.labelings.of_block[i], kept = {}
        for k in range(count):
            plane = (<const char*> codes[k])[:self.code_bytes()]
            if plane in known:
                kept[plane] = known[plane]
        self.labelings.of_block[i] = kept
        return 0

    cpdef remember(self, bint kept):
        if self.labelings is not None:
            self.labelings.open = kept
        self.problem.remember(kept)

    def planes(self):
        """Return the labelings of all planes: their numbers per block, and their codes."""
        if self.labelings is None:
            return {}
        kept = [labels for known in self.labelings.of_block for labels in known.values()]
        count = np.array([len(known) for known in self.labelings.of_block], dtype=np.int64)
        labels = np.concatenate([np.empty(0, dtype=np.int32), *kept]).astype(np.int32)
        return {"plane_count": count, "plane_labels": labels}

    def restore_planes(self, kept):
        """Restore the labelings of `planes` for the first blocks, and recompute their planes."""
        cdef Py_ssize_t i, length, at = 0
        cdef const int32_t[::1] labels
        cdef double[::1] plane = np.empty(self.n_weights + 1)
        if self.labelings is None:
            return
        labels = kept_array(kept, "plane_labels", np.int32)
        count = kept_array(kept, "plane_count", np.int64, least=0, most=labels.shape[0])
        if len(count) > self.n_blocks:
            raise ValueError(f"plane_count: expected {self.n_blocks} entries, found {len(count)}")
        for i in range(len(count)):
            length = self.problem.code_size(i)
            if count[i] > (labels.shape[0] - at) // length:
                raise ValueError(
                    f"plane_labels: {labels.shape[0]} entries are too few for the labelings of block {i}")
            for _ in range(count[i]):
                self.problem.check_code(i, labels[at:at + length])
                self.labeling[:length] = labels[at:at + length]
                self.write_plane(i, &plane[0])
                self.keep(i, np.asarray(plane).tobytes())
                at += length
        if at != labels.shape[0]:
            raise ValueError(f"plane_labels: {labels.shape[0]} entries, expected {at}")

    def memory(self):
        """Return the state of the inner problem, and the labelings of planes."""
        return {**self.problem.memory(), **self.planes()}

    def restore_memory(self, kept):
        """Restore the state of `memory`."""
        self.problem.restore_memory(kept)
        self.restore_planes(kept)
