"""Scores of alignments, and the best alignment."""

from functools import lru_cache

import numpy as np

from sstruct._estimators.matching.matching_oracle import MatchingOracle
from sstruct._oracles.alignment._alignment import best_alignment
from sstruct._problems.core.weight_layout import WeightLayout, dense_block


@lru_cache
def alignment_layout(n_features, n_symbol_pairs, bias, symmetric):
    """Return the WeightLayout of a model."""

    def table(axis, n):
        return dense_block((axis,), (n,)) if n else (0,)

    gaps = dense_block((None if symmetric else "sequence",), (1 if symmetric else 2,))
    return WeightLayout(
        {
            "coef": table("feature", n_features),
            "substitution": table("symbols", n_symbol_pairs),
            "intercept": dense_block((None,), (1,)) if bias else (1,),
            # The structure relies on the position of these two at the end.
            "gap_open": gaps,
            "gap_extend": gaps,
        }
    )


# Tables of pairs of symbols take up to 1 GiB, and indices fit in int32.
MAX_SYMBOLS = 2**14


@lru_cache(maxsize=2)
def symbol_pairs(n_symbols, symmetric):
    """Return the index of the weight of each pair of symbols, and the number of weights.

    An array (S + 1, S + 1). The last row and column, selected by the code -1, are for unknown
    symbols; their index is the number of weights.
    """
    S = n_symbols
    if S > MAX_SYMBOLS:
        raise ValueError(
            f"the sequences have {S} distinct symbols, expected at most {MAX_SYMBOLS}, since each "
            "pair has a weight; replace rare symbols by a common one, or pass features of pairs"
        )
    index = np.arange(S * S, dtype=np.int32).reshape(S, S)
    if symmetric:
        rows, columns = np.triu_indices(S)
        index[rows, columns] = index[columns, rows] = np.arange(len(rows))
    n = S * (S + 1) // 2 if symmetric else S * S
    table = np.full((S + 1, S + 1), n, dtype=np.int32)
    table[:S, :S] = index
    table.flags.writeable = False  # shared by all calls
    return table, n


def gap_counts(columns, n_columns, local):
    """Return the number of gaps of each sequence, and of their positions after the first one.

    Two arrays (2,): for the first sequence, whose positions are rows, and the second one.
    """
    rows = np.flatnonzero(columns >= 0)
    pairs = np.stack([rows, columns[rows]])
    if not local:
        ends = [len(columns)], [n_columns]
        pairs = np.hstack([[[-1], [-1]], pairs, ends])
    lengths = np.diff(pairs) - 1
    n_gaps = np.count_nonzero(lengths, axis=1)
    return n_gaps, lengths.sum(axis=1) - n_gaps


class AlignmentOracle(MatchingOracle):
    """Oracle whose samples are AlignmentSamples; a labeling is a Matching of increasing columns.

    Parameters
    ----------
    layout : WeightLayout
    pairs : ndarray of int
        Result of `symbol_pairs`.
    local : bool
    """

    def __init__(self, layout, pairs, local):
        self._layout, self.tables = layout, list(layout.blocks)
        self.pairs, self.local = pairs, local

    def joint_feature(self, x, y):
        """Return the features of an alignment."""
        phi = np.zeros(self._layout.size)
        views = self._layout.views(phi)
        rows = np.flatnonzero(y.columns >= 0)
        columns = y.columns[rows]
        if "coef" in views:
            views["coef"][...] = x.features[rows, columns].sum(axis=0)
        if "substitution" in views:
            found = self.pairs[x.first[rows], x.second[columns]]
            n = len(views["substitution"])
            views["substitution"][...] = np.bincount(found, minlength=n)[:n]
        if "intercept" in views:
            views["intercept"][...] = len(rows)
        for name, counts in zip(
            ("gap_open", "gap_extend"), gap_counts(y.columns, x.shape[1], self.local)
        ):
            views[name][...] = counts.sum() if len(views[name]) == 1 else counts
        return phi

    def best(self, gain, w, known=None):
        """Return the columns of the best alignment, given the scores of pairs."""
        views = self._layout.views(w)
        gaps = [np.broadcast_to(views[name], 2) for name in ("gap_open", "gap_extend")]
        known = None if known is None else np.ascontiguousarray(known, dtype=np.int32)
        return best_alignment(gain, *gaps, self.local, known)[0]

    def _gains(self, x, views):
        gain = np.zeros(x.shape)
        if "coef" in views:
            gain += x.features @ views["coef"]
        if "substitution" in views:
            pair_weights = np.append(views["substitution"], 0.0)[self.pairs]
            gain += pair_weights[x.first][:, x.second]
        if "intercept" in views:
            gain += views["intercept"]
        return gain
