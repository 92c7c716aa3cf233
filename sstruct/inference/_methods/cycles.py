"""Linear programs over models of two labels, with odd-cycle inequalities.

With x_v = 1 for label 1 and y_uv = x_u x_v, z_uv = x_u + x_v - 2 y_uv is 1 if the labels of u and v
differ. Along a cycle C, labels change an even number of times: for each F of odd size in C,

    sum_{e in F} z_e - sum_{e in C - F} z_e <= |F| - 1.

For planar models without node costs, these inequalities of all cycles describe the convex hull of
the labelings [1]. Those of triangles and of cycles of four edges, the faces of a grid, are few.

[1] F. Barahona, A. R. Mahjoub. On the cut polytope. Mathematical Programming 36, 1986.
"""

from itertools import combinations

import numpy as np
from scipy import sparse

# Limits on the paths of two edges, all of which are visited, and on the cycles.
MOST_PATHS = 2**18
MOST_CYCLES = 2**13


def has_two_labels(model):
    """Return True if all nodes of a model have two labels, and all costs are finite."""
    is_finite = np.isfinite(model.node_costs).all() and np.isfinite(model.tables).all()
    return model.n_factors == 0 and bool(is_finite) and bool((model.n_labels == 2).all())


def short_cycles(model):
    """Return the edges of all triangles, and of all cycles of four edges without a chord.

    The list is empty if there are too many.
    """
    near = [{} for _ in range(model.n_nodes)]
    for e, (u, v) in enumerate(model.edges.tolist()):
        near[u][v] = near[v][u] = e
    if sum(len(others) ** 2 for others in near) > MOST_PATHS:
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
        if len(cycles) > MOST_CYCLES:
            return []
    return sorted(cycles)


def cycle_polytope(model):
    """Return a linear program over a model of two labels.

    Returns
    -------
    constant : float
    costs : ndarray of shape (V + E,)
        The energy is ``constant + costs @ [x, y]``.
    matrix : scipy.sparse.csr_array of shape (m, V + E)
    most : ndarray of shape (m,)
        ``matrix @ [x, y] <= most`` for all labelings, and x and y are between 0 and 1.
    """
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
    eye = sparse.csr_array(sparse.identity(E))
    of_u = sparse.csr_array((np.ones(E), (np.arange(E), u)), shape=(E, V))
    of_v = sparse.csr_array((np.ones(E), (np.arange(E), v)), shape=(E, V))
    # y <= x_u, y <= x_v, x_u + x_v - 1 <= y
    rows = [
        sparse.hstack([-of_u, eye]),
        sparse.hstack([-of_v, eye]),
        sparse.hstack([of_u + of_v, -eye]),
    ]
    most = [np.zeros(2 * E), np.ones(E)]
    differs = sparse.hstack([of_u + of_v, -2 * eye]).tocsr()
    signs, bounds = _odd_sets(short_cycles(model), E)
    matrix = sparse.vstack([*rows, signs @ differs]).tocsr()
    matrix.eliminate_zeros()
    # Old versions of SciPy pass the indices to HiGHS unchanged, which expects 32 bits.
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return node[:, 0].sum() + table[:, 0, 0].sum(), costs, matrix, np.concatenate([*most, bounds])


def _odd_sets(cycles, n_edges):
    """Return the coefficients of z for each cycle and each odd set of its edges, and the bounds."""
    row, column, value, most = [], [], [], []
    for cycle in cycles:
        for size in range(1, len(cycle) + 1, 2):
            for chosen in combinations(cycle, size):
                row += [len(most)] * len(cycle)
                column += cycle
                value += [1.0 if e in chosen else -1.0 for e in cycle]
                most.append(size - 1.0)
    shape = (len(most), n_edges)
    return sparse.csr_array((value, (row, column)), shape=shape), np.array(most)
