"""Encoding of partially known labels for `predict`, with -1 for unknown labels.

All estimators use the same markers of unknown labels: None, NaN, pandas' NA, -1 if it is not a
class, `ignore_label`, and masked entries. None instead of a sample marks all of its labels as
unknown.
"""

import numpy as np

from sstruct._checks.arrays import first_true, is_ordered, items_of
from sstruct._checks.parameters import is_real
from sstruct._checks.shown import shortened
from sstruct._input.labels import check_label, encode, is_hashable, label_array, masked_as_none

# Limit on the number of labels in an error.
MAX_LISTED = 12


def known_codes(y_partial, nodes, classes, ignore_label, shapes=None, part=""):
    """Return the class index of the known label of each node, -1 if it is unknown.

    Parameters
    ----------
    y_partial : as passed to ``predict``
        For each sample, a label for each node, or None.
    nodes : Nodes
    classes : ndarray of shape (K,)
    ignore_label : object
        Additional marker of unknown labels, or None.
    shapes : ndarray of shape (n, 2), optional
        Shapes of images, whose labels must have the same shapes.
    part : str, optional
        Index of these labels in each sample for errors, such as ``"[2]"``.

    Returns
    -------
    ndarray of int32 of shape (n_nodes,)

    Raises
    ------
    ValueError, TypeError
        If a shape does not match X, or a label is not a class.
    """
    out = np.full(int(nodes.offsets[-1]), -1, dtype=np.int32)
    markers = unknown_markers(classes, ignore_label)
    where, labels = _known_labels(y_partial, nodes, markers, shapes, part)
    if not labels:
        return out
    for row, label in zip(where.tolist(), labels):
        if not is_hashable(label):
            place = place_of(row, nodes, shapes, part)
            raise TypeError(f"y_partial{place} is {shortened(label)}, expected a label")
    out[where] = codes = encode(label_array(labels), classes)
    if (at := first_true(codes < 0)) is not None:
        place = place_of(int(where[at]), nodes, shapes, part)
        raise ValueError(
            f"y_partial{place} is {shortened(labels[at])}, expected "
            f"{one_of(classes)}, or {marker_names(markers)} if the label is unknown"
        )
    return out


def _known_labels(y_partial, nodes, markers, shapes, part):
    """Return the indices of the nodes with known labels, and the list of these labels."""
    items = check_samples(y_partial, len(nodes))
    rows = nodes.form == "rows"
    if rows:  # single nodes: one label for each row, possibly as a column
        items = [items.ravel() if getattr(items, "shape", ())[1:] == (1,) else items]
    where, labels = [], []
    for i, item in enumerate(items):
        if item is None:
            continue
        first, expected = int(nodes.offsets[i]), (int(nodes.lengths[i]),)
        if rows:
            expected = (len(nodes),)
        elif shapes is not None:
            expected = tuple(shapes[i].tolist())
        values = _labels_of(item, i, expected, part)
        known = np.flatnonzero(~is_unknown(values, markers))
        where.append(first + known)
        if isinstance(values, np.ndarray):
            labels += values[known].tolist()
        else:
            labels += [values[v] for v in known.tolist()]
    return (np.concatenate(where) if where else np.empty(0, dtype=np.intp)), labels


def check_samples(y_partial, n_samples):
    """Return the items of `y_partial`, one for each sample."""
    y_partial = items_of(y_partial)
    if not is_ordered(y_partial):
        raise TypeError(
            "y_partial must contain the known labels of each sample, or None, found "
            f"{type(y_partial).__name__}"
        )
    if len(y_partial) != n_samples:
        raise ValueError(f"X has {n_samples} samples but y_partial has {len(y_partial)}")
    if hasattr(y_partial, "to_numpy"):  # iterating a data frame would yield column names
        return y_partial.to_numpy()
    return y_partial if isinstance(y_partial, np.ndarray) else list(y_partial)


def known_numbers(y_partial, sizes, ignore_label, expected):
    """Return known integers of samples of equal length as int32 (n, P), -1 if unknown.

    Parameters
    ----------
    y_partial : as passed to ``predict``
        For each sample, P integers, or None.
    sizes : ndarray of int of shape (n, P)
        Exclusive upper limits of the integers.
    ignore_label : object
        Additional marker of unknown values, or None.
    expected : callable
        Maps a row and a column to their name in errors and the description of expected values.

    Raises
    ------
    ValueError, TypeError
        If a shape differs from that of `sizes`, or a known value is out of range.
    """
    out = np.full(sizes.shape, -1, dtype=np.int32)
    markers = _with_ignored([-1], ignore_label)
    for i, item in enumerate(check_samples(y_partial, len(sizes))):
        if item is None:
            continue
        values = _labels_of(item, i, sizes[i].shape)
        places = np.flatnonzero(~is_unknown(values, markers))
        given = values[places] if isinstance(values, np.ndarray) else [values[p] for p in places]
        fits = _are_numbers(given, sizes[i, places])
        if not fits.all():
            at = int(np.argmin(fits))
            where, wanted = expected(i, places[at])
            raise ValueError(
                f"{where} is {shortened(given[at])}, expected {wanted}, or {marker_names(markers)} "
                "if it is unknown"
            )
        out[i, places] = given
    return out


def _are_numbers(values, ends):
    """Return a mask of the values that are integers from 0 to `ends` - 1."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        return (values >= 0) & (values < ends) & (values == np.floor(values))
    pairs = zip(values, ends.tolist())
    return np.array([_is_number(v) and v in range(end) for v, end in pairs], dtype=bool)


def _is_number(value):
    return is_real(value) or isinstance(value, bool | np.bool_)


def unknown_markers(classes, ignore_label):
    """Return the values that mark an unknown label, in addition to None and NaN."""
    return _with_ignored([] if -1 in classes.tolist() else [-1], ignore_label)


def _with_ignored(markers, ignore_label):
    if ignore_label is None:
        return markers
    check_label(ignore_label, "ignore_label")
    return [*markers, ignore_label]


def marker_names(markers):
    """List all markers of unknown labels for an error."""
    names = list(dict.fromkeys(["None", "NaN", *map(repr, markers)]))
    return f"{', '.join(names[:-1])} or {names[-1]}"


def one_of(labels):
    """List labels, up to a limit, for an error."""
    names = [shortened(label) for label in labels]
    more = "" if len(names) <= MAX_LISTED else f", ... ({len(names)} labels)"
    return ("one of " if len(names) > 1 else "") + ", ".join(names[:MAX_LISTED]) + more


def place_of(row, nodes, shapes=None, part=""):
    """Return the position of a node in y or `y_partial` for an error, "[2] at node 5"."""
    i = nodes.sample_of(row)
    if nodes.form == "rows":
        return f"[{i}]"
    node = row - int(nodes.offsets[i])
    if shapes is None:
        return f"[{i}]{part} at node {node}"
    return f"[{i}] at pixel {divmod(node, int(shapes[i][1]))}"


def is_unknown(values, markers):
    """Return a mask of the values that mark an unknown label."""
    if isinstance(values, np.ndarray):
        out = values != values if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
        for marker in markers:
            alike = (values.dtype.kind in "US") == isinstance(marker, str | bytes)
            if alike and np.ndim(marker) == 0:  # a tuple would be compared elementwise
                try:
                    same = values == marker
                except OverflowError:  # an int that exceeds the range of floats
                    continue
                if same.dtype == bool:  # comparing pandas' NA returns NA
                    out |= same
        return out
    return np.array([_marks(value, markers) for value in values], dtype=bool)


def _marks(value, markers):
    if value is None or value is np.ma.masked:
        return True
    if not is_hashable(value):  # raises an error later; arrays would be compared elementwise
        return False
    if isinstance(value, bool):
        return False
    try:
        differs = value != value
        # Comparing pandas' NA returns NA, which is neither True nor False.
        return differs is value or bool(differs) or value in markers
    except (ArithmeticError, ValueError):  # a signaling NaN of Decimal; a long double and a tuple
        return False


def _labels_of(item, i, expected, part=""):
    """Return the labels of a sample as a 1-D array, or as a list for other types."""
    n_axes, item = len(expected), masked_as_none(items_of(item))
    if not is_ordered(item):
        raise TypeError(
            f"y_partial[{i}]{part} must be an array of labels or None, found {type(item).__name__} "
            f"{shortened(item)}"
        )
    if n_axes > 1 and not isinstance(item, np.ndarray):
        item = np.asarray(item, dtype=object)
    # Iterating a data frame would yield column names.
    shape = tuple(item.shape) if hasattr(item, "shape") else (len(item),)
    if 0 in shape and 0 in expected:  # any format of an empty sample
        return []
    if shape != expected and len(shape) == n_axes == 1:
        raise ValueError(
            f"y_partial[{i}]{part} has {shape[0]} labels, expected {expected[0]}, with None for "
            "labels that are unknown"
        )
    if shape != expected:
        raise ValueError(
            f"y_partial[{i}]{part} has shape {shape}, expected {expected} to match X[{i}]"
        )
    if not isinstance(item, np.ndarray):
        return list(item)
    item = np.asarray(item).ravel()  # ravel of np.matrix would be 2-D
    return item.tolist() if item.dtype == object or item.dtype.kind not in "iubfUS" else item
