"""Memory-mapped features, which are read from disk on demand."""

from __future__ import annotations

import os
import struct
import zipfile
from typing import Any

import numpy as np
from scipy import sparse

from sstruct._checks.shown import brief, shortened

# The part of fixed size in the header of a zip file's member.
LOCAL_HEADER = struct.Struct("<4s22xHH")


def open_mapped(path: str | os.PathLike[str]) -> Any:
    """Memory-map an array or a sparse matrix from its file.

    Parameters
    ----------
    path : str or os.PathLike
        A file written by ``numpy.save`` (``.npy``), or a CSR matrix written by
        ``scipy.sparse.save_npz(..., compressed=False)`` (``.npz``).

    Returns
    -------
    ndarray or csr_matrix
        Read-only array or matrix; its entries are read from the file on access.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If the file is compressed or has another content.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from sstruct.mapped import open_mapped
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "X.npy")
    ...     np.save(path, np.eye(3))
    ...     X = open_mapped(path)
    ...     print(type(X).__name__, X.shape)
    ...     del X
    memmap (3, 3)
    """
    name = os.fsdecode(path)
    with open(name, "rb") as file:  # raises OSError
        try:
            if zipfile.is_zipfile(file):
                return _mapped_matrix(file)
            file.seek(0)
            return _mapped_array(file)
        except Exception as error:  # NumPy, SciPy and zipfile raise many types
            raise ValueError(f"cannot map {name}: {brief(error)}") from error


def _mapped_matrix(file):
    """Map the CSR matrix in a zip file."""
    with zipfile.ZipFile(file) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
    missing = {"format", "shape", "data", "indices", "indptr"} - members.keys()
    if missing:
        raise ValueError(f"not a SciPy sparse matrix: the entry {min(missing)!r} is missing")
    kind = _mapped_member(file, members["format"]).item()
    kind = kind.decode() if isinstance(kind, bytes) else kind
    if kind != "csr":
        raise ValueError(f"the matrix has the format {shortened(kind)}, expected 'csr'")
    shape = _mapped_member(file, members["shape"])
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or not 0 <= shape.min():
        raise ValueError(f"the matrix has the shape {shape.tolist()}, expected two integers")
    parts = [_mapped_member(file, members[part]) for part in ("data", "indices", "indptr")]
    if parts[2].shape != (shape[0] + 1,):
        raise ValueError(f"indptr has shape {parts[2].shape}, expected {(int(shape[0]) + 1,)}")
    matrix = sparse.csr_matrix(tuple(shape.tolist()), dtype=np.float64)
    # Bypass the constructor, which may copy.
    matrix.data, matrix.indices, matrix.indptr = parts
    matrix.check_format(full_check=False)
    return matrix


def _mapped_member(file, member):
    """Map an uncompressed array in a zip file."""
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError("the file is compressed; save it with compressed=False")
    file.seek(member.header_offset)
    signature, name_size, extra_size = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    if signature != b"PK\3\4":
        raise ValueError(f"the file is damaged: no header at {member.header_offset}")
    file.seek(name_size + extra_size, os.SEEK_CUR)
    return _mapped_array(file)


def _mapped_array(file):
    """Map the array written by numpy.save at the file's position."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"the array has format {version}, expected (1, 0) or (2, 0)")
    shape, fortran, dtype = read(file)
    if dtype.hasobject:  # their addresses would be read from the file
        raise ValueError("the array contains Python objects, expected numbers")
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    return np.memmap(
        file, dtype=dtype, mode="r", offset=file.tell(), shape=shape, order="F" if fortran else "C"
    )
