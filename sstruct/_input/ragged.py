"""Conversion of ragged input to flat arrays, and encoding of labels, with errors that name samples.

Everything here runs before any computation and does not change the estimator.
"""

from collections.abc import Iterable, Iterator, Mapping, MappingView, Set
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, column_or_1d

from sstruct._checks.arrays import (
    LARGEST,
    NUMBERS,
    array_of,
    as_floats,
    check_depth,
    check_given_target,
    check_unmasked,
    concatenated,
    contiguous,
    describe_invalid,
    first_beyond,
    first_true,
    is_empty,
    is_ordered,
    is_sized,
    items_of,
    real_array,
)
from sstruct._checks.compressed import as_csr, check_attributes, check_compressed, stacked
from sstruct._checks.shown import brief, error_kind, shortened
from sstruct._checks.warn import warn_user
from sstruct._compat import validate_data
from sstruct._input.completion import KnownLabels
from sstruct._input.edge_features import is_table
from sstruct._input.frames import check_names, column_names, missing_as_nan
from sstruct._input.labels import (
    as_labels,
    check_reserved,
    concatenate_labels,
    encode,
    is_label,
    is_one_label,
    label_rules,
    masked_as_none,
    object_array,
    training_classes,
)
from sstruct._input.partial import place_of
from sstruct._input.per_sample import PerSample
from sstruct.sequences import Sequences, check_sequences

# Positive weights must be at least this large, so that products with class weights do not lose
# precision and sums can be divisors.
TINY = 1e-300
NO_NODES = "X has no nodes: all samples are empty, expected at least one node"

FROM_LENGTHS = (
    "If X contains the rows of all sequences, use fit(Sequences.from_lengths(X, lengths), "
    "Sequences.from_lengths(y, lengths))"
)


class NoNodesError(ValueError):
    """Raised if no node has a label and a positive weight for training or scoring.

    Parameters
    ----------
    message : str
    empty : array-like of int
        Indices of the samples without nodes.
    """

    def __init__(self, message, empty=()):
        super().__init__(message)
        self.empty = np.asarray(empty, dtype=np.intp)


@dataclass
class Nodes:
    """Concatenated feature rows of all structures.

    ``form`` is the format of the input and of predictions: ``"ragged"`` (lists, object arrays,
    Sequences), ``"stacked"`` (one array (n, L, F)) or ``"rows"`` (2-D: structures of one node).
    ``sample_shape`` is the shape of the nodes of a stacked sample. An empty sample has two equal
    consecutive offsets.
    """

    flat: object
    offsets: np.ndarray
    form: str
    n_features: int
    feature_names: np.ndarray | None = None
    sample_shape: tuple = ()

    @property
    def lengths(self):
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def empty(self):
        """Indices of the samples without nodes."""
        return np.flatnonzero(self.lengths == 0)

    def __len__(self):
        return len(self.offsets) - 1

    def sample_of(self, row):
        """Return the index of the sample that contains a row."""
        return int(np.searchsorted(self.offsets, row, side="right")) - 1

    def shape_of(self, i):
        """Return the shape of arrays with one value for each node of sample i."""
        return (int(self.offsets[i + 1] - self.offsets[i]),)

    def like_input(self, values):
        """Split an array with an entry for each node in the format of the input."""
        if self.form == "rows":
            return values
        if self.form == "stacked":
            return values.reshape(len(self), *self.sample_shape, *values.shape[1:])
        return PerSample.from_items(values[a:b] for a, b in pairwise(self.offsets.tolist()))


@dataclass(frozen=True)
class ExpectedInput:
    """The properties that X must have.

    Attributes
    ----------
    estimator_name : str
        Name of the estimator for errors.
    n_features : int or None
        Number of features of the fit. None: X is passed to ``fit``.
    feature_names : ndarray of str or None
        Names of the features in the fit, if they had names.
    one_sample : str or None
        Description of X with one sample, if the estimator was not fitted on 2-D X; 2-D X is then an
        error.
    """

    estimator_name: str
    n_features: int | None = None
    feature_names: np.ndarray | None = None
    one_sample: str | None = None

    @property
    def fitted(self):
        """Whether X is passed to a fitted estimator."""
        return self.n_features is not None


def pack_nodes(expected, X, *, numeric=True):
    """Validate X and return its Nodes.

    In ``fit`` X must have a node. Samples may always be empty: lists and arrays of length 0, whose
    number of columns is checked unless it is 0.

    Parameters
    ----------
    expected : ExpectedInput
    X : as passed to ``fit`` or ``predict``
    numeric : bool
        If False, all dtypes are accepted, and None is returned for 2-D input, which the caller
        must handle.
    """
    is_list_of_arrays = starts_with_array(X)
    if not is_list_of_arrays:
        check_depth(X, "X")
        X = items_of(X)
        if sparse.issparse(X):
            check_attributes(X, "X")
    n_features = expected.n_features
    fitted = n_features is not None
    if isinstance(X, Sequences):
        nodes = _pack_sequences(expected, X, numeric_rows if numeric else _as_it_is)
    elif is_list_of_arrays or _is_ragged(X):
        nodes = _concatenated(X, n_features, numeric)
    elif not sparse.issparse(X) and getattr(X, "ndim", 0) == 3:
        nodes = _stacked(expected, X, numeric)
    else:
        _check_readable(X, numeric)
        if expected.one_sample is not None:
            _check_not_one_sample(expected, X)
        if numeric:
            return pack_rows(expected, X)
        check_unmasked(X, "X")
        if sparse.issparse(X):
            check_compressed(X, "X")
        return None
    nodes.n_features = nodes.flat.shape[1]
    if fitted and nodes.n_features != n_features:
        raise _wrong_width(0, nodes.n_features, n_features)
    if len(nodes.offsets) < 2 and not fitted:
        raise ValueError("X is empty, expected at least one sample")
    if nodes.offsets[-1] == 0 and not fitted:
        raise NoNodesError(NO_NODES, nodes.empty)
    if nodes.n_features == 0:
        raise ValueError("X has 0 features, expected at least 1")
    if numeric and (found := first_beyond(nodes.flat)) is not None:
        raise _beyond(nodes, *found)
    known = expected.feature_names
    if known is not None and nodes.feature_names is not None:
        what = "X" if isinstance(X, Sequences) else "X[0]"
        check_names(nodes.feature_names, known, what, "those seen in fit")
    elif known is not None and nodes.offsets[-1] > 0:
        warn_user(
            f"X does not have valid feature names, but {expected.estimator_name} was fitted with "
            "feature names"
        )
    return nodes


def _pack_sequences(expected, X, convert):
    """Return the Nodes of Sequences after validating them."""
    check_sequences(X, "X")
    if X.edge_features is not None:
        raise TypeError(
            f"X has edge features, which {expected.estimator_name} does not use; pass "
            "X.without_edge_features()"
        )
    rows = X.flat
    if is_empty(rows):
        rows = np.empty((0, expected.n_features or 0))
    elif np.ndim(rows) != 2 and not sparse.issparse(rows):
        raise ValueError(f"X.flat must be 2-D (nodes, features), found {np.ndim(rows)}-D")
    return Nodes(convert(rows, "X.flat"), X.offsets, "ragged", 0, X.feature_names)


def _stacked(expected, X, numeric):
    """Return the Nodes of a 3-D array (n_samples, length, n_features) after validating it."""
    check_unmasked(X, "X")
    X = np.asarray(X)
    if numeric:
        X = numeric_rows(real_array(X, "X") if X.dtype == object else X, "X")
    if 0 in X.shape[:2] and expected.n_features is None:
        raise ValueError(
            f"X has shape {X.shape}: no samples, or sequences of length 0; expected at least "
            "one node"
        )
    n, length, width = X.shape
    rows = X.reshape(n * length, width)  # reshape(-1) is ambiguous without features
    return Nodes(rows, np.arange(n + 1) * length, "stacked", 0, None, (length,))


def starts_with_array(X):
    """Return True for a list whose first item is a nonempty array of rows: fewer checks apply."""
    if type(X) is not list or not X or type(X[0]) is not np.ndarray:
        return False
    return X[0].ndim == 2 and len(X[0]) > 0


def _is_ragged(X):
    """Return True if X contains sequences (2-D or empty items), rather than rows."""
    if isinstance(X, np.ndarray) and (X.ndim != 1 or (len(X) and X.dtype != object)):
        return False
    if not isinstance(X, list | tuple | np.ndarray):
        return False
    return len(X) == 0 or is_empty(X[0]) or is_table(X[0])


def _check_readable(X, numeric):
    """Raise errors for input that scikit-learn's validation would reject with less information."""
    if sparse.issparse(X):
        return
    if isinstance(X, Mapping | MappingView | Set | range | Iterator):
        raise _not_listed(X)
    if getattr(X, "ndim", 0) > 3:
        raise ValueError(f"X has {X.ndim} dimensions, expected 2 or 3")
    if not isinstance(X, list | tuple | np.ndarray) or getattr(X, "ndim", 1) != 1:
        return
    lengths = {}
    for i, item in enumerate(X):
        if not isinstance(item, list | tuple | np.ndarray | dict) or not is_sized(item):
            return
        shape = tuple(getattr(item, "shape", ()))
        if len(shape) > 2:
            raise ValueError(f"X[{i}] has shape {shape}, expected (n_nodes, n_features)")
        first = item[0] if len(item) and not isinstance(item, dict) else item
        if isinstance(first, dict):
            raise TypeError(
                f"X[{i}] contains feature dicts, expected numbers; "
                "use sstruct.preprocessing.SequenceVectorizer to convert dicts to rows"
            )
        if numeric and isinstance(first, str):
            raise TypeError(f"X[{i}] contains strings, expected numbers; are X and y swapped?")
        lengths.setdefault(len(item), i)
    if len(lengths) > 1:
        texts = "; for texts, select a column: make_column_transformer((TfidfVectorizer(), 0))"
        texts *= not numeric and len(X[0]) > 0 and isinstance(X[0][0], str)
        raise ValueError(
            f"X[0] is 1-D with {len(X[0])} entries, expected 2-D (nodes, features); a sequence "
            f"with one feature per node has shape (L_i, 1){texts}"
        )


def _not_listed(X):
    """Return the error about samples that are neither in a list nor in an array."""
    if isinstance(X, Mapping):
        advice = "; use list(X.values())"
    elif type(X).__name__.endswith("GroupBy"):  # of pandas or polars
        advice = "; use [group for _, group in X]"
    elif hasattr(X, "collect"):  # a lazy data frame
        advice = "; use X.collect()"
    else:
        advice = "; use list(X)" * (hasattr(X, "__iter__") or hasattr(X, "__getitem__"))
    return TypeError(f"X must be a list or an array, found {type(X).__name__}{advice}")


def _not_a_table(X):
    """Return the error about a list with items that are neither arrays nor data frames."""
    tables = list, tuple, np.ndarray
    i, item = next((pair for pair in enumerate(X) if not isinstance(pair[1], tables)), (0, X[0]))
    advice = f"; use X[{i}].collect()" if hasattr(item, "collect") else ""
    return TypeError(
        f"X[{i}] must be an array, a sparse matrix or a data frame, found "
        f"{type(item).__name__}{advice}"
    )


def _check_not_one_sample(expected, X):
    """Raise an error if a model of structures gets a 2-D array, probably a single structure."""
    shape = getattr(X, "shape", ())
    rows = isinstance(X, list | tuple) and len(X) and isinstance(X[0], list | tuple | np.ndarray)
    if not (len(shape) == 2 or rows):
        return
    found = f"X is 2-D, of shape {tuple(shape)}" if shape else f"X is a 2-D {type(X).__name__}"
    raise ValueError(
        f"{found}, but this {expected.estimator_name} was fitted on {expected.one_sample}. Only "
        "a model that is fitted on 2-D X treats each row as a sample of one node"
    )


def _concatenated(X, expected, numeric):
    if len(X) == 0 and expected is None:
        raise ValueError("X is empty, expected at least one sample")
    items, lengths, names = [], [], None
    for i, item in enumerate(X):
        is_array = type(item) is np.ndarray  # the most common type, which is checked below
        if not is_array:
            check_unmasked(item, f"X[{i}]")
            if is_empty(item):
                lengths.append(0)
                continue
        if not is_array and sparse.issparse(item):
            check_attributes(item, f"X[{i}]", ndims=(1, 2))  # 1-D raises an error below
        elif not isinstance(item, np.ndarray) or item.dtype.kind not in "fiub":
            found = column_names(item)
            if not items:
                names, first = found, i
            elif names is not None and found is not None:
                check_names(found, names, f"X[{i}]", f"those of X[{first}]")
            item = _item_array(item, i, numeric)
        shape = item.shape
        lengths.append(shape[0] if shape else 0)
        if lengths[-1] == 0 and is_empty(item):
            continue
        if len(shape) != 2:
            raise ValueError(f"X[{i}] has {len(shape)} dimensions, expected 2 (nodes, features)")
        if expected is None:
            expected = shape[1]
        if shape[1] != expected:
            raise _wrong_width(i, shape[1], expected)
        if shape[0]:
            items.append(item)
    if not items and expected is None:
        raise NoNodesError(NO_NODES, range(len(X)))
    items = items or [np.empty((0, expected))]
    join = stacked if any(map(sparse.issparse, items)) else concatenated
    flat = items[0] if len(items) == 1 and join is concatenated else join(items, "X")
    rows = (numeric_rows if numeric else _as_it_is)(flat, "X")
    offsets = np.array([0, *accumulate(lengths)], dtype=np.int64)
    return Nodes(rows, offsets, "ragged", 0, names)


def _item_array(item, i, numeric):
    if isinstance(item, range):  # may exceed the memory
        raise ValueError(f"X[{i}] has 1 dimensions, expected 2 (nodes, features)")
    try:
        array = np.asarray(item)
        if not numeric:  # do not convert numbers to strings in mixed lists
            mixed = array.dtype.kind in "US" and not hasattr(item, "dtype")
            return np.asarray(item, dtype=object) if mixed else array
        if array.dtype == object:
            return missing_as_nan(item, array).astype(np.float64)
        return as_floats(array, "it")
    except (TypeError, ValueError, OverflowError) as error:
        raise error_kind(error)(f"X[{i}] is not a numeric 2-D array: {brief(error)}") from None


def _wrong_width(i, found, expected):
    return ValueError(f"X[{i}] has {found} features, expected {expected}")


def numeric_rows(array, name):
    """Return rows as a C-contiguous array, or as canonical CSR, of float32 or float64.

    Other dtypes of real numbers are converted; all others raise TypeError. Sparse input must have
    been validated.
    """
    if sparse.issparse(array):
        array = as_csr(array)
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float64)
        if not array.has_canonical_format:
            array = array.copy()
            array.sum_duplicates()
        return array
    if array.dtype not in (np.float32, np.float64):
        array = as_floats(array, name)
    return contiguous(array)


def _as_it_is(array, name):
    """Return any dense array, or canonical CSR."""
    return numeric_rows(array, name) if sparse.issparse(array) else np.asarray(array)


def pack_rows(expected, X):
    """Validate 2-D input with scikit-learn; every row is a structure of one node."""
    check_depth(X, "X")
    check_unmasked(X, "X")
    if sparse.issparse(X):
        check_compressed(X, "X")
        X = as_csr(X)
    X = items_of(X)
    if hasattr(X, "to_list") and len(getattr(X, "shape", ())) == 1:
        raise ValueError(
            f"Expected 2D array for X, found a {type(X).__name__} with {len(X)} entries; use "
            "X.to_frame() for a table with one column"
        )
    if isinstance(X, list | tuple):
        X = array_of(X, "X", NUMBERS)
    target = _stand_in(expected.estimator_name)()
    if expected.fitted:
        target.n_features_in_ = expected.n_features
        if expected.feature_names is not None:
            target.feature_names_in_ = expected.feature_names
    try:
        flat = validate_data(
            target,
            X,
            reset=not expected.fitted,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
        )
    except OverflowError:
        raise ValueError("X contains a value too large for dtype('float64')") from None
    except (TypeError, ValueError) as error:
        message = str(error)
        unreadable = message.startswith(("float() argument", "setting an array"))
        if unreadable and not hasattr(X, "shape"):
            raise _not_listed(X) from None
        if unreadable and len(X.shape) == 1:
            raise _not_a_table(X) from None
        if not unreadable and not message.startswith("could not convert"):
            raise
        # The error of a data frame.
        raise error_kind(error)(f"X must be a table of numbers: {brief(error)}") from None
    nodes = Nodes(
        numeric_rows(flat, "X"),
        np.arange(flat.shape[0] + 1),
        "rows",
        flat.shape[1],
        getattr(target, "feature_names_in_", None),
    )
    found = first_beyond(nodes.flat)
    if found is not None:
        raise _beyond(nodes, *found)
    return nodes


@cache
def _stand_in(name):
    """Return a class of estimators with a name, whose attributes scikit-learn compares with X."""
    return type(name, (BaseEstimator,), {})


def _beyond(nodes, row, value):
    """Return the error about a feature that is NaN, infinite or too large."""
    i = nodes.sample_of(row)
    where = "" if nodes.form == "rows" else f" at node {row - nodes.offsets[i]}"
    if not np.isfinite(value):
        advice = _nan_advice(nodes, i, row) if np.isnan(value) and where else ""
        return ValueError(f"X[{i}] contains {describe_invalid(value)}{where}{advice}")
    return ValueError(f"X[{i}] contains{where} the feature {describe_invalid(value)}")


def _nan_advice(nodes, i, row):
    """Return advice about NaN at a node for an error."""
    end = int(nodes.offsets[i + 1])
    if not sparse.issparse(nodes.flat) and np.isnan(nodes.flat[row:end]).all():
        return (
            ". All features are NaN from there on, like padding: remove it, and use lists of "
            f"arrays of different lengths, here X[{i}][:length] and y[{i}][:length]"
        )
    return (
        ". Impute missing features, for example with PerNode(SimpleImputer()); nodes with "
        "ignore_label require features too"
    )


def flat_labels(y, nodes, structure, convert=as_labels):
    """Return all labels as one array with an entry for each node, of any dtype.

    Missing labels are replaced by `ignore_label`.

    Parameters
    ----------
    y : as passed to ``fit``
    nodes : Nodes
    structure : Structure, or another object with an attribute estimator_name
    convert : callable
        `as_labels`, or `label_array` to accept labels that are not classes.
    """
    is_list_of_arrays = type(y) is list and len(y) > 0 and type(y[0]) is np.ndarray
    if not is_list_of_arrays:  # fewer checks apply to these
        check_target(y, structure.estimator_name)
    rules = {"place": lambda row: f"y{_place_of(row, nodes)}"}
    if convert is as_labels:
        rules = label_rules(structure, **rules)
    if nodes.form == "rows":
        return labels_of_rows(y, len(nodes), **rules)
    if not is_list_of_arrays:
        y = _label_sequences(y)
    if len(y) != len(nodes):
        raise ValueError(f"X has {len(nodes)} samples but y has {len(y)}")
    if isinstance(y, Sequences):
        lengths, flat = y.lengths, y.flat
        if len(flat.shape) != 1:
            raise ValueError(f"y.flat must be 1-D (labels), found shape {flat.shape}")
    elif isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype != object:
        lengths, flat = np.full(len(y), y.shape[1]), y.reshape(-1)
    else:
        expected = nodes.lengths.tolist()
        for i, item in enumerate(y):
            if type(item) is not list and (type(item) is not np.ndarray or item.ndim != 1):
                check_label_sequence(item, f"y[{i}]", expected[i])
        lengths, flat = list(map(len, y)), None
        # Empty arrays may have any dtype.
        some = [item for item in y if len(item)] if 0 in lengths else y
    if (i := first_true(np.asarray(lengths) != nodes.lengths)) is not None:
        raise ValueError(f"X[{i}] has {nodes.lengths[i]} nodes but y[{i}] has {lengths[i]} labels")
    labels = convert(concatenate_labels(some) if flat is None else flat, **rules)
    if len(labels) != nodes.offsets[-1]:  # such as custom list classes
        counts = np.array([len([*item]) for item in y])
        i = first_true(counts != nodes.lengths)
        raise ValueError(
            f"y[{i}] has length {nodes.lengths[i]} but contains {counts[i]} labels; pass a list"
        )
    return labels


def _label_sequences(y):
    """Return y, or its items, after checking that it contains a label sequence for each sample."""
    y = items_of(y)
    if not is_ordered(y):
        raise TypeError(f"y must be a sequence of label sequences, found {type(y).__name__}")
    if isinstance(y, Sequences):
        check_sequences(y, "y")
    return y


def _place_of(row, nodes):
    return place_of(row, nodes, getattr(nodes, "shapes", None))


def check_target(y, estimator_name):
    """Raise an error if y is None or contains deeply nested lists."""
    check_given_target(y, owner=f"This {estimator_name} estimator")
    check_depth(y, "y")


def check_label_sequence(item, name, length):
    """Raise an error unless an item is a list or 1-D array of `length` labels."""
    if type(item) in (list, tuple) or (type(item) is np.ndarray and item.ndim == 1):
        return
    # Iterating a data frame yields columns and a dict its keys, and sets are not ordered.
    if not is_ordered(item) or hasattr(item, "columns"):
        raise TypeError(
            f"{name} must be a sequence of labels, found {type(item).__name__} {shortened(item)}"
        )
    shape = tuple(getattr(item, "shape", ()))
    if len(shape) > 1:
        if shape == (length, 1):
            hint = f". Use {name}.ravel()"
        elif len(shape) == 2:
            hint = f". For indicators (one-hot), use {name}.argmax(axis=1)"
        else:
            hint = ""
        raise ValueError(
            f"{name} has shape {shape}, expected {(length,)}: one label for each node{hint}"
        )


def labels_of_rows(y, n_rows, **rules):
    """Return one label for each row as an array of any dtype.

    rules : keywords of `as_labels`
    """
    if sparse.issparse(y):
        raise TypeError(f"y is a {type(y).__name__}, expected one label for each row of X")
    if isinstance(y, Mapping | Set):
        raise TypeError(f"y is a {type(y).__name__}, expected a list of labels, one for each row")
    y = masked_as_none(y)
    if isinstance(y, Sequences):
        check_sequences(y, "y")
        if (i := first_true(y.lengths != 1)) is not None:
            raise ValueError(
                f"y[{i}] has {y.lengths[i]} labels, but X is 2-D: each row is a sequence of one "
                "node. Split X in the same way: Sequences.from_lengths(X, y.lengths)"
            )
        y = y.flat
    if isinstance(y, range):
        check_consistent_length(range(n_rows), y)  # before a copy, which may exceed the memory
    if isinstance(y, list | tuple) and not any(
        isinstance(k, list | np.ndarray) and k is not np.ma.masked for k in y
    ):
        labels = as_labels(list(y), **rules)
    else:
        if isinstance(y, list | tuple) and not all(map(is_one_label, y)):
            raise ValueError(
                "X is one 2-D array, whose rows are samples of one node, but y contains sequences "
                "of labels; for sequences, use a list of 2-D arrays, such as "
                "Sequences.from_lengths(X, lengths); in a pipeline, PerNode(transformer) "
                "transforms their nodes"
            )
        y = column_or_1d(array_of(y, "y", "an array of labels"), warn=True)
        labels = as_labels(y, **rules)
    check_consistent_length(range(n_rows), labels)
    return labels


def check_weights(sample_weight, n_samples):
    """Return sample weights as float64: finite, nonnegative and not all zero."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights = array_of(sample_weight, "sample_weight", "one number per sample")
    if weights.dtype.kind not in "fiub":
        raise TypeError(f"sample_weight has dtype {weights.dtype}, expected real numbers")
    _check_not_row_lengths(weights, n_samples)
    weights = weights.astype(np.float64)
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected {(n_samples,)}")
    if (i := first_true(~np.isfinite(weights))) is not None:
        raise ValueError(f"sample_weight[{i}] is {weights[i]}, expected a finite number")
    if (i := first_true(weights < 0)) is not None:
        raise ValueError(f"sample_weight[{i}] is {weights[i]}, expected a nonnegative weight")
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample")
    with np.errstate(over="ignore"):
        total = weights.sum()
    are_tiny = (weights > 0) & ~(np.minimum(weights, weights / total) >= TINY)
    if (i := first_true(are_tiny)) is not None:
        raise ValueError(
            f"sample_weight[{i}] is {weights[i]:g} of a sum of {total:g}, expected 0, or at least "
            f"{TINY:g} both in absolute terms and as a fraction of the sum"
        )
    return weights


def _check_not_row_lengths(weights, n_rows):
    """Raise an error if weights are lengths of sequences, the third argument in other packages."""
    if weights.ndim != 1 or weights.dtype.kind not in "iu" or len(weights) == n_rows:
        return
    if (weights > 0).all() and weights.sum() == n_rows:
        raise ValueError(
            f"sample_weight has {len(weights)} integers that sum to the {n_rows} rows of X, like "
            f"lengths of sequences; expected one weight per row. {FROM_LENGTHS}"
        )


def check_not_lengths(sample_weight, lengths):
    """Raise an error if the weights of sequences are integers and look like their lengths.

    They do if they equal the lengths of the sequences in X or, for another number of weights, if
    their sum is the number of nodes.
    """
    sample_weight = items_of(sample_weight)
    if sample_weight is None or is_of_nodes(sample_weight):
        return
    try:
        weights = np.asarray(sample_weight)
    except ValueError:  # sequences, which are reported by the validation of weights
        return
    if weights.ndim == 1 and len(weights) != len(lengths):
        _check_not_row_lengths(weights, int(lengths.sum()))
    elif (
        weights.dtype.kind in "iu"
        and lengths.max(initial=0) > 1
        and np.array_equal(weights, lengths)
    ):
        raise ValueError(
            "sample_weight contains the lengths of the sequences in X, which are not needed: use "
            f"fit(X, y). If they are meant as weights, pass them as floats. {FROM_LENGTHS}"
        )


def is_of_nodes(sample_weight):
    """Return True for node weights, an array per sample, and False for sample weights."""
    if isinstance(sample_weight, Sequences):
        return True
    is_array = isinstance(sample_weight, np.ndarray) and sample_weight.dtype != object
    if is_array or isinstance(sample_weight, memoryview):
        return sample_weight.ndim > 1
    if not is_ordered(sample_weight):
        return False
    first = next(iter(sample_weight), None)
    return not isinstance(first, str) and isinstance(first, Iterable)


def sliceable_weights(sample_weight, n_samples):
    """Return weights that can be indexed by samples.

    Node weights are validated in fit.
    """
    sample_weight = items_of(sample_weight)
    if not is_of_nodes(sample_weight):
        weights, given = check_weights(sample_weight, n_samples), np.asarray(sample_weight)
        return given if given.ndim else weights  # integers are later checked against lengths
    if len(sample_weight) != n_samples:
        raise ValueError(f"sample_weight has {len(sample_weight)} arrays for {n_samples} samples")
    if isinstance(sample_weight, np.ndarray) and sample_weight.dtype != object:
        return sample_weight
    return object_array(sample_weight)


def check_node_weights(sample_weight, nodes):
    """Return the sample weights, and the node weights or None if samples have one number each.

    With node weights, the weight of every sample is 1.
    """
    check_depth(sample_weight, "sample_weight")
    sample_weight = items_of(sample_weight)
    if nodes.form == "rows" or not is_of_nodes(sample_weight):
        return check_weights(sample_weight, len(nodes)), None
    if len(sample_weight) != len(nodes):
        raise ValueError(f"X has {len(nodes)} samples but sample_weight has {len(sample_weight)}")
    if nodes.offsets[-1] > len(nodes) and all(map(_is_single, sample_weight)):
        check_weights(np.array(list(sample_weight)), len(nodes))  # raises for columns
    parts = [_weights_of_nodes(item, i, nodes.shape_of(i)) for i, item in enumerate(sample_weight)]
    flat = np.concatenate(parts)
    if not flat.any():
        raise ValueError("sample_weight is zero for every node")
    return np.ones(len(nodes)), flat


def _is_single(item):
    item = items_of(item)
    return is_sized(item) and len(item) == 1 and not is_sized(next(iter(item)))


def _weights_of_nodes(item, i, shape):
    """Return the node weights of one sample as a flat array."""
    weights = array_of(item, f"sample_weight[{i}]", f"an array of shape {shape}")
    if weights.shape != shape:
        raise ValueError(
            f"sample_weight[{i}] has shape {weights.shape}, expected {shape}: a weight for each "
            "node, or one number per sample"
        )
    if weights.dtype.kind not in "fiub":
        raise TypeError(f"sample_weight[{i}] has dtype {weights.dtype}, expected real numbers")
    weights = weights.astype(np.float64).ravel()
    are_valid = np.isfinite(weights) & ((weights == 0) | (weights >= TINY))
    if (node := first_true(~are_valid)) is not None:
        raise ValueError(
            f"sample_weight[{i}] has {weights[node]} at node {node}, expected finite "
            f"numbers, each 0 or at least {TINY:g}"
        )
    return weights


@dataclass
class LabeledNodes:
    """Validated labels and weights of the nodes in a fit.

    Attributes
    ----------
    weights : ndarray of shape (n_samples,)
        Sample weights. If node weights were passed, 1 for samples with a labeled node of positive
        weight, and 0 for all others.
    node_weights : ndarray of shape (n_nodes,) or None
        Weights of the nodes in the loss of their sample; None if those of all labeled nodes are 1.
        With a Completion, completed nodes have weight 0.
    sample : ndarray of shape (n_nodes,)
        Sample index of each node.
    used : ndarray of bool of shape (n_nodes,)
        Whether the node is used for training.
    classes : ndarray of shape (K,)
    codes : ndarray of int32 of shape (n_nodes,)
        Class index of each node, -1 for labels that are not classes. With a Completion, the indices
        of its labels.
    counts : ndarray of shape (n_used,)
        Weight of each used node: sample weight times node weight.
    """

    weights: np.ndarray
    node_weights: np.ndarray | None
    sample: np.ndarray
    used: np.ndarray
    classes: np.ndarray
    codes: np.ndarray
    counts: np.ndarray


def labeled_nodes(structure, nodes, labels, sample_weight, completion=None):
    """Validate labels and weights of nodes; return the LabeledNodes.

    With a Completion, all nodes of samples with some known label are used. Codes are labels, not
    states, and completed labels have weight 0 in the loss.
    """
    lengths, ignored = nodes.lengths, structure.ignore_label
    weights, node_weights = np.ones(len(lengths)), None
    if sample_weight is not None:
        weights, node_weights = check_node_weights(sample_weight, nodes)
    sample = np.repeat(np.arange(len(lengths)), lengths)
    labeled = np.ones(len(labels), bool) if ignored is None else ~is_label(labels, ignored)
    if node_weights is not None:
        total = np.bincount(sample, weights=node_weights * labeled, minlength=len(lengths))
        if (i := first_true(total > LARGEST)) is not None:
            raise ValueError(
                f"sample_weight[{i}] sums to {total[i]:g} over the labeled nodes, "
                f"expected at most {LARGEST:g}"
            )
        weights = (total > 0).astype(np.float64)
        if (node_weights[labeled] == 1).all():
            node_weights = None
    used = labeled & (weights > 0)[sample]
    if not used.any():
        raise NoNodesError("y has no labeled node in any sample with positive weight", nodes.empty)
    classes = training_classes(structure.classes, labels, used, nodes.sample_of)
    codes = encode(labels, classes)
    if structure.classes is None and completion is None:
        check_reserved(structure, classes, codes, lambda row: f"y{_place_of(row, nodes)}")
    if completion is not None:
        node_weights = used * (1.0 if node_weights is None else node_weights)
        codes = completion.codes // completion.n_states
        used = (np.bincount(sample[used], minlength=len(lengths)) > 0)[sample]
        if (node_weights[used] == 1).all():
            node_weights = None
    counts = weights[sample] if node_weights is None else weights[sample] * node_weights
    return LabeledNodes(weights, node_weights, sample, used, classes, codes, counts[used])


def known_labels(structure, nodes, labels, sample_weight):
    """Return the KnownLabels of nodes, the labels that differ from `ignore_label`."""
    labeled = labeled_nodes(structure, nodes, labels, sample_weight)
    codes, sample = labeled.codes, labeled.sample
    codes[~labeled.used] = -1
    n_known = np.bincount(sample[labeled.used], minlength=len(nodes))
    return KnownLabels(codes, (n_known > 0)[sample], labeled.classes, nodes.flat, nodes.empty)
