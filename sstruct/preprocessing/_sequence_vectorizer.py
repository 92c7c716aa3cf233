"""Vectorizer for sequences of feature dicts in the format of CRFsuite."""

from __future__ import annotations

import math
import weakref
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import partial
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from sstruct._checks.arrays import array_of, check_listed, is_sized, without_view
from sstruct._checks.compressed import csr_array_of
from sstruct._checks.parameters import check_number
from sstruct._checks.shown import shortened
from sstruct._checks.warn import warn_user
from sstruct._compat.public_module import public_module
from sstruct._estimators.core.fitted_state import (
    CheckedState,
    Field,
    FittedState,
    check_parameters,
    raise_unexpected,
    reads_one_fit,
)
from sstruct._input.frames import library_of, records
from sstruct._input.labels import is_missing, object_array
from sstruct.preprocessing._encoding import codes_of_dicts, csr_rows
from sstruct.sequences import Sequences, offsets_of

__all__ = ["SequenceVectorizer"]

# Nonnegative codes of attributes are column indices. ABSENT marks an attribute without effect
# (weight 0, or unknown to a fitted vectorizer). FIRST_WEIGHTED - m is occurrence m, from 0, of a
# weight other than 0 and 1, or of a nonzero entry of a vector; these weights are stored separately,
# so that other attributes take only one integer.
ABSENT = -1
FIRST_WEIGHTED = -2
MAX_WEIGHTED = np.iinfo(np.int32).max  # codes have 32 bits
MAX_DEPTH = 100  # limit on the nesting of dicts
# The codes of up to MAX_CACHED entries in inputs of at most FEW sequences are kept for later calls.
FEW = 16
MAX_CACHED = 2**17
NUMBERS = (float, int, np.bool_, Real, Decimal)
PLAIN = (str, int, float, bool)


@dataclass(frozen=True, kw_only=True)
class Vocabulary(Field):
    """Dict that maps names to the columns 0, 1, ... in order."""

    def expected(self):
        return "a dict that maps names to the columns 0, 1, ... in order"

    def check(self, value, name, sizes):
        columns = list(value.values()) if isinstance(value, dict) else None
        # Check types first, since other objects from a file may not support comparison.
        right = columns is not None and set(map(type, columns)) <= {int}
        right = right and columns == list(range(len(columns)))
        if not right or not all(isinstance(key, str) for key in value):
            raise_unexpected(name, value, self.expected())


@dataclass(frozen=True, kw_only=True)
class ColumnNames(Field):
    """The names of a vocabulary as an array."""

    def expected(self):
        return "an array of the names in vocabulary_"

    def check(self, value, name, sizes):
        right = type(value) is np.ndarray and value.ndim == 1 and value.dtype == object
        if not right or not all(isinstance(each, str) for each in value):
            raise_unexpected(name, value, self.expected())


def names_agree(state):
    """Check that the column names match the vocabulary."""
    if state["_column_names"].tolist() != list(state["vocabulary_"]):
        raise_unexpected("_column_names", state["_column_names"], "the names in vocabulary_")


# No output wrapping, because set_output would try to make one data frame of ragged data.
@public_module("sstruct.preprocessing")
class SequenceVectorizer(CheckedState, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Convert sequences of feature dicts to ragged sparse rows.

    Features are interpreted as in python-crfsuite and sklearn-crfsuite, so that feature functions
    written for them can be reused. Each item of a sequence becomes a row, each attribute a column.

    Parameters
    ----------
    min_count : int, default=1
        Attributes with fewer occurrences in the training items are dropped.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the values.

    Attributes
    ----------
    vocabulary_ : dict
        Column of each attribute, in the order of first appearance in the training data.

    See Also
    --------
    sstruct.Sequences : The output of `transform`.
    sklearn.feature_extraction.DictVectorizer : The same for a flat list of dicts.

    Notes
    -----
    A sequence may also be a pandas or polars data frame, whose rows are read as dicts of columns.
    An item is a list of strings, each an attribute of weight 1, or a dict with these entries:

    ============================  ==========================================================
    ``"name": "value"``           the attribute ``name:value`` of weight 1
    ``"name": number or bool``    the attribute ``name`` with that weight
    ``"name": ["a", "b"]``        ``name:a`` and ``name:b`` of weight 1; also a tuple or a set
    ``"name": [0.5, -1.0]``       ``name:0`` of weight 0.5 and ``name:1`` of weight -1; also a tuple
                                  or a 1-D array, such as a word vector
    ``"name": {...}``             the entries of the inner dict, with names prefixed by ``name:``
    ``"name": None or NaN``       nothing; a warning reports the number of missing values
    ============================  ==========================================================

    Bytes are decoded as UTF-8, and members of an Enum are replaced by their values. Weights of an
    attribute that occurs more than once in an item are summed. Attributes of weight 0 are absent;
    attributes not seen during fit are ignored.

    Time and memory are linear in the number of attributes. During a call, a dict with an entry for
    each distinct pair of a name and a string is kept in memory. ``transform`` of at most 16
    sequences keeps up to 131,072 such entries for later calls.

    Examples
    --------
    >>> from sstruct.preprocessing import SequenceVectorizer
    >>> X = [[{"w": "He", "upper": True}, {"w": "runs", "length": 4}], [{"w": "He"}]]
    >>> vectorizer = SequenceVectorizer()
    >>> vectorizer.fit_transform(X)
    Sequences(n=2, flat=float64 (3, 4) CSR, 5 stored)
    >>> vectorizer.get_feature_names_out()
    array(['w:He', 'upper', 'w:runs', 'length'], dtype=object)
    """

    _fitted_state = FittedState(
        {"vocabulary_": Vocabulary(), "_column_names": ColumnNames()}, rules=(names_agree,)
    )

    vocabulary_: dict[str, int]

    def __init__(self, *, min_count: int = 1, dtype: DTypeLike = np.float64) -> None:
        self.min_count = min_count
        self.dtype = dtype

    def fit(self, X: Iterable[Any], y: Any = None) -> SequenceVectorizer:
        """Learn the vocabulary of attributes.

        Parameters
        ----------
        X : list of lists of dicts or of lists of str
            Sequences of items.
        y : None
            Ignored.

        Returns
        -------
        self : SequenceVectorizer
            The fitted vectorizer.

        Raises
        ------
        ValueError
            If X is empty, or every attribute occurs less than `min_count` times.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Iterable[Any], y: Any = None) -> Sequences:
        """Learn the vocabulary and return the rows, in one pass over the data.

        Parameters
        ----------
        X : list of lists of dicts or of lists of str
            Sequences of items.
        y : None
            Ignored.

        Returns
        -------
        rows : Sequences
            Rows as a CSR matrix of shape (n_items, n_attributes) with sorted indices. Columns are
            named, so that estimators set ``feature_names_in_``.
        """
        encoded, new_columns, dtype = self._fit(X)
        return self._rows(encoded, new_columns, dtype)

    @reads_one_fit
    def transform(self, X: Iterable[Any]) -> Sequences:
        """Convert sequences to rows.

        Parameters
        ----------
        X : list of lists of dicts or of lists of str
            Sequences of items.

        Returns
        -------
        rows : Sequences
            Rows as a CSR matrix of shape (n_items, n_attributes) with sorted indices. Columns are
            named, so that estimators set ``feature_names_in_``.
        """
        seen = _seen_pairs(self) if is_sized(X) and len(X) <= FEW else None
        encoded = _Encoded(X, _KnownNames(self.vocabulary_), seen)
        encoded.warn_of_missing()
        return self._rows(encoded, None, _checked_dtype(self.dtype))

    @reads_one_fit
    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Get output feature names for transformation.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str objects of shape (n_attributes,)
            The attribute of each column.
        """
        return object_array(self.vocabulary_)

    def _stored_state(self):
        # vocabulary_ contains the same names, which are stored only once.
        state = super()._stored_state()
        state.pop("vocabulary_", None)
        return state

    def _attributes_of(self, state):
        state = super()._attributes_of(state)
        names = state.get("_column_names") if isinstance(state, dict) else None
        # Names that are not strings are reported when attributes are validated.
        listed = type(names) is np.ndarray and names.ndim == 1 and "vocabulary_" not in state
        if listed and all(isinstance(name, str) for name in names):
            columns = {name: column for column, name in enumerate(names.tolist())}
            state = state | {"vocabulary_": columns}
        return state

    def _rows(self, encoded, new_columns, dtype):
        flat = encoded.rows(new_columns, len(self.vocabulary_), dtype)
        # Always pass the same array of names: comparing it with itself is fast.
        return Sequences._of(flat, offsets_of(encoded.lengths), self._column_names)

    def _fit(self, X):
        check_parameters(self)
        check_number("min_count", self.min_count, least=1, whole=True)
        dtype = _checked_dtype(self.dtype)
        names = _Names()
        encoded = _Encoded(X, names)
        if len(encoded.lengths) == 0:
            raise ValueError("X is empty, expected at least one sequence")
        encoded.warn_of_missing()
        counts = encoded.counts(len(names))
        kept = counts >= self.min_count
        if counts.any() and not kept.any():
            raise ValueError(
                f"min_count={self.min_count} removes all attributes, since the most frequent one "
                f"occurs {counts.max()} times; use a smaller min_count"
            )
        if kept.all():
            self._publish_vocabulary(dict(names))
            return encoded, None, dtype
        # ABSENT = -1 indexes the additional last entry.
        new_columns = np.full(len(names) + 1, ABSENT, dtype=np.int32)
        new_columns[:-1][kept] = np.arange(np.count_nonzero(kept))
        kept_names = (name for name, keep in zip(names, kept.tolist()) if keep)
        self._publish_vocabulary({name: column for column, name in enumerate(kept_names)})
        return encoded, new_columns, dtype

    def _publish_vocabulary(self, vocabulary):
        self._publish({"vocabulary_": vocabulary, "_column_names": object_array(vocabulary)})

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class _Names(dict):
    """Column of each attribute; new names get the next column."""

    def __missing__(self, name):
        if isinstance(name, bytes | Enum):
            return self[_text(name)]
        column = self[_text(name)] = len(self)
        return column


class _KnownNames(dict):
    """Column of each attribute looked up so far; the vocabulary is neither copied nor changed."""

    def __init__(self, vocabulary):
        super().__init__()
        self.vocabulary = vocabulary

    def __missing__(self, name):
        column = self[name] = self.vocabulary.get(_text(name), ABSENT)
        return column


class _SeenPairs:
    """Codes of entries (name, value) for a vocabulary, cached between calls with short inputs.

    Only strings and the weights 0 and 1 are cached, because their codes depend only on the entry.
    """

    def __init__(self, vocabulary):
        self.vocabulary, self.codes, self.size = vocabulary, {}, 0

    def find(self, name, value):
        """Return the code of an entry, or None for other types and weights."""
        if type(name) is not str or type(value) not in PLAIN:
            return None
        if type(value) is str:
            code = self.vocabulary.get(f"{name}:{value}", ABSENT)
        elif value in (0, 1):
            code = self.vocabulary.get(name, ABSENT) if value else ABSENT
        else:
            return None
        if self.size < MAX_CACHED:
            self.codes.setdefault(name, {})[value] = code
            self.size += 1
        return code


# For the id of the column names of a fitted vectorizer: a weak reference to them and _SeenPairs.
_seen = {}


def _seen_pairs(vectorizer):
    """Return the _SeenPairs of a fitted vectorizer, shared by its shallow copies."""
    names = vectorizer._column_names
    key = id(names)
    found = _seen.get(key)
    if found is None or found[0]() is not names:
        alive = weakref.ref(names, partial(_seen.pop, key))
        found = _seen[key] = alive, _SeenPairs(vectorizer.vocabulary_)
    return found[1]


class _Pairs:
    """Code of each entry (name, value) of a feature dict.

    Equal pairs have equal codes, so values equal to 1, such as True, are weight 1. Codes of plain
    strings and of the weights 0 and 1 are cached in `codes`, a dict of dicts by name and value,
    which takes less memory than a dict by pairs. Other weights are not cached, because they may be
    all different. Missing values are counted.
    """

    def __init__(self, names):
        self.names, self.codes = names, {}
        self.columns = array("q")
        self.weights = array("d")
        self.n_missing, self.first_missing = 0, None
        self.vector_columns = {}

    def find(self, name, value):
        """Return the code of an entry."""
        if isinstance(value, Enum):
            return self.find(name, value.value)
        if isinstance(value, str):
            code = self.names[f"{_text(name)}:{value}"]
        elif isinstance(value, bytes):
            code = self.names[f"{_text(name)}:{value.decode()}"]
        elif isinstance(value, NUMBERS):
            weight = float(value)
            if weight != weight:
                return self.absent(_text(name))
            if not math.isfinite(weight):
                raise ValueError(
                    f"attribute {shortened(name)} is {weight}, expected a finite number"
                )
            if weight != 0 and weight != 1:
                return self.weighted(self.names[_text(name)], weight)
            code = self.names[_text(name)] if weight else ABSENT
        elif type(value).__hash__ is not None and is_missing(value):
            return self.absent(_text(name))
        else:
            raise _unsupported(name, value)
        if type(name) is str and type(value) in PLAIN:
            self.codes.setdefault(name, {})[value] = code
        return code

    def weighted(self, column, weight):
        """Return the code of an attribute with a weight other than 0 and 1."""
        if column == ABSENT:
            return ABSENT
        self.columns.append(column)
        self.weights.append(weight)
        return FIRST_WEIGHTED - (len(self.columns) - 1)

    def absent(self, name, n_missing=1):
        """Count missing values of an attribute and return their code."""
        if not self.n_missing:
            self.first_missing = name
        self.n_missing += n_missing
        return ABSENT

    def vector(self, name, values):
        """Return the codes of the attributes ``name:0``, ``name:1``, ... of a vector of weights."""
        values = np.asarray(values, dtype=np.float64)
        missing = np.isnan(values)
        if missing.any():
            self.absent(name, int(np.count_nonzero(missing)))
            values = np.where(missing, 0.0, values)
        if not np.isfinite(values).all():
            i = int(np.argmin(np.isfinite(values)))
            raise ValueError(
                f"attribute {shortened(name)} has {values[i]} at {i}, expected finite numbers"
            )
        columns = self.vector_columns.get((name, len(values)))
        if columns is None:
            columns = [self.names[f"{name}:{i}"] for i in range(len(values))]
            columns = self.vector_columns[name, len(values)] = np.array(columns, dtype=np.int64)
        some = (values != 0) & (columns != ABSENT)
        first = len(self.columns)
        self.columns.frombytes(columns[some].tobytes())
        self.weights.frombytes(values[some].tobytes())
        if len(self.columns) > MAX_WEIGHTED:
            raise ValueError(f"X has more than {MAX_WEIGHTED} weighted attributes")
        return np.arange(FIRST_WEIGHTED - first, FIRST_WEIGHTED - len(self.columns), -1)


class _Encoded:
    """The attributes of all items of X as codes, in the format of CSR rows."""

    def __init__(self, X, names, seen=None):
        if library_of(X):
            raise TypeError("X is a single data frame, expected a list of sequences; use [X]")
        check_listed(X, "X", "sequences of items", _described)
        X = list(without_view(X))  # its length equals its number of sequences
        self.pairs, self.seen = _Pairs(names), seen
        codes, sizes = [], []
        for i, sequence in enumerate(X):
            check_listed(sequence, f"X[{i}]", "items", _described)
            sequence_codes, item_sizes = self._sequence(list(records(without_view(sequence))), i)
            codes.append(sequence_codes)
            sizes.append(item_sizes)
        self.lengths = [len(item_sizes) for item_sizes in sizes]
        self.offsets = offsets_of(_joined(sizes, np.int64))
        self.codes = _joined(codes, np.int32)
        self._resolve_weights()

    def _sequence(self, sequence, i):
        """Return the codes of a sequence and the number of codes in each item."""
        # The usual formats are read in C, all items together. If that fails, items are read
        # individually, so that the message names the item.
        n_missing = self.pairs.n_missing
        try:
            first = sequence[0] if len(sequence) else {}
            if isinstance(first, dict):
                return self._dicts(sequence)
            if all(type(item) is list for item in sequence):
                entries = chain.from_iterable(sequence)
                sizes = np.fromiter(map(len, sequence), np.int64, len(sequence))
                find = self.pairs.names.__getitem__
                return np.fromiter(map(find, entries), np.int32, sizes.sum()), sizes
        except (TypeError, ValueError, OverflowError):
            self.pairs.n_missing = n_missing
        codes, sizes = array("i"), np.empty(len(sequence), dtype=np.int64)
        for t, item in enumerate(sequence):
            before = len(codes)
            try:
                self._item(item, codes)
            except (TypeError, ValueError, OverflowError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"X[{i}][{t}]: {error}") from None
            sizes[t] = len(codes) - before
        return np.array(codes, dtype=np.int32), sizes

    def _dicts(self, sequence):
        """Return the codes of all entries of dicts, and the number of codes of each dict."""
        if self.seen is not None:
            found = codes_of_dicts(sequence, self.seen.codes, self.seen.find)
            if found is not None:
                return found
            self.seen = None
        found = codes_of_dicts(sequence, self.pairs.codes, self.pairs.find)
        if found is None:
            raise TypeError("expected dicts only")
        return found

    def _item(self, item, codes):
        if isinstance(item, dict):
            for name, value in item.items():
                try:
                    self._entry(_text(name), value, codes, 1)
                except OverflowError:
                    raise ValueError(
                        f"attribute {shortened(_text(name))} has a number that exceeds the range "
                        "of float64"
                    ) from None
        elif isinstance(item, list | tuple | set | frozenset):
            codes.extend(map(self.pairs.names.__getitem__, _in_order(item)))
        else:
            raise TypeError(f"expected a dict or a list of strings, found {_described(item)}")

    def _entry(self, name, value, codes, depth):
        """Append the codes of an entry of a feature dict, nested in `depth` dicts."""
        value = _plain(value)
        if isinstance(value, dict):
            if depth >= MAX_DEPTH:
                raise ValueError(
                    f"dicts are nested more than {MAX_DEPTH} levels at attribute {shortened(name)}"
                )
            for inner, inner_value in value.items():
                self._entry(f"{name}:{_text(inner)}", inner_value, codes, depth + 1)
        elif isinstance(value, list | tuple | set | frozenset | np.ndarray):
            self._several(name, value, codes)
        elif type(value).__hash__ is None:
            raise _unsupported(name, value)
        else:
            codes.append(self.pairs.find(name, value))

    def _several(self, name, values, codes):
        """Append the codes of a collection of strings, or of a vector."""
        if isinstance(values, np.ndarray):
            if values.ndim != 1:
                raise ValueError(
                    f"attribute {shortened(name)} is an array of shape {values.shape}, expected 1-D"
                )
            if values.dtype.kind in "fiub":
                codes.extend(self.pairs.vector(name, values).tolist())
                return
        is_set = isinstance(values, set | frozenset)
        values = [_plain(value) for value in values]
        known = [value for value in values if not is_missing(value)]
        if known and all(isinstance(value, NUMBERS) for value in known):
            if is_set:
                raise TypeError(
                    f"attribute {shortened(name)} is a set of numbers, which is not ordered; "
                    "expected a list"
                )
            weights = [float(value) if isinstance(value, NUMBERS) else math.nan for value in values]
            codes.extend(self.pairs.vector(name, weights).tolist())
            return
        if len(known) < len(values):
            self.pairs.absent(name, len(values) - len(known))
        for string in sorted(known, key=_text) if is_set else known:
            if not isinstance(string, str | bytes):
                raise TypeError(
                    f"attribute {shortened(name)} has {_described(string)} in its list, expected "
                    "only strings or only numbers"
                )
            codes.append(self.pairs.names[f"{name}:{_text(string)}"])

    def warn_of_missing(self):
        """Warn if there are values that are None or NaN."""
        if self.n_missing:
            some = "1 missing value" if self.n_missing == 1 else f"{self.n_missing} missing values"
            warn_user(
                f"X has {some} (None or NaN), treated as absent attributes; the first is of "
                f"{shortened(self.first_missing)}"
            )

    def _resolve_weights(self):
        """Replace the codes of weighted attributes by columns."""
        self.weights = None
        self.n_missing, self.first_missing = self.pairs.n_missing, self.pairs.first_missing
        if self.pairs.columns:
            weighted = np.flatnonzero(self.codes <= FIRST_WEIGHTED)
            which = FIRST_WEIGHTED - self.codes[weighted]
            self.codes[weighted] = np.asarray(self.pairs.columns)[which]
            self.weights = np.ones(len(self.codes))
            self.weights[weighted] = np.asarray(self.pairs.weights)[which]
        del self.pairs  # as large as the vocabulary and no longer needed

    def counts(self, n_columns):
        """Return the number of occurrences of each attribute."""
        return np.bincount(self.codes[self.codes != ABSENT], minlength=n_columns)

    def rows(self, new_columns, n_columns, dtype):
        """Return CSR rows, renumbering columns unless `new_columns` is None."""
        columns = self.codes if new_columns is None else new_columns[self.codes]
        values, indices, indptr, canonical = csr_rows(columns, self.offsets, self.weights)
        if len(indices) <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        values = values.astype(dtype, copy=False)
        flat = csr_array_of(values, indices, indptr, (len(indptr) - 1, n_columns))
        if canonical:
            flat.has_canonical_format = True
        flat.sum_duplicates()
        return flat


def _joined(parts, dtype):
    """Return the concatenation of arrays with a dtype."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([np.empty(0, dtype), *parts])


def _plain(value):
    """Return the value of a member of an Enum, and 1-D arrays as NumPy arrays."""
    while isinstance(value, Enum):
        value = value.value
    if isinstance(value, array) or (getattr(value, "ndim", 0) and not sparse.issparse(value)):
        return array_of(value, "its value")
    return value


def _in_order(strings):
    # The order of a set, and thus of new columns, differs between runs.
    return sorted(strings, key=_text) if isinstance(strings, set | frozenset) else strings


def _text(name):
    while isinstance(name, Enum):
        name = name.value
    if isinstance(name, str):
        return str(name)
    if isinstance(name, bytes):
        return name.decode()
    raise TypeError(f"attribute names must be strings, found {_described(name)}")


def _described(value):
    text = shortened(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


def _unsupported(name, value):
    return TypeError(
        f"attribute {shortened(name)} is {_described(value)}, expected a string, a number, a bool, "
        "None, a dict of these, or a list of strings or of numbers"
    )


def _checked_dtype(dtype):
    try:  # only accept types that NumPy converts predictably
        found = np.dtype(dtype) if isinstance(dtype, str | type | np.dtype) else None
    except (TypeError, ValueError):
        found = None
    if found not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float64 or float32, found {shortened(dtype)}")
    return found
