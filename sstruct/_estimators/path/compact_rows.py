"""Compact storage of a list of vectors that differ little from one to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._compat.public_module import public_module
from sstruct._estimators.core.fitted_state import CheckedState, Field, FittedState, raise_unexpected

# At least every 32nd row is stored whole, so access to any row remains fast.
WHOLE_EVERY = 32


@dataclass(frozen=True, kw_only=True)
class StoredRows(Field):
    """The content of `CompactRows`: vectors, and valid indices with new values."""

    def expected(self):
        return "a list of float64 vectors of equal length and of changes of them"

    def check(self, value, name, sizes):
        # Subclasses are rejected, since their length may differ from their content.
        is_valid = type(value) is list and not (value and isinstance(value[0], tuple))
        if not is_valid:
            raise_unexpected(name, value, self.expected())
        for k, row in enumerate(value):
            if isinstance(row, tuple):
                is_valid = len(row) == 2 and _are_changes(*row, len(value[0]))
            else:
                is_valid = _is_vector(row, np.float64) and row.shape == value[0].shape
            if not is_valid:
                raise_unexpected(f"{name}[{k}]", row, self.expected())


def _is_vector(value, *dtypes):
    return type(value) in (np.ndarray, np.memmap) and value.ndim == 1 and value.dtype in dtypes


def _are_changes(places, values, width):
    """Whether these are distinct indices of a vector, and new values."""
    if not (_is_vector(places, np.int32, np.int64) and _is_vector(values, np.float64)):
        return False
    inside = not len(places) or (0 <= places[0] and places[-1] < width)
    return places.shape == values.shape and inside and bool((np.diff(places) > 0).all())


def last_is_kept(state):
    """Raise Unexpected unless the last row is also stored whole, to compare the next one with."""
    rows, last = state["_rows"], state.get("_last")
    is_valid = (
        last is None if not rows else _is_vector(last, np.float64) and last.shape == rows[0].shape
    )
    if not is_valid:
        raise_unexpected("_last", last, f"the last of {len(rows)} rows")


@public_module("sstruct.path")
class CompactRows(CheckedState):
    """A growing list of vectors of equal length, stored whole or as differences.

    A difference consists of the indices whose bits differ from the previous vector, and their new
    values, so it is exact. It is used if it needs less memory, except for every 32nd vector. Rows
    are returned as new arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from sstruct.path import CompactRows
    >>> rows = CompactRows()
    >>> for k in range(3):
    ...     rows.append(np.arange(100.0) + (np.arange(100) == k))
    >>> len(rows), float(rows[1][1]), rows.nbytes < 3 * 800
    (3, 2.0, True)
    """

    _fitted_state = FittedState({"_rows": StoredRows()}, rules=(last_is_kept,))

    def __new__(cls) -> Self:
        """Create an empty list. Files without a state also result in an empty list."""
        self = super().__new__(cls)
        self._rows = []  # arrays, or pairs of indices and values
        self._last = None
        return self

    def append(self, row: ArrayLike) -> None:
        """Append a vector; a copy is kept.

        Parameters
        ----------
        row : array-like of shape (n,)
            A vector of the same length as the others.
        """
        row = np.array(row, dtype=np.float64)
        stored = row
        if len(self._rows) and row.shape != self._last.shape:
            raise ValueError(f"row has shape {row.shape}, expected {self._last.shape}")
        if len(self._rows) % WHOLE_EVERY:
            places = np.flatnonzero(row.view(np.int64) != self._last.view(np.int64))
            narrow = places.astype(np.int32 if len(row) < 2**31 else np.int64)
            if narrow.nbytes + 8 * len(narrow) < row.nbytes:
                stored = narrow, row[places]
        self._rows.append(stored)
        self._last = row

    def __len__(self):
        return len(self._rows)

    @property
    def width(self) -> int:
        """Length of the vectors; 0 if there are none."""
        return len(self._rows[0]) if self._rows else 0

    def __getitem__(self, k):
        k = range(len(self._rows))[k]
        first = k
        while isinstance(self._rows[first], tuple):
            first -= 1
        row = self._rows[first].copy()
        for places, values in self._rows[first + 1 : k + 1]:
            row[places] = values
        return row

    def __iter__(self):
        row = None
        for stored in self._rows:
            if isinstance(stored, tuple):
                row = row.copy()
                row[stored[0]] = stored[1]
            else:
                row = stored.copy()
            yield row.copy()

    @property
    def nbytes(self) -> int:
        """Memory of the stored arrays in bytes."""
        return sum(
            row[0].nbytes + row[1].nbytes if isinstance(row, tuple) else row.nbytes
            for row in self._rows
        )

    def __repr__(self):
        return f"<{len(self)} rows in {self.nbytes} bytes>"
