"""The content of an exported model, sufficient for prediction in other languages."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sstruct._checks.shown import plain, shortened

# Larger integers are not exact in JavaScript.
LARGEST_INTEGER = 2**53 - 1


@dataclass(frozen=True, kw_only=True)
class ExportedModel:
    """Arrays and names of a linear model with F features and K classes.

    Attributes
    ----------
    kind : str
        "chain", "classes" or "label sets".
    classes : list or ndarray of K labels
    weights : ndarray of shape (F, K)
    intercept : ndarray of shape (K,)
    features : list of str or None
        Names of the features.
    start, end : ndarray of shape (K,)
        For chains only, like the transitions and allowed labels below.
    transitions : ndarray of shape (K, K) or None
    allowed_next, allowed_boundaries : ndarray of bool of shape (K, K) and (2, K), or None
    vectorizer : dict or None
        How feature dicts are converted to names of features.
    center, scale : ndarray of shape (F,) or None
        A feature x is replaced by (x - center) / scale.
    """

    kind: str
    classes: list
    weights: np.ndarray
    intercept: np.ndarray
    features: list | None
    start: np.ndarray | None = None
    end: np.ndarray | None = None
    transitions: np.ndarray | None = None
    allowed_next: np.ndarray | None = None
    allowed_boundaries: np.ndarray | None = None
    vectorizer: dict[str, Any] | None = None
    center: np.ndarray | None = None
    scale: np.ndarray | None = None


def linear_model(kind, model, **others):
    """Return the ExportedModel of a FittedModel, with the attributes of other terms."""
    names = model.get("feature_names_in_")
    return ExportedModel(
        kind=kind,
        classes=model.classes_,
        weights=np.ascontiguousarray(model.node_coef().T),
        intercept=np.array(model.table("intercept")),
        features=None if names is None else [str(name) for name in names],
        **others,
    )


def exported_classes(classes):
    """Return classes as a list of str, int and bool; raise ValueError for others."""
    found = [str(label) if isinstance(label, str) else plain(label) for label in classes]
    for label in found:
        if type(label) not in (str, int, bool):
            raise ValueError(
                f"classes_ contains {shortened(label)}, of type {type(label).__name__}, but only "
                "strings, integers and booleans can be exported; encode the labels as strings "
                "before the fit"
            )
        if type(label) is int and abs(label) > LARGEST_INTEGER:
            raise ValueError(
                f"classes_ contains {label}, but integers beyond 2^53 cannot be exported; encode "
                "the labels as strings before the fit"
            )
    return found
