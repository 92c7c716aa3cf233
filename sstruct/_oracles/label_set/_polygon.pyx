# Design:
# (a) Consider a score f and a loss with respect to a true label set, both linear on the local polytope
#     of `_roof_duality`: h(q) = margin + f(q) - f(truth), which is positive at the truth, and g(q) =
#     sum_k c_k |q_k - truth_k|. The points (h, g) form a convex polygon with half-integral corners;
#     the oracle of a direction (one cut) returns a corner.
# (b) `between`, the constrained lambda-oracle: maximize h + lambda g in the angle lower h <= g <=
#     upper h, h > 0. If the corner of direction (1, lambda) lies in the angle, it is optimal. If not,
#     the optimum is where the ray that bounds the angle on the side of the corner leaves the polygon:
#     r = g - slope h is 0 there, and h is maximal. Given corners on both sides of the ray, the direction in
#     which both have the same value is queried, until it returns nothing beyond the edge between them.
# (c) `product`, the max-oracle of slack rescaling: maximize h g. If the query of direction (1, mu)
#     returns the corner p, all points satisfy h + mu g <= h_p + mu g_p. The optimum is at least as good
#     as p, so its h lies between h_p and mu g_p: it is on the side of smaller h if h_p > mu g_p, and of
#     larger h otherwise. Its edge is found as in (b); on the edge, h g is a parabola.
# (d) Directions (1, mu) differ only in the scores of labels. If dominance leaves most labels undecided
#     (many scores are similar here, unlike in standard decoding), the cut of all labels is kept, and
#     its flow is reused for the next direction.
# (e) Every direction gives an upper bound. A search stops once its mixture attains the bound.
# (f) The result is a MIXTURE (1 - t) a + t b of two corners. Its CODE: t as a double in two entries,
#     the code of a, the code of b; a precedes b lexicographically, and b is a if t = 0. Every step
#     finds a new corner or is the last. MAX_STEPS is a safeguard against rounding errors; after that
#     many steps, a result is marked as exact only if it attains its bound.
# (H. Choi, O. Meshi and N. Srebro. Fast and scalable structural SVM with slack rescaling. AISTATS
# 2016, equation 12, for linear programs.)
"""Oracles of slack rescaling over the local polytope of label sets, by minimum cuts."""

from libc.math cimport INFINITY, fabs, isinf
from libc.stdint cimport int32_t
from libc.string cimport memcmp, memcpy

from sstruct._kernels._constants cimport ROUNDING
from sstruct._oracles.label_set._codes cimport twice_both

cdef enum: MAX_STEPS = 100
cdef double MAX_SLOPE = 1e3     # largest slope for which a flow is reused; rounding errors grow with it
cdef double STEEPEST = 1e6      # slope that replaces an infinite one, relative to the largest g / margin


cdef class RelaxedPolygon:
    """Oracles over the polygon of scores and losses of one sample; not thread-safe.

    Call `set_graph` and `load` first, then `between` and `product` any number of times.
    """

    def __cinit__(self):
        self.relaxed = RelaxedLabels()

    cdef int set_graph(
            self, Py_ssize_t n_labels, Py_ssize_t n_edges, const int32_t* edges) except -1 nogil:
        """Copy the edges (n_edges, 2) of a graph. O(K + E)."""
        cdef Py_ssize_t size = relaxed_code_size(n_labels, n_edges)
        self.n_labels = self.n_edges = 0
        self.relaxed.set_graph(n_labels, n_edges, edges)
        self.grow(<void**> &self.node, n_labels, sizeof(double))
        self.grow(<void**> &self.charge, n_labels, sizeof(double))
        self.grow(<void**> &self.interaction, n_edges, sizeof(double))
        self.grow(<void**> &self.codes, 3 * size, sizeof(int32_t))
        self.start.code, self.end.code = self.codes, self.codes + size
        self.other.code = self.codes + 2 * size
        self.n_labels, self.n_edges, self.size = n_labels, n_edges, size
        return 0

    cdef void load(
            self, const double* node_scores, const double* edge_scores, bint tables,
            const int32_t* truth, const double* weights, double margin) noexcept nogil:
        """Set the scores, as in `RelaxedLabels.load`, the true labels (n_labels,), and the costs of errors.

        weights : (n_labels,), >= 0, or NULL for ones    margin : > 0
        """
        cdef Py_ssize_t k, e
        cdef double weight
        self.relaxed.load(node_scores, edge_scores, tables)
        self.margin = margin
        self.sign = 0
        self.hard = self.whole = False
        self.true_score = self.true_loss = self.score_scale = self.loss_scale = 0
        for k in range(self.n_labels):
            weight = 1 if weights == NULL else weights[k]
            self.node[k] = self.relaxed.node[k]
            self.charge[k] = -weight if truth[k] else weight
            self.loss_scale += weight
            self.score_scale += fabs(self.node[k])
            if truth[k]:
                self.true_loss += weight
                self.true_score += self.node[k]
        for e in range(self.n_edges):
            self.interaction[e] = self.relaxed.interaction[e]
            self.score_scale += fabs(self.interaction[e])
            if truth[self.relaxed.edges[2 * e]] and truth[self.relaxed.edges[2 * e + 1]]:
                self.true_score += self.interaction[e]
        self.score_scale += margin

    cdef int support(
            self, double h_weight, double g_weight, Corner* corner, double* work) except -1 nogil:
        """Find a corner that maximizes h_weight h + g_weight g, of any sign. At most one cut."""
        cdef Py_ssize_t k, e
        cdef double score = 0, loss = 0
        if h_weight == 0:
            for k in range(self.size):
                corner.code[k] = 2 * (k < self.n_labels and g_weight * self.charge[k] > 0)
        else:
            self.cut_corner(h_weight, g_weight, corner.code, work)
        for k in range(self.n_labels):
            score += self.node[k] * corner.code[k]
            loss += self.charge[k] * corner.code[k]
        for e in range(self.n_edges):
            score += self.interaction[e] * twice_both(
                corner.code, self.n_labels, e, self.relaxed.edges[2 * e],
                self.relaxed.edges[2 * e + 1])
        corner.h = self.margin + (0.5 * score - self.true_score)
        corner.g = self.true_loss + 0.5 * loss
        work[0] += <double> 2 * (self.n_labels + self.n_edges)
        return 0

    cdef int cut_corner(
            self, double h_weight, double g_weight, int32_t* code, double* work) except -1 nogil:
        """Write the code of a corner; h_weight must be nonzero, and is scaled to 1 or -1."""
        cdef Py_ssize_t k, e
        cdef double sign = 1 if h_weight > 0 else -1, value
        for k in range(self.n_labels):
            self.relaxed.node[k] = sign * self.node[k] + g_weight / fabs(h_weight) * self.charge[k]
        if sign != self.sign:
            for e in range(self.n_edges):
                self.relaxed.interaction[e] = sign * self.interaction[e]
            self.relaxed.constant = 0
            self.sign = sign
            self.whole = False
        if self.hard and fabs(g_weight / h_weight) * self.loss_scale <= MAX_SLOPE * self.score_scale:
            self.relaxed.maximize_again(self.whole, code, &value, work)
            self.whole = True
        else:
            self.relaxed.maximize(code, &value, work)
            self.hard = self.hard or 2 * self.relaxed.n_open > self.n_labels
            self.whole = False
        return 0

    cdef bint beyond(self, double h_weight, double g_weight, double* work) except -1 nogil:
        """Find the corner `other` of a direction; return True if it is better by more than rounding."""
        cdef double known = max(h_weight * self.start.h + g_weight * self.start.g,
                                h_weight * self.end.h + g_weight * self.end.g)
        self.support(h_weight, g_weight, &self.other, work)
        return h_weight * self.other.h + g_weight * self.other.g > known + ROUNDING * (
            fabs(h_weight) * self.score_scale + fabs(g_weight) * self.loss_scale)

    cdef void replace(self, Corner* corner) noexcept nogil:
        """Replace a corner by `other`."""
        cdef Corner old = corner[0]
        corner[0] = self.other
        self.other = old

    cdef void write(self, double share, int32_t* code, MixtureAnswer* answer) noexcept nogil:
        """Write the mixture of `start` and `end` with the given share of `end`."""
        cdef Corner a = self.start, b = self.end
        cdef Py_ssize_t k
        answer.h = (1 - share) * a.h + share * b.h
        answer.g = (1 - share) * a.g + share * b.g
        if share >= 1:
            a = b
        # The share becomes 0 if 1 - share is rounded to 1, or if only one corner remains.
        if share <= 0 or 1 - share >= 1 or share >= 1 or memcmp(
                a.code, b.code, self.size * sizeof(int32_t)) == 0:
            share = 0
            b = a
        for k in range(self.size):
            if a.code[k] != b.code[k]:
                if a.code[k] > b.code[k]:
                    a, b = b, a
                    share = 1 - share
                break
        memcpy(code, &share, sizeof(double))
        memcpy(code + 2, a.code, self.size * sizeof(int32_t))
        memcpy(code + 2 + self.size, b.code, self.size * sizeof(int32_t))

    cdef int between(
            self, double loss_weight, double lower, double upper, int32_t* code,
            MixtureAnswer* answer) except -1 nogil:
        """Write the mixture that maximizes h + loss_weight g subject to lower h <= g <= upper h, h > 0.

        loss_weight : >= 0    0 <= lower <= upper    code : `mixture_code_size` entries
        An infinite `upper` is replaced by the slope STEEPEST times the largest g divided by the margin,
        or by twice `lower` if that is larger, since the open set h > 0 may have no maximum.
        """
        cdef double slope, r_start, r_end, r, tau, side, share
        cdef int _step
        answer.exact = answer.found = True
        answer.work = 0
        if isinf(upper):
            upper = max(STEEPEST * self.loss_scale / self.margin, 2 * lower)
        self.support(1, loss_weight, &self.start, &answer.work)
        if self.start.g > upper * self.start.h:
            slope, side = upper, -1
        elif self.start.g < lower * self.start.h:
            slope, side = lower, 1
        else:
            answer.found = self.start.h > 0
            self.write(0, code, answer)
            answer.bound = answer.h + loss_weight * answer.g
            return 0
        # A corner on the other side of the ray. For the lower ray, try the largest loss first.
        self.support(slope if side < 0 else 0, side, &self.end, &answer.work)
        r_start = self.start.g - slope * self.start.h
        r_end = self.end.g - slope * self.end.h
        if side > 0 and r_end < 0:
            self.support(-slope, side, &self.end, &answer.work)
            r_end = self.end.g - slope * self.end.h
        if side * r_end < 0:
            answer.found = False
            return 0
        answer.bound = INFINITY       # upper bound on h along the ray, during the search
        answer.exact = False
        for _step in range(MAX_STEPS):
            tau = (self.start.h - self.end.h) / (r_end - r_start)
            if not self.beyond(1 - tau * slope, tau, &answer.work):
                answer.exact = True
                break
            r = self.other.g - slope * self.other.h
            answer.bound = min(answer.bound, self.other.h + tau * r)
            if side * r < 0:
                self.replace(&self.start)
                r_start = r
            else:
                self.replace(&self.end)
                r_end = r
            share = r_start / (r_start - r_end)
            if answer.bound <= (1 - share) * self.start.h + share * self.end.h:
                break
        self.write(r_start / (r_start - r_end), code, answer)
        answer.found = answer.h > 0
        answer.exact = answer.exact or answer.bound <= (1 + ROUNDING) * answer.h
        answer.bound *= 1 + loss_weight * slope
        if answer.exact or answer.bound < answer.h + loss_weight * answer.g:
            answer.bound = answer.h + loss_weight * answer.g
        return 0

    cdef int product(self, int32_t* code, MixtureAnswer* answer) except -1 nogil:
        """Write the mixture that maximizes the product h g with h > 0."""
        cdef double fall, rise, mu, top, share = 0
        cdef int _step
        answer.found = True
        answer.exact = False
        answer.work = 0
        answer.bound = INFINITY
        self.support(1, 0, &self.start, &answer.work)
        self.support(0, 1, &self.end, &answer.work)
        for _step in range(MAX_STEPS):
            fall, rise = self.start.h - self.end.h, self.end.g - self.start.g
            if rise <= 0 or fall <= 0:      # one corner has both the larger h and the larger g
                share = rise > 0
                answer.exact = True
                break
            share = min(max((rise * self.start.h - fall * self.start.g) / (2 * rise * fall),
                            <double> 0), <double> 1)
            if answer.bound <= (self.start.h - share * fall) * (self.start.g + share * rise):
                break
            mu = fall / rise
            if not self.beyond(1, mu, &answer.work):
                answer.exact = True
                break
            top = self.other.h + mu * self.other.g
            answer.bound = min(answer.bound, top * top / (4 * mu))
            if self.other.h > mu * self.other.g:
                self.replace(&self.start)
            else:
                self.replace(&self.end)
        self.write(share, code, answer)
        answer.exact = answer.exact or answer.bound <= (1 + ROUNDING) * answer.h * answer.g
        if answer.exact:
            answer.bound = answer.h * answer.g
        return 0
