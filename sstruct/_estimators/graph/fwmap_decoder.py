"""Decode graphs by FWMAP, which returns labels and a bound on the best score."""

import numpy as np

from sstruct._problems.core.kept_arrays import kept_array, kept_sizes
from sstruct._problems.map._map_problem import MapProblem
from sstruct._problems.map._rounding import SequentialRounding
from sstruct._problems.map._start import multipliers_of_messages
from sstruct._problems.map.map_arguments import place_multipliers
from sstruct._solvers.core.status import Status
from sstruct._solvers.proximal.ascent import Ascent, ascend
from sstruct.inference._methods.fwmap import Search
from sstruct.inference._methods.message_passing import message_passing
from sstruct.inference._model.map_result import Record
from sstruct.inference._model.mrf import MRF
from sstruct.inference._model.tree_cover import tree_cover

# Relative gap, as a fraction of 1 + abs(cost), at which a decoding stops.
TOLERANCE = 1e-6
# Multipliers in a file must sum to zero over the copies of a label, up to this fraction of the
# largest one, since bounds are invalid otherwise.
SUMS_TO_ZERO = 1e-12
# Multipliers of the last decoding are used only if none exceeds this multiple of the sum of the
# magnitudes of all costs. With larger ones, rounding errors could make a bound invalid.
LARGEST = 100.0


class TreeSearch:
    """FWMAP for a sequence of graphs, each warm-started from its last decoding.

    Parameters
    ----------
    seed : int
        Seed of the order of trees.
    max_iter : int
        Maximum number of iterations of a decoding. If it does not start from the multipliers of
        the last one, also the maximum number of sweeps of message passing before the iterations.
    keeps : bool, default=True
        Keep multipliers and trees of each graph. If False, each decoding starts from scratch.

    Notes
    -----
    With ``keeps=True``, memory is O(K) per copy of a node in a tree, for each decoded graph.
    """

    def __init__(self, seed, max_iter, keeps=True):
        self.seed, self.max_iter, self.keeps = seed, max_iter, keeps
        self.multipliers, self.covers = {}, {}

    def __call__(self, block, node_costs, edges, weights, tables, labels):
        """Return labels, a lower bound and the work; see TreeDecoder for the arguments."""
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

    def memory(self, n_graphs):
        """Return the multipliers of all graphs, for a checkpoint."""
        none = np.empty(0)
        kept = [self.multipliers.get(block, none) for block in range(n_graphs)]
        return {
            "multiplier_size": np.array([len(own) for own in kept], dtype=np.int64),
            "multipliers": np.concatenate(kept),
        }

    def restore_memory(self, kept, graphs):
        """Restore the arrays that `memory` returned.

        Parameters
        ----------
        kept : dict
            Arrays, which may come from a file.
        graphs : list of (n_nodes, edges, n_labels)

        Raises
        ------
        ValueError
            If they are not multipliers of these graphs; the message names the field.
        """
        values = kept_array(kept, "multipliers", np.float64)
        size, start = kept_sizes(kept, "multiplier_size", len(graphs), len(values), "multipliers")
        covers, multipliers = {}, {}
        for block in np.flatnonzero(size).tolist():
            n_nodes, edges, n_labels = graphs[block]
            own = values[start[block] : start[block] + size[block]]
            if len(edges) == 0:
                raise ValueError(
                    f"multiplier_size: graph {block} has {size[block]} entries, expected 0 for a "
                    "graph without edges"
                )
            cover = tree_cover(n_nodes, edges)
            nodes = MRF(np.zeros((n_nodes, n_labels)), edges, np.zeros((n_labels, n_labels)))
            places = place_multipliers(nodes, cover)
            expected = max(places["n_multipliers"], 1)
            if len(own) != expected:
                raise ValueError(
                    f"multiplier_size: graph {block} has {len(own)} entries, expected {expected}"
                )
            copies = places["copy_start"][:-1]
            sums = np.add.reduceat(own, copies) if len(copies) else 0.0
            if np.abs(sums).max(initial=0.0) > SUMS_TO_ZERO * np.abs(own).max():
                raise ValueError(f"multipliers: the entries of graph {block} do not sum to zero")
            covers[block], multipliers[block] = cover, own
        self.covers, self.multipliers = covers, multipliers

    def _first(self, block, problem, record):
        """Return initial multipliers, and the status of message passing, or None if it is not run.

        These are the multipliers of the last decoding if they are not too large for the costs and
        have a better bound than 0, and the result of message passing otherwise.
        """
        last = self.multipliers.get(block)
        if last is not None and np.abs(last).max() > LARGEST * _magnitude(problem.model):
            last = None
        if last is not None and problem.bound(last) > problem.bound(np.zeros_like(last)):
            return last, None
        status, sweeps = message_passing(
            problem.model, record, self.max_iter, averaged=True, is_first=True
        )
        return multipliers_of_messages(problem, *sweeps.last_messages()), status


def _magnitude(model):
    """Return an upper bound on the sum of the magnitudes of all costs."""
    edges = np.abs(model.weights).sum() * np.abs(model.tables).max(initial=0.0)
    return np.abs(model.node_costs).sum() + edges


def _model(node_costs, edges, weights, tables):
    """Return the MRF with the costs of a graph."""
    if tables is None:
        K = node_costs.shape[1]
        return MRF(node_costs, edges, 1.0 - np.eye(K), weights=weights[:, 0])
    if len(tables) == 1:
        return MRF(node_costs, edges, tables[0], weights=weights[:, 0])
    return MRF(node_costs, edges, np.tensordot(weights, tables, 1))
