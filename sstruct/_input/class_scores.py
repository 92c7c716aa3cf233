"""The parameter `class_scores`, which selects columns of X that are scores of the classes."""

import numpy as np

from sstruct._checks.arrays import array_of
from sstruct._checks.parameters import is_integer
from sstruct._checks.shown import shortened

# How the weight of the scores is chosen: learned, at least 0; or 1.
WEIGHTS = ("scale", "fixed")
FORMS = 'a slice, a list or array of column numbers or names, or a tuple ("fixed", columns)'


def parse_class_scores(class_scores):
    """Return how the weight is chosen, and the columns: a slice or a list.

    Raises
    ------
    TypeError, ValueError
        If the parameter has none of the valid forms.
    """
    weight, columns = "scale", class_scores
    if isinstance(columns, tuple):
        if len(columns) != 2 or not isinstance(columns[0], str):
            raise _wrong_form(class_scores)
        weight, columns = columns
        if weight not in WEIGHTS:
            raise ValueError(
                f"class_scores[0] must be 'scale' or 'fixed', found {shortened(weight)}"
            )
    if isinstance(columns, slice):
        for part in (columns.start, columns.stop, columns.step):
            if not (part is None or is_integer(part)):
                raise TypeError(
                    f"class_scores={shortened(class_scores)}: slices must contain integers; "
                    "pass a list of names instead"
                )
        if columns.step is not None and int(columns.step) == 0:
            raise ValueError("the step of a slice in class_scores must not be 0")
        return weight, columns
    if not isinstance(columns, list):  # a list of numbers and strings would become strings
        array = array_of(columns, "class_scores", FORMS)
        columns = array.tolist() if array.ndim == 1 else [None]
    if not (all(map(is_integer, columns)) or all(isinstance(each, str) for each in columns)):
        raise _wrong_form(class_scores)
    return weight, columns


def score_columns(class_scores, nodes, classes):
    """Return the column of X with the scores of each class, int64 (K,).

    Parameters
    ----------
    class_scores : the parameter, not None
    nodes : Nodes
    classes : ndarray of shape (K,)

    Raises
    ------
    ValueError
        If there is not exactly one column of X for each class.
    """
    _, columns = parse_class_scores(class_scores)
    n_features, K = nodes.n_features, len(classes)
    if isinstance(columns, slice):
        columns = list(range(n_features)[columns])
    elif columns and isinstance(columns[0], str):
        columns = _numbers_of(columns, nodes.feature_names)
    if len(columns) != K:
        raise ValueError(
            f"class_scores selects {len(columns)} columns of X, but there are {K} classes: "
            f"{shortened(classes.tolist())}. Expected one column for each class, in this order; "
            "if some classes do not occur in y, set the parameter classes"
        )
    found = {}
    for k, column in enumerate(columns):
        if not -n_features <= column < n_features:
            raise ValueError(
                f"class_scores selects column {column}, but X has {n_features} features"
            )
        first = found.setdefault(int(column) % n_features, k)
        if first != k:
            raise ValueError(
                f"class_scores selects column {int(column) % n_features} twice, for the classes "
                f"{shortened(classes[first])} and {shortened(classes[k])}"
            )
    return np.array(list(found), dtype=np.int64)


def bounded_weight(class_scores, layout, bounds):
    """Return bounds of all weights that include those of the weight of the scores.

    Parameters
    ----------
    class_scores : the parameter
    layout : WeightLayout
    bounds : ndarray of shape (2, layout.size), or None
        The other bounds. Changed in place.
    """
    bounds = layout.unbounded() if bounds is None else bounds
    lower, upper = (layout.table(bound, "class_scores") for bound in bounds)
    own = (1.0, 1.0) if parse_class_scores(class_scores)[0] == "fixed" else (0.0, np.inf)
    if lower[0] > own[1] or upper[0] < own[0]:
        expected = "1" if own[1] == 1 else "at least 0"
        raise ValueError(
            f"bounds of the weight of class_scores are {lower[0]:g} and {upper[0]:g}, but this "
            f"weight is {expected}"
        )
    lower[0], upper[0] = max(lower[0], own[0]), min(upper[0], own[1])
    return bounds


def other_columns(columns, n_features):
    """Return a mask of the columns of X that are features, not scores of a class."""
    is_other = np.ones(n_features, dtype=bool)
    is_other[columns] = False
    return is_other


def _numbers_of(names, known):
    """Return the column numbers of names of features."""
    if known is None:
        raise ValueError(
            f"class_scores={shortened(names)} are names, but X has no feature names; pass column "
            "numbers, or X with names, such as data frames"
        )
    number = {name: k for k, name in enumerate(known)}
    for name in names:
        if name not in number:
            raise ValueError(
                f"class_scores contains {shortened(name)}, which is not a feature name of X; the "
                f"names are {shortened(list(known))}"
            )
    return [number[name] for name in names]


def _wrong_form(class_scores):
    return TypeError(f"class_scores must be {FORMS}, or None; found {shortened(class_scores)}")
