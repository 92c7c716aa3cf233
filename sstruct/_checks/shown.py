"""Short representations of arbitrary values in error messages."""

from contextlib import contextmanager
from reprlib import Repr

import numpy as np


class _Shown(Repr):
    """A short repr that does not format the entries of data frames and sparse matrices.

    Objects with a shape, except NumPy arrays, are described by their type and shape: a pandas data
    frame would call the repr of its items, and the repr of a sparse matrix runs compiled code on
    indices that have not been validated. The repr of other objects is truncated; NumPy shortens
    that of arrays of numbers and strings. If a repr raises an exception, reprlib replaces it.
    """

    def repr1(self, x, level):
        return super().repr1(plain(x), level)

    def repr_instance(self, x, level):
        try:
            shape = (
                None if isinstance(x, np.ndarray | np.generic | type) else getattr(x, "shape", None)
            )
            if shape is not None:
                return f"{type(x).__name__} of shape {self.repr1(shape, level - 1)}"
        except Exception:  # user classes may raise anything
            return f"a {type(x).__name__}"
        return super().repr_instance(x, level)

    def repr_ndarray(self, x, level):
        if x.dtype != object:
            return self.repr_instance(x, level)
        items = self.repr1(x.flat[: self.maxlist].tolist(), level - 1)
        return f"array of objects of shape {x.shape}, {items}{', ...' * (x.size > self.maxlist)}"


SHORT = _Shown()
SHORT.maxstring = SHORT.maxother = MOST = 200


def brief(error):
    """Return the message of an error, shortened if it repeats a long value."""
    text = str(error)
    return text if len(text) <= MOST else f"{text[:MOST]}..."


def error_kind(error):
    """Return TypeError for a TypeError, and ValueError for others.

    The constructors of their subclasses may require other arguments than a message.
    """
    return TypeError if isinstance(error, TypeError) else ValueError


@contextmanager
def errors_of(name):
    """Context manager that adds a name to the messages of TypeErrors and ValueErrors."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise error_kind(error)(f"{name}: {error}") from error


def plain(label):
    """Return a label as a Python object, since the repr of NumPy's scalars is longer."""
    return label.item() if isinstance(label, np.generic) else label


def shortened(value):
    """Return a shortened repr for errors; the full repr of nested lists may exceed the memory."""
    return SHORT.repr(value)
