"""Conversion of arguments to arrays and numbers, with errors that name the argument.

Magnitudes are limited, so that squares, sums and products are finite in float64.
"""

import operator
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import accumulate
from numbers import Integral

import numpy as np
from scipy import sparse

from sstruct._checks.shown import brief, error_kind, shortened

NUMBERS = "an array of numbers"
# Exceptions that NumPy raises if items cannot be converted to an array.
NO_ARRAY = TypeError, ValueError, ArithmeticError, NotImplementedError, np.ma.MaskError
# Number of entries that are copied together.
AT_ONCE = 2**20
# Number of entries that are checked together, so small that BLAS uses one thread.
SCANNED_AT_ONCE = 2**13
# For features, costs and potentials. Sums of squares over 1e9 features of 1e9 nodes stay far below
# the largest float64, 1.8e308.
LARGEST = 1e100
# Limit on the nesting of lists, which NumPy traverses in full; a list may contain itself.
MAX_DEPTH = 8
PLAIN = (list, tuple, np.ndarray)
# Valid seeds of NumPy's generators, except for lists and arrays of integers.
GENERATORS = (
    Integral, np.random.Generator, np.random.BitGenerator, np.random.SeedSequence,
    np.random.RandomState,
)  # fmt: skip


def _not(kind, name, error):
    """Return an error for an invalid argument: a TypeError if NumPy raised one."""
    return error_kind(error)(f"{name} must be {kind}: {brief(error)}")


def contiguous(values, dtype=None):
    """Return values as a C-contiguous and aligned array, as compiled code requires.

    Views of bytes may be unaligned.
    """
    array = np.ascontiguousarray(values, dtype)
    return array if array.flags.aligned else array.copy()


def array_of(values, name, kind="an array"):
    """Return values as an aligned array of any dtype.

    Ragged lists, sparse matrices and masked entries raise an error.
    """
    if sparse.issparse(values):
        raise TypeError(f"{name} must be {kind}, found a sparse matrix ({values.format})")
    check_unmasked(values, name)
    try:
        array = np.asarray(values)
        return array if array.flags.aligned else array.copy()
    except NO_ARRAY as error:
        raise _not(kind, name, error) from None


def check_unmasked(values, name):
    """Raise ValueError if an array, or an array in a list of arrays, has masked entries.

    NumPy would ignore the mask and use the underlying values.
    """
    objects = isinstance(values, np.ndarray) and values.dtype == object and values.ndim > 0
    if isinstance(values, list | tuple) or objects:
        if any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, values))):
            for i, item in enumerate(values):
                check_unmasked(item, f"{name}[{i}]")
    elif isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} has {int(np.ma.getmaskarray(values).sum())} masked entries. Fill them "
            "first, for example with masked_array.filled(value) or an imputer"
        )


def real_array(values, name, single=False):
    """Return values as float64, without a copy if possible.

    single : whether float32 is returned unchanged

    Raises
    ------
    ValueError, TypeError
        If the values are not real numbers or exceed the range of float64.
    """
    check_depth(values, name)
    array = array_of(values, name, NUMBERS)
    if array.dtype.kind in "cmMV":
        raise TypeError(f"{name} must be an array of real numbers, found dtype {array.dtype}")
    if single and array.dtype == np.float32:
        return array
    try:
        return np.asarray(array, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name} contains a value too large for dtype('float64')") from None
    except NO_ARRAY as error:
        raise _not(NUMBERS, name, error) from None


def concatenated(arrays, name):
    """Concatenate dense arrays with the same number of columns; `name` is used in errors.

    Rows are copied in chunks, between which Python handles signals.
    """
    try:
        dtype = np.result_type(*set(map(operator.attrgetter("dtype"), arrays)))
        ends = [*accumulate(map(len, arrays))]
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
        raise TypeError(f"incompatible dtypes in {name}: {dtypes}") from None


def concatenated_rows(values, name):
    """Return the concatenated entries of all nodes, as float64, and their offsets (V + 1,).

    Parameters
    ----------
    values : list of V array-likes of shape (K_v,), or array-like of shape (V, K)
    name : str
        Name of the values in errors.
    """
    values = without_view(values)
    if not is_sized(values):
        raise ValueError(f"{name} must be an array or a list of arrays, found {shortened(values)}")
    if len(values) == 0:
        raise ValueError(f"{name} is empty, expected at least one node")
    if isinstance(values, np.ndarray) and values.dtype != object:
        table = real_array(values, name)
        if table.ndim != 2 or table.shape[1] == 0:
            raise ValueError(
                f"{name} must be a list of arrays (K_v,) or have shape (V, K), K at least 1; found "
                f"{table.shape}"
            )
        return table.flatten(), np.arange(len(table) + 1, dtype=np.int64) * table.shape[1]
    rows = [real_array(row, f"{name}[{v}]") for v, row in enumerate(values)]
    for v, row in enumerate(rows):
        if row.ndim != 1 or len(row) == 0:
            raise ValueError(
                f"{name}[{v}] must be 1-D with at least one label; found shape {row.shape}"
            )
    start = [0, *accumulate(map(len, rows))]
    return concatenated(rows, name), np.array(start, dtype=np.int64)


def copy_rows(values, out):
    """Copy values into an array of the same shape, in chunks of rows.

    Python handles signals between chunks, since the first access to new memory is slow.
    """
    step = max(1, AT_ONCE * len(values) // max(values.size, 1))
    for first in range(0, len(values), step):
        out[first : first + step] = values[first : first + step]


def is_partitioned(values):
    """Return True for samples in partitions on a Dask cluster; Dask is not imported.

    They are a bag, or a list of futures or delayed objects.
    """
    dask, distributed = sys.modules.get("dask"), sys.modules.get("distributed")
    if dask is None:
        return False
    first = next(iter(values), None) if isinstance(values, list | tuple) else None
    return (
        dask.is_dask_collection(values)
        or dask.is_dask_collection(first)
        or (distributed is not None and isinstance(first, distributed.Future))
    )


def check_depth(values, name):
    """Raise ValueError if lists are nested deeper than the dimensions of any valid array.

    Only the first item of each list is examined. Also raise ValueError for subclasses of list or
    tuple whose length is not their number of items, and TypeError for partitions on a cluster,
    which callers that support them detect first.
    """
    if "dask" in sys.modules and is_partitioned(values):
        raise TypeError(
            f"{name} is in partitions on a cluster, which only fit, score and PathCV of some "
            "estimators support: pass lists, or process each partition, as in "
            "bag.map_partitions(model.predict)"
        )
    depth = 0
    while isinstance(values, list | tuple):
        kind = list if isinstance(values, list) else tuple
        if type(values) is not kind and len(values) != kind.__len__(values):
            raise ValueError(
                f"{name} has a {type(values).__name__} of length {len(values)} that contains "
                f"{kind.__len__(values)} items; convert it with list(...)"
            )
        if not values:
            return
        values, depth = values[0], depth + 1
        if depth > MAX_DEPTH:
            raise ValueError(f"{name} has lists nested more than {MAX_DEPTH} levels")


def listed_samples(X, kind, noun="sample", fitted=False):
    """Return X as a list, tuple or array of samples; raise if it is empty, unless fitted.

    kind : description of a valid X, for errors
    noun : name of an item of X, for errors
    """
    X = _items_listed(X, "X", kind)
    if len(X) == 0 and not fitted:
        raise ValueError(f"X is empty, expected at least one {noun}")
    return X


def is_empty_list(item):
    """Whether an item of X is an empty list or an array of shape (0,), a sample without nodes."""
    return isinstance(item, PLAIN) and len(item) == 0 and getattr(item, "ndim", 1) == 1


def check_given_target(y, name="y", owner="This estimator"):
    """Raise ValueError if y is None, in the words of scikit-learn."""
    if y is None:
        raise ValueError(f"{owner} requires {name} to be passed, but the target {name} is None")


def listed_targets(y, n_samples, kind, name="y"):
    """Return y as a list, tuple or array with an item for each sample, or raise.

    kind : description of a valid y, for errors
    """
    check_given_target(y, name)
    y = _items_listed(y, name, kind)
    if len(y) != n_samples:
        raise ValueError(f"X has {n_samples} samples but {name} has {len(y)}")
    return y


def sample_dict(item, i, keys):
    """Return an item X[i] as a dict with valid keys; other objects become its "features"."""
    if not isinstance(item, Mapping):
        item = {"features": item}
    unknown = [key for key in item if key not in keys]
    if unknown or "features" not in item:
        found = f"unknown keys {unknown}" if unknown else "no 'features'"
        raise ValueError(f"X[{i}] has {found}; the keys of a dict are {', '.join(keys)}")
    return item


def _items_listed(values, name, kind):
    check_depth(values, name)
    values = items_of(values)
    if not isinstance(values, PLAIN) or getattr(values, "ndim", 1) == 0:
        raise TypeError(f"{name} must be {kind}, found {type(values).__name__}")
    return values


def without_view(items):
    """Convert a memoryview or a tensor to an array, since its items may not be numbers."""
    if type(items) in PLAIN:
        return items
    if isinstance(items, memoryview):
        return np.asarray(items)
    return array_of_tensor(items) if is_tensor(items) else items


def items_of(values):
    """Return a column (series) of arrays, lists or other nested items as a list.

    Memoryviews, tensors and PIL images are converted to arrays. Other objects, such as a column of
    numbers or strings, are returned unchanged.
    """
    if type(values) in PLAIN:
        return values
    kind = type(values)
    # A PIL image has an array but no length.
    is_image = hasattr(kind, "__array_interface__") and not hasattr(kind, "__len__")
    if isinstance(values, memoryview) or (is_image and not issubclass(kind, np.generic)):
        return np.asarray(values)
    if is_tensor(values):
        return array_of_tensor(values)
    # Looked up on the type: for Sequences objects, a missing attribute would call `__getattr__`.
    if not hasattr(kind, "to_list") or hasattr(values, "columns"):
        return values
    if len(values) == 0:
        return []
    first = next(iter(values))
    return values.to_list() if is_sized(first) and not isinstance(first, str) else values


def is_tensor(values):
    """Return True for an array of another library, such as a torch tensor."""
    return hasattr(type(values), "__dlpack__") and not isinstance(values, np.ndarray | np.generic)


def array_of_tensor(tensor):
    """Return a tensor as an array, without a copy if possible."""
    convert = np.asarray if hasattr(type(tensor), "__array__") else np.from_dlpack
    try:
        return convert(tensor)
    except (*NO_ARRAY, RuntimeError, BufferError) as error:
        raise TypeError(
            f"{type(tensor).__name__} cannot be converted to an array: {brief(error)}; pass an "
            "array, such as tensor.detach().cpu().numpy()"
        ) from None


def as_floats(array, name):
    """Return an array of real numbers as float32 or float64, without a copy if it is one of these.

    Arrays of float16, and of bfloat16 as defined by ml_dtypes, become float32.
    """
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.name in ("float16", "bfloat16"):
        return array.astype(np.float32)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} has dtype {array.dtype}, expected real numbers")
    return array.astype(np.float64)


def first_true(mask):
    """Return the index of the first True in a 1-D mask, or None if there is none."""
    return int(mask.argmax()) if mask.any() else None


def first_beyond(values, largest=LARGEST):
    """Return (index along the first axis, value) of the first entry that is NaN or too large.

    Returns None if all entries are valid. O(size), without a copy.

    values : ndarray, or CSR matrix whose indices are valid
    """
    if sparse.issparse(values):
        found = first_beyond(values.data, largest)
        if found is None:
            return None
        return int(np.searchsorted(values.indptr, found[0], side="right")) - 1, found[1]
    if values.size == 0 or values.dtype.kind != "f":
        return None
    step = max(1, SCANNED_AT_ONCE * len(values) // values.size)
    for first in range(0, len(values), step):
        part = values[first : first + step]
        # One entry that is too large makes the sum of squares too large; faster than max and min.
        if float(np.vdot(part, part)) < largest**2:
            continue
        largest = min(largest, float(np.finfo(values.dtype).max))
        if not (part.max() <= largest and part.min() >= -largest):  # also True for NaN
            wrong = ~(np.abs(part) <= largest)
            at = np.unravel_index(int(wrong.argmax()), wrong.shape)
            return first + int(at[0]), float(part[at])
    return None


def check_magnitudes(values, what, largest=LARGEST):
    """Raise ValueError for the first entry that is NaN or too large.

    what : str
        Subject and verb of the message, such as "X[3] contains".
    """
    wrong = first_beyond(values, largest)
    if wrong is not None:
        raise ValueError(f"{what} {describe_invalid(wrong[1], largest)}")


def describe_invalid(value, largest=LARGEST):
    """Return a description of an invalid feature value, with advice."""
    if not np.isfinite(value):
        return "NaN or infinity"
    return (
        f"{value:g}, expected at most {largest:g} in absolute value so that squares are finite; "
        "scale the features"
    )


def is_sized(value):
    """Return True if a value has a length and can be listed.

    Zero-dimensional arrays and sparse matrices define the method but do not support it. Some sparse
    formats do, but listing them runs compiled code on data that has not been validated.
    """
    if type(value) in (list, tuple):  # fast path, called for every sample
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


def is_ordered(values):
    """Return True for collections with an order and a length, such as lists and arrays.

    Strings, dicts, sets and sparse matrices are not.
    """
    is_other = isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable)
    return not is_other and is_sized(values)


def is_empty(item):
    """Return True if an item is a sample without nodes: it has neither rows nor columns.

    Items with columns, such as ``np.empty((0, 3))``, are validated like all other items.
    """
    if type(item) in (list, tuple):  # fast path, called for every sample
        return not item
    if isinstance(item, list | tuple):
        return is_sized(item) and len(item) == 0
    shape = getattr(item, "shape", None)
    return isinstance(shape, tuple) and shape in ((0,), (0, 0))


def listed(values, name, kind):
    """Return the items of an iterable as a list; `kind` is the expected type in errors."""
    values = without_view(values)
    if not isinstance(values, Iterable) or not (is_sized(values) or isinstance(values, Iterator)):
        raise TypeError(f"{name} must be {kind}, found {shortened(values)}")
    return list(values)


def type_name(value):
    """Return the name of the type of a value."""
    return type(value).__name__


def check_listed(values, name, kind, shown=shortened, rejected=(str, bytes, dict)):
    """Raise TypeError unless values have a length, such as lists.

    Parameters
    ----------
    values : object
    name, kind : str
        Name and expected items in the message.
    shown : callable
        Returns the description of invalid values.
    rejected : tuple of types
        Types with a length that are invalid.
    """
    if isinstance(values, rejected) or not is_sized(values):
        raise TypeError(f"{name} must be a list of {kind}, found {shown(values)}")


def whole_number(value, name):
    """Return the value as an integer."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, found {shortened(value)}") from None


def flag(value, name):
    """Return the value as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, found {shortened(value)}")
    return bool(value)


def check_not_sparse(value, name, expected):
    """Raise TypeError for sparse matrices, whose repr would run compiled code."""
    if sparse.issparse(value):
        raise TypeError(f"{name} is a {type(value).__name__}, expected {expected}")


def generator_of(random_state):
    """Return NumPy's generator for an integer, a generator or None."""
    expected = "an integer >= 0, a generator or None"
    # NumPy would accept arrays too, and recurse without limit into their rows.
    if not (random_state is None or isinstance(random_state, GENERATORS)):
        raise TypeError(f"random_state must be {expected}, found {shortened(random_state)}")
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise _not(expected, "random_state", error) from None
