"""Support for pandas and polars data frames through their common interface.

Neither library is imported unless it is already in use, or a model that was loaded from a file
predicts data frames: NumPy converts both, and column names are attributes. No compatibility
library, such as narwhals, is required.
"""

import sys
from importlib import import_module

import numpy as np

from sstruct._checks.arrays import first_true, is_empty
from sstruct._checks.shown import plain, shortened

LIBRARIES = ("pandas", "polars")
FEW = 20  # limit on the number of names in an error


def library_of(table):
    """Return the name of a data frame's library, or None if the table is not a data frame."""
    for name in LIBRARIES:
        module = sys.modules.get(name)
        if module is not None and isinstance(table, module.DataFrame):
            return name
    return None


def column_names(item):
    """Return the column names of a data frame if they are strings, else None.

    Raises
    ------
    TypeError
        If only some names are strings, as in scikit-learn.
    """
    names = np.asarray(getattr(item, "columns", ()), dtype=object)
    are_strings = {isinstance(name, str) for name in names}
    if len(are_strings) == 2:
        raise TypeError(
            f"the columns of a data frame are {shortened(names.tolist())}, expected only strings "
            "or no strings; use X.columns = X.columns.astype(str)"
        )
    return names if are_strings == {True} else None


def common_names(items, name):
    """Return the column names of the first nonempty item, or None.

    Raises
    ------
    ValueError
        If the column names of other items differ; the error names the item by `name`.
    """
    names = first = None
    for i, item in enumerate(items):
        if is_empty(item):
            continue
        found = column_names(item)
        if first is None:
            names, first = found, i
        elif names is not None and found is not None:
            check_names(found, names, f"{name}[{i}]", f"those of {name}[{first}]")
    return names


def check_names(found, known, what, expected):
    """Raise an error if column names differ; it lists all names, or the first difference."""
    if found is known or np.array_equal(found, known):
        return
    if len(known) != len(found) or len(known) <= FEW:
        raise ValueError(
            f"the columns of {what} are {list(found)}, expected {expected}: {list(known)}"
        )
    k = first_true(found != known)
    raise ValueError(
        f"the columns of {what} are not {expected}: column {k} is {shortened(found[k])}, not "
        f"{shortened(known[k])}"
    )


def missing_as_nan(table, values):
    """Return the values of a data frame, an object array, with NaN for NA of pandas."""
    if library_of(table) != "pandas":
        return values
    return np.where(table.isna().to_numpy(), np.nan, values)


def label_names(table):
    """Return the column names of a data frame, of any type, as a list.

    The result is None for other objects, and for the names 0, 1, ..., the default of pandas.
    """
    if library_of(table) is None:
        return None
    names = [plain(name) for name in table.columns]
    return None if names == list(range(len(names))) else names


def joined(items):
    """Concatenate data frames of one library; return None for other items or an empty list."""
    library = library_of(items[0]) if items else None
    if library is None or any(library_of(item) != library for item in items):
        return None
    module = import_module(library)
    return module.concat(items, ignore_index=True) if library == "pandas" else module.concat(items)


def cut(table, offsets, items):
    """Split a data frame into one for each of `items`, with the index of pandas items."""
    out = []
    for item, start, stop in zip(items, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        part = table[start:stop]
        if library_of(part) == library_of(item) == "pandas":
            part.index = item.index
        out.append(part)
    return out


def records(table):
    """Return the rows of a data frame as dicts, and other objects unchanged."""
    library = library_of(table)
    if library is None:
        return table
    return table.to_dict("records") if library == "pandas" else table.to_dicts()


def frame_like(values, library, names, source=None):
    """Convert a 2-D array to a data frame.

    Parameters
    ----------
    values : ndarray of shape (n, n_columns)
    library : str
        One of LIBRARIES.
    names : list
        Column names.
    source : object, optional
        If it is a pandas data frame, its index is used.

    Raises
    ------
    ImportError
        If the library is not installed, because the model was fitted elsewhere.
    """
    try:
        module = import_module(library)
    except ImportError as error:
        raise ImportError(
            f"this model was fitted on {library} data frames and returns the same, but "
            f"{library} is not installed: pip install {library}"
        ) from error
    if library == "polars":
        return module.DataFrame(values, schema=[str(name) for name in names])
    index = source.index if library_of(source) == "pandas" else None
    return module.DataFrame(values, columns=names, index=index)
