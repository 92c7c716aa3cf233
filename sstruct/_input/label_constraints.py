"""Constraints of label sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sstruct._checks.parameters import check_number
from sstruct._checks.shown import shortened
from sstruct._input.labels import check_label, label_list


@dataclass(frozen=True, repr=False)
class LabelConstraint:
    """A constraint of the labels of a set, made by a function of :mod:`sstruct.constraints`.

    The number of labels in `labels` that are on, minus the number of labels in `without` that are
    on, is between two bounds.

    Parameters
    ----------
    name : str
        How it was made, as it is shown.
    labels : tuple
        Labels that count 1.
    without : tuple
        Labels that count -1.
    least, most : int
        The bounds.

    Examples
    --------
    >>> from sstruct.constraints import implies
    >>> implies("poodle", "dog")
    implies('poodle', 'dog')
    """

    name: str
    labels: tuple
    without: tuple = ()
    least: int = 0
    most: int = 0

    def __repr__(self) -> str:
        return self.name


# After the dataclass, which evaluates annotations in the module of the class.
LabelConstraint.__module__ = "sstruct.constraints"  # import path for pickle and skops


def implies(label: Any, other: Any) -> LabelConstraint:
    """Return the constraint that a label is on only together with another one.

    Parameters
    ----------
    label, other : label
        Two different labels: names in ``classes_``, or numbers of columns of y without names. If
        `label` is on, `other` is on.

    Returns
    -------
    LabelConstraint
        For the parameter `constraints` of :class:`~sstruct.MultilabelSSVM`.

    Raises
    ------
    ValueError
        If the labels are equal.

    Examples
    --------
    >>> from sstruct import MultilabelSSVM
    >>> from sstruct.constraints import implies
    >>> X, Y = [[1.0, 0.1], [0.0, 1.0], [0.0, 0.0]], [[1, 1], [0, 1], [0, 0]]
    >>> model = MultilabelSSVM(constraints=[implies("poodle", "dog")], classes=["poodle", "dog"])
    >>> model.fit(X, Y).predict([[1.0, 0.0]]).tolist()
    [[1, 1]]
    """
    (label, other) = _different("implies", [label, other])
    return LabelConstraint(f"implies({label!r}, {other!r})", (label,), (other,), least=-1)


def excludes(label: Any, other: Any) -> LabelConstraint:
    """Return the constraint that two labels are not on together.

    Parameters
    ----------
    label, other : label
        Two different labels, as for :func:`implies`.

    Returns
    -------
    LabelConstraint
        For the parameter `constraints` of :class:`~sstruct.MultilabelSSVM`.

    Raises
    ------
    ValueError
        If the labels are equal.

    See Also
    --------
    at_most : For more than two labels.

    Examples
    --------
    >>> from sstruct.constraints import excludes
    >>> excludes("indoor", "beach")
    excludes('indoor', 'beach')
    """
    (label, other) = _different("excludes", [label, other])
    return LabelConstraint(f"excludes({label!r}, {other!r})", (label, other), most=1)


def exactly_one(labels: Sequence[Any]) -> LabelConstraint:
    """Return the constraint that exactly one of several labels is on.

    Parameters
    ----------
    labels : list of labels
        Different labels, as for :func:`implies`.

    Returns
    -------
    LabelConstraint
        For the parameter `constraints` of :class:`~sstruct.MultilabelSSVM`.

    Raises
    ------
    ValueError, TypeError
        If labels are equal, or there are none.

    Examples
    --------
    >>> from sstruct.constraints import exactly_one
    >>> exactly_one(["day", "night"])
    exactly_one(['day', 'night'])
    """
    labels = _different("exactly_one", labels)
    return LabelConstraint(f"exactly_one({list(labels)!r})", labels, least=1, most=1)


def at_most(n: int, labels: Sequence[Any]) -> LabelConstraint:
    """Return the constraint that at most n of several labels are on.

    Parameters
    ----------
    n : int
        The largest number, at least 0.
    labels : list of labels
        Different labels, as for :func:`implies`.

    Returns
    -------
    LabelConstraint
        For the parameter `constraints` of :class:`~sstruct.MultilabelSSVM`.

    Raises
    ------
    ValueError, TypeError
        If labels are equal, there are none, or n is not an integer of at least 0.

    Examples
    --------
    >>> from sstruct.constraints import at_most
    >>> at_most(2, range(5))
    at_most(2, [0, 1, 2, 3, 4])
    """
    labels = _different("at_most", labels)
    check_number("n", n, least=0, whole=True)
    return LabelConstraint(f"at_most({n}, {list(labels)!r})", labels, most=min(int(n), len(labels)))


def at_least(n: int, labels: Sequence[Any]) -> LabelConstraint:
    """Return the constraint that at least n of several labels are on.

    Parameters
    ----------
    n : int
        The smallest number, from 0 to the number of labels.
    labels : list of labels
        Different labels, as for :func:`implies`.

    Returns
    -------
    LabelConstraint
        For the parameter `constraints` of :class:`~sstruct.MultilabelSSVM`.

    Raises
    ------
    ValueError, TypeError
        If labels are equal, there are none, or n is not an integer in this range.

    Examples
    --------
    >>> from sstruct.constraints import at_least
    >>> at_least(1, ["politics", "sports", "culture"])
    at_least(1, ['politics', 'sports', 'culture'])
    """
    labels = _different("at_least", labels)
    check_number("n", n, least=0, below=len(labels) + 1, whole=True)
    return LabelConstraint(
        f"at_least({n}, {list(labels)!r})", labels, least=int(n), most=len(labels)
    )


def ordinal(labels: Sequence[Any]) -> list[LabelConstraint]:
    """Return the constraints that each label is on only together with all labels before it.

    They encode an ordered quantity, such as "at least mild", "at least severe", in its thresholds.

    Parameters
    ----------
    labels : list of labels
        Different labels, as for :func:`implies`, in their order.

    Returns
    -------
    list of LabelConstraint
        ``implies(labels[1], labels[0])``, and so on; add it to a list of constraints.

    Raises
    ------
    ValueError, TypeError
        If labels are equal, or there are none.

    Examples
    --------
    >>> from sstruct.constraints import ordinal
    >>> ordinal(["mild", "moderate", "severe"])
    [implies('moderate', 'mild'), implies('severe', 'moderate')]
    """
    labels = _different("ordinal", labels)
    return [implies(label, before) for before, label in pairwise(labels)]


def _different(function, labels):
    """Return different labels as a tuple, or raise."""
    if isinstance(labels, range):
        labels = list(labels)
    name = f"labels of {function}"
    items = label_list(labels, name)
    labels = tuple(item.item() if isinstance(item, np.generic) else item for item in items)
    if not labels:
        raise ValueError(f"{name} must contain at least one label, found none")
    for k, label in enumerate(labels):
        check_label(label, f"a label of {function}")
        if label in labels[:k]:
            raise ValueError(f"{name} must differ, found {label!r} twice")
    return labels


def check_constraints_parameter(constraints):
    """Raise unless the parameter is None or a list of LabelConstraint."""
    expected = "None or a list of constraints, made by the functions of sstruct.constraints"
    if constraints is None:
        return
    if isinstance(constraints, LabelConstraint) or not isinstance(constraints, list | tuple):
        raise TypeError(f"constraints must be {expected}, found {shortened(constraints)}")
    for k, each in enumerate(constraints):
        if not isinstance(each, LabelConstraint):
            hint = "; add the constraints of a list one by one" if isinstance(each, list) else ""
            raise TypeError(
                f"constraints[{k}] must be made by a function of sstruct.constraints, found "
                f"{shortened(each)}{hint}"
            )


def constraint_rows(constraints, classes):
    """Return constraints as an array, or None if there are none.

    Parameters
    ----------
    constraints : list of LabelConstraint or None
    classes : ndarray of shape (K,)
        The labels.

    Returns
    -------
    ndarray of int32 of shape (n_constraints, K + 2), or None
        The lower and the upper bound, and 1, -1 or 0 for each label.

    Raises
    ------
    ValueError
        If a label is not among the classes; the message names the constraint.
    """
    if not constraints:
        return None
    place = {label: k for k, label in enumerate(classes.tolist())}
    rows = np.zeros((len(constraints), len(classes) + 2), dtype=np.int32)
    for k, each in enumerate(constraints):
        rows[k, :2] = each.least, each.most
        for sign, labels in ((1, each.labels), (-1, each.without)):
            for label in labels:
                if label not in place:
                    raise ValueError(
                        f"constraints[{k}], {each!r}, has label {label!r}, expected labels of y: "
                        f"{shortened(list(place))}"
                    )
                rows[k, 2 + place[label]] = sign
    return rows


def check_satisfied(sets, rows, constraints, numbers):
    """Raise ValueError unless all sets satisfy the constraints.

    Parameters
    ----------
    sets : CSR matrix of shape (n, K)
    rows : ndarray of shape (n_constraints, K + 2)
        As returned by `constraint_rows`.
    constraints : list of LabelConstraint
    numbers : ndarray of int of shape (n,)
        Index of each sample.
    """
    counts = sets.astype(np.int64) @ rows[:, 2:].T.astype(np.int64)
    wrong = np.argwhere((counts < rows[:, 0]) | (counts > rows[:, 1]))
    if len(wrong):
        i, k = wrong[0]
        n = len(np.unique(wrong[:, 0]))
        raise ValueError(
            f"y[{numbers[i]}] violates constraints[{k}], {constraints[k]!r}; training sets must "
            f"satisfy all constraints, and {n} of {len(numbers)} do not. Correct them, or leave "
            "out the constraint"
        )
