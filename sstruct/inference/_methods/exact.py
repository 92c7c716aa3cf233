"""Exact minimization by max-sum on forests, and by HiGHS on small models."""

import time

import numpy as np
from scipy import optimize, sparse

from sstruct._oracles.mrf._forest_cover import trees_of_forests
from sstruct._oracles.mrf._message_passing import MessagePassing
from sstruct._oracles.mrf._packed_mrf import PackedMRF
from sstruct._solvers.core.status import Status
from sstruct.inference._methods import highs
from sstruct.inference._methods.cycles import CyclePolytope, has_two_labels
from sstruct.inference._methods.message_passing import trivial_bound
from sstruct.inference._model.auxiliary import pairwise_model

# Limit on the variables of the integer program.
MAX_VARIABLES = 2**18
# HiGHS is wrong if its bound exceeds a known energy by more than this fraction of 1 + abs(energy),
# in the units of the costs that it receives.
ACCURACY = 1e-5


def is_forest(mrf):
    """Return True if the model has no cycle; factors count as nodes joined with their scopes."""
    factor = mrf.n_nodes + np.repeat(np.arange(mrf.n_factors), np.diff(mrf.factor_start))
    ends = np.concatenate([mrf.edges, np.stack([mrf.factor_nodes, factor], axis=1)])
    n_nodes = mrf.n_nodes + mrf.n_factors
    graph = sparse.coo_array((np.ones(len(ends)), tuple(ends.T)), shape=(n_nodes, n_nodes))
    n_trees = sparse.csgraph.connected_components(graph.tocsr(), directed=False)[0]
    return len(ends) == n_nodes - n_trees


def forest(mrf, record):
    """Find a minimum of a model without cycles by max-sum; return the status."""
    model, _ = pairwise_model(mrf)
    sweeps = MessagePassing(PackedMRF(model), _parents_first(model), False)
    labels = np.zeros(model.n_nodes, dtype=np.int32)
    for forward in (False, True):
        least = sweeps.sweep(forward, labels, record.deadline)
        if least is None:
            return Status.TIME_LIMIT
        if least == np.inf:
            return Status.INFEASIBLE
    return record.prove(labels[: mrf.n_nodes])


def _parents_first(model):
    """Return an order of the nodes of a forest in which each follows at most one neighbor."""
    in_one = np.zeros(model.n_edges, dtype=np.int32)
    _, node, _, _ = trees_of_forests(model.n_nodes, model.edges, in_one, 1)
    alone = np.setdiff1d(np.arange(model.n_nodes), node)
    return np.append(node, alone).astype(np.int32)


def local_polytope(model):
    """Return the local polytope of a model without factors, as a linear program.

    Returns
    -------
    costs : ndarray of shape (n,)
        Node costs as in ``model.node_costs``, followed by the entries of each edge's table.
    matrix : scipy.sparse.csr_array of shape (m, n)
    sums : ndarray of shape (m,)
        The marginals are the x >= 0 with ``matrix @ x == sums``.
    """
    costs = [model.node_costs, *(model.edge_cost(e).ravel() for e in range(model.n_edges))]
    # Rows: for both ends of each edge, the edge marginals summed over the other label minus the
    # node marginal; then the sums of each node's marginals.
    rows, columns, values = [], [], []
    row, at = 0, len(model.node_costs)
    for u, v in model.edges.tolist():
        size = tuple(model.n_labels[[u, v]].tolist())
        pair = at + np.arange(size[0] * size[1]).reshape(size)
        for node, marginal in ((u, pair), (v, pair.T)):
            n_labels = len(marginal)
            label = np.arange(n_labels)
            rows += [row + np.repeat(label, marginal.shape[1]), row + label]
            columns += [marginal.ravel(), model.node_start[node] + label]
            values += [np.ones(marginal.size), np.full(n_labels, -1.0)]
            row += n_labels
        at += pair.size
    rows.append(row + np.repeat(np.arange(model.n_nodes), model.n_labels))
    columns.append(np.arange(len(model.node_costs)))
    values.append(np.ones(len(model.node_costs)))
    sums = np.concatenate([np.zeros(row), np.ones(model.n_nodes)])
    # Old versions of SciPy pass the indices to HiGHS unchanged, which expects 32 bits.
    places = np.concatenate(rows, dtype=np.int32), np.concatenate(columns, dtype=np.int32)
    matrix = sparse.coo_array((np.concatenate(values), places), shape=(len(sums), at))
    return np.concatenate(costs), matrix.tocsr(), sums


def n_marginals(model):
    """Return the number of variables of `local_polytope`."""
    return len(model.node_costs) + int(np.diff(model.table_start)[model.edge_table].sum())


def _program(model, n_integers, polytope):
    """Return the constant, costs and arguments for HiGHS, and which variables of a polytope remain.

    n_integers : number of initial entries of node_costs that are integers
    polytope : CyclePolytope or None
        Replaces the local polytope.
    """
    if polytope is not None:
        n_variables = len(polytope.costs)
        program = {
            "integrality": np.arange(n_variables) < model.n_nodes,
            "bounds": optimize.Bounds(0, 1),
            "constraints": optimize.LinearConstraint(polytope.matrix, -np.inf, polytope.most),
        }
        return polytope.constant, polytope.costs, program, np.ones(n_variables, dtype=bool)
    costs, matrix, sums = local_polytope(model)
    # Variables fixed to 0 or integral without need are slower, and HiGHS has returned a wrong
    # minimum for such a program.
    allowed = np.isfinite(costs)
    program = {
        "integrality": (np.arange(len(costs)) < n_integers)[allowed],
        "bounds": optimize.Bounds(0, np.inf),
        "constraints": optimize.LinearConstraint(matrix[:, np.flatnonzero(allowed)], sums, sums),
    }
    return 0.0, costs[allowed], program, allowed


def _cut(polytope, record, deadline):
    """Add inequalities of cycles until none is violated or the gap is closed.

    deadline : float
        Time limit in addition to the one of the record, on the clock of ``time.monotonic()``.
    """
    exponent = int(np.frexp(np.abs(polytope.costs).max())[1])
    while not record.is_closed():
        seconds = min(deadline, record.deadline) - time.monotonic()
        if seconds <= 0:
            return
        program = {"A_ub": polytope.matrix, "b_ub": polytope.most, "bounds": (0, 1)}
        program["method"] = "highs-ipm"
        options = {"time_limit": seconds} if seconds < np.inf else {}
        costs = np.ldexp(polytope.costs, -exponent)
        status, point, multipliers = highs.solve(costs, program, options, "linprog")
        if status != 0:
            return
        # This bound is valid for all multipliers, so it does not rely on the accuracy of HiGHS.
        record.bound(polytope.bound(np.ldexp(np.maximum(-multipliers, 0), exponent)))
        labels = (point[: record.mrf.n_nodes] > 0.5).astype(np.int32)
        record.offer(labels, PackedMRF(record.mrf).improve(labels, record.mrf.n_nodes))
        record.row()
        if record.is_closed() or not polytope.separate(point, record):
            return


def _labels(model, x, kept):
    """Return the labels of a solution of `_program`."""
    if has_two_labels(model):
        return (x[: model.n_nodes] > 0.5).astype(np.int32)
    start, marginals = model.node_start, np.zeros(len(kept))
    marginals[kept] = x
    return np.array(
        [marginals[start[v] : start[v + 1]].argmax() for v in range(model.n_nodes)], dtype=np.int32
    )


def integer_program(mrf, record, max_branches=None, seconds=np.inf):
    """Solve the integer program over a relaxation with HiGHS; return the status.

    The relaxation is the local polytope, or a CyclePolytope for two labels without ``+inf``.

    max_branches : int, optional
        Limit on the nodes of the search tree.
    seconds : float
        Time limit in addition to `max_time`.
    """
    model, _ = pairwise_model(mrf)
    bound = trivial_bound(model)
    record.bound(bound)
    if bound == np.inf:
        return Status.INFEASIBLE
    # The labels of the nodes determine those of the auxiliary nodes.
    polytope = CyclePolytope(model) if has_two_labels(model) else None
    end = time.monotonic() + seconds
    if polytope is not None and max_branches is None:
        _cut(polytope, record, end)
        if record.is_closed():
            return Status.CONVERGED
    constant, costs, program, kept = _program(model, len(mrf.node_costs), polytope)
    # HiGHS ignores cost differences below 1e-7, so they are scaled up if all are below 1/2. Scaling
    # by a power of two is exact.
    exponent = min(0, int(np.frexp(np.abs(costs).max())[1]))
    options = {"mip_rel_gap": record.tol}
    if constant != 0 and record.energy < np.inf:
        # The gap of HiGHS is relative to the energy without the constant, which may be larger.
        ratio = (1 + abs(record.energy)) / max(abs(record.energy - constant), 1.0)
        options["mip_rel_gap"] *= min(ratio, 1.0)
    seconds = min(end, record.deadline) - time.monotonic()
    if seconds <= 0:
        return Status.TIME_LIMIT
    if seconds < np.inf:
        options["time_limit"] = seconds
    if max_branches is not None:
        options["node_limit"] = max_branches
    # A limited search ends soon, so it does not require a separate process.
    run = highs.solve if max_branches is None else highs.solve_here
    status, x, bound = run(np.ldexp(costs, -exponent), program, options)
    if status == 2:
        # If an allowed labeling is known, the result of HiGHS is wrong: the range of costs exceeds
        # its tolerance.
        return Status.INFEASIBLE if record.energy == np.inf else Status.STALLED
    if x is not None:
        labels = _labels(model, x, kept)[: mrf.n_nodes].copy()
        record.offer(labels, PackedMRF(mrf).improve(labels, mrf.n_nodes))
    if bound is not None:
        known = np.ldexp(record.energy - constant, -exponent)
        if bound > known + ACCURACY * (1 + abs(known)):
            return Status.STALLED  # HiGHS is wrong
        record.bound(constant + float(np.ldexp(bound, exponent)))
    if status == 0:
        return Status.CONVERGED
    return Status.TIME_LIMIT if status == highs.TIME_LIMIT else Status.STALLED
