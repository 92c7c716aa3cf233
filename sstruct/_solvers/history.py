"""The record of a fit: one row a pass."""

import numpy as np

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


class History:
    """Columns that grow by a row a pass.

    ``seconds`` and ``certificate_seconds`` are cumulative and the first includes the second;
    ``primal`` and ``gap`` are NaN on passes without a certificate; ``working_set_size`` is the
    mean number of cached labelings of a block.
    """

    def __init__(self):
        self._rows = []

    def record(self, **row):
        """Append a row; every column must be given. An interruption leaves no half of one."""
        self._rows.append(tuple(row[name] for name in COLUMNS))

    def as_arrays(self):
        """Return a dict of equal-length arrays."""
        columns = zip(*self._rows) if self._rows else [()] * len(COLUMNS)
        return {
            name: np.array(column, dtype) for (name, dtype), column in zip(COLUMNS.items(), columns)
        }
