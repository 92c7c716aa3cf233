"""Scores and masks that chains share, validated."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sstruct._checks.arrays import LARGEST, real_array
from sstruct._checks.compressed import check_compressed
from sstruct._checks.shown import shortened
from sstruct._input.labels import label_array
from sstruct._input.transition_masks import allowed_transitions
from sstruct._oracles.chain._chain_terms import ChainTerms

Mask = Callable[[Any, Any], bool] | ArrayLike | None
INVALID = "must not contain NaN or +inf (-inf forbids a label or transition)"


def limited_scores(values, name):
    """Raise ValueError for NaN, +inf and finite scores whose sums may not be finite."""
    with np.errstate(invalid="ignore"):
        valid = np.isneginf(values) | (np.abs(values) <= LARGEST)
    if not valid.all():
        raise ValueError(
            f"{name} must be at most {LARGEST:g} in absolute value, or -inf, found "
            f"{values[~valid].flat[0]}"
        )
    return values


class ChainScores:
    """Scores of transitions and boundaries, with -inf where they are forbidden.

    Parameters
    ----------
    n_labels : int or None
        Number of columns of the node scores. None if there are no chains: nothing is validated
        then.
    edge_scores, classes, mask, start, end
        As in :func:`sstruct.inference.viterbi`.
    zero : bool
        Whether transitions that a sparse matrix does not store score 0. Otherwise they are
        forbidden.
    """

    def __init__(self, n_labels, edge_scores, classes, mask, start, end, zero=False):
        self.n_labels, self.classes, self.edge = n_labels, None, None
        if n_labels is None:
            return
        if classes is not None:
            self.classes = label_array(list(classes))
            found = len(set(self.classes.tolist()))
            if len(self.classes) != n_labels or found != n_labels:
                raise ValueError(
                    f"classes has {len(self.classes)} labels, {found} of them different, but "
                    f"node_scores has {n_labels} columns"
                )
        elif callable(mask):
            raise ValueError("a function as mask requires classes, the labels of the columns")
        names = np.arange(n_labels) if self.classes is None else self.classes
        allowed, boundaries = allowed_transitions(mask, names, "mask")
        if zero:
            if allowed is not None:
                raise ValueError("mask is not supported with missing='zero'; found both")
            self.edge = edge_scores  # validated for each chain
        elif sparse.issparse(edge_scores):
            self.edge = self._stored(edge_scores, allowed)
        else:
            self.edge = self._table(edge_scores, allowed)
        self.start, self.end = [
            self._boundary(name, scores, None if boundaries is None else boundaries[k])
            for k, (name, scores) in enumerate((("start", start), ("end", end)))
        ]

    @cached_property
    def terms(self):
        """The scores in the form that compiled code reads."""
        return ChainTerms(self.edge, self.start, self.end)

    def _table(self, edge_scores, allowed):
        K = self.n_labels
        edge = np.zeros((K, K)) if edge_scores is None else real_array(edge_scores, "edge_scores")
        if edge.ndim not in (2, 3) or edge.shape[-2:] != (K, K):
            raise ValueError(
                f"edge_scores must have shape {(K, K)} or (n_positions - 1, {K}, {K}) for "
                f"node_scores of {K} labels; found {edge.shape}"
            )
        if np.isnan(edge).any() or np.isposinf(edge).any():
            raise ValueError(f"edge_scores {INVALID}")
        return edge if allowed is None else np.where(allowed, edge, -np.inf)

    def _stored(self, edge_scores, allowed):
        """Return the stored transitions by column, without those that a mask forbids."""
        check_compressed(edge_scores, "sparse edge_scores")
        shape = (self.n_labels, self.n_labels)
        if edge_scores.shape != shape:
            raise ValueError(
                f"sparse edge_scores must have shape {shape} for node_scores of {shape[0]} labels; "
                f"found {edge_scores.shape}"
            )
        edge = sparse.csc_array(edge_scores.astype(np.float64))  # SciPy does not convert float16
        if not edge.has_canonical_format:
            edge = edge.copy()
            edge.sum_duplicates()
        if np.isnan(edge.data).any() or np.isposinf(edge.data).any():
            raise ValueError(f"edge_scores {INVALID}")
        if allowed is not None:
            columns = np.repeat(np.arange(shape[1]), np.diff(edge.indptr))
            data = np.where(allowed[edge.indices, columns], edge.data, -np.inf)
            edge = sparse.csc_array((data, edge.indices, edge.indptr), shape=shape)
        return edge

    def _boundary(self, name, scores, allowed):
        if scores is None and allowed is None:
            return None
        row = np.zeros(self.n_labels) if scores is None else real_array(scores, name)
        if row.shape != (self.n_labels,):
            raise ValueError(f"{name} must have shape {(self.n_labels,)}, found {row.shape}")
        if np.isnan(row).any() or np.isposinf(row).any():
            raise ValueError(f"{name} must not contain NaN or +inf, found {shortened(row)}")
        return row if allowed is None else np.where(allowed, row, -np.inf)

    def named(self, codes):
        """Return the labels of columns of the node scores."""
        return codes if self.classes is None else self.classes[codes]

    def check_length(self, node, name):
        """Raise ValueError unless a chain has one table, or one for each of its transitions."""
        if sparse.issparse(self.edge) or self.edge.ndim == 2 or len(node) == 0:
            return
        if len(self.edge) != len(node) - 1:
            K = self.n_labels
            raise ValueError(
                f"edge_scores must have shape {(K, K)} or {(len(node) - 1, K, K)} for {name} of "
                f"shape {node.shape}; found {self.edge.shape}"
            )

    def with_ends(self, node):
        """Return node scores with those of the boundaries added."""
        if any(row is not None for row in (self.start, self.end)):
            node = np.array(node, dtype=np.float64)
            for t, row in zip((0, -1), (self.start, self.end)):
                node[t] += 0 if row is None else row
        return node
