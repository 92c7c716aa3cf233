"""Values in the messages of errors: short, and whatever they are."""

from reprlib import Repr

import numpy as np

__all__ = ["brief", "plain", "shortened"]


class _Shown(Repr):
    """A repr that does not fail, and looks into nothing that computes to show itself.

    A table of pandas has its items show themselves in full, and a sparse matrix among them runs
    compiled code to do so, which follows what the matrix stores wherever that leads.
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
        except Exception:  # what it has of its own raises what it likes
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
    """Return what an error says, not all of it where it repeats a long value."""
    text = str(error)
    return text if len(text) <= MOST else f"{text[:MOST]}..."


def plain(label):
    """Return a label as Python would print it: NumPy's scalars have wordy ones of their own."""
    return label.item() if isinstance(label, np.generic) else label


def shortened(value):
    """Return the repr of anything for an error: nested lists may be longer than memory in full."""
    return SHORT.repr(value)
