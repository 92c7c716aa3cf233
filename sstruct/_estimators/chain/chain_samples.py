"""Validate and pack sequences passed by users, with or without edge features."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import is_empty, is_sized, items_of
from sstruct._checks.magnitudes import complaint, first_beyond
from sstruct._input.edge_features import PAIR, join_edge_features, split_edge_features
from sstruct._input.frames import check_names
from sstruct._input.ragged import Nodes, numeric_rows, pack_nodes, starts_with_array
from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain._edge_features import EdgeFeatureChainProblem
from sstruct._problems.chain.chain_arguments import EdgeFeatureRows
from sstruct._problems.core._rows import compressed
from sstruct.sequences import Sequences, check_sequences


@dataclass
class ChainNodes(Nodes):
    """Nodes of sequences, and the features of the edges between them.

    ``edge_rows`` has a row for each two neighboring nodes of a sequence, (n_nodes - n, G), or is
    None without edge features. ``edge_names`` are the names of its columns, or None.
    """

    edge_rows: object = None
    edge_names: np.ndarray | None = None

    @property
    def n_edge_features(self):
        """G, or 0."""
        return 0 if self.edge_rows is None else self.edge_rows.shape[1]

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
    if nodes.n_edge_features == 0:
        raise ValueError("X has 0 edge features, expected at least 1")
    _check_edge_magnitudes(nodes)
    known = None if model is None else model.get("edge_feature_names_in_")
    if known is not None and names is not None:
        check_names(names, known, "the edge features of X", "the names of the fit")
    return nodes


def _check_edge_magnitudes(nodes):
    rows = nodes.edge_rows
    wrong = first_beyond(rows.data if sparse.issparse(rows) else rows)
    if wrong is None:
        return
    row, value = wrong
    if sparse.issparse(rows):
        row = np.searchsorted(rows.indptr, row, side="right") - 1
    i = int(np.searchsorted(nodes.edge_offsets, row, side="right")) - 1
    step = row - nodes.edge_offsets[i]
    raise ValueError(f"the edge features of X[{i}] at step {step} contain {complaint(value)}")


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
