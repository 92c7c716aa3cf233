# Design:
# (a) Maximizes a concave function f of a few variables, of which values and supergradients are found at
#     one point after the other. Each is a cut, an affine upper bound of f. The next point maximizes
#         min_i cut_i(p) - |p - center|^2 / (2 step),
#     where the center is the best point so far (a proximal bundle method [1]). The step is doubled if the
#     supergradient at a better point still points ahead, and halved after a point worse than the center
#     by more than the expected increase.
# (b) In the dual, the next point is center + step sum_i w_i g_i for weights w of the cuts that sum to 1
#     and minimize step / 2 |sum_i w_i g_i|^2 + sum_i w_i e_i, where e_i = cut_i(center) - f(center).
#     Weight moves from one cut to another until the weights are optimal, or a limit is reached: a
#     suboptimal point is good enough.
# (c) Values may be too high, if labels are not optimal. The value at the center is therefore the smallest
#     value of all cuts there.
# [1] K. Kiwiel. Proximity control in bundle methods for convex nondifferentiable minimization.
#     Mathematical Programming 46, 1990.
"""Maximize concave functions of a few variables."""

from libc.math cimport fabs, sqrt

import numpy as np

# Fraction of the expected increase that makes a point the center.
cdef double MIN_INCREASE = 0.1
# Limit on the changes of the weights for each point.
cdef Py_ssize_t MAX_CHANGES = 100
cdef double ROUNDING = 1e-9


cdef class PriceBundle:
    """Points at which to evaluate a concave function of up to `max_prices` variables.

    After `begin`, set `point` and call `add` with the function's value and supergradient there; then,
    as long as `propose` returns True, call `add` for the new `point`. `center` is the best one.
    """

    def __cinit__(self, Py_ssize_t max_prices, Py_ssize_t max_cuts):
        self.max_cuts = max_cuts
        self.center, self.point, self.direction = (np.zeros(max_prices + 1) for _ in range(3))
        self.weights, self.intercepts, self.excess, self.gradient = (
            np.zeros(max_cuts) for _ in range(4))
        self.cuts = np.zeros((max_cuts, max_prices + 1))
        self.products = np.zeros((max_cuts, max_cuts))

    cdef void begin(self, Py_ssize_t n_prices) noexcept nogil:
        self.n_prices, self.n_cuts = n_prices, 0

    cdef void add(self, double value, const double* slope, double length) noexcept nogil:
        """Add the value and a supergradient at `point`.

        length : length of the first step
        """
        cdef Py_ssize_t c, j, i = self.n_cuts
        cdef double ahead = 0
        self.intercepts[i] = value
        for c in range(self.n_prices):
            self.cuts[i, c] = slope[c]
            self.intercepts[i] -= slope[c] * self.point[c]
            ahead += slope[c] * self.direction[c]
        for j in range(i + 1):
            self.products[i, j] = 0
            for c in range(self.n_prices):
                self.products[i, j] += self.cuts[i, c] * self.cuts[j, c]
            self.products[j, i] = self.products[i, j]
        self.n_cuts += 1
        self.weights[i] = 0
        if i == 0:
            # Without a slope, the first point is the maximum.
            self.weights[0], self.step = 1, length / sqrt(max(self.products[0, 0], 1e-12))
        elif value < self.center_value + MIN_INCREASE * self.expected:
            if value < self.center_value - self.expected:
                self.step /= 2
            return
        elif ahead > 0:
            self.step *= 2
        self.center_value = value
        for c in range(self.n_prices):
            self.center[c] = self.point[c]

    cdef bint propose(self, double least) noexcept nogil:
        """Set `point` to the next one; return False if the expected increase is at most `least`."""
        cdef Py_ssize_t c, i
        if self.n_cuts == self.max_cuts:
            return False
        self.solve()
        self.expected = 0
        for c in range(self.n_prices):
            self.point[c] = self.center[c] + self.step * self.direction[c]
            self.expected += self.step * self.direction[c] * self.direction[c]
        for i in range(self.n_cuts):
            self.expected += self.weights[i] * self.excess[i]
        return self.expected > least

    cdef void solve(self) noexcept nogil:
        """Set `weights`, and `direction` to the weighted mean of supergradients."""
        cdef Py_ssize_t c, i, j, high, low
        cdef double square, change
        for i in range(self.n_cuts):
            self.excess[i] = self.intercepts[i]
            for c in range(self.n_prices):
                self.excess[i] += self.cuts[i, c] * self.center[c]
            self.center_value = min(self.center_value, self.excess[i])
        for i in range(self.n_cuts):
            self.excess[i] -= self.center_value
            self.gradient[i] = self.excess[i]
            for j in range(self.n_cuts):
                self.gradient[i] += self.step * self.products[i, j] * self.weights[j]
        for _ in range(MAX_CHANGES):
            high = low = 0
            for i in range(self.n_cuts):
                if self.gradient[i] < self.gradient[low]:
                    low = i
                if self.weights[i] > 0 and (
                        self.weights[high] <= 0 or self.gradient[i] > self.gradient[high]):
                    high = i
            change = self.gradient[high] - self.gradient[low]
            if change <= ROUNDING * (1 + fabs(self.gradient[high])):
                break
            square = self.step * (
                self.products[low, low] - 2 * self.products[low, high] + self.products[high, high])
            change = min(self.weights[high], change / square) if square > 0 else self.weights[high]
            self.weights[low] += change
            self.weights[high] -= change
            for i in range(self.n_cuts):
                self.gradient[i] += self.step * change * (
                    self.products[i, low] - self.products[i, high])
        for c in range(self.n_prices):
            self.direction[c] = 0
            for i in range(self.n_cuts):
                self.direction[c] += self.weights[i] * self.cuts[i, c]

    def maximize(self, function, start, double length):
        """Return the best point found, and its value, for tests.

        function : from a point (n,) to the value and a supergradient (n,)
        start : ndarray of shape (n,)
        """
        cdef double[::1] slope
        cdef Py_ssize_t n = len(start)
        if n >= self.point.shape[0] or n == 0:
            raise ValueError(f"expected 1 to {self.point.shape[0] - 1} variables, found {n}")
        self.begin(n)
        np.asarray(self.point)[:n] = start
        while True:
            value, slope = function(np.array(self.point[:n]))
            if slope.shape[0] != n:
                raise ValueError(f"expected a supergradient of {n} entries, found {slope.shape[0]}")
            self.add(value, &slope[0], length)
            if not self.propose(ROUNDING):
                return np.array(self.center[:n]), self.center_value
