# Design:
# (a) The interface of decoders for problems of label sets: f(y) = sum_k theta_k y_k + sum_e pair_e y_u
#     y_v for y in {0, 1}^K. Every pairwise table has this form, up to a constant and node scores.
# (b) Labels and edges are the same in all calls, so a decoder is created once per model. Edges
#     (u, v) with u < v are sorted by u and then v, so edges with the same lower end are consecutive.
# (c) The default implementation of `marginals` forces each label in turn; some decoders are faster.
# (d) An object owns scratch memory: one per thread, created by `fork`.
"""Base class of decoders of label sets with interactions."""

from libc.math cimport fabs
from libc.stdint cimport int32_t

import numpy as np

from sstruct._kernels._random cimport Random
from sstruct._oracles.core._edges import checked_simple_edges
from sstruct._oracles.core._interval cimport Interval
from sstruct._oracles.label_set._codes cimport edge_bit, relaxed_code_size, twice_both


def ordered_edges(edges, n_labels):
    """Return sorted edges with u < v as int32 (E, 2); raise ValueError for duplicates and loops."""
    edges = np.sort(checked_simple_edges(edges, n_labels, "labels"), axis=1)
    return np.ascontiguousarray(edges[np.lexsort((edges[:, 1], edges[:, 0]))])


cdef class LabelDecoder:
    """Base class of decoders that find label sets of highest score.

    Attributes
    ----------
    n_labels, n_edges : int
    relaxed : bool
        Whether codes may be half-integral.
    code_size : int
        Number of int32 entries of a code.
    has_product, has_between : bool
        Whether ``maximize_product`` and ``maximize_between`` are supported.
    counts_errors : bool
        Whether ``maximize_product`` requires a loss with equal costs of all errors.
    """

    def _set_model(self, n_labels, edges, relaxed=False):
        """Set the number of labels, the edges, and whether codes may be half-integral."""
        if n_labels < 1:
            raise ValueError(f"got {n_labels} labels, expected at least one")
        self.n_labels = n_labels
        edges = ordered_edges(np.empty((0, 2), dtype=np.int32) if edges is None else edges, n_labels)
        self.n_edges, self.relaxed = len(edges), relaxed
        self.code_size = relaxed_code_size(n_labels, self.n_edges) if relaxed else n_labels
        self.first = np.searchsorted(edges[:, 0], np.arange(n_labels + 1)).astype(np.int32)
        # At least one row, since the first entry of an empty array has no address.
        self.edges = edges if len(edges) else np.zeros((1, 2), dtype=np.int32)
        self.parents = np.empty(0, dtype=np.int32)
        self._set_scratch()

    def _set_constraints(self, constraints):
        """Set the SetConstraints, or None; raise ValueError for another number of labels."""
        if constraints is not None and constraints.n_labels != self.n_labels:
            raise ValueError(
                f"constraints are for {constraints.n_labels} labels, expected {self.n_labels}")
        self.constraints = constraints

    def _set_scratch(self):
        self.forced = np.empty(self.n_labels)
        self.forced_code = np.empty(self.code_size, dtype=np.int32)

    cdef double score(
            self, const double* theta, const double* pair, const int32_t* code) noexcept nogil:
        """Return f of a code, which may be half-integral. O(K + edges whose lower end is not off)."""
        cdef Py_ssize_t u, e, K = self.n_labels
        cdef const int32_t* edge = &self.edges[0, 0]
        cdef double total = 0
        for u in range(K):
            if code[u] == 0:
                continue
            total += theta[u] * code[u]
            for e in range(self.first[u], self.first[u + 1]):
                if code[edge[2 * e + 1]] != 0:
                    total += pair[e] * twice_both(code, K, e, <int32_t> u, edge[2 * e + 1])
        return 0.5 * total

    cdef int maximize(
            self, const double* theta, const double* pair, int32_t* code,
            LabelAnswer* answer) except -1 nogil:
        """Write argmax_y f(y)."""
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.maximize")

    cdef int maximize_product(
            self, const double* theta, const double* pair, const LabelLoss* loss, double offset,
            int32_t* code, LabelAnswer* answer) except -1 nogil:
        """Write argmax_y L(y) (offset + f(y)), or the truth if no value is positive."""
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.maximize_product")

    cdef int maximize_between(
            self, const double* theta, const double* pair, const LabelLoss* loss, double offset,
            double loss_weight, const Interval* interval, int32_t* code,
            LabelAnswer* answer) except -1 nogil:
        """Write argmax_y h(y) + loss_weight L(y) subject to L / h in an interval; h = offset + f.

        `found` of the answer is False if no labeling satisfies the constraint.
        """
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.maximize_between")

    cdef int marginals(
            self, const double* theta, const double* pair, double* out) except -1 nogil:
        """Write, for each label, the best f with the label on minus the best f with the label off.

        Makes two decodings per label, with its score so high or so low that edges cannot outweigh it.
        Decoders with constraints have their own method, since other labels may outweigh such a score.
        """
        cdef Py_ssize_t k, e, K = self.n_labels
        cdef const int32_t* edge = &self.edges[0, 0]
        cdef double* forced = &self.forced[0]
        cdef int32_t* code = &self.forced_code[0]
        cdef LabelAnswer answer
        cdef double strength, on
        for k in range(K):
            forced[k] = theta[k]
        for k in range(K):
            strength = 1 + fabs(theta[k])
            for e in range(self.n_edges):
                if edge[2 * e] == k or edge[2 * e + 1] == k:
                    strength += fabs(pair[e])
            forced[k] = strength
            self.maximize(forced, pair, code, &answer)
            on = self.score(theta, pair, code)
            forced[k] = -strength
            self.maximize(forced, pair, code, &answer)
            out[k] = on - self.score(theta, pair, code)
            forced[k] = theta[k]
        return 0

    cdef double log_partition(
            self, const double* theta, const double* pair, const int32_t* known,
            double scale) except? -1 nogil:
        """Return log(sum of exp(scale * f(y)) over all sets y that agree with known labels).

        It is -inf if there are no such sets. Not all decoders support this method.

        known : (K,) 1 if a label is on, 0 if it is off, -1 if it is free; NULL if all labels are free
        """
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.log_partition")

    cdef int probabilities(self, double* out) except -1 nogil:
        """Write the probability of each label, after `log_partition`, which must not have returned -inf."""
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.probabilities")

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        """Draw a set, as zeros and ones, after `log_partition`, which must not have returned -inf."""
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.sample")

    cpdef int check_code(self, const int32_t[::1] code) except -1:
        """Raise ValueError unless `code` is a label set that the model allows."""
        cdef Py_ssize_t k, e, K = self.n_labels
        if code.shape[0] != self.code_size:
            raise ValueError(
                f"labeling code of {code.shape[0]} entries, expected {self.code_size}")
        for k in range(K):
            if code[k] != 0 and code[k] != 2 and not (self.relaxed and code[k] == 1):
                raise ValueError(
                    f"label {k} has the code {code[k]}, expected 0 (off), 2 (on) or, for relaxed decoders, 1")
        for k in range(self.parents.shape[0]):
            if code[k] == 2 and self.parents[k] >= 0 and code[self.parents[k]] == 0:
                raise ValueError(
                    f"labeling code has label {k} without its parent {self.parents[k]}")
        if self.constraints is not None and self.constraints.violated(&code[0]) >= 0:
            raise ValueError(
                f"labeling code violates constraint {self.constraints.violated(&code[0])}")
        for e in range(32 * (self.code_size - K)):
            if edge_bit(&code[0], K, e) and (
                    e >= self.n_edges or code[self.edges[e, 0]] != 1 or code[self.edges[e, 1]] != 1):
                raise ValueError(f"labeling code has the bit of edge {e}, which does not join two halves")
        return 0

    cpdef LabelDecoder fork(self):
        """Return a decoder of the same labels and edges with separate scratch memory."""
        raise NotImplementedError(f"{type(self).__name__}.fork")

    cdef int _share(self, LabelDecoder other) except -1:
        """Copy the shared attributes to a fork."""
        other.n_labels, other.n_edges, other.code_size = self.n_labels, self.n_edges, self.code_size
        other.relaxed = self.relaxed
        other.work, other.product_work = self.work, self.product_work
        other.has_product = self.has_product
        other.counts_errors, other.has_between = self.counts_errors, self.has_between
        other.edges, other.first, other.parents = self.edges, self.first, self.parents
        other.constraints = self.constraints
        other._set_scratch()
        return 0

    @property
    def edge_list(self):
        """Return the edges (E, 2) in the decoder's order."""
        return np.asarray(self.edges)[:self.n_edges].copy()


def nearest_sets(LabelDecoder decoder not None, sets, known):
    """Return, for each of some sets, a valid set with the fewest differences from it.

    Parameters
    ----------
    decoder : LabelDecoder
    sets : ndarray of int of shape (n, K)
        0 or 1.
    known : ndarray of int of shape (n, K) or None
        1 for labels that must be on, 0 for labels that must be off, -1 for others.

    Returns
    -------
    ndarray of int32 of shape (n, K)
        If no valid set agrees with all known labels of a row, some of them differ.
    """
    K = decoder.n_labels
    scores = np.where(np.asarray(sets) > 0, 1.0, -1.0)
    if known is not None:
        scores = np.where(known < 0, scores, np.where(known > 0, K + 1.0, -K - 1.0))
    out = np.empty((len(scores), decoder.code_size), dtype=np.int32)
    cdef const double[:, ::1] theta = np.ascontiguousarray(scores)
    cdef double[::1] pair = np.zeros(max(decoder.n_edges, 1))
    cdef int32_t[:, ::1] code = out
    cdef LabelAnswer answer
    cdef Py_ssize_t i
    with nogil:
        for i in range(theta.shape[0]):
            decoder.maximize(&theta[i, 0], &pair[0], &code[i, 0], &answer)
    return out[:, :K] // 2
