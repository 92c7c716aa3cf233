"""The door to all methods: a labeling of low energy, and a bound."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from sstruct._checks.arrays import listed
from sstruct._checks.scalars import is_integer, is_real
from sstruct._checks.shown import shortened
from sstruct._oracles.mrf._packed_mrf import JointMoves, PackedMRF
from sstruct._problems.map._user_terms import UserTerms
from sstruct._problems.map.term_calls import TermCalls
from sstruct._solvers.core.status import Status
from sstruct._solvers.proximal.ascent import Ascent
from sstruct.inference._methods.combination import combine
from sstruct.inference._methods.exact import forest, integer_program, is_forest, n_marginals
from sstruct.inference._methods.fwmap import LOOKS, fwmap
from sstruct.inference._methods.message_passing import message_passing
from sstruct.inference._methods.moves import cut, expansion, no_cut
from sstruct.inference._model.map_result import MapResult, Record
from sstruct.inference._model.mrf import MRF
from sstruct.inference._model.terms import ModelWithTerms

# Entries of all tables up to which labelings are improved by two nodes at once: in all eight times
# as many are looked at, again and again.
MOST_ENTRIES = 2**23
# Iterations of belief propagation after other methods: where pairs contradict one another its
# labelings are better. Ising models: by 3 to 5 % before they are combined.
MOST_PROPAGATIONS = 100
FLOAT_MAX = sys.float_info.max
METHODS = ("auto", "fwmap", "trws", "bp", "icm", "alpha-expansion", "graph-cut", "exact")


def map_mrf(
    mrf: MRF,
    method: str = "auto",
    tol: float = 1e-6,
    max_time: float | None = None,
    *,
    max_iter: int = 1000,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
    proximal_weight: float | Literal["paper"] | None = None,
    step: Literal["exact", "published"] = "exact",
    schedule: Literal["work", "clock"] = "work",
    start: Literal["trws", "zero"] = "trws",
    terms: Iterable[Any] | None = None,
) -> MapResult:
    """Find a labeling of low energy, and a lower bound on the energy of every labeling.

    Parameters
    ----------
    mrf : MRF
        The model.
    method : str, default="auto"
        * ``"fwmap"``: block-coordinate Frank-Wolfe on a decomposition into trees. Any model. Its
          bound converges to that of the linear relaxation.
        * ``"trws"``: sequential tree-reweighted message passing. Any model. Its bound never exceeds
          that of the linear relaxation.
        * ``"bp"``: min-sum belief propagation. Any model. Exact on forests, elsewhere without a
          bound.
        * ``"icm"``: iterated conditional modes, from the best label of each node. Any model, no
          bound.
        * ``"alpha-expansion"``: Potts models, and models with one metric table for all edges, with
          nonnegative weights, nothing forbidden and the same number of labels at each node. No
          bound.
        * ``"graph-cut"``: two labels for each node, all pairs attractive, nothing forbidden. Exact.
        * ``"exact"``: max-sum on forests, otherwise HiGHS on an integer program of at most 2^18
          variables (labels of nodes and entries of tables), which runs in a process of its own
          where it takes long.
        * ``"auto"``: max-sum on forests, a cut where it is exact, otherwise ``"trws"``, followed by
          ``"fwmap"`` if it stalls with a gap.
    tol : float, default=1e-6
        Stop where energy - bound <= tol (1 + abs(energy)).
    max_time : float, default=None
        Stop after this many seconds, set-up included. Cuts, expansion moves and ``"icm"`` do not
        watch the time. HiGHS does so only between its steps: with 10^5 variables and more it may
        take several times as long.
    max_iter : int, default=1000
        Largest number of iterations. For ``"trws"`` and ``"bp"`` an iteration is a sweep over the
        nodes and one back; for ``"fwmap"``, one minimization of each tree, and passes over cached
        labelings.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Order of labels in ``"alpha-expansion"`` and of trees in ``"fwmap"``. The other methods are
        deterministic.
    proximal_weight : float, "paper" or None, default=None
        Constant c of [2] for ``"fwmap"``: how far a step may go, in units of the costs.
        ``"paper"``: ``1500000 / (n_trees + 22)**2``, formula (18) of [2]. None: chosen from the
        gap at the start, then adapted to how well cached labelings predict the bound.
    step : {"exact", "published"}, default="exact"
        Step length of ``"fwmap"``. ``"exact"`` is the best one. ``"published"`` is that of [2],
        which ignores that the trees of a node move together: for a node in two trees it is half as
        long. For comparison with the paper.
    schedule : {"work", "clock"}, default="work"
        How ``"fwmap"`` chooses between passes over cached labelings and new minimizations:
        by counted operations, so that an int as `random_state` gives the same result each time; or
        by seconds, as in [2].
    start : {"trws", "zero"}, default="trws"
        First multipliers of ``"fwmap"``. ``"trws"`` runs ``"trws"`` while ten of its iterations
        raise the bound by more than 0.000002 (1 + abs(bound)), and takes multipliers from its
        messages. ``"zero"``: zeros, as in [2]. With `terms`, always zeros.
    terms : iterable of objects, default=None
        Your own terms of the energy; the method is ``"fwmap"`` then. Each has

        * ``nodes``: a list of n different nodes;
        * ``cost(labels)``: a real number for the labels (n,) of its nodes, ``+inf`` if it forbids
          them;
        * ``minimize(costs)``: labels (n,) that minimize
          ``cost(labels) + costs[0, labels[0]] + ... + costs[n - 1, labels[n - 1]]``. `costs` has
          shape (n, K), with K the largest number of labels of these nodes, and is ``+inf`` where a
          label is forbidden or does not exist.

    Returns
    -------
    result : MapResult
        The best labeling found and the bound. Ctrl-C ends the search with a valid result.

    Raises
    ------
    TypeError
        If `mrf` is no MRF, or a term lacks an attribute or returns no number or labels.
    ValueError
        If the method is not for this model, or a parameter is out of range. If a term returns
        labels that have the wrong shape, are out of range or forbidden, have another cost than
        before, or are worse than an earlier answer; the message names the term.

    Notes
    -----
    All iterative methods end with ``"icm"``. If a gap is left, moves of two neighbors at once
    follow from the best 24 labelings, and HiGHS combines what they lead to; not for models with
    factors or with more than 2^23 entries of pairs. After ``"fwmap"`` and ``"trws"``, up to 100
    iterations of ``"bp"`` look for more labelings before that.

    ``"trws"`` visits the nodes in their order: if nodes are numbered along the rows of an image,
    every row and column is one chain. The time of an iteration is proportional to the entries of
    the tables, for Potts and truncated linear or quadratic tables to the number of labels. It ends
    as ``STALLED`` if neither bound nor energy has moved for 50 iterations. Factors of three and
    four nodes become nodes of their own, whose labels are the allowed tuples.

    If the bound of ``"fwmap"`` or ``"trws"`` rises above the largest possible energy, every
    labeling is forbidden (``INFEASIBLE``). With `terms`, the largest energy is not known: if
    they contradict each other, bounds rise until `max_iter` or `max_time`.

    ``"fwmap"`` covers the edges by the fewest forests. A node has a copy in each tree that contains
    it; multipliers couple the copies, and the sum of the trees' minima is maximized. An iteration
    takes the time of a sweep of ``"trws"``, and several times as much for passes over cached
    labelings. It also ends as ``CONVERGED`` if the bound is that of the linear relaxation and the
    labels have more energy: trees agree on the shares of all labels to 0.001 in sum, and the bound
    is within `tol` (1 + abs(bound)) of what these shares cost.

    Each of your terms is one more block beside the trees, and may share nodes with them. Its
    labelings are cached, four bytes for each node, and evaluated at other multipliers without a
    call. The bound is that of the relaxation that joins the convex hulls of the labelings of all
    trees and terms; it holds if ``minimize`` returns minima. Energies include the terms.

    References
    ----------
    [1] V. Kolmogorov. Convergent tree-reweighted message passing for energy minimization. IEEE PAMI
    28(10), 2006, section 4.

    [2] P. Swoboda, V. Kolmogorov. MAP inference via block-coordinate Frank-Wolfe algorithm. CVPR
    2019.

    Examples
    --------
    >>> import numpy as np
    >>> from sstruct.inference import MRF, map_mrf
    >>> node_costs = np.random.default_rng(0).random((4, 3))
    >>> model = MRF(node_costs, [[0, 1], [1, 2], [2, 3], [3, 0]], 0.2 * (1 - np.eye(3)))
    >>> result = map_mrf(model)
    >>> result.labels, result.status, result.method
    (array([2, 0, 2, 2], dtype=int32), 'CONVERGED', 'trws')
    """
    began = time.monotonic()
    if not isinstance(mrf, MRF):
        raise TypeError(f"mrf must be an MRF, found {type(mrf).__name__}")
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}; found {shortened(method)}")
    check_options(tol, max_time, max_iter, proximal_weight, step, schedule, start)
    is_auto = method == "auto"
    energies, own_terms = mrf, None
    terms = [] if terms is None else listed(terms, "terms", "a list of terms or None")
    if terms:
        if method not in ("auto", "fwmap"):
            raise ValueError(f"method {method!r} takes no terms; 'fwmap' does")
        method, is_auto = "fwmap", False
        own_terms = UserTerms(TermCalls(terms, mrf))
        energies = ModelWithTerms(mrf, own_terms)
    if is_auto:
        method = _best_method(mrf)
    labels = np.array([mrf.node_cost(v).argmin() for v in range(mrf.n_nodes)], dtype=np.int32)
    record, sweeps = Record(energies, labels, tol, max_time, began), None
    try:
        if method != "fwmap":
            status, sweeps = _run(mrf, method, record, max_iter, random_state)
        if method == "fwmap" or (is_auto and status == Status.STALLED):
            method = "fwmap"
            ascent = Ascent(max_iter, random_state, proximal_weight, step, schedule)
            status = fwmap(mrf, record, ascent, start=start, sweeps=sweeps, terms=own_terms)
        if method in ("fwmap", "trws", "bp") and own_terms is None:
            status = _improve(mrf, record, status, 0 if method == "bp" else max_iter)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return record.result(status, method)


def _improve(mrf, record, status, max_iter):
    """Improve good labelings by moves of two nodes, and combine them; return the status.

    max_iter : int
        Of belief propagation, to look for more with; MOST_PROPAGATIONS at most, 0: none.
    """
    if status is Status.INFEASIBLE or record.is_closed():
        return status
    if mrf.n_factors or n_marginals(mrf) > MOST_ENTRIES:
        return status
    if max_iter and not record.is_late():
        message_passing(mrf, record, min(max_iter, MOST_PROPAGATIONS), averaged=False)
    moves, found = JointMoves(PackedMRF(mrf)), {}
    for labels in record.best_offered(8 * MOST_ENTRIES // n_marginals(mrf)):
        energy = moves.search(labels, LOOKS)
        record.offer(labels, energy)
        found[labels.tobytes()] = energy, labels
        if record.is_late() or record.is_closed():
            break
    if len(found) > 1 and not record.is_closed():
        combine(mrf, [labels for _, labels in sorted(found.values(), key=itemgetter(0))], record)
    return Status.CONVERGED if record.is_closed() else status


def _run(mrf, method, record, max_iter, random_state):
    """Do what a method says; return the status and, of messages, the MessagePassing."""
    if method == "graph-cut":
        return cut(mrf, record), None
    if method == "alpha-expansion":
        return expansion(mrf, record, random_state), None
    if method in ("exact", "bp") and is_forest(mrf):
        return forest(mrf, record), None
    labels = record.labels.copy()
    record.offer(labels, PackedMRF(mrf).improve(labels, 2**62 if method == "icm" else mrf.n_nodes))
    if method == "icm":
        return Status.CONVERGED, None
    if method == "exact":
        return integer_program(mrf, record), None
    return message_passing(mrf, record, max_iter, averaged=method == "trws")


def _best_method(mrf):
    """What is exact where something fast is, else what has the best bound."""
    if is_forest(mrf):
        return "exact"
    return "trws" if no_cut(mrf) else "graph-cut"


def check_options(tol, max_time, max_iter, proximal_weight, step, schedule="work", start="trws"):
    """Raise ValueError where one is out of range."""
    _check_number(tol, "tol", 0, True)
    if max_time is not None:
        _check_number(max_time, "max_time", 0, False)
    if not is_integer(max_iter) or max_iter < 1:
        raise ValueError(f"max_iter must be an integer of at least 1; found {shortened(max_iter)}")
    if isinstance(proximal_weight, str):
        _check_name(proximal_weight, "proximal_weight", ("paper",))
    elif proximal_weight is not None:
        _check_number(proximal_weight, "proximal_weight", 0, False)
    _check_name(step, "step", ("exact", "published"))
    _check_name(schedule, "schedule", ("work", "clock"))
    _check_name(start, "start", ("trws", "zero"))


def check_positive(value, name):
    """Raise ValueError unless it is a finite number above 0."""
    _check_number(value, name, 0, False)


def _check_name(value, name, choices):
    if not isinstance(value, str) or value not in choices:
        raise ValueError(
            f"{name} must be {' or '.join(map(repr, choices))}; found {shortened(value)}"
        )


def _check_number(value, name, least, may_equal):
    # Integers may be beyond the floats.
    in_range = is_real(value) and (least < value <= FLOAT_MAX or (may_equal and value == least))
    if not in_range:
        relation = "at least" if may_equal else "above"
        raise ValueError(
            f"{name} must be a finite number {relation} {least}; found {shortened(value)}"
        )
