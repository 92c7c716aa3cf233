"""Validate samples of AlignmentSSVM and their true alignments; errors name the sample."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sstruct._checks.arrays import (
    array_of,
    check_depth,
    is_empty_list,
    is_sized,
    listed_samples,
)
from sstruct._estimators.matching.matching_samples import PackedMatchings, finite_numbers
from sstruct._input.integers import integers
from sstruct._input.labels import (
    as_labels,
    concatenate_labels,
    encode,
    find_classes,
    label_list,
)
from sstruct._input.ragged import NO_NODES, NoNodesError
from sstruct._oracles.alignment._alignment import check_size

KEYS = ("sequences", "features")
ADVICE = "All symbols must be known"


@dataclass(frozen=True, eq=False)
class AlignmentSample:
    """Two sequences: rows are positions in the first one, columns are positions in the second one.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_columns, n_features)
    first, second : ndarray
        Symbols, or their codes in a model, -1 if unknown. Empty without symbols.
    shape : tuple of int
        Number of rows and of columns.
    """

    features: np.ndarray
    first: np.ndarray
    second: np.ndarray
    shape: tuple

    # All pairs are candidates.
    places: ClassVar = slice(None)
    # Used in error messages.
    verb: ClassVar = "aligns"
    unmatched: ClassVar = "unaligned"
    advice: ClassVar = (
        "An unaligned row is -1. LatentSSVM completes rows whose column is unknown; set "
        "ignore_label to another number, such as ignore_label=-2"
    )

    @property
    def n_pairs(self):
        """Number of pairs of positions."""
        return self.shape[0] * self.shape[1]

    def as_columns(self, name, labels):
        """Return an array of pairs as the column of each row, and other arrays unchanged."""
        n_rows, n_columns = self.shape
        if labels.ndim != 2 and not (labels.shape == (0,) and n_rows > 0):
            return labels
        rows, columns = increasing_pairs(labels, name)
        if len(rows) and (rows[-1] >= n_rows or columns[-1] >= n_columns):
            raise ValueError(
                f"{name} contains the pair {[int(rows[-1]), int(columns[-1])]}, but the sequences "
                f"have {n_rows} and {n_columns} positions"
            )
        out = np.full(n_rows, -1)
        out[rows] = columns
        return out

    def check(self, name, columns):
        """Raise ValueError unless columns increase with rows."""
        rows = np.flatnonzero(columns >= 0)
        wrong = np.flatnonzero(np.diff(columns[rows]) <= 0)
        if len(wrong):
            a, b = rows[wrong[0] : wrong[0] + 2]
            raise ValueError(
                f"{name} aligns row {a} to column {columns[a]} and row {b} to column {columns[b]}, "
                "expected increasing columns"
            )


def increasing_pairs(pairs, name):
    """Return the rows and the columns of an array of aligned pairs (k, 2)."""
    pairs = integers(pairs, name)
    if pairs.size == 0:
        pairs = pairs.reshape(-1, 2)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"{name} has shape {pairs.shape}, expected (n_pairs, 2), aligned pairs")
    if (pairs < 0).any():
        raise ValueError(f"{name} contains a negative position, expected pairs of positions")
    wrong = np.flatnonzero((np.diff(pairs, axis=0) <= 0).any(axis=1))
    if len(wrong):
        a, b = pairs[wrong[0] : wrong[0] + 2].tolist()
        raise ValueError(
            f"{name} contains the pairs {a} and {b}, expected increasing positions of both "
            "sequences"
        )
    return pairs.T


@dataclass(frozen=True)
class PackedAlignments(PackedMatchings):
    """Samples whose features are parts of one array, if there are any.

    Attributes
    ----------
    has_symbols : bool
    symbols : ndarray or None
        The symbols of the codes in the samples; None if these have symbols instead of codes.
    """

    has_symbols: bool
    symbols: np.ndarray | None = None

    def encoded(self, symbols):
        """Return the samples with the codes of their symbols."""
        sequences = [own for x in self.samples for own in (x.first, x.second)]
        if not sequences:
            return replace(self, symbols=symbols)
        labels = as_labels(concatenate_labels(sequences))
        ends = np.cumsum([len(own) for own in sequences])
        codes = np.split(encode(labels, symbols), ends[:-1])
        samples = [
            replace(x, first=a, second=b)
            for x, a, b in zip(self.samples, codes[::2], codes[1::2], strict=True)
        ]
        return replace(self, samples=samples, symbols=symbols)

    def distinct_symbols(self, used):
        """Return the distinct symbols of some samples, given their mask."""
        chosen = [x for x, is_used in zip(self.samples, used, strict=True) if is_used]
        sequences = [own for x in chosen for own in (x.first, x.second) if len(own)]
        return find_classes(as_labels(concatenate_labels(sequences)))


def pack_alignments(X, n_features=None, has_symbols=None):
    """Validate X and return its PackedAlignments, with symbols that are not encoded.

    Parameters
    ----------
    X : list of tuples, arrays or dicts
    n_features : int or None
        Expected number of features of pairs; None in a fit.
    has_symbols : bool or None
        Whether samples must have symbols; None in a fit.
    """
    kind = (
        "a list of pairs of sequences, of arrays (rows, columns, features) or of dicts, one per "
        "sample"
    )
    X = listed_samples(X, kind, fitted=n_features is not None)
    samples = []
    for i, item in enumerate(X):
        if is_empty_list(item):
            samples.append(None)
            continue
        sample, symbols = _sample(i, item)
        found = sample.features.shape[2]
        n_features = found if n_features is None else n_features
        has_symbols = symbols if has_symbols is None else has_symbols
        if symbols != has_symbols:
            kinds = "no sequences of symbols", "sequences of symbols"
            raise ValueError(f"X[{i}] has {kinds[symbols]}, expected {kinds[has_symbols]}")
        if found != n_features:
            raise ValueError(f"X[{i}] has {found} features per pair, expected {n_features}")
        samples.append(sample)
    if n_features is None:
        raise NoNodesError(NO_NODES)
    none = np.empty(0, dtype=np.int32)
    empty = AlignmentSample(np.empty((0, 0, n_features)), none, none, (0, 0))
    samples = [empty if x is None else x for x in samples]
    features = np.concatenate(
        [np.empty((0, n_features)), *(x.features.reshape(x.n_pairs, n_features) for x in samples)]
    )
    return PackedAlignments(features, samples, has_symbols)


def _sample(i, item):
    """Return the AlignmentSample of an item of X, and whether it has symbols."""
    if isinstance(item, str):
        raise TypeError(
            f"X[{i}] is a string, expected a tuple (first, second) of sequences; one sample is a "
            "list of one tuple, X = [(first, second)]"
        )
    if not isinstance(item, Mapping):
        item = {"sequences" if is_pair(item) else "features": item}
    unknown = [key for key in item if key not in KEYS]
    given = [key for key in KEYS if item.get(key) is not None]
    if unknown or not given:
        found = f"unknown keys {unknown}" if unknown else f"none of {', '.join(KEYS)}"
        raise ValueError(f"X[{i}] has {found}; the keys of a dict are {', '.join(KEYS)}")
    first = second = np.empty(0, dtype=np.int32)
    shape = None
    if "sequences" in given:
        first, second = _sequences(i, item["sequences"])
        shape = len(first), len(second)
        check_size(*shape, f"X[{i}]")
    if "features" not in given:
        return AlignmentSample(np.empty((*shape, 0)), first, second, shape), True
    features = finite_numbers(item["features"], f"'features' of X[{i}]")
    if features.ndim != 3 or features.shape[2] == 0:
        raise ValueError(
            f"X[{i}] has features of shape {features.shape}, expected (rows, columns, features) "
            "with at least one feature; X must be a list of such arrays, or of tuples (first, "
            "second) of sequences"
        )
    if shape is not None and features.shape[:2] != shape:
        raise ValueError(
            f"X[{i}] has features of shape {features.shape}, expected {(*shape, 'n_features')} for "
            f"sequences of {shape[0]} and {shape[1]} symbols"
        )
    check_size(*features.shape[:2], f"X[{i}]")
    return AlignmentSample(features, first, second, features.shape[:2]), len(given) == 2


def is_pair(item):
    """Return whether an item of X is a pair of sequences: a tuple, or two strings."""
    if isinstance(item, tuple):
        return True
    listed = isinstance(item, list) or (isinstance(item, np.ndarray) and item.ndim == 1)
    return listed and len(item) == 2 and all(isinstance(own, str) for own in item)


def _sequences(i, pair):
    """Return the symbols of both sequences as arrays."""
    check_depth(pair, f"X[{i}]")
    if not isinstance(pair, list | tuple | np.ndarray) or not is_sized(pair):
        raise TypeError(f"'sequences' of X[{i}] must be two sequences, found {type(pair).__name__}")
    if len(pair) != 2:
        raise ValueError(f"'sequences' of X[{i}] has {len(pair)} sequences, expected two")
    return [_symbols(own, f"X[{i}][{k}]") for k, own in enumerate(pair)]


def _symbols(sequence, name):
    """Return the symbols of a sequence, or the characters of a string, as an array."""
    symbols = [*sequence] if isinstance(sequence, str) else label_list(sequence, name)
    if not symbols:
        return np.empty(0, dtype=np.int32)
    numbers = array_of(symbols, name) if not isinstance(symbols[0], str) else None
    if numbers is not None and (numbers.ndim != 1 or numbers.dtype.kind == "f"):
        raise TypeError(
            f"{name} must be a sequence of symbols, such as integers or a string, found an array "
            f"of shape {numbers.shape} and dtype {numbers.dtype}; pass features of pairs as an "
            "array (rows, columns, features)"
        )
    return as_labels(symbols, place=lambda k: f"{name} at position {k}", advice=ADVICE)
