"""The history of a fit, with one row per pass."""

import math
from operator import itemgetter

import numpy as np

from sstruct._problems.core.kept_arrays import MAX_COUNT, kept_array

COLUMNS = {
    "seconds": np.float64,
    "certificate_seconds": np.float64,
    "passes": np.int64,
    "oracle_calls": np.int64,
    "approximate_passes": np.int64,
    "primal": np.float64,
    "gap": np.float64,
    "dual": np.float64,
    "working_set_size": np.float64,
}
PASSES = list(COLUMNS).index("passes")


class History:
    """Columns that grow by one row per pass.

    ``seconds`` and ``certificate_seconds`` are cumulative, and the first includes the second.
    ``primal`` and ``gap`` are NaN in passes without a certificate. ``working_set_size`` is the
    mean number of cached labelings of a block, for GDMM on label sets, of admitted labels, and for
    the cutting-plane method the number of planes; 0 for other solvers.

    Parameters
    ----------
    counts : iterable of str
        Names of integer columns that the problem adds.
    measures : iterable of str
        Names of columns that the solver adds.
    """

    def __init__(self, counts=(), measures=()):
        self.columns = {
            **COLUMNS,
            **dict.fromkeys(counts, np.int64),
            **dict.fromkeys(measures, np.float64),
        }
        self._ordered = itemgetter(*self.columns)
        self._rows = []

    def record(self, **row):
        """Append a row, with a value for every column; an interruption leaves no partial row.

        A second row for the same pass replaces the first.
        """
        row = self._ordered(row)
        if self._rows and row[PASSES] == self._rows[-1][PASSES]:
            self._rows[-1] = row
        else:
            self._rows.append(row)

    def last(self, name):
        """Return the newest entry of a column, or 0 if there is none."""
        return self._rows[-1][list(self.columns).index(name)] if self._rows else 0

    def at_certificate(self, name):
        """Return the entry of a column at the last certificate, or -inf if there is none."""
        columns = list(self.columns)
        primal, column = columns.index("primal"), columns.index(name)
        certified = (row[column] for row in reversed(self._rows) if not math.isnan(row[primal]))
        return next(certified, -np.inf)

    def newest(self):
        """Return the newest row as a dict."""
        return dict(zip(self.columns, self._rows[-1]))

    def as_arrays(self):
        """Return a dict of equal-length arrays."""
        columns = zip(*self._rows) if self._rows else [()] * len(self.columns)
        return {
            name: np.array(column, dtype)
            for (name, dtype), column in zip(self.columns.items(), columns)
        }

    def restore(self, kept, n_passes):
        """Restore the columns of `as_arrays`.

        Parameters
        ----------
        kept : dict of ndarrays
            The columns, with ``history_`` before their names, among other saved arrays.
        n_passes : int

        Raises
        ------
        ValueError
            If a column is missing or invalid, or does not have one entry for each of `n_passes`
            passes.
        """
        columns = []
        for name, dtype in self.columns.items():
            field = f"history_{name}"
            limits = {"least": 0, "most": MAX_COUNT} if dtype is np.int64 else {}
            column = kept_array(kept, field, dtype, n_passes, values="any", **limits)
            columns.append(column.tolist())
        if columns[PASSES] != list(range(1, n_passes + 1)):
            found = next(k for k, value in enumerate(columns[PASSES]) if value != k + 1)
            raise ValueError(
                f"history_passes: entry {found} is {columns[PASSES][found]}, expected {found + 1}"
            )
        self._rows = list(zip(*columns, strict=True))
