"""Linear programs over models of two labels, with odd-cycle inequalities.

With x_v = 1 for label 1 and y_uv = x_u x_v, z_uv = x_u + x_v - 2 y_uv is 1 if the labels of u and v
differ. Along a cycle C, labels change an even number of times: for each F of odd size in C,

    sum_{e in F} z_e - sum_{e in C - F} z_e <= |F| - 1.

For planar models without node costs, these inequalities of all cycles describe the convex hull of
the labelings [1]. Those of triangles and of cycles of four edges, the faces of a grid, are few.
Others are added if a solution violates them. To find them, each node has two copies. An edge e
connects the first copies of its ends and their second copies with length z_e, and a first with a
second copy with length 1 - z_e. A path from a node to its other copy that is shorter than 1 is a
cycle whose inequality is violated.

[1] F. Barahona, A. R. Mahjoub. On the cut polytope. Mathematical Programming 36, 1986.
"""

from itertools import combinations, pairwise

import numpy as np
from scipy import sparse

# Limits on the paths of two edges, all of which are visited, and on the cycles.
MAX_PATHS = 2**18
MAX_CYCLES = 2**13
# Inequalities are added if they are violated by more than this.
MIN_VIOLATION = 1e-3
# Inequalities of cycles may be dropped if they hold with a larger slack, and if the minimum has
# increased by more than this fraction of the sum of all costs.
MAX_SLACK = 1e-3
MIN_INCREASE = 1e-7
# Limit on the edges visited between two checks of the time limit.
MAX_VISITS = 2**20


def has_two_labels(model):
    """Return True if all nodes have two labels, all costs are finite, and there are no factors."""
    is_finite = np.isfinite(model.node_costs).all() and np.isfinite(model.tables).all()
    return model.n_factors == 0 and bool(is_finite) and bool((model.n_labels == 2).all())


def short_cycles(model):
    """Return the edges of all triangles, and of all cycles of four edges without a chord.

    The list is empty if there are too many cycles, or too many paths of two edges.
    """
    near = [{} for _ in range(model.n_nodes)]
    for e, (u, v) in enumerate(model.edges.tolist()):
        near[u][v] = near[v][u] = e
    if sum(len(others) ** 2 for others in near) > MAX_PATHS:
        return []
    cycles = set()
    for u, others in enumerate(near):
        for v, w in combinations(others, 2):
            if w in near[v]:
                cycles.add(tuple(sorted((others[v], others[w], near[v][w]))))
                continue
            for t in near[v].keys() & near[w].keys():
                if t != u and t not in others:
                    cycles.add(tuple(sorted((others[v], others[w], near[v][t], near[w][t]))))
        if len(cycles) > MAX_CYCLES:
            return []
    return sorted(cycles)


class CyclePolytope:
    """A linear program over a model of two labels: the edges and the odd cycles.

    Parameters
    ----------
    model : MRF
        A model for which `has_two_labels` is True.

    Attributes
    ----------
    constant : float
    costs : ndarray of shape (V + E,)
        The energy is ``constant + costs @ [x, y]``.
    matrix : scipy.sparse.csr_array of shape (m, V + E)
    most : ndarray of shape (m,)
        ``matrix @ [x, y] <= most`` for all labelings, and x and y are between 0 and 1. Initially,
        the cycles are those of `short_cycles`.
    """

    def __init__(self, model):
        self.model = model
        V, E = model.n_nodes, model.n_edges
        node = model.node_costs.reshape(V, 2)
        table = np.array([model.edge_cost(e) for e in range(E)]).reshape(E, 2, 2)
        u, v = model.edges.T
        costs = np.concatenate([
            node[:, 1] - node[:, 0],
            table[:, 1, 1] - table[:, 1, 0] - table[:, 0, 1] + table[:, 0, 0],
        ])  # fmt: skip
        np.add.at(costs, u, table[:, 1, 0] - table[:, 0, 0])
        np.add.at(costs, v, table[:, 0, 1] - table[:, 0, 0])
        self.constant, self.costs = node[:, 0].sum() + table[:, 0, 0].sum(), costs
        self.least = -np.inf
        eye = sparse.csr_array(sparse.identity(E))
        incidence_u = sparse.csr_array((np.ones(E), (np.arange(E), u)), shape=(E, V))
        incidence_v = sparse.csr_array((np.ones(E), (np.arange(E), v)), shape=(E, V))
        # y <= x_u, y <= x_v, x_u + x_v - 1 <= y
        rows = [
            sparse.hstack([-incidence_u, eye]),
            sparse.hstack([-incidence_v, eye]),
            sparse.hstack([incidence_u + incidence_v, -eye]),
        ]
        self.matrix = sparse.vstack(rows).tocsr()
        self.most = np.concatenate([np.zeros(2 * E), np.ones(E)])
        self.differs = sparse.hstack([incidence_u + incidence_v, -2 * eye]).tocsr()
        self._append([
            (cycle, chosen)
            for cycle in short_cycles(model)
            for size in range(1, len(cycle) + 1, 2)
            for chosen in combinations(cycle, size)
        ])  # fmt: skip

    def _append(self, odd_sets):
        """Add the inequality of each cycle and odd set of its edges."""
        row = np.repeat(np.arange(len(odd_sets)), [len(cycle) for cycle, _ in odd_sets])
        column = [e for cycle, _ in odd_sets for e in cycle]
        sign = [1.0 if e in chosen else -1.0 for cycle, chosen in odd_sets for e in cycle]
        shape = len(odd_sets), self.model.n_edges
        rows = sparse.csr_array((sign, (row, column)), shape=shape) @ self.differs
        matrix = sparse.vstack([self.matrix, rows]).tocsr()
        matrix.eliminate_zeros()
        # Old versions of SciPy pass the indices to HiGHS unchanged, which expects 32 bits.
        matrix.indices = matrix.indices.astype(np.int32)
        matrix.indptr = matrix.indptr.astype(np.int32)
        self.matrix = matrix
        self.most = np.append(self.most, [len(chosen) - 1.0 for _, chosen in odd_sets])

    def bound(self, multipliers):
        """Return a lower bound on all energies from multipliers (m,) >= 0 of the inequalities."""
        reduced = self.costs + self.matrix.T @ multipliers
        return float(self.constant - self.most @ multipliers + np.minimum(reduced, 0).sum())

    def separate(self, point, record):
        """Add the inequalities of cycles that a solution of the program violates.

        If the minimum of the program has increased, inequalities of cycles that are not tight are
        dropped. If it has not, dropped ones might be added again and again.

        Parameters
        ----------
        point : ndarray of shape (V + E,)
        record : Record

        Returns
        -------
        changed : bool
            False if no violated inequality is found before the time limit of the record; the
            program is then unchanged.
        """
        odd_sets = self._violated(point, record)
        if odd_sets:
            value = self.costs @ point
            if value > self.least + MIN_INCREASE * np.abs(self.costs).sum():
                kept = self.most - self.matrix @ point <= MAX_SLACK
                kept[: 3 * self.model.n_edges] = True
                self.matrix, self.most = self.matrix[np.flatnonzero(kept)], self.most[kept]
                self.least = value
            self._append(odd_sets)
        return bool(odd_sets)

    def _violated(self, point, record):
        """Return up to one violated cycle and odd set for each node with a fractional label."""
        V, (u, v) = self.model.n_nodes, self.model.edges.T
        z = np.clip(self.differs @ point, 0, 1)
        # The copies of node v are v and V + v. Edges of length 0 would be missing.
        length = np.tile(np.repeat([z, 1 - z], 2, axis=0).ravel() + 1e-9, 2)
        one = np.concatenate([u, u + V, u, u + V])
        other = np.concatenate([v, v + V, v + V, v])
        ends = np.concatenate([one, other]), np.concatenate([other, one])
        graph = sparse.coo_array((length, ends), shape=(2 * V, 2 * V)).tocsr()
        edge = {ends: e for e, (a, b) in enumerate(self.model.edges.tolist())
                for ends in ((a, b), (b, a))}  # fmt: skip
        x = point[:V]
        sources = np.flatnonzero(np.minimum(x, 1 - x) > MIN_VIOLATION)
        found, n_together = {}, max(1, MAX_VISITS // len(length))
        for first in range(0, len(sources), n_together):
            if record.is_late():
                return []
            some = sources[first : first + n_together]
            distance, before = sparse.csgraph.dijkstra(
                graph, indices=some, return_predecessors=True, limit=1 - MIN_VIOLATION
            )
            for i in np.flatnonzero(distance[np.arange(len(some)), some + V] < np.inf):
                path = [some[i] + V]
                while path[-1] != some[i]:
                    path.append(before[i, path[-1]])
                steps = [(a, b, edge[a % V, b % V]) for a, b in pairwise(path)]
                cycle = sorted(e for _, _, e in steps)
                # A path that visits a node twice contains a shorter cycle.
                if len({a % V for a, _, _ in steps}) == len(steps):
                    odd = {e for a, b, e in steps if (a < V) != (b < V)}
                    found[tuple(cycle)] = cycle, odd
        return list(found.values())
