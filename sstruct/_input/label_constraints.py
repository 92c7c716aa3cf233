"""Constraints of label sets, and of the labels of graphs with types of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from sstruct._checks.parameters import check_number, is_integer
from sstruct._checks.shown import shortened
from sstruct._compat.public_module import public_module
from sstruct._input.labels import check_label, label_list

# Types and numbers of nodes must be below this limit, since they are stored as 32-bit integers.
MAX_NODES = 2**31


@public_module("sstruct.constraints")
@dataclass(frozen=True, repr=False)
class LabelConstraint:
    """A constraint of labels, made by a function of :mod:`sstruct.constraints`.

    For a set of labels: the number of labels in `labels` that are on, minus the number of labels in
    `without` that are on, is between two bounds. For graphs, the meaning depends on `kind`.

    Parameters
    ----------
    name : str
        The call that made the constraint. It is also the ``repr`` of the constraint.
    labels : tuple
        Labels that count 1.
    without : tuple
        Labels that count -1.
    least, most : int
        The bounds. `most` is None for graphs if there is no upper bound.
    kind : {"count", "implies", "excludes"}
        The function that made the constraint; ``"count"`` for :func:`exactly_one`, :func:`at_most`
        and :func:`at_least`.
    nodes : tuple of int or None
        For graphs: the types of the nodes of a sample that are constrained.
    edges : (int, int) or None
        For graphs: the types of the ends of the edges that are constrained.

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
    most: int | None = 0
    kind: Literal["count", "implies", "excludes"] = "count"
    nodes: tuple | None = None
    edges: tuple | None = None

    def __repr__(self) -> str:
        return self.name

    @property
    def is_of_graphs(self) -> bool:
        """Whether it constrains the nodes of graphs."""
        return self.nodes is not None or self.edges is not None


def implies(
    label: Any,
    other: Any,
    *,
    nodes: int | tuple[int, int] | None = None,
    edges: tuple[int, int] | None = None,
) -> LabelConstraint:
    """Return the constraint that a label occurs only together with another one.

    Parameters
    ----------
    label, other : label
        Two labels: names in ``classes_``, or numbers of columns of y without names. If `label` is
        on, `other` is on. They must differ, unless they belong to different nodes.
    nodes : int, (int, int) or None, default=None
        For graphs, the type of the nodes that have the labels, or the types of those with `label`
        and of those with `other`: if a node of a sample has `label`, at least one node has `other`.
    edges : (int, int) or None, default=None
        For graphs, the types of the ends of edges: if a node of the first type has `label`, all of
        its neighbors of the second type have `other`. For two different types, X may have the edges
        in either direction. For (t, t), the node is the first end of an edge of X, and its neighbor
        the second one.

    Returns
    -------
    LabelConstraint
        For the parameter `constraints` of :class:`~sstruct.MultilabelSSVM` or, with `nodes` or
        `edges`, of :class:`~sstruct.TypedGraphCRFSSVM`.

    Raises
    ------
    ValueError, TypeError
        If the labels are equal, or a type is not a nonnegative integer.

    Examples
    --------
    >>> from sstruct import MultilabelSSVM
    >>> from sstruct.constraints import implies
    >>> X, Y = [[1.0, 0.1], [0.0, 1.0], [0.0, 0.0]], [[1, 1], [0, 1], [0, 0]]
    >>> model = MultilabelSSVM(constraints=[implies("poodle", "dog")], classes=["poodle", "dog"])
    >>> model.fit(X, Y).predict([[1.0, 0.0]]).tolist()
    [[1, 1]]

    In graphs, if a word (type 0) has the label "goal", all documents that contain it (type 1) have
    the label "sports":

    >>> implies("goal", "sports", edges=(0, 1))
    implies('goal', 'sports', edges=(0, 1))
    """
    scope = _scope("implies", nodes, edges, pair=True)
    (label, other) = _different("implies", [label, other], scope)
    name = f"implies({label!r}, {other!r}{scope.text})"
    return LabelConstraint(name, (label,), (other,), -1, 0, "implies", scope.nodes, scope.edges)


def excludes(
    label: Any,
    other: Any,
    *,
    nodes: int | tuple[int, int] | None = None,
    edges: tuple[int, int] | None = None,
) -> LabelConstraint:
    """Return the constraint that two labels do not occur together.

    Parameters
    ----------
    label, other : label
        Two labels, as for :func:`implies`.
    nodes : int, (int, int) or None, default=None
        For graphs, types of nodes as for :func:`implies`: no two nodes of a sample have `label` and
        `other`.
    edges : (int, int) or None, default=None
        For graphs, types of the ends of edges as for :func:`implies`: if a node has `label`, none
        of its neighbors has `other`.

    Returns
    -------
    LabelConstraint
        For the parameter `constraints` of :class:`~sstruct.MultilabelSSVM` or, with `nodes` or
        `edges`, of :class:`~sstruct.TypedGraphCRFSSVM`.

    Raises
    ------
    ValueError, TypeError
        If the labels are equal, or a type is not a nonnegative integer.

    See Also
    --------
    at_most : For more than two labels.

    Examples
    --------
    >>> from sstruct.constraints import excludes
    >>> excludes("indoor", "beach")
    excludes('indoor', 'beach')
    """
    scope = _scope("excludes", nodes, edges, pair=True)
    (label, other) = _different("excludes", [label, other], scope)
    name = f"excludes({label!r}, {other!r}{scope.text})"
    return LabelConstraint(name, (label, other), (), 0, 1, "excludes", scope.nodes, scope.edges)


def exactly_one(
    labels: Sequence[Any], *, nodes: int | None = None, edges: tuple[int, int] | None = None
) -> LabelConstraint:
    """Return the constraint that exactly one of several labels occurs.

    Parameters
    ----------
    labels : list of labels
        Different labels, as for :func:`implies`.
    nodes : int or None, default=None
        For graphs, a type of nodes: exactly one node of this type in each sample has one of the
        labels. Samples without such nodes satisfy the constraint.
    edges : (int, int) or None, default=None
        For graphs, the types of the ends of edges, as for :func:`implies`: of the neighbors of each
        node, exactly one has one of the labels. Nodes without neighbors satisfy the constraint.

    Returns
    -------
    LabelConstraint
        For the parameter `constraints` of :class:`~sstruct.MultilabelSSVM` or, with `nodes` or
        `edges`, of :class:`~sstruct.TypedGraphCRFSSVM`.

    Raises
    ------
    ValueError, TypeError
        If labels are equal, there are none, or a type is not a nonnegative integer.

    Examples
    --------
    >>> from sstruct.constraints import exactly_one
    >>> exactly_one(["day", "night"])
    exactly_one(['day', 'night'])
    >>> exactly_one(["goalkeeper"], nodes=0)
    exactly_one(['goalkeeper'], nodes=0)
    """
    scope = _scope("exactly_one", nodes, edges)
    labels = _different("exactly_one", labels)
    name = f"exactly_one({list(labels)!r}{scope.text})"
    return LabelConstraint(name, labels, (), 1, 1, "count", scope.nodes, scope.edges)


def at_most(
    n: int,
    labels: Sequence[Any],
    *,
    nodes: int | None = None,
    edges: tuple[int, int] | None = None,
) -> LabelConstraint:
    """Return the constraint that at most n of several labels occur.

    Parameters
    ----------
    n : int
        The largest number, at least 0.
    labels : list of labels
        Different labels, as for :func:`implies`.
    nodes : int or None, default=None
        For graphs, a type of nodes: at most n nodes of this type in each sample have one of the
        labels.
    edges : (int, int) or None, default=None
        For graphs, the types of the ends of edges, as for :func:`implies`: at most n neighbors of
        each node have one of the labels.

    Returns
    -------
    LabelConstraint
        For the parameter `constraints` of :class:`~sstruct.MultilabelSSVM` or, with `nodes` or
        `edges`, of :class:`~sstruct.TypedGraphCRFSSVM`.

    Raises
    ------
    ValueError, TypeError
        If labels are equal, there are none, or n or a type is not a nonnegative integer.

    Examples
    --------
    >>> from sstruct.constraints import at_most
    >>> at_most(2, range(5))
    at_most(2, [0, 1, 2, 3, 4])
    """
    scope = _scope("at_most", nodes, edges)
    labels = _different("at_most", labels)
    check_number("n of at_most", n, least=0, whole=True)
    most = min(int(n), MAX_NODES - 1 if scope.text else len(labels))
    name = f"at_most({n}, {list(labels)!r}{scope.text})"
    return LabelConstraint(name, labels, (), 0, most, "count", scope.nodes, scope.edges)


def at_least(
    n: int,
    labels: Sequence[Any],
    *,
    nodes: int | None = None,
    edges: tuple[int, int] | None = None,
) -> LabelConstraint:
    """Return the constraint that at least n of several labels occur.

    Parameters
    ----------
    n : int
        The smallest number, at least 0; for sets of labels, at most the number of labels.
    labels : list of labels
        Different labels, as for :func:`implies`.
    nodes : int or None, default=None
        For graphs, a type of nodes: at least n nodes of this type in each sample have one of the
        labels. Samples without such nodes satisfy the constraint.
    edges : (int, int) or None, default=None
        For graphs, the types of the ends of edges, as for :func:`implies`: at least n neighbors of
        each node have one of the labels. Nodes without neighbors satisfy the constraint.

    Returns
    -------
    LabelConstraint
        For the parameter `constraints` of :class:`~sstruct.MultilabelSSVM` or, with `nodes` or
        `edges`, of :class:`~sstruct.TypedGraphCRFSSVM`.

    Raises
    ------
    ValueError, TypeError
        If labels are equal, there are none, or n or a type is not an integer in the valid range.

    Examples
    --------
    >>> from sstruct.constraints import at_least
    >>> at_least(1, ["politics", "sports", "culture"])
    at_least(1, ['politics', 'sports', 'culture'])
    """
    scope = _scope("at_least", nodes, edges)
    labels = _different("at_least", labels)
    below = MAX_NODES if scope.text else len(labels) + 1
    check_number("n of at_least", n, least=0, below=below, whole=True)
    name = f"at_least({n}, {list(labels)!r}{scope.text})"
    most = None if scope.text else len(labels)
    return LabelConstraint(name, labels, (), int(n), most, "count", scope.nodes, scope.edges)


def ordinal(
    labels: Sequence[Any], *, nodes: int | None = None, edges: tuple[int, int] | None = None
) -> list[LabelConstraint]:
    """Return the constraints that labels are ordered.

    In sets of labels, and in graphs with `nodes`, each label occurs only together with all labels
    before it. Such labels encode an ordered quantity, such as "at least mild", "at least severe",
    in its thresholds. With `edges`, the labels do not decrease along edges.

    Parameters
    ----------
    labels : list of labels
        Different labels, as for :func:`implies`, in their order.
    nodes : int or None, default=None
        For graphs, a type of nodes: a label occurs at nodes of this type in a sample only if the
        label before it occurs.
    edges : (int, int) or None, default=None
        For graphs, the types of the ends of edges, as for :func:`implies`: no neighbor of a node
        with one of the labels has a label before it.

    Returns
    -------
    list of LabelConstraint
        ``implies(labels[1], labels[0])``, and so on; with `edges`, ``excludes(labels[1],
        labels[0], edges=edges)``, and so on, for all pairs. Add them to a list of constraints.

    Raises
    ------
    ValueError, TypeError
        If labels are equal, there are none, or a type is not a nonnegative integer.

    Examples
    --------
    >>> from sstruct.constraints import ordinal
    >>> ordinal(["mild", "moderate", "severe"])
    [implies('moderate', 'mild'), implies('severe', 'moderate')]
    >>> ordinal(["calm", "windy"], edges=(0, 0))
    [excludes('windy', 'calm', edges=(0, 0))]
    """
    _scope("ordinal", nodes, edges)
    labels = _different("ordinal", labels)
    if edges is not None:
        pairs = combinations(labels, 2)
        return [excludes(label, before, edges=edges) for before, label in pairs]
    return [implies(label, before, nodes=nodes) for before, label in pairwise(labels)]


class _Scope(NamedTuple):
    """The types of nodes or edges that a constraint applies to, and the argument as in `repr`."""

    nodes: tuple | None = None
    edges: tuple | None = None
    text: str = ""


def _scope(function, nodes, edges, pair=False):
    """Return the validated _Scope.

    pair : whether the two labels may have different types
    """
    if nodes is None and edges is None:
        return _Scope()
    if nodes is not None and edges is not None:
        raise ValueError(f"{function} takes nodes or edges, found both; use two constraints")
    if edges is not None:
        expected = "a pair of types of nodes, such as (0, 1)"
        edges = _types(f"edges of {function}", edges, expected, one=False, two=True)
        return _Scope(None, edges, f", edges={edges}")
    expected = "a type of nodes, an integer of at least 0" + (", or two such types" if pair else "")
    nodes = _types(f"nodes of {function}", nodes, expected, one=True, two=pair)
    return _Scope(nodes, None, f", nodes={nodes[0] if len(nodes) == 1 else nodes}")


def _types(name, value, expected, *, one, two):
    """Return types of nodes as a tuple of integers."""
    types = tuple(value) if isinstance(value, list | tuple) else (value,)
    is_pair = isinstance(value, list | tuple)
    size_fits = (two and len(types) == 2) if is_pair else one
    if not size_fits or not all(is_integer(t) and 0 <= t < MAX_NODES for t in types):
        raise TypeError(f"{name} must be {expected}, found {shortened(value)}")
    return tuple(int(t) for t in types)


def _different(function, labels, scope=_Scope()):  # noqa: B008
    """Return labels as a tuple; raise unless they differ or belong to different nodes."""
    if isinstance(labels, range):
        labels = list(labels)
    name = f"labels of {function}"
    items = label_list(labels, name)
    labels = tuple(item.item() if isinstance(item, np.generic) else item for item in items)
    if not labels:
        raise ValueError(f"{name} must contain at least one label, found none")
    may_be_equal = scope.edges is not None or len(set(scope.nodes or ())) == 2
    for k, label in enumerate(labels):
        check_label(label, f"a label of {function}")
        if label in labels[:k] and not may_be_equal:
            hint = ""
            if function == "excludes" and scope.nodes:
                hint = f"; at_most(1, [{label!r}], nodes=...) limits a label to one node"
            raise ValueError(f"{name} must differ, found {label!r} twice{hint}")
    return labels


def check_constraints_parameter(constraints, of_graphs=False):
    """Raise an error unless the parameter is None or a list of valid LabelConstraint."""
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
        if each.is_of_graphs and not of_graphs:
            raise ValueError(
                f"constraints[{k}], {each!r}, is for graphs; for sets of labels, pass neither "
                "nodes nor edges"
            )
        if of_graphs and not each.is_of_graphs:
            raise ValueError(
                f"constraints[{k}], {each!r}, is for sets of labels; for graphs, pass nodes=t to "
                "constrain the nodes of type t, or edges=(t, u) to constrain their neighbors"
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
    check_no_violations((counts < rows[:, 0]) | (counts > rows[:, 1]), constraints, numbers)


def check_no_violations(is_violated, constraints, numbers):
    """Raise ValueError if any training sample violates a constraint.

    is_violated : ndarray of bool of shape (n, n_constraints)
    numbers : index of each sample
    """
    if is_violated.any():
        i, k = np.argwhere(is_violated)[0]
        raise ValueError(
            f"y[{numbers[i]}] violates constraints[{k}], {constraints[k]!r}; training samples must "
            f"satisfy all constraints, and {is_violated.any(axis=1).sum()} of {len(numbers)} do "
            "not. Correct them, or leave out the constraint"
        )
