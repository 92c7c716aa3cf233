"""Hostile values, and functions that return damaged copies of valid values.

All draw from a ``random.Random``, so a value is a function of its seed.
"""

import copy
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy import sparse

from sstruct import Sequences
from sstruct._checks.compressed import check_compressed


class MischiefError(Exception):
    """Raised by hostile objects; sstruct may let it pass like any exception of a user."""


class _Hostile:
    def _raise(self, *_, **__):
        raise MischiefError("raised by a hostile object")


class _NoArray(_Hostile):
    __array__ = _Hostile._raise


class _NoHash(_Hostile):
    __hash__ = _Hostile._raise


class _NoOrder(_Hostile):
    __lt__ = __gt__ = _Hostile._raise
    __hash__ = object.__hash__


class _NoEquality(_Hostile):
    __eq__ = _Hostile._raise

    def __hash__(self):
        return 0


class _NoRepr(_Hostile):
    __repr__ = __str__ = _Hostile._raise


class _WrongLength(list):
    """A list that says it is longer, or shorter, than it is."""

    def __len__(self):
        return 3


def _true_length(items):
    return list.__len__(items) if isinstance(items, list) else len(items)


def _self_containing():
    items = [1.0]
    items.append(items)
    return items


NUMBERS = [
    0, 1, -1, 2, 3, 7, 0.5, -0.0, 1e-3, math.nan, math.inf, -math.inf, 1e150, -1e150, 1e300, 1e308,
    -1.7e308, 1e-150, 1e-308, 5e-324, 2**27, 2**31 - 1, 2**31, -(2**31) - 1, 2**32, 2**63 - 1,
    2**63,
    -(2**63), 2**64, 10**400, True, False, 1j, Fraction(1, 3), Decimal("0.1"), Decimal("NaN"),
    np.float32(1.5), np.float16(2), np.longdouble("1e4000"), np.int8(-1), np.uint64(2**64 - 1),
    np.bool_(True), np.array(1.0), np.array([1.0]), np.datetime64("NaT", "s"), np.ma.masked,
    pd.NA, None, "", "1", "a", "auto", "\0", b"1",
]  # fmt: skip
# Replacements of a whole argument, created when needed, since some can be used only once.
OBJECTS = [
    lambda: None, lambda: object(), lambda: (), lambda: [], lambda: {}, lambda: set(), lambda: [[]],
    lambda: [[], []], lambda: [None], lambda: [[1, 2], [3]], lambda: {"a": 1}, lambda: {0: 1.0,
    1: -1},
    lambda: {"0": math.nan}, lambda: "abc", lambda: b"abc", lambda: bytearray(b"abc"),
    lambda: memoryview(b"abcd"), lambda: range(3), lambda: iter([1, 2]),
    lambda: (i for i in range(3)),
    lambda: slice(None), lambda: len, lambda: lambda *_: True, lambda: lambda *_: "no", lambda: int,
    lambda: NotImplemented, lambda: ..., _self_containing, lambda: _WrongLength([1]),
    _NoArray, _NoHash, _NoOrder, _NoEquality, _NoRepr, lambda: [_NoHash(), _NoArray()],
    lambda: np.empty((0, 2)), lambda: np.empty((2, 0)), lambda: np.zeros((1,) * 5),
    lambda: np.zeros((3, 3)), lambda: np.array([[1.0, 2.0]]), lambda: np.array(["a", None],
    dtype=object),
    lambda: np.zeros(2, dtype=[("a", "f8")]), lambda: np.zeros((2, 2), dtype="V8"),
    lambda: np.ma.masked_array([1.0, 2.0], [True, False]), lambda: np.broadcast_to(1.0, (2**9,
    2**9)),
    lambda: np.random.default_rng(0), lambda: np.random.RandomState(0),
    lambda: pd.DataFrame({"a": [1.0, 2.0]}), lambda: pd.Series(["a", None]),
    lambda: pd.DataFrame({"a": [1.0], "b": ["x"]}), lambda: sparse.csr_matrix((2, 3)),
    lambda: sparse.eye_array(3).tocoo(), lambda: sparse.csr_array((0, 0)),
    lambda: Sequences([[1.0], [2.0]], [0, 1, 2]), lambda: Sequences(["a", "b"], [0, 2]),
]  # fmt: skip
DTYPES = (
    "f2", "f4", ">f8", "g", "i1", "u1", "i4", "u8", "?", "c16", "O", "U3", "S3", "M8[s]", "m8[s]",
    "V8",
)  # fmt: skip
FACTORS = (0.0, -1.0, 1e-320, 1e-200, 1e-8, 1e8, 1e100, 1e155, 1e200, 1e308, math.inf, math.nan)
FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
STORED = tuple(f"{name}_{kind}" for name in FORMATS for kind in ("matrix", "array"))
INDICES = (-1, -(2**31), 2, 3, 7, 1000, 2**27, 2**30, 2**31 - 1)


def damaged(random, value):
    """Return a copy of a value that is damaged in one place, or a value of another kind."""
    if random.random() < 0.08:
        return random.choice(OBJECTS)()
    if sparse.issparse(value):
        return _pick(random, value, SPARSE)
    if isinstance(value, np.ndarray):
        return _pick(random, value, ARRAYS)
    if isinstance(value, dict):
        return _damaged_dict(random, value)
    if isinstance(value, list | tuple | Sequences):
        if _true_length(value) and random.random() < 0.6:
            i = random.randrange(_true_length(value))
            return _with(value, i, damaged(random, value[i]))
        return _pick(random, value, LISTS)
    return random.choice(NUMBERS) if random.random() < 0.8 else random.choice(OBJECTS)()


def _pick(random, value, kinds):
    """Apply one kind of damage; if that fails, return a number instead."""
    try:
        with np.errstate(all="ignore"):
            return random.choice(kinds)(random, value)
    except Exception:  # any error of NumPy, SciPy or pandas
        return random.choice(NUMBERS)


def _with(items, i, item):
    """Return items of a list or tuple with another one at i."""
    items = list(items)
    items[i] = item
    return tuple(items) if isinstance(items, tuple) else items


def _damaged_dict(random, value):
    out, keys = dict(value), list(value)
    if not keys or random.random() < 0.1:
        out[random.choice(["x", 0, -1, None, ("a",)])] = random.choice(NUMBERS)
        return out
    key = random.choice(keys)
    if random.random() < 0.2:
        del out[key]
    else:
        out[key] = damaged(random, value[key])
    return out


# Arrays -------------------------------------------------------------------------------------------


def _entry(random, array):
    """Replace some entries by a number; the array has dtype object if necessary."""
    number = random.choice(NUMBERS)
    out = array.copy()
    try:
        out[tuple(random.randrange(n) for n in array.shape)] = number
    except (TypeError, ValueError, OverflowError):
        out = np.array(array, dtype=object)
        out[tuple(random.randrange(n) for n in array.shape)] = number
    return out


def _scaled(random, array):
    return array * random.choice(FACTORS)


def _one_scaled(random, array):
    """Multiply one row by one of FACTORS."""
    out = np.array(array, dtype=float)  # astype of a 3-D matrix writes out of bounds
    out[random.randrange(len(out))] *= random.choice(FACTORS)
    return out


def _shape(random, array):
    half = max(1, len(array) // 2)
    return random.choice((
        lambda: array.ravel(), lambda: array[None], lambda: array[..., None], lambda: array.T,
        lambda: array[:-1], lambda: array[1:], lambda: array[:0], lambda: array[..., :-1],
        lambda: array[..., :0], lambda: np.concatenate([array, array]), lambda: array[:half],
        lambda: array.reshape(-1)[0], lambda: array[::-1], lambda: np.repeat(array, 2, axis=-1),
        lambda: array.reshape(array.shape[0], -1),
    ))()  # fmt: skip


def _read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def _storage(random, array):
    """Return the same values in another storage or container."""
    return random.choice((
        lambda: np.asfortranarray(array), lambda: np.repeat(array, 2, axis=0)[::2],
        lambda: array[::-1].copy()[::-1], lambda: _read_only(array), lambda: np.ma.asarray(array),
        lambda: np.asmatrix(array), lambda: memoryview(np.ascontiguousarray(array)),
        lambda: array.tolist(), lambda: tuple(array), lambda: pd.DataFrame(array),
        lambda: pd.Series(list(array)), lambda: iter(array), lambda: list(array),
        lambda: array.view(type("Subclass", (np.ndarray,), {})),
        lambda: np.array(array, dtype=object),
        lambda: np.frombuffer(b"\0" + array.tobytes(), dtype=np.uint8)[1:].view(array.dtype)
        .reshape(array.shape),
        lambda: getattr(sparse, random.choice(STORED))(array),
        lambda: damaged(random, sparse.csr_matrix(array)),
    ))()  # fmt: skip


def _dtype(random, array):
    array, dtype = np.asarray(array), random.choice(DTYPES)
    if array.dtype.kind == "S" and dtype == "M8[s]":
        # For more than 500 of them, NumPy 2.4 raises without holding the GIL, which crashes.
        return array.astype("U").astype(dtype)
    return array.astype(dtype)


ARRAYS = (_entry, _entry, _entry, _scaled, _one_scaled, _shape, _shape, _storage, _storage, _dtype)

# Sparse matrices ----------------------------------------------------------------------------------


def _part(random, matrix):
    """Change an entry of one of the arrays of a matrix behind SciPy's back."""
    out = matrix.copy()
    name = random.choice(
        [n for n in ("data", "indices", "indptr", "row", "col") if hasattr(out, n)]
    )
    array = getattr(out, name)
    array[random.randrange(len(array))] = random.choice(
        [n for n in NUMBERS if isinstance(n, float)] if name == "data" else INDICES
    )
    return out


def _replaced_part(random, matrix):
    """Replace one of the arrays of a matrix."""
    out = matrix.copy()
    name = random.choice([n for n in ("data", "indices", "indptr", "_shape") if hasattr(out, n)])
    old = getattr(out, name)
    new = random.choice((
        lambda: old[:-1], lambda: old[:0], lambda: np.concatenate([old, old]),
        lambda: old.astype("i8"),
        lambda: old.astype("f4"), lambda: old.astype("u1"), lambda: old[None], lambda: old[::-1],
        lambda: None, lambda: np.asarray(old).astype(object), lambda: tuple(2 * k for k in old),
    ))()  # fmt: skip
    setattr(out, name, new)
    return out


def _claimed(random, matrix):
    """Reverse the indices or repeat the first one, but set the flags of sorted indices."""
    out = matrix.copy()
    if random.random() < 0.5:
        out.indices[:] = out.indices[::-1]
    else:
        out.indices[:] = out.indices[0]
    out.has_sorted_indices = True
    if random.random() < 0.8:
        out.has_canonical_format = True
    return out


# These call SciPy, which reads and writes out of bounds for damaged matrices, so they are applied
# only to matrices that are not damaged yet.


def _other_format(random, matrix):
    check_compressed(matrix, "a matrix")
    return matrix.asformat(random.choice(FORMATS))


def _scaled_matrix(random, matrix):
    check_compressed(matrix, "a matrix")
    return matrix * random.choice(FACTORS)


def _cut(random, matrix):
    check_compressed(matrix, "a matrix")
    return random.choice((lambda: matrix[:-1], lambda: matrix[:, :-1], lambda: matrix[:0],
                          lambda: matrix.T, lambda: matrix.toarray()))()  # fmt: skip


def _matrix_dtype(random, matrix):
    check_compressed(matrix, "a matrix")
    return matrix.astype(random.choice(DTYPES))


SPARSE = (
    _part, _part, _part, _replaced_part, _claimed, _other_format, _scaled_matrix, _cut,
    _matrix_dtype,
)  # fmt: skip

# Lists --------------------------------------------------------------------------------------------


def _items(random, items):
    """Drop, repeat, swap or add items."""
    items = list(items)
    at = random.randrange(len(items) + 1)
    return random.choice((
        lambda: items[:at] + items[at + 1 :], lambda: items[:at] + items[at - 1 :],
        lambda: items[::-1], lambda: [], lambda: items[:1], lambda: [*items,
        random.choice(NUMBERS)],
        lambda: [*items[:at], random.choice(OBJECTS)(), *items[at + 1 :]], lambda: [items],
        lambda: [[item] for item in items], lambda: [*items, items],
    ))()  # fmt: skip


def _container(random, items):
    def objects():
        out = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            out[i] = item
        return out

    return random.choice((
        lambda: tuple(items), lambda: objects(), lambda: iter(items),
        lambda: (item for item in items),
        lambda: dict(enumerate(items)), lambda: pd.Series(objects()), lambda: np.array(items),
        lambda: np.concatenate(items), lambda: Sequences.from_list(items),
        lambda: _WrongLength(items),
        lambda: [np.asarray(item).tolist() for item in items], lambda: copy.deepcopy(items),
        lambda: [sparse.csr_matrix(item) for item in items], lambda: {item for item in items},
        lambda: [pd.DataFrame(item) for item in items],
        lambda: [item * random.choice(FACTORS) for item in items],
    ))()  # fmt: skip


LISTS = (_items, _container, _container)
