# Design:
# (a) A block is a sentence of tokens 1 to n; 0 is the root. Each candidate arc has a row of features:
#     phi(x, y) is the sum of the rows of the tree's arcs and, if arcs have labels, of their rows of label
#     features (x) e[label]. Arcs that are not listed are forbidden.
# (b) A code has an entry for each token, head * K + label; K is the number of labels, or 1 without labels.
# (c) L(y) = c_i times the number of tokens with a wrong head or label, among those that count in the loss.
#     It is a sum over arcs, so the max-oracle adds it to the scores of arcs, takes the
#     best label of each arc, and decodes the arcs.
# (d) The features of all arcs share weights, so squared distances add rows to a vector of the size of w
#     that is zero between calls, and read only the entries of these rows.
# (e) A known code of a token forbids its other arcs and labels. For decoding only.
"""Joint feature map, loss and max-oracle of DependencySSVM."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from sstruct._kernels._constants cimport VECTOR_WORK
from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.dependency._spanning_tree cimport DependencyDecoder
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._range cimport check_scores
from sstruct._problems.core._rows cimport (
    FeatureRows, potentials_of_rows, sstruct_add_row, sstruct_padded, sstruct_row_size,
    sstruct_row_start, sstruct_rows, sstruct_some_potentials)

import numpy as np

from sstruct._oracles.dependency._projective_tree import ProjectiveTreeDecoder
from sstruct._oracles.dependency._spanning_tree import SpanningTreeDecoder
from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.core._node_arguments import check_in_loss, check_known, of_blocks, shaped
from sstruct._problems.dependency.dependency_arguments import (
    InvalidTreeError, NoTreeError, dependency_layout)

# The kernels expect a column of weights for each label. A weight vector is one column: its label is 0.
cdef int32_t ONE_LABEL = 0
# Work of an entry of the table of arcs, and of a split of a span, relative to a multiply-add.
cdef double ARC_WORK = 6
cdef double SPLIT_WORK = 1


cdef class DependencyProblem(BlockProblem):
    """Sentences with candidate arcs.

    Parameters
    ----------
    X : ndarray or canonical CSR of shape (n_arcs, n_features), or FeatureRows
        Features of each arc.
    arcs : Arcs
    label_features : as X, optional
        Features of the labels of each arc. Default: X.
    n_labels : int
        0 if arcs have no labels.
    labels : array-like of int of shape (n_tokens,), or None
        True codes of all tokens, ``head * max(n_labels, 1) + label``. With None, the problem can only
        decode.
    projective, single_root : bool
        Whether trees must be projective, and whether only one token may be a child of the root.
    loss_scale : array-like of shape (n_blocks,), optional
        Factor of each block's number of errors. Default 1.
    in_loss : array-like of bool of shape (n_tokens,), optional
        Which tokens count in the loss. Default: all.
    known : array-like of int of shape (n_tokens,), optional
        Codes that every labeling must have, or -1. For decoding only.

    Raises
    ------
    ValueError
        If arguments are inconsistent, or a true labeling is not a tree of candidate arcs.
    """

    # Data, shared by forks.
    cdef dict arguments
    cdef FeatureRows features, label_features
    cdef sstruct_rows rows, label_rows       # structs of these objects, which own the arrays
    cdef const int32_t[::1] head, dependent  # head and dependent of each arc
    cdef const int64_t[::1] start            # first arc of each block, and the end
    cdef const int64_t[::1] token_start      # first token of each block
    cdef const int64_t[::1] n_tokens
    cdef const int64_t[::1] first_arc        # first arc of each token, and the end
    cdef const int32_t[::1] labels, known    # code of each token; known: -1 if it is not known
    cdef const unsigned char[::1] in_loss    # of each token
    cdef const double[::1] loss_scale
    cdef readonly Py_ssize_t n_labels        # 0: arcs have no labels
    cdef Py_ssize_t K, KP, label_at          # K: n_labels, at least 1
    cdef bint projective, single_root, has_known
    # Scratch memory of this object: for the block that was decoded last ...
    cdef double[::1] arc_score, label_score, tree_scores
    cdef int32_t[::1] best_label, heads
    cdef double last_scale
    cdef DependencyDecoder decoder
    # ... and for a call.
    cdef double[::1] difference, value
    cdef int32_t[::1] group, member

    def __init__(
            self, X, arcs, *, label_features=None, n_labels=0, labels=None, projective=False,
            single_root=True, loss_scale=None, in_loss=None, known=None):
        cdef FeatureRows features = X if isinstance(X, FeatureRows) else FeatureRows(X)
        cdef FeatureRows others = features
        if label_features is not None:
            others = (label_features if isinstance(label_features, FeatureRows)
                      else FeatureRows(label_features))
        self.arguments = dict(
            X=features, arcs=arcs, label_features=others, n_labels=n_labels, labels=labels,
            projective=projective, single_root=single_root, loss_scale=loss_scale, in_loss=in_loss,
            known=known)
        if others.n_rows != features.n_rows:
            raise ValueError(f"label_features has {others.n_rows} rows, X has {features.n_rows}")
        if n_labels < 0:
            raise ValueError(f"n_labels must be at least 0, found {n_labels}")
        self.features, self.rows = features, features.rows
        self.label_features, self.label_rows = others, others.rows
        self.head, self.dependent, self.start, self.n_tokens, self.first_arc = (
            arcs.checked(features.n_rows))
        n, n_tokens = len(self.n_tokens), np.asarray(self.n_tokens)
        total = int(n_tokens.sum())
        self.token_start = np.cumsum(n_tokens) - n_tokens
        self.n_blocks, self.max_code_size = n, int(n_tokens.max())
        self.n_labels, self.K = n_labels, max(n_labels, 1)
        self.KP = sstruct_padded(self.K)
        if (self.max_code_size + 1) * self.K >= 2**31:
            raise ValueError("codes of tokens exceed the range of int32")
        self.projective, self.single_root = projective, single_root
        self.loss_scale = of_blocks(loss_scale, n, np.float64)
        self.in_loss = np.broadcast_to(check_in_loss(in_loss, (total,)), total).copy()
        self.has_known = known is not None
        self.known = check_known(known, (total,), np.repeat((n_tokens + 1) * self.K, n_tokens))
        self._layout = dependency_layout(features.n_features, n_labels, others.n_features)
        self.n_weights = self._layout.size
        self.label_at = self._layout.starts.get("label_coef", self.n_weights)
        self.has_labels = labels is not None
        self.labels = np.zeros(total, dtype=np.int32)
        if self.has_labels:
            self.labels = codes = shaped(labels, (total,), np.int32, "labels")
            for i, (a, size) in enumerate(zip(self.token_start, n_tokens)):
                self.check_code(i, codes[a:a + size])
        self._set_scratch()
        self.bounded = True
        splits = n_tokens**3 / 2 if projective else 0
        self.oracle_work = float(
            (features.n_stored + (n_labels > 0) * others.n_stored * self.KP * VECTOR_WORK) / n
            + (ARC_WORK * (n_tokens + 1)**2 + SPLIT_WORK * splits).mean())
        self.batch_size = batch_size(n, self.oracle_work)

    def _set_scratch(self):
        size, most = int(np.diff(self.start).max()), self.max_code_size
        self.arc_score, self.best_label = np.empty(size), np.zeros(size, dtype=np.int32)
        self.label_score = np.empty(size * self.KP if self.n_labels > 0 else 1)
        self.tree_scores = np.empty(most * (most + 1))
        self.heads = np.empty(most, dtype=np.int32)
        self.difference = np.zeros(self.n_weights)
        self.value = np.empty(1)
        self.group, self.member = np.empty((2, 1), dtype=np.int32)
        self.decoder = ProjectiveTreeDecoder() if self.projective else SpanningTreeDecoder()

    cpdef BlockProblem fork(self):
        return DependencyProblem(**self.arguments)

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        return self.n_tokens[i]

    def feature_rows(self):
        """Return the rows of features of arcs and, if they are different, of labels."""
        first = np.asarray(self.start)[:self.n_blocks]
        if self.n_labels == 0 or self.label_features is self.features:
            return [(self.features, first)]
        return [(self.features, first), (self.label_features, first)]

    def norms(self):
        """Return upper bounds of |phi|: the sum over tokens of the largest row of an arc."""
        row = self.features.norms()
        if self.n_labels > 0:
            row = row + self.label_features.norms()
        n = self.labels.shape[0]
        first = np.asarray(self.first_arc)
        largest = np.maximum.reduceat(row[:self.first_arc[n]], first[:n])
        return np.add.reduceat(largest, np.asarray(self.token_start))

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        cdef Py_ssize_t t, steps, n = self.n_tokens[i] if 0 <= i < self.n_blocks else 0
        cdef int32_t h, d, other, n_roots = 0
        BlockProblem.check_code(self, i, code)
        for t in range(n):
            if not 0 <= code[t] < (n + 1) * self.K or self.arc_of(i, t, code[t]) < 0:
                raise InvalidTreeError(
                    i, f"has the head {code[t] // self.K} of token {t + 1}, which is not among the arcs "
                    "of X")
            n_roots += code[t] // self.K == 0
        for t in range(n):
            h, steps = <int32_t> (t + 1), 0
            while h > 0:
                h = code[h - 1] // <int32_t> self.K
                steps += 1
                if steps > n:
                    raise InvalidTreeError(i, f"has a cycle of heads, from token {t + 1} on")
        if self.single_root and n_roots > 1:
            raise InvalidTreeError(
                i, f"has {n_roots} children of the root, but single_root=True allows one")
        for t in range(n if self.projective else 0):
            h, d = code[t] // <int32_t> self.K, <int32_t> (t + 1)
            for steps in range(min(h, d) + 1, max(h, d)):
                other = <int32_t> steps
                while other != 0 and other != h:
                    other = code[other - 1] // <int32_t> self.K
                if other != h:
                    raise InvalidTreeError(
                        i, f"is not projective: token {steps}, between token {d} and its head {h}, does "
                        "not descend from the head. Use projective=False, or the closest projective "
                        "tree, by inference.dependency_tree")
        return 0

    cdef int64_t arc_of(self, Py_ssize_t i, Py_ssize_t t, int32_t code) noexcept nogil:
        """Return the arc that a code gives token t (counted from 0), or -1 if it is not a candidate."""
        cdef int64_t low = self.first_arc[self.token_start[i] + t]
        cdef int64_t high = self.first_arc[self.token_start[i] + t + 1], middle
        cdef int64_t end = high
        cdef int32_t h = code // <int32_t> self.K
        while low < high:
            middle = (low + high) // 2
            if self.head[middle] < h:
                low = middle + 1
            else:
                high = middle
        return low if low < end and self.head[low] == h else -1

    cdef double cost(self, Py_ssize_t i, Py_ssize_t t, int32_t code) noexcept nogil:
        cdef Py_ssize_t at = self.token_start[i] + t
        return self.in_loss[at] and code != self.labels[at]

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        self.need_labels()
        memcpy(code, &self.labels[self.token_start[i]], self.n_tokens[i] * sizeof(int32_t))
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        cdef Py_ssize_t t
        cdef double total = 0
        self.need_labels()
        for t in range(self.n_tokens[i]):
            total += self.cost(i, t, code[t])
        out[0] = self.loss_scale[i] * total
        return 0

    cdef int reserve(self, Py_ssize_t count) except -1 nogil:
        """Allocate scratch memory for `count` labelings."""
        if self.value.shape[0] < count:
            with gil:
                self.value = np.empty(2 * count)
                self.group, self.member = np.empty((2, 2 * count), dtype=np.int32)
        return 0

    cdef Py_ssize_t distinct(
            self, const int32_t** codes, Py_ssize_t count, Py_ssize_t t, int32_t per) noexcept nogil:
        """Group labelings by code // per of a token; return the number of groups.

        Writes the `group` of each labeling, and one `member` of each group.
        """
        cdef Py_ssize_t k, g, n = 0
        cdef int32_t y
        for k in range(count):
            y = codes[k][t] // per
            g = 0
            while g < n and codes[self.member[g]][t] // per != y:
                g += 1
            if g == n:
                self.member[n] = <int32_t> k
                n += 1
            self.group[k] = <int32_t> g
        return n

    cdef double term(
            self, Py_ssize_t i, Py_ssize_t t, int32_t code, const double* w,
            double scale) noexcept nogil:
        """Return the score of a token's arc, with `scale` times its cost.

        w : NULL for the potentials of the last `maximize`
        """
        cdef int64_t r = self.arc_of(i, t, code), at = r - self.start[i]
        cdef int32_t label = code % <int32_t> self.K
        cdef double arc, labeled = 0
        if w == NULL:
            arc = self.arc_score[at]
            if self.n_labels > 0:
                labeled = self.label_score[at * self.KP + label]
        else:
            sstruct_some_potentials(&self.rows, r, w, 1, &ONE_LABEL, 1, &arc)
            if self.n_labels > 0:
                sstruct_some_potentials(
                    &self.label_rows, r, w + self.label_at, self.KP, &label, 1, &labeled)
        return arc + (labeled + (scale * self.cost(i, t, code) if scale != 0 else 0))

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t t, k, g, n
        cdef double scale = loss_weight * self.loss_scale[i]
        if w == NULL:
            scale = self.last_scale
        if scale != 0:
            self.need_labels()
        self.reserve(count)
        for k in range(count):
            out[k] = 0
        for t in range(self.n_tokens[i]):
            n = self.distinct(codes, count, t, 1)
            if n == 1 and w != NULL:
                continue
            for g in range(n):
                self.value[g] = self.term(i, t, codes[self.member[g]][t], w, scale)
                if w != NULL:
                    work[0] += sstruct_row_size(&self.rows, self.start[i])
            for k in range(count):
                out[k] += self.value[self.group[k]]
        work[0] += count * self.n_tokens[i]
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t t, k, g, n
        cdef int32_t code, label
        self.reserve(count)
        for t in range(self.n_tokens[i]):
            # Groups with the same head share the row of an arc, and its changes cancel.
            for k in range(1 + (self.n_labels > 0)):
                n = self.distinct(codes, count, t, <int32_t> self.K if k == 0 else 1)
                if n == 1:
                    continue
                for g in range(n):
                    self.value[g] = 0
                for g in range(count):
                    self.value[self.group[g]] += coefficient[g]
                for g in range(n):
                    code = codes[self.member[g]][t]
                    label = code % <int32_t> self.K
                    if k == 0:
                        sstruct_add_row(
                            &self.rows, self.arc_of(i, t, code), &ONE_LABEL, &self.value[g], 1, out, 1)
                    else:
                        sstruct_add_row(
                            &self.label_rows, self.arc_of(i, t, code), &label, &self.value[g], 1,
                            out + self.label_at, self.KP)
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef const int32_t* codes[2]
        cdef double coefficient[2]
        cdef double* difference = &self.difference[0]
        cdef Py_ssize_t t, k
        cdef int64_t r
        codes[0], codes[1] = a, b
        coefficient[0], coefficient[1] = 1, -1
        # The order of the two codes does not depend on the order of the arguments, nor does rounding.
        for t in range(self.n_tokens[i]):
            if a[t] != b[t]:
                if a[t] > b[t]:
                    codes[0], codes[1] = b, a
                break
        self.scatter(i, codes, coefficient, 2, difference)
        out[0] = 0
        for t in range(self.n_tokens[i]):
            if a[t] == b[t]:
                continue
            for k in range(2):
                r = self.arc_of(i, t, codes[k][t])
                out[0] += self.take_squares(&self.rows, r, 1, 0, difference)
                if self.n_labels > 0:
                    out[0] += self.take_squares(
                        &self.label_rows, r, self.KP, codes[k][t] % self.K,
                        difference + self.label_at)
        return 0

    cdef double take_squares(
            self, const sstruct_rows* rows, int64_t r, Py_ssize_t KP, Py_ssize_t label,
            double* difference) noexcept nogil:
        """Return the sum of squares of the entries of a row's features, and set them to 0."""
        cdef int64_t k, begin = sstruct_row_start(rows, r), size = sstruct_row_size(rows, r)
        cdef double* entry
        cdef double total = 0
        for k in range(size):
            entry = difference + label + KP * (
                rows.indices[begin + k] if rows.indices != NULL else k)
            total += entry[0] * entry[0]
            entry[0] = 0
        return total

    cdef int potentials(
            self, Py_ssize_t i, const double* w, double scale, double* work) except -1 nogil:
        """Compute the scores of arcs and labels, the best label of each arc, and the table of arcs."""
        cdef Py_ssize_t n = self.n_tokens[i], a, t, l, K = self.K, N = n + 1
        cdef int64_t r, first = self.start[i], count = self.start[i + 1] - first
        cdef int32_t h, code, known, truth
        cdef double best, value, total = 0, cost
        cdef double* labeled = &self.label_score[0]
        work[0] += sstruct_row_start(&self.rows, first + count) - sstruct_row_start(&self.rows, first)
        for a in range(count):
            sstruct_some_potentials(
                &self.rows, first + a, w, 1, &ONE_LABEL, 1, &self.arc_score[a])
        poll_signals(work[0] + count)
        if self.n_labels > 0:
            potentials_of_rows(
                &self.label_rows, first, count, w + self.label_at, self.KP, NULL, NULL, NULL, 0,
                labeled)
            work[0] += self.KP * VECTOR_WORK * (
                sstruct_row_start(&self.label_rows, first + count)
                - sstruct_row_start(&self.label_rows, first))
        for a in range(n * N):
            self.tree_scores[a] = -INFINITY
        for a in range(count):
            r = first + a
            t, h = self.dependent[r] - 1, self.head[r]
            known = self.known[self.token_start[i] + t] if self.has_known else -1
            truth = self.labels[self.token_start[i] + t]
            cost = scale if self.in_loss[self.token_start[i] + t] else 0
            best = -INFINITY
            for l in range(K):
                code = <int32_t> (h * K + l)
                if known >= 0 and code != known:
                    continue
                value = (labeled[a * self.KP + l] if self.n_labels > 0 else 0) + (
                    cost if code != truth else 0)
                total += fabs(value)
                if value > best:
                    best, self.best_label[a] = value, <int32_t> l
            total += fabs(self.arc_score[a])
            self.tree_scores[t * N + h] = self.arc_score[a] + best
        check_scores(i, total)
        work[0] += count * K
        return 0

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t t, n = self.n_tokens[i]
        cdef double value
        cdef const int32_t* codes[1]
        cdef double scale = loss_weight * self.loss_scale[i]
        if loss_weight != 0:
            self.need_labels()
        self.last_scale, answer.work = scale, 0
        self.potentials(i, w, scale, &answer.work)
        value = self.decoder.decode(n, &self.tree_scores[0], self.single_root, &self.heads[0])
        if self.projective:
            answer.work += SPLIT_WORK * n * n * n / 2
        answer.work += ARC_WORK * (n + 1) * (n + 1)
        if value == -INFINITY:
            with gil:
                raise NoTreeError(i)
        for t in range(n):
            code[t] = self.heads[t] * <int32_t> self.K
            code[t] += self.best_label[self.arc_of(i, t, code[t]) - self.start[i]]
        codes[0] = code
        self.scores(i, NULL, loss_weight, codes, 1, &answer.value, &answer.work)
        answer.exact, answer.bound = True, answer.value
        return 0


def arc_scores(DependencyProblem problem not None, const double[::1] w):
    """Return the score of each arc with its best label, without loss.

    Parameters
    ----------
    problem : DependencyProblem
    w : ndarray of shape (n_weights,)

    Returns
    -------
    list of ndarray of shape (n_tokens, n_tokens + 1)
        For each block, a row per token and a column per head; -inf for arcs that are not candidates.
    """
    problem._check_weights(w)
    cdef Py_ssize_t i, n
    cdef double work = 0
    cdef double[::1] scores = problem.tree_scores
    out = []
    for i in range(problem.n_blocks):
        with nogil:
            problem.potentials(i, &w[0], 0, &work)
        n = problem.n_tokens[i]
        out.append(np.array(scores[:n * (n + 1)]).reshape(n, n + 1))
    return out
