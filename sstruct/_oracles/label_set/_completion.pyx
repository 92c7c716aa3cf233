# Design:
# (a) Complete a half-integral maximum over the local polytope to a label set. Labels with value 0 or 1
#     are kept, since some integral maximum has them (`_roof_duality`). Given these, the labels with value
#     1/2 (halves) form components that do not interact, and each is completed separately.
# (b) Components of up to MAX_ENUMERATED labels: enumerate all settings in the order of a Gray code,
#     flipping one label at a time, so a setting takes time linear in the size of the component. Exact.
# (c) Larger ones: local search from three settings (all off; all on; each by the sign of its mean gain
#     over the settings of the others), of which the best result is kept. A pass flips every label once,
#     always the remaining label with the largest gain (or smallest loss), and keeps the best setting on
#     the way. Passes are repeated while they gain (the variable depth search of Kernighan and Lin). No flip
#     of one label improves the result. It is known to be exact only if its value equals the relaxed one.
# (d) Ties are resolved by the first setting found, so nothing depends on the order of calls.
# (B. W. Kernighan and S. Lin. An efficient heuristic procedure for partitioning graphs. Bell System
# Technical Journal 49, 1970.)
"""Label sets from half-integral maxima of pairwise scores."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t

import numpy as np

from sstruct._kernels._constants cimport ROUNDING
from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.label_set._codes cimport relaxed_code_size
from sstruct._oracles.label_set._roof_duality cimport load_problem

cdef enum: MAX_ENUMERATED = 16


cdef class LabelCompletion:
    """Completes one half-integral maximum at a time; each thread requires its own object."""

    cdef int reserve(self, Py_ssize_t n_labels) except -1 nogil:
        self.grow(<void**> &self.gain, n_labels, sizeof(double))
        self.grow(<void**> &self.tolerance, n_labels, sizeof(double))
        self.grow(<void**> &self.middle, n_labels, sizeof(double))
        self.grow(<void**> &self.best, n_labels, sizeof(int32_t))
        self.grow(<void**> &self.order, n_labels, sizeof(int32_t))
        self.grow(<void**> &self.queue, n_labels, sizeof(int32_t))
        self.grow(<void**> &self.component, n_labels, sizeof(int32_t))
        return 0

    cdef int complete(
            self, RelaxedLabels relaxed, const int32_t* code, int32_t* labels, double* value,
            bint* exact, double* work) except -1 nogil:
        """Write labels (n_labels,), 0 or 1, their score, and whether it is known to be a maximum.

        code : a maximum that `relaxed` found for the scores that it still contains
        O(n 2^n) for an enumerated component of n labels, O(K) for each flip in another.
        """
        cdef Py_ssize_t k, v, w, i, e, n = 0, n_done = 0, begin, size, K = relaxed.n_labels
        cdef int start, best_start
        cdef double found, best, bound = relaxed.value(code), scale = fabs(relaxed.constant)
        self.reserve(K)
        exact[0] = True
        for k in range(K):
            labels[k] = code[k] // 2
            self.component[k] = -1
            self.gain[k] = 0
        for k in range(K):
            if code[k] != 1 or self.component[k] >= 0:
                continue
            begin = n
            self.component[k] = <int32_t> begin
            self.queue[n] = <int32_t> k
            n += 1
            while n_done < n:
                v = self.queue[n_done]
                n_done += 1
                for i in range(relaxed.first[v], relaxed.first[v + 1]):
                    e = relaxed.arc[i]
                    w = relaxed.edges[2 * e] + relaxed.edges[2 * e + 1] - v
                    if code[w] == 1 and relaxed.interaction[e] != 0 and self.component[w] < 0:
                        self.component[w] = <int32_t> begin
                        self.queue[n] = <int32_t> w
                        n += 1
            size = n - begin
            if size <= MAX_ENUMERATED:
                work[0] += self.enumerate_labels(relaxed, labels, self.queue + begin, size)
                poll_signals(<double> ((<Py_ssize_t> 1 << size) * size))
                continue
            exact[0] = False
            best = -INFINITY
            best_start = 0
            for start in range(3):
                found = self.improve(relaxed, labels, self.queue + begin, size, start)
                if found > best:
                    best, best_start = found, start
                    for i in range(begin, n):
                        self.best[i] = labels[self.queue[i]]
                work[0] += <double> size * size
            for i in range(begin, n):
                labels[self.queue[i]] = self.best[i]
        value[0] = relaxed.constant
        for k in range(K):
            value[0] += relaxed.node[k] * labels[k]
            scale += fabs(relaxed.node[k])
        for e in range(relaxed.n_edges):
            if labels[relaxed.edges[2 * e]] and labels[relaxed.edges[2 * e + 1]]:
                value[0] += relaxed.interaction[e]
            scale += fabs(relaxed.interaction[e])
        work[0] += <double> (K + relaxed.n_edges)
        exact[0] = exact[0] or value[0] >= bound - ROUNDING * scale
        return 0

    cdef void set_gains(
            self, RelaxedLabels relaxed, const int32_t* labels, const int32_t* members,
            Py_ssize_t n) noexcept nogil:
        """Compute the gain of each member, given the other labels."""
        cdef Py_ssize_t k, i, v, e
        for k in range(n):
            v = members[k]
            self.gain[v] = relaxed.node[v]
            self.tolerance[v] = fabs(relaxed.node[v])
            for i in range(relaxed.first[v], relaxed.first[v + 1]):
                e = relaxed.arc[i]
                self.tolerance[v] += fabs(relaxed.interaction[e])
                if labels[relaxed.edges[2 * e] + relaxed.edges[2 * e + 1] - v]:
                    self.gain[v] += relaxed.interaction[e]
            self.tolerance[v] *= ROUNDING

    cdef void flip(self, RelaxedLabels relaxed, int32_t* labels, Py_ssize_t v) noexcept nogil:
        """Flip a label and update the gains of its neighbors."""
        cdef Py_ssize_t i, e
        labels[v] = 1 - labels[v]
        for i in range(relaxed.first[v], relaxed.first[v + 1]):
            e = relaxed.arc[i]
            self.gain[relaxed.edges[2 * e] + relaxed.edges[2 * e + 1] - v] += (
                relaxed.interaction[e] if labels[v] else -relaxed.interaction[e])

    cdef double enumerate_labels(
            self, RelaxedLabels relaxed, int32_t* labels, const int32_t* members,
            Py_ssize_t n) noexcept nogil:
        """Find the best labels of the members by enumeration; return the work."""
        cdef double[MAX_ENUMERATED * MAX_ENUMERATED] table      # interactions of members
        cdef double[MAX_ENUMERATED] gain
        cdef Py_ssize_t step, k, j, i, e, v, pattern = 0, best_pattern = 0
        cdef double total = 0, best = 0, sign
        for k in range(n):
            labels[members[k]] = 0
        self.set_gains(relaxed, labels, members, n)
        for k in range(n):
            gain[k] = self.gain[members[k]]
            for j in range(n):
                table[k * n + j] = 0
            for i in range(relaxed.first[members[k]], relaxed.first[members[k] + 1]):
                e = relaxed.arc[i]
                v = relaxed.edges[2 * e] + relaxed.edges[2 * e + 1] - members[k]
                for j in range(n):
                    if members[j] == v:
                        table[k * n + j] += relaxed.interaction[e]
        for step in range(1, <Py_ssize_t> 1 << n):
            k = 0
            while not step >> k & 1:
                k += 1
            pattern ^= <Py_ssize_t> 1 << k
            sign = 1 if pattern >> k & 1 else -1
            total += sign * gain[k]
            for j in range(n):
                gain[j] += sign * table[k * n + j]
            if total > best + self.tolerance[members[k]]:
                best, best_pattern = total, pattern
        for k in range(n):
            labels[members[k]] = <int32_t> (best_pattern >> k & 1)
        return <double> ((<Py_ssize_t> 1 << n) * (n + 4))

    cdef double improve(
            self, RelaxedLabels relaxed, int32_t* labels, const int32_t* members, Py_ssize_t n,
            int start) except? -1 nogil:
        """Flip labels in passes from start 0, 1 or 2; return the score of the members. O(n K) per pass."""
        cdef Py_ssize_t k, v, i, e, best, step, n_kept
        cdef double gain, delta, change, most, total = 0
        for k in range(n):
            labels[members[k]] = start == 1
        self.set_gains(relaxed, labels, members, n)
        if start == 2:      # gains of all off plus gains of all on: the signs of their means
            for k in range(n):
                labels[members[k]] = 1
                self.middle[members[k]] = self.gain[members[k]]
            self.set_gains(relaxed, labels, members, n)
            for k in range(n):
                v = members[k]
                labels[v] = self.middle[v] + self.gain[v] > 0
            self.set_gains(relaxed, labels, members, n)
        for k in range(n):
            self.order[k] = members[k]
        while True:
            change = most = 0
            n_kept = 0
            for step in range(n):
                best = step
                delta = -INFINITY
                for k in range(step, n):
                    v = self.order[k]
                    gain = -self.gain[v] if labels[v] else self.gain[v]
                    if gain > delta:
                        delta, best = gain, k
                v = self.order[best]
                self.order[best], self.order[step] = self.order[step], <int32_t> v
                self.flip(relaxed, labels, v)
                poll_signals(2.0 * (n - step))
                change += delta
                if change > most + self.tolerance[v]:
                    most, n_kept = change, step + 1
            for step in range(n - 1, n_kept - 1, -1):
                self.flip(relaxed, labels, self.order[step])
            if n_kept == 0:
                break
        for k in range(n):      # the gains count interactions within the component twice
            v = members[k]
            if labels[v]:
                total += self.gain[v]
                for i in range(relaxed.first[v], relaxed.first[v + 1]):
                    e = relaxed.arc[i]
                    if (labels[relaxed.edges[2 * e]] and labels[relaxed.edges[2 * e + 1]]
                            and self.component[relaxed.edges[2 * e] + relaxed.edges[2 * e + 1] - v] >= 0):
                        total -= 0.5 * relaxed.interaction[e]
        return total

    def decode_arrays(self, RelaxedLabels relaxed, node_scores, edges, edge_scores):
        """Maximize and complete; scores are (K,) and (E,) or (E, 4). Return (labels, value, bound, exact,
        work). For Python functions, tests and benchmarks."""
        cdef double value = 0, bound = 0, work = 0
        cdef bint exact = True
        load_problem(relaxed, node_scores, edges, edge_scores)
        cdef Py_ssize_t K = relaxed.n_labels
        labels = np.empty(K, dtype=np.int32)
        cdef int32_t[::1] out = labels
        cdef int32_t[::1] code = np.empty(relaxed_code_size(K, relaxed.n_edges), dtype=np.int32)
        if K:
            with nogil:
                relaxed.maximize(&code[0], &bound, &work)
                self.complete(relaxed, &code[0], &out[0], &value, &exact, &work)
        return labels, value, bound, bool(exact), work
