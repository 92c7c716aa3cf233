"""Arguments of TreeProblem, validated, and the layout of its weights."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sstruct._checks.arrays import contiguous
from sstruct._problems.core._node_arguments import shaped
from sstruct._problems.core.weight_layout import WeightLayout, dense_block


@dataclass(frozen=True)
class TreeStates:
    """The rows of features of each part's states, and the positions of the states.

    Attributes
    ----------
    start : array-like of int of shape (n_blocks, n_parts + 1)
        Part p of block i has the rows start[i, p] to start[i, p + 1] - 1, sorted by type.
    shape : array-like of int of shape (n_blocks, 2), optional
        Height and width of the maps.
    positions : array-like of shape (n_rows, 2), optional
        (x, y) of each row, as the alternative to maps.
    n_types : int
        Number of types of every part.
    pair_scores : array-like of shape (n_pairs,), optional
        With `positions` only: tables (states of the parent, states of the part), row-major; that of
        part p of block i starts at pair_start[i, p].
    pair_start : array-like of int of shape (n_blocks, n_parts), with `pair_scores`
    unit : array-like of shape (n_blocks,), optional
        Positions are divided by it, in the deformation and in the loss. Default 1.
    """

    start: np.ndarray
    shape: np.ndarray | None = None
    positions: np.ndarray | None = None
    n_types: int = 1
    pair_scores: np.ndarray | None = None
    pair_start: np.ndarray | None = None
    unit: np.ndarray | None = None


@dataclass(frozen=True)
class TreeModel:
    """The weights of a tree model.

    The tables of a weight vector, in order: coef (P, T, F); intercept (P, T), zeros without types
    or biases; edge (P, T, 4), or 5 with pair scores, by the child and its type; type (P, T, T), by
    the child, with rows for the parent's type and columns for the child's. The axis of types is
    omitted if there is only one. A root has no edge: its entries are never used.
    """

    n_parts: int
    n_features: int
    n_types: int = 1
    fit_intercept: bool = True
    pair_scores: bool = False

    @cached_property
    def layout(self):
        """The WeightLayout."""
        P, T = self.n_parts, self.n_types
        axes, types = (("part",), (P,)) if T == 1 else (("part", "type"), (P, T))
        has_bias = self.fit_intercept and T > 1
        return WeightLayout(
            {
                "coef": dense_block((*axes, "feature"), (*types, self.n_features)),
                "intercept": dense_block(axes, types) if has_bias else types,
                "edge": dense_block((*axes, "edge_feature"), (*types, 4 + self.pair_scores)),
                "type": dense_block(("part", "parent_type", "type"), (P, T, T)) if T > 1 else None,
            }
        )

    def attractive_bounds(self):
        """Return bounds (2, n_weights) with nonnegative quadratic weights of edges.

        The score of an edge is then a concave function of the child's position.
        """
        out = self.layout.unbounded()
        self.layout.table(out[0], "edge")[..., [0, 2]] = 0
        return out


def check_start(start, n_parts, n_rows, n_types):
    """Return the first row of each part of each block, and the end of its last part, as int64."""
    start = contiguous(start, dtype=np.int64)
    if start.ndim != 2 or len(start) == 0 or start.shape[1] != n_parts + 1:
        raise ValueError(
            f"start must have shape (n_blocks, {n_parts + 1}), found shape {start.shape}"
        )
    sizes = np.diff(start, axis=1)
    if (sizes < 1).any() or start[:, 0].min() < 0 or start[:, -1].max() > n_rows:
        raise ValueError("every part must have at least one state, and states must be rows of X")
    if sizes.max() > np.iinfo(np.int32).max or (sizes % n_types).any():
        raise ValueError(f"the number of states of a part must be a multiple of n_types={n_types}")
    return start


def check_labels(labels, start):
    """Return int32 states, -1 for parts without annotation; each block must have an annotation."""
    sizes = np.diff(start, axis=1)
    labels = shaped(labels, sizes.shape, np.int32, "labels")
    if (labels < -1).any() or (labels >= sizes).any():
        i, p = np.argwhere((labels < -1) | (labels >= sizes))[0]
        raise ValueError(
            f"part {p} of block {i} has label {labels[i, p]}, expected a state from 0 to "
            f"{sizes[i, p] - 1}, or -1"
        )
    if (labels < 0).all(axis=1).any():
        i = int((labels < 0).all(axis=1).argmax())
        raise ValueError(f"block {i} has no annotated part, expected at least one")
    return labels


def check_places(shape, positions, start, n_rows, n_types):
    """Return sizes of maps (n_blocks, 2) and positions (n_rows, 2), one of them empty."""
    if (shape is None) == (positions is None):
        raise ValueError("expected either the shape of maps or the positions of candidates")
    if positions is not None:
        positions = shaped(positions, (n_rows, 2), np.float64, "positions")
        return np.empty((0, 2), dtype=np.int64), positions
    shape = contiguous(shape, dtype=np.int64)
    if shape.shape != (len(start), 2) or (shape < 1).any():
        raise ValueError(f"shape must have height and width for each of {len(start)} blocks")
    if (np.diff(start, axis=1) != n_types * shape.prod(axis=1)[:, np.newaxis]).any():
        raise ValueError("a part must have as many states as its maps have positions")
    return shape, np.empty((0, 2))


def check_pair_scores(scores, begin, start, parents):
    """Return pair scores and the positions of each block's tables in them, (n_blocks, n_parts)."""
    if scores is None:
        return np.empty(0), np.zeros((1, 1), dtype=np.int64)
    scores = contiguous(scores, dtype=np.float64)
    begin = contiguous(begin, dtype=np.int64)
    sizes = np.diff(start, axis=1)
    if scores.ndim != 1 or begin.shape != sizes.shape:
        raise ValueError(
            f"pair_scores must be 1-D and pair_start have shape {sizes.shape}; found shapes "
            f"{scores.shape} and {begin.shape}"
        )
    children = np.flatnonzero(parents >= 0)
    here, pairs = begin[:, children], sizes[:, children] * sizes[:, parents[children]]
    if (here < 0).any() or (here + pairs > len(scores)).any():
        raise ValueError("pair_start has positions outside of pair_scores")
    return scores, begin


def n_origins(start, parents):
    """Return the largest total number of states of the parents of a block's parts."""
    sizes = np.diff(start, axis=1)
    return max(1, int(sizes[:, parents[parents >= 0]].sum(axis=1).max()))
