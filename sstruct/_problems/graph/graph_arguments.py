"""Arguments of GraphProblem, validated and converted to the layout of its compiled code."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sstruct._checks.arrays import contiguous
from sstruct._checks.shown import shortened
from sstruct._problems.core._node_arguments import of_blocks, shaped
from sstruct._problems.core._rows import check_blocks
from sstruct._problems.core.weight_layout import WeightLayout, dense_block, label_blocks
from sstruct._problems.graph.grid_edges import grid_edges

# Pairwise models; "fixed" has no weights.
PAIRWISE = ("fixed", "potts", "contrast", "full", "directed")
WITH_FEATURES = ("contrast", "directed")


@dataclass(frozen=True)
class GraphRanges:
    """The rows of nodes, edges and edge features that belong to each graph.

    Attributes
    ----------
    start, length : array-like of shape (n_blocks,)
        First row and number of rows (at least 1) of each graph's nodes.
    edges : array-like of shape (E, 2)
        Edges of all graphs, with ends 0 ... length - 1.
    edge_start, n_edges : array-like of shape (n_blocks,)
        First row of `edges` and number of edges of each graph; graphs may share them.
    feature_start : array-like of shape (n_blocks,), optional
        First row of a graph's edge features. Default: `edge_start`.
    grids : array-like of shape (n_blocks, 3), optional
        Height, width and connectivity of blocks that are whole grids, with the edges of
        `grid_edges` (followed by those to copies); connectivity 0 for other blocks.
    n_copies : array-like of shape (n_blocks,), optional
        Number of edges whose second end is in another block; they are the last edges of the block.
        The second end of the c-th of these edges is numbered length + c; it is a copy of the node
        in the other block, without features and loss. Default 0.
    copies : array-like of shape (sum of n_copies,), optional
        Row of the copied node, for all copies in the order of blocks. The true label of this node
        is also the true label of the copy.
    """

    start: np.ndarray
    length: np.ndarray
    edges: np.ndarray
    edge_start: np.ndarray
    n_edges: np.ndarray
    feature_start: np.ndarray | None = None
    grids: np.ndarray | None = None
    n_copies: np.ndarray | None = None
    copies: np.ndarray | None = None

    def checked(self, n_rows, n_feature_rows):
        """Return these ranges in the layout of compiled code.

        n_feature_rows : number of rows of edge features; None if edges have no features
        """
        start, length = check_blocks(self.start, self.length, n_rows)
        edges, edge_start, n_edges = check_edges(
            self.edges, self.edge_start, self.n_edges, len(length)
        )
        n_copies = of_blocks(self.n_copies, len(length), np.int64, default=0)
        check_ends(edges, edge_start, n_edges, n_copies, length)
        copies = contiguous([] if self.copies is None else self.copies, dtype=np.int64)
        if len(copies) != n_copies.sum() or ((copies < 0) | (copies >= n_rows)).any():
            found = f"from {copies.min()} to {copies.max()}" if len(copies) else ""
            raise ValueError(
                f"copies must have {n_copies.sum()} entries from 0 to {n_rows - 1}, found "
                f"{len(copies)} {found}".rstrip()
            )
        feature_start, _ = row_ranges(
            edge_start if self.feature_start is None else self.feature_start,
            n_edges,
            len(length),
            len(edges) if n_feature_rows is None else n_feature_rows,
            "edge features",
        )
        if n_feature_rows is None:
            feature_start = np.zeros_like(edge_start)
        grids = check_grids(self.grids, length, edges, edge_start, n_edges - n_copies)
        # Not empty, so that the array has an address.
        edges = edges if len(edges) else np.zeros((1, 2), dtype=np.int32)
        copies = copies if len(copies) else np.zeros(1, dtype=np.int64)
        return GraphRanges(
            start, length, edges, edge_start, n_edges, feature_start, grids, n_copies, copies
        )


def edge_shape(pairwise, n_labels, n_features):
    """Return the shape of a model's pairwise weights, () if there are none."""
    K = n_labels
    return {
        "fixed": (),
        "potts": (1,),
        "contrast": (n_features,),
        "full": (K, K),
        "directed": (n_features, K, K),
    }[pairwise]


@lru_cache
def graph_layout(pairwise, n_labels, n_features, bias, n_edge_features, scored=False):
    """Return the WeightLayout of a graph model.

    n_features : number of node features that are not scores of the labels
    scored : whether there are such scores
    """
    shape, pair = edge_shape(pairwise, n_labels, n_edge_features), ("label", "other_label")
    axes = {
        "potts": (None,),
        "contrast": ("edge_feature",),
        "full": pair,
        "directed": ("edge_feature", *pair),
    }
    edge = dense_block(axes[pairwise], shape) if shape else None
    return WeightLayout({**label_blocks(n_labels, n_features, bias, scored), "edge": edge})


def attractive_edges(pairwise, shape):
    """Return lower and upper bounds of pairwise weights for which no edge is repulsive.

    Scores of neighbors are then highest if their labels agree: for a (K, K) table, diagonal entries
    are at least 0 and the others at most 0. Edge features must be nonnegative. Not for "fixed",
    which has no weights.
    """
    if pairwise in ("potts", "contrast"):
        return np.full(shape, -np.inf), np.zeros(shape)
    same = np.broadcast_to(np.eye(shape[-1], dtype=bool), shape)
    return np.where(same, 0.0, -np.inf), np.where(same, np.inf, 0.0)


def check_edges(edges, edge_start, n_edges, n_blocks):
    """Return edges as int32 (E, 2), and the first row and number of edges of each block.

    Blocks may share rows; ends are numbered within the block.
    """
    edges = contiguous(edges, dtype=np.int32)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"edges has shape {edges.shape}, expected (E, 2)")
    first, count = row_ranges(edge_start, n_edges, n_blocks, len(edges), "edges")
    if len(edges) and (edges.min() < 0 or (edges[:, 0] == edges[:, 1]).any()):
        wrong = edges[(edges.min(axis=1) < 0) | (edges[:, 0] == edges[:, 1])][0]
        raise ValueError(
            f"edges must join two different nodes with nonnegative numbers, found {wrong.tolist()}"
        )
    return edges, first, count


def check_ends(edges, edge_start, n_edges, n_copies, length):
    """Raise an error unless edges join nodes of a block, the last ones its copies in order."""
    if (n_copies < 0).any() or (n_copies > n_edges).any():
        raise ValueError("n_copies must be between 0 and the number of edges of each block")
    n_inner = n_edges - n_copies
    some = n_inner > 0
    if some.any():
        # The largest end in each range; the last entry allows ranges to reach the end.
        first = edge_start[some]
        borders = np.stack([first, first + n_inner[some]], axis=1).ravel()
        largest = np.maximum.reduceat(np.append(edges.max(axis=1), 0), borders)[::2]
        if (largest >= length[some]).any():
            i = np.flatnonzero(some)[np.argmax(largest >= length[some])]
            raise ValueError(f"block {i}: an edge has an end outside of its {length[i]} nodes")
    block = np.repeat(np.arange(len(length)), n_copies)
    number = np.arange(len(block)) - np.repeat(np.cumsum(n_copies) - n_copies, n_copies)
    own, copy = edges[(edge_start + n_inner)[block] + number].T
    if ((own >= length[block]) | (copy != length[block] + number)).any():
        raise ValueError("the last edges of a block must join its nodes to its copies, in order")


def row_ranges(start, count, n_blocks, n_rows, name):
    """Return the first row and the number of rows of each block as int64 arrays."""
    start = contiguous(start, dtype=np.int64)
    count = contiguous(count, dtype=np.int64)
    if start.shape != (n_blocks,) or count.shape != (n_blocks,):
        raise ValueError(f"expected a first row and a number of {name} per block, ({n_blocks},)")
    if (start < 0).any() or (count < 0).any() or (count > n_rows - start).any():
        raise ValueError(f"the {name} of a block are not among the {n_rows} rows")
    return start, count


def check_edge_features(pairwise, features):
    """Return edge features as float64 (rows, G); a single 1 if the model has none."""
    if pairwise not in PAIRWISE:
        raise ValueError(f"pairwise must be one of {PAIRWISE}, found {shortened(pairwise)}")
    if pairwise not in WITH_FEATURES:
        return np.ones((1, 1))
    if features is None:
        raise ValueError(f'pairwise="{pairwise}" requires edge features')
    features = contiguous(features, dtype=np.float64)
    if features.ndim != 2 or features.shape[1] == 0:
        raise ValueError(f"edge features have shape {features.shape}, expected (E, G)")
    if not np.isfinite(features).all() or (pairwise == "contrast" and (features < 0).any()):
        raise ValueError('edge features must be finite, and nonnegative for pairwise="contrast"')
    return features


def check_grids(grids, length, edges, edge_start, n_edges):
    """Return heights, widths and connectivities (n, 3); 0 for blocks that are not whole grids."""
    if grids is None:
        return np.zeros((len(length), 3), dtype=np.int64)
    grids = shaped(grids, (len(length), 3), np.int64, "grids")
    known = set()
    for i in np.flatnonzero(grids[:, 2]):
        height, width, connectivity = shape = tuple(grids[i].tolist())
        first, count = int(edge_start[i]), int(n_edges[i])
        if connectivity not in (4, 8) or min(height, width) < 1 or height * width != length[i]:
            raise ValueError(f"block {i} is not a grid with height, width and connectivity {shape}")
        if (shape, first, count) in known:
            continue
        if not np.array_equal(edges[first : first + count], grid_edges(*shape)):
            raise ValueError(f"block {i}: the edges are not those of a grid {shape}")
        known.add((shape, first, count))
    return grids


def check_node_scores(scores, n_rows, n_labels):
    """Return the values added to node scores as float64 (n_rows, K), or None if there are none."""
    if scores is None:
        return None
    scores = contiguous(scores, dtype=np.float64)
    if scores.shape != (n_rows, n_labels) or not np.isfinite(scores).all():
        raise ValueError(
            f"node_scores must be finite and have shape {(n_rows, n_labels)}, found {scores.shape}"
        )
    return scores


def check_label_counts(counts, labels, n_rows, n_labels):
    """Return the number of labels of each node as int32 (n_rows,); validate `labels` against it.

    Return None if `counts` is None.
    """
    if counts is None:
        return None
    counts = contiguous(counts, dtype=np.int32)
    wrong = counts[(counts < 1) | (counts > n_labels)]
    if counts.shape != (n_rows,) or len(wrong):
        found = wrong[0] if len(wrong) else f"shape {counts.shape}"
        raise ValueError(
            f"label_counts must have {n_rows} entries from 1 to {n_labels}, found {found}"
        )
    if labels is not None and (labels >= counts).any():
        row = int((labels >= counts).argmax())
        raise ValueError(f"row {row} has label {labels[row]}, expected 0 to {counts[row] - 1}")
    return counts
