"""Positions and axes of the tables of a model in its weight vector."""

# Design: a layout is a function of a few sizes. These functions are cached, because a prediction
# needs the same layout several times.

from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from sstruct._checks.arrays import LARGEST, real_array
from sstruct._problems.core._rows import padded_labels


@dataclass(frozen=True, slots=True)
class WeightBlock:
    """A table of weights in a weight vector.

    Attributes
    ----------
    axes : tuple of (str or None)
        Meaning of the entries along each axis, such as "label"; None if they have no names.
    shape : tuple of int
    strides : tuple of int
        Steps between entries along each axis, counted in entries of the vector.
    extent : int
        Number of entries of the vector that the table takes, including padding.
    first : tuple of int
        Index of the first entry of each axis among all entries with that name. Default: 0.
    """

    axes: tuple
    shape: tuple
    strides: tuple
    extent: int
    first: tuple = ()


class WeightLayout:
    """Tables of weights in one vector.

    Compiled code pads the rows of some tables, so the vector of a problem contains padding. The
    public vector, ``w_``, has the entries of all tables in the same order, row-major and without
    padding.

    Parameters
    ----------
    blocks : dict of str to (WeightBlock, tuple of int or None)
        The tables by name, in order. A shape instead of a WeightBlock means that the model does not
        have these weights, which are then zeros of this shape; for None, `table` returns None.

    Attributes
    ----------
    blocks : dict of str to WeightBlock
        The tables that exist.
    starts : dict of str to int
        Position of the first entry of each table in the vector; for a missing table, the position
        of the next table.
    size, public_size : int
        Length of the padded and of the public vector.
    """

    def __init__(self, blocks):
        self.blocks, self.starts, self.size = {}, {}, 0
        self._missing, self._places = {}, {}
        for name, block in blocks.items():
            self.starts[name] = self.size
            if isinstance(block, WeightBlock):
                self.blocks[name] = block
                strides = tuple(8 * step for step in block.strides)
                self._places[name] = block.shape, 8 * self.size, strides
                self.size += block.extent
            else:
                self._missing[name] = block
        self.public_size = sum(prod(block.shape) for block in self.blocks.values())

    def table(self, w, name):
        """Return a table as a view of a vector; zeros or None if it does not exist."""
        if name in self.blocks:
            return self.views(w)[name]
        shape = self._missing[name]
        return None if shape is None else np.zeros(shape)

    def views(self, w):
        """Return the existing tables as views of a vector, by name.

        Parameters
        ----------
        w : contiguous ndarray of shape (size,), dtype float64
        """
        if w.shape != (self.size,) or w.dtype != np.float64:
            found = f"shape {w.shape} and dtype {w.dtype}"
            raise ValueError(f"found weights of {found}, expected {(self.size,)} and float64")
        # NumPy checks that all entries lie within the vector.
        return {
            name: np.ndarray(shape, np.float64, w, offset, strides)
            for name, (shape, offset, strides) in self._places.items()
        }

    def public(self, w):
        """Convert a padded vector to the public vector."""
        return np.concatenate([table.ravel() for table in self.views(w).values()])

    def fill(self, w, public):
        """Set the entries of a padded vector, except padding, from a public vector."""
        if np.shape(public) != (self.public_size,):
            raise ValueError(f"w has shape {np.shape(public)}, expected {(self.public_size,)}")
        at = 0
        for table in self.views(w).values():
            table[...] = np.reshape(public[at : at + table.size], table.shape)
            at += table.size

    def padded(self, public):
        """Convert a public vector to the padded vector; the padding is zero."""
        w = np.zeros(self.size)
        self.fill(w, public)
        return w

    def padded_bounds(self, bounds):
        """Convert bounds of the public vector to the padded vector, with infinite padding.

        Raises
        ------
        ValueError
            If they do not have shape (2, public_size), or allow no weight with a magnitude of at
            most LARGEST.
        """
        bounds = real_array(bounds, "bounds")
        expected = (2, self.public_size)
        if bounds.shape != expected:
            raise ValueError(
                f"bounds has shape {bounds.shape}, expected {expected}, in the order of w_"
            )
        wrong = ~(bounds[0] <= bounds[1]) | (bounds[0] == np.inf) | (bounds[1] == -np.inf)
        if wrong.any():
            at = np.flatnonzero(wrong)[0]
            raise ValueError(
                f"bounds of weight {at} are {bounds[0, at]:g} and {bounds[1, at]:g}, "
                "expected lower <= upper with a finite value between them"
            )
        beyond = (bounds[0] > LARGEST) | (bounds[1] < -LARGEST)
        if beyond.any():
            at = np.flatnonzero(beyond)[0]
            raise ValueError(
                f"bounds of weight {at} are {bounds[0, at]:g} and {bounds[1, at]:g}, expected a "
                f"value of at most {LARGEST:g} between them; rescale the features"
            )
        out = self.unbounded()
        for padded, public in zip(out, bounds):
            self.fill(padded, public)
        return out

    def unbounded(self):
        """Return bounds of the padded vector that no weight can reach."""
        return np.full((2, self.size), [[-np.inf], [np.inf]])


def dense_block(axes, shape, first=()):
    """Return a WeightBlock in row-major order without padding."""
    strides = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return WeightBlock(axes, shape, strides, prod(shape), first)


def label_row(n_labels):
    """Return the WeightBlock with one weight per label."""
    return WeightBlock(("label",), (n_labels,), (1,), padded_labels(n_labels))


@lru_cache
def label_layout(n_labels, n_features, bias):
    """Return the WeightLayout with weights of features and intercepts for each label."""
    return WeightLayout(label_blocks(n_labels, n_features, bias))


def label_blocks(n_labels, n_features, bias, scored=False):
    """Return the tables coef (K, F) and intercept (K,) by name, padded to rows of labels.

    scored : whether there are scores of the labels, which share one weight, class_scores (1,)
    """
    K, F, width = n_labels, n_features, padded_labels(n_labels)
    scores = {"class_scores": WeightBlock((None,), (1,), (1,), width)} if scored else {}
    return {
        "coef": WeightBlock(("label", "feature"), (K, F), (1, width), F * width),
        **scores,
        "intercept": label_row(K) if bias else (K,),
    }


@lru_cache
def vector_layout(n_weights):
    """Return the WeightLayout of weights that are only known by their index."""
    return WeightLayout({"w": dense_block(("feature",), (n_weights,))})
