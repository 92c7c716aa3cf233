"""Variable elimination, and exact moves of many nodes if its tables are too large."""

import heapq
from functools import cached_property
from math import prod

import numpy as np
from scipy import sparse

from sstruct._solvers.core.status import Status

# Limit on the nodes, edges and factors of models, whose eliminations are planned in Python.
MAX_TERMS = 2**15
# Limits on the entries of the largest table and of all tables of an exact elimination. The second
# one also applies to the tables of the model.
LARGEST_TABLE = 2**20
ALL_TABLES = 2**23
# Limits of an exact elimination after other methods have failed: of the largest table, of all
# tables, and of the choices, in bytes. Grids of two labels and 20 x 20 nodes take about 2 seconds.
LARGEST_AT_LAST = 2**21
ALL_AT_LAST = 2**30
MAX_CHOICES = 2**27
# Limit on the visits of neighbors in a plan; a visit takes about as long as VISIT table entries.
MAX_VISITS = 2**20
VISIT = 64
# The same limits for moves, the total work of moves, and the number of moves without improvement.
LARGEST_OF_MOVE = 2**14
ALL_OF_MOVE = 2**21
WORK_OF_MOVES = 2**29
MAX_IDLE = 8
# Limit of NumPy 1 on the axes of a table.
MAX_AXES = 32


class Elimination:
    """Terms of a model over the allowed labels of its nodes.

    Parameters
    ----------
    mrf : MRF

    Attributes
    ----------
    allowed : list of ndarray
        The labels with finite costs of each node.
    size : list of int
        The number of these labels.
    work : int
        Table entries and visits of neighbors so far.
    """

    def __init__(self, mrf):
        self.mrf, self.work = mrf, 0
        self.allowed = [np.flatnonzero(np.isfinite(mrf.node_cost(v))) for v in range(mrf.n_nodes)]
        self.size = [len(labels) for labels in self.allowed]
        self.neighbors = [set() for _ in range(mrf.n_nodes)]
        scopes = [*mrf.edges.tolist(), *(mrf.factor(f)[0].tolist() for f in range(mrf.n_factors))]
        for scope in scopes:
            for v in scope:
                self.neighbors[v].update(scope)
        for v, others in enumerate(self.neighbors):
            others.discard(v)

    @cached_property
    def terms(self):
        """Return the sorted scopes and their costs for the allowed labels."""
        mrf = self.mrf
        terms = [((v,), mrf.node_cost(v)[k]) for v, k in enumerate(self.allowed)]
        pairs = ((mrf.edges[e], mrf.edge_cost(e)) for e in range(mrf.n_edges))
        factors = (mrf.factor(f) for f in range(mrf.n_factors))
        for larger in (pairs, factors):
            for scope, costs in larger:
                order = np.argsort(scope)
                scope = tuple(scope[order].tolist())
                kept = np.ix_(*(self.allowed[v] for v in scope))
                terms.append((scope, costs.transpose(order)[kept]))
        return terms

    def plan(self, largest=LARGEST_TABLE, total=ALL_TABLES, rng=None):
        """Choose an order of elimination by minimum fill.

        Parameters
        ----------
        largest, total : int
            Limits on the entries of one table and of all tables.
        rng : numpy.random.Generator, optional
            Break ties at random, and omit nodes until all tables are small enough.

        Returns
        -------
        order : list of int, or None
            Nodes in the order of elimination. None if the plan takes too long or, without `rng`,
            if the tables are too large.
        """
        around = [set(others) for others in self.neighbors]
        tie = range(len(around)) if rng is None else rng.permutation(len(around)).tolist()
        key, waiting, order, visits = {}, [], [], 0

        def fill(v):
            nonlocal visits
            others, missing = around[v], np.inf
            entries = np.inf  # nodes with one label add axes, but no entries
            if len(others) < MAX_AXES:
                entries = prod(self.size[u] for u in others) * self.size[v]
            visits += len(others)
            if entries <= largest:
                visits += len(others) ** 2
                missing = sum(len(others) - 1 - len(others & around[u]) for u in others)
            key[v] = missing, entries, tie[v]
            heapq.heappush(waiting, (key[v], v))

        for v in range(len(around)):
            fill(v)
        while waiting:
            entry, v = heapq.heappop(waiting)
            if key.get(v) != entry:
                continue
            is_small = entry[1] <= min(largest, total)
            if (not is_small and rng is None) or visits > MAX_VISITS:
                self.work += VISIT * visits
                return None
            if not is_small:  # omit a random node of the table
                v = rng.choice(sorted(around[v] | {v}))
            del key[v]
            others = around[v]
            for u in others:
                around[u].discard(v)
            changed = set(others)
            if is_small:
                order.append(v)
                total -= entry[1]
                for u in others:
                    around[u] |= others
                    around[u].discard(u)
                    changed |= around[u]
            for u in changed:
                fill(u)
        self.work += VISIT * visits
        return order

    def plan_along_band(self):
        """Return the nodes in reverse Cuthill-McKee order, or None if tables are too large.

        The limits are LARGEST_AT_LAST, ALL_AT_LAST and MAX_CHOICES.

        On long grids, the tables are smaller than by minimum fill.
        """
        n_nodes, n_bytes, total = len(self.size), 0.0, 0.0
        near = [(u, v) for u, others in enumerate(self.neighbors) for v in others]
        ends = np.array(near, dtype=np.int32).reshape(-1, 2).T
        graph = sparse.coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(n_nodes, n_nodes))
        order = sparse.csgraph.reverse_cuthill_mckee(graph.tocsr(), symmetric_mode=True).tolist()
        around = [set(others) for others in self.neighbors]
        for v in order:
            others = around[v]
            if len(others) >= MAX_AXES:
                return None
            entries = prod(self.size[u] for u in others) * self.size[v]
            n_bytes += entries / max(self.size[v], 1) / (8 if self.size[v] == 2 else 1)
            total += entries
            if entries > LARGEST_AT_LAST or total > ALL_AT_LAST or n_bytes > MAX_CHOICES:
                return None
            for u in others:
                around[u] |= others
                around[u] -= {u, v}
        return order

    def run(self, order, labels, record):
        """Minimize over the labels of the nodes in `order`; the other labels are fixed.

        Parameters
        ----------
        order : list of int
        labels : ndarray of shape (V,), dtype int32
            Must be allowed at the nodes that are not in `order`.
        record : Record

        Returns
        -------
        labels : ndarray of shape (V,), dtype int32, or None
            None if every choice is forbidden or the time limit is reached.
        """
        place = {v: i for i, v in enumerate(order)}
        buckets = [[] for _ in order]

        def put(scope, costs):
            if scope:
                buckets[min(place[v] for v in scope)].append((scope, costs))
                return True
            return bool(costs < np.inf)

        possible = True
        for scope, costs in self.terms:
            if not all(v in place for v in scope):
                entry = tuple(
                    slice(None) if v in place else np.searchsorted(self.allowed[v], labels[v])
                    for v in scope
                )
                scope, costs = tuple(v for v in scope if v in place), costs[entry]
                if not scope:
                    continue  # constant
            possible &= put(scope, costs)
        choices = []
        possible &= all(self.size[v] for v in order)
        for v, bucket in zip(order, buckets, strict=True):
            if record.is_late() or not possible:
                return None
            nodes = sorted({u for scope, _ in bucket for u in scope})
            total = np.zeros([self.size[u] for u in nodes])
            for scope, costs in bucket:
                total += costs.reshape([self.size[u] if u in scope else 1 for u in nodes])
            bucket.clear()
            self.work += total.size
            axis = nodes.index(v)
            nodes.remove(v)
            best, least = _minimize_axis(total, axis)
            choices.append((v, nodes, best))
            possible &= put(tuple(nodes), least)
        if not possible:
            return None
        minimizer, at = labels.copy(), {}
        for v, nodes, best in reversed(choices):
            place = 0
            for u in nodes:
                place = place * self.size[u] + at[u]
            at[v] = _choice(best, place, self.size[v])
            minimizer[v] = self.allowed[v][at[v]]
        return minimizer


def _minimize_axis(table, axis):
    """Return the first minimizers along an axis, for `_choice`, and the minima."""
    if table.shape[axis] == 2:
        zero, one = np.moveaxis(table, axis, 0)
        return np.packbits(one < zero), np.minimum(zero, one)
    best = table.argmin(axis=axis).astype(np.min_scalar_type(table.shape[axis]))
    return best.ravel(), table.min(axis=axis)


def _choice(best, place, size):
    """Return the minimizer over an axis of length `size`, at a place of the other axes."""
    if size == 2:
        return int(best[place // 8] >> (7 - place % 8)) & 1
    return int(best[place])


def eliminator(mrf):
    """Return the Elimination of a model, or None if the model is too large."""
    if mrf.n_nodes + mrf.n_edges + mrf.n_factors > MAX_TERMS:
        return None
    n_entries = np.diff(mrf.table_start)[mrf.edge_table].sum()
    n_entries += np.diff(mrf.factor_table_start)[mrf.factor_table].sum()
    return Elimination(mrf) if n_entries <= ALL_TABLES else None


def minimize_in_order(elimination, order, record):
    """Find a minimum by eliminating all nodes in the given order; return the status."""
    labels = elimination.run(order, record.labels, record)
    if labels is None:
        return Status.TIME_LIMIT if record.is_late() else Status.INFEASIBLE
    return record.prove(labels)


def move(elimination, record):
    """Improve the best labeling, which must be allowed, by moves of random sets of nodes.

    Each move is an elimination; nodes that would make a table too large keep their labels.
    """
    rng, idle, begin = np.random.default_rng(0), 0, elimination.work
    while idle < MAX_IDLE and elimination.work - begin < WORK_OF_MOVES:
        order = elimination.plan(LARGEST_OF_MOVE, ALL_OF_MOVE, rng)
        if order is None or record.is_late() or record.is_closed():
            return
        before = record.energy
        labels = elimination.run(order, record.labels, record)
        if labels is not None:
            record.offer(labels, elimination.mrf.energy(labels))
        if len(order) == elimination.mrf.n_nodes:
            return
        idle = 0 if record.energy < before else idle + 1
