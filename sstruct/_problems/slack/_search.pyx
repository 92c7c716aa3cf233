# Design:
# (a) A search maximizes h(y) g(y) over y, with h(y) = margin + <w, phi(y) - phi(y_i)> and g(y) = L(y).
#     Its queries compute max_y h(y) + lam g(y), by the lambda-oracle, which is the max-oracle with loss
#     weight lam, or by the constrained lambda-oracle, over labelings with slopes g / h in an interval,
#     called an angle ([C15]).
# (b) A query at lam with result K bounds the product: h g <= (h + lam g)^2 / (4 lam) <= K^2 / (4 lam).
#     Labelings with a product above the best known one, b, have slopes between 1 / (u lam) and
#     u / lam, with u / (1 + u)^2 = lam b / K^2, u >= 1: there, the line h + lam g = K is above h g = b.
# (c) Angular search is exact: angles are processed by decreasing bounds. The labeling found by a query is
#     in neither of the two remaining angles, so M labelings take at most 2 M + 1 queries. Bisecting and
#     binary search only find corners of the convex hull of the points (h, g). If the points form a convex
#     set (`narrow`), one angle remains: h g has one maximum along its border, where h g' + h' g = 0, and
#     the query determines the side on which it lies.
# (d) After a bisecting search with a gap, labelings are ranked by h + lam g if the problem supports this.
#     By (b), labelings with h + lam g <= 2 sqrt(lam b) are not better, so the search is exact if all
#     others have been visited.
# (e) h and g of a labeling are computed from w, so a large lam does not reduce the accuracy.
"""Searches for the labeling with the largest product of score and loss."""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from sstruct._kernels._memory cimport grow
from sstruct._oracles.core._interval cimport Interval
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer

import numpy as np

# Relative tolerance for comparing a bound with the best value; covers rounding errors of the roots in (b).
cdef double TINY = 1e-10
# Number of queries after which a search stops with a bound; far more than observed.
cdef Py_ssize_t MAX_QUERIES = 500
# Largest ratio of lam to its initial value, or of the initial value to lam. Beyond it, improvements are
# smaller than rounding errors.
cdef double RANGE = 1e14
# If a query finds no gain beyond rounding, lam is divided by this factor.
cdef double DESCENT = 1e4
# Number of labelings that are visited by rank.
cdef Py_ssize_t MAX_RANKED = 100
# If only the truth is known to have h > 0, labelings are ranked with this ratio of lam g to h, for the
# largest g: by h, up to a small difference.
cdef double BY_SCORE = 1e-6
# Binary search ends if sqrt(lam) is known up to this relative error.
cdef double WIDTH = 1e-2
# If the ends of the bisecting search are within this factor, it continues at the intersection of their
# lines.
cdef double CLOSE = 4.0


cdef class SlackSearch:
    """Search the blocks of a problem, one at a time.

    Parameters
    ----------
    problem : BlockProblem
        The searches use its scratch memory; nothing else may use the problem at the same time.
    """

    def __init__(self, BlockProblem problem not None):
        self.problem, self.convex = problem, problem.convex
        self.best, self.found, self.truth = np.zeros((3, problem.max_code_size), dtype=np.int32)

    def __dealloc__(self):
        free(self.heap)

    cdef int run(
            self, Search search, Py_ssize_t i, const double* w, double margin,
            double start) except -1 nogil:
        """Find the best labeling of block i; `best` is the starting point, `start` the first lam.

        Writes best, value, best_h, best_g, bound, exact, n_queries, work, and lam, with which the next
        search of this block may start.
        """
        cdef double lam
        if not 0 < start < INFINITY:
            start = 1
        self.block, self.w, self.margin = i, w, margin
        self.n_queries, self.work, self.heap_size = 0, 0, 0
        self.bound, self.exact, self.lam = INFINITY, False, start
        self.problem.truth(i, &self.truth[0])
        self.place(&self.best[0], &self.best_h, &self.best_g)
        self.value = self.best_h * self.best_g
        if not (self.best_h > 0 and self.value > 0):
            memcpy(&self.best[0], &self.truth[0], self.problem.code_size(i) * sizeof(int32_t))
            self.best_h, self.best_g, self.value = margin, 0, 0
        if search == ANGULAR:
            lam = self.best_h / self.best_g if self.value > 0 else start
            if self.convex:
                self.narrow(lam)
            else:
                self.angular(lam)
        else:
            lam = self.bisect(start, search == BISECTING)
            if self.problem.has_ranking and not self.exact and search == BISECTING:
                self.visit_ranked(lam)
        # A score that is zero up to rounding would start the next search beyond RANGE.
        if self.value > 0 and self.best_h > TINY * margin:
            self.lam = self.best_h / self.best_g
        self.bound = max(self.bound, self.value)
        return 0

    cdef int place(self, const int32_t* code, double* h, double* g) except -1 nogil:
        """Compute h and g of a labeling."""
        cdef const int32_t* codes[2]
        cdef double score[2]
        codes[0], codes[1] = code, &self.truth[0]
        self.problem.scores(self.block, self.w, 0, codes, 2, score, &self.work)
        self.problem.loss(self.block, code, g)
        h[0] = self.margin + (score[0] - score[1])
        return 0

    cdef int update_best(self) except -1 nogil:
        """Update the best labeling with the result of a query."""
        self.place(&self.found[0], &self.h, &self.g)
        if self.h > 0 and self.h * self.g > self.value:
            self.value = self.h * self.g
            self.best_h, self.best_g = self.h, self.g
            memcpy(&self.best[0], &self.found[0],
                   self.problem.code_size(self.block) * sizeof(int32_t))
        return 0

    cdef int query(self, double lam) except -1 nogil:
        """Query max h + lam g."""
        cdef OracleAnswer answer
        cdef const int32_t* codes[1]
        cdef double offset = 0
        self.n_queries += 1
        self.problem.maximize(self.block, self.w, lam, &self.found[0], &answer)
        self.work += answer.work
        codes[0] = &self.truth[0]
        self.problem.scores(self.block, NULL, lam, codes, 1, &offset, &self.work)
        self.update_best()
        self.bounded = answer.exact or self.problem.bounded
        self.query_bound = self.margin + ((answer.value if answer.exact else answer.bound) - offset)
        if answer.exact or not self.bounded:
            self.query_bound = max(self.query_bound, self.h + lam * self.g)
        return 0

    cdef bint query_between(self, const Interval* interval, double lam) except -1 nogil:
        """Query the maximum over an interval; return whether it contains a labeling."""
        cdef OracleAnswer answer
        self.n_queries += 1
        self.problem.maximize_between(
            self.block, self.w, lam, self.margin, interval, &self.found[0], &answer)
        self.work += answer.work
        if answer.found:
            self.update_best()
            self.bounded = answer.exact or self.problem.bounded
            self.query_bound = self.h + lam * self.g
            if self.bounded and not answer.exact:
                self.query_bound = max(self.query_bound, answer.bound)
        return answer.found

    cdef int angular(self, double start) except -1 nogil:
        """Best-first angular search ([C15], section 5 and appendix F)."""
        cdef Angle angle, child
        cdef Interval whole, part
        cdef bint bounded = True
        cdef double lam, product_bound, c, u
        # Labelings with loss zero have product zero.
        whole.lower, whole.upper, whole.above, whole.below = 0, INFINITY, True, False
        angle.interval, angle.product_bound = whole, INFINITY
        self.push(angle)
        self.bound = 0
        while self.heap_size > 0:
            if self.heap[0].product_bound <= (1 + TINY) * self.value:
                break
            if self.n_queries >= MAX_QUERIES:
                self.bound = self.heap[0].product_bound
                break
            angle = self.pop()
            whole = angle.interval
            if whole.upper < INFINITY:
                lam = 1 / (sqrt(whole.lower) * sqrt(whole.upper))
            elif whole.lower == 0:
                lam = start
            else:   # a score was zero up to rounding; other labelings have such scores too, or larger slopes
                lam = 1 / (DESCENT * whole.lower)
                if lam < start / RANGE:
                    continue
            if not self.query_between(&whole, lam):
                continue
            bounded = bounded and self.bounded
            product_bound = min(angle.product_bound, self.query_bound * self.query_bound / (4 * lam))
            if product_bound <= (1 + TINY) * self.value:
                continue
            c = lam * self.value / (self.query_bound * self.query_bound)
            u = (1 - 2 * c + sqrt(max(1 - 4 * c, 0))) / (2 * c)
            child.product_bound = product_bound
            # The angle of larger slopes, up to the slope that (b) excludes.
            part.lower, part.upper = 1 / lam, min(whole.upper, u * (1 - TINY) / lam)
            part.above, part.below = False, whole.below and part.upper == whole.upper
            if part.upper > part.lower:
                child.interval = part
                self.push(child)
            part.lower, part.upper = max(whole.lower, (1 + TINY) / (u * lam)), 1 / lam
            part.above, part.below = whole.above and part.lower == whole.lower, True
            if part.upper > part.lower:
                child.interval = part
                self.push(child)
        self.exact = bounded and self.bound <= self.value
        if not bounded:
            self.bound = INFINITY
        return 0

    cdef int narrow(self, double start) except -1 nogil:
        """Angular search in a `convex` problem: a single angle that shrinks.

        In a convex set, the best labeling lies between the result of a query at lam and the slope 1 / lam.
        The next lam is that of the line through the last results on both sides. If nothing is beyond this
        line, the best labeling is on it, at the slope 1 / lam, which is then queried.
        """
        cdef Interval angle, ray
        cdef double lam = start, flat_h = 0, flat_g = 0, steep_h = 0, steep_g = 0, next_lam
        cdef bint bounded = True, flat = False, steep = False, meets = False
        angle.lower, angle.upper, angle.above, angle.below = 0, INFINITY, True, False
        self.bound = INFINITY
        while self.n_queries < MAX_QUERIES:
            if not self.query_between(&angle, lam):
                if self.n_queries == 1:     # no labeling has a positive product
                    self.bound = 0
                break
            bounded = bounded and self.bounded
            self.bound = min(self.bound, self.query_bound * self.query_bound / (4 * lam))
            if self.bound <= (1 + TINY) * self.value:
                break
            if meets and self.query_bound <= (1 + TINY) * (flat_h + lam * flat_g):
                ray.lower = ray.upper = 1 / lam
                ray.above = ray.below = False
                self.query_between(&ray, lam)
                break
            if self.h > lam * self.g:
                flat, flat_h, flat_g = True, self.h, self.g
                angle.upper = min(angle.upper, 1 / lam)
                angle.lower = max(angle.lower, (1 - TINY) * self.g / self.h)
                angle.above = angle.above and angle.lower == 0
            else:
                steep, steep_h, steep_g = True, self.h, self.g
                angle.lower = max(angle.lower, 1 / lam)
                angle.upper = min(angle.upper, (1 + TINY) * self.g / self.h)
                angle.above = False
            if not angle.lower <= angle.upper:
                break
            next_lam = self.h / self.g
            meets = flat and steep and flat_h > steep_h and steep_g > flat_g
            if meets:
                next_lam = (flat_h - steep_h) / (steep_g - flat_g)
                # If the maximum of the line is beyond its ends, one of the ends is the best.
                if flat_h <= next_lam * flat_g:
                    next_lam, meets = flat_h / flat_g, False
                elif steep_h >= next_lam * steep_g:
                    next_lam, meets = steep_h / steep_g, False
            if next_lam == lam or not 0 < next_lam < INFINITY:
                break
            lam = next_lam
        if self.bound <= (1 + TINY) * self.value:
            self.bound = self.value
        self.exact = bounded and self.bound <= self.value
        if not bounded:
            self.bound = INFINITY
        return 0

    cdef int visit_ranked(self, double lam) except -1 nogil:
        """Visit labelings by decreasing h + lam g until no other one can be better."""
        cdef const int32_t* codes[1]
        cdef double offset = 0, total, bound = 0
        cdef Py_ssize_t k
        for k in range(MAX_RANKED):
            total = self.problem.ranked(
                self.block, self.w, lam, k == 0, &self.found[0], &self.work)
            if k == 0:
                codes[0] = &self.truth[0]
                self.problem.scores(self.block, NULL, lam, codes, 1, &offset, &self.work)
            total += self.margin - offset
            bound = total * total / (4 * lam) if total > 0 else 0
            if bound <= (1 + TINY) * self.value:
                self.bound, self.exact = self.value, True
                return 0
            self.update_best()
        self.bound = min(self.bound, max(bound, self.value))
        return 0

    cdef double bisect(self, double start, bint geometric) except? -1 nogil:
        """Bisecting search, or binary search ([C15], section 4; lemma 1); return lam for `visit_ranked`.

        lam is between `low` and `high`: h >= lam g for the result at `low`, h < lam g at `high`.
        geometric : if true, use geometric means of the ends, the exclusion of slopes in (b), and finally
        the intersection of the lines at the ends; otherwise halve the interval of sqrt(lam)
        """
        cdef double low = 0, high = INFINITY, lam = start, factor = 4
        cdef double low_h = 0, low_g = 0, low_bound = 0, high_h = 0, high_g = 0, high_bound = 0
        cdef double smallest = 0, largest = INFINITY   # slopes of labelings better than the best one
        cdef double c, u, slope, bound, line, meeting = 0, best_lam = start, largest_g = 0
        cdef bint bounded = True, meets = False
        self.bound = INFINITY
        while self.n_queries < MAX_QUERIES:
            self.query(lam)
            bounded = bounded and self.bounded
            bound = self.query_bound * self.query_bound / (4 * lam) if self.query_bound > 0 else 0
            largest_g = max(largest_g, self.g)
            if bound < self.bound:
                self.bound, best_lam = bound, lam
            line = low_h + lam * low_g
            if self.h < lam * self.g:
                high, high_h, high_g, high_bound = lam, self.h, self.g, self.query_bound
            else:
                low, low_h, low_g, low_bound = lam, self.h, self.g, self.query_bound
            if low > 0 and high < INFINITY:
                # Between the ends, max h + lam g is convex in lam, and at most its chord a + b lam,
                # whose square over 4 lam is smallest at a / b.
                slope = (high_bound - low_bound) / (high - low)
                bound = low_bound - slope * low
                if (slope > 0 and low * slope < bound < high * slope
                        and slope * bound < self.bound):
                    self.bound, best_lam = slope * bound, bound / slope
            if self.bound <= (1 + TINY) * self.value:
                break
            if geometric and self.value > 0:
                c = lam * self.value / (self.query_bound * self.query_bound)
                u = (1 - 2 * c + sqrt(max(1 - 4 * c, 0))) / (2 * c)
                smallest, largest = max(smallest, 1 / (u * lam)), min(largest, u / lam)
                if smallest > (1 + TINY) * largest:   # no labeling is better
                    self.bound = self.value
                    break
            if meets and lam == meeting and self.query_bound <= (1 + TINY) * line:
                break   # there is no corner between the ends
            if high == INFINITY or low == 0:
                lam = lam * factor if high == INFINITY else lam / factor
                factor = min(factor * factor, 65536)   # its square would skip most of the range
                if not start / RANGE < lam < start * RANGE:
                    break
                continue
            meets = False
            if not geometric:
                if sqrt(high) - sqrt(low) <= WIDTH * sqrt(high):
                    break
                lam = (sqrt(low) + sqrt(high)) * (sqrt(low) + sqrt(high)) / 4
                continue
            lam = sqrt(low) * sqrt(high)
            if high_g > low_g:
                meeting = (low_h - high_h) / (high_g - low_g)
                if not (1 + TINY) * low < meeting < (1 - TINY) * high:
                    break   # the lines intersect at an end
                if high <= CLOSE * low:
                    meets, lam = True, meeting
            if not low < lam < high:
                break
        if not bounded:
            self.bound = INFINITY
        self.exact = self.bound <= (1 + TINY) * self.value
        if self.value == 0 and largest_g > 0:
            return BY_SCORE * self.margin / largest_g
        return best_lam

    cdef int push(self, Angle angle) except -1 nogil:
        """Push an angle onto the heap, which has the largest bound on top."""
        cdef Py_ssize_t k, parent
        if self.heap_size == self.heap_room:
            grow(<void**> &self.heap, 2 * self.heap_room + 16, sizeof(Angle))
            self.heap_room = 2 * self.heap_room + 16
        k = self.heap_size
        self.heap_size += 1
        while k > 0:
            parent = (k - 1) // 2
            if self.heap[parent].product_bound >= angle.product_bound:
                break
            self.heap[k] = self.heap[parent]
            k = parent
        self.heap[k] = angle
        return 0

    cdef Angle pop(self) noexcept nogil:
        """Pop the angle with the largest bound."""
        cdef Angle top = self.heap[0], last
        cdef Py_ssize_t k = 0, child
        self.heap_size -= 1
        last = self.heap[self.heap_size]
        while 2 * k + 1 < self.heap_size:
            child = 2 * k + 1
            if (child + 1 < self.heap_size
                    and self.heap[child + 1].product_bound > self.heap[child].product_bound):
                child += 1
            if last.product_bound >= self.heap[child].product_bound:
                break
            self.heap[k] = self.heap[child]
            k = child
        self.heap[k] = last
        return top
