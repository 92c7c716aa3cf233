"""The transitions allowed by a function, for files that cannot contain the function."""

import pickle

import numpy as np

from sstruct._checks.shown import shortened
from sstruct._estimators.chain.chain_state import MASKS
from sstruct._estimators.core.fitted_state import CheckedState, FittedState, Labels

EDGES, BOUNDARIES = MASKS


class ResolvedMask(CheckedState):
    """A function of two labels that returns the recorded results of another function.

    Parameters
    ----------
    classes : ndarray of shape (K,)
        All labels.
    edges : ndarray of bool of shape (K, K)
        Whether the second label may follow the first.
    boundaries : ndarray of bool of shape (2, K)
        Which labels may start, and end, a sequence.
    """

    _fitted_state = FittedState(
        {"classes": Labels(size="K"), "edges": EDGES, "boundaries": BOUNDARIES}
    )

    def __init__(self, classes: np.ndarray, edges: np.ndarray, boundaries: np.ndarray) -> None:
        self.classes, self.edges, self.boundaries = classes, edges, boundaries

    def __call__(self, before, after):
        code = {label: k for k, label in enumerate(self.classes.tolist())}
        for label in (before, after):
            if label is not None and label not in code:
                raise ValueError(
                    f"label {shortened(label)} is not one of the labels of the fit that this "
                    "transition_mask was saved with; set transition_mask again"
                )
        if before is None:
            return bool(self.boundaries[0, code[after]])
        if after is None:
            return bool(self.boundaries[1, code[before]])
        return bool(self.edges[code[before], code[after]])

    def __repr__(self):
        return f"<transition_mask of a saved fit, for {len(self.classes)} labels>"


def is_importable(function):
    """Whether a function can be imported by another program, by its module and name."""
    if getattr(function, "__module__", None) == "__main__":
        return False
    try:
        pickle.dumps(function)
    except Exception:  # pickling an object may raise anything
        return False
    return True


def without_functions(mask, transitions, attributes):
    """Return the parameters to store in place of functions that cannot be imported.

    mask, transitions : the parameters `transition_mask` and `transitions`
    attributes : fitted attributes
    """
    stored = {}
    if callable(mask) and not is_importable(mask):
        resolved = ResolvedMask(attributes["classes_"], *attributes["_masks"])
        stored["transition_mask"] = resolved
    if callable(transitions) and not is_importable(transitions):
        groups = attributes.get("transition_groups_")
        stored["transitions"] = True if groups is None else groups
    return stored
