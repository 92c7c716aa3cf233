# Design:
# (a) A chain whose transitions have features: in addition to phi of _chain_problem.pyx,
#         sum_{l > 0} f_l (x) e[y_{l-1}, y_l],
#     where f_l is row first + l - 1 of a second flat array, dense or CSR.
# (b) A pair of labels (a, b) is entry a KP + b of a row, as in a table of transitions. The kernels of
#     feature rows therefore treat pairs as labels. Their weights, G rows of TP entries (K KP, padded),
#     come last.
# (c) This is a separate class that extends the plain chain: the decoders of the plain chain already
#     accept a table for each transition (`edge_step`), and its hot paths remain unchanged.
# (d) All tables of a block are computed before it is decoded: (L - 1) TP scores of scratch memory.
"""Chains with features of transitions."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from sstruct._kernels._constants cimport VECTOR_WORK
from sstruct._kernels._interruption cimport poll_signals
from sstruct._problems.chain._chain_problem cimport MAX_PAIRS, ChainProblem
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._node_labels cimport differ_at
from sstruct._problems.core._rows cimport (
    FeatureRows, potentials_of_rows, some_potentials, sstruct_add_row, sstruct_padded,
    sstruct_row_product, sstruct_row_size, sstruct_row_start, sstruct_rows)

import numpy as np

from sstruct._problems.chain.chain_arguments import check_edge_rows
from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.core._node_arguments import sums_over_blocks


cdef inline int same_pair(const int32_t* a, const int32_t* b) noexcept nogil:
    """Whether two transitions, starting at a and b, are between the same labels."""
    return a[0] == b[0] and a[1] == b[1]


cdef class EdgeFeatureChainProblem(ChainProblem):
    """Chains over flat rows, with features of their transitions.

    Parameters
    ----------
    X, chains, model, labels, **options : as for ChainProblem
    edges : EdgeFeatureRows
        The features of transitions; contiguous float32 and float64 arrays are not copied.
    """

    cdef dict own_arguments
    cdef readonly FeatureRows edge_features
    cdef sstruct_rows edge_rows      # view of `edge_features`, which owns the arrays
    cdef const int64_t[::1] edge_start
    cdef Py_ssize_t TP, feature_at
    # Scratch memory of this object: tables of a block's transitions; pairs of labels.
    cdef double[::1] tables, pair_score
    cdef int32_t[::1] pair, pair_place

    def __init__(self, X, chains, model, labels=None, *, edges, **options):
        super().__init__(X, chains, model, labels, **options)
        rows = edges.rows
        cdef FeatureRows features = rows if isinstance(rows, FeatureRows) else FeatureRows(rows)
        self.own_arguments = dict(
            options, X=self.features, chains=chains, model=model, labels=labels,
            edges=type(edges)(features, edges.start))
        self.edge_features, self.edge_rows = features, features.rows
        self.edge_start = check_edge_rows(
            edges.start, self.length, features.n_rows, features.n_features, self.n_labels)
        self.TP = self.edge_step = sstruct_padded(self.n_labels * self.KP)
        self._set_layout(self.layout_of(model, features.n_features))
        self.feature_at = self._layout.starts["edge_feature"]
        self.tables = np.empty(max(self.max_code_size - 1, 1) * self.TP)
        self.pair, self.pair_place = np.full((2, self.n_labels * self.KP), -1, dtype=np.int32)
        self.pair_score = np.empty(self.n_labels * self.KP)
        n_edges = np.asarray(self.length) - 1
        work = VECTOR_WORK * self.TP * n_edges.mean() * (
            1 + features.n_stored / max(features.n_rows, 1))
        self.oracle_work += work
        self.batch_size = batch_size(self.n_blocks, self.oracle_work)

    @property
    def oracle_is_quick(self):
        """Always False, since scores differ by transition and the oracle cannot skip labels by bounds."""
        return False

    cpdef BlockProblem fork(self):
        return EdgeFeatureChainProblem(**self.own_arguments)

    def with_chains(self, blocks, **arguments):
        edges = self.own_arguments["edges"]
        edges = type(edges)(edges.rows, np.asarray(edges.start)[blocks])
        return EdgeFeatureChainProblem(**(self.own_arguments | arguments | {"edges": edges}))

    def feature_rows(self):
        """Return the rows of node features and of transition features."""
        return [*super().feature_rows(), (self.edge_features, np.asarray(self.edge_start))]

    def norms(self):
        """Return upper bounds of |phi|: those of a plain chain plus the features of transitions."""
        edges = sums_over_blocks(
            self.edge_features.norms(), np.asarray(self.edge_start), np.asarray(self.length) - 1)
        return super().norms() + edges

    cdef int potentials(self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil:
        """Set `edge` to the table of each transition: features times weights, plus common scores."""
        cdef Py_ssize_t l, k, TP = self.TP, size = self.n_labels * self.KP
        cdef Py_ssize_t n_edges = self.length[i] - 1
        cdef double* table
        ChainProblem.potentials(self, i, w, loss_weight)
        potentials_of_rows(
            &self.edge_rows, self.edge_start[i], n_edges, w + self.feature_at, TP, NULL, NULL, NULL,
            0, &self.tables[0])
        for l in range(n_edges if self.edge != NULL else 0):
            table = &self.tables[l * TP]
            for k in range(size):
                table[k] += self.edge[k]
            poll_signals(VECTOR_WORK * size)
        self.edge = &self.tables[0]
        return 0

    cdef double table_work(self, Py_ssize_t i) noexcept nogil:
        """Return the work of computing the tables of a block's transitions."""
        cdef Py_ssize_t first = self.edge_start[i], n_edges = self.length[i] - 1
        cdef double n_values = (
            sstruct_row_start(&self.edge_rows, first + n_edges)
            - sstruct_row_start(&self.edge_rows, first))
        return VECTOR_WORK * self.TP * (n_values + n_edges)

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        ChainProblem.maximize(self, i, w, loss_weight, code, answer)
        answer.work += self.table_work(i)
        return 0

    cdef int maximize_product(
            self, Py_ssize_t i, const double* w, double margin, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        ChainProblem.maximize_product(self, i, w, margin, code, answer)
        answer.work += self.table_work(i)
        return 0

    cdef int32_t collect_pairs(
            self, const int32_t** codes, Py_ssize_t count, Py_ssize_t l) noexcept nogil:
        """Return the number of distinct pairs of labels at l - 1 and l; list them if there are several."""
        cdef Py_ssize_t k
        cdef int32_t y, n_pairs = 0, KP = <int32_t> self.KP
        if not (differ_at(codes, count, l - 1) or differ_at(codes, count, l)):
            return 1
        for k in range(count):
            y = codes[k][l - 1] * KP + codes[k][l]
            if self.pair_place[y] < 0:
                self.pair_place[y] = n_pairs
                self.pair[n_pairs] = y
                n_pairs += 1
        return n_pairs

    cdef void forget_pairs(self, int32_t n_pairs) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(n_pairs):
            self.pair_place[self.pair[k]] = -1

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t l, k, r
        cdef int32_t n_pairs
        cdef double spent = 0
        ChainProblem.scores(self, i, w, loss_weight, codes, count, out, work)
        if w == NULL:    # included in `edge`
            return 0
        for l in range(1, self.length[i]):
            n_pairs = self.collect_pairs(codes, count, l)
            if n_pairs == 1:
                continue
            r = self.edge_start[i] + l - 1
            some_potentials(
                &self.edge_rows, r, w + self.feature_at, self.TP, &self.pair[0], n_pairs,
                &self.pair_score[0])
            for k in range(count):
                out[k] += self.pair_score[
                    self.pair_place[codes[k][l - 1] * self.KP + codes[k][l]]]
            self.forget_pairs(n_pairs)
            spent += n_pairs * sstruct_row_size(&self.edge_rows, r) + 2 * count
        work[0] += spent
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t l, m, p, q, n_nodes = 0, n_edges = 0, first = self.edge_start[i]
        cdef int sign
        cdef double total = 0
        cdef int32_t* where = &self.where_edge[0]
        ChainProblem.squared_distance(self, i, a, b, out)
        for l in range(self.n_own[i]):
            n_nodes += a[l] != b[l]
        if n_nodes > MAX_PAIRS:    # `_accumulated_distance` includes transitions
            return 0
        for l in range(self.length[i] - 1):
            if not same_pair(a + l, b + l):
                where[n_edges] = <int32_t> l
                n_edges += 1
        # As for nodes, with pairs of labels instead of labels.
        for p in range(n_edges):
            l = where[p]
            total += 2 * sstruct_row_product(&self.edge_rows, first + l, first + l)
            for q in range(p):
                m = where[q]
                sign = (same_pair(a + l, a + m) - same_pair(a + l, b + m)
                        - same_pair(b + l, a + m) + same_pair(b + l, b + m))
                if sign != 0:
                    total += 2 * sign * sstruct_row_product(&self.edge_rows, first + l, first + m)
        out[0] += total
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t l, k
        cdef int32_t n_pairs
        cdef double* change = &self.pair_score[0]
        ChainProblem.scatter(self, i, codes, coefficient, count, out)
        for l in range(1, self.length[i]):
            n_pairs = self.collect_pairs(codes, count, l)
            if n_pairs == 1:
                continue
            memset(change, 0, n_pairs * sizeof(double))
            for k in range(count):
                change[self.pair_place[codes[k][l - 1] * self.KP + codes[k][l]]] += coefficient[k]
            sstruct_add_row(
                &self.edge_rows, self.edge_start[i] + l - 1, &self.pair[0], change, n_pairs,
                out + self.feature_at, self.TP)
            self.forget_pairs(n_pairs)
        return 0
