"""Scores of matchings, and the best matching by linear assignment."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from sstruct._problems.core.weight_layout import WeightLayout, dense_block

# Time of a call in nanoseconds for ten rows and columns.
WORK = 1e5


@lru_cache
def matching_layout(n_features, n_row_features, n_column_features, bias):
    """Return the WeightLayout of a model."""

    def table(axis, n):
        return dense_block((axis,), (n,)) if n else (0,)

    return WeightLayout(
        {
            "coef": table("feature", n_features),
            "unmatched_row": table("row_feature", n_row_features),
            "unmatched_column": table("column_feature", n_column_features),
            "intercept": dense_block((None,), (1,)) if bias else (1,),
        }
    )


class Matching(NamedTuple):
    """A labeling of the oracle.

    columns : the column of each row, -1 if unmatched
    costs : of a true matching, the cost of a wrong column of each row
    """

    columns: np.ndarray
    costs: np.ndarray | None


class MatchingOracle:
    """Oracle whose samples are PairSamples.

    Parameters
    ----------
    layout : WeightLayout
    allow_unmatched : bool
        If False, matchings have as many pairs as rows or columns, whichever is less.
    """

    work = WORK

    def __init__(self, layout, allow_unmatched):
        self._layout, self.tables = layout, list(layout.blocks)
        self.allow_unmatched = allow_unmatched

    def joint_feature(self, x, y):
        """Return the features of a matching."""
        phi = np.zeros(self._layout.size)
        rows, is_free = np.flatnonzero(y.columns >= 0), np.ones(x.shape[1], dtype=bool)
        columns = y.columns[rows]
        is_free[columns] = False
        pairs = np.searchsorted(x.places, rows * x.shape[1] + columns)
        sums = {
            "coef": x.features[pairs].sum(axis=0),
            "unmatched_row": x.row_features[y.columns < 0].sum(axis=0),
            "unmatched_column": x.column_features[is_free].sum(axis=0),
            "intercept": [x.shape[0] - len(rows)],
        }
        for name, table in self._layout.views(phi).items():
            table[...] = sums[name]
        return phi

    def loss(self, y_true, y):
        """Return the sum of the costs of rows with a wrong column."""
        return float(y_true.costs @ (y_true.columns != y.columns))

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        """Return the best Matching, with the loss if `y_true` is given."""
        gain = self.gains(x, w)
        if y_true is not None:
            # The loss of a pair minus the loss of its row without a match.
            rows, cost = np.flatnonzero(y_true.columns >= 0), loss_weight * y_true.costs
            gain += np.where(y_true.columns < 0, cost, 0)[:, np.newaxis]
            gain[rows, y_true.columns[rows]] -= cost[rows]
        return Matching(self.best(gain, w), None)

    def best(self, gain, w, known=None):
        """Return the columns with the largest sum of gains; see `best_columns`."""
        return best_columns(gain, self.allow_unmatched, known)

    def gains(self, x, w):
        """Return the score of each pair minus the scores of its row and column if unmatched.

        An array (n_rows, n_columns), with -inf for other pairs.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            gain = self._gains(x, self._layout.views(w))
        if not np.isfinite(gain.ravel()[x.places]).all():
            raise ValueError(
                "the scores of pairs exceed the range of float64; rescale the features"
            )
        return gain

    def _gains(self, x, views):
        gain = np.full(x.shape[0] * x.shape[1], -np.inf)
        gain[x.places] = x.features @ views["coef"]
        gain = gain.reshape(x.shape)
        if "unmatched_row" in views:
            gain -= (x.row_features @ views["unmatched_row"])[:, np.newaxis]
        if "unmatched_column" in views:
            gain -= x.column_features @ views["unmatched_column"]
        if "intercept" in views:
            gain -= views["intercept"]
        return gain


def best_columns(gain, allow_unmatched, known=None):
    """Return the matching with the largest sum of gains.

    Parameters
    ----------
    gain : ndarray of shape (n_rows, n_columns)
        Gain of each pair over leaving its row and column unmatched; -inf if not allowed.
    allow_unmatched : bool
        If False, the number of pairs is the smaller number of rows and columns.
    known : ndarray of int of shape (n_rows,), optional
        Known columns, -1 for rows that are known to be unmatched, -2 for unknown rows. Known pairs
        must be allowed and have different columns.

    Returns
    -------
    ndarray of int32 of shape (n_rows,)
        Column of each row, -1 if unmatched.

    Raises
    ------
    ValueError
        If there is no such matching.

    Notes
    -----
    O(a^2 b) for the smaller number a of rows and columns and the larger number b.
    """
    n_rows, n_columns = gain.shape
    known = np.full(n_rows, -2) if known is None else known
    rows, is_free = np.flatnonzero(known == -2), np.ones(n_columns, dtype=bool)
    is_free[known[known >= 0]] = False
    columns = np.flatnonzero(is_free)
    found = np.maximum(known, -1).astype(np.int32)
    rest = gain[np.ix_(rows, columns)]
    if allow_unmatched:
        # A pair without a gain stands for a row and a column that are unmatched.
        first, second = linear_sum_assignment(np.maximum(rest, 0), maximize=True)
        chosen = rest[first, second] > 0
        first, second = first[chosen], second[chosen]
    else:
        try:
            first, second = linear_sum_assignment(rest, maximize=True)
        except ValueError:  # no matching of this size has only allowed pairs
            first = second = np.empty(0, dtype=np.intp)
    found[rows[first]] = columns[second]
    size = min(n_rows, n_columns)
    if not allow_unmatched and np.count_nonzero(found >= 0) < size:
        raise ValueError(
            f"the pairs allow no matching of {size} pairs; set allow_unmatched=True before fit"
        )
    return found
