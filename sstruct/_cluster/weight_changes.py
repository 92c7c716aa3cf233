"""Weights for several receivers, which receive only the changes since their last updates."""

import numpy as np

from sstruct._kernels.compact import CHANGED, WHOLE
from sstruct._problems.custom.oracle_calls import frozen


class WeightChanges:
    """The weights of a sender, with the version in which each weight last changed.

    Parameters
    ----------
    n_weights : int
    """

    def __init__(self, n_weights):
        self.w, self.version = np.empty(0), 0
        self.changed = np.ones(n_weights, dtype=np.int64)

    def update(self, w):
        """Set the current weights; return their version, which is unchanged if no bit changed."""
        if w is self.w:
            return self.version
        if self.version == 0:
            self.version = 1
        else:
            new = w.view(np.int64) != self.w.view(np.int64)
            if new.any():
                self.version += 1
                self.changed[new] = self.version
        self.w = w
        return self.version

    def since(self, version):
        """Return the indices and values of changes since a version.

        The index is None, and the values are all weights, if the version is 0 or if the changes
        take as much memory as all weights.
        """
        index = np.flatnonzero(self.changed > version)
        if version == 0 or CHANGED * len(index) >= WHOLE * len(self.w):
            return None, self.w
        return index.astype(np.int32), self.w[index]


class ReceivedWeights:
    """The weights of a receiver, updated by the changes that a `WeightChanges` returns.

    Parameters
    ----------
    in_place : bool
        Whether `update` writes changes to the array `w`. Otherwise, and if it gets all weights, it
        creates a new array, so that references to an earlier `w` remain valid.
    """

    def __init__(self, in_place=False):
        self.in_place = in_place
        self.w, self.version = None, 0

    def update(self, version, since, index, values):
        """Apply the result of ``WeightChanges.since``; return whether `w` now has the new version.

        If not, the sender must send all weights.
        """
        if index is None:
            self.w = values.copy() if self.in_place else frozen(values)
        elif since <= self.version < version:
            w = self.w if self.in_place else self.w.copy()
            w[index] = values
            self.w = w if self.in_place else frozen(w)
        elif self.version != version:
            return False
        self.version = version
        return True
