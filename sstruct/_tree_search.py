"""Decoding of graphs by FWMAP: labels, and a bound of all labellings."""

import numpy as np

from sstruct._problems._map import MapProblem
from sstruct._problems._map_rounding import SequentialRounding
from sstruct._problems._map_start import multipliers_of_messages
from sstruct._solvers.status import Status
from sstruct.inference._fwmap import Search, ascend
from sstruct.inference._map_result import Record
from sstruct.inference._message_passing import message_passing
from sstruct.inference._mrf import MRF
from sstruct.inference._tree_cover import tree_cover

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

    Notes
    -----
    Holds O(K) numbers for each node's copies in trees, for each graph decoded.
    """

    def __init__(self, seed, max_iter):
        self.seed, self.max_iter = seed, max_iter
        self.multipliers, self.covers = {}, {}

    def __call__(self, block, node_costs, edges, weights, tables, labels):
        """Return labels, a lower bound and the work; the arguments are those of GraphDecoder."""
        model = _model(node_costs, edges, weights, tables)
        record = Record(model, labels, TOLERANCE, None)
        if block not in self.covers:
            self.covers[block] = tree_cover(model.n_nodes, model.edges)
        problem = MapProblem(model, self.covers[block])
        search = Search(model, record, SequentialRounding(problem, np.arange(model.n_nodes)))
        first, status = self._first(block, problem, record)
        self.multipliers[block] = first
        kept = problem.bound(first)
        record.bound(kept)

        def offer(multipliers, engine):
            nonlocal kept
            search.round(multipliers, engine)
            if record.lower_bound > kept:
                kept, self.multipliers[block] = record.lower_bound, multipliers.copy()

        if status is not Status.CONVERGED:
            ascend(problem, record, offer, self.max_iter, self.seed, None, "exact", first=first)
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
