"""Compact storage of names in pickles and files: one byte array instead of many strings.

skops writes about 300 bytes of JSON for each string of an object array, and pickle is several times
slower.
"""

import weakref

import numpy as np

KEY = "_packed_names"  # key of the packed attributes in a state
SEPARATOR = b"\xff"  # does not occur in UTF-8

# By id: weak references to an array and to its converted array. Attributes that are the same array,
# such as the columns of a vectorizer and the features of the model in the same pipeline, remain the
# same array in a file and after loading.
_converted = {}


def pack_names(state):
    """Return a copy of a dict of attributes in which arrays of strings are packed."""
    packed = {name: _convert(value, _packed) for name, value in state.items() if _is_names(value)}
    state = {name: value for name, value in state.items() if name not in packed}
    return state | {KEY: packed} if packed else state


def unpack_names(state):
    """Return a copy of a dict of attributes from `pack_names` with arrays of strings restored.

    Raises
    ------
    ValueError
        If the packed names are damaged.
    """
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
            weakref.ref(array, lambda _: _converted.pop(key, None)),
            weakref.ref(result),
        )
    return result
