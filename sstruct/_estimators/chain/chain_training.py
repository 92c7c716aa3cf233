"""Validation of sequences, with or without edge features, and their training data."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import describe_invalid, first_beyond, is_empty, is_sized, items_of
from sstruct._estimators.core.lam_from_scale import TrainedNodes, mean_cost
from sstruct._estimators.core.sample_data import SampleData, first_rows
from sstruct._input.class_scores import score_columns
from sstruct._input.edge_features import PAIR, join_edge_features, split_edge_features
from sstruct._input.frames import check_names
from sstruct._input.labels import check_padding
from sstruct._input.losses import class_weighted_costs, node_costs
from sstruct._input.ragged import (
    Nodes,
    check_not_lengths,
    labeled_nodes,
    numeric_rows,
    pack_nodes,
    starts_with_array,
)
from sstruct._input.transition_groups import are_untied, transition_groups
from sstruct._input.transition_masks import allowed_transitions, check_labelings
from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain._edge_features import EdgeFeatureChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges, EdgeFeatureRows
from sstruct._problems.core._rows import compressed, scored_rows
from sstruct.sequences import Sequences, check_sequences

# "auto" uses GDMM for at least these numbers of labels, for dense and for sparse features
# (benchmarks/notes/chains.md).
MIN_GDMM_LABELS = {"dense": 1500, "sparse": 600}


@dataclass
class ChainNodes(Nodes):
    """Nodes of sequences, and the features of the edges between them.

    ``edge_rows`` has a row for each pair of neighboring nodes of a sequence, (n_edges, G), or is
    None without edge features; ``n_edge_features`` is then 0. ``edge_names`` are the names of its
    columns, or None.
    """

    edge_rows: object = None
    n_edge_features: int = 0
    edge_names: np.ndarray | None = None

    @property
    def edge_offsets(self):
        """First row of each sequence in `edge_rows`, and the number of rows, (n + 1,)."""
        return self.offsets - np.r_[0, np.cumsum(self.lengths > 0)]


def pack_chains(expected_input, X, model=None):
    """Validate X and return its ChainNodes; see `pack_nodes`.

    model : FittedModel whose edge features X must have, or None
    """
    if isinstance(X, Sequences) and X.edge_features is not None:
        check_sequences(X, "X")
    X, edges = (X, None) if starts_with_array(X) else split_edge_features(items_of(X))
    expected = None if model is None else model.get("n_edge_features_in_") or 0
    if expected and edges is None and is_sized(X) and all(map(is_empty, X)):
        edges = [[] for _ in X]  # samples without nodes
    if model is not None and (edges is not None) != (expected > 0):
        found = f"no edge features, expected {expected}" if expected else "edge features"
        hint = f": each sequence is a tuple {PAIR}" if expected else ", which were not seen in fit"
        raise ValueError(f"X has {found}{hint}")
    nodes = ChainNodes(**vars(pack_nodes(expected_input, X)))
    if edges is None:
        return nodes
    if isinstance(edges, Sequences):
        rows, names = edges.flat, edges.feature_names
        if expected is not None and rows.shape[1] != expected:
            raise ValueError(f"X[0] has {rows.shape[1]} edge features, expected {expected}")
    else:
        rows, names = join_edge_features(edges, nodes.lengths, "X", expected)
    nodes.edge_rows, nodes.edge_names = numeric_rows(rows, "edge features of X"), names
    nodes.n_edge_features = rows.shape[1]
    if nodes.n_edge_features == 0:
        raise ValueError("X has 0 edge features, expected at least 1")
    _check_edge_magnitudes(nodes)
    known = None if model is None else model.get("edge_feature_names_in_")
    if known is not None and names is not None:
        check_names(names, known, "the edge features of X", "the names of the fit")
    return nodes


def _check_edge_magnitudes(nodes):
    wrong = first_beyond(nodes.edge_rows)
    if wrong is None:
        return
    row, value = wrong
    i = int(np.searchsorted(nodes.edge_offsets, row, side="right")) - 1
    step = row - nodes.edge_offsets[i]
    raise ValueError(
        f"the edge features of X[{i}] at step {step} contain {describe_invalid(value)}"
    )


def chain_problem(nodes, flat, chains, model, labels=None, **options):
    """Return the problem of chains that are parts of sequences.

    Parameters
    ----------
    nodes : ChainNodes
    flat : ndarray or CSR matrix of shape (n_nodes, n_features), or FeatureRows
        The features of the nodes.
    chains, model, labels, **options : as in ChainProblem
    """
    if nodes.edge_rows is None:
        return ChainProblem(flat, chains, model, labels, **options)
    sample = np.searchsorted(nodes.offsets, chains.start, side="right") - 1
    first = nodes.edge_offsets[sample] + chains.start - nodes.offsets[sample]
    edges = EdgeFeatureRows(compressed(nodes.edge_rows), first)
    return EdgeFeatureChainProblem(flat, chains, model, labels, edges=edges, **options)


class LabeledChains:
    """Validated training data of a chain model.

    Parameters
    ----------
    structure : ChainStructure
    nodes : ChainNodes
    y, sample_weight : as in ``ChainSSVM.fit``
    completion : Completion or None
        Labels, or states of labels, that replace those in y.

    Attributes
    ----------
    rows : ndarray or CSR matrix of shape (n_nodes, n_features)
        The features of the nodes. Dense features that are mostly zeros are stored as CSR.
    classes : ndarray of shape (K,)
    class_scores : ndarray of shape (K,), or None
        The column of X with the scores of each class.
    codes : ndarray of int32 of shape (n_nodes,)
        Index of the label, or state, of each node, -1 if the node is not used in training.
    start, length : ndarray of shape (n_blocks,)
        The blocks of the problem: runs of labeled nodes of a sequence, or windows of runs, which
        include a copy of the first node of the next window.
    copies_end : ndarray of bool of shape (n_blocks,), or None
        Which blocks end with such a copy; None if runs are not split.
    sample_weight : ndarray of shape (n_blocks,)
        Weight of the sample of each block.
    total_weight : float
        Sum of the weights of the samples that have a labeled node.
    trained : TrainedNodes
    has_many_labels : bool
        Whether ``solver="auto"`` uses GDMM for this number of labels and these features.
    masks : tuple of ndarray or None
        Allowed transitions (K, K); labels allowed at the start and the end (2, K).
    groups : ndarray of int32 of shape (K, K), or None
        Transitions that share a weight; None if they do not.
    """

    # Arguments of the problem, and fitted attributes, that plain chains do not have.
    problem_options: ClassVar[dict] = {}
    attributes: ClassVar[dict] = {}

    def __init__(self, structure, nodes, y, sample_weight, completion=None):
        self.nodes, self.rows = nodes, compressed(nodes.flat)
        if sample_weight is not None:
            check_not_lengths(sample_weight, nodes.lengths)
        labels = structure.labels(y, nodes)
        if isinstance(y, np.ndarray) or nodes.form == "stacked":  # lists are not padded
            check_padding(structure, y, labels, nodes)
        labeled = labeled_nodes(structure, nodes, labels, sample_weight, completion)
        weights, sample, used = labeled.weights, labeled.sample, labeled.used
        self.classes, self.codes = labeled.classes, labeled.codes
        self.codes[~used] = -1
        self.masks, self.groups, self.class_scores = (None, None), None, None
        if structure.class_scores is not None:
            self.class_scores = score_columns(structure.class_scores, nodes, self.classes)
        mask = structure.transition_mask
        if mask is not None:
            self.masks = allowed_transitions(mask, self.classes)
            check_labelings(self.codes, nodes.offsets, *self.masks, self.classes, mask)
        if structure.ties_transitions:
            self.groups = transition_groups(structure.transitions, self.classes, self.masks[0])
        truth = self.codes[used], labeled.counts
        cost, divided = node_costs(structure.loss, *truth, len(self.classes), structure.loss_names)
        if structure.class_weight is not None:
            cost = class_weighted_costs(cost, structure.class_weight, self.classes, *truth)
        self._cost = cost
        self.start, self.length = _labeled_runs(used, nodes.offsets)
        self.copies_end = None
        n_labels = len(self.classes) * (1 if completion is None else completion.n_states)
        all_stored = not sparse.issparse(self.rows) or self.rows.nnz >= np.prod(self.rows.shape)
        least = MIN_GDMM_LABELS["dense" if all_stored else "sparse"]
        self.has_many_labels = n_labels >= least
        uses_gdmm = self.has_many_labels and structure.chosen_solver.name == "auto"
        longest, window_size = structure.windows(not uses_gdmm)
        if (self.length > longest).any():
            self._cut(longest, window_size)
        self._sample = sample[self.start]
        self._node_weight = node = labeled.node_weights
        n_labeled = np.bincount(
            sample[used], weights=None if node is None else node[used], minlength=len(nodes)
        )
        self._known = self.codes
        self._loss_scale = 1 / n_labeled[self._sample] if divided else None
        self.total_weight = float(weights[n_labeled > 0].sum())
        self.sample_weight = weights[self._sample]
        row_weight = weights[sample] * used
        in_loss = labeled.counts / (n_labeled[sample[used]] if divided else 1)
        cost = mean_cost(cost, self.codes[used], in_loss, row_weight.sum())
        copies = 0 if self.copies_end is None else self.sample_weight @ self.copies_end
        self.trained = TrainedNodes(
            nodes.flat,
            row_weight,
            row_weight.sum() / self.total_weight,
            cost,
            structure.fit_intercept,
            n_windows=1 + copies / self.total_weight,
        )
        if completion is not None:
            self._complete(completion, used)
        if self.groups is not None and are_untied(self.groups):
            self.groups = None

    def _cut(self, longest, window_size):
        """Split runs of more than `longest` nodes into windows of up to `window_size` nodes."""
        count = np.where(self.length > longest, -(-self.length // window_size), 1)
        run = np.repeat(np.arange(len(count)), count)
        number = np.arange(len(run)) - np.repeat(np.cumsum(count) - count, count)
        # The sizes of windows of a run differ by at most one node, without copies.
        first = number * self.length[run] // count[run]
        end = (number + 1) * self.length[run] // count[run]
        self.copies_end = number + 1 < count[run]
        self.start, self.length = self.start[run] + first, end - first + self.copies_end

    def _complete(self, completion, used):
        """Replace labels by states; hidden labels do not identify the data."""
        self._known = np.where(completion.in_loss, self.codes, -1)
        self.codes = np.where(used, completion.codes, -1)
        self.classes, self._cost = completion.classes(self.classes), completion.spread(self._cost)
        self.class_scores = completion.spread(self.class_scores, axes=(0,))
        edge, boundary = self.masks
        self.masks = completion.spread(edge), completion.spread(boundary, axes=(1,))
        self.groups = completion.spread(self.groups)

    def ranges(self):
        """Return the ChainRanges of the blocks."""
        offsets = self.nodes.offsets
        ends_here = self.start + self.length == offsets[self._sample + 1]
        if self.copies_end is not None:
            ends_here &= ~self.copies_end
        starts_here = self.start == offsets[self._sample]
        return ChainRanges(self.start, self.length, starts_here, ends_here, self.copies_end)

    def problem(self, structure):
        """Return the problem."""
        rows = self.rows
        if self.class_scores is not None:
            rows = scored_rows(self.nodes.flat, self.class_scores, compress=True)
        return structure.new_problem(
            self.nodes,
            rows,
            self.ranges(),
            self.model(structure),
            self.codes,
            cost=self._cost,
            loss_scale=self._loss_scale,
            node_weight=self._node_weight,
            **self.problem_options,
        )

    def model(self, structure):
        """Return the ChainModel."""
        terms = structure.fit_intercept, structure.boundaries, structure.has_transitions
        return ChainModel(len(self.classes), *terms, *self.masks, self.groups)

    def data(self):
        """Return the SampleData, which identifies the data of a fit."""
        edges = None if self.nodes.edge_rows is None else np.array(self.nodes.n_edge_features)
        common = [self.classes.astype(object), *self.masks, edges, self.class_scores]
        terms = [] if self.groups is None else [self.groups]
        costs = [self._cost] if self._node_weight is None else [self._cost, self._node_weight]
        return SampleData(
            len(self.nodes), common, self._arrays_of_first, self._n_blocks, costs + terms
        )

    def _arrays_of_first(self, n):
        offsets, n_blocks = self.nodes.offsets[: n + 1], self._n_blocks(n)
        features = first_rows(self.nodes.flat, offsets[-1])
        blocks = [self.start[:n_blocks], self.length[:n_blocks]]
        edges = self.nodes.edge_rows
        edges = [] if edges is None else first_rows(edges, self.nodes.edge_offsets[n])
        return [*features, offsets, *blocks, self._known[: offsets[-1]], *edges]

    def _n_blocks(self, n):
        """Return the number of blocks of the first n sequences."""
        return np.searchsorted(self.start, self.nodes.offsets[n])


def _labeled_runs(used, offsets):
    """Return the first row and the length of each run of used nodes in a sequence."""
    is_offset = np.zeros(len(used) + 1, dtype=bool)
    is_offset[offsets] = True
    padded = np.zeros(len(used) + 2, dtype=bool)
    padded[1:-1] = used
    start = np.flatnonzero(used & (is_offset[:-1] | ~padded[:-2]))
    end = np.flatnonzero(used & (is_offset[1:] | ~padded[2:])) + 1
    return start, end - start
