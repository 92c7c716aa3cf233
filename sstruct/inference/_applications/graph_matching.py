"""Graph matching with trees of pairwise costs and an assignment term."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sstruct._oracles.mrf._packed_mrf import JointMoves, PackedMRF
from sstruct._problems.map._assignment import AssignmentTerm
from sstruct._problems.map._map_problem import MapProblem
from sstruct._problems.map._rounding import SequentialRounding
from sstruct._problems.map._start import multipliers_of_messages
from sstruct._solvers.core.status import Status
from sstruct._solvers.proximal.ascent import Ascent, ascend
from sstruct.inference._applications.matching_model import matching_model
from sstruct.inference._methods.fwmap import VISITS_PER_NODE
from sstruct.inference._methods.map_mrf import check_options
from sstruct.inference._methods.message_passing import message_passing
from sstruct.inference._model.map_result import MapResult, Record
from sstruct.inference._model.mrf import MRF
from sstruct.inference._model.tree_cover import tree_cover


def graph_matching(
    unary: ArrayLike,
    pairwise: ArrayLike | sparse.sparray,
    tol: float = 1e-6,
    max_time: float | None = None,
    *,
    max_iter: int = 1000,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
    proximal_weight: float | Literal["paper"] | None = None,
    step: Literal["exact", "published"] = "exact",
    schedule: Literal["work", "clock"] = "work",
    start: Literal["trws", "zero"] = "trws",
) -> MapResult:
    """Assign left nodes to distinct right nodes, or to none, with a bound on the optimal cost.

    The cost of a matching is the sum of the costs of its assignments and of its pairs of
    assignments. An unassigned left node costs 0.

    Parameters
    ----------
    unary : array-like of shape (n_left, n_right)
        Cost of each assignment: finite, or ``+inf`` if it is forbidden.
    pairwise : sparse or dense array of shape (n_left * n_right, n_left * n_right)
        Entry ``[i * n_right + a, j * n_right + b]``: cost of assigning both i to a and j to b,
        finite. The transposed entry is added to it. Entries of forbidden or mutually exclusive
        assignments are ignored.
    tol : float, default=1e-6
        Stop when energy - bound <= tol (1 + abs(energy)).
    max_time : float, default=None
        Time limit in seconds, including the setup.
    max_iter : int, default=1000
        Maximum number of iterations.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Controls the order of the trees.
    proximal_weight : float, "paper" or None, default=None
        As in :func:`map_mrf` for ``"fwmap"``.
    step : {"exact", "published"}, default="exact"
        As in :func:`map_mrf` for ``"fwmap"``.
    schedule : {"work", "clock"}, default="work"
        As in :func:`map_mrf` for ``"fwmap"``.
    start : {"trws", "zero"}, default="trws"
        As in :func:`map_mrf` for ``"fwmap"``.

    Returns
    -------
    result : MapResult
        `labels` holds the right node of each left node, -1 if it is unassigned.

    Raises
    ------
    ValueError
        If shapes are inconsistent, a cost is NaN or invalid, or a parameter is out of range.
    TypeError
        If a parameter has the wrong type.

    See Also
    --------
    read_dd : Read matching problems from a file.

    Notes
    -----
    Left nodes are the nodes of a model and right nodes their labels. Trees cover the edges with
    pairwise costs; their tables forbid the same right node at both ends of an edge. A linear
    assignment term forbids it for every pair of nodes. The bound is the one of the relaxation that
    combines the trees and the assignment. Matchings are obtained from a linear assignment at the
    current multipliers and improved by moves of one node and of two nodes: exchanges, and a node
    that takes the right node of another one, which is reassigned.

    References
    ----------
    P. Swoboda, V. Kolmogorov. MAP inference via block-coordinate Frank-Wolfe algorithm. CVPR 2019,
    section 3.3.

    Examples
    --------
    Both left nodes prefer right node 0:

    >>> import numpy as np
    >>> from sstruct.inference import graph_matching
    >>> result = graph_matching([[-3.0, -1.0], [-2.0, -1.5]], np.zeros((4, 4)))
    >>> result.labels, result.energy, result.status
    (array([0, 1], dtype=int32), -4.5, 'PROVEN')
    """
    began = time.monotonic()
    check_options(tol, max_time, max_iter, proximal_weight, step, schedule, start)
    exclusive = matching_model(unary, pairwise)
    model = _coupled(exclusive)
    n_right = np.shape(unary)[1]
    nothing = np.array([len(candidates) - 1 for candidates in exclusive.candidates], dtype=np.int32)
    record = Record(exclusive.mrf, nothing, tol, max_time, began)
    columns = np.concatenate([
        np.append(candidates[:-1], n_right + i)
        for i, candidates in enumerate(exclusive.candidates)
    ])  # fmt: skip
    term = AssignmentTerm(model.node_start, columns)
    trees = tree_cover(model.n_nodes, model.edges)
    problem = MapProblem(model, trees, step == "published", term)
    rounding = SequentialRounding(problem, np.arange(model.n_nodes))
    search = PackedMRF(exclusive.mrf)
    pairs = JointMoves(search)

    def offer_labels(multipliers, engine):
        labels = term.assignment(rounding.sums(multipliers))
        search.improve(labels, VISITS_PER_NODE * model.n_nodes)
        record.offer(labels, pairs.search(labels, VISITS_PER_NODE))

    first, status = None, Status.STALLED
    try:
        if start == "trws":
            status, sweeps = message_passing(model, record, max_iter, averaged=True, is_first=True)
            first = multipliers_of_messages(problem, *sweeps.last_messages())
        if status in (Status.STALLED, Status.MAX_ITER):
            ascent = Ascent(max_iter, random_state, proximal_weight, step, schedule)
            status = ascend(problem, record, offer_labels, ascent, first)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    result = record.result(status, "fwmap")
    return replace(result, labels=exclusive.matching(result.labels))


def _coupled(exclusive):
    """Return the model of the pairs with costs; its tables also forbid equal right nodes."""
    mrf, which = exclusive.mrf, np.flatnonzero(exclusive.has_costs)
    return MRF(
        [mrf.node_cost(v) for v in range(mrf.n_nodes)],
        mrf.edges[which],
        [mrf.edge_cost(e) for e in which],
    )
