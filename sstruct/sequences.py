"""Ragged data stored as one flat array with offsets."""

from __future__ import annotations

# A list of 20,000 small arrays is pickled array by array for every task of a parallel
# cross-validation, while joblib maps a few large arrays into shared memory once.
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse
from sklearn import get_config

from sstruct._checks._scans import rises
from sstruct._checks.arrays import (
    array_of,
    check_listed,
    check_unmasked,
    concatenated,
    contiguous,
    first_true,
    is_empty,
    is_ordered,
    items_of,
    type_name,
    whole_number,
)
from sstruct._checks.compressed import (
    as_csr,
    check_attributes,
    check_compressed,
    check_rows,
    stacked,
)
from sstruct._checks.shown import brief, error_kind, shortened
from sstruct._input.edge_features import join_edge_features, split_pairs
from sstruct._input.frames import column_names, common_names
from sstruct._input.labels import concatenate_labels, label_array, masked_as_none, object_array

__all__ = ["Sequences"]

SEPARATOR = "\0"  # separates names in pickles
NOTHING = {
    "flat": np.empty(0),
    "offsets": np.zeros(1, dtype=np.int64),
    "feature_names": None,
    "edge_features": None,
}
NOTHING["offsets"].flags.writeable = False


class Sequences:
    """Sequences of different lengths, stored as one flat array and offsets.

    Behaves like a list of arrays: it has a length, can be iterated over, and can be indexed with an
    integer (one item) or with a slice, an integer array or a mask (another ``Sequences``), so that
    scikit-learn splits it like other data. Parallel cross-validation shares a few large arrays
    between processes instead of copying thousands of small ones.

    Parameters
    ----------
    flat : array-like of shape (n_rows, n_features) or (n_rows,), or sparse of shape \
            (n_rows, n_features)
        The concatenated rows of all items. Labels are 1-D and may have any dtype. Arrays and CSR
        matrices are used without a copy; CSC and COO matrices are converted to CSR.
    offsets : array-like of int of shape (n + 1,)
        The rows of item i are ``offsets[i]`` to ``offsets[i + 1] - 1``. Must start with 0, be
        nondecreasing, and end with the number of rows.
    feature_names : array-like of str of shape (n_features,), optional
        Names of the columns, which estimators store as ``feature_names_in_``. Default: the column
        names of `flat` if it is a data frame.
    edge_features : Sequences, array-like or sparse matrix, optional
        Features of the edges between consecutive rows of an item: ``Sequences`` whose items have
        one row fewer than the items of features, or the concatenated rows of all such items. Items
        are then tuples (features, edge features), the input format of :class:`ChainSSVM`.

    Attributes
    ----------
    flat : ndarray or CSR matrix
        All rows.
    offsets : ndarray of int64 of shape (n + 1,)
        The start of each item and the end of the last one.
    feature_names : ndarray of str objects of shape (n_features,), or None
        Names of the columns, if any. Slices and selections have the same names.
    edge_features : Sequences or None
        Edge features, if any. Slices and selections contain those of their items.

    See Also
    --------
    sstruct.preprocessing.SequenceVectorizer : Convert feature dicts to sparse ``Sequences``.

    Notes
    -----
    Items and slices with step 1 are views, as in NumPy; selections by an integer array or a mask
    are copies. ``numpy.asarray`` returns a 1-D object array of items.

    Examples
    --------
    >>> import numpy as np
    >>> from sstruct import Sequences
    >>> X = Sequences(np.arange(10.0).reshape(5, 2), [0, 2, 5])
    >>> X
    Sequences(n=2, flat=float64 (5, 2))
    >>> X[0]
    array([[0., 1.],
           [2., 3.]])
    >>> X.lengths
    array([2, 3])
    >>> X[[1, 0, 1]].lengths
    array([3, 2, 3])

    With one edge feature:

    >>> X = Sequences(X.flat, X.offsets, edge_features=[[0.5], [0.0], [2.0]])
    >>> features, edge_features = X[1]
    >>> edge_features
    array([[0.],
           [2.]])
    """

    # Some parallel backends share only objects that support weak references.
    __slots__ = ("__weakref__", "edge_features", "feature_names", "flat", "offsets")

    flat: Any
    offsets: NDArray[np.int64]
    feature_names: NDArray[np.object_] | None
    edge_features: Sequences | None

    def __init__(
        self,
        flat: ArrayLike | sparse.spmatrix,
        offsets: ArrayLike,
        *,
        feature_names: ArrayLike | None = None,
        edge_features: Sequences | ArrayLike | sparse.spmatrix | None = None,
    ) -> None:
        names = column_names(flat) if feature_names is None else feature_names
        flat = _as_flat(flat)
        self._set(flat, _as_offsets(offsets, flat.shape[0]), names, edge_features)

    def _set(self, flat, offsets, names, edge_features):
        self.feature_names = None if names is None else _as_names(names, flat)
        self.flat, self.offsets, self.edge_features = flat, offsets, None
        if edge_features is not None:
            self.edge_features = _as_edge_features(edge_features, self)

    @classmethod
    def from_lengths(
        cls,
        flat: ArrayLike | sparse.spmatrix,
        lengths: ArrayLike,
        *,
        feature_names: ArrayLike | None = None,
        edge_features: Sequences | ArrayLike | sparse.spmatrix | None = None,
    ) -> Sequences:
        """Split a flat array into items of the given lengths.

        Parameters
        ----------
        flat : array-like or sparse matrix
            The concatenated rows of all items.
        lengths : array-like of int of shape (n,)
            Number of rows of each item; their sum is the number of rows.
        feature_names : array-like of str of shape (n_features,), optional
            Names of the columns. Default: the column names of a data frame.
        edge_features : Sequences, array-like or sparse matrix, optional
            Features of the edges between rows; see :class:`Sequences`.

        Returns
        -------
        sequences : Sequences
            The items.

        Examples
        --------
        >>> from sstruct import Sequences
        >>> Sequences.from_lengths(["B", "I", "O", "O"], [3, 1])[0].tolist()
        ['B', 'I', 'O']
        """
        lengths = _as_integers(lengths, "lengths")
        if (i := first_true(lengths < 0)) is not None:
            raise ValueError(f"lengths[{i}] is {lengths[i]}, expected at least 0")
        names = column_names(flat) if feature_names is None else feature_names
        flat = _as_flat(flat)
        if lengths.sum() != flat.shape[0]:
            raise ValueError(
                f"lengths sum to {lengths.sum()} but flat has {flat.shape[0]} rows, "
                "expected the same"
            )
        sequences = cls.__new__(cls)
        sequences._set(flat, offsets_of(lengths), names, edge_features)
        return sequences

    @classmethod
    def from_list(cls, items: Collection[Any]) -> Sequences:
        """Concatenate a list of items.

        Parameters
        ----------
        items : list of n items
            Items of the same type: 2-D arrays (or lists of lists) or sparse matrices with the same
            number of columns, or 1-D sequences of labels of any hashable type. Tuples inside an
            item are labels; lists and arrays are rows of features. Data frames must have the same
            column names. Empty lists and arrays are items without rows and may be mixed with any
            type. A tuple of two tables contains the features of an item of L rows and its edge
            features (L - 1, G).

        Returns
        -------
        sequences : Sequences
            The concatenated items, which are copied. If `items` is a ``Sequences``, it is returned
            unchanged.

        Examples
        --------
        >>> from sstruct import Sequences
        >>> Sequences.from_list([["B", "I"], ["O"], ["B", "O", "O"]])
        Sequences(n=3, flat=<U1 (6,))
        """
        if isinstance(items, cls):
            return items
        check_listed(items, "items", "sequences", type_name, (str, bytes))
        items = list(items_of(items))
        if len(items) == 0:
            raise ValueError("items is empty, expected at least one sequence")
        items, edges = split_pairs(items, "items")
        if edges is not None:
            out = cls.from_list(items)
            rows, names = join_edge_features(edges, out.lengths, "items")
            out.edge_features = _as_edge_features(rows, out, names)
            return out
        arrays = [_as_item(item, i) for i, item in enumerate(items)]
        lengths = [_n_rows(item) for item in arrays]
        # Items without rows match any type, unless all items are empty.
        some = [i for i, length in enumerate(lengths) if length] or range(len(arrays))
        kind = _kind(arrays[some[0]])
        for i in some:
            if _kind(arrays[i]) != kind:
                raise TypeError(
                    f"items[{i}] is {_kind(arrays[i])} but items[{some[0]}] is {kind}, expected "
                    "the same type"
                )
        offsets = offsets_of(lengths)
        if kind == "labels":
            return cls(label_array(concatenate_labels([arrays[i] for i in some])), offsets)
        width = arrays[some[0]].shape[1]
        for i, item in enumerate(arrays):
            if not is_empty(item) and item.shape[1] != width:
                raise ValueError(f"items[{i}] has {item.shape[1]} columns, expected {width}")
        flat = (concatenated if kind == "dense" else stacked)([arrays[i] for i in some], "items")
        return cls(flat, offsets, feature_names=common_names(items, "items"))

    def without_edge_features(self) -> Sequences:
        """Return the same sequences without edge features.

        Returns
        -------
        sequences : Sequences
            Sequences that share the memory of the features.
        """
        return self if self.edge_features is None else self._named(self.flat, self.offsets, None)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (n, n_features) of features, without the lengths, or (n,) of labels."""
        # Two entries, since scikit-learn's FeatureUnion only accepts 2-D output.
        return (len(self), *self.flat.shape[1:])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of rows of each item, an int64 array of shape (n,)."""
        return self.offsets[1:] - self.offsets[:-1]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, key: Any) -> Any:
        # scikit-learn indexes objects that have a shape with ``array[key, ...]``.
        if isinstance(key, tuple):
            if len(key) == 0 or len(key) > 2 or (len(key) == 2 and key[1] is not Ellipsis):
                raise IndexError(f"Sequences has one axis, found the index {shortened(key)}")
            key = key[0]
        if key is Ellipsis:
            return self
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self._run(start, max(start, stop))
            return self._selection(np.arange(start, stop, step))
        if not isinstance(key, list) and np.ndim(key) == 0:
            i = whole_number(key, "an index")
            if not -len(self) <= i < len(self):
                raise IndexError(f"index {i} is out of range for {len(self)} sequences")
            i %= len(self)
            start, stop = int(self.offsets[i]), int(self.offsets[i + 1])
            self._check_rows(np.arange(start, stop))
            rows = _row_range(self.flat, start, stop)
            return rows if self.edge_features is None else (rows, self.edge_features[i])
        return self._selection(self._positions(key))

    def __iter__(self) -> Iterator[Any]:
        items = (_row_range(self.flat, *ends) for ends in pairwise(self.offsets.tolist()))
        yield from items if self.edge_features is None else zip(items, self.edge_features)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        if dtype is not None and np.dtype(dtype) != object:
            raise TypeError(
                f"Sequences cannot be converted to an array of dtype {np.dtype(dtype)}, only to a "
                "1-D array of arrays; use sstruct.preprocessing.PerNode(transformer) to transform "
                "their nodes, or .flat for all rows as one array"
            )
        if copy is False:
            raise ValueError("an array of items requires a copy; use copy=None")
        return object_array(self)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any, keywords: Any
    ) -> Any:
        return call_with_lists(function, arguments, keywords)

    def __sizeof__(self) -> int:
        # Includes the arrays, because schedulers use this number to plan transfers.
        flat = self.flat
        parts = (flat.data, flat.indices, flat.indptr) if sparse.issparse(flat) else (flat,)
        return (
            object.__sizeof__(self)
            + self.offsets.nbytes
            + sum(int(part.nbytes) for part in parts)
            + (0 if self.feature_names is None else self.feature_names.nbytes)
            + (0 if self.edge_features is None else self.edge_features.__sizeof__())
        )

    if not TYPE_CHECKING:  # hides unknown attributes from type checkers otherwise

        def __getattr__(self, name):
            # Reached only for missing attributes: a file without a state has no items.
            if name in NOTHING:
                return NOTHING[name]
            raise AttributeError(f"'Sequences' object has no attribute {name!r}")

    def __getstate__(self) -> tuple:
        # One string, since pickling an object array of 400,000 names takes 0.2 s per task.
        names = self.feature_names
        if names is not None and len(names):
            text = SEPARATOR.join(names)
            names = text if text.count(SEPARATOR) == len(names) - 1 else names
        state = self.flat, self.offsets, names
        return state if self.edge_features is None else (*state, self.edge_features)

    def __setstate__(self, state: tuple) -> None:
        if not isinstance(state, tuple) or len(state) not in (3, 4):
            raise ValueError(
                f"invalid state of Sequences: found a {type(state).__name__}, expected a tuple "
                "(flat, offsets, feature_names, edge_features); the file is damaged"
            )
        self.flat, self.offsets, names, self.edge_features = (*state, None)[:4]
        check_sequences(self, "Sequences")
        names = names.split(SEPARATOR) if isinstance(names, str) else names
        self.feature_names = None if names is None else _as_names(names, self.flat)

    def __repr__(self) -> str:
        flat = self.flat
        stored = f" CSR, {flat.nnz} stored" if sparse.issparse(flat) else ""
        edges = (
            "" if self.edge_features is None else f", edge_features={self.edge_features.flat.shape}"
        )
        return f"Sequences(n={len(self)}, flat={flat.dtype} {flat.shape}{stored}{edges})"

    def _check_rows(self, rows):
        """Raise ValueError if rows are out of range, because the arrays were modified."""
        if sparse.issparse(self.flat):
            check_rows(self.flat, rows, "flat")

    def _positions(self, key):
        """Return the positions selected by an integer array or a mask."""
        key = array_of(key, "an index")
        if key.ndim != 1:
            raise IndexError(f"an index array must be 1-D, found {key.ndim}-D")
        if key.dtype == bool:
            if len(key) != len(self):
                raise IndexError(f"the mask has {len(key)} entries, expected {len(self)}")
            return np.flatnonzero(key)
        if len(key) == 0:
            return np.empty(0, dtype=np.intp)
        if key.dtype.kind not in "iu":
            raise IndexError(f"an index array must contain integers or bools, found {key.dtype}")
        key = key.astype(np.intp, copy=False)
        if (k := first_true((key < -len(self)) | (key >= len(self)))) is not None:
            raise IndexError(f"index {key[k]} is out of range for {len(self)} sequences")
        return np.where(key < 0, key + len(self), key)

    def _run(self, start, stop):
        """Return items start to stop - 1 as views."""
        offsets = self.offsets[start : stop + 1]
        self._check_rows(np.arange(offsets[0], offsets[-1]))
        rows = _row_range(self.flat, int(offsets[0]), int(offsets[-1]))
        edges = self.edge_features
        edges = edges if edges is None else edges._run(start, stop)
        return self._named(rows, offsets - offsets[0], edges)

    def _selection(self, positions):
        starts = self.offsets[positions]
        lengths = self.offsets[positions + 1] - starts
        offsets = offsets_of(lengths)
        rows = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        self._check_rows(rows)
        edges = self.edge_features
        edges = edges if edges is None else edges._selection(positions)
        return self._named(self.flat[rows], offsets, edges)

    def _named(self, flat, offsets, edge_features):
        """Return Sequences of other rows with the same names, which are not validated again."""
        return self._of(flat, offsets, self.feature_names, edge_features)

    @classmethod
    def _of(cls, flat, offsets, feature_names=None, edge_features=None):
        """Return Sequences of valid parts."""
        out = cls.__new__(cls)
        out.flat, out.offsets, out.feature_names = flat, offsets, feature_names
        out.edge_features = edge_features
        return out


Sequence.register(Sequences)


class FeatureList(list):
    """A list of samples that ``numpy.hstack`` concatenates like Sequences.

    ``kind`` is the type of the samples; only "sequences" can be concatenated.
    """

    kind = "sequences"

    def __array_function__(self, function, types, arguments, keywords):
        return call_with_lists(function, arguments, keywords)


def call_with_lists(function, arguments, keywords):
    """Call a NumPy function; ``hstack`` concatenates the columns of ragged features.

    scikit-learn's FeatureUnion combines the output of its transformers this way. For all other
    functions, Sequences are converted to object arrays of items.
    """
    axis = keywords.get("axis", arguments[1] if len(arguments) > 1 else 0)
    if function is np.hstack or (function is np.concatenate and axis == 1):
        return _side_by_side(*arguments[0])

    def plain(value):
        if isinstance(value, Sequences):
            return object_array(value)
        return [plain(item) for item in value] if isinstance(value, list | tuple) else value

    arguments = [plain(value) for value in arguments]
    return function(*arguments, **{name: plain(value) for name, value in keywords.items()})


def _side_by_side(*parts):
    """Concatenate the columns of Sequences or lists of feature arrays."""
    if get_config()["transform_output"] != "default":
        # FeatureUnion would convert the result to one data frame.
        raise TypeError(
            f"sequences cannot be concatenated as {get_config()['transform_output']} data frames; "
            "set transform_output='default', or apply one transformer to their nodes: "
            "PerNode(make_union(...)), not make_union(PerNode(...), ...)"
        )
    for part in parts:
        if getattr(part, "kind", "sequences") != "sequences":
            raise TypeError(
                f"{part.kind} cannot be concatenated; apply one transformer with all columns to "
                "their nodes: PerNode(make_union(...)), not make_union(PerNode(...), ...)"
            )
        if len(part) != len(parts[0]):
            raise ValueError(
                f"the transformers return {len(parts[0])} and {len(part)} samples, expected the "
                "same number"
            )
    if len(parts[0]) == 0:
        return []
    parts = [Sequences.from_list(part) for part in parts]
    first = parts[0]
    for part in parts:
        if len(part.flat.shape) != 2 and len(part.flat):
            raise TypeError(f"expected sequences of feature arrays, found {part!r}")
        if (i := first_true(part.lengths != first.lengths)) is not None:
            raise ValueError(
                f"the transformers return {first.lengths[i]} and {part.lengths[i]} rows for sample "
                f"{i}, expected the same number"
            )
    if any(is_empty(part.flat) for part in parts):  # unknown number of columns
        return [[] for _ in range(len(first))]
    edges = [part.edge_features for part in parts if part.edge_features is not None]
    for other in edges[1:]:
        if not same_rows(other.flat, edges[0].flat):
            raise ValueError("the transformers return different edge features, expected the same")
    flat = [part.flat for part in parts]
    is_sparse = any(map(sparse.issparse, flat))
    flat = sparse.hstack(flat, format="csr") if is_sparse else np.hstack(flat)
    out = Sequences(flat, first.offsets, edge_features=edges[0] if edges else None)
    names = [part.feature_names for part in parts]
    if all(own is not None for own in names):
        names = np.concatenate(names)
        out.feature_names = names if len(set(names)) == len(names) else None
    return out


def same_rows(a, b):
    """Return True if two tables, dense or sparse, are equal."""
    if a.shape != b.shape or sparse.issparse(a) != sparse.issparse(b):
        return False
    return (a != b).nnz == 0 if sparse.issparse(a) else np.array_equal(a, b)


def check_sequences(sequences, name):
    """Raise an error if the arrays of Sequences, which are writeable, are inconsistent."""
    flat, offsets = sequences.flat, sequences.offsets
    if sparse.issparse(flat) and flat.format == "csr":
        check_compressed(flat, f"{name}.flat")
    elif not isinstance(flat, np.ndarray) or flat.ndim not in (1, 2):
        raise ValueError(f"{name}.flat must be an array, 1-D or 2-D, or a CSR matrix")
    if not isinstance(offsets, np.ndarray) or offsets.dtype != np.int64:
        raise ValueError(f"{name}.offsets must be an int64 array, found {type(offsets).__name__}")
    _as_offsets(offsets, flat.shape[0], f"{name}.offsets")
    edges = sequences.edge_features
    if edges is None:
        return
    if not isinstance(edges, Sequences) or edges.edge_features is not None:
        raise ValueError(f"{name}.edge_features must be Sequences, found {type(edges).__name__}")
    check_sequences(edges, f"{name}.edge_features")
    if len(flat.shape) != 2 or len(edges.flat.shape) != 2:
        raise ValueError(f"{name} has edge features, which requires 2-D features and edge features")
    expected = _n_steps(sequences)
    if len(edges) != len(expected):
        raise ValueError(f"{name}.edge_features has {len(edges)} items, expected {len(expected)}")
    if (i := first_true(edges.lengths != expected)) is not None:
        raise ValueError(
            f"{name}.edge_features[{i}] has {edges.lengths[i]} rows, expected {expected[i]}: one "
            f"for each pair of consecutive rows of the {sequences.lengths[i]} in {name}[{i}]"
        )


def _n_steps(sequences):
    """Return the number of edges between the rows of each item."""
    return np.maximum(sequences.lengths - 1, 0)


def _as_edge_features(edge_features, sequences, names=None):
    """Return the edge features of sequences as Sequences."""
    if not isinstance(edge_features, Sequences):
        names = column_names(edge_features) if names is None else names
        rows, expected = _as_flat(edge_features), _n_steps(sequences)
        if rows.shape[0] != expected.sum():
            raise ValueError(
                f"edge_features has {rows.shape[0]} rows, expected {expected.sum()}: one for each "
                "pair of consecutive rows of an item"
            )
        edge_features = Sequences(rows, offsets_of(expected), feature_names=names)
    draft = sequences._named(sequences.flat, sequences.offsets, edge_features)
    check_sequences(draft, "these Sequences")
    return edge_features


def offsets_of(lengths):
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    offsets[1:] = lengths
    return offsets.cumsum(out=offsets)


def _as_integers(values, name):
    values = array_of(values, name)
    if values.ndim != 1:
        raise ValueError(f"{name} must be 1-D, found shape {values.shape}")
    if len(values) and values.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, found dtype {values.dtype}")
    return values.astype(np.int64, copy=False)


def _as_offsets(offsets, n_rows, name="offsets"):
    offsets = _as_integers(offsets, name)
    if len(offsets) == 0:
        raise ValueError(f"{name} is empty, expected n + 1 integers, the first of which is 0")
    if offsets[0] != 0:
        raise ValueError(f"{name}[0] is {offsets[0]}, expected 0")
    if not rises(contiguous(offsets)):
        i = int(np.argmax(offsets[1:] < offsets[:-1]))
        raise ValueError(
            f"{name} must be nondecreasing, found {name}[{i}] = {offsets[i]} and "
            f"{name}[{i + 1}] = {offsets[i + 1]}"
        )
    if offsets[-1] != n_rows:
        raise ValueError(
            f"{name} ends with {offsets[-1]} but flat has {n_rows} rows, expected the same"
        )
    return offsets


def _as_names(names, flat):
    """Return the names of columns as an array of str objects."""
    width = flat.shape[1] if len(flat.shape) == 2 else None
    shape = array_of(names, "feature_names").shape
    if shape != (width,):
        columns = "labels, which have no columns" if width is None else f"{width} columns"
        raise ValueError(f"feature_names has shape {shape} for {columns}")
    names = object_array(names)
    for k, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"feature_names[{k}] is {shortened(name)}, expected a string")
    return names


def _as_flat(flat):
    """Return a 1-D or 2-D ndarray, or a CSR matrix."""
    if sparse.issparse(flat):
        check_compressed(flat, "flat")
        return as_csr(flat)
    if isinstance(flat, list | tuple):
        flat = _as_item(flat, None)
        flat = flat if isinstance(flat, np.ndarray) else label_array(flat)
    elif getattr(flat, "ndim", 0) == 1 and np.ma.is_masked(flat):  # unknown labels
        flat = label_array(flat)
    flat = array_of(flat, "flat")
    if flat.ndim not in (1, 2):
        raise ValueError(f"flat must be 1-D (labels) or 2-D (features), found {flat.ndim}-D")
    return flat


def _row_range(flat, start, stop):
    """Return rows start to stop - 1 as a view; slices of CSR matrices in SciPy are copies."""
    if not sparse.issparse(flat):
        return flat[start:stop]
    if start == 0 and stop == flat.shape[0]:
        return flat
    indptr = flat.indptr[start : stop + 1]
    stored = slice(int(indptr[0]), int(indptr[-1]))
    # Bypass the constructor, which copies views of less than half of an array.
    rows = type(flat)((stop - start, flat.shape[1]), dtype=flat.dtype)
    rows.data, rows.indices = flat.data[stored], flat.indices[stored]
    rows.indptr = indptr - indptr[0]
    return rows


def _as_item(item, i):
    """Return a 2-D array, a sparse matrix, or a 1-D sequence of labels; i is used in errors."""
    name = "flat" if i is None else f"items[{i}]"
    if sparse.issparse(item):
        check_attributes(item, name)
        return item
    if not is_ordered(item):
        raise TypeError(f"{name} must be an array or a list, found {type(item).__name__}")
    if isinstance(item, list | tuple):
        if len(item) == 0 or not isinstance(item[0], list | np.ndarray):
            return item
        check_unmasked(item, name)
        try:
            item = np.asarray(item, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise error_kind(error)(f"{name} is not a numeric 2-D array: {brief(error)}") from None
    if getattr(item, "ndim", 0) == 1 and np.ma.is_masked(item):  # unknown labels
        return masked_as_none(item)
    item = array_of(item, name)
    if item.ndim not in (1, 2):
        raise ValueError(f"{name} must be 1-D (labels) or 2-D (features), found {item.ndim}-D")
    return item


def _n_rows(item):
    return item.shape[0] if hasattr(item, "shape") else len(item)


def _kind(item):
    if sparse.issparse(item):
        return "sparse"
    return "dense" if isinstance(item, np.ndarray) and item.ndim == 2 else "labels"
