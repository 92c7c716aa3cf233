# Design:
# (a) A node of a search tree: a pairwise model over the labels that are still possible, in the form
#         E = bound + sum_v costs_v + sum_uv (table_uv - message_u - message_v)
#     in which all terms are >= 0 (up to rounding). `bound` is therefore a lower bound, and so is bound
#     plus the terms of one label or pair. A cost of +inf removes a label.
# (b) `sweep` is TRW-S in this form: each node adds its minimum to the bound, moves its costs to the
#     tables of later neighbors in equal parts, and moves the minimum of these tables for each label of
#     the neighbor to its cost. Messages are the amounts moved; tables are constant.
# (c) `look_ahead` bounds the energy of all labelings with label a at v by
#         bound + costs_v(a) + sum_t min_b (costs_t(b) + table(a, b) - messages),
#     which uses each term at most once; labels whose bound reaches a limit, such as the best
#     energy, are removed.
# (d) `build` makes the model of a child: one node has a fixed label, removed labels are left out, pairs
#     whose bound is too large are forbidden, and messages are subtracted from tables. Tables of zeros
#     are left out. Nodes with one label or at most two neighbors are eliminated, unless this takes a
#     large table: the minimum over their labels is a table of their neighbors. `complete` restores their
#     labels.
# (e) `remove_dominated` removes labels that another label can replace at no cost (dead-end elimination
#     [1]). It is decisive for models of protein side chains, where it removes most labels.
# (f) Memory is reused by later nodes of the search tree at the same depth.
# [1] R. Goldstein. Efficient rotamer elimination applied to protein side-chains and related spin
#     glasses. Biophysical Journal 66, 1994.
"""Models that shrink along a branch of a search tree."""

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memset

cdef extern from "sstruct/_oracles/mrf/messages.h":
    ctypedef struct sstruct_table:
        const double* entries
        double potts
        int64_t by_columns
    void sstruct_product(
        const double* source, int64_t K, const sstruct_table* table, int64_t L,
        double* out) noexcept nogil
    void sstruct_send(
        const double* costs, int64_t K, double share, double* mine, const sstruct_table* table,
        int64_t L, double* theirs, double* of_t, double* scratch) noexcept nogil

# A table whose entries are at most this, relative to 1 + abs(bound), is zero up to rounding.
cdef double CONSTANT = 1e-13
# Work for each edge in addition to its table entries.
cdef double OVERHEAD = 16
# Larger than all sums of costs.
cdef double FORBIDDEN = 1e200
# Limits on the entries of the new table and on the work of eliminating a node with two neighbors.
cdef double LARGE_TABLE = 1024
cdef double LARGE_WORK = 2.0**18


cdef inline Py_ssize_t other(ReducedModel model, Py_ssize_t arc) noexcept nogil:
    """Return the node at the other end of an arc's edge."""
    return model.ends[arc ^ 1]


cdef inline double entry(
        ReducedModel model, Py_ssize_t arc, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    """Return the table entry of an arc's edge: label a at its node and b at the other node."""
    cdef Py_ssize_t e = arc >> 1
    if arc & 1:
        a, b = b, a
    return model.tables[model.first_entry[e] + a * model.n_labels[model.ends[2 * e + 1]] + b]


cdef inline sstruct_table table_of(ReducedModel model, Py_ssize_t arc) noexcept nogil:
    """Return the table of an arc's edge, whose sender is the arc's node."""
    cdef sstruct_table table
    cdef Py_ssize_t e = arc >> 1
    table.entries = model.tables + model.first_entry[e]
    table.potts, table.by_columns = model.potts[e], arc & 1
    return table


cdef class ReducedModel(Storage):
    """Workspace for one depth of a search tree."""

    cdef int reserve(self, Py_ssize_t n_nodes, Py_ssize_t n_labels) except -1 nogil:
        """Make room for nodes and labels, and remove all edges."""
        self.n_nodes, self.n_edges, self.n_eliminated, self.n_choices = n_nodes, 0, 0, 0
        self.grow(<void**> &self.n_labels, n_nodes, sizeof(int32_t))
        self.grow(<void**> &self.first_label, n_nodes + 1, sizeof(int64_t))
        self.grow(<void**> &self.is_gone, n_nodes, sizeof(int8_t))
        self.grow(<void**> &self.labels, n_nodes, sizeof(int32_t))
        self.grow(<void**> &self.best, n_nodes, sizeof(int32_t))
        self.grow(<void**> &self.part, n_nodes, sizeof(int32_t))
        self.grow(<void**> &self.node_from, n_nodes, sizeof(int32_t))
        self.grow(<void**> &self.degree, n_nodes, sizeof(int32_t))
        self.grow(<void**> &self.waiting, n_nodes, sizeof(int32_t))
        self.grow(<void**> &self.arc_head, n_nodes, sizeof(int32_t))
        self.grow(<void**> &self.eliminated, 3 * n_nodes, sizeof(int32_t))
        self.grow(<void**> &self.first_choice, n_nodes + 1, sizeof(int64_t))
        self.grow(<void**> &self.costs, n_labels, sizeof(double))
        self.grow(<void**> &self.star, n_labels, sizeof(double))
        self.grow(<void**> &self.scratch, 3 * n_labels, sizeof(double))
        self.grow(<void**> &self.label_from, n_labels, sizeof(int32_t))
        self.grow(<void**> &self.first_entry, 1, sizeof(int64_t))
        self.grow(<void**> &self.first_message, 1, sizeof(int64_t))
        self.first_entry[0] = self.first_message[0] = self.first_choice[0] = 0
        memset(self.is_gone, 0, n_nodes)
        memset(self.degree, 0, n_nodes * sizeof(int32_t))
        memset(self.arc_head, 255, n_nodes * sizeof(int32_t))
        return 0

    cdef int reserve_edge(self, Py_ssize_t u, Py_ssize_t v) except -1 nogil:
        """Append an edge with messages of 0 and a table to be filled in.

        If the table is weight [a != b] with weight >= 0, set `potts` to the weight, too.
        """
        cdef Py_ssize_t e = self.n_edges, k
        cdef int64_t size = <int64_t> self.n_labels[u] * self.n_labels[v]
        if e == self.edge_room:
            self.grow_edges(2 * e + 8)
        self.ends[2 * e], self.ends[2 * e + 1] = <int32_t> u, <int32_t> v
        self.edge_gone[e], self.potts[e] = 0, -1
        self.first_entry[e + 1] = self.first_entry[e] + size
        self.first_message[e + 1] = self.first_message[e] + self.n_labels[u] + self.n_labels[v]
        if self.first_entry[e + 1] > self.entry_room:
            size = self.first_entry[e + 1] + self.first_entry[e + 1] // 4
            self.grow(<void**> &self.tables, size, sizeof(double))
            self.entry_room = size
        if self.first_message[e + 1] > self.message_room:
            size = self.first_message[e + 1] + self.first_message[e + 1] // 4
            self.grow(<void**> &self.messages, size, sizeof(double))
            self.message_room = size
        for k in range(self.first_message[e], self.first_message[e + 1]):
            self.messages[k] = 0
        self.n_edges += 1
        return 0

    cdef int grow_edges(self, Py_ssize_t room) except -1 nogil:
        """Make room for edges, without their tables and messages."""
        self.grow(<void**> &self.ends, 2 * room, sizeof(int32_t))
        self.grow(<void**> &self.edge_gone, room, sizeof(int8_t))
        self.grow(<void**> &self.potts, room, sizeof(double))
        self.grow(<void**> &self.arc_next, 2 * room, sizeof(int32_t))
        self.grow(<void**> &self.first_entry, room + 1, sizeof(int64_t))
        self.grow(<void**> &self.first_message, room + 1, sizeof(int64_t))
        self.edge_room = room
        return 0

    cdef void link(self, Py_ssize_t e) noexcept nogil:
        """Add an edge to the lists of its nodes."""
        cdef Py_ssize_t k, v
        for k in range(2):
            v = self.ends[2 * e + k]
            self.arc_next[2 * e + k] = self.arc_head[v]
            self.arc_head[v] = <int32_t> (2 * e + k)
            self.degree[v] += 1

    cdef void unlink(self, Py_ssize_t e) noexcept nogil:
        """Remove an edge from the lists of its nodes."""
        cdef Py_ssize_t k, v
        cdef int32_t* at
        self.edge_gone[e] = 1
        for k in range(2):
            v = self.ends[2 * e + k]
            at = &self.arc_head[v]
            while at[0] != 2 * e + k:
                at = &self.arc_next[at[0]]
            at[0] = self.arc_next[2 * e + k]
            self.degree[v] -= 1

    cdef double n_entries(self) noexcept nogil:
        """Return the number of entries of tables whose labels have not been removed."""
        cdef Py_ssize_t v, e, k
        cdef double total = 0
        for v in range(self.n_nodes):
            self.waiting[v] = 0
            if not self.is_gone[v]:
                for k in range(self.first_label[v], self.first_label[v + 1]):
                    self.waiting[v] += self.costs[k] < INFINITY
        for e in range(self.n_edges):
            if not self.edge_gone[e]:
                total += <double> self.waiting[self.ends[2 * e]] * self.waiting[self.ends[2 * e + 1]]
        return total

    cdef int build(self, ReducedModel parent, Py_ssize_t fixed, Py_ssize_t label,
                   Py_ssize_t part, double most) except -1 nogil:
        """Make the model of a child; return 0 if it has no labeling.

        fixed, label : a node of the parent and its label; -1 for none
        part : the component of the parent to which the child is restricted, with a bound that starts
            at 0; -1 for all nodes
        most : only energies below this value are of interest
        """
        cdef Py_ssize_t u, v, e, i, j, k, a, b, n = 0, n_labels = 0, columns
        cdef int32_t* place = parent.waiting
        cdef const double* table
        cdef const double* at_u
        cdef const double* at_v
        cdef double* out
        cdef double value, least, largest, gap = most - parent.bound
        for v in range(parent.n_nodes):
            place[v] = -1
            if not parent.is_gone[v] and v != fixed and (part < 0 or parent.part[v] == part):
                place[v] = <int32_t> n
                n += 1
                for k in range(parent.first_label[v], parent.first_label[v + 1]):
                    n_labels += parent.costs[k] < INFINITY
        self.reserve(n, n_labels)
        self.bound = 0 if part >= 0 else parent.bound
        if fixed >= 0:
            self.bound += parent.costs[parent.first_label[fixed] + label]
        n = 0
        k = 0
        for v in range(parent.n_nodes):
            if place[v] < 0:
                continue
            self.first_label[n], self.node_from[n] = k, <int32_t> v
            for i in range(parent.first_label[v], parent.first_label[v + 1]):
                if parent.costs[i] < INFINITY:
                    self.costs[k] = parent.costs[i]
                    self.label_from[k] = <int32_t> (i - parent.first_label[v])
                    k += 1
            self.n_labels[n] = <int32_t> (k - self.first_label[n])
            n += 1
        self.first_label[n] = k
        for v in range(n):
            if self.n_labels[v] == 0:
                return 0
        for e in range(parent.n_edges):
            if parent.edge_gone[e]:
                continue
            u, v = parent.ends[2 * e], parent.ends[2 * e + 1]
            columns = parent.n_labels[v]
            table = parent.tables + parent.first_entry[e]
            at_u = parent.messages + parent.first_message[e]
            at_v = at_u + parent.n_labels[u]
            if u == fixed or v == fixed:
                if place[u if v == fixed else v] < 0:
                    continue
                k = place[u if v == fixed else v]
                for j in range(self.first_label[k], self.first_label[k + 1]):
                    a, b = label, self.label_from[j]
                    if v == fixed:
                        a, b = b, a
                    self.costs[j] += max(table[a * columns + b] - at_u[a] - at_v[b], 0.0)
                continue
            if place[u] < 0 or place[v] < 0:
                continue
            u, v = place[u], place[v]
            self.reserve_edge(u, v)
            out = self.tables + self.first_entry[self.n_edges - 1]
            least, largest = INFINITY, 0
            for i in range(self.first_label[u], self.first_label[u + 1]):
                a = self.label_from[i]
                for j in range(self.first_label[v], self.first_label[v + 1]):
                    b = self.label_from[j]
                    value = max(table[a * columns + b] - at_u[a] - at_v[b], 0.0)
                    if value + self.costs[i] + self.costs[j] >= gap:
                        value = INFINITY
                    least, largest = min(least, value), max(largest, value)
                    out[0] = value
                    out += 1
            if largest <= CONSTANT * (1 + abs(parent.bound)):
                self.n_edges -= 1
                continue
            self.link(self.n_edges - 1)
        return self.simplify()

    cdef int simplify(self) except -1 nogil:
        """Eliminate nodes with one label or few neighbors, see (d); return 0 if there is no labeling."""
        cdef Py_ssize_t v, i, k, n_waiting = 0
        self.n_active = self.n_nodes
        for v in range(self.n_nodes):
            self.part[v] = 1
            self.waiting[v] = <int32_t> v
        n_waiting = self.n_nodes
        while n_waiting > 0:
            n_waiting -= 1
            v = self.waiting[n_waiting]
            self.part[v] = 0
            if self.is_gone[v] or not (self.n_labels[v] == 1 or self.degree[v] <= 2):
                continue
            if self.degree[v] == 2 and self.n_labels[v] > 1:
                i = other(self, self.arc_head[v])
                k = other(self, self.arc_next[self.arc_head[v]])
                if (<double> self.n_labels[i] * self.n_labels[k] > max(
                        <double> self.n_labels[v] * (self.n_labels[i] + self.n_labels[k]), LARGE_TABLE)
                        or <double> self.n_labels[v] * self.n_labels[i] * self.n_labels[k]
                        > LARGE_WORK):
                    continue
            # The neighbors have fewer neighbors afterwards.
            i = self.arc_head[v]
            while i >= 0:
                k = other(self, i)
                if not self.part[k]:
                    self.part[k] = 1
                    self.waiting[n_waiting] = <int32_t> k
                    n_waiting += 1
                i = self.arc_next[i]
            self.eliminate(v)
            if self.bound == INFINITY:
                return 0
        return 1

    cdef int eliminate(self, Py_ssize_t v) except -1 nogil:
        """Eliminate a node of a model whose messages are 0."""
        cdef Py_ssize_t first = self.arc_head[v], second = -1, t = -1, u = -1, a, c, d, e, at, best
        cdef Py_ssize_t n_t = 1, n_u = 1, K = self.n_labels[v]
        cdef double value, least
        cdef const double* costs = self.costs + self.first_label[v]
        cdef double* of_t
        if K == 1:
            self.bound += costs[0]
            while self.arc_head[v] >= 0:
                first = self.arc_head[v]
                t = other(self, first)
                of_t = self.costs + self.first_label[t]
                for c in range(self.n_labels[t]):
                    of_t[c] += entry(self, first, 0, c)
                self.unlink(first // 2)
            t = -1
        else:
            if first >= 0:
                second = self.arc_next[first]
                t = other(self, first)
                n_t = self.n_labels[t]
            if second >= 0:
                u = other(self, second)
                n_u = self.n_labels[u]
        at = self.n_choices
        self.n_choices += n_t * n_u
        self.grow(<void**> &self.choices, self.n_choices, sizeof(int32_t))
        if K == 1:
            self.choices[at] = 0
        elif u < 0:
            for c in range(n_t):
                least, best = INFINITY, 0
                for a in range(K):
                    value = costs[a] + (entry(self, first, a, c) if t >= 0 else 0.0)
                    if value < least:
                        least, best = value, a
                self.choices[at + c] = <int32_t> best
                if t >= 0:
                    self.costs[self.first_label[t] + c] += least
                else:
                    self.bound += least
        else:
            e = self.arc_head[t]
            while e >= 0 and other(self, e) != u:
                e = self.arc_next[e]
            if e < 0:
                self.reserve_edge(t, u)
                e = 2 * (self.n_edges - 1)
                for c in range(n_t * n_u):
                    self.tables[self.first_entry[e // 2] + c] = 0
                self.link(e // 2)
            self.potts[e // 2] = -1
            for c in range(n_t):
                for d in range(n_u):
                    least, best = INFINITY, 0
                    for a in range(K):
                        value = costs[a] + entry(self, first, a, c) + entry(self, second, a, d)
                        if value < least:
                            least, best = value, a
                    self.choices[at + c * n_u + d] = <int32_t> best
                    if e % 2 == 0:
                        self.tables[self.first_entry[e // 2] + c * n_u + d] += least
                    else:
                        self.tables[self.first_entry[e // 2] + d * n_t + c] += least
        if t >= 0:
            self.unlink(first // 2)
        if u >= 0:
            self.unlink(second // 2)
        self.is_gone[v] = 1
        self.n_active -= 1
        self.eliminated[3 * self.n_eliminated] = <int32_t> v
        self.eliminated[3 * self.n_eliminated + 1] = <int32_t> t
        self.eliminated[3 * self.n_eliminated + 2] = <int32_t> u
        self.n_eliminated += 1
        self.first_choice[self.n_eliminated] = self.n_choices
        return 0

    cdef void complete(self) noexcept nogil:
        """Set `best` at the eliminated nodes to the best labels given the others."""
        cdef Py_ssize_t i, v, t, u, at
        for i in range(self.n_eliminated - 1, -1, -1):
            v, t = self.eliminated[3 * i], self.eliminated[3 * i + 1]
            u, at = self.eliminated[3 * i + 2], 0
            if t >= 0:
                at = self.best[t]
            if u >= 0:
                at = at * self.n_labels[u] + self.best[u]
            self.best[v] = self.choices[self.first_choice[i] + at]

    cdef void hand_over(self, ReducedModel parent) noexcept nogil:
        """Write `best` to the labels of the parent."""
        cdef Py_ssize_t v
        for v in range(self.n_nodes):
            parent.labels[self.node_from[v]] = self.label_from[self.first_label[v] + self.best[v]]

    cdef bint sweep(self, bint forward, double* work) noexcept nogil:
        """Visit all nodes in order or in reverse; return False if there is no labeling."""
        cdef Py_ssize_t i, v, t, k, K, L, arc, before, after
        cdef double* costs
        cdef double* mine
        cdef double* theirs
        cdef double least, share
        cdef sstruct_table table
        for i in range(self.n_nodes):
            v = i if forward else self.n_nodes - 1 - i
            if self.is_gone[v]:
                continue
            costs, K = self.costs + self.first_label[v], self.n_labels[v]
            least = INFINITY
            for k in range(K):
                least = min(least, costs[k])
            if least == INFINITY:
                return False
            self.bound += least
            for k in range(K):
                costs[k] -= least
            before, after = 0, 0
            arc = self.arc_head[v]
            while arc >= 0:
                if (other(self, arc) < v) == forward:
                    before += 1
                else:
                    after += 1
                arc = self.arc_next[arc]
            if after == 0:
                continue
            share = 1.0 / max(before, after)
            arc = self.arc_head[v]
            while arc >= 0:
                t = other(self, arc)
                if (t < v) != forward:
                    L, table = self.n_labels[t], table_of(self, arc)
                    mine = self.messages + self.first_message[arc >> 1]
                    if arc & 1:
                        theirs = mine
                        mine = theirs + L
                    else:
                        theirs = mine + K
                    sstruct_send(
                        costs, K, share, mine, &table, L, theirs,
                        self.costs + self.first_label[t], self.scratch)
                    work[0] += K * L + OVERHEAD
                arc = self.arc_next[arc]
            share = 1 - after * share
            for k in range(K):
                if costs[k] < INFINITY:
                    costs[k] = costs[k] * share if before > after else 0.0
        return True

    cdef double round(self, double* work) noexcept nogil:
        """Choose labels in order after a sweep in reverse; return the energy."""
        cdef Py_ssize_t v, t, k, K, arc, e, best
        cdef const double* mine
        cdef const double* theirs
        cdef double* out = self.scratch
        cdef double total = self.bound
        for v in range(self.n_nodes):
            if self.is_gone[v]:
                continue
            K = self.n_labels[v]
            for k in range(K):
                out[k] = self.costs[self.first_label[v] + k]
            arc = self.arc_head[v]
            while arc >= 0:
                t, e = other(self, arc), arc // 2
                if t < v:
                    mine = self.messages + self.first_message[e]
                    if arc % 2:
                        theirs = mine
                        mine = mine + self.n_labels[t]
                    else:
                        theirs = mine + K
                    for k in range(K):
                        out[k] += entry(self, arc, k, self.labels[t]) - mine[k] - theirs[self.labels[t]]
                    work[0] += 2 * K
                arc = self.arc_next[arc]
            best = 0
            for k in range(1, K):
                if out[k] < out[best]:
                    best = k
            self.labels[v] = <int32_t> best
            total += out[best]
        return total

    cdef double look_ahead(self, double most, double* work) noexcept nogil:
        """Bound the energy with each label, and remove labels for which it is `most` or more.

        Returns the number of removed labels. `star` is the increase of the bound for each label.
        """
        cdef Py_ssize_t v, t, k, K, L, arc, e
        cdef double n_removed = 0
        cdef const double* mine
        cdef const double* theirs
        cdef const double* of_t
        cdef double* star
        cdef double* source = self.scratch
        cdef double* out
        cdef sstruct_table table
        for v in range(self.n_nodes):
            if self.is_gone[v]:
                continue
            K = self.n_labels[v]
            star = self.star + self.first_label[v]
            for k in range(K):
                star[k] = self.costs[self.first_label[v] + k]
            arc = self.arc_head[v]
            while arc >= 0:
                t, e = other(self, arc), arc // 2
                L = self.n_labels[t]
                mine = self.messages + self.first_message[e]
                if arc % 2:
                    theirs = mine
                    mine = theirs + L
                else:
                    theirs = mine + K
                of_t = self.costs + self.first_label[t]
                out = source + L
                for k in range(L):
                    source[k] = of_t[k] - theirs[k]
                table = table_of(self, arc ^ 1)
                sstruct_product(source, L, &table, K, out)
                for k in range(K):
                    star[k] += max(out[k] - mine[k], 0.0)
                work[0] += K * L + OVERHEAD
                arc = self.arc_next[arc]
            for k in range(K):
                if self.bound + star[k] >= most and self.costs[self.first_label[v] + k] < INFINITY:
                    self.costs[self.first_label[v] + k] = INFINITY
                    n_removed += 1
        return n_removed

    cdef double remove_dominated(self, double* work) noexcept nogil:
        """Remove labels that a better label can replace in every labeling; return their number.

        Label a of node v can be replaced by b if
            costs_v(a) - costs_v(b) + sum_t min_x (table(a, x) - table(b, x)) >= 0.
        Only the label with the least `star` is tried as b.
        """
        cdef Py_ssize_t v, t, k, K, L, arc, e, best
        cdef double n_removed = 0
        cdef const double* mine
        cdef const double* of_t
        cdef double* costs
        cdef const double* star
        cdef double* change = self.scratch
        cdef double* source
        cdef double* out
        cdef sstruct_table table
        for v in range(self.n_nodes):
            if self.is_gone[v]:
                continue
            K, costs = self.n_labels[v], self.costs + self.first_label[v]
            star, best = self.star + self.first_label[v], -1
            for k in range(K):
                if costs[k] < INFINITY and (best < 0 or star[k] < star[best]):
                    best = k
            if best < 0:
                continue
            for k in range(K):
                change[k] = costs[k] - costs[best]
            arc = self.arc_head[v]
            while arc >= 0:
                t, e = other(self, arc), arc // 2
                L = self.n_labels[t]
                mine = self.messages + self.first_message[e] + (L if arc % 2 else 0)
                of_t = self.costs + self.first_label[t]
                source = change + K
                out = source + L
                for k in range(L):
                    # The replacement must not lead to a forbidden pair.
                    source[k] = INFINITY if of_t[k] == INFINITY else -min(
                        entry(self, arc, best, k), FORBIDDEN)
                table = table_of(self, arc ^ 1)
                sstruct_product(source, L, &table, K, out)
                for k in range(K):
                    change[k] += out[k] - mine[k] + mine[best]
                work[0] += K * L + OVERHEAD
                arc = self.arc_next[arc]
            for k in range(K):
                if k != best and costs[k] < INFINITY and change[k] >= 0:
                    costs[k] = INFINITY
                    n_removed += 1
        return n_removed

    cdef Py_ssize_t split(self) noexcept nogil:
        """Fill in `part` with the connected component of each node; return the number of components."""
        cdef Py_ssize_t v, t, s, arc, n_waiting, n_parts = 0
        for v in range(self.n_nodes):
            self.part[v] = -1
        for s in range(self.n_nodes):
            if self.is_gone[s] or self.part[s] >= 0:
                continue
            self.part[s] = <int32_t> n_parts
            self.waiting[0] = <int32_t> s
            n_waiting = 1
            while n_waiting > 0:
                n_waiting -= 1
                v = self.waiting[n_waiting]
                arc = self.arc_head[v]
                while arc >= 0:
                    t = other(self, arc)
                    if self.part[t] < 0:
                        self.part[t] = <int32_t> n_parts
                        self.waiting[n_waiting] = <int32_t> t
                        n_waiting += 1
                    arc = self.arc_next[arc]
            n_parts += 1
        return n_parts
