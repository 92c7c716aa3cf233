"""CombiLP, an exact search of the part of a model on which the relaxation is not tight.

The messages of TRW-S define equivalent costs, nonnegative for edges, and each node has a label of
least cost. If these labels also minimize the costs of an edge, the edge is tight. The part consists
of the ends of all other edges, and is minimized exactly [1]. Edges between the part and a node
outside add their minima to the part [2], so that

    minima of the nodes outside + minimum of the part

is a lower bound. The labels of the part and of the nodes outside have that energy if they minimize
the costs of all edges between them. Otherwise, the outer ends of the other edges are added to the
part.

[1] B. Savchynskyy, J. Kappes, P. Swoboda, C. Schnörr. Global MAP-optimality by shrinking the
combinatorial search area with convex relaxation. NIPS 2013.

[2] S. Haller, P. Swoboda, B. Savchynskyy. Exact MAP-inference by confining combinatorial search
with LP relaxation. AAAI 2018.
"""

import numpy as np

from sstruct._solvers.core.status import Status
from sstruct.inference._methods.exact import n_marginals
from sstruct.inference._methods.search import MAX_ENTRIES
from sstruct.inference._model.auxiliary import pairwise_model
from sstruct.inference._model.mrf import MRF

# Limits on the fraction of nodes in the part, and on its changes. For the side chain models fmj and
# jmx, the part ends with 17 and 12 % of the nodes after three and two changes, in 0.1 s instead of
# 0.5 s. Stereo and Ising models (89 and 97 %) take at least 1.5 times as long as other methods.
LARGEST_PART = 0.5
MAX_CHANGES = 16
# Costs of an edge up to this fraction of `tol` (1 + abs(energy)), divided by the number of edges,
# are ignored.
MIN_COST = 1e-3


class EquivalentModel:
    """Costs of a model after moving messages from edges to nodes.

    Parameters
    ----------
    model : MRF
        A model without factors.
    sweeps : MessagePassing
        TRW-S on the model, after at least one sweep.

    Attributes
    ----------
    node : list of ndarray
        Costs of the labels of each node.
    labels : ndarray of shape (V,), dtype int32
        Labels of least cost.
    excess : ndarray of shape (E,)
        Costs of the edges for these labels; the least cost of an edge is 0.
    """

    def __init__(self, model, sweeps):
        self.model = model
        self.node = [model.node_cost(v).copy() for v in range(model.n_nodes)]
        messages, start, rank = sweeps.last_messages()
        self.moved = []
        for e, (u, v) in enumerate(model.edges.tolist()):
            costs, is_turned = model.edge_cost(e), rank[u] > rank[v]
            costs, (early, late) = (costs.T, (v, u)) if is_turned else (costs, (u, v))
            message = messages[start[e] : start[e] + costs.shape[1]]
            # Every finite message is valid.
            to_late = np.where(np.isfinite(message), message, 0.0)
            to_early = (costs - to_late).min(axis=1)
            to_early[~np.isfinite(to_early)] = 0.0
            self.node[early] += to_early
            self.node[late] += to_late
            self.moved.append((to_late, to_early) if is_turned else (to_early, to_late))
        self.labels = np.array([costs.argmin() for costs in self.node], dtype=np.int32)
        self.excess = np.array(
            [self.edge(e)[tuple(self.labels[ends])] for e, ends in enumerate(model.edges)]
        )

    def edge(self, e):
        """Return the costs of an edge, at least 0."""
        to_u, to_v = self.moved[e]
        return np.maximum(self.model.edge_cost(e) - to_u[:, None] - to_v, 0.0)


class Part:
    """The model of some nodes, and minima of the edges to the other nodes.

    Parameters
    ----------
    whole : EquivalentModel
    inside : ndarray of shape (V,), dtype bool
    """

    def __init__(self, whole, inside):
        self.whole, self.nodes = whole, np.flatnonzero(inside)
        edges = whole.model.edges
        place = np.full(len(inside), -1)
        place[self.nodes] = np.arange(len(self.nodes))
        node = [whole.node[v].copy() for v in self.nodes]
        self.border = []
        is_in = inside[edges]
        for e in np.flatnonzero(is_in[:, 0] != is_in[:, 1]):
            (v, other), costs = edges[e], whole.edge(e)
            if not is_in[e, 0]:
                v, other, costs = other, v, costs.T
            least = costs.min(axis=1)
            node[place[v]] += least
            excess = costs[:, whole.labels[other]] - np.where(np.isfinite(least), least, 0.0)
            self.border.append((v, other, excess))
        within = np.flatnonzero(is_in.all(axis=1))
        self.model = MRF(node, place[edges[within]], [whole.edge(e) for e in within])
        self.outside = sum(float(whole.node[v].min()) for v in np.flatnonzero(~inside))

    def joined(self, labels):
        """Return labels of the whole model, with `labels` for the nodes of the part."""
        combined = self.whole.labels.copy()
        combined[self.nodes] = labels
        return combined

    def in_conflict(self, labels, least_cost):
        """Return the nodes outside with an edge to the part that does not have its minimum.

        labels : ndarray of shape (V,), of the whole model
        least_cost : largest difference from the minimum that is ignored
        """
        return [other for v, other, excess in self.border if excess[labels[v]] > least_cost]


def combilp(mrf, record, sweeps, solve):
    """Minimize the part that is not tight, extend it as needed, and return the status.

    Parameters
    ----------
    mrf : MRF
    record : Record
        Receives labelings and bounds.
    sweeps : MessagePassing
        TRW-S on the model.
    solve : callable
        ``solve(model, record)`` tries to close the gap of a part.

    Returns
    -------
    status : Status
        CONVERGED, TIME_LIMIT, or STALLED if the part is empty, is too large, was not solved, or was
        extended too often.
    """
    model, _ = pairwise_model(mrf)
    if n_marginals(model) > MAX_ENTRIES:
        return Status.STALLED
    whole = EquivalentModel(model, sweeps)
    scale = abs(record.energy) if record.energy < np.inf else abs(record.lower_bound)
    least_cost = MIN_COST * record.tol * (1 + scale) / max(1, model.n_edges)
    inside = np.zeros(model.n_nodes, dtype=bool)
    inside[model.edges[whole.excess > least_cost].ravel()] = True
    for _ in range(MAX_CHANGES):
        if record.is_late():
            return Status.TIME_LIMIT
        if not inside.any() or inside.sum() > LARGEST_PART * model.n_nodes:
            return Status.STALLED
        part = Part(whole, inside)
        own = record.of_part(part.model, whole.labels[part.nodes])
        solve(part.model, own)
        labels = part.joined(own.labels)
        record.offer(labels[: mrf.n_nodes].copy(), mrf.energy(labels[: mrf.n_nodes]))
        record.bound(part.outside + own.lower_bound)
        record.row()
        if record.is_closed():
            return Status.CONVERGED
        others = part.in_conflict(labels, least_cost)
        if not own.is_closed() or not others:
            return Status.STALLED
        inside[others] = True
    return Status.STALLED
