"""Tables and columns of pandas and of polars, by what they have in common.

Neither is imported unless it is there: NumPy reads both, and their names are attributes. That is
all that is needed, so that no library between (narwhals) has to be installed.
"""

import sys
from importlib import import_module

import numpy as np

from sstruct._checks.arrays import is_empty, is_sized
from sstruct._checks.shown import plain, shortened

LIBRARIES = ("pandas", "polars")
PLAIN = (list, tuple, np.ndarray)
FEW = 20  # names that an error may list


def library_of(table):
    """Return the library that a table is of, by name, or None: it is no data frame."""
    for name in LIBRARIES:
        module = sys.modules.get(name)
        if module is not None and isinstance(table, module.DataFrame):
            return name
    return None


def items_of(values):
    """Return a column (series) of arrays, lists or other items with parts as a list of them.

    A memoryview, whose items NumPy must unpack, and an image of PIL are returned as an array, and
    anything else, such as a column of numbers or strings, as it is.
    """
    if type(values) in PLAIN:
        return values
    if isinstance(values, memoryview) or _is_image(values):
        return np.asarray(values)
    if not hasattr(values, "to_list") or hasattr(values, "columns"):
        return values
    if len(values) == 0:
        return []
    first = next(iter(values))
    return values.to_list() if is_sized(first) and not isinstance(first, str) else values


def _is_image(values):
    """Whether an object has an array but is not a sequence, as an image of PIL."""
    if isinstance(values, np.generic):
        return False
    return hasattr(values, "__array_interface__") and not hasattr(values, "__len__")


def column_names(item):
    """Return the names of a data frame's columns if all are strings, else None."""
    names = np.asarray(getattr(item, "columns", ()), dtype=object)
    return names if len(names) and all(isinstance(name, str) for name in names) else None


def common_names(items, name):
    """Return the column names of the first item that is not empty, or None.

    Those of others must not differ.

    Raises
    ------
    ValueError
        That calls the items by `name`.
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
    """Raise where names of columns differ: with all of them, or the first that does."""
    if found is known or np.array_equal(found, known):
        return
    if len(known) != len(found) or len(known) <= FEW:
        raise ValueError(
            f"the columns of {what} are {list(found)}, expected {expected}: {list(known)}"
        )
    k = int(np.flatnonzero(found != known)[0])
    raise ValueError(
        f"the columns of {what} are not {expected}: number {k} is {shortened(found[k])}, not "
        f"{shortened(known[k])}"
    )


def label_names(table):
    """Return the names of a table's columns as a list, of any kind; None where it has none."""
    if library_of(table) is None:
        return None
    names = [plain(name) for name in table.columns]
    return None if names == list(range(len(names))) else names


def joined(items):
    """Put data frames of one library one below the other; None if they are not all such."""
    library = library_of(items[0]) if items else None
    if library is None or any(library_of(item) != library for item in items):
        return None
    module = import_module(library)
    return module.concat(items, ignore_index=True) if library == "pandas" else module.concat(items)


def cut(table, offsets, items):
    """Cut a data frame into one for each of `items`, with its index where they are of pandas."""
    out = []
    for item, start, stop in zip(items, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        part = table[start:stop]
        if library_of(part) == library_of(item) == "pandas":
            part.index = item.index
        out.append(part)
    return out


def records(table):
    """Return the rows of a data frame as dicts, and anything else as it is."""
    library = library_of(table)
    if library is None:
        return table
    return table.to_dict("records") if library == "pandas" else table.to_dicts()


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
