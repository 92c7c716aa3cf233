"""Separation, concatenation and validation of edge features of sequences.

The features of transitions are called edge features, as for graphs.
"""

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import check_unmasked, concatenated, is_empty, is_sized, real_array
from sstruct._checks.compressed import check_attributes, stacked
from sstruct._input.frames import check_names, column_names

PAIR = "(features, edge features)"


def split_edge_features(X):
    """Separate node and edge features of sequences.

    Parameters
    ----------
    X : any object
        Supported are ``Sequences``, and lists or object arrays of tuples (features, edge features).

    Returns
    -------
    nodes : object
        `X` without edge features.
    edges : Sequences, list or None
        The edge features of each sequence, or None if there are none and `nodes` is `X`.
    """
    if hasattr(type(X), "without_edge_features"):
        return X.without_edge_features(), X.edge_features
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and X.shape[1] == 2:
        if len(X) and is_table(X[0, 0]):  # NumPy's conversion of a list of tuples
            X = [tuple(item) for item in X]
    if isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object):
        return split_pairs(X, "X")
    return X, None


def split_pairs(items, name):
    """Separate tuples (features, edge features) into two lists, or return `items` and None.

    The first nonempty item determines the format. Empty items become pairs of empty lists.

    Raises
    ------
    TypeError
        If tuples and other items are mixed, or a tuple does not have two parts; `name` is the name
        of the items in errors.
    """
    if not is_sized(items) or len(items) == 0:
        return items, None
    first = next((item for item in items if not is_empty(item)), None)
    if not _has_parts(first):
        return items, None
    items = [([], []) if is_empty(item) else item for item in items]
    for i, item in enumerate(items):
        if not _has_parts(item) or len(item) != 2:
            found = f"a tuple of {len(item)} parts" if _has_parts(item) else type(item).__name__
            hint = "; use GraphCRFSSVM for graphs" if found.startswith("a tuple") else ""
            raise TypeError(f"{name}[{i}] is {found}, expected a tuple {PAIR}{hint}")
    return [item[0] for item in items], [item[1] for item in items]


def _has_parts(item):
    """Return True if an item is a tuple of tables, rather than a table."""
    if not isinstance(item, tuple) or not is_sized(item) or len(item) < 2:
        return False
    return is_table(item[0]) or all(map(is_empty, item))


def is_table(part):
    """Return True for a matrix, a data frame, or a list of rows."""
    if sparse.issparse(part):
        return True
    if isinstance(part, list | tuple):
        return is_sized(part) and len(part) > 0 and isinstance(part[0], list | tuple | np.ndarray)
    return len(getattr(part, "shape", ())) == 2  # polars frames have no ndim


def join_edge_features(parts, lengths, name, expected=None):
    """Concatenate the edge features of sequences.

    Parameters
    ----------
    parts : list of array-like or sparse of shape (L_i - 1, G)
        Those of sequences without edges have shape (0, G), (0, 0) or (0,).
    lengths : ndarray of int of shape (n,)
        L_i.
    name : str
        Name of the list of sequences in errors.
    expected : int, optional
        Number G of edge features, if known.

    Returns
    -------
    flat : ndarray or CSR matrix of shape (n_edges, G)
    names : ndarray of str or None
        Column names, if the features are data frames.
    """
    rows, names, first = [], None, None
    for i, (part, length) in enumerate(zip(parts, lengths.tolist(), strict=True)):
        what = f"the edge features of {name}[{i}]"
        n_edges = max(length - 1, 0)
        part, found = _as_table(part, what), column_names(part)
        if n_edges == 0 and part.shape in ((0,), (0, 0)):
            continue
        if len(part.shape) != 2 or part.shape[0] != n_edges:
            raise ValueError(
                f"{what} have shape {part.shape}, expected {n_edges} rows: one for each pair of "
                f"consecutive nodes ({length} nodes)"
            )
        expected = part.shape[1] if expected is None else expected
        if part.shape[1] != expected:
            raise ValueError(f"{name}[{i}] has {part.shape[1]} edge features, expected {expected}")
        if found is not None and names is None:
            names, first = found, i
        elif found is not None:
            check_names(found, names, what, f"those of {name}[{first}]")
        if n_edges:
            rows.append(part)
    if not rows:
        if expected is None:
            raise ValueError(
                f"no sequence of {name} has an edge, so the number of edge features is unknown; "
                "use arrays of shape (0, n_edge_features)"
            )
        return np.zeros((0, expected)), None
    join = stacked if any(map(sparse.issparse, rows)) else concatenated
    return join(rows, f"the edge features of {name}"), names


def _as_table(part, what):
    """Return a sparse matrix or a numeric array."""
    if sparse.issparse(part):
        check_attributes(part, what, ndims=(1, 2))
        return part
    if isinstance(part, np.ndarray) and part.dtype.kind in "fiub":
        check_unmasked(part, what)
        return part
    return real_array(part, what)
