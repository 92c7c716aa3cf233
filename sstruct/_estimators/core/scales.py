"""Measure the scales of features, to warn if they should be scaled."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

# Number of entries of dense rows squared in one chunk, which fits the cache and avoids a full copy.
AT_ONCE = 2**17


@dataclass(frozen=True)
class Scales:
    """The scales of some features.

    Attributes
    ----------
    scale : ndarray of shape (F,)
        Root mean square of the nonzero values of each feature; 0 if all are 0. By this measure,
        rare features such as words are as large as frequent ones, and indicators have scale 1.
    median : float
        Lower median over the features that are not always 0, so that the larger one of two
        features is an outlier.
    largest : int
        Index of the feature with the largest scale.
    """

    scale: np.ndarray
    median: float
    largest: int

    @classmethod
    def from_arrays(cls, *arrays):
        """Return the Scales of the columns of one or more arrays, or None if all are 0."""
        scale = np.concatenate([_column_scales(X) for X in arrays])
        known = np.sort(scale[scale > 0])
        if len(known) == 0:
            return None
        return cls(scale, float(known[(len(known) - 1) // 2]), int(scale.argmax()))

    @property
    def ratio(self):
        """The largest scale divided by the median one."""
        return float(self.scale[self.largest] / self.median)


def _column_scales(X):
    """Return the root mean square of the nonzero entries of each column, in O(nnz) time."""
    n_features = X.shape[1]
    square, count = np.zeros(n_features), np.zeros(n_features, dtype=np.int64)
    with np.errstate(over="ignore", under="ignore"):
        if sparse.issparse(X):
            step = max(AT_ONCE, n_features)
            for first in range(0, X.nnz, step):
                part = slice(first, first + step)
                columns, values = X.indices[part], X.data[part].astype(np.float64, copy=False)
                square += np.bincount(columns, weights=values * values, minlength=n_features)
                count += np.bincount(columns[values != 0], minlength=n_features)
        else:
            step = max(AT_ONCE // n_features, 1)
            for first in range(0, len(X), step):
                part = X[first : first + step].astype(np.float64, copy=False)
                square += np.einsum("ij,ij->j", part, part)
                # Counting in each column takes longer.
                count += len(part) if part.all() else np.count_nonzero(part, axis=0)
        return np.sqrt(square / np.maximum(count, 1))
