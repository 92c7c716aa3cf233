"""Nodes that several blocks contain, because windows of a sample overlap."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SharedNodes:
    """Copies of nodes in overlapping windows.

    Attributes
    ----------
    block : ndarray of int of shape (n_copies, 2)
        The block that contains the copy, and the block that contains the original node.
    position : ndarray of int of shape (n_copies, 2)
        The positions of the copy and of the original node in the labelings of these blocks.
    cost : ndarray of shape (n_copies,)
        Approximate loss of a wrong label of the node, positive.
    """

    block: np.ndarray
    position: np.ndarray
    cost: np.ndarray

    def by_block(self, n_blocks):
        """Return two ends for each copy, itself and the original node, sorted by block.

        Returns
        -------
        start : ndarray of int64 of shape (n_blocks + 1,)
            First end of each block.
        position : ndarray of int32 of shape (2 * n_copies,), or (1,) if there are no copies
        copy : ndarray of int64 of shape (2 * n_copies,)
            Index of the copy that each end belongs to.
        sign : ndarray of shape (2 * n_copies,)
            1 for copies and -1 for original nodes.
        """
        block = self.block.T.ravel()
        order = np.argsort(block, kind="stable")
        n = len(self.cost)
        start = np.searchsorted(block[order], np.arange(n_blocks + 1)).astype(np.int64)
        position = self.position.T.ravel()[order].astype(np.int32)
        # Never empty, so that its address exists.
        position = position if n else np.zeros(1, dtype=np.int32)
        return start, position, order % max(n, 1), np.where(order < n, 1.0, -1.0)
