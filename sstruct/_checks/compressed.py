"""Validation of SciPy's sparse matrices before compiled code uses their indices.

SciPy validates only part of the indices when a matrix is constructed, and never again; it does not
verify cached flags such as has_sorted_indices either. Its compiled code relies on both.
"""

from functools import lru_cache

import numpy as np
from scipy import sparse

from sstruct._checks._scans import INT32, is_canonical, rises
from sstruct._checks.arrays import contiguous, first_true
from sstruct._checks.shown import shortened

# Compiled code uses 32-bit column indices, and rows without entries require memory too.
MAX_SIZE = 2**31 - 1
# CSC and COO do not store empty rows, which require memory once the matrix is converted to CSR;
# SciPy does not handle a lack of memory everywhere.
MAX_EMPTY_ROWS = 10**7
# Number of entries, possibly memory-mapped, that are checked together.
AT_ONCE = 2**22
KINDS = {"i": "integers", "fiub": "real numbers"}
FORMATS = {
    name: (getattr(sparse, f"{name}_array"), getattr(sparse, f"{name}_matrix"))
    for name in ("csr", "csc", "coo")
}


def check_compressed(matrix, name, ndims=(2,)):
    """Raise an error if a sparse matrix or array is inconsistent, or not CSR, CSC or COO.

    Must be called for sparse input before any other use. The time is linear in the number of
    entries, which are not copied.

    Parameters
    ----------
    matrix : sparse matrix or array
    name : str
        Name of the matrix in errors.
    ndims : tuple of int, default=(2,)
        Supported numbers of dimensions.

    Raises
    ------
    ValueError
        If the number of dimensions is not supported, an index is out of range, or arrays are
        inconsistent or not in the order that the flags claim.
    TypeError
        If the format is not supported, or an array is missing or has the wrong type.
    """
    check_attributes(matrix, name, ndims)
    (_check_coo if matrix.format == "coo" else _check_csr)(matrix, name)
    if matrix.format != "csr" and matrix.shape[0] > matrix.nnz + MAX_EMPTY_ROWS:
        raise ValueError(
            f"{name} has {matrix.shape[0]} rows but only {matrix.nnz} entries, expected at most "
            f"{MAX_EMPTY_ROWS} empty rows"
        )


def check_attributes(matrix, name, ndims=(2,)):
    """Raise an error if the format or the shape of a sparse matrix is invalid, in O(1).

    Must be called before the shape is used; `check_compressed` includes it.
    """
    if not isinstance(matrix, FORMATS.get(matrix.format, ())):
        raise TypeError(
            f"{name} is a {type(matrix).__name__}, expected a sparse matrix in CSR, CSC or COO "
            "format; convert it with tocsr()"
        )
    shape = matrix.shape
    if not isinstance(shape, tuple):
        raise TypeError(f"{name}.shape is a {type(shape).__name__}, expected a tuple")
    if len(shape) not in ndims:
        expected = " or ".join(f"{n}-D" for n in ndims)
        raise ValueError(f"{name} is a sparse {len(shape)}-D array, expected {expected}")
    if not all(0 <= n <= MAX_SIZE for n in shape):
        raise ValueError(f"{name} is sparse with shape {shape}, expected at most {MAX_SIZE} each")


def as_csr(matrix):
    """Return a validated matrix as CSR, including dtypes that SciPy does not convert."""
    dtype = np.float32 if matrix.dtype == np.float16 else matrix.dtype.newbyteorder("=")
    return (matrix if matrix.dtype == dtype else matrix.astype(dtype)).tocsr()


def csr_array_of(values, indices, indptr, shape):
    """Return a CSR array from valid parts, without the checks of the constructor."""
    out = object.__new__(sparse.csr_array)
    vars(out).update(vars(_empty_array(shape)), data=values, indices=indices, indptr=indptr)
    return out


@lru_cache(maxsize=128)
def _empty_array(shape):
    """Return a CSR array of a given shape without data, a template for `csr_array_of`."""
    out = sparse.csr_array(shape)
    out.data = out.indices = out.indptr = None
    return out


def check_rows(matrix, rows, name):
    """Raise an error if some rows of a CSR matrix that are about to be selected are invalid.

    The complexity is O(number of rows). Column indices are validated when they are used.

    rows : ndarray of int; only the first and the last one are compared with the number of rows
    """
    if not isinstance(matrix, FORMATS["csr"]) or len(matrix.shape) != 2:
        raise ValueError(
            f"{name} is a {type(matrix).__name__} of shape {matrix.shape}, expected CSR"
        )
    _array(matrix, "data", name, "fiub")
    n_stored = len(_array(matrix, "indices", name, "i"))
    indptr = _array(matrix, "indptr", name, "i")
    _same_length(f"{name}.indptr", len(indptr), matrix.shape[0] + 1, "one more than the rows")
    if len(rows) and not 0 <= rows[0] <= max(rows[0], rows[-1]) < matrix.shape[0]:
        raise ValueError(
            f"{name} has {matrix.shape[0]} rows, but its offsets refer to rows {rows[0]} to "
            f"{rows[-1]}"
        )
    starts, ends = indptr[rows], indptr[rows + 1]
    wrong = first_true((starts < 0) | (ends < starts) | (ends > min(n_stored, len(matrix.data))))
    if wrong is not None:
        row = rows[wrong]
        raise ValueError(
            f"{name}.indptr[{row}] is {indptr[row]} and {name}.indptr[{row + 1}] is "
            f"{indptr[row + 1]}, expected nondecreasing values from 0 to {n_stored}"
        )


def stacked(items, name):
    """Stack sparse matrices with the same number of columns as CSR, and validate them.

    Dense arrays among them raise TypeError.

    Parameters
    ----------
    items : nonempty list of sparse matrices
    name : str
        Name of the list in errors.
    """
    parts = []
    for i, item in enumerate(items):
        if not sparse.issparse(item):
            raise TypeError(f"{name} has sparse and dense arrays, expected one of the two")
        if item.format == "csr" and isinstance(item, FORMATS["csr"]) and len(item.shape) == 2:
            # Columns are validated after stacking, which is faster; int64 indices would overflow.
            _check_pointers(item, f"{name}[{i}]", item.shape[0])
            if item.indices.dtype.itemsize > 4:
                check_compressed(item, f"{name}[{i}]")
        else:
            check_compressed(item, f"{name}[{i}]")
            item = as_csr(item)
        parts.append(item)
    flat = parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")
    try:
        check_compressed(flat, name)
    except ValueError:
        for i, part in enumerate(parts):  # find the invalid item
            check_compressed(part, f"{name}[{i}]")
        raise
    return flat


def _array(matrix, part, name, kinds):
    """Return one of the arrays of a matrix after validation."""
    array = getattr(matrix, part, None)
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name}.{part} is a {type(array).__name__}, expected an array")
    if array.ndim != 1:
        raise ValueError(f"{name}.{part} is {array.ndim}-D, expected 1-D")
    if array.dtype.kind not in kinds:
        owner = name if part == "data" else f"{name}.{part}"
        raise TypeError(f"{owner} has dtype {array.dtype}, expected {KINDS[kinds]}")
    return array


def _same_length(what, found, expected, why):
    if found != expected:
        raise ValueError(f"{what} has {found} entries, expected {expected}, {why}")


def _check_range(indices, size, what):
    """Raise an error for the first index that is not in the range from 0 to `size` - 1."""
    for first in range(0, len(indices), AT_ONCE):
        part = indices[first : first + AT_ONCE]
        if part.min() < 0 or part.max() >= size:
            at = int(np.argmax((part < 0) | (part >= size)))
            expected = f"0 to {size - 1}" if size else "none"
            raise ValueError(f"{what}[{first + at}] is {part[at]}, expected {expected}")


def _check_pointers(matrix, name, n_rows):
    """Check that the arrays of a compressed matrix are consistent, except for `indices`."""
    data = _array(matrix, "data", name, "fiub")
    indices = _array(matrix, "indices", name, "i")
    indptr = _array(matrix, "indptr", name, "i")
    _same_length(f"{name}.indptr", len(indptr), n_rows + 1, "one more than the rows")
    if indptr[0] != 0:
        raise ValueError(f"{name}.indptr[0] is {indptr[0]}, expected 0")
    if not rises(contiguous(indptr, None if indptr.dtype == INT32 else np.int64)):
        k = int(np.argmax(indptr[1:] < indptr[:-1]))
        raise ValueError(
            f"{name}.indptr must be nondecreasing, but {name}.indptr[{k}] is {indptr[k]} and "
            f"{name}.indptr[{k + 1}] is {indptr[k + 1]}"
        )
    for part, array in (("indices", indices), ("data", data)):
        # SciPy allows unused entries after the last row, but they would be read with `data`.
        why = "the last entry of indptr"
        if len(array) > indptr[-1]:
            why += "; prune() removes the unused entries"
        _same_length(f"{name}.{part}", len(array), int(indptr[-1]), why)


def _check_csr(matrix, name):
    """Check a CSR matrix, or a CSC matrix, which is compressed by columns."""
    n_rows, n_columns = matrix.shape if len(matrix.shape) == 2 else (1, *matrix.shape)
    if matrix.format == "csc":
        n_rows, n_columns = n_columns, n_rows
    _check_pointers(matrix, name, n_rows)
    indices, indptr = matrix.indices, matrix.indptr
    if len(indices) <= AT_ONCE and indices.dtype == indptr.dtype == INT32:
        if is_canonical(contiguous(indptr), contiguous(indices), n_columns):
            return
    _check_range(indices, n_columns, f"{name}.indices")
    # Only after validation, because SciPy may compute the flag in compiled code.
    canonical = bool(matrix.has_canonical_format)
    if not (canonical or matrix.has_sorted_indices):
        return
    disordered = np.less_equal if canonical else np.less
    for first in range(0, len(indices), AT_ONCE):
        part = indices[first : first + AT_ONCE + 1]
        at = first + 1 + np.flatnonzero(disordered(part[1:], part[:-1]))
        inside = at[indptr[np.searchsorted(indptr, at)] != at]
        if len(inside):
            k = int(inside[0])
            flag = "has_canonical_format" if canonical else "has_sorted_indices"
            raise ValueError(
                f"{name}.{flag} is True, but {name}.indices[{k - 1}] is {indices[k - 1]} and "
                f"{name}.indices[{k}] is {indices[k]}, in the same row or column. Rebuild it with "
                f"scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)"
            )


def _check_coo(matrix, name):
    data = _array(matrix, "data", name, "fiub")
    # SciPy < 1.13 has no `coords`.
    coords = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    if len(coords) != len(matrix.shape):
        raise ValueError(
            f"{name}.coords has {len(coords)} arrays, expected {len(matrix.shape)}, one per axis"
        )
    for axis, (indices, size) in enumerate(zip(coords, matrix.shape)):
        what = f"{name}.coords[{axis}]"
        if not isinstance(indices, np.ndarray) or indices.ndim != 1 or indices.dtype.kind != "i":
            raise TypeError(
                f"{what} must be a 1-D array of signed integers, found {shortened(indices)}"
            )
        _same_length(what, len(indices), len(data), "the length of data")
        _check_range(indices, size, what)
