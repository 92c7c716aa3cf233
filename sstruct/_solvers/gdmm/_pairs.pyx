# Design:
# (a) The scores v of all pairs of labels are stored as a table and its transpose, with upper bounds for
#     each BLOCK entries of a row or column, for each row and column, and for each BLOCK rows. All
#     bigram factors of a problem share them.
# (b) Bounds are updated lazily: an increased score raises them, a decreased score does not change them,
#     and searches correct them. A change therefore accesses few memory locations. With heaps of K^2
#     keys instead, updates would take most of the time of a pass.
# (c) The factorwise oracle maximizes v[j, k] + left[j] + right[k], where messages are nonzero for few
#     labels. Labels with a positive message are called raised. There are three cases ([Y16], section
#     3): if both labels are raised, scan the pairs by decreasing message; if one is raised, branch and
#     bound over its row or column; if none is raised, branch and bound over all rows. The best value of
#     one case is the bound for the next.
# (d) For comparison, an exhaustive search scans the whole table and keeps no bounds.
# (e) Pairs that are already active are skipped; the active pairs of each row are in a linked list.
"""The factorwise oracle of bigram factors."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

from sstruct._solvers.gdmm._entries cimport Entries

import numpy as np

cdef enum:
    BLOCK = 32


cdef inline void fall(Raised* raised, Py_ssize_t size) noexcept nogil:
    """Sort by decreasing message (insertion sort, stable); there are few entries."""
    cdef Py_ssize_t k, at
    cdef Raised moved
    for k in range(1, size):
        moved, at = raised[k], k
        while at > 0 and raised[at - 1].message < moved.message:
            raised[at] = raised[at - 1]
            at -= 1
        raised[at] = moved


cdef inline Py_ssize_t lay_out(
        const Entries* messages, double rho, bint multipliers, double* value,
        Raised* raised) noexcept nogil:
    """Write messages to the entries of their labels and list the positive ones; return their number."""
    cdef Py_ssize_t k, n = 0
    cdef double message
    for k in range(messages.size):
        message = rho * (
            messages.at[k].multiplier + (0 if multipliers else messages.at[k].value))
        value[messages.at[k].first] = message
        if message > 0:
            raised[n] = Raised(message, INFINITY, messages.at[k].first)
            n += 1
    return n


cdef inline Py_ssize_t leading(
        Raised* raised, Py_ssize_t size, const double* top, double highest,
        double bound) noexcept nogil:
    """Keep the raised labels that may exceed the bound, by decreasing message; return their number."""
    cdef Py_ssize_t k, kept = 0
    for k in range(size):
        raised[k].top = top[raised[k].label]
        if raised[k].message + raised[k].top + highest > bound:
            raised[kept] = raised[k]
            kept += 1
    fall(raised, kept)
    return kept


cdef inline void lift(Lines* lines, Py_ssize_t line, Py_ssize_t place, double score) noexcept nogil:
    """Store a score and raise its bounds if necessary."""
    cdef double* block = &lines.block[line * lines.n_blocks + place // BLOCK]
    lines.score[line * lines.width + place] = score
    if score > block[0]:
        block[0] = score
        if score > lines.top[line]:
            lines.top[line] = score


cdef class BoundedPairs:
    """Scores of pairs of labels, initially zero.

    Parameters
    ----------
    n_labels : int
    width : int
        Length of a row of scores, at least `n_labels`.
    penalty : ndarray of shape (n_labels, width) or None
        -inf for forbidden pairs, 0 for others.
    exhaustive : bool
        Whether a search scans every pair.
    """

    def __cinit__(self, Py_ssize_t n_labels, Py_ssize_t width, penalty, bint exhaustive=False):
        cdef Py_ssize_t K = n_labels, KP = width, n_blocks = (n_labels + BLOCK - 1) // BLOCK
        if K * KP >= 2**31:
            raise ValueError(f"{K} labels have too many pairs for the tables of GDMM")
        self.n_labels, self.width, self.exhaustive = K, KP, exhaustive
        self.score, self.turned = np.zeros(K * KP), np.zeros(K * KP)
        if penalty is not None:
            table = np.where(np.asarray(penalty)[:, :K] == 0, 0.0, -np.inf)
            self.scores()[...] = table
            np.asarray(self.turned).reshape(K, KP)[:, :K] = table.T
        # These bounds are too high for forbidden pairs until a search corrects them.
        self.bound, self.group = np.zeros(2 * K * (n_blocks + 1)), np.zeros(n_blocks)
        self.rows = Lines(
            &self.score[0], &self.bound[0], &self.bound[2 * K * n_blocks], KP, n_blocks)
        self.columns = Lines(
            &self.turned[0], &self.bound[K * n_blocks], self.rows.top + K, KP, n_blocks)
        self.raised_left = <Raised*> malloc(K * sizeof(Raised))
        self.raised_right = <Raised*> malloc(K * sizeof(Raised))
        if not (self.raised_left and self.raised_right):
            raise MemoryError(f"not enough memory for the raised scores of {K} labels")
        self.left, self.right = np.zeros(KP), np.zeros(KP)
        self.head, self.following = np.full(K, -1, dtype=np.int32), np.empty(64, dtype=np.int32)

    def __dealloc__(self):
        free(self.raised_left)
        free(self.raised_right)

    def scores(self):
        """Return a view of the table (K, K)."""
        return np.asarray(self.score).reshape(self.n_labels, self.width)[:, :self.n_labels]

    def add(self, const double[::1] difference not None):
        """Add a table of K rows of `width` entries to the scores of the allowed pairs."""
        cdef int32_t j, k
        if difference.shape[0] != self.score.shape[0]:
            raise ValueError(
                f"{difference.shape[0]} differences, expected {self.score.shape[0]}")
        for j in range(self.n_labels):
            for k in range(self.n_labels):
                if self.score[j * self.width + k] > -INFINITY:
                    self.change(j, k, difference[j * self.width + k])

    cdef void change(self, int32_t first, int32_t second, double difference) noexcept nogil:
        """Add `difference` to the score of an allowed pair."""
        cdef double score = self.score[first * self.width + second] + difference
        if self.exhaustive:
            self.score[first * self.width + second] = score
            return
        lift(&self.rows, first, second, score)
        lift(&self.columns, second, first, score)
        if score > self.group[first // BLOCK]:
            self.group[first // BLOCK] = score

    cdef void load(
            self, const Entries* left, const Entries* right, double rho, bint multipliers
            ) noexcept nogil:
        """Load the messages to a factor, rho (mu + residual) or rho mu, until `unload`."""
        self.n_left = lay_out(left, rho, multipliers, &self.left[0], self.raised_left)
        self.n_right = lay_out(right, rho, multipliers, &self.right[0], self.raised_right)

    cdef void unload(self, const Entries* left, const Entries* right) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(left.size):
            self.left[left.at[k].first] = 0
        for k in range(right.size):
            self.right[right.at[k].first] = 0

    cdef int mark(self, const Entries* active) except -1 nogil:
        """Index the pairs to be skipped by their rows, until `unmark`."""
        cdef int32_t k, j
        if active.size > self.following.shape[0]:
            with gil:
                self.following = np.empty(2 * active.size, dtype=np.int32)
        self.active = active
        for k in range(active.size):
            j = active.at[k].first
            self.following[k] = self.head[j]
            self.head[j] = k
        return 0

    cdef void unmark(self) noexcept nogil:
        cdef int32_t k
        for k in range(self.active.size):
            self.head[self.active.at[k].first] = -1

    cdef void consider(self, int32_t first, int32_t second) noexcept nogil:
        """Store a pair if it is the best so far and not active."""
        cdef int32_t k
        cdef double value = (
            self.score[first * self.width + second] + self.left[first] + self.right[second])
        self.work += 1
        if not value > self.best:
            return
        k = self.head[first]
        while k >= 0:
            if self.active.at[k].second == second:
                return
            k = self.following[k]
        self.best, self.best_first, self.best_second = value, first, second

    cdef void walk(self, Lines* lines, int32_t line, double message, bint turned) noexcept nogil:
        """Consider the entries of a line that may exceed the best so far; correct its bounds.

        message : message of the line's label. Bounds ignore the messages of the other labels: these are
        not positive, or the pair has been considered before.
        """
        cdef Py_ssize_t c, k
        cdef double high, top = -INFINITY
        cdef double* block = lines.block + line * lines.n_blocks
        cdef const double* score = lines.score + line * lines.width
        for c in range(lines.n_blocks):
            if message + block[c] > self.best:
                high = -INFINITY
                for k in range(c * BLOCK, min((c + 1) * BLOCK, self.n_labels)):
                    if score[k] > high:
                        high = score[k]
                    if message + score[k] > self.best:
                        if turned:
                            self.consider(<int32_t> k, line)
                        else:
                            self.consider(line, <int32_t> k)
                block[c] = high
                self.work += BLOCK
            if block[c] > top:
                top = block[c]
        lines.top[line] = top
        self.work += lines.n_blocks

    cdef bint search_all(self) noexcept nogil:
        """Search the whole table, in O(K^2)."""
        cdef Py_ssize_t j, k
        cdef bint above
        cdef double message, best
        cdef const double* score = &self.score[0]
        cdef const double* right = &self.right[0]
        for j in range(self.n_labels):
            # This loop vectorizes; few rows contain a better pair.
            above, message, best = False, self.left[j], self.best
            for k in range(self.n_labels):
                above |= score[k] + message + right[k] > best
            if above:
                for k in range(self.n_labels):
                    self.consider(<int32_t> j, <int32_t> k)
            score += self.width
        return self.best_first >= 0

    cdef bint search(self, double bound) noexcept nogil:
        """Find the best pair that is not marked, with a value above `bound`; return whether one exists.

        Uses the messages of `load`. The pair is `best_first`, `best_second`, its value `best`.
        """
        cdef Py_ssize_t g, j, k
        cdef double message, highest_left = 0, highest_right = 0, high, other
        cdef const double* block
        self.best, self.best_first = bound, -1
        if self.exhaustive:
            return self.search_all()
        # Discard the raised labels that cannot exceed the bound with any label at the other end.
        for j in range(self.n_left):
            highest_left = max(highest_left, self.raised_left[j].message)
        for k in range(self.n_right):
            highest_right = max(highest_right, self.raised_right[k].message)
        self.n_left = leading(
            self.raised_left, self.n_left, self.rows.top, highest_right, bound)
        self.n_right = leading(
            self.raised_right, self.n_right, self.columns.top, highest_left, bound)
        # Both labels are raised. Bounds of lines, then of blocks, avoid most look-ups in the table.
        # Terms are added in the order of `consider`, so that rounding does not change the result.
        for j in range(self.n_left if self.n_right else 0):
            message = self.raised_left[j].message
            high = message + self.raised_left[j].top
            block = self.rows.block + self.raised_left[j].label * self.rows.n_blocks
            for k in range(self.n_right):
                other = self.raised_right[k].message
                if not high + other > self.best:
                    break
                if (self.raised_right[k].top + message + other > self.best
                        and block[self.raised_right[k].label // BLOCK] + message + other
                        > self.best):
                    self.consider(self.raised_left[j].label, self.raised_right[k].label)
        # One label is raised. Pairs of raised labels may be considered again, which does not change the
        # result.
        for j in range(self.n_left):
            message = self.raised_left[j].message
            if message + self.rows.top[self.raised_left[j].label] > self.best:
                self.walk(&self.rows, self.raised_left[j].label, message, False)
        for k in range(self.n_right):
            message = self.raised_right[k].message
            if message + self.columns.top[self.raised_right[k].label] > self.best:
                self.walk(&self.columns, self.raised_right[k].label, message, True)
        # No label is raised.
        for g in range(self.rows.n_blocks):
            if not self.group[g] > self.best:
                continue
            high = -INFINITY
            for j in range(g * BLOCK, min((g + 1) * BLOCK, self.n_labels)):
                if self.left[j] <= 0 and self.left[j] + self.rows.top[j] > self.best:
                    self.walk(&self.rows, <int32_t> j, self.left[j], False)
                if self.rows.top[j] > high:
                    high = self.rows.top[j]
            self.group[g] = high
            self.work += BLOCK
        self.work += self.rows.n_blocks
        return self.best_first >= 0
