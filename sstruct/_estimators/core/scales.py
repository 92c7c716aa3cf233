"""How large features are: what tells that they should be scaled."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

# Entries of dense rows that are squared at a time: a cache's size, no float64 copy of all.
AT_ONCE = 2**17


@dataclass(frozen=True)
class Scales:
    """The scales of some features.

    Attributes
    ----------
    scale : ndarray of shape (F,)
        Root of the mean square of each feature's values that are not 0; 0 where all are. Rare
        features, such as words, are as large as frequent ones by this, and ones have 1.
    median : float
        That of the features that are not always 0, the lower one of two: of two features the
        large one stands out.
    largest : int
        Index of the feature with the largest scale.
    """

    scale: np.ndarray
    median: float
    largest: int

    @classmethod
    def of(cls, *rows):
        """Take the features of one or more arrays, one after another; None where all are 0."""
        scale = np.concatenate([_column_scales(X) for X in rows])
        known = np.sort(scale[scale > 0])
        if len(known) == 0:
            return None
        return cls(scale, float(known[(len(known) - 1) // 2]), int(scale.argmax()))

    @property
    def ratio(self):
        """The largest scale by the median one."""
        return float(self.scale[self.largest] / self.median)


def _column_scales(X):
    """Root mean square of the entries of each column that are not 0. O(entries stored)."""
    n_features = X.shape[1]
    square, count = np.zeros(n_features), np.zeros(n_features, dtype=np.int64)
    with np.errstate(over="ignore", under="ignore"):
        if sparse.issparse(X):
            if (X.data == 1).all():
                count += np.bincount(X.indices, minlength=n_features)
                return (count > 0).astype(np.float64)
            values = X.data.astype(np.float64, copy=False)
            square += np.bincount(X.indices, weights=values * values, minlength=n_features)
            count += np.bincount(X.indices[values != 0], minlength=n_features)
        else:
            step = max(AT_ONCE // n_features, 1)
            for first in range(0, len(X), step):
                part = X[first : first + step].astype(np.float64, copy=False)
                square += np.einsum("ij,ij->j", part, part)
                count += np.count_nonzero(part, axis=0)
        return np.sqrt(square / np.maximum(count, 1))
