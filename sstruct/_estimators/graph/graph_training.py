"""Training data of graphs and images, as arrays for a GraphProblem."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sstruct._estimators.core.lam_from_scale import TrainedNodes, mean_cost
from sstruct._estimators.core.sample_data import SampleData, first_rows
from sstruct._estimators.graph.nearest_labels import nearest_labels
from sstruct._estimators.graph.tiles import cut_into_tiles
from sstruct._input.class_scores import score_columns
from sstruct._input.losses import class_weighted_costs, node_costs
from sstruct._input.ragged import Nodes, labeled_nodes
from sstruct._problems.core._node_arguments import sums_over_blocks
from sstruct._problems.core._rows import is_mapped, scored_rows
from sstruct._problems.graph._graph_problem import GraphProblem
from sstruct._problems.graph._pairwise import PairwiseModel
from sstruct._problems.graph.graph_arguments import GraphRanges


@dataclass(frozen=True, kw_only=True)
class Graphs(GraphRanges):
    """All graphs as flat arrays: the ranges of nodes and edges of each graph, and the rows.

    Attributes
    ----------
    nodes : Nodes
    edge_features : ndarray of shape (rows, G) or None
    sizes : ndarray of shape (n_nodes,) or None
        Weight of each node in the loss.
    edge_names : list of str or None
        Names of the columns of `edge_features`.
    label_counts : ndarray of shape (n_nodes,) or None
        Number of labels that are allowed at each node: the first ones. None if all are allowed.
    """

    nodes: Nodes
    edge_features: np.ndarray | None = None
    sizes: np.ndarray | None = None
    edge_names: list | None = None
    label_counts: np.ndarray | None = None

    @classmethod
    def from_nodes(cls, nodes, *edges, **more):
        """Return graphs with all rows of `nodes`; `edges` are pairs, starts and numbers."""
        return cls(nodes.offsets[:-1], nodes.lengths, *edges, nodes=nodes, **more)

    def problem(
        self,
        pairwise,
        n_labels,
        decoder,
        *,
        bias,
        class_scores=None,
        node_scores=None,
        **training,
    ):
        """Return the GraphProblem.

        Dense features that are mostly zeros are stored as CSR if the problem is for training.

        pairwise : name of the pairwise model and its fixed cost
        class_scores : the column with the scores of each label, or None
        """
        return GraphProblem(
            scored_rows(self.nodes.flat, class_scores, compress=bool(training)),
            self,
            PairwiseModel(pairwise[0], n_labels, self.edge_features, pairwise[1]),
            decoder,
            bias=bias,
            node_scores=node_scores,
            label_counts=self.label_counts,
            **training,
        )

    def with_nodes(self):
        """Return the nonempty graphs and their indices; empty graphs have no block."""
        some = np.flatnonzero(self.length)
        return (self if len(some) == len(self.length) else self.selected(some)), some

    def with_cycles(self):
        """Return the indices of the graphs that have a cycle."""
        n_nodes, n_edges = self.length, self.n_edges
        cyclic = n_edges >= n_nodes
        # A graph is a forest if its number of components is the number of nodes minus edges.
        few = np.flatnonzero(~cyclic)
        first = np.cumsum(n_nodes[few]) - n_nodes[few]
        count = n_edges[few]
        graph = np.repeat(np.arange(len(few)), count)
        u, v = (self.edges[rows_of(self.edge_start[few], count)] + first[graph][:, np.newaxis]).T
        size = n_nodes[few].sum()
        joined = sparse.coo_matrix((np.ones(len(u), dtype=bool), (u, v)), (size, size))
        _, component = connected_components(joined, directed=False)
        _, at = np.unique(component, return_index=True)
        n_components = np.bincount(np.searchsorted(first, at, side="right") - 1, minlength=len(few))
        cyclic[few] = n_components > n_nodes[few] - count
        return np.flatnonzero(cyclic)

    def are_forests(self):
        """Return a boolean array, True for graphs without a cycle."""
        out = np.ones(len(self.length), dtype=bool)
        out[self.with_cycles()] = False
        return out

    def selected(self, which):
        """Return some of the graphs, without copying nodes and edges."""
        per_graph = ("start", "length", "edge_start", "n_edges", "feature_start", "grids")
        given = {name: getattr(self, name) for name in per_graph}
        chosen = {k: None if v is None else v[which] for k, v in given.items()}
        if self.n_copies is not None:
            first = np.cumsum(self.n_copies) - self.n_copies
            chosen["n_copies"] = self.n_copies[which]
            chosen["copies"] = self.copies[rows_of(first[which], chosen["n_copies"])]
        return replace(self, **chosen)


@dataclass(frozen=True)
class LabeledRows:
    """The graphs of a fit, one for each block, and the labels of their rows.

    Attributes
    ----------
    graphs : Graphs
    codes : ndarray of int32 of shape (n_rows,)
        True label of each row.
    known : ndarray of int32 of shape (n_rows,)
        As `codes`, but -1 for completed labels; identifies the data.
    node_weight : ndarray of shape (n_rows,)
        Weight of each node in the loss.
    used : ndarray of bool of shape (n_rows,)
        Whether a row is used in training.
    """

    graphs: Graphs
    codes: np.ndarray
    known: np.ndarray
    node_weight: np.ndarray
    used: np.ndarray

    def trained(self):
        """Remove the nodes that are not used; each graph must have at least one used node."""
        graphs, used = self.graphs, self.used
        n_used = self.n_used()
        partial = n_used < graphs.length
        if graphs.n_copies is not None:
            first = np.cumsum(graphs.n_copies) - graphs.n_copies
            partial |= sums_over_blocks(~used[graphs.copies], first, graphs.n_copies) > 0
        partial = np.flatnonzero(partial)
        if not len(partial):
            return self
        graphs = without_nodes(graphs, used, n_used, partial)
        row_arrays = self.codes[used], self.known[used], self.node_weight[used], used[used]
        return LabeledRows(graphs, *row_arrays)

    def n_used(self):
        """Return the number of nodes of each graph that are used in training."""
        graphs = self.graphs
        return sums_over_blocks(self.used, graphs.start, graphs.length).astype(np.int64)

    def cut(self, longest, size):
        """Split images of more than `longest` pixels into tiles of at most `size`.

        Returns
        -------
        LabeledRows
        image : ndarray of shape (n_blocks,)
            Index of the image of each block. Tiles without a used pixel are dropped.
        """
        graphs, rows, image = cut_into_tiles(self.graphs, longest, size)
        row_arrays = (each[rows] for each in (self.codes, self.known, self.node_weight, self.used))
        cut = LabeledRows(graphs, *row_arrays)
        some = np.flatnonzero(cut.n_used())
        if len(some) < len(image):
            cut, image = replace(cut, graphs=graphs.selected(some)), image[some]
        return cut, image


class LabeledGraphs:
    """Validated training data of a graph model.

    Parameters
    ----------
    structure : GraphStructure
    graphs : Graphs
    labels : ndarray of shape (n_nodes,)
    sample_weight : as in ``fit``
    completion : Completion or None
        Labels, or states of labels, that replace `labels`. If None, and edges contribute to scores,
        unknown nodes near a known label are completed by `nearest_labels`, and do not count in the
        loss.

    Attributes
    ----------
    rows : LabeledRows
        The graphs of the fit, or tiles of them: labeled and completed nodes, and their edges.
    image : ndarray of shape (n_blocks,), or None
        Index of the graph of each block, if some blocks are tiles.
    classes : ndarray of shape (K,)
    class_scores : ndarray of shape (K,), or None
        The column of X with the scores of each class.
    sample_weight : ndarray of shape (n_blocks,)
        Weight of the graph of each block.
    total_weight : float
        Sum of the weights of the samples that have a labeled node.
    trained : TrainedNodes
    """

    class_scores = None
    image = None

    def __init__(self, structure, graphs, labels, sample_weight, completion=None):
        nodes = graphs.nodes
        labeled = labeled_nodes(structure, nodes, labels, sample_weight, completion)
        weights, sample, used = labeled.weights, labeled.sample, labeled.used
        self.classes, codes = labeled.classes, labeled.codes
        if structure.class_scores is not None:
            self.class_scores = score_columns(structure.class_scores, nodes, self.classes)
        sizes = np.ones(len(codes)) if graphs.sizes is None else graphs.sizes
        if labeled.node_weights is not None:
            sizes = sizes * labeled.node_weights
        counts = labeled.counts if graphs.sizes is None else labeled.counts * graphs.sizes[used]
        truth = codes[used], counts
        cost, divided = node_costs(structure.loss, *truth, len(self.classes))
        if structure.class_weight is not None:
            cost = class_weighted_costs(cost, structure.class_weight, self.classes, *truth)
        self._cost = cost
        size = np.bincount(sample[used], weights=sizes[used], minlength=len(nodes))
        kept = np.flatnonzero(size > 0)
        node_weight = sizes / np.where(size > 0, size, 1)[sample] if divided else sizes
        self.total_weight = float(weights[kept].sum())
        row_weight = weights[sample] * used
        cost = mean_cost(
            self._cost, codes[used], (row_weight * node_weight)[used], row_weight.sum()
        )
        n_nodes = row_weight.sum() / self.total_weight
        self.trained = TrainedNodes(nodes.flat, row_weight, n_nodes, cost, structure.fit_intercept)
        self.sample_weight = weights[kept]
        known = codes  # the labels that identify the data
        if completion is not None:
            known, codes = np.where(completion.in_loss, codes, -1), completion.codes
            self.classes = completion.classes(self.classes)
            self._cost = completion.spread(self._cost)
            self.class_scores = completion.spread(self.class_scores, axes=(0,))
        elif not used.all() and self._reads_edges(structure):
            # Completed nodes connect known ones; otherwise no edge would cross an unlabeled border
            # between two regions.
            known, node_weight = np.where(used, codes, -1), node_weight * used
            codes = nearest_labels(graphs, known, len(self.classes))
            used = codes >= 0
        self._whole = LabeledRows(graphs.selected(kept), codes, known, node_weight, used)
        rows = self._whole
        if graphs.grids is not None:
            # Tiles copy features, and features mapped from a file may exceed the memory.
            longest, size = structure.windows(not is_mapped(nodes.flat))
            if (rows.graphs.length > longest).any():
                rows, self.image = rows.cut(longest, size)
                self.sample_weight = self.sample_weight[self.image]
        self.rows = rows.trained()
        if self.image is None:
            self._whole = self.rows

    @staticmethod
    def _reads_edges(structure):
        """Whether edges contribute to scores."""
        return isinstance(structure.pairwise, str) or structure.pairwise > 0

    @property
    def graphs(self):
        """The Graphs of all blocks."""
        return self.rows.graphs

    @property
    def whole_graphs(self):
        """The Graphs before images are split; if any is split, they include the unused nodes."""
        return self._whole.graphs

    def problem(self, pairwise, decoder, bias):
        return self._problem(self.rows, pairwise, decoder, bias)

    def whole_problem(self, pairwise, decoder, bias):
        """Return the problem without tiles, and the first block of each of its graphs."""
        first = np.flatnonzero(np.diff(self.image, prepend=-1))
        return self._problem(self._whole.trained(), pairwise, decoder, bias), first

    def _problem(self, rows, pairwise, decoder, bias):
        return rows.graphs.problem(
            pairwise,
            len(self.classes),
            decoder,
            bias=bias,
            class_scores=self.class_scores,
            labels=rows.codes,
            cost=self._cost,
            node_weight=rows.node_weight,
        )

    def data(self, *common, explicit):
        """Return the SampleData, which identifies the data of a fit.

        common : further shared arrays; explicit : whether labelings are stored as planes, which
        contain the loss
        """
        graphs = self.graphs
        common = [self.classes.astype(object), *common]
        if graphs.edge_features is not None:
            common.append(np.array(graphs.edge_features.shape[1]))
        if self.class_scores is not None:
            common.append(self.class_scores)
        if explicit:
            common.append(self._cost)
        n_samples, n_blocks = len(graphs.length), None
        if self.image is not None:
            n_samples = int(self.image[-1]) + 1

            def n_blocks(n):
                return int(np.searchsorted(self.image, n))

        return SampleData(
            n_samples,
            common,
            lambda n: self._arrays_of_first(n if n_blocks is None else n_blocks(n), explicit),
            n_blocks,
            costs=[self._cost, self.rows.node_weight],
        )

    def _arrays_of_first(self, n, explicit):
        """Return the arrays that identify the first n blocks."""
        graphs = self.graphs
        rows = rows_of(graphs.start[:n], graphs.length[:n])
        # The edges of whole grids follow from the shapes of images.
        grids = np.zeros((n, 3), dtype=np.int64) if graphs.grids is None else graphs.grids[:n]
        other = np.flatnonzero(grids[:, 2] == 0)
        edges = rows_of(graphs.edge_start[other], graphs.n_edges[other])
        flat = graphs.nodes.flat[rows]
        parts = [*first_rows(flat, flat.shape[0]), self.rows.known[rows]]
        parts += [graphs.length[:n], grids]
        parts += [graphs.n_edges[:n], graphs.edges[edges].astype(np.int32)]
        if graphs.edge_features is not None:
            features = rows_of(graphs.feature_start[other], graphs.n_edges[other])
            parts.append(graphs.edge_features[features])
        if explicit:
            parts.append(self.rows.node_weight[rows])
        if graphs.n_copies is not None and graphs.n_copies[:n].any():
            parts.append(graphs.copies[: graphs.n_copies[:n].sum()])
        return parts


def rows_of(start, count):
    """Return the indices of the rows of some ranges, as a slice if they are contiguous."""
    ends = np.cumsum(count)
    if len(start) and (start == start[0] + ends - count).all():
        return slice(int(start[0]), int(start[0] + ends[-1]))
    return np.arange(count.sum()) + np.repeat(start - ends + count, count)


def without_nodes(graphs, used, n_used, partial):
    """Drop the rows that are not used, and their edges from the graphs `partial`.

    n_used : number of nodes of each graph that are used
    """
    start, length = graphs.start, graphs.length
    edges, features = [graphs.edges], [graphs.edge_features]
    edge_start, n_edges = graphs.edge_start.copy(), graphs.n_edges.copy()
    feature_start = graphs.feature_start.copy()
    grids = None if graphs.grids is None else graphs.grids.copy()
    n_copies, copies, first_copy = graphs.n_copies, graphs.copies, None
    if n_copies is not None:
        n_copies, first_copy = n_copies.copy(), np.cumsum(n_copies) - n_copies
        kept_copies = np.ones(len(copies), dtype=bool)
    edge_rows = len(graphs.edges)
    feature_rows = 0 if graphs.edge_features is None else len(graphs.edge_features)
    for i in partial:
        own = graphs.edges[edge_start[i] : edge_start[i] + n_edges[i]]
        here = used[start[i] : start[i] + length[i]]
        if n_copies is not None:
            at = slice(first_copy[i], first_copy[i] + n_copies[i])
            here = np.append(here, used[copies[at]])
        keep = here[own].all(axis=1)
        if n_copies is not None:
            kept_copies[at] = here[length[i] :] = keep[len(own) - n_copies[i] :]
            n_copies[i] = kept_copies[at].sum()
        keep = np.flatnonzero(keep)
        edges.append((np.cumsum(here) - 1)[own[keep]])
        if graphs.edge_features is not None:
            features.append(graphs.edge_features[feature_start[i] + keep])
            feature_start[i], feature_rows = feature_rows, feature_rows + len(keep)
        edge_start[i], n_edges[i] = edge_rows, len(keep)
        edge_rows += len(keep)
        if grids is not None and n_used[i] < length[i]:
            grids[i] = 0
    nodes = graphs.nodes
    if n_copies is not None:
        copies = (np.cumsum(used) - 1)[copies[kept_copies]]
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
        n_copies=n_copies,
        copies=copies,
    )
