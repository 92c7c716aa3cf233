"""Features in files, mapped into memory and not read before they are wanted."""

from __future__ import annotations

import os
import struct
import zipfile
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["open_mapped"]

# Of a zip file: the part of a member's header that has a fixed size.
LOCAL_HEADER = struct.Struct("<4s22xHH")


def open_mapped(path: str | os.PathLike[str]) -> Any:
    """Map an array, or a sparse matrix, from its file.

    Parameters
    ----------
    path : str or os.PathLike
        An array that ``numpy.save`` wrote (``.npy``), or a CSR matrix that
        ``scipy.sparse.save_npz(..., compressed=False)`` wrote (``.npz``).

    Returns
    -------
    ndarray or csr_matrix
        Read-only; its entries are read from the file where they are used.

    Raises
    ------
    ValueError
        If the file is compressed, or holds something else.

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
    name = os.fspath(path)
    if not zipfile.is_zipfile(name):
        return np.load(name, mmap_mode="r")
    with zipfile.ZipFile(name) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        missing = {"format", "shape", "data", "indices", "indptr"} - members.keys()
        if missing:
            raise ValueError(f"{name} is no sparse matrix of scipy's: it has no {min(missing)!r}")
        with archive.open(members["format"]) as file:
            kind = np.load(file).item()
        with archive.open(members["shape"]) as file:
            shape = tuple(np.load(file).tolist())
    kind = kind.decode() if isinstance(kind, bytes) else kind
    if kind != "csr":
        raise ValueError(f"{name} holds a matrix in format {kind!r}, expected 'csr'")
    matrix = sparse.csr_matrix(shape, dtype=np.float64)
    # Set, not passed to the constructor, which may copy.
    matrix.data, matrix.indices, matrix.indptr = (
        _mapped_member(name, members[part]) for part in ("data", "indices", "indptr")
    )
    matrix.check_format(full_check=False)
    return matrix


def _mapped_member(name, member):
    """Map an array that lies in a zip file as it is."""
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name} is compressed, expected one saved with compressed=False")
    with open(name, "rb") as file:
        file.seek(member.header_offset)
        signature, name_size, extra_size = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
        if signature != b"PK\3\4":
            raise ValueError(f"{name} is damaged: no header at {member.header_offset}")
        file.seek(name_size + extra_size, os.SEEK_CUR)
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read is None:
            raise ValueError(f"{name} has arrays of format {version}, expected (1, 0) or (2, 0)")
        shape, fortran, dtype = read(file)
        if not np.prod(shape):
            return np.empty(shape, dtype=dtype)
        return np.memmap(
            name, dtype=dtype, mode="r", offset=file.tell(), shape=shape,
            order="F" if fortran else "C",
        )  # fmt: skip
