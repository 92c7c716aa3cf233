"""Candidate arcs and weight layout of DependencyProblem."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sstruct._checks.arrays import contiguous
from sstruct._problems.core.weight_layout import (
    WeightBlock,
    WeightLayout,
    dense_block,
    padded_labels,
)


class NoTreeError(ValueError):
    """The candidate arcs and the known heads of a block allow no tree.

    Parameters
    ----------
    block : int
    """

    def __init__(self, block):
        super().__init__(block)
        self.block = block

    def __str__(self):
        return f"block {self.block}: the candidate arcs and known heads allow no tree"


class InvalidTreeError(ValueError):
    """A labeling is not a tree that a block allows.

    Parameters
    ----------
    block : int
    reason : str
        Continues a sentence whose subject is the labeling.
    """

    def __init__(self, block, reason):
        super().__init__(block, reason)
        self.block, self.reason = block, reason

    def __str__(self):
        return f"block {self.block}: its labeling {self.reason}"


@dataclass(frozen=True)
class Arcs:
    """Candidate arcs of blocks, with a row of features each.

    Attributes
    ----------
    head, dependent : ndarray of int32 of shape (n_arcs,)
        Tokens of each arc, numbered from 1 in each block; head 0 is the root. In each block, arcs
        are in ascending order of dependents, then heads.
    start : ndarray of int64 of shape (n_blocks + 1,)
        First arc of each block, and the number of arcs.
    n_tokens : ndarray of int64 of shape (n_blocks,)
        At least 1.
    """

    head: np.ndarray
    dependent: np.ndarray
    start: np.ndarray
    n_tokens: np.ndarray

    def checked(self, n_rows):
        """Return validated contiguous arrays, followed by the first arc of each token."""
        start, n_tokens = (contiguous(each, np.int64) for each in (self.start, self.n_tokens))
        head, dependent = (contiguous(each, np.int32) for each in (self.head, self.dependent))
        n = len(n_tokens)
        if n < 1 or start.shape != (n + 1,) or (n_tokens < 1).any():
            raise ValueError("start and n_tokens must describe at least one block with tokens")
        if head.shape != (n_rows,) or dependent.shape != (n_rows,):
            raise ValueError(f"head and dependent must have {n_rows} entries, one per row of X")
        if start[0] < 0 or start[-1] > n_rows or (np.diff(start) < 1).any():
            raise ValueError("start must be increasing, within the rows of X")
        used = slice(start[0], start[-1])
        size = np.repeat(n_tokens, np.diff(start))
        own, heads = dependent[used].astype(np.int64), head[used].astype(np.int64)
        if not ((own >= 1) & (own <= size) & (heads >= 0) & (heads <= size) & (heads != own)).all():
            raise ValueError("an arc connects tokens outside of its block, or a token with itself")
        block = np.repeat(np.arange(n), np.diff(start))
        place = (own * (size + 1) + heads, block)
        rises = (np.diff(place[0]) > 0) | (np.diff(block) > 0)
        if not rises.all():
            raise ValueError("arcs must be in ascending order of dependents, then heads")
        token_start = np.cumsum(n_tokens) - n_tokens
        token = token_start[block] + own - 1
        counts = np.bincount(token, minlength=int(n_tokens.sum()))
        if (counts == 0).any():
            i = int(np.searchsorted(token_start, counts.argmin(), side="right")) - 1
            t = int(counts.argmin()) - int(token_start[i]) + 1
            raise ValueError(f"token {t} of block {i} has no arc, expected at least one")
        first = start[0] + np.append(0, np.cumsum(counts))
        return head, dependent, start, n_tokens, first.astype(np.int64)


@lru_cache
def dependency_layout(n_features, n_labels, n_label_features):
    """Return the WeightLayout; `n_labels` is 0 if arcs have no labels."""
    K, F = n_labels, n_label_features
    width = padded_labels(max(K, 1))
    label_block = WeightBlock(("label", "label_feature"), (K, F), (1, width), F * width)
    return WeightLayout(
        {
            "coef": dense_block(("feature",), (n_features,)),
            "label_coef": label_block if K else (0, 0),
        }
    )
