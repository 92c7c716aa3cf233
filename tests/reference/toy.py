"""The toy problem of "Minding the Gaps" (ICML 2016, appendix C) with one difficult block.

Every block has labels 0 (the truth) to K, with loss 1 for each wrong label, and d = K + 1. The
planes of block 0, the hard one, are psi(k) = e_k / sqrt(2), which are orthogonal; all planes of an
easy block are e_{K+1}. With lam = 1/n and uniform weights the problem decouples. One step on any
easy block solves all of them. On the hard block t Frank-Wolfe steps reach at most t vertices of the
simplex, so the gap is at least 1 / (2 n t) for t < K; with exact line search it is exactly that.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Toy:
    planes: np.ndarray  # (n (K + 1), K + 1)
    losses: np.ndarray  # (n (K + 1),)
    offsets: np.ndarray  # (n + 1,)
    lam: float
    block_weight: np.ndarray  # (n,)
    w: np.ndarray  # optimal weights
    optimum: float


def toy(n_blocks=50, n_labels=500):
    """Return arguments of EnumeratedProblem with `n_labels` wrong labels per block."""
    n, K = n_blocks, n_labels
    planes = np.zeros((n, K + 1, K + 1))
    planes[0, 1:, :K] = np.eye(K) / np.sqrt(2)
    planes[1:, 1:, K] = 1
    losses = np.ones((n, K + 1))
    losses[:, 0] = 0
    # alpha_0(k) = 1/K: w* = sum_k e_k / (K sqrt(2)) + e_{K+1} (the paper omits the root), and
    # P(w*) = lam/2 (1/(2K) + 1) + (1 - 1/(2K)) / n, to which the easy blocks add no loss.
    w = np.full(K + 1, 1 / (K * np.sqrt(2)))
    w[K] = 1
    return Toy(
        planes=planes.reshape(-1, K + 1),
        losses=losses.reshape(-1),
        offsets=np.arange(n + 1) * (K + 1),
        lam=1 / n,
        block_weight=np.full(n, 1 / n),
        w=w,
        optimum=(1.5 - 1 / (4 * K)) / n,
    )
