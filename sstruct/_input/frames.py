"""Tables and columns of pandas and of polars, by what they have in common.

Neither is imported unless it is there: NumPy reads both, and their names are attributes. That is
all that is needed, so that no library between (narwhals) has to be installed.
"""

import sys
from importlib import import_module

import numpy as np

from sstruct._input.labels import plain

LIBRARIES = ("pandas", "polars")


def library_of(table):
    """Return the library that a table is of, by name, or None: it is no data frame."""
    for name in LIBRARIES:
        module = sys.modules.get(name)
        if module is not None and isinstance(table, module.DataFrame):
            return name
    return None


def items_of(values):
    """Return a column (series) of arrays, lists or other items with parts as a list of them.

    Anything else, columns of numbers and strings too, is returned as it is.
    """
    if not hasattr(values, "to_list") or hasattr(values, "columns") or len(values) == 0:
        return values
    first = next(iter(values))
    return values.to_list() if hasattr(first, "__len__") and not isinstance(first, str) else values


def column_names(item):
    """Return the names of a data frame's columns if all are strings, else None."""
    names = np.asarray(getattr(item, "columns", ()), dtype=object)
    return names if len(names) and all(isinstance(name, str) for name in names) else None


def label_names(table):
    """Return the names of a table's columns as a list, of any kind; None where it has none."""
    if library_of(table) is None:
        return None
    names = [plain(name) for name in table.columns]
    return None if names == list(range(len(names))) else names


def frame_like(values, library, names, source=None):
    """Return a 2-D array as a data frame.

    Parameters
    ----------
    values : ndarray of shape (n, n_columns)
    library : str
        One of LIBRARIES.
    names : list
        Of the columns.
    source : object, optional
        If it is a data frame of pandas, its index is taken.

    Raises
    ------
    ImportError
        Without the library: a model may have been fitted elsewhere.
    """
    try:
        module = import_module(library)
    except ImportError as error:
        raise ImportError(
            f"this model was fitted on data frames of {library} and returns such, but {library} is "
            f"not installed: pip install {library}"
        ) from error
    if library == "polars":
        return module.DataFrame(values, schema=[str(name) for name in names])
    index = source.index if library_of(source) == "pandas" else None
    return module.DataFrame(values, columns=names, index=index)
