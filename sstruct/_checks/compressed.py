"""Sparse matrices of SciPy, looked at before SciPy's compiled code follows what they store.

SciPy looks at some of the places that a matrix stores when it is made, and never again; nor does it
look whether what it remembers of their order is still true. Its compiled code goes where they lead.
"""

from itertools import chain

import numpy as np
from scipy import sparse

from sstruct._checks.shown import shortened

__all__ = ["as_csr", "check_attributes", "check_compressed", "check_rows", "stacked"]

# Compiled code numbers columns by 32 bits, and rows without entries cost memory too.
MOST = 2**31 - 1
# Formats that take no memory for rows without entries, which take some when they are read. SciPy
# does not live through a lack of it everywhere.
UNSTORED, MOST_EMPTY = ("csc", "coo", "dia", "dok"), 10**7
# Entries, perhaps on disk, that are looked at in one go.
AT_ONCE = 2**22
KINDS = {"i": "integers", "fiub": "real numbers"}


def check_compressed(matrix, name, ndims=(2,)):
    """Raise unless a sparse matrix or array, of any format, stores what it says.

    What comes sparse from outside is given to this function before anything else is done with it.
    One look at each entry; nothing is copied.

    Parameters
    ----------
    matrix : sparse matrix or array
    name : str
        What an error calls it.
    ndims : tuple of int, default=(2,)
        Numbers of dimensions that it may have.

    Raises
    ------
    ValueError
        If it has another number of dimensions, stores a place that is none of its own, or its
        arrays do not fit together or are not in the order that its flags claim.
    TypeError
        If an array is missing or of another kind.
    """
    check_attributes(matrix, name, ndims)
    CHECKS[matrix.format](matrix, name)
    if matrix.format in UNSTORED and matrix.shape[0] > matrix.nnz + MOST_EMPTY:
        raise ValueError(
            f"{name} has {matrix.shape[0]} rows and {matrix.nnz} entries, expected at most "
            f"{MOST_EMPTY} rows without any"
        )


def check_attributes(matrix, name, ndims=(2,)):
    """Raise unless a sparse matrix is of a format and shape that there are: `check_compressed`'s.

    O(1). What needs no more than a shape asks for this before it reads one.
    """
    known = [format for format, types in FORMATS.items() if isinstance(matrix, types)]
    if matrix.format not in known:
        raise TypeError(f"{name} is a {type(matrix).__name__}, which is no sparse format of scipy")
    shape = matrix.shape
    if not isinstance(shape, tuple):
        raise TypeError(f"{name} has a shape that is a {type(shape).__name__}, expected a tuple")
    if len(shape) not in ndims:
        expected = " or ".join(f"{n}-D" for n in ndims)
        raise ValueError(f"{name} is a sparse {len(shape)}-D array, expected {expected}")
    if not all(0 <= n <= MOST for n in shape):
        raise ValueError(f"{name} is sparse and of shape {shape}, expected at most {MOST} each")


def as_csr(matrix):
    """Return what has been checked as CSR; of numbers that SciPy does not convert, too."""
    dtype = np.float32 if matrix.dtype == np.float16 else matrix.dtype.newbyteorder("=")
    return (matrix if matrix.dtype == dtype else matrix.astype(dtype)).tocsr()


def check_rows(matrix, rows, name):
    """Raise where some rows of a CSR matrix, which are to be taken from it, end elsewhere.

    O(rows taken). Their columns are looked at where they are used.
    """
    if not isinstance(matrix, FORMATS["csr"]) or len(matrix.shape) != 2:
        raise ValueError(
            f"{name} is a {type(matrix).__name__} of shape {matrix.shape}, expected CSR"
        )
    _array(matrix, "data", name, 1, "fiub")
    n_stored = len(_array(matrix, "indices", name, 1, "i"))
    indptr = _array(matrix, "indptr", name, 1, "i")
    _same_length(f"{name}.indptr", len(indptr), matrix.shape[0] + 1, "one more than rows")
    if len(rows) and not 0 <= rows[0] <= max(rows[0], rows[-1]) < matrix.shape[0]:
        raise ValueError(f"{name} has {matrix.shape[0]} rows, fewer than its offsets cut")
    starts, ends = indptr[rows], indptr[rows + 1]
    wrong = np.flatnonzero(
        (starts < 0) | (ends < starts) | (ends > min(n_stored, len(matrix.data)))
    )
    if len(wrong):
        row = rows[wrong[0]]
        raise ValueError(
            f"{name}.indptr[{row}] is {indptr[row]} and the next {indptr[row + 1]}, expected two "
            f"that do not fall, of 0 to {n_stored}"
        )


def stacked(items, name):
    """Put sparse matrices of one width one below the other, as CSR, and check them.

    Parameters
    ----------
    items : list of sparse matrices, not empty
    name : str
        What an error calls the list.
    """
    parts = []
    for i, item in enumerate(items):
        if item.format == "csr" and isinstance(item, FORMATS["csr"]) and len(item.shape) == 2:
            # Columns are looked at in all at once, which is faster; wide ones would be cut there.
            _check_pointers(item, f"{name}[{i}]", item.shape[0])
            if item.indices.dtype.itemsize > 4:
                check_compressed(item, f"{name}[{i}]")
        else:
            check_compressed(item, f"{name}[{i}]")
            item = as_csr(item)
        parts.append(item)
    flat = sparse.vstack(parts, format="csr")
    try:
        check_compressed(flat, name)
    except ValueError:
        for i, part in enumerate(parts):  # which one was it?
            check_compressed(part, f"{name}[{i}]")
        raise
    return flat


def _array(matrix, part, name, ndim, kinds):
    """Return one of the arrays of a matrix."""
    array = getattr(matrix, part, None)
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name}.{part} is a {type(array).__name__}, expected an array")
    if array.ndim != ndim:
        raise ValueError(f"{name}.{part} is {array.ndim}-D, expected {ndim}-D")
    if array.dtype.kind not in kinds:
        owner = name if part == "data" else f"{name}.{part}"
        raise TypeError(f"{owner} has dtype {array.dtype}, expected {KINDS[kinds]}")
    return array


def _same_length(what, found, expected, why):
    if found != expected:
        raise ValueError(f"{what} has {found} entries, expected {expected}, {why}")


def _check_range(places, most, what):
    """Raise at the first place that is not one of 0 to `most`, exclusively."""
    for first in range(0, len(places), AT_ONCE):
        part = places[first : first + AT_ONCE]
        if part.min() < 0 or part.max() >= most:
            at = int(np.argmax((part < 0) | (part >= most)))
            expected = f"0 to {most - 1}" if most else "none"
            raise ValueError(f"{what}[{first + at}] is {part[at]}, expected {expected}")


def _check_pointers(matrix, name, n_rows, ndim=1):
    """Check the arrays of a compressed matrix for each other, but no place in `indices`."""
    data = _array(matrix, "data", name, ndim, "fiub")
    indices = _array(matrix, "indices", name, 1, "i")
    indptr = _array(matrix, "indptr", name, 1, "i")
    _same_length(f"{name}.indptr", len(indptr), n_rows + 1, "one more than rows")
    if indptr[0] != 0:
        raise ValueError(f"{name}.indptr[0] is {indptr[0]}, expected 0")
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        k = int(np.argmax(falls))
        raise ValueError(
            f"{name}.indptr must not fall, found {indptr[k]} and then {indptr[k + 1]} at {k + 1}"
        )
    for part, array in (("indices", indices), ("data", data)):
        # SciPy allows a rest behind the last row; what reads all of `data` would read that too.
        why = "where indptr ends" + "; prune() cuts the rest off" * bool(len(array) > indptr[-1])
        _same_length(f"{name}.{part}", len(array), int(indptr[-1]), why)


def _check_csr(matrix, name):
    n_rows, n_columns = matrix.shape if len(matrix.shape) == 2 else (1, *matrix.shape)
    _check_compressed_rows(matrix, name, n_rows, n_columns)


def _check_csc(matrix, name):
    n_rows, n_columns = matrix.shape
    _check_compressed_rows(matrix, name, n_columns, n_rows)


def _check_bsr(matrix, name):
    height, width = _array(matrix, "data", name, 3, "fiub").shape[1:]
    n_rows, n_columns = matrix.shape
    if height < 1 or width < 1 or n_rows % height or n_columns % width:
        raise ValueError(f"{name} has blocks of shape {(height, width)} in a shape {matrix.shape}")
    _check_compressed_rows(matrix, name, n_rows // height, n_columns // width, 3)


def _check_compressed_rows(matrix, name, n_rows, n_columns, ndim=1):
    """Check a matrix of rows, of columns or of blocks, as it is compressed."""
    _check_pointers(matrix, name, n_rows, ndim)
    indices, indptr = matrix.indices, matrix.indptr
    _check_range(indices, n_columns, f"{name}.indices")
    # Asked for after the check: where it does not know, scipy finds out by compiled code.
    canonical = bool(matrix.has_canonical_format)
    if not (canonical or matrix.has_sorted_indices):
        return
    disordered = np.less_equal if canonical else np.less
    for first in range(0, len(indices), AT_ONCE):
        part = indices[first : first + AT_ONCE + 1]
        at = first + 1 + np.flatnonzero(disordered(part[1:], part[:-1]))
        inside = np.flatnonzero(indptr[np.searchsorted(indptr, at)] != at)
        if len(inside):
            k = int(at[inside[0]])
            flag = "has_canonical_format" if canonical else "has_sorted_indices"
            raise ValueError(
                f"{name}.{flag} is True, but {name}.indices has {indices[k - 1]} and then "
                f"{indices[k]} at {k}, in one row or column. Make it anew of its arrays, such as "
                f"scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)"
            )


def _check_coo(matrix, name):
    data = _array(matrix, "data", name, 1, "fiub")
    # SciPy before 1.13 has no `coords`.
    coords = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    if len(coords) != len(matrix.shape):
        raise ValueError(f"{name}.coords has {len(coords)} arrays for a shape {matrix.shape}")
    for axis, (places, most) in enumerate(zip(coords, matrix.shape)):
        what = f"{name}.coords[{axis}]"
        if not isinstance(places, np.ndarray) or places.ndim != 1 or places.dtype.kind != "i":
            raise TypeError(f"{what} must be an array of integers, 1-D")
        _same_length(what, len(places), len(data), "as data")
        _check_range(places, most, what)


def _check_dia(matrix, name):
    data = _array(matrix, "data", name, 2, "fiub")
    offsets = _array(matrix, "offsets", name, 1, "i")
    _same_length(f"{name}.offsets", len(offsets), len(data), "as rows of data")
    n_rows, n_columns = matrix.shape
    wrong = np.flatnonzero((offsets <= -max(n_rows, 1)) | (offsets >= max(n_columns, 1)))
    if len(wrong):
        k = wrong[0]
        raise ValueError(f"{name}.offsets[{k}] is {offsets[k]}, no diagonal of {matrix.shape}")
    if len(np.unique(offsets)) < len(offsets):
        raise ValueError(f"{name}.offsets has a diagonal twice")


def _check_dok(matrix, name):
    for key in matrix.keys():
        key = key if isinstance(key, tuple) else (key,)
        if len(key) != len(matrix.shape) or not all(
            isinstance(k, int | np.integer) and 0 <= k < n for k, n in zip(key, matrix.shape)
        ):
            raise ValueError(f"{name} has the key {key}, expected a place of {matrix.shape}")
    _check_kind(matrix.dtype, name)


def _check_lil(matrix, name):
    n_rows, n_columns = matrix.shape
    lists = [_array(matrix, part, name, 1, "O") for part in ("rows", "data")]
    for part, of_rows in zip(("rows", "data"), lists):
        _same_length(f"{name}.{part}", len(of_rows), n_rows, "one for each row")
    for i, (columns, values) in enumerate(zip(*lists)):
        if not isinstance(columns, list) or not isinstance(values, list):
            raise TypeError(f"{name}.rows[{i}] and {name}.data[{i}] must be lists")
        _same_length(f"{name}.data[{i}]", len(values), len(columns), f"as {name}.rows[{i}]")
    for column in chain.from_iterable(lists[0]):
        if not isinstance(column, int | np.integer) or not 0 <= column < n_columns:
            raise ValueError(
                f"{name}.rows has {shortened(column)}, expected columns below {n_columns}"
            )
    _check_kind(matrix.dtype, name)


def _check_kind(dtype, name):
    if dtype.kind not in "fiub":
        raise TypeError(f"{name} has dtype {dtype}, expected real numbers")


CHECKS = {
    "csr": _check_csr,
    "csc": _check_csc,
    "bsr": _check_bsr,
    "coo": _check_coo,
    "dia": _check_dia,
    "dok": _check_dok,
    "lil": _check_lil,
}
FORMATS = {
    name: (getattr(sparse, f"{name}_array"), getattr(sparse, f"{name}_matrix")) for name in CHECKS
}
