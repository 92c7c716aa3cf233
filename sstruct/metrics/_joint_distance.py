"""Distance of predicted joints from the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sstruct._estimators.tree.tree_samples import pack_states, pack_trees
from sstruct._input.ragged import NoNodesError, check_weights


def mean_joint_distance(
    X: Sequence[dict[str, Any]],
    y_true: Sequence[ArrayLike],
    y_pred: Sequence[ArrayLike],
    *,
    sample_weight: ArrayLike | None = None,
    ignore_label: int | None = -1,
) -> float:
    """Mean distance between predicted and true locations of parts, relative to the sample's scale.

    Parameters
    ----------
    X : list of n dicts
        As in :class:`sstruct.TreeSSVM`; only the locations of states and ``scale`` (default 1) are
        used.
    y_true, y_pred : list of n int arrays of shape (P,)
        States of the parts.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples.
    ignore_label : int or None, default=-1
        Parts with this true state are ignored.

    Returns
    -------
    distance : float
        ``sum_i s_i d_i / sum_i s_i P_i`` for sample weights s_i, P_i annotated parts and the sum
        d_i of their distances, divided by the scale. Lower is better.

    Examples
    --------
    >>> import numpy as np
    >>> from sstruct.metrics import mean_joint_distance
    >>> X = [{"features": np.zeros((2, 4, 5, 1)), "scale": 2.0}]
    >>> mean_joint_distance(X, [[0, 19]], [[4, 19]])
    1.0
    """
    trees = pack_trees(X, None)
    truth = pack_states(y_true, trees, ignore_label)
    weights = check_weights(sample_weight, len(trees))[:, np.newaxis] * (truth >= 0)
    if not weights.any():
        raise NoNodesError("y_true has no annotated part in any sample with positive weight")
    predicted = trees.places(pack_states(y_pred, trees, None))
    distance = np.linalg.norm(np.nan_to_num(trees.places(truth)) - predicted, axis=-1)
    return float(np.average(distance / trees.scale[:, np.newaxis], weights=weights))
