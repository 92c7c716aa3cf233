# Design:
# (a) A chain whose runs of equal labels have scores and limits of their durations: in addition to phi
#     of _chain_problem.pyx, the number of runs of each label and bin of durations. A code is that of a
#     chain, the labels of the nodes.
# (b) A run at an end of a block that is not an end of the sequence (`starts_here`, `ends_here`) may
#     continue at nodes that are not used. Its duration is unknown: it has no duration weight and no
#     minimum duration.
# (c) The decoder gets potentials and transitions from the plain chain. Weights of durations come last,
#     as the table K x n_bins that the decoder reads.
# (d) Runs that all labelings share cancel out, and are not visited. A run is taken as shared if all
#     labelings agree at its nodes and at both neighbors.
"""Chains of segments: the joint feature map and the max-oracle of SegmentSSVM."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.segment._segment_decoder cimport SegmentDecoder, SegmentScores
from sstruct._problems.chain._chain_problem cimport MAX_PAIRS, ChainProblem
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer

import numpy as np

from sstruct._problems.chain.chain_arguments import NoLabelingError
from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.segment.segment_arguments import FIRST_BIN, number_of_bins


class NoSegmentationError(NoLabelingError):
    """A block has no labeling that limits of durations, masks and known labels allow."""

    def __str__(self):
        return f"block {self.block} of {self.length} nodes has no allowed segmentation"


cdef class SegmentProblem(ChainProblem):
    """Chains over flat rows, with weights and limits of the durations of segments.

    Parameters
    ----------
    X, chains, labels, **options : as for ChainProblem
        Chains are not cut into windows.
    model : SegmentModel
    """

    cdef SegmentDecoder decoder
    cdef readonly Py_ssize_t n_bins          # with weights, or 0
    cdef Py_ssize_t duration_at
    cdef const double* duration              # weights that the last `maximize` read
    # Scratch memory of this object.
    cdef int32_t[::1] n_differ               # before each position, at how many do labelings differ
    cdef int32_t[::1] bin_count              # K x n_bins, zeros between uses

    def __init__(self, X, chains, model, labels=None, **options):
        super().__init__(X, chains, model, labels, **options)
        if self.windowed:
            raise ValueError("segments cannot be cut into windows")
        K, bins = self.n_labels, FIRST_BIN if model.bins is None else model.bins
        if len(model.least) != K:
            raise ValueError(f"found limits of durations of {len(model.least)} labels, expected {K}")
        self.decoder = SegmentDecoder(bins, model.least, model.most)
        self.n_bins = number_of_bins(model.bins)
        self.duration_at = self._layout.starts["duration"]
        self.duration = NULL
        self.n_differ = np.zeros(self.max_code_size + 1, dtype=np.int32)
        self.bin_count = np.zeros(max(K * self.n_bins, 1), dtype=np.int32)
        self.has_product, self.product_work = False, 0
        # A step of the decoder takes about 5 scalar operations for each label and bin.
        length = np.asarray(self.length).mean()
        self.oracle_work += 5.0 * length * K * (K + max(self.n_bins, 1))
        self.batch_size = batch_size(self.n_blocks, self.oracle_work)

    cpdef BlockProblem fork(self):
        return SegmentProblem(**self.arguments)

    def with_chains(self, blocks, **arguments):
        return SegmentProblem(**(self.arguments | arguments))

    @property
    def oracle_is_quick(self):
        """Whether saving calls of the oracle does not pay: it takes longer than that of a chain."""
        return False

    def norms(self):
        """Return upper bounds of |phi|: those of a plain chain plus the number of runs."""
        return super().norms() + (np.asarray(self.length) if self.n_bins else 0)

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef SegmentScores scores
        self.potentials(i, w, loss_weight)
        self.duration = w + self.duration_at if self.n_bins > 0 else NULL
        scores.theta, scores.L, scores.KP = &self.theta[0], self.length[i], self.KP
        scores.edge, scores.split, scores.duration = self.edge, NULL, self.duration
        scores.open_start, scores.open_end = not self.starts_here[i], not self.ends_here[i]
        answer.value = self.decoder.decode(&scores, code, NULL)
        if answer.value == -INFINITY:
            with gil:
                raise NoSegmentationError(i, self.length[i])
        answer.work = 100 + 5.0 * self.length[i] * (
            self.n_labels * (self.n_labels + max(self.n_bins, 1)) + 4)
        answer.exact = True
        return 0

    cdef int64_t bin_of_run(
            self, Py_ssize_t i, const int32_t* code, Py_ssize_t first,
            Py_ssize_t* stop) noexcept nogil:
        """Find the end of the run from position `first` on.

        Return the entry of its duration in the table of weights, -1 if its duration is unknown.
        """
        cdef Py_ssize_t L = self.length[i]
        stop[0] = first + 1
        while stop[0] < L and code[stop[0]] == code[first]:
            stop[0] += 1
        if first == 0 and not self.starts_here[i] or stop[0] == L and not self.ends_here[i]:
            return -1
        return code[first] * self.n_bins + self.decoder.bin_of(stop[0] - first)

    cdef void compare(
            self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) noexcept nogil:
        """Count the positions at which labelings differ."""
        cdef Py_ssize_t l, k
        cdef int32_t n = 0
        for l in range(self.length[i]):
            for k in range(1, count):
                if codes[k][l] != codes[0][l]:
                    n += 1
                    break
            self.n_differ[l + 1] = n

    cdef bint is_shared(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t stop) noexcept nogil:
        """Return whether all labelings compared agree at a run and at both of its neighbors."""
        return self.n_differ[min(stop + 1, self.length[i])] == self.n_differ[max(first - 1, 0)]

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, first, stop
        cdef int64_t e
        cdef const double* duration = self.duration if w == NULL else w + self.duration_at
        ChainProblem.scores(self, i, w, loss_weight, codes, count, out, work)
        if self.n_bins == 0:
            return 0
        if w != NULL:
            self.compare(i, codes, count)
        for k in range(count):
            stop = 0
            while stop < self.length[i]:
                first = stop
                e = self.bin_of_run(i, codes[k], first, &stop)
                if e >= 0 and (w == NULL or not self.is_shared(i, first, stop)):
                    out[k] += duration[e]
        work[0] += count * self.length[i]
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t l, n_nodes = 0, stop
        cdef int64_t e
        cdef double total = 0
        cdef const int32_t* both[2]
        cdef int side
        ChainProblem.squared_distance(self, i, a, b, out)
        for l in range(self.length[i]):
            n_nodes += a[l] != b[l]
        if self.n_bins == 0 or n_nodes > MAX_PAIRS:    # whole planes have been summed by `scatter`
            return 0
        both[0], both[1] = a, b
        for side in range(2):
            stop = 0
            while stop < self.length[i]:
                e = self.bin_of_run(i, both[side], stop, &stop)
                if e >= 0:
                    self.bin_count[e] += 1 - 2 * side
        for side in range(2):
            stop = 0
            while stop < self.length[i]:
                e = self.bin_of_run(i, both[side], stop, &stop)
                if e >= 0:
                    total += <double> self.bin_count[e] * self.bin_count[e]
                    self.bin_count[e] = 0
        out[0] += total
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k, first, stop
        cdef int64_t e
        ChainProblem.scatter(self, i, codes, coefficient, count, out)
        if self.n_bins == 0:
            return 0
        self.compare(i, codes, count)
        for k in range(count):
            stop = 0
            while stop < self.length[i]:
                first = stop
                e = self.bin_of_run(i, codes[k], first, &stop)
                if e >= 0 and not self.is_shared(i, first, stop):
                    out[self.duration_at + e] += coefficient[k]
        return 0

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        ChainProblem.check_code(self, i, code)
        cdef Py_ssize_t first, stop = 0, L = self.length[i]
        cdef bint known
        while stop < L:
            first = stop
            self.bin_of_run(i, &code[0], first, &stop)
            known = (first > 0 or self.starts_here[i]) and (stop < L or self.ends_here[i])
            if (known and stop - first < self.decoder.least[code[first]]
                    or stop - first > self.decoder.most[code[first]]):
                raise ValueError(
                    f"block {i}: a labeling code has {stop - first} positions from {first} on with "
                    f"label {code[first]}, which the limits of durations forbid")
        return 0
