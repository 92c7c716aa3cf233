"""Validate samples of TreeSSVM and pack them into flat arrays; errors name the sample."""

from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np

from sstruct._checks.arrays import (
    LARGEST,
    NUMBERS,
    array_of,
    as_floats,
    check_listed,
    check_magnitudes,
    is_sized,
    items_of,
    listed_samples,
    listed_targets,
    sample_dict,
    type_name,
    without_view,
)
from sstruct._checks.shown import shortened
from sstruct._estimators.core.sample_data import SampleData
from sstruct._input.integers import integer_labels
from sstruct._input.partial import known_numbers
from sstruct._problems.core._rows import compressed
from sstruct._problems.tree._tree_problem import TreeProblem
from sstruct._problems.tree.tree_arguments import TreeStates

KEYS = ("features", "positions", "scale", "pair_scores")
# Upper bound on positions and on 1 / scale, such that squares of their products are finite.
MAX_DISTANCE = LARGEST**0.25


@dataclass
class Trees:
    """Candidates of all parts of all samples, as flat arrays.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
    start : ndarray of int64 of shape (n, P + 1)
        First row of each part of each sample, and the end of the last part.
    shape : ndarray of int64 of shape (n, 2) or None
        Height and width of score maps; None for listed candidates.
    positions : ndarray of shape (n_rows, 2) or None
        (x, y) of each row; None for score maps without pair scores, whose positions follow from
        `shape`.
    n_types : int
        Number of types of every part.
    scale : ndarray of shape (n,)
        Positions of a sample are divided by it.
    pair_scores : ndarray of shape (n_pairs,) or None
        Tables with a row for each state of the parent and a column for each state of the part.
    pair_start : ndarray of int64 of shape (n, P) or None
        Start of each table in `pair_scores`.
    """

    rows: np.ndarray
    start: np.ndarray
    shape: np.ndarray | None
    positions: np.ndarray | None
    n_types: int
    scale: np.ndarray
    pair_scores: np.ndarray | None
    pair_start: np.ndarray | None

    def __len__(self):
        return len(self.start)

    def problem(self, parents, fit_intercept, labels=None, used=slice(None), **more):
        """Return the TreeProblem of some samples; rows that are mostly zeros are stored as CSR."""
        listed = self.positions is not None
        pairs = self.pair_scores is not None
        return TreeProblem(
            compressed(self.rows),
            TreeStates(
                self.start[used],
                None if listed else self.shape[used],
                self.positions,
                self.n_types,
                self.pair_scores,
                self.pair_start[used] if pairs else None,
                self.scale[used],
            ),
            parents,
            labels,
            bias=fit_intercept,
            **more,
        )

    def places(self, states):
        """Return the positions (x, y) of states (n, P), as (n, P, 2); NaN for negative states."""
        rows = self.start[:, :-1] + states
        if self.positions is not None:
            out = self.positions[np.where(states < 0, 0, rows)]
        else:
            height, width = self.shape.T[:, :, np.newaxis]
            place = states % (height * width)
            out = np.stack([place % width, place // width], axis=-1).astype(np.float64)
        out[states < 0] = np.nan
        return out

    def data(self, states, used, parents):
        """Return the SampleData, which identifies the data of a fit.

        used : which samples are used in training; states : states of all samples, (n, P)
        """

        def arrays_of_first(n):
            n_rows, listed = self.start[n - 1, -1], self.positions is not None
            parts = [self.rows[:n_rows], self.start[:n], self.scale[:n]]
            parts += [] if self.shape is None else [self.shape[:n]]
            parts += [self.positions[:n_rows]] if listed else []
            if self.pair_scores is not None:
                end = self.pair_start[n, 0] if n < len(self) else len(self.pair_scores)
                parts.append(self.pair_scores[:end])
            return [*parts, states[:n][used[:n]], used[:n]]

        return SampleData(len(self), [parents], arrays_of_first, lambda n: used[:n].sum())


def pack_trees(X, parents, *, n_features=None, n_types=None, pairs=None):
    """Validate X and return its Trees.

    Parameters
    ----------
    X : list of dicts
    parents : ndarray of int of shape (P,), or None
        If None, P is taken from the first sample, and there are no edges.
    n_features, n_types, pairs : values from the fit, or None
    """
    X = listed_samples(X, "a list of dicts, one per sample")
    rows, begins, shapes, positions, tables, table_sizes, scales = [], [], [], [], [], [], []
    at = 0
    for i, sample in enumerate(X):
        if not isinstance(sample, Mapping):
            raise TypeError(f"X[{i}] must be a dict, found {type(sample).__name__}")
        sample_dict(sample, i, KEYS)
        features, maps, types = _features(i, sample["features"])
        if parents is None:
            parents = np.full(len(features), -1)
        n_features = features[0].shape[1] if n_features is None else n_features
        n_types = types if n_types is None else n_types
        pairs = sample.get("pair_scores") is not None if pairs is None else pairs
        _check_features(i, features, types, (len(parents), n_features, n_types))
        if i > 0 and (maps is None) != (shapes[0] is None):
            found = "candidates" if maps is None else "score maps"
            raise ValueError(f"X[{i}] has {found}, unlike X[0]; expected the same for all samples")
        if (sample.get("pair_scores") is not None) != pairs:
            raise ValueError(
                f"X[{i}] has {'no ' if pairs else ''}pair_scores, unlike earlier samples or those "
                "of fit; expected the same for all samples"
            )
        sizes = [len(part) for part in features]
        places = _positions(i, sample, sizes, maps, n_types)
        if maps is None or pairs:
            positions += places
        if pairs:
            own = _pair_scores(i, sample["pair_scores"], sizes, parents)
            table_sizes.append([len(table) for table in own])
            tables += own
        shapes.append(maps)
        scales.append(_scale(i, sample.get("scale", 1.0)))
        rows += features
        begins.append(at + np.r_[0, np.cumsum(sizes)])
        at = begins[-1][-1]
    pair_scores = pair_start = None
    if pairs:
        pair_scores, table_sizes = np.concatenate(tables), np.array(table_sizes)
        pair_start = (np.cumsum(table_sizes) - table_sizes.ravel()).reshape(table_sizes.shape)
    return Trees(
        np.ascontiguousarray(np.concatenate(rows)),
        np.array(begins, dtype=np.int64),
        None if shapes[0] is None else np.array(shapes, dtype=np.int64),
        np.concatenate(positions) if positions else None,
        n_types,
        np.array(scales),
        pair_scores,
        pair_start,
    )


def _check_features(i, features, types, expected):
    """Raise an error unless a sample has valid features for all parts and types."""
    n_parts, n_features, n_types = expected
    if len(features) != n_parts:
        raise ValueError(f"X[{i}] has {len(features)} parts, expected {n_parts}")
    for p, part in enumerate(features):
        if part.shape[1] != n_features:
            raise ValueError(
                f"part {p} of X[{i}] has {part.shape[1]} features, expected {n_features}"
            )
        check_magnitudes(part, f"part {p} of X[{i}] contains")
    if types != n_types:
        raise ValueError(f"X[{i}] has {types} types, expected {n_types}")


def _numbers(value, what):
    """Return a float array; float32 is not converted."""
    return as_floats(array_of(value, what, NUMBERS), what)


def _features(i, value):
    """Return P arrays (S_p, F), the height and width of maps or None, and the number of types."""
    value = without_view(value)
    if isinstance(value, np.ndarray) and value.dtype != object and value.ndim in (4, 5):
        maps = _numbers(value, f"'features' of X[{i}]")
        if 0 in maps.shape:
            raise ValueError(f"'features' of X[{i}] is empty: it has shape {maps.shape}")
        types = maps.shape[1] if maps.ndim == 5 else 1
        size = types * maps.shape[-3] * maps.shape[-2]
        return list(maps.reshape(len(maps), size, -1)), maps.shape[-3:-1], types
    listed = isinstance(value, list | tuple | np.ndarray) and is_sized(value)
    if not listed or len(value) == 0:
        raise ValueError(
            f"'features' of X[{i}] must be P arrays (S_p, F), or one array (P, H, W, F) or "
            f"(P, T, H, W, F), found {shortened(value)}"
        )
    parts = [_numbers(part, f"part {p} of X[{i}]") for p, part in enumerate(value)]
    for p, part in enumerate(parts):
        if part.ndim != 2 or 0 in part.shape:
            raise ValueError(
                f"part {p} of X[{i}] has features of shape {part.shape}, expected (candidates, "
                "features), both positive; score maps are one array (P, H, W, F)"
            )
    return parts, None, 1


def _items_by_part(i, key, given, n_parts):
    """Validate an entry of a sample with an item for each part, and return it as a list."""
    given, unordered = items_of(given), (str, bytes, Mapping, Set)
    check_listed(given, f"{key!r} of X[{i}]", "items, one per part", type_name, unordered)
    items = [*given]
    if len(items) != n_parts:
        raise ValueError(f"X[{i}] has {key} of {len(items)} parts, expected {n_parts}")
    return items


def _positions(i, sample, sizes, maps, n_types):
    """Return P arrays (S_p, 2) of (x, y)."""
    given = sample.get("positions")
    if maps is not None:
        if given is not None:
            raise ValueError(
                f"X[{i}] has positions, but score maps imply their positions; remove 'positions'"
            )
        y, x = np.indices(maps).reshape(2, -1)
        return [np.tile(np.column_stack([x, y]).astype(np.float64), (n_types, 1))] * len(sizes)
    if given is None:
        raise ValueError(f"X[{i}] has no 'positions', which candidates require")
    given, out = _items_by_part(i, "positions", given, len(sizes)), []
    for p, (part, size) in enumerate(zip(given, sizes)):
        array = _numbers(part, f"positions of part {p} of X[{i}]").astype(np.float64)
        if array.shape != (size, 2):
            raise ValueError(
                f"positions of part {p} of X[{i}] have shape {array.shape}, expected {(size, 2)}"
            )
        check_magnitudes(array, f"positions of part {p} of X[{i}] contain", MAX_DISTANCE)
        out.append(array)
    return out


def _pair_scores(i, given, sizes, parents):
    """Return P flat tables (S_parent, S_p), empty at a root."""
    given, out = _items_by_part(i, "pair_scores", given, len(sizes)), []
    for p, parent in enumerate(parents):
        if parent < 0:
            out.append(np.empty(0))
            continue
        table = _numbers(given[p], f"pair_scores of part {p} of X[{i}]").astype(np.float64)
        if table.shape != (sizes[parent], sizes[p]):
            raise ValueError(
                f"pair_scores of part {p} of X[{i}] have shape {table.shape}, expected "
                f"{(sizes[parent], sizes[p])}, the numbers of states of its parent and its own"
            )
        check_magnitudes(table, f"pair_scores of part {p} of X[{i}] contain")
        out.append(table.ravel())
    return out


def _scale(i, value):
    scale = _numbers(value, f"'scale' of X[{i}]")
    if scale.shape != () or not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"'scale' of X[{i}] must be a positive number, found {shortened(value)}")
    if scale < 1 / MAX_DISTANCE:
        raise ValueError(
            f"'scale' of X[{i}] is {float(scale):g}, expected at least {1 / MAX_DISTANCE:g}; "
            "positions are divided by it, and their squares would overflow"
        )
    return float(scale)


def pack_states(y, trees, ignore_label):
    """Return true states (n, P) as int32, -1 for parts that are not annotated."""
    y = listed_targets(y, len(trees), "a list of state arrays")
    sizes = np.diff(trees.start, axis=1)
    out = np.empty(sizes.shape, dtype=np.int32)
    for i, item in enumerate(y):
        given = item, f"y[{i}]", "states, one per part", sizes[i].shape, ignore_label
        states, ignored = integer_labels(*given, lambda p, i=i: f"y[{i}] at part {p}")
        wrong = np.flatnonzero(~ignored & ((states < 0) | (states >= sizes[i])))
        if len(wrong):
            p = wrong[0]
            raise ValueError(
                f"y[{i}] has state {states[p]} for part {p}, expected 0 to {sizes[i, p] - 1}"
                + ("" if ignore_label is None else f", or {ignore_label} if not annotated")
            )
        out[i] = np.where(ignored, -1, states)
    return out


def pack_known_states(y_partial, trees, ignore_label):
    """Return known states (n, P) as int32, -1 if unknown."""
    sizes = np.diff(trees.start, axis=1)

    def expected(i, p):
        return f"y_partial[{i}] at part {p}", f"a state, 0 to {sizes[i, p] - 1}"

    return known_numbers(y_partial, sizes, ignore_label, expected)
