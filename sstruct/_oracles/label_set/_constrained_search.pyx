# Design:
# (a) Variables are the labels and, for each edge, the product of two labels, which three constraints
#     define: z <= y_u, z <= y_v, z >= y_u + y_v - 1. The score is then linear.
# (b) A multiplier (price) of each constraint gives an upper bound: the constraints are added to the score,
#     times their prices, and each variable takes its best value. Multipliers are improved one by one
#     (block coordinate descent of the dual): to the midpoint of the values that minimize the bound given
#     the other multipliers, so scores pass along chains of constraints. All multipliers start at 0
#     in every call, so results do not depend on earlier calls.
# (c) Depth-first branch and bound. A variable that deviates from its best value lowers the bound by the
#     absolute value of its reduced score. Variables are fixed if a constraint or the best value found
#     so far implies it. Multipliers are improved at each node, for the variables that are still free;
#     the multipliers of any other node remain valid. Branches are taken at a violated constraint or, if
#     there is none, at a constraint whose sum differs from the bound on which it has a price. If there is
#     no such constraint either, the bound of the node is attained.
# (d) If a limit on the work is reached, the best set found is returned, with the largest bound of the
#     open nodes. A set that satisfies the constraints, found once for each model, is known from the
#     start, unless labels are forced.
"""Decoder of label sets with constraints, by branch and bound."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t
from libc.stdlib cimport qsort

import numpy as np

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.label_set._set_constraints cimport SetConstraints
from sstruct._oracles.label_set._set_decoder cimport LabelAnswer, LabelDecoder

# Limits: entries of constraints visited by the nodes and sweeps of a call, which take about a second, and
# sweeps of a node.
cdef double MAX_ENTRIES = 2e7
cdef Py_ssize_t MAX_SWEEPS = 400
# Sweeps end if they reduce the distance to the best value by less than this fraction, at the root and at
# other nodes.
cdef double SLOW_AT_ROOT = 1e-3
cdef double SLOW = 0.05
# Size of rounding errors relative to all scores.
cdef double ROUNDING = 1e-13


cdef int descending(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const double*> a)[0], y = (<const double*> b)[0]
    return -1 if x > y else x < y


cdef class ConstrainedSearch(LabelDecoder):
    """Decodes label sets that satisfy constraints; exact unless a limit on the work is reached.

    Parameters
    ----------
    n_labels : int
        K.
    edges : array-like of int of shape (E, 2)
    constraints : SetConstraints

    Raises
    ------
    ValueError
        If no set satisfies the constraints, or none was found within the limit on the work.
    """

    # Constraints and definitions of products, by row and by variable; shared by forks.
    cdef Py_ssize_t n_variables, n_rows
    cdef const int32_t[::1] row_first, row_entry, row_sign, lower, upper
    cdef const int32_t[::1] of_first, of_row, of_sign
    cdef int32_t[::1] allowed_set           # (n_variables,) values that satisfy all
    # Scratch.
    cdef double[::1] score_of, reduced, price, sorted_scores
    cdef int32_t[::1] value, best_value
    cdef int32_t[::1] least, most           # (n_rows,) range of the sum, given the fixed variables
    cdef int32_t[::1] trail, queue
    cdef unsigned char[::1] queued
    cdef Py_ssize_t n_trail, n_queue, n_sweeps
    cdef double bound, best, tolerance
    # Open branches: variable, value of the second branch, and length of the trail and bound of the node.
    cdef int32_t[:, ::1] branch
    cdef double[::1] branch_bound

    def __init__(self, n_labels, edges, SetConstraints constraints not None):
        self._set_model(n_labels, edges)
        self._set_constraints(constraints)
        pairs = self.edge_list
        E, rows = self.n_edges, constraints.matrix.astype(np.int32)
        self.n_variables, self.n_rows = n_labels + E, len(rows) + 3 * E
        # Entries (row, variable, sign) of both kinds of rows.
        row, variable = np.nonzero(rows)
        sign, z = rows[row, variable], np.arange(E)
        u, v = pairs.T if E else (z, z)
        parts = [
            (row, variable, sign),
            (len(rows) + z, n_labels + z, 1 + 0 * z), (len(rows) + z, u, -1 + 0 * z),
            (len(rows) + E + z, n_labels + z, 1 + 0 * z), (len(rows) + E + z, v, -1 + 0 * z),
            (len(rows) + 2 * E + z, n_labels + z, 1 + 0 * z), (len(rows) + 2 * E + z, u, -1 + 0 * z),
            (len(rows) + 2 * E + z, v, -1 + 0 * z),
        ]
        row, variable, sign = (np.concatenate(each) for each in zip(*parts))
        low, high = constraints.bounds
        # Bounds that no sum reaches become the range of the sum, so that arithmetic stays small.
        size = self.n_variables + 1
        lower = np.concatenate([low, np.full(3 * E, -1)])
        upper = np.concatenate([high, np.zeros(2 * E), np.ones(E)])
        self.lower, self.upper = (
            np.clip(each, -size, size).astype(np.int32) for each in (lower, upper))
        self.row_first, self.row_entry, self.row_sign = _lists(row, variable, sign, self.n_rows)
        self.of_first, self.of_row, self.of_sign = _lists(variable, row, sign, self.n_variables)
        self._set_search()
        self.work = 20.0 * (self.row_first[self.n_rows] + self.n_variables)
        self.allowed_set = np.zeros(self.n_variables, dtype=np.int32)
        self._find_allowed()

    def _set_search(self):
        n, m = self.n_variables, self.n_rows
        self.score_of, self.reduced, self.sorted_scores = np.zeros((3, n + 1))
        self.price = np.zeros(m + 1)
        self.value, self.best_value, self.trail = np.zeros((3, n), dtype=np.int32)
        self.least, self.most, self.queue = np.zeros((3, m + 1), dtype=np.int32)
        self.queued = np.zeros(m + 1, dtype=np.uint8)
        self.branch, self.branch_bound = np.zeros((n + 1, 3), dtype=np.int32), np.zeros(n + 1)

    def _find_allowed(self):
        """Find and store a set that satisfies the constraints; raise ValueError if there is none."""
        cdef LabelAnswer answer
        cdef Py_ssize_t j
        for j in range(self.n_variables):
            self.score_of[j] = 0
        self.search(-1, 0, -INFINITY, &answer)
        if not answer.found:
            raise ValueError(
                "no set of labels satisfies the constraints" if answer.exact
                else "no set of labels that satisfies the constraints was found")
        self.allowed_set[:] = self.best_value

    cpdef LabelDecoder fork(self):
        cdef ConstrainedSearch other = ConstrainedSearch.__new__(ConstrainedSearch)
        self._share(other)
        other.n_variables, other.n_rows = self.n_variables, self.n_rows
        other.row_first, other.row_entry, other.row_sign = (
            self.row_first, self.row_entry, self.row_sign)
        other.of_first, other.of_row, other.of_sign = self.of_first, self.of_row, self.of_sign
        other.lower, other.upper, other.allowed_set = self.lower, self.upper, self.allowed_set
        other._set_search()
        return other

    # ---------------------------------------------------------------- multipliers

    cdef void sweep(self) noexcept nogil:
        """Improve each multiplier, given the fixed variables, and set the bound."""
        cdef Py_ssize_t r, a, size
        cdef double price
        cdef double* scores = &self.sorted_scores[0]
        for r in range(self.n_rows):
            if self.least[r] == self.most[r]:
                continue
            # Each sign * y is replaced by y or 1 - y, so that the row is a number of variables.
            size = 0
            for a in range(self.row_first[r], self.row_first[r + 1]):
                if self.value[self.row_entry[a]] < 0:
                    scores[size] = self.row_sign[a] * self.reduced[self.row_entry[a]] + self.price[r]
                    size += 1
            price = self.best_price(
                scores, size, self.lower[r] - self.least[r], self.upper[r] - self.least[r])
            if price != self.price[r]:
                for a in range(self.row_first[r], self.row_first[r + 1]):
                    self.reduced[self.row_entry[a]] += self.row_sign[a] * (self.price[r] - price)
                self.price[r] = price
        self.bound = self.dual()

    cdef double best_price(
            self, double* scores, Py_ssize_t size, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
        """Return the midpoint of the best prices of the row low <= number of variables that are 1 <= high.

        In descending order of scores, a positive best price is between the scores of ranks `high` and
        `high` + 1, and a negative one is between the scores of ranks `low` and `low` + 1.
        """
        if size == 0 or (low <= 0 and high >= size):
            return 0
        qsort(scores, size, sizeof(double), descending)
        if high < size:
            if high <= 0:
                if scores[0] > 0 or low >= 0:
                    return scores[0]
            elif low == high:
                return 0.5 * (scores[high] + scores[high - 1])
            elif scores[high - 1] > 0:
                return 0.5 * (max(scores[high], 0) + scores[high - 1])
        if low > 0:
            if low >= size:
                return min(scores[size - 1], 0)
            if scores[low] < 0:
                return 0.5 * (scores[low] + min(scores[low - 1], 0))
        return 0

    cdef double dual(self) noexcept nogil:
        """Return the upper bound of the multipliers, given the fixed variables."""
        cdef Py_ssize_t r, j
        cdef double total = 0
        for r in range(self.n_rows):
            if self.price[r] > 0:
                total += self.price[r] * self.upper[r]
            elif self.price[r] < 0:
                total += self.price[r] * self.lower[r]
        for j in range(self.n_variables):
            if self.value[j] != 0:
                total += self.reduced[j] if self.value[j] > 0 else max(self.reduced[j], 0)
        return total

    cdef bint improve(self, double slow) noexcept nogil:
        """Fix variables and improve the multipliers in turn; return False if no better set is left."""
        cdef double previous
        cdef Py_ssize_t _n
        cdef bint violated
        for _n in range(MAX_SWEEPS):
            if not self.propagate():
                return False
            if self.branching_row(&violated) < 0:
                return True
            previous = self.bound
            self.sweep()
            self.n_sweeps += 1
            if previous - self.bound <= slow * (previous - self.best) or self.best == -INFINITY:
                break
        return self.propagate()

    # ---------------------------------------------------------------- search

    cdef inline int32_t relaxed_value(self, Py_ssize_t j) noexcept nogil:
        """Return the value of a variable in the solution of the bound."""
        return self.value[j] if self.value[j] >= 0 else self.reduced[j] > 0

    cdef Py_ssize_t branching_row(self, bint* violated) noexcept nogil:
        """Return the row to branch on, or -1 if the solution of the bound attains the bound.

        This is the most violated row or, if no row is violated, the row with the largest price times
        distance from the priced bound.
        """
        cdef Py_ssize_t r, a, chosen = -1, priced = -1
        cdef int32_t total, excess, worst = 0
        cdef double lost, most = 0
        for r in range(self.n_rows):
            if self.least[r] == self.most[r]:
                continue
            total = 0
            for a in range(self.row_first[r], self.row_first[r + 1]):
                total += self.row_sign[a] * self.relaxed_value(self.row_entry[a])
            excess = max(total - self.upper[r], self.lower[r] - total)
            if excess > worst:
                worst, chosen = excess, r
            # A row whose sum cannot come closer to the priced bound loses nothing if its price is set to 0.
            elif worst == 0 and self.price[r] != 0:
                lost = 0
                if self.price[r] > 0 and total < self.most[r]:
                    lost = self.price[r] * (self.upper[r] - total)
                elif self.price[r] < 0 and total > self.least[r]:
                    lost = self.price[r] * (self.lower[r] - total)
                if lost > most:
                    most, priced = lost, r
        violated[0] = chosen >= 0
        if chosen < 0 and most > self.tolerance:
            chosen = priced
        return chosen

    cdef bint fix(self, Py_ssize_t j, int32_t value) noexcept nogil:
        """Fix a variable; return False if it already has the other value."""
        cdef Py_ssize_t a, r
        if self.value[j] >= 0:
            return self.value[j] == value
        self.value[j] = value
        self.trail[self.n_trail] = <int32_t> j
        self.n_trail += 1
        if value != (self.reduced[j] > 0):
            self.bound -= fabs(self.reduced[j])
        for a in range(self.of_first[j], self.of_first[j + 1]):
            r = self.of_row[a]
            if (self.of_sign[a] > 0) == (value == 1):
                self.least[r] += 1
            else:
                self.most[r] -= 1
            if not self.queued[r]:
                self.queued[r] = 1
                self.queue[self.n_queue] = <int32_t> r
                self.n_queue += 1
        return True

    cdef void undo(self, Py_ssize_t length) noexcept nogil:
        """Free the variables that were fixed after the trail had this length."""
        cdef Py_ssize_t a, r, j
        while self.n_trail > length:
            self.n_trail -= 1
            j = self.trail[self.n_trail]
            for a in range(self.of_first[j], self.of_first[j + 1]):
                r = self.of_row[a]
                if (self.of_sign[a] > 0) == (self.value[j] == 1):
                    self.least[r] -= 1
                else:
                    self.most[r] += 1
            self.value[j] = -1

    cdef bint propagate(self) noexcept nogil:
        """Fix all variables that rows and the best value imply; return False if no better set is left."""
        cdef Py_ssize_t r, a, j
        cdef bint consistent = True, at_least, at_most
        while consistent:
            while self.n_queue and consistent:
                self.n_queue -= 1
                r = self.queue[self.n_queue]
                self.queued[r] = 0
                consistent = self.least[r] <= self.upper[r] and self.most[r] >= self.lower[r]
                at_most, at_least = self.least[r] == self.upper[r], self.most[r] == self.lower[r]
                if not consistent or not (at_most or at_least) or self.least[r] == self.most[r]:
                    continue
                for a in range(self.row_first[r], self.row_first[r + 1]):
                    j = self.row_entry[a]
                    if self.value[j] < 0:
                        self.fix(j, (self.row_sign[a] > 0) == at_least)
            if not consistent or self.bound <= self.best + self.tolerance:
                consistent = False
                break
            # Fix the free variables whose other value cannot lead to a better set.
            for j in range(self.n_variables):
                if self.value[j] < 0 and (
                        fabs(self.reduced[j]) >= self.bound - self.best - self.tolerance):
                    self.fix(j, self.reduced[j] > 0)
            if not self.n_queue:
                break
        while self.n_queue:
            self.n_queue -= 1
            self.queued[self.queue[self.n_queue]] = 0
        return consistent

    cdef void keep_solution(self) noexcept nogil:
        """Keep the solution of the bound if it is better than the best."""
        cdef Py_ssize_t j
        cdef double total = 0
        for j in range(self.n_variables):
            if self.relaxed_value(j):
                total += self.score_of[j]
        if total > self.best:
            self.best = total
            for j in range(self.n_variables):
                self.best_value[j] = self.relaxed_value(j)

    cdef Py_ssize_t branching_variable(self, Py_ssize_t row, bint violated, int32_t* first) noexcept nogil:
        """Return a free variable of a row, and the value to try first.

        Only variables that can change the sum in the required direction are considered: for a violated
        row, the one with the largest absolute reduced score, with its best value first; otherwise the one
        with the smallest, with its other value first.
        """
        cdef Py_ssize_t a, j, chosen = -1
        cdef int32_t total = 0, value
        cdef double size, extreme = 0
        cdef bint up
        for a in range(self.row_first[row], self.row_first[row + 1]):
            total += self.row_sign[a] * self.relaxed_value(self.row_entry[a])
        # Whether the sum must rise.
        up = total < self.lower[row] if violated else self.price[row] > 0
        for a in range(self.row_first[row], self.row_first[row + 1]):
            j = self.row_entry[a]
            if self.value[j] >= 0:
                continue
            value = self.reduced[j] > 0
            # Of variables that can change the sum in this direction.
            if ((self.row_sign[a] > 0) == (value == 0)) != up:
                continue
            size = fabs(self.reduced[j])
            if chosen < 0 or (size > extreme if violated else size < extreme):
                chosen, extreme, first[0] = j, size, value if violated else 1 - value
        return chosen

    cdef int search(
            self, Py_ssize_t forced, int32_t forced_value, double known, LabelAnswer* answer) except -1 nogil:
        """Find the best set with a score above `known`. If forced >= 0, this label has `forced_value`."""
        cdef Py_ssize_t j, row, depth = 0, nodes = 1
        cdef double entries = self.row_first[self.n_rows] + self.n_variables
        cdef int32_t first = 0
        cdef bint violated = False, open_node
        self.begin_search(known)
        if forced >= 0:
            self.fix(forced, forced_value)
        open_node = self.improve(SLOW_AT_ROOT)
        while True:
            if open_node:
                row = self.branching_row(&violated)
                if row < 0 or not violated:
                    self.keep_solution()
                if row >= 0 and self.bound > self.best + self.tolerance:
                    if (nodes + self.n_sweeps) * entries > MAX_ENTRIES:
                        break
                    nodes += 1
                    poll_signals(10 * entries)
                    j = self.branching_variable(row, violated, &first)
                    self.branch[depth, 0], self.branch[depth, 1] = <int32_t> j, 1 - first
                    self.branch[depth, 2] = <int32_t> self.n_trail
                    self.branch_bound[depth] = self.bound
                    depth += 1
                    self.fix(j, first)
                    open_node = self.improve(SLOW)
                    continue
                open_node = False
            if depth == 0:
                break
            depth -= 1
            self.undo(self.branch[depth, 2])
            self.bound = self.dual()
            self.fix(self.branch[depth, 0], self.branch[depth, 1])
            open_node = self.improve(SLOW)
        answer.found = self.best > -INFINITY
        answer.exact, answer.bound = not open_node, self.best
        if open_node:
            answer.bound = max(self.best, self.bound)
            for j in range(depth):
                answer.bound = max(answer.bound, self.branch_bound[j])
        answer.work = 10 * (nodes + self.n_sweeps) * entries
        return poll_signals(answer.work)

    cdef void begin_search(self, double known) noexcept nogil:
        """Free all variables, set all multipliers to 0, and set the best value to `known`."""
        cdef Py_ssize_t j, row
        cdef double size = 0
        for j in range(self.n_variables):
            self.value[j] = -1
            self.reduced[j] = self.score_of[j]
            size += fabs(self.score_of[j])
        for row in range(self.n_rows):
            self.price[row] = 0
            self.least[row] = self.most[row] = 0
            for j in range(self.row_first[row], self.row_first[row + 1]):
                if self.row_sign[j] > 0:
                    self.most[row] += 1
                else:
                    self.least[row] -= 1
            self.queue[row], self.queued[row] = <int32_t> row, 1
        self.n_queue, self.n_trail, self.n_sweeps, self.best = self.n_rows, 0, 0, known
        self.tolerance, self.bound = ROUNDING * size, self.dual()

    cdef double value_of_allowed(self) noexcept nogil:
        """Make the known set the best one; return its value."""
        cdef Py_ssize_t j
        cdef double total = 0
        for j in range(self.n_variables):
            self.best_value[j] = self.allowed_set[j]
            if self.allowed_set[j]:
                total += self.score_of[j]
        return total

    cdef int maximize(
            self, const double* theta, const double* pair, int32_t* code,
            LabelAnswer* answer) except -1 nogil:
        cdef Py_ssize_t j
        for j in range(self.n_labels):
            self.score_of[j] = theta[j]
        for j in range(self.n_edges):
            self.score_of[self.n_labels + j] = pair[j]
        self.search(-1, 0, self.value_of_allowed(), answer)
        for j in range(self.n_labels):
            code[j] = 2 * self.best_value[j]
        return 0

    cdef int marginals(
            self, const double* theta, const double* pair, double* out) except -1 nogil:
        """Search once more for each label, with the other value than in the best set.

        Marginals are infinite for labels that are on, or off, in all sets that satisfy the constraints, or
        if no set with the other value was found within the limit on the work.
        """
        cdef Py_ssize_t k
        cdef LabelAnswer answer
        cdef double best
        cdef int32_t* code = &self.forced_code[0]
        self.maximize(theta, pair, code, &answer)
        best = self.best
        for k in range(self.n_labels):
            self.search(k, 1 - code[k] // 2, -INFINITY, &answer)
            out[k] = best - self.best if code[k] else self.best - best
        return 0


def _lists(key, other, sign, n):
    """Return boundaries, entries and signs of the lists of `other` for each key."""
    order = np.argsort(key, kind="stable")
    first = np.searchsorted(key[order], np.arange(n + 1))
    # Never empty, so that addresses exist.
    lists = first, np.append(other[order], 0), np.append(sign[order], 0)
    return tuple(np.ascontiguousarray(each, dtype=np.int32) for each in lists)
