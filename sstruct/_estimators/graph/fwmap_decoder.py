"""Decoding of graphs by FWMAP: labels, and a bound of all labelings."""

import numpy as np

from sstruct._problems.map._problem import MapProblem
from sstruct._problems.map._rounding import SequentialRounding
from sstruct._problems.map._start import multipliers_of_messages
from sstruct._solvers.core.status import Status
from sstruct._solvers.proximal.ascent import Ascent, ascend
from sstruct.inference._methods.fwmap import Search
from sstruct.inference._methods.message_passing import message_passing
from sstruct.inference._model.map_result import Record
from sstruct.inference._model.mrf import MRF
from sstruct.inference._model.tree_cover import tree_cover

# Gap, of 1 + abs(cost), at which a decoding is good enough.
TOLERANCE = 1e-6


class TreeSearch:
    """FWMAP on one graph after another, each from the multipliers of its last decoding.

    Parameters
    ----------
    seed : int
        Of the order of trees.
    max_iter : int
        Iterations of a decoding, and of the messages before a graph's first.
    keeps : bool, default=True
        Keep multipliers and trees of each graph. False: each decoding is as the first.

    Notes
    -----
    Where it keeps them, holds O(K) numbers for each node's copies in trees, for each graph decoded.
    """

    def __init__(self, seed, max_iter, keeps=True):
        self.seed, self.max_iter, self.keeps = seed, max_iter, keeps
        self.multipliers, self.covers = {}, {}

    def __call__(self, block, node_costs, edges, weights, tables, labels):
        """Return labels, a lower bound and the work; the arguments are those of TreeDecoder."""
        model = _model(node_costs, edges, weights, tables)
        record = Record(model, labels, TOLERANCE, None)
        cover = self.covers.get(block)
        if cover is None:
            cover = tree_cover(model.n_nodes, model.edges)
        problem = MapProblem(model, cover)
        search = Search(model, record, SequentialRounding(problem, np.arange(model.n_nodes)))
        first, status = self._first(block, problem, record)
        best, best_bound = first, problem.bound(first)
        record.bound(best_bound)

        def offer(multipliers, engine):
            nonlocal best, best_bound
            search.round(multipliers, engine)
            if self.keeps and record.lower_bound > best_bound:
                best, best_bound = multipliers.copy(), record.lower_bound

        if status is not Status.CONVERGED:
            ascend(problem, record, offer, Ascent(self.max_iter, self.seed), first)
        if self.keeps:
            self.covers[block], self.multipliers[block] = cover, best
        work = len(record.rows) * 4.0 * problem.oracle_work * problem.n_blocks
        return record.labels, record.lower_bound, work

    def _first(self, block, problem, record):
        """Multipliers to begin with, and CONVERGED where no more is needed.

        Those of the last decoding, unless these costs are so different that 0 is better; else those
        of messages.
        """
        last = self.multipliers.get(block)
        if last is not None and problem.bound(last) > problem.bound(np.zeros_like(last)):
            return last, None
        status, sweeps = message_passing(
            problem.model, record, self.max_iter, averaged=True, is_first=True
        )
        return multipliers_of_messages(problem, *sweeps.last_messages()), status


def _model(node_costs, edges, weights, tables):
    """The MRF of a graph's costs."""
    if tables is None:
        K = node_costs.shape[1]
        return MRF(node_costs, edges, 1.0 - np.eye(K), weights=weights[:, 0])
    if len(tables) == 1:
        return MRF(node_costs, edges, tables[0], weights=weights[:, 0])
    return MRF(node_costs, edges, np.tensordot(weights, tables, 1))
