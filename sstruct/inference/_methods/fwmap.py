"""FWMAP: a model as trees and terms, and labelings from their multipliers.

The loop over the trees is `sstruct._solvers.proximal`.
"""

import numpy as np

from sstruct._oracles.mrf._packed_mrf import PackedMRF
from sstruct._problems.map._problem import MapProblem
from sstruct._problems.map._rounding import SequentialRounding
from sstruct._problems.map._start import multipliers_of_messages
from sstruct._problems.map.arguments import NothingAllowed
from sstruct._solvers.core.status import Status
from sstruct._solvers.proximal.ascent import ascend
from sstruct.inference._methods.message_passing import message_passing
from sstruct.inference._model.auxiliary import pairwise_model
from sstruct.inference._model.terms import TermRounding
from sstruct.inference._model.tree_cover import tree_cover

# Local search after each rounding: at most so many looks at each node.
LOOKS = 20


def fwmap(mrf, record, ascent, *, start="trws", sweeps=None, terms=None):
    """Maximize the bound of a decomposition into trees and terms; return the status.

    Parameters
    ----------
    mrf : MRF
        Factors become nodes (`pairwise_model`).
    record : Record
        Gets bounds, and labelings after local search.
    ascent : Ascent
    start : {"trws", "zero"}
        As of `map_mrf`.
    sweeps : MessagePassing, optional
        Of TRW-S on the model, to begin with. None: `start` says.
    terms : UserTerms, optional
        The multipliers then begin at 0.
    """
    if sweeps is None and start == "trws" and terms is None:
        status, sweeps = message_passing(mrf, record, ascent.max_iter, averaged=True, is_first=True)
        if status not in (Status.STALLED, Status.MAX_ITER):
            return status
    model, order = pairwise_model(mrf)
    cover = tree_cover(model.n_nodes, model.edges)
    if cover.n_trees == 0 and terms is None:
        return _nodes_alone(record)
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
        del sweeps  # messages are as large as the multipliers
    return ascend(problem, record, Search(mrf, record, rounding).round, ascent, first)


def _nodes_alone(record):
    """Without edges each node's best label is best; the record has begun with them."""
    if record.energy == np.inf:
        return Status.INFEASIBLE
    record.bound(record.energy)
    return Status.CONVERGED


class Search:
    """Labelings from multipliers: rounding in both directions in turn, then local search."""

    def __init__(self, mrf, record, rounding):
        self.mrf, self.record, self.rounding = mrf, record, rounding
        self.own, self.forward = PackedMRF(mrf), True
        self.has_terms = isinstance(rounding, TermRounding)

    def round(self, multipliers, engine):
        """Offer a labeling to the record."""
        labels = self.rounding.run(multipliers, self.forward)[: self.mrf.n_nodes].copy()
        self.forward = not self.forward
        if self.has_terms:
            # Local search does not know terms, and energies are without them.
            self.record.offer(labels, -np.inf)
            self.own.improve(labels, LOOKS * self.mrf.n_nodes)
            self.record.offer(labels, -np.inf)
            return
        self.record.offer(labels, self.own.improve(labels, LOOKS * self.mrf.n_nodes))
