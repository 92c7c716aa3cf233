"""Models with additional terms over their nodes."""

import numpy as np


class ModelWithTerms:
    """A model with additional terms, for a Record.

    Parameters
    ----------
    model : MRF
    terms : MapTerms
        Terms over nodes of the model.
    only_forbid : bool, default=False
        Whether the terms only forbid labelings, at no cost for allowed ones.
    """

    def __init__(self, model, terms, only_forbid=False):
        self.model, self.terms, self.only_forbid = model, terms, only_forbid

    def energy(self, labels):
        """Return the energy including the terms; +inf if a term forbids the labels."""
        energy = self.model.energy(labels)
        return energy if energy == np.inf else energy + self.terms.total(labels)


class TermRounding:
    """Rounding of multipliers that takes user terms into account.

    Parameters
    ----------
    calls : TermCalls
    model : MRF
        Its first nodes are the nodes of the terms.
    rounding : SequentialRounding
    """

    def __init__(self, calls, model, rounding):
        self.calls, self.model, self.rounding = calls, model, rounding

    def run(self, multipliers, forward):
        """Return labels (V,) int32.

        Each term in turn minimizes its cost plus the node costs and messages. Changing a label that
        an earlier term has chosen adds a penalty, which exceeds what the node costs and messages of
        all nodes can save: such a label is changed only if the cost of the term requires it.
        """
        labels = self.rounding.run(multipliers, forward)
        sums = self.rounding.sums(multipliers)
        finite = sums[np.isfinite(sums)]
        penalty = 1.0 + len(labels) * float(np.ptp(finite)) if len(finite) else 1.0
        is_chosen = np.zeros(len(labels), dtype=bool)
        terms = range(len(self.calls))
        for t in terms if forward else reversed(terms):
            nodes = self.calls.nodes(t)
            sizes, first = self.model.n_labels[nodes], self.model.node_start[nodes]
            label = np.arange(sizes.max())
            exists = label < sizes[:, None]
            costs = np.full(exists.shape, np.inf)
            costs[exists] = sums[(first[:, None] + label)[exists]]
            differs = is_chosen[nodes][:, None] & (label != labels[nodes][:, None])
            costs[differs] += penalty
            labels[nodes], _ = self.calls.minimize(t, costs)
            is_chosen[nodes] = True
        return labels
