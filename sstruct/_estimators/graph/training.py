"""Graphs and images as the arrays that a GraphProblem trains on."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sstruct._estimators.core.lam_from_scale import TrainedNodes, mean_cost
from sstruct._estimators.core.sample_data import SampleData, first_rows, label_array
from sstruct._estimators.graph.nearest_labels import nearest_labels
from sstruct._input.losses import class_weighted_costs, node_costs
from sstruct._input.ragged import Nodes, labeled_nodes
from sstruct._problems.core._rows import compressed
from sstruct._problems.graph._pairwise import PairwiseModel
from sstruct._problems.graph._problem import GraphProblem
from sstruct._problems.graph.arguments import WITH_FEATURES, GraphRanges


@dataclass(frozen=True, kw_only=True)
class Graphs(GraphRanges):
    """All graphs, one after another: whose rows are whose, and the rows.

    Attributes
    ----------
    nodes : Nodes
    edge_features : ndarray of shape (rows, G) or None
    sizes : ndarray of shape (n_nodes,) or None
        Weight of each node in the loss.
    edge_names : list of str or None
        Of the columns of `edge_features`.
    label_counts : ndarray of shape (n_nodes,) or None
        How many of the labels, the first ones, each node may have; None: all.
    """

    nodes: Nodes
    edge_features: np.ndarray | None = None
    sizes: np.ndarray | None = None
    edge_names: list | None = None
    label_counts: np.ndarray | None = None

    @classmethod
    def of(cls, nodes, *edges, **more):
        """Return graphs that have all rows of `nodes`; `edges` with their starts and numbers."""
        return cls(nodes.offsets[:-1], nodes.lengths, *edges, nodes=nodes, **more)

    def problem(self, pairwise, n_labels, decoder, *, bias, node_scores=None, **training):
        """Return the GraphProblem; pairwise: name of the model and its fixed cost.

        Dense features that are mostly zeros are stored as CSR if the problem is for training.
        """
        return GraphProblem(
            compressed(self.nodes.flat) if training else self.nodes.flat,
            self,
            PairwiseModel(pairwise[0], n_labels, self.edge_features, pairwise[1]),
            decoder,
            bias=bias,
            node_scores=node_scores,
            label_counts=self.label_counts,
            **training,
        )

    def with_nodes(self):
        """Return the graphs that have nodes and their indices: the others have no block."""
        some = np.flatnonzero(self.length)
        return (self if len(some) == len(self.length) else self.selected(some)), some

    def with_cycles(self):
        """Indices of the graphs that have a cycle."""
        n_nodes, n_edges = self.length, self.n_edges
        cyclic = n_edges >= n_nodes
        # A graph is a forest if it has as many components as nodes beyond its edges.
        few = np.flatnonzero(~cyclic)
        first = np.cumsum(n_nodes[few]) - n_nodes[few]
        count = n_edges[few]
        graph = np.repeat(np.arange(len(few)), count)
        row = np.arange(count.sum()) + np.repeat(
            self.edge_start[few] - np.cumsum(count) + count, count
        )
        u, v = (self.edges[row] + first[graph][:, np.newaxis]).T
        size = n_nodes[few].sum()
        joined = sparse.coo_matrix((np.ones(len(u), dtype=bool), (u, v)), (size, size))
        _, component = connected_components(joined, directed=False)
        _, at = np.unique(component, return_index=True)
        n_components = np.bincount(np.searchsorted(first, at, side="right") - 1, minlength=len(few))
        cyclic[few] = n_components > n_nodes[few] - count
        return np.flatnonzero(cyclic)

    def are_forests(self):
        """Boolean array: which graphs have no cycle."""
        out = np.ones(len(self.length), dtype=bool)
        out[self.with_cycles()] = False
        return out

    def selected(self, which):
        """Take some of the graphs, their nodes and edges where they are."""
        of_each = ("start", "length", "edge_start", "n_edges", "feature_start", "grids")
        given = {name: getattr(self, name) for name in of_each}
        return replace(self, **{k: None if v is None else v[which] for k, v in given.items()})


class LabeledGraphs:
    """Validated training data of a graph model.

    Parameters
    ----------
    estimator : GraphCRFSSVM or GridCRFSSVM
        Its parameters are read; it is not changed.
    graphs : Graphs
    labels : ndarray of shape (n_nodes,)
    sample_weight : as in ``fit``
    completion : Completion or None
        Labels, or states below them, that take the place of `labels`. None: unknown nodes near a
        known label are completed by `nearest_labels`, and do not count in the loss.

    Attributes
    ----------
    graphs : Graphs
        The graphs of the fit, with their labeled nodes, those completed and the edges between.
    classes : ndarray of shape (K,)
    sample_weight : ndarray of shape (n_blocks,)
        Weight of each graph.
    total_weight : float
        Sum of the weights of the samples that have a labeled node.
    trained : TrainedNodes
    """

    def __init__(self, estimator, graphs, labels, sample_weight, completion=None):
        nodes = graphs.nodes
        labeled = labeled_nodes(estimator, nodes, labels, sample_weight, completion)
        weights, sample, used = labeled.weights, labeled.sample, labeled.used
        self.classes, codes = labeled.classes, labeled.codes
        sizes = np.ones(len(codes)) if graphs.sizes is None else graphs.sizes
        if labeled.node_weights is not None:
            sizes = sizes * labeled.node_weights
        truth = codes[used], labeled.counts(graphs.sizes)
        cost, divided = node_costs(estimator.loss, *truth, len(self.classes))
        self._cost = class_weighted_costs(cost, estimator.class_weight, self.classes, *truth)
        size = np.bincount(sample[used], weights=sizes[used], minlength=len(nodes))
        kept = np.flatnonzero(size > 0)
        node_weight = sizes / np.where(size > 0, size, 1)[sample] if divided else sizes
        self.total_weight = float(weights[kept].sum())
        row_weight = weights[sample] * used
        cost = mean_cost(
            self._cost, codes[used], (row_weight * node_weight)[used], row_weight.sum()
        )
        n_nodes = row_weight.sum() / self.total_weight
        self.trained = TrainedNodes(nodes.flat, row_weight, n_nodes, cost, estimator.fit_intercept)
        self.sample_weight = weights[kept]
        self.graphs = graphs.selected(kept)
        known = codes  # the labels that identify the data
        if completion is not None:
            known, codes = np.where(completion.in_loss, codes, -1), completion.codes
            self.classes = completion.classes(self.classes)
            self._cost = completion.spread(self._cost)
        elif not used.all() and self._reads_edges(estimator):
            # Completed nodes connect known ones: without them no edge would cross a void border.
            known, node_weight = np.where(used, codes, -1), node_weight * used
            codes = nearest_labels(graphs, known, len(self.classes))
            used = codes >= 0
        n_used = np.bincount(sample[used], minlength=len(nodes))[kept]
        partial = np.flatnonzero(n_used < self.graphs.length)
        if len(partial):
            self.graphs = without_nodes(self.graphs, used, n_used, partial)
            codes, known, node_weight = codes[used], known[used], node_weight[used]
        self._codes, self._known, self._node_weight = codes, known, node_weight

    @staticmethod
    def _reads_edges(estimator):
        """Whether edges add anything to scores."""
        return isinstance(estimator.pairwise, str) or estimator.pairwise > 0

    def problem(self, pairwise, decoder, bias):
        return self.graphs.problem(
            pairwise,
            len(self.classes),
            decoder,
            bias=bias,
            labels=self._codes,
            cost=self._cost,
            node_weight=self._node_weight,
        )

    def data(self, *common, explicit):
        """Return what tells these data, and the meaning of a labeling, from others.

        common : more arrays that all graphs share; explicit : whether a labeling is kept as its
        plane, of which the loss is a part
        """
        graphs = self.graphs
        common = [label_array(self.classes), *common]
        if graphs.edge_features is not None:
            common.append(np.array(graphs.edge_features.shape[1]))
        if explicit:
            common.append(self._cost)
        return SampleData(
            len(graphs.length),
            common,
            lambda n: self._of_first(n, explicit),
            costs=[self._cost, self._node_weight],
        )

    def _of_first(self, n, explicit):
        graphs = self.graphs
        rows = rows_of(graphs.start[:n], graphs.length[:n])
        # Those of whole grids are known from their shapes and images.
        grids = np.zeros((n, 3), dtype=np.int64) if graphs.grids is None else graphs.grids[:n]
        other = np.flatnonzero(grids[:, 2] == 0)
        edges = rows_of(graphs.edge_start[other], graphs.n_edges[other])
        flat = graphs.nodes.flat[rows]
        parts = [*first_rows(flat, flat.shape[0]), self._known[rows]]
        parts += [graphs.length[:n], grids]
        parts += [graphs.n_edges[:n], graphs.edges[edges].astype(np.int32)]
        if graphs.edge_features is not None:
            features = rows_of(graphs.feature_start[other], graphs.n_edges[other])
            parts.append(graphs.edge_features[features])
        if explicit:
            parts.append(self._node_weight[rows])
        return parts


def rows_of(start, count):
    """Return the rows of some ranges, one after another: a slice where they are that."""
    ends = np.cumsum(count)
    if len(start) and (start == start[0] + ends - count).all():
        return slice(int(start[0]), int(start[0] + ends[-1]))
    return np.arange(count.sum()) + np.repeat(start - ends + count, count)


def without_nodes(graphs, used, n_used, partial):
    """Drop the rows that are not used, and from the graphs `partial` the edges at them."""
    start, length = graphs.start, graphs.length
    edges, features = [graphs.edges], [graphs.edge_features]
    edge_start, n_edges = graphs.edge_start.copy(), graphs.n_edges.copy()
    feature_start = graphs.feature_start.copy()
    grids = None if graphs.grids is None else graphs.grids.copy()
    edge_rows = len(graphs.edges)
    feature_rows = 0 if graphs.edge_features is None else len(graphs.edge_features)
    for i in partial:
        own = graphs.edges[edge_start[i] : edge_start[i] + n_edges[i]]
        here = used[start[i] : start[i] + length[i]]
        keep = np.flatnonzero(here[own].all(axis=1))
        edges.append((np.cumsum(here) - 1)[own[keep]])
        if graphs.edge_features is not None:
            features.append(graphs.edge_features[feature_start[i] + keep])
            feature_start[i], feature_rows = feature_rows, feature_rows + len(keep)
        edge_start[i], n_edges[i] = edge_rows, len(keep)
        edge_rows += len(keep)
        if grids is not None:
            grids[i] = 0
    nodes = graphs.nodes
    return replace(
        graphs,
        nodes=replace(nodes, flat=nodes.flat[used]),
        start=np.cumsum(n_used) - n_used,
        length=n_used,
        edges=np.concatenate(edges, dtype=np.int32),
        edge_start=edge_start,
        n_edges=n_edges,
        edge_features=None if graphs.edge_features is None else np.concatenate(features),
        feature_start=feature_start,
        sizes=None if graphs.sizes is None else graphs.sizes[used],
        label_counts=None if graphs.label_counts is None else graphs.label_counts[used],
        grids=grids,
    )


def check_feature_need(pairwise, n_features):
    """Raise where a pairwise model has no edge features to learn from."""
    if pairwise in WITH_FEATURES and n_features is None:
        raise ValueError(
            f'pairwise="{pairwise}" needs edge features: each sample is (node features, edges, '
            "edge features)"
        )
