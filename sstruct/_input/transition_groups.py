"""Groups of transitions that share a weight, given by the parameter `transitions`."""

import numpy as np

from sstruct._checks.arrays import array_of, first_true, is_sized
from sstruct._input.labels import shortened

ARRAY = "an array of integers"


def is_function(transitions):
    """Return whether `transitions` is a function of two labels."""
    return callable(transitions) and not isinstance(transitions, type)


def check_transitions(transitions):
    """Raise TypeError or ValueError if groups of transitions are invalid for all label sets."""
    if is_function(transitions):
        return
    if isinstance(transitions, str) or not is_sized(transitions):
        raise ValueError(
            f"transitions must be True, False, {ARRAY} of shape (K, K) or a function of two "
            f"labels, found {shortened(transitions)}"
        )
    _group_array(transitions)


def transition_groups(transitions, classes, edge_mask):
    """Convert the parameter `transitions` to groups, unless it is True or False.

    Parameters
    ----------
    transitions : array-like of int or callable
        After ``check_transitions``.
    classes : ndarray of shape (K,)
    edge_mask : ndarray of bool of shape (K, K), or None
        A function is not called for forbidden transitions, which have no weight.

    Returns
    -------
    groups : ndarray of int32 of shape (K, K)
        Group of each transition, -1 if it has no weight. The groups of a function are numbered in
        the order of the first transition, row by row; if it returns a different group for each
        transition, they are numbered as the weights of untied transitions.

    Raises
    ------
    ValueError, TypeError
        If an array has the wrong shape, or a group of a function is not hashable.
    """
    K = len(classes)
    if is_function(transitions):
        return _groups_of_function(transitions, classes.tolist(), edge_mask)
    groups = _group_array(transitions)
    if groups.shape != (K, K):
        raise ValueError(
            f"transitions has shape {groups.shape}, expected {(K, K)} for the {K} classes "
            f"{shortened(classes.tolist())}"
        )
    return groups


def are_untied(groups):
    """Return whether each transition has its own group, numbered as untied transitions."""
    return np.array_equal(groups.ravel(), np.arange(groups.size))


def _group_array(transitions):
    """Return an array of groups as int32, after validating everything except its size."""
    groups = array_of(transitions, "transitions", ARRAY)
    if groups.ndim != 2 or groups.shape[0] != groups.shape[1] or groups.size == 0:
        raise ValueError(f"transitions has shape {groups.shape}, expected (K, K) for K classes")
    if groups.dtype.kind not in "iu":
        hint = "; a bool array of allowed transitions is transition_mask"
        raise ValueError(
            f"transitions has dtype {groups.dtype}, expected integers, the group of each transition"
            f"{hint if groups.dtype == bool else ''}"
        )
    wrong = np.argwhere(groups < -1)
    if len(wrong):
        j, k = wrong[0].tolist()
        raise ValueError(
            f"transitions[{j}, {k}] is {groups[j, k]}, expected a nonnegative group number, or "
            "-1 for a transition without a weight"
        )
    found = np.unique(groups[groups >= 0])
    gap = first_true(found != np.arange(len(found), dtype=found.dtype))
    if gap is not None:
        raise ValueError(
            f"transitions has group {found[gap]}, but not group {gap}; number groups from "
            "0 on without gaps"
        )
    return groups.astype(np.int32, order="C")


def _groups_of_function(function, labels, edge_mask):
    K, numbers = len(labels), {}
    groups = np.full((K, K), -1, dtype=np.int32)
    allowed = np.ones((K, K), dtype=bool) if edge_mask is None else edge_mask
    pairs = np.argwhere(allowed).tolist()
    for j, k in pairs:
        group = _called(function, labels[j], labels[k])
        if group is not None:
            groups[j, k] = numbers.setdefault(group, len(numbers))
    if len(numbers) == len(pairs):  # no transition is tied to another one
        return np.arange(K * K, dtype=np.int32).reshape(K, K)
    return groups


def _called(function, a, b):
    """Call the function for two labels; add a note to its exceptions."""
    try:
        group = function(a, b)
    except Exception as error:
        error.add_note(f"raised by transitions({shortened(a)}, {shortened(b)})")
        raise
    try:
        hash(group)
    except TypeError:
        raise TypeError(
            f"transitions({shortened(a)}, {shortened(b)}) is {shortened(group)}, expected a "
            "hashable group, such as a string, or None for a transition without a weight"
        ) from None
    return group
