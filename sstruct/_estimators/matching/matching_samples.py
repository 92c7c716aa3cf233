"""Validate samples of MatchingSSVM and their true matchings; errors name the sample."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sstruct._checks.arrays import (
    NUMBERS,
    array_of,
    as_floats,
    check_magnitudes,
    is_empty_list,
    items_of,
    listed_samples,
    listed_targets,
    sample_dict,
    without_view,
)
from sstruct._input.integers import integer_labels, integers
from sstruct._input.labels import masked_as_none
from sstruct._input.ragged import NO_NODES, NoNodesError

KEYS = ("features", "pairs", "shape", "unmatched_rows", "unmatched_columns")
# The code of a row is 1 + its column, 0 if it is unmatched, or -1 if its match is unknown.
UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class PairSample:
    """Rows and columns, and the candidate pairs of one of each.

    Attributes
    ----------
    features : ndarray of shape (n_pairs, n_features)
    places : ndarray of int64 of shape (n_pairs,)
        ``row * n_columns + column`` of each pair, ascending.
    shape : tuple of int
        Number of rows and of columns.
    row_features : ndarray of shape (n_rows, n_row_features)
        Features of unmatched rows.
    column_features : ndarray of shape (n_columns, n_column_features)
        Features of unmatched columns.
    """

    features: np.ndarray
    places: np.ndarray
    shape: tuple
    row_features: np.ndarray
    column_features: np.ndarray

    # Used in error messages.
    verb: ClassVar = "matches"
    unmatched: ClassVar = "unmatched"
    advice: ClassVar = (
        "An unmatched row is -1. Set ignore_label to another number, such as ignore_label=-2, to "
        "ignore rows whose match is unknown"
    )

    def select_rows(self, kept):
        """Return the sample with only the rows of the mask `kept`."""
        row, column = np.divmod(self.places, max(1, self.shape[1]))
        new_row, chosen = np.cumsum(kept) - 1, kept[row]
        return replace(
            self,
            features=self.features[chosen],
            places=new_row[row[chosen]] * self.shape[1] + column[chosen],
            shape=(int(kept.sum()), self.shape[1]),
            row_features=self.row_features[kept],
        )

    @property
    def n_pairs(self):
        """Number of candidate pairs."""
        return len(self.places)

    def as_columns(self, name, labels):
        """Return an array of labels in any form as the column of each row."""
        return labels

    def check(self, name, columns):
        """Raise ValueError if a column occurs twice, or a pair is not among the pairs."""
        check_distinct(name, columns)
        rows = np.flatnonzero(columns >= 0)
        places = rows * self.shape[1] + columns[rows]
        forbidden = np.flatnonzero(~np.isin(places, self.places))
        if len(forbidden):
            r = rows[forbidden[0]]
            raise ValueError(
                f"{name} matches row {r} to column {columns[r]}, which is not among the pairs of X"
            )


def check_distinct(name, columns):
    """Raise ValueError if two rows have the same column."""
    rows = np.flatnonzero(columns >= 0)
    order = rows[np.argsort(columns[rows], kind="stable")]
    twice = np.flatnonzero(np.diff(columns[order]) == 0)
    if len(twice):
        a, b = order[twice[0] : twice[0] + 2]
        raise ValueError(
            f"{name} matches both row {a} and row {b} to column {columns[a]}, expected different "
            "columns"
        )


@dataclass(frozen=True)
class PackedMatchings:
    """Samples whose features are parts of one array.

    Attributes
    ----------
    features : ndarray of shape (n_pairs, n_features)
        Features of the pairs of all samples.
    samples : list of PairSample
    """

    features: np.ndarray
    samples: list

    def __len__(self):
        return len(self.samples)

    @property
    def offsets(self):
        """Index of the first row of each sample among all rows, and the number of rows."""
        return np.cumsum([0, *(x.shape[0] for x in self.samples)])

    @property
    def empty(self):
        """Indices of the samples without rows and columns."""
        return np.flatnonzero([not any(x.shape) for x in self.samples])

    @property
    def n_pairs(self):
        """Number of candidate pairs of each sample."""
        return np.array([x.n_pairs for x in self.samples])

    def split(self, codes):
        """Return the codes of the rows of each sample."""
        return [codes[a:b] for a, b in pairwise(self.offsets)]


def pack_matchings(X, sizes=None):
    """Validate X and return its PackedMatchings.

    Parameters
    ----------
    X : list of arrays or dicts
    sizes : tuple of int or None
        Numbers of features of pairs, unmatched rows and unmatched columns; None in a fit.
    """
    kind = "a list of arrays (rows, columns, features) or of dicts, one per sample"
    X = listed_samples(X, kind, fitted=sizes is not None)
    samples = [None if is_empty_list(item) else _sample(i, item) for i, item in enumerate(X)]
    for i, x in enumerate(samples):
        if x is None:
            continue
        found = x.features.shape[1], x.row_features.shape[1], x.column_features.shape[1]
        sizes = found if sizes is None else sizes
        for n, expected, key in zip(found, sizes, ("features", *KEYS[3:]), strict=True):
            if n != expected:
                raise ValueError(
                    f"{key!r} of X[{i}] has {n} features per item, expected {expected}"
                )
    if sizes is None:
        raise NoNodesError(NO_NODES)
    if not samples:
        return PackedMatchings(np.empty((0, sizes[0])), [])
    features, *sides = [np.empty((0, n)) for n in sizes]
    empty = PairSample(features, np.arange(0), (0, 0), *sides)
    samples = [empty if x is None else x for x in samples]
    features = np.concatenate([x.features for x in samples])
    ends = np.cumsum([len(x.places) for x in samples])
    parts = np.split(features, ends[:-1])
    return PackedMatchings(features, [replace(x, features=f) for x, f in zip(samples, parts)])


def _sample(i, item):
    """Return the PairSample of an item of X."""
    item = sample_dict(item, i, KEYS)
    listed = item.get("pairs") is not None
    features = finite_numbers(item["features"], f"'features' of X[{i}]")
    if features.ndim != (2 if listed else 3) or features.shape[-1] == 0:
        expected = "(pairs, features)" if listed else "(rows, columns, features)"
        raise ValueError(
            f"X[{i}] has features of shape {features.shape}, expected {expected} with at least one "
            "feature" + ("" if listed else "; X must be a list of such arrays")
        )
    if listed:
        shape = _shape(i, item.get("shape"))
        features, places = _listed_pairs(i, features, item["pairs"], shape)
    else:
        shape = features.shape[:2]
        if item.get("shape") is not None and _shape(i, item["shape"]) != shape:
            raise ValueError(
                f"'shape' of X[{i}] is {_shape(i, item['shape'])}, which differs from {shape}, the "
                "shape of its features; it is required only with 'pairs'"
            )
        places = np.arange(shape[0] * shape[1])
        features = features.reshape(len(places), features.shape[2])
    sides = [_side(i, item.get(key), key, n) for key, n in zip(KEYS[3:], shape, strict=True)]
    return PairSample(features, places, shape, *sides)


def finite_numbers(value, name):
    """Return a finite float64 array."""
    array = as_floats(array_of(without_view(value), name, NUMBERS), name).astype(np.float64)
    check_magnitudes(np.atleast_1d(array), f"{name} contains")
    return array


def _shape(i, value):
    if value is None:
        raise ValueError(f"X[{i}] has 'pairs' but no 'shape', the numbers of rows and columns")
    shape = integers(value, f"'shape' of X[{i}]")
    if shape.shape != (2,) or (shape < 0).any():
        raise ValueError(
            f"'shape' of X[{i}] must be two integers, the numbers of rows and columns, found "
            f"{shape.tolist()}"
        )
    return int(shape[0]), int(shape[1])


def _listed_pairs(i, features, pairs, shape):
    """Return the features and places of listed pairs in ascending order."""
    pairs = integers(pairs, f"'pairs' of X[{i}]")
    if pairs.size == 0:
        pairs = pairs.reshape(-1, 2)
    if pairs.shape != (len(features), 2):
        raise ValueError(
            f"'pairs' of X[{i}] has shape {pairs.shape}, expected {(len(features), 2)}, the row "
            "and column of each pair"
        )
    wrong = np.flatnonzero(((pairs < 0) | (pairs >= shape)).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"'pairs' of X[{i}] has {pairs[wrong[0]].tolist()} at {wrong[0]}, but the sample has "
            f"{shape[0]} rows and {shape[1]} columns"
        )
    places = pairs[:, 0] * shape[1] + pairs[:, 1]
    order = np.argsort(places, kind="stable")
    places = places[order]
    twice = np.flatnonzero(np.diff(places) == 0)
    if len(twice):
        pair = pairs[order[twice[0]]].tolist()
        raise ValueError(f"'pairs' of X[{i}] contains {pair} twice")
    return features[order], places


def _side(i, value, key, n):
    """Return the features of unmatched rows or columns, (n, 0) if there are none."""
    if value is None:
        return np.empty((n, 0))
    array = finite_numbers(value, f"{key!r} of X[{i}]")
    if array.ndim != 2 or len(array) != n:
        raise ValueError(
            f"{key!r} of X[{i}] has shape {array.shape}, expected ({n}, n_features), one row of "
            f"features per {'row' if key == KEYS[3] else 'column'}"
        )
    return array


def pack_matches(y, packed, ignore_label, name="y"):
    """Return the codes of the rows of all samples, concatenated, as int32.

    Parameters
    ----------
    y : list of int arrays
        Column of each row, -1 if unmatched.
    packed : PackedMatchings
    ignore_label : object
        Marker of unknown rows, as are missing values; None if all are known.
    name : str
        "y", or "y_partial", in which None instead of an array means that all rows are unknown.
    """
    y = listed_targets(y, len(packed), "a list of arrays of columns", name)
    partial = name != "y"
    out = [np.empty(0, dtype=np.int32)]
    for i, (item, x) in enumerate(zip(y, packed.samples, strict=True)):
        if partial and item is None:
            out.append(np.full(x.shape[0], UNKNOWN, dtype=np.int32))
        else:
            out.append(_codes(f"{name}[{i}]", item, x, ignore_label, partial))
    return np.concatenate(out)


def _codes(name, item, x, ignore_label, partial):
    """Return the codes of the rows of a sample."""
    kind = "columns, one per row"
    if not partial:  # pairs do not distinguish unaligned and unknown rows
        item = x.as_columns(name, array_of(masked_as_none(items_of(item)), name, kind))
    given = item, name, kind, x.shape[:1], ignore_label
    columns, ignored = integer_labels(*given, lambda r: f"{name} at row {r}", x.advice)
    wrong = np.flatnonzero(~ignored & ((columns < -1) | (columns >= x.shape[1])))
    if len(wrong):
        r = wrong[0]
        unknown = "" if ignore_label is None else f", or {ignore_label} if unknown"
        raise ValueError(
            f"{name} {x.verb} row {r} to column {columns[r]}, expected 0 to {x.shape[1] - 1}, -1 "
            f"if the row is {x.unmatched}{unknown}"
        )
    codes = np.where(ignored, UNKNOWN, columns.astype(np.int64) + 1).astype(np.int32)
    x.check(name, codes - 1)
    return codes
