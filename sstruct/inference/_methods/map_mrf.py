"""MAP inference, which returns a labeling of low energy and a lower bound."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from sstruct._checks.arrays import listed
from sstruct._checks.parameters import Range, check_choice, check_values
from sstruct._oracles.mrf._packed_mrf import JointMoves, PackedMRF
from sstruct._problems.map._user_terms import UserTerms
from sstruct._problems.map.term_calls import TermCalls
from sstruct._solvers.core.status import Status
from sstruct._solvers.proximal.ascent import Ascent
from sstruct.inference._methods.combilp import combilp
from sstruct.inference._methods.combination import combine
from sstruct.inference._methods.cycles import has_two_labels
from sstruct.inference._methods.elimination import (
    eliminator,
    minimize_in_order,
    move,
)
from sstruct.inference._methods.exact import (
    MAX_VARIABLES,
    forest,
    integer_program,
    is_forest,
    n_marginals,
)
from sstruct.inference._methods.feasible import FIRST_REVISIONS, find_feasible
from sstruct.inference._methods.fwmap import VISITS_PER_NODE, fwmap
from sstruct.inference._methods.message_passing import message_passing
from sstruct.inference._methods.moves import cut, expansion, no_cut
from sstruct.inference._methods.search import check_size, search, searcher
from sstruct.inference._methods.toulbar2 import check_toulbar2, toulbar2
from sstruct.inference._model.auxiliary import pairwise_model
from sstruct.inference._model.map_result import MapResult, Record
from sstruct.inference._model.mrf import MRF
from sstruct.inference._model.terms import ModelWithTerms
from sstruct.inference._model.triangles import merge_triangles

# Limit on the labels and table entries of models whose labelings are improved by moves of two
# nodes. The moves of all labelings together visit up to eight times as many, repeatedly.
MAX_ENTRIES = 2**23
# Iterations of belief propagation after other methods. Its labelings are better if pairs are
# frustrated: by 3 to 5 % on Ising models, before combination.
MAX_PROPAGATIONS = 100
# Limits on the size of models that branch and bound searches before message passing, and on its
# work. Matchings of ten nodes are proven within a millisecond; message passing takes up to six.
SMALL = 2**16
WORK_OF_SMALL = 2**20
# Limits on the work of branch and bound in "auto": after message passing, after belief propagation
# and moves of two nodes, and after all other methods. A second is about 2^29.
FIRST_WORK = 2**26
SECOND_WORK = 2**28
ALL_WORK = 2**32
# Limit on the iterations of TRW-S with merged triangles, and their fraction of the remaining time.
# On detections of 60 nodes, an iteration takes 0.02 seconds, and most of the gain takes 100.
MAX_ITERATIONS_WITH_TRIANGLES = 300
SHARE_OF_TRIANGLES = 0.5
# Time limit in seconds of HiGHS after the other methods of "auto", without `max_time`.
SECONDS_OF_BRANCHING = 10.0
# Fraction of the remaining time for branch and bound, before HiGHS.
SHARE = 0.5
# Fraction of the remaining time for HiGHS on models of two labels, before the other methods: with
# inequalities of cycles, it proves Ising models on grids, whose bounds are weak otherwise.
SHARE_OF_TWO_LABELS = 0.8
VALID_OPTIONS = {
    "tol": Range(least=0),
    "max_time": Range(above=0, other=(None,)),
    "max_iter": Range(least=1, whole=True),
    "proximal_weight": Range(above=0, other=(None, "paper")),
    "step": ("exact", "published"),
    "schedule": ("work", "clock"),
    "start": ("trws", "zero"),
}
METHODS = (
    "auto", "fwmap", "trws", "bp", "icm", "alpha-expansion", "graph-cut", "exact", "toulbar2"
)  # fmt: skip


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
    evidence: Mapping[int, int] | None = None,
) -> MapResult:
    """Find a labeling of low energy, and a lower bound on the energy of every labeling.

    Parameters
    ----------
    mrf : MRF
        The model to minimize.
    method : str, default="auto"
        * ``"fwmap"``: block-coordinate Frank-Wolfe on a decomposition into trees. Supports every
          model. The bound converges to the one of the linear relaxation.
        * ``"trws"``: sequential tree-reweighted message passing. Supports every model. The bound
          never exceeds the one of the linear relaxation.
        * ``"bp"``: min-sum belief propagation. Supports every model. Exact on forests, without a
          bound otherwise.
        * ``"icm"``: iterated conditional modes, from the best label of each node. Supports every
          model. No bound.
        * ``"alpha-expansion"``: Potts models, and models with one metric table for all edges, with
          nonnegative weights, no forbidden pairs and the same number of labels at each node. No
          bound.
        * ``"graph-cut"``: two labels for each node, only attractive pairs, no forbidden pairs.
          Exact.
        * ``"auto"``: max-sum on forests, a cut if it is exact, or variable elimination if its
          tables have at most 2^20 entries each and 2^23 in total. Otherwise ``"trws"`` and then,
          while a gap remains, a short branch and bound (before ``"trws"`` on small models), CombiLP
          [4] if the relaxation is not tight for at most half of the nodes, variable elimination
          with at most 2^30 entries along the bandwidth of the graph (2^21 in one table, such as
          grids of 20 rows with two labels), ``"fwmap"``, moves that improve the labeling,
          ``"trws"`` with triangles of edges merged into factors, a longer branch and bound, and
          HiGHS for at most 10 seconds. With `max_time`, the last three share the remaining time.
          HiGHS solves integer programs of at most 2^18 variables (labels of nodes and entries of
          tables), up to differences of about 1e-7, in a separate process if it takes long. Branch
          and bound supports 2^23 variables, with at most 2^26 table entries at all depths of the
          search (512 MB); merged triangles have at most 2^25 (256 MB). Models of two labels without
          ``+inf`` are left to HiGHS before ``"fwmap"``, with the odd-cycle inequalities [3] that
          its solutions violate.
        * ``"exact"``: as ``"auto"``, without limits other than `max_time` and the sizes above.
        * ``"toulbar2"``: branch and bound of the package pytoulbar2 (the extra ``exact``), in a
          separate process that ends at `max_time` or at Ctrl-C. Supports models of at most 2^23
          variables. ``"auto"`` never uses it, so that results do not depend on the installed
          packages.
    tol : float, default=1e-6
        Stop when energy - bound <= tol (1 + abs(energy)).
    max_time : float, default=None
        Time limit in seconds, including the setup. Cuts, expansion moves and ``"icm"`` do not
        check the time. HiGHS checks it only between its steps: with 10^5 or more variables it may
        take several times as long.
    max_iter : int, default=1000
        Maximum number of iterations. For ``"trws"`` and ``"bp"``, an iteration is a forward and a
        backward sweep over the nodes. For ``"fwmap"``, it is one minimization of each tree, and
        passes over cached labelings.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Controls the order of labels in ``"alpha-expansion"`` and of trees in ``"fwmap"``. The other
        methods are deterministic, unless `max_time` or the time limit of HiGHS is reached.
    proximal_weight : float, "paper" or None, default=None
        Constant c of [2] for ``"fwmap"``, which limits the length of steps, in units of the costs.
        ``"paper"``: ``1500000 / (n_trees + 22)**2``, equation (18) of [2]. Default: estimated from
        the initial gap, then adapted to the accuracy with which cached labelings predict the bound.
    step : {"exact", "published"}, default="exact"
        Step size of ``"fwmap"``. ``"exact"`` is the optimal one. ``"published"`` is the one of [2],
        which ignores that the trees of a node move together: for a node in two trees it is half as
        long. It is provided for comparison with the paper.
    schedule : {"work", "clock"}, default="work"
        How ``"fwmap"`` chooses between passes over cached labelings and new minimizations.
        ``"work"`` counts operations, so that results are reproducible for an int as
        `random_state`. ``"clock"`` measures seconds, as in [2].
    start : {"trws", "zero"}, default="trws"
        Initial multipliers of ``"fwmap"``. ``"trws"`` runs ``"trws"`` until ten of its iterations
        raise the bound by at most 0.000002 (1 + abs(bound)), and uses the multipliers of its
        messages. ``"zero"``: zeros, as in [2]. With `terms`, always zeros.
    terms : iterable of objects, default=None
        User-defined terms of the energy, supported by ``"fwmap"`` only, which ``"auto"`` then runs.
        Each term has

        * ``nodes``: a list of n different nodes;
        * ``cost(labels)``: a real number for the labels (n,) of its nodes, ``+inf`` if they are
          forbidden;
        * ``minimize(costs)``: labels (n,) that minimize
          ``cost(labels) + costs[0, labels[0]] + ... + costs[n - 1, labels[n - 1]]``. `costs` has
          shape (n, K), with K the largest number of labels of these nodes, and is ``+inf`` where a
          label is forbidden or does not exist.

    evidence : dict of int to int, default=None
        Observed labels: maps nodes to their fixed labels, such as the result of
        :func:`read_uai_evidence`.

    Returns
    -------
    result : MapResult
        The best labeling found and the bound. Ctrl-C stops the search: the result is valid and has
        ``status="INTERRUPTED"``, and no KeyboardInterrupt is raised.

    Raises
    ------
    TypeError
        If `mrf` is not an MRF, a parameter has the wrong type, `evidence` is not a dict, or a term
        lacks an attribute or returns values that are not numbers or labels.
    ImportError
        If `method` is ``"toulbar2"`` and pytoulbar2 is not installed.
    OSError
        If the process of HiGHS or of toulbar2 fails, for example because memory is exhausted.
    ValueError
        If the method does not support the model, a parameter is out of range, `evidence` has a node
        or a label that does not exist, or a term returns labels that have the wrong shape, are out
        of range, are forbidden, have a different cost than before, or are worse than an earlier
        result. The message names the term.

    Notes
    -----
    All iterative methods improve their labelings by ``"icm"``. If a gap remains, moves of two
    neighbors start from the best 24 labelings (fewer for large models), and HiGHS combines the
    results, except for models with factors or with more than 2^23 labels and entries of tables.
    Before that, up to 100 iterations of ``"bp"`` search for more labelings after ``"fwmap"`` and
    ``"trws"``. In models of at most 2^15 nodes, edges and factors, moves of many nodes follow:
    variable elimination of random sets of nodes, with the labels of the other nodes fixed.

    If ``"trws"``, ``"fwmap"``, ``"bp"`` or ``"auto"`` does not find an allowed labeling because of
    costs of ``+inf``, backtracking with constraint propagation and a local search try to find one
    in a limited number of steps. With `max_time`, a short search also precedes the elimination of
    nodes. An energy of ``+inf`` is either proven (``INFEASIBLE``) or means that none was found.

    ``"trws"`` visits the nodes in their order: if nodes are numbered along the rows of an image,
    every row and column is one chain. The time of an iteration is proportional to the entries of
    the tables; for Potts and truncated linear or quadratic tables, to the number of labels. The
    status is ``STALLED`` if neither bound nor energy improves for 50 iterations. Factors of three
    or more nodes become auxiliary nodes, whose labels are the allowed tuples.

    If the bound of ``"fwmap"`` or ``"trws"`` exceeds the largest possible energy, every labeling is
    forbidden (``INFEASIBLE``). With `terms`, the largest energy is not known: if they contradict
    each other, bounds rise until `max_iter` or `max_time` is reached.

    ``"fwmap"`` covers the edges by the smallest number of forests. A node has a copy in each tree
    that contains it; multipliers couple the copies, and the sum of the minima of the trees is
    maximized. An iteration takes the time of a sweep of ``"trws"``, and several times as much for
    passes over cached labelings. The status is ``UNPROVEN`` if the bound has reached the linear
    relaxation and the labels have a higher energy: the marginals of the trees differ by at most
    0.001 in total, and the bound is within `tol` (1 + abs(bound)) of their cost.

    User-defined terms are additional blocks, which may share nodes with the trees. Their labelings
    are cached, with four bytes for each node, and evaluated at other multipliers without a call.
    The bound is the one of the relaxation over the convex hulls of the labelings of all trees and
    terms; it is valid if ``minimize`` returns minima. Energies include the terms.

    References
    ----------
    [1] V. Kolmogorov. Convergent tree-reweighted message passing for energy minimization. IEEE PAMI
    28(10), 2006, section 4.

    [2] P. Swoboda, V. Kolmogorov. MAP inference via block-coordinate Frank-Wolfe algorithm. CVPR
    2019.

    [3] F. Barahona, A. R. Mahjoub. On the cut polytope. Mathematical Programming 36, 1986.

    [4] S. Haller, P. Swoboda, B. Savchynskyy. Exact MAP-inference by confining combinatorial search
    with LP relaxation. AAAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sstruct.inference import MRF, map_mrf
    >>> node_costs = np.random.default_rng(0).random((4, 3))
    >>> model = MRF(node_costs, [[0, 1], [1, 2], [2, 3], [3, 0]], 0.2 * (1 - np.eye(3)))
    >>> result = map_mrf(model)
    >>> result.labels, result.status, result.method
    (array([2, 0, 2, 2], dtype=int32), 'PROVEN', 'exact')
    """
    began = time.monotonic()
    if not isinstance(mrf, MRF):
        raise TypeError(f"mrf must be an MRF, found {type(mrf).__name__}")
    check_choice("method", method, METHODS)
    check_options(tol, max_time, max_iter, proximal_weight, step, schedule, start)
    if evidence is not None:
        mrf = mrf._with_evidence(evidence)
    if method == "toulbar2":
        check_toulbar2(mrf)
    energies, own_terms = mrf, None
    terms = [] if terms is None else listed(terms, "terms", "a list of terms or None")
    if terms:
        if method not in ("auto", "fwmap"):
            raise ValueError(f"method={method!r} does not support terms; use method='fwmap'")
        method = "fwmap"
        own_terms = UserTerms(TermCalls(terms, mrf))
        energies = ModelWithTerms(mrf, own_terms)
    labels = np.array([mrf.node_cost(v).argmin() for v in range(mrf.n_nodes)], dtype=np.int32)
    record = Record(energies, labels, tol, max_time, began)
    run = _Run(mrf, record, method, Ascent(max_iter, random_state, proximal_weight, step, schedule))
    try:
        if own_terms is not None:
            status = fwmap(mrf, record, run.ascent, start=start, terms=own_terms)
        else:
            status = run.minimize(start)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return record.result(status, run.method)


class _Run:
    """Run a method and the methods that follow it.

    Parameters
    ----------
    mrf : MRF
    record : Record
    method : str
        As in `map_mrf`; updated to the last method that ran.
    ascent : Ascent
        Contains the limit on iterations and the seed of all methods.
    """

    def __init__(self, mrf, record, method, ascent):
        self.mrf, self.record, self.method, self.ascent = mrf, record, method, ascent
        self.has_limits = True  # on the work of exact methods

    @cached_property
    def elimination(self):
        """Return the Elimination of the model, or None if the model is too large."""
        return eliminator(self.mrf)

    def minimize(self, start):
        """Run the method and return the status."""
        mrf, record, proves = self.mrf, self.record, self.method in ("auto", "exact")
        if proves:
            self.has_limits = self.method == "auto"
            status = self._exactly()
            if status is not None:
                return status
            if not self.has_limits:
                check_size(mrf)
            self.method = "trws"
        if self.method == "graph-cut":
            return cut(mrf, record)
        if self.method == "alpha-expansion":
            return expansion(mrf, record, self.ascent.random_state)
        if self.method == "bp" and is_forest(mrf):
            return forest(mrf, record)
        if self.method != "fwmap":
            self._search_locally(2**62 if self.method == "icm" else mrf.n_nodes)
        if self.method == "icm":
            return Status.CONVERGED
        if self.method == "toulbar2":
            return toulbar2(mrf, record)
        return self._iterate(start, proves)

    def _exactly(self):
        """Run a fast exact method; return the status, or None if there is none."""
        self.method = "exact"
        if is_forest(self.mrf):
            return forest(self.mrf, self.record)
        if no_cut(self.mrf) is None:
            self.method = "graph-cut"
            return cut(self.mrf, self.record)
        return self._eliminate()

    def _eliminate(self):
        """Run variable elimination; return the status, or None if its tables are too large.

        With a time limit, and if no allowed labeling is known, a short search for one precedes the
        elimination, and takes at most half of the time. Its labeling is the result if the
        elimination takes too long.
        """
        order = None if self.elimination is None else self.elimination.plan()
        if order is None:
            return None
        record, spare = self.record, None
        if record.energy == np.inf and record.deadline < np.inf:
            spare = record.of_part(self.mrf, record.labels)
            spare.deadline = (time.monotonic() + record.deadline) / 2
            if not find_feasible(self.mrf, spare, FIRST_REVISIONS):
                return Status.INFEASIBLE
        status = minimize_in_order(self.elimination, order, record)
        if spare is not None and record.energy == np.inf and record.is_late():
            record.offer(spare.labels, spare.energy)
        return status

    def _iterate(self, start, proves):
        """Run ``"trws"``, ``"bp"`` or ``"fwmap"``, improve labelings, and return the status.

        proves : bool
            Continue with other methods while a gap remains.
        """
        mrf, record, max_iter = self.mrf, self.record, self.ascent.max_iter
        if not self._make_feasible(FIRST_REVISIONS):
            return Status.INFEASIBLE
        if proves and n_marginals(pairwise_model(mrf)[0]) <= SMALL:
            status = self._search(WORK_OF_SMALL)
            if status in (Status.CONVERGED, Status.INFEASIBLE):
                return status
        status, sweeps = Status.STALLED, None
        if self.method != "fwmap":
            averaged = self.method == "trws"
            status, sweeps = message_passing(
                mrf, record, max_iter, averaged=averaged, is_first=proves
            )
        is_open = status in (Status.STALLED, Status.MAX_ITER)
        if proves and is_open:
            status = self._search_soon(sweeps)
            if status in (Status.CONVERGED, Status.INFEASIBLE):
                return status
        if self.method == "fwmap" or (proves and is_open):
            self.method = "fwmap"
            status = fwmap(mrf, record, self.ascent, start=start, sweeps=sweeps)
        del sweeps
        if status is Status.INFEASIBLE or record.is_closed():
            return status
        if not self._make_feasible():
            return Status.INFEASIBLE
        if record.energy < np.inf:
            self._improve(0 if self.method == "bp" else max_iter)
        if proves and not (record.is_closed() or record.is_late()):
            self._tighten()
        if record.is_late():
            return Status.TIME_LIMIT
        return self._branch(status) if proves and not record.is_closed() else status

    def _tighten(self):
        """Run TRW-S on the model with merged triangles, whose bound is higher."""
        record, merged = self.record, merge_triangles(self.mrf)
        if merged is None:
            return
        end, now = record.deadline, time.monotonic()
        if end < np.inf:
            record.deadline = now + SHARE_OF_TRIANGLES * (end - now)
        max_iter = min(self.ascent.max_iter, MAX_ITERATIONS_WITH_TRIANGLES)
        before = record.lower_bound
        message_passing(merged, record, max_iter, averaged=True)
        record.deadline = end
        if record.lower_bound > before:
            self.method = "trws"
        if not (record.is_closed() or record.is_late()) and record.energy < np.inf:
            self._improve(0)

    def _search_locally(self, max_visits):
        """Offer the best labeling after local search."""
        labels = self.record.labels.copy()
        self.record.offer(labels, PackedMRF(self.mrf).improve(labels, max_visits))

    def _make_feasible(self, *max_revisions):
        """Search for an allowed labeling if none is known; return False if none exists."""
        if self.record.energy < np.inf or self.record.is_late():
            return True
        may_exist = find_feasible(self.mrf, self.record, *max_revisions)
        if self.record.energy < np.inf:
            self._search_locally(self.mrf.n_nodes)
        return may_exist

    def _improve(self, max_iter):
        """Improve good labelings by `_combine` and by moves of many nodes.

        max_iter : int
            Limit on the iterations of belief propagation, which searches for more labelings.
        """
        record = self.record
        self._combine(max_iter)
        if self.elimination is not None and not (record.is_closed() or record.is_late()):
            move(self.elimination, record)

    def _combine(self, max_iter):
        """Improve good labelings by moves of two nodes, and combine them; `max_iter` as above."""
        mrf, record = self.mrf, self.record
        if mrf.n_factors or n_marginals(mrf) > MAX_ENTRIES:
            return
        if max_iter and not record.is_late():
            message_passing(mrf, record, min(max_iter, MAX_PROPAGATIONS), averaged=False)
        moves, distinct = JointMoves(PackedMRF(mrf)), {}
        for labels in record.best_offered(8 * MAX_ENTRIES // n_marginals(mrf)):
            energy = moves.search(labels, VISITS_PER_NODE)
            record.offer(labels, energy)
            distinct[labels.tobytes()] = energy, labels
            if record.is_late() or record.is_closed():
                return
        if len(distinct) > 1:
            ranked = sorted(distinct.values(), key=itemgetter(0))
            combine(mrf, [labels for _, labels in ranked], record)

    @cached_property
    def engine(self):
        """Return the BranchAndBound of the model, or None if the model is too large."""
        return searcher(self.mrf)

    def _search_soon(self, sweeps):
        """Run branch and bound with little work, and a long elimination; return the status.

        sweeps : MessagePassing
            State of TRW-S.
        """
        status = self._search(FIRST_WORK)
        if status is Status.STALLED:
            status = self._proven(combilp(self.mrf, self.record, sweeps, self._search_part))
        order = None
        if status is Status.STALLED and self.elimination is not None:
            order = self.elimination.plan_along_band()
        if order is not None:
            status = self._proven(minimize_in_order(self.elimination, order, self.record))
        is_open = status is Status.STALLED and self.engine is not None
        if is_open and has_two_labels(self.mrf):
            return self._solve_program(SHARE_OF_TWO_LABELS)
        if is_open and self.record.energy < np.inf:
            self._combine(self.ascent.max_iter)
            status = self._search(SECOND_WORK)
        return status

    def _search_part(self, model, record):
        """Minimize a part of the model by fast exact methods or with little work."""
        run = _Run(model, record, "exact", self.ascent)
        if run._exactly() is None:
            status, _ = message_passing(
                model, record, self.ascent.max_iter, averaged=True, is_first=True
            )
            if status is not Status.INFEASIBLE:
                run._search(FIRST_WORK)

    def _search(self, max_work, deadline=np.inf):
        """Run branch and bound with limits; return the status."""
        status = self.record.status()
        if status is not Status.STALLED or self.engine is None:
            return status
        return self._proven(search(self.engine, self.mrf, self.record, max_work, deadline))

    def _proven(self, status):
        """Return the status of an exact method, which is the last method if it has an answer."""
        if status in (Status.CONVERGED, Status.INFEASIBLE):
            self.method = "exact"
        return status

    def _branch(self, status):
        """Try to close the gap by branch and bound and by HiGHS; return the status."""
        is_limited, end = self.record.deadline < np.inf, np.inf
        if is_limited and self.is_small and not has_two_labels(self.mrf):
            now = time.monotonic()
            end = now + SHARE * (self.record.deadline - now)
        last = self._search(np.inf if is_limited or not self.has_limits else ALL_WORK, end)
        if last is Status.STALLED:
            last = self._solve_program(1.0)
        if last in (Status.CONVERGED, Status.INFEASIBLE):
            return last
        # HiGHS may stop slightly before the time limit.
        return last if is_limited and last is Status.TIME_LIMIT else status

    @cached_property
    def is_small(self):
        """Return True if the integer program has few enough variables."""
        return n_marginals(pairwise_model(self.mrf)[0]) <= MAX_VARIABLES

    def _solve_program(self, share):
        """Run HiGHS for a fraction of the remaining time; return the status."""
        record = self.record
        if not self.is_small or record.is_late():
            return Status.STALLED
        seconds = SECONDS_OF_BRANCHING if self.has_limits else np.inf
        if record.deadline < np.inf:
            seconds = share * (record.deadline - time.monotonic())
        status = self._proven(integer_program(self.mrf, record, seconds=seconds))
        record.row()
        return status


def check_options(tol, max_time, max_iter, proximal_weight, step, schedule="work", start="trws"):
    """Raise ValueError or TypeError if an option is invalid."""
    values = dict(tol=tol, max_time=max_time, max_iter=max_iter, proximal_weight=proximal_weight)
    check_values(values | dict(step=step, schedule=schedule, start=start), VALID_OPTIONS)
