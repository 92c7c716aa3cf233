"""Arguments of ChainProblem, validated and converted to the layout of its compiled code."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sstruct._problems.core._node_arguments import of_blocks, padded, shaped
from sstruct._problems.core._rows import padded_labels
from sstruct._problems.core.weight_layout import WeightBlock, WeightLayout, label_blocks, label_row


class NoLabelingError(ValueError):
    """A block has no labeling that masks and known labels allow.

    Parameters
    ----------
    block : int
    length : int
        Its number of nodes.
    """

    def __init__(self, block, length):
        super().__init__(block, length)
        self.block, self.length = block, length

    def __str__(self):
        return (
            f"block {self.block}: the masks and known labels forbid every labeling of "
            f"{self.length} positions"
        )


@dataclass(frozen=True)
class ChainRanges:
    """The rows that form chains.

    Attributes
    ----------
    start, length : array-like of shape (n_blocks,)
        First row and number of rows (at least 1) of each chain.
    starts_here, ends_here : array-like of bool of shape (n_blocks,), optional
        Whether a chain has a start and an end term. Default True.
    copies_end : array-like of bool of shape (n_blocks,), optional
        Whether the block is a window of a chain that the next block continues. Its last row is then
        a copy of the first row of the next block, with the transition to it, but without features
        and loss. Default False.
    """

    start: np.ndarray
    length: np.ndarray
    starts_here: np.ndarray | None = None
    ends_here: np.ndarray | None = None
    copies_end: np.ndarray | None = None

    def joined(self):
        """Return the ChainRanges of whole chains, and the index of the first window of each."""
        copied = np.asarray(self.copies_end, dtype=bool)
        first = np.flatnonzero(np.r_[True, ~copied[:-1]])
        length = np.add.reduceat(self.length - copied, first)
        last = np.r_[first[1:], len(copied)] - 1
        starts, ends = self.starts_here, self.ends_here
        starts = None if starts is None else np.asarray(starts)[first]
        ends = None if ends is None else np.asarray(ends)[last]
        return ChainRanges(np.asarray(self.start)[first], length, starts, ends), first


@dataclass(frozen=True)
class EdgeFeatureRows:
    """The features of transitions.

    Attributes
    ----------
    rows : ndarray or canonical CSR of shape (n_edge_rows, G)
        Features of the transitions of all chains.
    start : array-like of shape (n_blocks,)
        Row of each chain's first transition; a chain of L nodes has L - 1 of them.
    """

    rows: object
    start: np.ndarray


@dataclass(frozen=True)
class ChainModel:
    """Labels, weights and masks of a chain model.

    Attributes
    ----------
    n_labels : int
        K.
    bias, boundaries, transitions : bool
        Which weights exist in addition to the node weights.
    edge_mask, boundary_mask : array-like of bool of shape (K, K) and (2, K), optional
        Which transitions are allowed; which labels may start and end a chain.
    groups : array-like of int of shape (K, K), optional
        Group of each transition, from 0 on without gaps; the transitions of a group share a weight,
        and those with -1 have none. Default: a weight for each transition.
    """

    n_labels: int
    bias: bool = True
    boundaries: bool = True
    transitions: bool = True
    edge_mask: np.ndarray | None = None
    boundary_mask: np.ndarray | None = None
    groups: np.ndarray | None = None


@lru_cache
def chain_layout(*sizes, **options):
    """Return the WeightLayout of a chain model; arguments as of `chain_blocks`."""
    return WeightLayout(chain_blocks(*sizes, **options))


def chain_blocks(
    n_labels, n_features, bias, boundaries, transitions, n_edge_features, scored=False,
    n_groups=None,
):  # fmt: skip
    """Return the tables of weights of a chain model, see WeightLayout.

    n_features : number of features that are not scores of the labels
    scored : whether there are such scores
    n_groups : number of groups of transitions, None if they are not tied
    """
    K, G, row, pair = n_labels, n_edge_features, label_row(n_labels), ("label", "next_label")
    width = row.extent
    table = padded_labels(K * width)
    edge = WeightBlock(pair, (K, K), (width, 1), K * width)
    if n_groups is not None:
        edge = WeightBlock(("group",), (n_groups,), (1,), padded_labels(n_groups))
    features = WeightBlock(("edge_feature", *pair), (G, K, K), (table, width, 1), G * table)
    return {
        **label_blocks(K, n_features, bias, scored),
        "start": row if boundaries else (K,),
        "end": row if boundaries else (K,),
        "edge": edge if transitions else (K, K),
        "edge_feature": features if G else (0, K, K),
    }


def number_of_groups(groups):
    """Return the number of groups of transitions, or None if transitions are not tied."""
    return None if groups is None else int(np.max(groups)) + 1


def weights_of_pairs(weights, groups):
    """Return the weight of each transition, (K, K), from the weights of groups."""
    return np.append(weights, 0.0)[groups]  # -1 is the last entry


def check_groups(groups, n_labels, width):
    """Return groups as an int32 table with its rows padded by -1 to `width` entries."""
    groups, shape = np.asarray(groups), (n_labels, n_labels)
    if groups.shape != shape or groups.min() < -1 or groups.max() >= n_labels**2:
        raise ValueError(
            f"groups must have shape {shape} and entries from -1 to {n_labels**2 - 1}, found shape "
            f"{groups.shape} and entries from {groups.min()} to {groups.max()}"
        )
    out = np.full((n_labels, width), -1, np.int32)
    out[:, :n_labels] = groups
    return out


def check_copies(copies_end, length, ends_here):
    """Return the number of rows of each block without a copy at its end."""
    copied = of_blocks(copies_end, len(length), np.uint8).astype(bool)
    if (copied & ((length < 2) | (np.asarray(ends_here) != 0))).any():
        raise ValueError("a block with copies_end must have at least 2 rows and no end term")
    return length - copied


def penalties(mask, shape, width, name):
    """Return 0 for allowed and -inf for forbidden entries of a mask."""
    return padded(np.where(mask, 0.0, -np.inf), shape, width, name)


def check_edge_rows(start, length, n_rows, n_features, n_labels):
    """Return the row of each block's first transition as an int64 array."""
    if n_labels * padded_labels(n_labels) > np.iinfo(np.int32).max:
        raise ValueError(f"found {n_labels} labels, too many for features of transitions")
    n_edges = np.asarray(length) - 1
    if n_features < 1:
        raise ValueError("transitions have 0 features, expected at least 1")
    start = shaped(start, n_edges.shape, np.int64, "start")
    if (start < 0).any() or (n_edges > n_rows - start).any():
        raise ValueError(f"the transitions of a block are not among the {n_rows} rows of edges")
    return start


# A table by number of errors costs about (errors + 1) / 2 times as much as Viterbi, and a search by
# bisection about ten times as much. MAX_VITERBIS limits this factor of a table, as a mean over
# nodes; MAX_ENTRIES limits its entries of 2 bytes.
MAX_VITERBIS = 100
MAX_ENTRIES = 2**25


def error_counts(cost, n_labels, labels, start, length):
    """Return node costs as integer numbers of errors, if a table by their number is affordable.

    Returns
    -------
    errors : ndarray of int32 of the shape of `cost`, or None
        None if a cost is not an integer, or the table would be too large or take too long.
    most : ndarray of int64 of shape (n_blocks,), or None
        The largest number of errors of a labeling of each block.
    """
    cost = np.asarray(cost)
    if (cost != np.floor(cost)).any() or cost.max() > MAX_ENTRIES or n_labels > 2**16:
        return None, None
    errors = cost.astype(np.int32)
    total = np.r_[0, np.cumsum(errors.max(axis=1)[np.maximum(labels, 0)], dtype=np.int64)]
    most = total[start + length] - total[start]
    costly = (most * length).sum() > 2 * MAX_VITERBIS * length.sum()
    if costly or ((most + 1) * length).max() * cost.shape[1] > MAX_ENTRIES:
        return None, None
    return errors, most
