"""Encoding and violations of the constraints of graphs with several types of nodes."""

import numpy as np

from sstruct._checks.shown import shortened
from sstruct._estimators.graph.graph_training import rows_of
from sstruct._input.label_constraints import check_no_violations

# A constraint is stored as a row of integers: its kind, whether it is along edges, two types (equal
# if it has one type), the lower and the upper bound (-1 if there is none), and a sum of flags for
# each label: FIRST for the first label of the constraint or a label that is counted, and SECOND for
# the second label.
KINDS = COUNT, IMPLIES, EXCLUDES = 0, 1, 2
KIND_OF = {"count": COUNT, "implies": IMPLIES, "excludes": EXCLUDES}
FIRST, SECOND = 1, 2
N_COLUMNS = 6


class TypedConstraint:
    """A stored constraint.

    Attributes
    ----------
    kind, along_edges, types, least, most
        See above. Counts along edges count labels of the second type.
    first, second : ndarray of bool of shape (K,)
        The labels.
    """

    def __init__(self, row):
        self.kind, along_edges, t, u, self.least, self.most = row[:N_COLUMNS].tolist()
        self.along_edges, self.types = bool(along_edges), (t, u)
        self.first, self.second = ((row[N_COLUMNS:] & flag) > 0 for flag in (FIRST, SECOND))


def typed_constraint_rows(constraints, classes, pairs):
    """Return the rows of constraints, int32 of shape (n_constraints, 6 + K), or None.

    Parameters
    ----------
    constraints : list of LabelConstraint or None
        Validated by `check_constraints_parameter`.
    classes : list of ndarray
        The labels of each type.
    pairs : tuple of (int, int, int)
        Attribute of a TypedModel.

    Raises
    ------
    ValueError
        If a type, a label or a pair of types is unknown; the message names the constraint.
    """
    if not constraints:
        return None
    K, T = max(map(len, classes)), len(classes)
    known = {pair for t, u, _ in pairs for pair in ((t, u), (u, t) if t != u else (t, u))}
    rows = np.zeros((len(constraints), N_COLUMNS + K), dtype=np.int32)
    for k, each in enumerate(constraints):
        t, u = each.edges or (each.nodes * 2)[:2]
        what = f"constraints[{k}], {each!r},"
        if max(t, u) >= T:
            raise ValueError(f"{what} has type {max(t, u)}, but X has types 0 to {T - 1}")
        if each.edges is not None and (t, u) not in known:
            raise ValueError(
                f"{what} is for edges {(t, u)}, but X has edges of the pairs "
                f"{sorted({pair[:2] for pair in pairs}) or 'none'}"
            )
        kind, is_along = KIND_OF[each.kind], each.edges is not None
        most = -1 if each.most is None else each.most
        rows[k, :N_COLUMNS] = kind, is_along, t, u, each.least, most
        if kind == COUNT:
            parts = [(FIRST, u, each.labels)]
        else:
            first, second = each.labels + each.without
            parts = [(FIRST, t, (first,)), (SECOND, u, (second,))]
        for flag, node_type, labels in parts:
            place = {label: k for k, label in enumerate(classes[node_type].tolist())}
            for label in labels:
                if label not in place:
                    raise ValueError(
                        f"{what} has label {label!r}, expected labels of type {node_type}: "
                        f"{shortened(list(place))}"
                    )
                rows[k, N_COLUMNS + place[label]] |= flag
    return rows


def check_satisfied(rows, constraints, typed, codes, used):
    """Raise ValueError if the known labels of a training sample violate a constraint.

    A constraint is violated if no labels of the nodes that are not used satisfy it.

    Parameters
    ----------
    rows : ndarray
        Result of `typed_constraint_rows`.
    constraints : list of LabelConstraint
    typed : TypedGraphs
    codes : ndarray of int of shape (n_nodes,)
        True labels.
    used : ndarray of bool of shape (n_nodes,)
        Whether a node is used in training; the labels of other nodes are unknown.
    """
    trained = np.unique(typed.samples[used])
    check_no_violations(violations(rows, typed, codes, used)[trained], constraints, trained)


def violations(rows, typed, codes, used):
    """Return whether each sample violates each constraint, bool of shape (n, n_constraints)."""
    n, types, sample = len(typed), typed.types, typed.samples
    codes, out = np.where(used, codes, 0), np.zeros((n, len(rows)), dtype=bool)

    def number(nodes):
        return np.bincount(sample[nodes], minlength=n)

    for k, constraint in enumerate(map(TypedConstraint, rows)):
        t, u = constraint.types
        first, second = constraint.first[codes] & used, constraint.second[codes] & used
        if constraint.along_edges:
            u, v = directed_edges(typed.graphs, types, constraint.types)
            if constraint.kind == COUNT:
                size = len(types)
                n_found = np.bincount(u, weights=first[v], minlength=size)
                n_free = np.bincount(u, weights=~used[v], minlength=size)
                wrong = outside(constraint, n_found, n_free) & (np.bincount(u, minlength=size) > 0)
                out[sample[wrong], k] = True
            else:
                wrong = second[v] if constraint.kind == EXCLUDES else used[v] & ~second[v]
                out[sample[u[first[u] & wrong]], k] = True
        elif constraint.kind == COUNT:
            n_found, n_free = number(first & (types == t)), number(~used & (types == t))
            out[:, k] = outside(constraint, n_found, n_free) & (number(types == t) > 0)
        else:
            has_first, has_second = number(first & (types == t)), number(second & (types == u))
            if constraint.kind == IMPLIES:
                out[:, k] = (has_first > 0) & (has_second + number(~used & (types == u)) == 0)
            else:
                out[:, k] = (has_first > 0) & (has_second > 0)
    return out


def outside(constraint, n_found, n_free):
    """Return whether the bounds are violated, whatever the labels of `n_free` other nodes are."""
    too_many = (n_found > constraint.most) & (constraint.most >= 0)
    return (n_found + n_free < constraint.least) | too_many


def directed_edges(graphs, types, pair, which=slice(None)):
    """Return the first and the second ends of the edges that join nodes of two types, as rows.

    Edges of different types may have either direction in X.

    which : slice of the graphs
    """
    n_edges = graphs.n_edges[which]
    ends = graphs.edges[rows_of(graphs.edge_start[which], n_edges)]
    ends = ends + np.repeat(graphs.start[which], n_edges)[:, np.newaxis]
    joined = types[ends]
    parts = [ends[(joined == pair).all(axis=1)]]
    if pair[0] != pair[1]:
        parts.append(ends[(joined == pair[::-1]).all(axis=1)][:, ::-1])
    return np.concatenate(parts).T
