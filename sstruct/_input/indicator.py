"""Validation of indicator matrices of label sets, and output of the same type."""

import numbers
from collections.abc import Set as AbstractSet

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length

from sstruct._checks.arrays import array_of, first_true, is_sized
from sstruct._checks.compressed import as_csr, check_compressed
from sstruct._checks.shown import shortened
from sstruct._input.frames import LIBRARIES, frame_like, label_names, library_of
from sstruct._input.partial import is_unknown

KNOWN = (numbers.Real, np.bool_)
# Advice for unknown labels, in training and elsewhere.
LATENT = "Use LatentSSVM(MultilabelSSVM()), which supports label sets with unknown labels"
KNOWN_ROWS = "Pass only rows whose labels are all known"
BINARIZER = (
    "such as sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y) for lists of labels"
)


def is_indicator(y):
    """Return True if y is a matrix with a column for each label; a single column must be binary."""
    if sparse.issparse(y):
        return True
    if isinstance(y, range) or (isinstance(y, list | tuple) and range in map(type, y)):
        return False  # NumPy would expand them
    try:
        array = np.asarray(y)
    except ValueError:  # rows of different lengths
        return False
    if array.ndim != 2 or array.shape[1] == 0:
        return False
    return array.shape[1] > 1 or (array.dtype.kind in "biuf" and np.isin(array, (0, 1)).all())


def reject_label_lists(y):
    """Raise an error with instructions if y contains lists or sets of labels."""
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if sparse.issparse(y) or not is_sized(y) or kind != "O" or isinstance(y, range | memoryview):
        return
    first_by_length = {}
    for i, item in enumerate(y):
        if isinstance(item, AbstractSet):
            _raise_label_list(i, item)
        if isinstance(item, list | tuple | np.ndarray) and is_sized(item):
            first_by_length.setdefault(len(item), (i, item))
    # Lists of equal length may be a matrix or a column of labels.
    if len(first_by_length) > 1:
        _raise_label_list(*first_by_length[max(first_by_length)])


def _raise_label_list(i, labels):
    raise ValueError(
        f"y[{i}] is {shortened(labels)}, a {type(labels).__name__} of labels; expected an (n, K) "
        f"matrix of 0 and 1, {BINARIZER}"
    )


def output_kind(y):
    """Return the type of predictions: "dense", a class of SciPy or a data frame library."""
    if isinstance(y, sparse.sparray | sparse.spmatrix):
        return type(y).__name__
    return library_of(y) or "dense"


def as_output(codes, kind, names, X):
    """Return zeros and ones of dtype int64 as an array, CSR matrix, CSR array or data frame.

    names : ndarray of shape (K,), column names; X : the samples, whose index is used if any
    """
    codes = codes.astype(np.int64)
    if kind == "dense":
        return codes
    if kind in LIBRARIES:
        return frame_like(codes, kind, names.tolist(), X)
    return sparse.csr_array(codes) if kind.endswith("array") else sparse.csr_matrix(codes)


def check_label_names(y, classes, name="y"):
    """Raise an error if the columns of a data frame are not the classes in the same order.

    Any names are valid if the classes are 0, 1, ..., those of labels without names.
    """
    names, known = label_names(y), classes.tolist()
    if names is not None and names != known and known != list(range(len(known))):
        raise ValueError(f"the columns of {name} are {names}, expected {known} as in classes_")


def label_matrix(y, n_rows, n_labels=None, for_unknown=KNOWN_ROWS):
    """Return an indicator matrix as sorted CSR of ones.

    for_unknown : advice in errors about unknown labels

    Raises
    ------
    ValueError
        If the number of rows or labels (if given) is wrong, or an entry is not 0 or 1.
    TypeError
        If the dtype or the sparse format is not supported.
    """
    if sparse.issparse(y):
        check_compressed(y, "y")
        # Duplicate entries are merged, and stored zeros removed.
        Y = sparse.csr_matrix(as_csr(y), copy=True)
        Y.sum_duplicates()
        if (at := first_true(~np.isin(Y.data, (0, 1)))) is not None:
            row = int(np.searchsorted(Y.indptr, at, side="right")) - 1
            _raise_not_binary(row, Y.indices[at], Y.data[at], for_unknown)
        Y.eliminate_zeros()
    else:
        if np.ma.is_masked(y):
            raise ValueError(f"y has masked entries, which mean unknown labels. {for_unknown}")
        array = array_of(y, "y", f"an (n, K) matrix, {BINARIZER}")
        _check_kind(array)
        if array.ndim != 2:
            raise ValueError(
                f"y has {array.ndim} dimensions, expected an (n, K) matrix, {BINARIZER}"
            )
        if array.dtype == object:  # comparisons may raise, or not return a bool
            known = [isinstance(one, KNOWN) and one in (0, 1) for one in array.ravel().tolist()]
            wrong = ~np.reshape(np.array(known, dtype=bool), array.shape)
        else:
            wrong = ~np.isin(array, (0, 1))
        if wrong.any():
            if array.dtype.kind in "if" and (np.abs(array) == 1).all():
                raise ValueError(
                    "Unknown label type: all entries of y are -1 or 1, expected 0 or 1. If -1 "
                    "means that a sample does not have the label, use y > 0; if it means unknown, "
                    f"{for_unknown[0].lower()}{for_unknown[1:]}"
                )
            row, k = np.argwhere(wrong)[0]
            _raise_not_binary(row, k, array[row, k], for_unknown)
        Y = sparse.csr_matrix(array.astype(bool))
    check_consistent_length(range(n_rows), Y)
    if n_labels is not None and Y.shape[1] != n_labels:
        raise ValueError(f"y has {Y.shape[1]} columns, expected {n_labels} labels")
    if Y.shape[1] == 0:
        raise ValueError(f"y has no columns, expected one for each label, {BINARIZER}")
    Y.data = np.ones(Y.nnz)
    Y.sort_indices()
    return Y


def known_indicator(y, n_rows, n_labels=None):
    """Return an int32 array (n, K): 1 if a row has a label, 0 if not, -1 if it is unknown.

    Unknown entries are NaN, None, -1 and masked entries.

    Raises
    ------
    ValueError, TypeError
        See `label_matrix`.
    """
    if sparse.issparse(y):
        return label_matrix(y, n_rows, n_labels).toarray().astype(np.int32)
    hidden = np.ma.getmaskarray(y) if isinstance(y, np.ma.MaskedArray) else False
    array = array_of(getattr(y, "data", y) if hidden is not False else y, "y", "an (n, K) matrix")
    if array.ndim == 2 and array.dtype.kind in "iufO":
        values = array.ravel() if array.dtype.kind != "O" else array.ravel().tolist()
        hidden = hidden | is_unknown(values, [-1]).reshape(array.shape)
    if hidden is not False:
        _check_kind(array)  # datetimes have no common type with 0
        array = np.where(hidden, 0, array.astype(object) if array.dtype.kind in "US" else array)
    known = label_matrix(array, n_rows, n_labels).toarray()
    return np.where(hidden, -1, known).astype(np.int32)


def _check_kind(array):
    if array.dtype.kind not in "biufcUSO":
        raise TypeError(f"y has dtype {array.dtype}, expected 0 and 1, {BINARIZER}")


def _raise_not_binary(row, label, value, for_unknown):
    unknown = f". {for_unknown}" if is_unknown([value], [-1])[0] else ""
    raise ValueError(
        f"Unknown label type: y[{row}, {label}] is {shortened(value)}, expected 0 or 1 as in an "
        f"indicator matrix, {BINARIZER}{unknown}"
    )
