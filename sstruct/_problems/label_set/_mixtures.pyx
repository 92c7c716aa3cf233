# Design:
# (a) Under slack rescaling, the best point of the local polytope lies on an edge of the polygon of
#     (score, loss), between two of its corners (_oracles/label_set/_polygon.pyx). A labeling here is
#     therefore a mixture (1 - t) a + t b of two half-integral ones. Its code consists of t as a double in
#     two entries, the code of a and the code of b. Codes are unique: a precedes b, and b = a for t = 0.
# (b) Features and loss are linear on the polytope: scores and losses of mixtures are mixtures of those of
#     their corners, and scatters use coefficients (1 - t) c and t c. The inner problem is only called
#     with corners.
# (c) Squared distances: let p be the shares of up to four corners, with sum p = 0; then |sum_k p_k phi_k|^2
#     is -sum_{k<l} p_k p_l d_kl, where d are the distances of corners. Working sets store them, and
#     resumed fits recompute them in another order: they must have the same bits.
# (d) `maximize_product` and the constrained lambda-oracle search the polygon, exactly up to rounding. Over
#     an open interval of slopes g / h, there may be no best point. An excluded end of the interval is
#     therefore moved inwards by the share OPEN, and an excluded end at 0 to a positive slope that is at most
#     that of the best product. Let S be the scale of scores. The best mixture of the truth and the label set
#     in which only the label of largest cost c is wrong has a product of at least margin^2 c / (4 S). The
#     best product is at least that and has h <= S, so its slope is at least margin^2 c / (4 S^3).
# (e) The lambda-oracle is the inner max-oracle; its answers are corners.
"""Mixtures of two label sets of the local polytope, for relaxed decoders under slack rescaling."""

from libc.math cimport isinf
from libc.stdint cimport int32_t
from libc.string cimport memcmp, memcpy

from sstruct._oracles.core._interval cimport Interval
from sstruct._oracles.label_set._set_decoder cimport LabelLoss
from sstruct._oracles.label_set._polygon cimport MixtureAnswer, RelaxedPolygon, mixture_code_size
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer, WrappedProblem
from sstruct._problems.label_set._multilabel cimport MultilabelProblem
from sstruct._problems.core._scored_codes cimport ScoredCodes

import numpy as np

cdef enum: HEAD = 2              # number of entries of the share
cdef double OPEN = 1e-12
# Smallest loss, as a share of the sum over labels, that a mixture with the truth has beyond rounding.
cdef double MIN_SHARE = 1e-15
# Approximate number of cuts of a polygon search, for batch sizes and choices of solvers.
cdef double CUTS = 6


cdef inline double share_of(const int32_t* code) noexcept nogil:
    """Return the share t of a mixture."""
    cdef double share
    memcpy(&share, code, sizeof(double))
    return share


cdef class MixtureProblem(WrappedProblem):
    """A relaxed problem of label sets whose labelings may be mixtures of two.

    Parameters
    ----------
    problem : MultilabelProblem
        With a decoder over the local polytope. Its other attributes are also available here.
    """

    cdef MultilabelProblem sets                  # `problem`, with its type
    cdef Py_ssize_t corner_size                  # number of entries of a corner's code
    # Scratch memory of this object.
    cdef RelaxedPolygon polygon
    cdef ScoredCodes corners
    cdef double[::1] weights                     # (K,): cost of an error at each label

    def __init__(self, MultilabelProblem problem not None):
        if not problem.decoder.relaxed:
            raise ValueError("mixtures require a relaxed decoder, found one of integral label sets")
        WrappedProblem.__init__(self, problem)
        self.sets, self.corner_size = problem, problem.max_code_size
        self.max_code_size = mixture_code_size(problem.n_labels, problem.n_edges)
        self.has_product = self.has_between = True
        self.product_work = CUTS * problem.oracle_work
        self.polygon, self.corners = RelaxedPolygon(), ScoredCodes()
        self.polygon.set_graph(problem.n_labels, problem.n_edges, &problem.decoder.edges[0, 0])
        self.weights = np.empty(problem.n_labels)

    @property
    def convex(self):
        """Always True, since scores and losses of mixtures fill the border of a convex polygon."""
        return True

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        self.sets.truth(i, code + HEAD)
        self.repeat(code)
        return 0

    cdef void repeat(self, int32_t* code) noexcept nogil:
        """Convert the code of a corner, already in its first place, to that of a mixture."""
        cdef double share = 0
        memcpy(code, &share, sizeof(double))
        memcpy(code + HEAD + self.corner_size, code + HEAD, self.corner_size * sizeof(int32_t))

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        self.sets.maximize(i, w, loss_weight, code + HEAD, answer)
        self.repeat(code)
        return 0

    cdef double load(self, Py_ssize_t i, const double* w, double margin) except? -1 nogil:
        """Load the scores and losses of a block into the polygon; return the inner problem's work."""
        cdef LabelLoss loss
        cdef Py_ssize_t k
        if not margin > 0:
            with gil:
                raise ValueError(f"the margin of slack rescaling must be positive, found {margin}")
        self.sets.prepare_product(i, w, margin, &loss)
        for k in range(self.sets.n_labels):
            self.weights[k] = max(loss.off[k], loss.on[k])      # one of them is 0
        self.polygon.load(
            &self.sets.theta[0], &self.sets.pair[0], False, loss.truth, &self.weights[0],
            margin)
        return self.sets.oracle_work - self.sets.decoder.work

    cdef double flattest(self, double margin) noexcept nogil:
        """Return a positive slope that is at most that of the best product, up to rounding."""
        cdef double most = 0, scale = margin / self.polygon.score_scale
        cdef Py_ssize_t k
        for k in range(self.sets.n_labels):
            most = max(most, self.weights[k])
        return max(
            scale * scale * most / (8 * self.polygon.score_scale),
            MIN_SHARE * self.polygon.loss_scale / margin)

    cdef int value_of(
            self, Py_ssize_t i, double margin, const int32_t* code, double* h, double* g,
            double* work) except -1 nogil:
        """Compute h and g of a mixture from its code and potentials, by `scores` and `loss`."""
        cdef double score = 0, of_truth
        cdef const int32_t* codes[1]
        codes[0] = code
        self.scores(i, NULL, 0, codes, 1, &score, work)
        of_truth = self.sets.constant + self.sets.decoder.score(
            &self.sets.theta[0], &self.sets.pair[0], &self.sets.truth_code[0])
        h[0] = margin + (score - of_truth)
        self.loss(i, code, g)
        return 0

    cdef int maximize_product(
            self, Py_ssize_t i, const double* w, double margin, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef MixtureAnswer found
        cdef double h = 0, g = 0
        answer.work = self.load(i, w, margin)
        self.polygon.product(code, &found)
        answer.work += found.work
        self.value_of(i, margin, code, &h, &g, &answer.work)
        if not (h > 0 and g > 0):
            self.truth(i, code)
            h, g = margin, 0
        answer.value, answer.exact = h * g, found.exact
        answer.bound = max(found.bound, answer.value)
        return 0

    cdef int maximize_between(
            self, Py_ssize_t i, const double* w, double loss_weight, double margin,
            const Interval* interval, int32_t* code, OracleAnswer* answer) except -1 nogil:
        cdef MixtureAnswer mixture
        cdef double h = 0, g = 0, lower = interval.lower, upper = interval.upper
        answer.work = self.load(i, w, margin)
        if interval.above:
            lower = max(lower * (1 + OPEN), self.flattest(margin))
        if interval.below and not isinf(upper):
            upper *= 1 - OPEN
        answer.value, answer.bound, answer.exact, answer.found = 0, 0, True, False
        if not lower <= upper or (interval.below and upper == 0):
            return 0
        self.polygon.between(loss_weight, lower, upper, code, &mixture)
        answer.work += mixture.work
        answer.found = mixture.found
        if answer.found:
            self.value_of(i, margin, code, &h, &g, &answer.work)
            answer.found = h > 0 and (g > 0 or not interval.above)
            answer.value, answer.exact = h + loss_weight * g, mixture.exact
            answer.bound = max(mixture.bound, answer.value)
        return 0

    cdef Py_ssize_t list_corners(
            self, const int32_t** codes, Py_ssize_t count) except -1 nogil:
        """List the corners of mixtures: the first of each, and the second if it is different."""
        cdef Py_ssize_t k, n = 0
        self.corners.reserve(2 * count)
        for k in range(count):
            self.corners.codes[n] = codes[k] + HEAD
            n += 1
            if share_of(codes[k]) != 0:
                self.corners.codes[n] = codes[k] + HEAD + self.corner_size
                n += 1
        return n

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, at = 0, n = self.list_corners(codes, count)
        cdef double share
        cdef const double* value = self.corners.value
        self.sets.scores(i, w, loss_weight, self.corners.codes, n, self.corners.value, work)
        for k in range(count):
            share = share_of(codes[k])
            out[k] = value[at]
            if share != 0:
                out[k] = (1 - share) * value[at] + share * value[at + 1]
                at += 1
            at += 1
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        cdef double share = share_of(code), of_second = 0
        self.sets.loss(i, code + HEAD, out)
        if share != 0:
            self.sets.loss(i, code + HEAD + self.corner_size, &of_second)
            out[0] = (1 - share) * out[0] + share * of_second
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef const int32_t* corner[4]
        cdef double part[4]
        cdef double share_a, share_b, between = 0
        cdef Py_ssize_t k, j, size = self.corner_size
        # Always in the same order, so the distances from a to b and from b to a have equal bits.
        if memcmp(a, b, self.max_code_size * sizeof(int32_t)) > 0:
            a, b = b, a
        share_a, share_b, out[0] = share_of(a), share_of(b), 0
        if memcmp(a + HEAD, b + HEAD, 2 * size * sizeof(int32_t)) == 0:
            # Both mix the same corners, so that nothing cancels.
            if share_a != share_b:
                self.sets.squared_distance(i, a + HEAD, a + HEAD + size, &between)
                out[0] = (share_a - share_b) * (share_a - share_b) * between
            return 0
        corner[0], corner[1] = a + HEAD, a + HEAD + size
        corner[2], corner[3] = b + HEAD, b + HEAD + size
        part[0], part[1], part[2], part[3] = 1 - share_a, share_a, share_b - 1, -share_b
        for k in range(4):
            for j in range(k):
                if part[k] != 0 and part[j] != 0:
                    self.sets.squared_distance(i, corner[k], corner[j], &between)
                    out[0] -= part[k] * part[j] * between
        out[0] = max(out[0], <double> 0)
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k, at = 0, n = self.list_corners(codes, count)
        cdef double share
        cdef double* value = self.corners.value
        for k in range(count):
            share = share_of(codes[k])
            value[at] = (1 - share) * coefficient[k]
            if share != 0:
                at += 1
                value[at] = share * coefficient[k]
            at += 1
        return self.sets.scatter(i, self.corners.codes, value, n, out)

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        cdef Py_ssize_t k, size = self.corner_size
        cdef double share
        BlockProblem.check_code(self, i, code)
        share = share_of(&code[0])
        # -0.0 is not allowed.
        if not 0 <= share < 1 or (share == 0 and (code[0] or code[1])):
            raise ValueError(f"block {i}: the share of a mixture is {share}, expected a value in [0, 1)")
        self.sets.check_code(i, code[HEAD:HEAD + size])
        self.sets.check_code(i, code[HEAD + size:])
        for k in range(HEAD, HEAD + size):
            if code[k] != code[k + size]:
                if share == 0 or code[k] > code[k + size]:
                    raise ValueError(
                        f"block {i}: the labelings of a mixture are not sorted, or there are two for "
                        "share 0")
                return 0
        if share != 0:
            raise ValueError(f"block {i}: a mixture of a labeling with itself has share {share}")
        return 0
