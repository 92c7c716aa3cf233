"""Arguments of functions as arrays and numbers: what is none is named, not left to NumPy."""

import operator
from collections.abc import Iterable, Iterator
from numbers import Integral

import numpy as np
from scipy import sparse

from sstruct._checks.partitioned import is_partitioned
from sstruct._checks.shown import brief, shortened

NUMBERS = "an array of numbers"
# What NumPy raises of items that make no array.
NO_ARRAY = TypeError, ValueError, ArithmeticError, NotImplementedError, np.ma.MaskError
# Entries that are copied in one go.
AT_ONCE = 2**20
# Lists in lists, of which NumPy looks at every entry; those that hold themselves have no end.
MOST_DEEP = 8
# What NumPy's generators are made of, but for lists and arrays of integers.
GENERATORS = (
    Integral, np.random.Generator, np.random.BitGenerator, np.random.SeedSequence,
    np.random.RandomState,
)  # fmt: skip


def _not(kind, name, error):
    """The error for an argument that is no array of a kind: a TypeError where NumPy's is one."""
    named = TypeError if isinstance(error, TypeError) else ValueError
    return named(f"{name} must be {kind}: {brief(error)}")


def aligned(array):
    """Return an array whose entries begin where compiled code may read them: itself, or a copy.

    Views of bytes may hold numbers that do not.
    """
    return array if array.flags.aligned else array.copy()


def contiguous(values, dtype=None):
    """Return values as an array that compiled code may read: C-contiguous and aligned."""
    return aligned(np.ascontiguousarray(values, dtype))


def array_of(values, name, kind="an array"):
    """Return values as an aligned array of any dtype.

    Ragged lists, sparse matrices and masked entries raise an error.
    """
    if sparse.issparse(values):
        raise TypeError(f"{name} must be {kind}, found a sparse matrix ({values.format})")
    check_unmasked(values, name)
    try:
        return aligned(np.asarray(values))
    except NO_ARRAY as error:
        raise _not(kind, name, error) from None


def check_unmasked(values, name):
    """Raise ValueError if an array, or an array in a list of these, has masked entries.

    NumPy would drop the mask and use the values below it.
    """
    objects = isinstance(values, np.ndarray) and values.dtype == object and values.ndim > 0
    if isinstance(values, list | tuple) or objects:
        if any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, values))):
            for i, item in enumerate(values):
                check_unmasked(item, f"{name}[{i}]")
    elif isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"found {int(np.ma.getmaskarray(values).sum())} masked entries in {name}. Fill them "
            "first, for example with masked_array.filled(value) or an imputer"
        )


def real_array(values, name):
    """Return values as float64, a view where they are that.

    Raises
    ------
    ValueError, TypeError
        Where they are no real numbers, or beyond the range of double precision; names them.
    """
    check_depth(values, name)
    array = array_of(values, name, NUMBERS)
    if array.dtype.kind in "cmMV":
        raise TypeError(f"{name} must be an array of real numbers, found dtype {array.dtype}")
    try:
        return np.asarray(array, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name} has a number beyond the range of double precision") from None
    except NO_ARRAY as error:
        raise _not(NUMBERS, name, error) from None


def concatenated(arrays, name):
    """Put dense arrays of one width one below the other; `name` is what an error calls them.

    Some at a time, between which Python hears of signals.
    """
    kinds = {array.dtype: array[:0] for array in arrays}
    try:
        dtype = np.concatenate(list(kinds.values())).dtype
        ends = np.cumsum([len(array) for array in arrays]).tolist()
        out = np.empty((ends[-1], *arrays[0].shape[1:]), dtype=dtype)
        step = max(1, AT_ONCE * len(arrays) // max(out.size, 1))
        end = 0
        for first in range(0, len(arrays), step):
            part = arrays[first : first + step]
            begin, end = end, ends[first + len(part) - 1]
            np.concatenate(part, out=out[begin:end])
        return out
    except TypeError:
        dtypes = ", ".join(sorted({str(array.dtype) for array in arrays}))
        raise TypeError(f"{name} must be of dtypes that go together, found {dtypes}") from None


def copy_rows(values, out):
    """Copy values into an array of their shape, some rows at a time.

    Between these Python hears of signals: the first touch of new memory takes its time.
    """
    step = max(1, AT_ONCE * len(values) // max(values.size, 1))
    for first in range(0, len(values), step):
        out[first : first + step] = values[first : first + step]


def check_depth(values, name):
    """Raise ValueError where lists are nested deeper than any array that is read.

    Or where they are of a class of its own, whose length is not the number of their items.
    TypeError of partitions on a cluster: whoever takes those looks for them first.
    """
    if is_partitioned(values):
        raise TypeError(
            f"{name} is in partitions on a cluster, which fit, score and PathCV take: give lists, "
            "or call this for each partition, as bag.map_partitions(model.predict) does"
        )
    depth = 0
    while isinstance(values, list | tuple):
        kind = list if isinstance(values, list) else tuple
        if type(values) is not kind and len(values) != kind.__len__(values):
            raise ValueError(
                f"{name} has a {type(values).__name__} whose length is {len(values)}, but which "
                f"has {kind.__len__(values)} items; write list(...)"
            )
        if not values:
            return
        values, depth = values[0], depth + 1
        if depth > MOST_DEEP:
            raise ValueError(f"{name} has lists nested more than {MOST_DEEP} deep")


def without_view(items):
    """Return an array for a memoryview, which lists no items of several dimensions or objects."""
    return np.asarray(items) if isinstance(items, memoryview) else items


def is_sized(value):
    """Whether it has a length, and lists the one that they say.

    Arrays of no dimension and sparse matrices have the method alone. Some of the latter answer, but
    what is in them is read by compiled code, which trusts what they store.
    """
    if type(value) in (list, tuple):  # asked of every sample: nearly all are these, or arrays
        return True
    if type(value) is np.ndarray:
        return value.ndim > 0
    if sparse.issparse(value):
        return False
    try:
        length = len(value)
    except TypeError:
        return False
    kind = next((kind for kind in (list, tuple) if isinstance(value, kind)), None)
    return kind is None or type(value) is kind or length == kind.__len__(value)


def is_empty(item):
    """Whether an item has neither rows nor columns: a sample of no nodes, in any form.

    One that has columns, such as ``np.empty((0, 3))``, is validated as all other items are.
    """
    if type(item) in (list, tuple):  # asked of every sample
        return not item
    if isinstance(item, list | tuple):
        return is_sized(item) and len(item) == 0
    shape = getattr(item, "shape", None)
    return isinstance(shape, tuple) and shape in ((0,), (0, 0))


def listed(values, name, kind):
    """Return what an iterable holds as a list; `kind` says what an error expects."""
    values = without_view(values)
    if not isinstance(values, Iterable) or not (is_sized(values) or isinstance(values, Iterator)):
        raise TypeError(f"{name} must be {kind}, found {shortened(values)}")
    return list(values)


def whole_number(value, name):
    """Return an integer."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, found {shortened(value)}") from None


def flag(value, name):
    """Return a bool."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, found {shortened(value)}")
    return bool(value)


def refuse_sparse(value, name, expected):
    """Raise for a sparse matrix, which shows itself in the errors of others by compiled code."""
    if sparse.issparse(value):
        raise TypeError(f"{name} is a {type(value).__name__}, expected {expected}")


def generator_of(random_state):
    """Return NumPy's generator for an integer, a generator or None."""
    expected = "an integer of at least 0, a generator or None"
    # NumPy would take arrays too, and go down into rows that are matrices until the stack ends.
    if not (random_state is None or isinstance(random_state, GENERATORS)):
        raise TypeError(f"random_state must be {expected}, found {shortened(random_state)}")
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise _not(expected, "random_state", error) from None
