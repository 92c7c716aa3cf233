"""FWMAP, which decomposes a model into trees and terms.

The loop over the trees is in `sstruct._solvers.proximal`.
"""

import numpy as np

from sstruct._oracles.mrf._packed_mrf import PackedMRF
from sstruct._problems.map._map_problem import MapProblem
from sstruct._problems.map._rounding import SequentialRounding
from sstruct._problems.map._start import multipliers_of_messages
from sstruct._problems.map.map_arguments import NothingAllowed
from sstruct._solvers.core.status import Status
from sstruct._solvers.proximal.ascent import ascend
from sstruct.inference._methods.message_passing import message_passing
from sstruct.inference._model.auxiliary import pairwise_model
from sstruct.inference._model.terms import TermRounding
from sstruct.inference._model.tree_cover import tree_cover

# Limit on the visits of each node, on average, by the local search after each rounding; also on the
# passes over all edges by moves of two nodes.
VISITS_PER_NODE = 20


def fwmap(mrf, record, ascent, *, start="trws", sweeps=None, terms=None):
    """Maximize the bound of a decomposition into trees and terms; return the status.

    Parameters
    ----------
    mrf : MRF
        Factors become nodes (`pairwise_model`).
    record : Record
        Receives bounds, and labelings after local search.
    ascent : Ascent
    start : {"trws", "zero"}
        As in `map_mrf`.
    sweeps : MessagePassing, optional
        State of TRW-S on the model to start from. Default: determined by `start`.
    terms : UserTerms, optional
        User terms; the multipliers then start at 0.
    """
    if sweeps is None and start == "trws" and terms is None:
        status, sweeps = message_passing(mrf, record, ascent.max_iter, averaged=True, is_first=True)
        if status not in (Status.STALLED, Status.MAX_ITER):
            return status
    model, order = pairwise_model(mrf)
    cover = tree_cover(model.n_nodes, model.edges)
    if cover.n_trees == 0 and terms is None:
        # The record starts with the best label of each node.
        if record.energy == np.inf:
            return Status.INFEASIBLE
        return record.prove(record.labels)
    try:
        problem = MapProblem(model, cover, ascent.step == "published", terms)
    except NothingAllowed:
        return Status.INFEASIBLE
    rounding = SequentialRounding(problem, order)
    if terms is not None:
        rounding = TermRounding(terms.calls, model, rounding)
    first = None
    if sweeps is not None:
        first = multipliers_of_messages(problem, *sweeps.last_messages())
        del sweeps  # free the messages, which are as large as the multipliers
    return ascend(problem, record, Search(mrf, record, rounding).round, ascent, first)


class Search:
    """Compute labelings by rounding multipliers in alternating directions, and local search."""

    def __init__(self, mrf, record, rounding):
        self.mrf, self.record, self.rounding = mrf, record, rounding
        self.own, self.forward = PackedMRF(mrf), True
        self.has_terms = isinstance(rounding, TermRounding)

    def round(self, multipliers, engine):
        """Offer a labeling to the record."""
        labels = self.rounding.run(multipliers, self.forward)[: self.mrf.n_nodes].copy()
        self.forward = not self.forward
        if self.has_terms:
            # Local search ignores the terms, and its energies exclude them.
            self.record.offer(labels, -np.inf)
            self.own.improve(labels, VISITS_PER_NODE * self.mrf.n_nodes)
            self.record.offer(labels, -np.inf)
            return
        self.record.offer(labels, self.own.improve(labels, VISITS_PER_NODE * self.mrf.n_nodes))
