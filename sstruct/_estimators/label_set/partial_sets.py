"""Validate labels known to be on or off, and add their consequences in a hierarchy."""

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import is_sized
from sstruct._estimators.label_set.interactions import label_decoder
from sstruct._input.indicator import check_label_names
from sstruct._input.partial import check_samples, known_codes, known_numbers
from sstruct._oracles.label_set._set_decoder import nearest_sets


def known_sets(y_partial, n_rows, classes):
    """Return known labels as int32 (n_rows, K): 1 if on, 0 if off, -1 if unknown."""
    check_label_names(y_partial, classes, "y_partial")
    if sparse.issparse(y_partial):
        raise TypeError(
            "y_partial is sparse, and its zeros would be labels known to be off; expected a dense "
            "array with -1 for unknown labels"
        )

    def expected(i, k):
        return f"y_partial[{i}] of label {k}", "0 or 1"

    return known_numbers(y_partial, np.full((n_rows, len(classes)), 2), None, expected)


def close_hierarchy(known, parents, name="y_partial"):
    """Turn on the ancestors of labels that are on, and turn off descendants of labels that are off.

    Raises
    ------
    ValueError
        If a label is on and one of its ancestors is off.
    """
    out = known.copy()
    for k in range(len(parents)):
        above = parents[k]
        while above >= 0:
            lacking = np.flatnonzero((known[:, k] == 1) & (known[:, above] == 0))
            if len(lacking):
                raise ValueError(
                    f"{name}[{lacking[0]}] has label {k} on and its ancestor {above} off, "
                    "expected a set with all ancestors of its labels"
                )
            out[known[:, k] == 1, above] = 1
            out[known[:, above] == 0, k] = 0
            above = parents[above]
    return out


def inner_sets(sets, parents):
    """Remove labels whose ancestors are missing from sets, which are (n, K) arrays of 0 and 1."""
    out = sets.copy()
    for k in range(len(parents)):
        above = parents[k]
        while above >= 0:
            out[:, k] &= sets[:, above]
            above = parents[above]
    return out


def satisfying_sets(constraints, sets, known=None):
    """Return, for each set, one that satisfies the constraints with the fewest differences from it.

    constraints : as returned by `constraint_rows`; known : (n, K), 1 or 0 for labels that must be
    on or off, -1 for others; None if all labels may change
    """
    K = sets.shape[1]
    decoder = label_decoder("exact", K, None, None, constraints=constraints)
    return nearest_sets(decoder, sets, known)


def valid_sets(model, sets):
    """Return sets that agree with the hierarchy or the constraints of a model, if it has any."""
    parents, constraints = model._model["parents"], model._model["constraints"]
    if parents is not None:
        return inner_sets(sets, parents)
    return sets if constraints is None else satisfying_sets(constraints, sets) > 0


def best_classes(scores, y_partial, rows, classes):
    """Return the best label of each row among the labels that `y_partial` allows.

    scores : (n, K); y_partial : labels, or which labels are on and off, (n, K)
    """
    if not _is_sets(y_partial):
        known = known_codes(y_partial, rows, classes, None)
        return np.where(known >= 0, known, scores.argmax(axis=1))
    known = known_sets(y_partial, len(scores), classes)
    n_on = (known == 1).sum(axis=1)
    wrong = np.flatnonzero((n_on > 1) | (known == 0).all(axis=1))
    if len(wrong):
        found = f"{n_on[wrong[0]]} labels on" if n_on[wrong[0]] else "all labels off"
        raise ValueError(
            f"y_partial[{wrong[0]}] has {found}, expected at most one label on, and not all off, "
            "since each row has exactly one label"
        )
    allowed = np.where(n_on[:, np.newaxis] > 0, known == 1, known != 0)
    return np.where(allowed, scores, -np.inf).argmax(axis=1)


def _is_sets(y_partial):
    """Whether `y_partial` has rows of zeros and ones instead of one label per row."""
    if sparse.issparse(y_partial) or getattr(y_partial, "ndim", 1) == 2:
        return np.shape(y_partial)[1:] != (1,)
    return is_sized(y_partial) and any(
        isinstance(item, list | np.ndarray) for item in check_samples(y_partial, len(y_partial))
    )
