"""Compact storage of fitted attributes in pickles and files.

Names are one byte array instead of many strings: skops writes about 300 bytes of JSON for each
string of an object array, and pickle is several times slower. Weights that are mostly zero are
stored as their nonzeros.
"""

import weakref
from functools import partial

import numpy as np

KEY = "_packed_names"  # key of the packed names in a state
SPARSE = "_sparse_weights"  # key of the nonzeros of weights
SEPARATOR = b"\xff"  # does not occur in UTF-8
# Weights are stored as nonzeros if there are at least MIN_WEIGHTS of them, and from 2 to 64 for
# each nonzero. The upper limit bounds the memory that a damaged file can request.
MIN_WEIGHTS = 4096
PER_NONZERO = 2, 64

# By id: weak references to an array and to its converted array. Attributes that are the same array,
# such as the columns of a vectorizer and the features of the model in the same pipeline, remain the
# same array in a file and after loading.
_converted = {}


def pack_state(state):
    """Return a copy of a dict of attributes in which names and sparse weights are packed."""
    packed = {name: _convert(value, _packed) for name, value in state.items() if _is_names(value)}
    state = {name: value for name, value in state.items() if name not in packed}
    w = state.get("_w")
    if type(w) is np.ndarray and w.dtype == np.float64 and w.ndim == 1 and len(w) >= MIN_WEIGHTS:
        places = np.flatnonzero(w.view(np.int64))  # also those of -0.0
        if PER_NONZERO[0] * len(places) <= len(w) <= PER_NONZERO[1] * len(places):
            del state["_w"]
            kind = np.int32 if len(w) <= np.iinfo(np.int32).max else np.int64
            state[SPARSE] = {"size": len(w), "places": places.astype(kind), "values": w[places]}
    return state | {KEY: packed} if packed else state


def unpack_state(state):
    """Return a copy of a dict of attributes from `pack_state` in its original form.

    Raises
    ------
    ValueError
        If packed attributes are damaged.
    """
    if isinstance(state, dict) and SPARSE in state:
        if "_w" in state:
            raise ValueError(f"_w occurs twice, also in {SPARSE}; the file is damaged")
        state = {name: value for name, value in state.items() if name != SPARSE} | {
            "_w": _dense(state[SPARSE])
        }
    if not isinstance(state, dict) or KEY not in state:
        return state
    packed = state[KEY]
    if not isinstance(packed, dict) or not all(map(_is_packed, packed.values())):
        raise ValueError(f"{KEY} must be a dict of uint8 arrays; the file is damaged")
    state = {name: value for name, value in state.items() if name != KEY}
    for name, value in packed.items():
        if name in state:
            raise ValueError(f"{name} occurs twice, also in {KEY}; the file is damaged")
        try:
            state[name] = _convert(value, _unpacked)
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{KEY}[{name!r}] is not UTF-8: {error}; the file is damaged"
            ) from None
    return state


def _dense(sparse):
    """Return weights from their nonzeros, which are validated."""
    keys = "size", "places", "values"
    if not isinstance(sparse, dict) or set(sparse) != set(keys):
        raise ValueError(f"{SPARSE} must be a dict with {', '.join(keys)}; the file is damaged")
    size, places, values = (sparse[key] for key in keys)
    arrays = all(isinstance(each, np.ndarray) and each.ndim == 1 for each in (places, values))
    if not arrays or places.dtype.kind != "i" or values.dtype != np.float64:
        raise ValueError(f"{SPARSE} must have integers and float64; the file is damaged")
    sizes_agree = type(size) is int and len(places) == len(values)
    if not sizes_agree or not len(places) <= size <= PER_NONZERO[1] * len(places):
        raise ValueError(f"the sizes in {SPARSE} do not agree; the file is damaged")
    if len(places) == 0 or not 0 <= places.min() <= places.max() < size:
        raise ValueError(f"{SPARSE} has places outside of the weights; the file is damaged")
    w = np.zeros(size)
    w[places] = values
    return w


def _is_names(value):
    named = type(value) is np.ndarray and value.dtype == object and value.ndim == 1
    return named and set(map(type, value.tolist())) == {str}


def _is_packed(value):
    kinds = np.ndarray, np.memmap
    return type(value) in kinds and value.dtype == np.uint8 and value.ndim == 1


def _packed(names):
    text = "\0".join(names)
    if text.count("\0") < len(names):
        encoded = text.encode("utf-8", "surrogatepass").replace(b"\0", SEPARATOR)
    else:
        encoded = SEPARATOR.join([name.encode("utf-8", "surrogatepass") for name in names])
    return np.frombuffer(encoded, dtype=np.uint8)


def _unpacked(array):
    encoded = bytes(array)
    if b"\0" not in encoded:
        names = encoded.replace(SEPARATOR, b"\0").decode("utf-8", "surrogatepass").split("\0")
    else:
        names = [each.decode("utf-8", "surrogatepass") for each in encoded.split(SEPARATOR)]
    return np.fromiter(names, dtype=object, count=len(names))


def _convert(array, conversion):
    """Return `conversion(array)`; cached while both arrays are in use."""
    source, found = _converted.get(id(array), (None, None))
    result = found() if source is not None and source() is array else None
    if result is None:
        result, key = conversion(array), id(array)
        _converted[key] = (
            weakref.ref(array, partial(_converted.pop, key)),
            weakref.ref(result),
        )
    return result
