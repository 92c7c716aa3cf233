"""Arguments of MultilabelProblem, validated and converted to the layout of its compiled code."""

from functools import lru_cache

import numpy as np

from sstruct._checks.arrays import contiguous
from sstruct._problems.core._node_arguments import shaped
from sstruct._problems.core.weight_layout import WeightLayout, dense_block, label_blocks


@lru_cache
def label_set_layout(n_labels, n_features, bias, n_edges, full, scored=False):
    """Return the WeightLayout of a model of label sets.

    n_features : number of features that are not scores of the labels
    full : whether each edge has 4 weights
    scored : whether there are scores of the labels
    """
    axes, shape = ("edge",), (n_edges,)
    if full:
        axes, shape = (*axes, "value", "other_value"), (*shape, 2, 2)
    edge = dense_block(axes, shape)
    return WeightLayout({**label_blocks(n_labels, n_features, bias, scored), "edge": edge})


def check_label_lists(first, labels, n_rows, n_labels):
    """Return boundaries of the rows' labels, int64 (n_rows + 1,), and all labels, int32.

    Raises
    ------
    ValueError
        If they do not define one ascending list per row, or a label is not in 0 ... n_labels - 1.
    """
    first = contiguous(first, dtype=np.int64)
    labels = contiguous(labels, dtype=np.int32)
    if first.shape != (n_rows + 1,) or labels.ndim != 1:
        raise ValueError(
            f"label lists have shapes {first.shape} and {labels.shape}, expected {n_rows} rows"
        )
    if first[0] != 0 or (np.diff(first) < 0).any() or first[-1] != len(labels):
        raise ValueError(f"the boundaries of label lists do not divide {len(labels)} labels")
    if len(labels) and (labels.min() < 0 or labels.max() >= n_labels):
        raise ValueError(
            f"labels must be between 0 and {n_labels - 1}, found {labels.min()} to {labels.max()}"
        )
    descends = np.diff(labels) <= 0
    borders = first[1:-1]
    descends[borders[(borders > 0) & (borders < len(labels))] - 1] = False
    if descends.any():
        row = np.searchsorted(first, np.flatnonzero(descends)[0], side="right") - 1
        raise ValueError(f"the labels of row {row} are not ascending")
    # Never empty, so that its address exists.
    return first, labels if len(labels) else np.zeros(1, dtype=np.int32)


def check_label_costs(cost, n_labels):
    """Return the costs of errors at labels that are off and on, float64 (2, n_labels)."""
    if cost is None:
        return np.ones((2, n_labels))
    cost = shaped(cost, (2, n_labels), np.float64, "cost")
    wrong = cost[~(np.isfinite(cost) & (cost >= 0))]
    if len(wrong):
        raise ValueError(f"cost must be finite and nonnegative, found {wrong[0]}")
    return cost
