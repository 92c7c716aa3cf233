# Design:
# (a) Sums of exp(scale * score) over the segmentations of a sequence, in logarithms, or maxima of
#     scores, which are sums in the max-plus semiring: `join` is the sum of two values in either one.
# (b) All durations of a bin have the same score, so the sum over them is a sum over a window of
#     starts. A queue updates it in constant time per node, however wide the bin is, without subtraction:
#     it has the sums of its older entries up to a middle, and the sum of the newer ones. When all older
#     entries have left the window, the newer ones become the older ones.
# (c) The backward sweep is the forward sweep of the reversed sequence.
# (d) The marginal of a node sums over pairs of a start s <= l and an end e > l whose distance is in a
#     bin. If e - l is at most the smallest duration, all starts in reach of e are at most l, so
#     the sum over all of them is used. The other pairs are bounded by s <= l, e - least > l and
#     the distance only. With blocks whose size is the width of the bin, such pairs are in the same
#     block, in which all distances are allowed, or in neighboring blocks, and then the pairs of an end
#     are a prefix or a suffix of the other block. Sums of prefixes and suffixes are therefore sufficient.
#     They take constant time for each node, label and bin, and nothing is subtracted.
# (e) With scores of whole segments, all pairs of a start and an end with an allowed duration are visited.
"""Partition function, marginals, samples and maxima over the segmentations of a sequence."""

from libc.math cimport INFINITY, exp, log1p
from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._interruption cimport poll_signals
from sstruct._kernels._random cimport Random, random_choice, random_next
from sstruct._oracles.core._log_sum cimport log_of_sum

# Terms whose logarithm is smaller by this amount than that of the largest term do not change a sum.
cdef double NEGLIGIBLE = -45.0


cdef inline double join(double a, double b, bint maxima) noexcept nogil:
    """Return the sum of two values."""
    if a < b:
        a, b = b, a
    if maxima or b - a < NEGLIGIBLE or b == -INFINITY:
        return a
    return a + log1p(exp(b - a))


cdef void normalize(double* x, Py_ssize_t n) noexcept nogil:
    """Replace logarithms, not all of which are -inf, by probabilities."""
    cdef Py_ssize_t k
    cdef double highest = -INFINITY, total = 0
    for k in range(n):
        highest = max(highest, x[k])
    for k in range(n):
        x[k] = exp(x[k] - highest)
        total += x[k]
    for k in range(n):
        x[k] /= total


cdef class SegmentSweeps(SegmentRanges):
    """Sums over the segmentations of one sequence at a time; owns the scratch memory.

    Parameters
    ----------
    bins, least, most : as in SegmentRanges
    maxima : bool
        Whether sums are maxima of scores instead of logarithms of sums.
    """

    def __init__(self, bins, least, most, maxima=False):
        super().__init__(bins, least, most)
        self.maxima = maxima

    cdef double join_all(self, const double* x, Py_ssize_t n) noexcept nogil:
        """Return the sum of n values."""
        cdef Py_ssize_t k
        cdef double highest = -INFINITY
        if not self.maxima:
            return log_of_sum(x, n, 1)
        for k in range(n):
            highest = max(highest, x[k])
        return highest

    cdef double forward(self, const SegmentScores* scores, double scale) except? -1 nogil:
        """Return the sum over all segmentations, -inf if all are forbidden.

        The arrays must remain valid for the other methods. Time O(L K (K + n_bins)), with `terms`
        O(L K (K + largest duration)); memory O(L K).
        """
        cdef Py_ssize_t L = scores.L
        self.load(scores, scale)
        self.grow(<void**> &self.before, (L + 1) * self.n_labels, sizeof(double))
        self.grow(<void**> &self.ending, (L + 1) * self.n_labels, sizeof(double))
        self.sweep(False, self.before, self.ending)
        return self.shift + self.join_all(self.ending + L * self.n_labels, self.n_labels)

    cdef int backward(self) except -1 nogil:
        """Compute the sums of what follows segments, after `forward`."""
        self.grow(<void**> &self.after, (self.L + 1) * self.n_labels, sizeof(double))
        self.grow(<void**> &self.reversed_ending, (self.L + 1) * self.n_labels, sizeof(double))
        return self.sweep(True, self.after, self.reversed_ending)

    cdef int sweep(self, bint reverse, double* starting, double* ending) except -1 nogil:
        """Compute the sums up to all starts and ends of segments, from the last node if `reverse`.

        starting : K x (L + 1), sums before a segment that starts at a node, with the transition to it
        ending : (L + 1) x K, sums with a segment that ends before a node
        """
        cdef Py_ssize_t i, j, k, l, b, r, K = self.n_labels, L = self.L
        cdef double value, score
        self.empty_queues()
        self.grow(<void**> &self.room, max(K, 6 * (L + 1)), sizeof(double))
        for i in range(L):
            l = L - 1 - i if reverse else i
            # The boundary between nodes i - 1 and i in this order is the one before node b.
            b = l + 1 if reverse else l
            for k in range(K):
                for j in range(K if i > 0 else 0):
                    self.room[j] = ending[i * K + j] + (
                        self.step[j * K + k] if reverse else self.step[k * K + j])
                if i > 0 and not self.may_split(b):
                    self.room[k] = -INFINITY
                starting[k * (L + 1) + i] = self.join_all(self.room, K) if i > 0 else 0
                if self.is_forbidden(l, k):
                    self.limit[k] = i + 1
                elif i > 0 and self.must_start(b, k):
                    self.limit[k] = i
            for k in range(K):
                value = -INFINITY
                for r in range(self.range_at[k], self.range_at[k + 1]):
                    if self.least[r] > i + 1:
                        break
                    if self.terms == NULL:
                        score = self.queued(r, starting, k, i + 1, reverse)
                    else:
                        score = self.joined_starts(r, starting, k, i + 1, reverse)
                        poll_signals(40.0 * min(self.most[r], <int64_t> i + 1))
                    value = join(value, score + self.duration_score(k, r), self.maxima)
                ending[(i + 1) * K + k] = value + self.total_before(i + 1, k, reverse)
            poll_signals(5.0 * K * K + 40.0 * self.range_at[K])
        return 0

    cdef double joined_starts(
            self, Py_ssize_t r, const double* starting, Py_ssize_t k, Py_ssize_t end,
            bint reverse) noexcept nogil:
        """As `queued`, with the scores of whole segments."""
        cdef int64_t s
        cdef double value = -INFINITY, term
        for s in range(max(self.limit[k], end - self.most[r]), end - self.least[r] + 1):
            term = (
                self.term(self.L - end, self.L - s, k) if reverse else self.term(s, end, k))
            value = join(value, self.gain(starting, s, k, reverse) + term, self.maxima)
        return value

    cdef inline double total_before(
            self, Py_ssize_t i, Py_ssize_t k, bint reverse) noexcept nogil:
        """Return the sum of scores before node i, up to a constant if `reverse`."""
        if reverse:
            return -self.total[k * (self.L + 1) + self.L - i]
        return self.total[k * (self.L + 1) + i]

    cdef inline double gain(
            self, const double* starting, Py_ssize_t i, Py_ssize_t k, bint reverse) noexcept nogil:
        """Return the sum before a segment that starts at node i, relative to `total_before`."""
        return (
            starting[k * (self.L + 1) + i] - self.total_before(i, k, reverse) - self.stay[k])

    cdef int empty_queues(self) except -1 nogil:
        """Allocate and empty all queues."""
        cdef Py_ssize_t r, k, n = self.range_at[self.n_labels]
        cdef int64_t room = 0
        self.grow(<void**> &self.limit, self.n_labels, sizeof(int64_t))
        self.grow(<void**> &self.queues, n, sizeof(Queue))
        for k in range(self.n_labels):
            self.limit[k] = 0
        for r in range(n):
            self.queues[r].size = min(
                self.most[r] - self.least[r], <int64_t> self.L) + 1
            self.queues[r].middle, self.queues[r].front = 0, -INFINITY
            room += self.queues[r].size
        self.grow(<void**> &self.rings, room, sizeof(double))
        room = 0
        for r in range(n):
            self.queues[r].back = self.rings + room
            room += self.queues[r].size
        return 0

    cdef double queued(
            self, Py_ssize_t r, const double* starting, Py_ssize_t k, Py_ssize_t end,
            bint reverse) noexcept nogil:
        """Add the next start of range r, and return the sum over those of segments before `end`."""
        cdef Queue* queue = &self.queues[r]
        cdef int64_t s = end - self.least[r], lowest = max(self.limit[k], end - self.most[r]), t
        cdef double value
        if lowest > s:
            queue.middle, queue.front = s + 1, -INFINITY
            return -INFINITY
        queue.front = join(queue.front, self.gain(starting, s, k, reverse), self.maxima)
        if lowest >= queue.middle:
            value = -INFINITY
            for t in range(s, lowest - 1, -1):
                value = join(value, self.gain(starting, t, k, reverse), self.maxima)
                queue.back[t % queue.size] = value
            queue.middle, queue.front = s + 1, -INFINITY
        return join(queue.back[lowest % queue.size], queue.front, self.maxima)

    cdef int marginals(self, double* out) except -1 nogil:
        """Write the marginals, K for each node, after `backward`: probabilities, or maxima.

        The sum over all segmentations must not be -inf.
        """
        cdef Py_ssize_t l, k, p, K = self.n_labels
        cdef double* row
        for l in range(self.L * K):
            out[l] = -INFINITY
        for k in range(K):
            p = 0
            for l in range(1, self.L + 1):
                # [p, l) is a longest run of nodes that may be in one segment.
                if l == self.L or self.must_start(l, k) or self.is_forbidden(l, k) or (
                        self.is_forbidden(p, k)):
                    if not self.is_forbidden(p, k) and self.terms == NULL:
                        self.cover(k, p, l, out)
                    elif not self.is_forbidden(p, k):
                        self.cover_all(k, p, l, out)
                    p = l
        for l in range(self.L):
            row = out + l * K
            if self.maxima:
                for k in range(K):
                    row[k] += self.shift
            else:
                # The sum of each row is that of all segmentations.
                normalize(row, K)
            poll_signals(20.0 * K)
        return 0

    cdef int cover(self, Py_ssize_t k, Py_ssize_t p, Py_ssize_t q, double* out) except -1 nogil:
        """Add the segments of label k within nodes p ... q - 1, all allowed, to the nodes."""
        cdef Py_ssize_t n = q - p, i, r, K = self.n_labels, L = self.L
        cdef int64_t least, width
        cdef double* a = self.room              # a[i]: of starts
        cdef double* b = a + n + 1              # b[i]: of ends
        cdef double* ends = b + n + 1           # b[i + least]
        cdef double* whole = ends + n + 1
        cdef double* spare = whole + n + 1
        cdef double score
        out += p * K + k
        for i in range(n + 1):
            a[i] = self.gain(self.before, p + i, k, False) if i < n else -INFINITY
            b[i] = -INFINITY if i == 0 else (
                self.after[k * (L + 1) + L - p - i] + self.total[k * (L + 1) + p + i])
        for r in range(self.range_at[k], self.range_at[k + 1]):
            least = self.least[r]
            if least > n:
                break
            width, score = min(self.most[r], <int64_t> n) - least, self.duration_score(k, r)
            for i in range(n):
                ends[i] = b[i + least] + score if i + least <= n else -INFINITY
            # All segments that end at most `least` nodes later.
            self.windowed(a, n, width + 1, whole, spare)
            for i in range(n):
                whole[i] += ends[i]
            self.windowed(whole, n, least, whole, spare)
            for i in range(n):
                out[i * K] = join(out[i * K], whole[i], self.maxima)
            if width > 0:
                self.straddle(a, ends, n, width, out, whole)
            poll_signals(300.0 * n)
        return 0

    cdef int cover_all(
            self, Py_ssize_t k, Py_ssize_t p, Py_ssize_t q, double* out) except -1 nogil:
        """As `cover`, with the scores of whole segments."""
        cdef Py_ssize_t s, r, K = self.n_labels, at = k * (self.L + 1), last = self.range_at[k + 1] - 1
        cdef int64_t d
        cdef double before, value
        for s in range(p, q if last >= self.range_at[k] else p):
            before, value, r = self.gain(self.before, s, k, False), -INFINITY, last
            # The sum of all segments from s on that contain node s + d - 1.
            for d in range(min(<int64_t> q - s, self.most[last]), 0, -1):
                while r >= self.range_at[k] and self.least[r] > d:
                    r -= 1
                if r >= self.range_at[k] and d <= self.most[r]:
                    value = join(
                        value, before + self.duration_score(k, r) + self.term(s, s + d, k)
                        + self.after[at + self.L - s - d] + self.total[at + s + d], self.maxima)
                out[(s + d - 1) * K + k] = join(out[(s + d - 1) * K + k], value, self.maxima)
            poll_signals(40.0 * min(<int64_t> q - s, self.most[last]))
        return 0

    cdef void windowed(
            self, const double* x, Py_ssize_t n, int64_t width, double* out,
            double* suffix) noexcept nogil:
        """Write the sums of the last `width` entries up to each one; `out` may be x."""
        cdef Py_ssize_t i
        cdef double prefix = -INFINITY
        self.block_suffixes(x, n, width, suffix)
        for i in range(n):
            prefix = x[i] if i % width == 0 else join(prefix, x[i], self.maxima)
            out[i] = prefix
            if i >= width and i % width < width - 1:
                out[i] = join(prefix, suffix[i - width + 1], self.maxima)

    cdef void block_suffixes(
            self, const double* x, Py_ssize_t n, int64_t width, double* out) noexcept nogil:
        """Write the sum from each entry to the end of its block of `width` entries."""
        cdef Py_ssize_t i
        for i in range(n - 1, -1, -1):
            if i == n - 1 or (i + 1) % width == 0:
                out[i] = x[i]
            else:
                out[i] = join(x[i], out[i + 1], self.maxima)

    cdef void straddle(
            self, const double* a, const double* b, Py_ssize_t n, int64_t width, double* out,
            double* room) noexcept nogil:
        """Add the pairs a[s] + b[i] with s <= l < i <= s + width to every K-th entry l of `out`."""
        cdef Py_ssize_t i, l, begin = 0, end, K = self.n_labels
        # Sums from each entry to the end of its block, and from the start of the block to each entry.
        cdef double* from_a = room
        cdef double* from_b = from_a + n + 1
        cdef double* up_to_b = from_b + n + 1
        cdef double up_to_a, later, earlier
        self.block_suffixes(a, n, width, from_a)
        self.block_suffixes(b, n, width, from_b)
        for l in range(n):
            up_to_b[l] = b[l] if l % width == 0 else join(up_to_b[l - 1], b[l], self.maxima)
        while begin < n:
            end = min(begin + width, <int64_t> n)
            up_to_a, later = -INFINITY, -INFINITY
            for l in range(begin, end):
                if end < n:       # s is in this block, i in the next one
                    i = min(l + width, <int64_t> n - 1)
                    later = join(later, a[l] + up_to_b[i], self.maxima)
                up_to_a = join(up_to_a, a[l], self.maxima)
                out[l * K] = join(out[l * K], later, self.maxima)
                if l + 1 < end:   # both are in this block
                    out[l * K] = join(out[l * K], up_to_a + from_b[l + 1], self.maxima)
            earlier = -INFINITY
            for l in range(end - 2, begin - 1 if begin > 0 else end, -1):
                # s is in the block before, i in this one.
                earlier = join(earlier, b[l + 1] + from_a[l + 1 - width], self.maxima)
                out[l * K] = join(out[l * K], earlier, self.maxima)
            begin = end

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        """Draw a segmentation, after `forward`, which must not have returned -inf."""
        cdef Py_ssize_t j, k, l, start, end = self.L, K = self.n_labels
        cdef const double* row
        k = -1
        while end > 0:
            row = self.ending + end * K
            for j in range(K):
                self.room[j] = row[j] + (self.step[k * K + j] if k >= 0 else 0)
            if k >= 0 and not self.may_split(end):
                self.room[k] = -INFINITY
            normalize(self.room, K)
            k = random_choice(random, self.room, K, 1)
            start = self.sample_start(random, end, k)
            for l in range(start, end):
                labels[l] = <int32_t> k
            end = start
            poll_signals(20.0 * K)
        return 0

    cdef Py_ssize_t sample_start(
            self, Random* random, Py_ssize_t end, Py_ssize_t k) except -1 nogil:
        """Draw the start of a segment of label k that ends before a node."""
        cdef Py_ssize_t s, chosen = end - 1, r = self.range_at[k]
        cdef double left = (random_next(random) >> 11) * (1.0 / 9007199254740992.0), weight
        cdef double total = self.ending[end * self.n_labels + k] - self.total[k * (self.L + 1) + end]
        for s in range(end - 1, -1, -1):
            if self.is_forbidden(s, k) or (s < end - 1 and self.must_start(s + 1, k)):
                break
            while r < self.range_at[k + 1] and end - s > self.most[r]:
                r += 1
            if r == self.range_at[k + 1]:
                break
            if end - s >= self.least[r]:
                weight = exp(
                    self.gain(self.before, s, k, False) + self.duration_score(k, r)
                    + self.term(s, end, k) - total)
                if weight > 0:      # rounding must not select a start of probability 0
                    chosen = s
                    left -= weight
                    if left < 0:
                        break
            poll_signals(20)
        return chosen

    cdef double log_segment(
            self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t k) except? -1 nogil:
        """Return the sum over all segmentations that contain a segment of label k, after `backward`."""
        cdef Py_ssize_t l
        for l in range(start, stop):
            if self.is_forbidden(l, k) or (l > start and self.must_start(l, k)):
                return -INFINITY
        return self.log_allowed(start, stop, k)

    cdef double log_allowed(
            self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t k) noexcept nogil:
        """As `log_segment`, for a segment without forbidden nodes and boundaries."""
        cdef Py_ssize_t r, at = k * (self.L + 1)
        for r in range(self.range_at[k], self.range_at[k + 1]):
            if self.least[r] <= stop - start <= self.most[r]:
                return self.shift + self.duration_score(k, r) + self.term(start, stop, k) + (
                    self.total[at + stop]) + (
                    self.gain(self.before, start, k, False) + self.after[at + self.L - stop])
        return -INFINITY
