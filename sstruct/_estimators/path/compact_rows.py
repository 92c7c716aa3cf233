"""Vectors that differ little from one to the next, kept in little memory."""

import numpy as np
from numpy.typing import ArrayLike

# A row is kept whole at least so often, so that finding any of them stays cheap.
WHOLE_EVERY = 32


class CompactRows:
    """A growing list of vectors of one length, whole or as differences from the ones before.

    A difference is the places whose bits have changed and their new values, so nothing is lost.
    It is taken where it needs less memory than the vector. Rows come back as new arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from sstruct.path import CompactRows
    >>> rows = CompactRows()
    >>> for k in range(3):
    ...     rows.append(np.arange(100.0) + (np.arange(100) == k))
    >>> len(rows), rows[1][1], rows.nbytes < 3 * 800
    (3, np.float64(2.0), True)
    """

    __module__ = "sstruct.path"  # where pickles and skops look for it

    def __init__(self) -> None:
        self._rows = []  # arrays, or pairs of places and values
        self._last = None

    def append(self, row: ArrayLike) -> None:
        """Append a vector; a copy is kept.

        Parameters
        ----------
        row : array-like of shape (n,)
            Of the length of the others.
        """
        row = np.array(row, dtype=np.float64)
        stored = row
        if len(self._rows) % WHOLE_EVERY:
            if row.shape != self._last.shape:
                raise ValueError(f"a row of shape {row.shape}, expected {self._last.shape}")
            places = np.flatnonzero(row.view(np.int64) != self._last.view(np.int64))
            narrow = places.astype(np.int32 if len(row) < 2**31 else np.int64)
            if narrow.nbytes + 8 * len(narrow) < row.nbytes:
                stored = narrow, row[places]
        self._rows.append(stored)
        self._last = row

    def __len__(self):
        return len(self._rows)

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
        """Memory of what is kept."""
        return sum(
            row[0].nbytes + row[1].nbytes if isinstance(row, tuple) else row.nbytes
            for row in self._rows
        )

    def __repr__(self):
        return f"<{len(self)} rows in {self.nbytes} bytes>"
