"""The weights of a model as attributes, and as a pandas data frame."""

from math import prod
from operator import methodcaller
from typing import Any

import numpy as np

from sstruct._checks.arrays import array_of
from sstruct._checks.types import ArrayAttribute
from sstruct._input.labels import as_labels, object_array, shortened


def named_weights(name, doc) -> ArrayAttribute:
    """Return a property for a table of weights, given its name in the layout.

    Parameters
    ----------
    name : str
    doc : str
        The docstring of the property.
    """

    return weights_by(methodcaller("table", name), doc)


def weights_by(function, doc) -> ArrayAttribute:
    """Return a property for weights that a function computes from the FittedModel."""

    def get(estimator: Any) -> np.ndarray:
        _, model = estimator._fitted()
        return function(model)

    return property(get, doc=doc)


def weight_frame(layout, w, values):
    """Return a data frame with a row for each weight, in the order of the public weight vector.

    Parameters
    ----------
    layout : WeightLayout
    w : ndarray of shape (n_weights,)
        The padded weight vector.
    values : dict
        For each axis of the layout, the values along it, for a column with the name of the axis, or
        a dict of columns. Columns are in this order, with "feature" last. Values are missing in the
        rows of tables without the axis.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "to_frame requires pandas, which is not installed: pip install pandas"
        ) from error
    blocks = layout.blocks.values()
    kinds = np.repeat(np.arange(len(blocks)), [prod(block.shape) for block in blocks])
    frame = {"kind": pd.Categorical.from_codes(kinds, list(layout.blocks))}
    axes = {
        axis: given if isinstance(given, dict) else {axis: given} for axis, given in values.items()
    }
    columns = dict.fromkeys(column for named in axes.values() for column in named)
    for column in sorted(columns, key="feature".__eq__):
        place = {}
        codes = [_codes(column, block, axes, place) for block in blocks]
        frame[column] = _named(pd, np.concatenate(codes), list(place))
    return pd.DataFrame({**frame, "weight": layout.public(w)})


def names_of_features(given, n_features):
    """Validate an array of feature names passed by the user, and return it."""
    names, shape = array_of(given, "feature_names", "an array of names"), (n_features,)
    if isinstance(given, str) or names.shape != shape:
        found = repr(given) if isinstance(given, str) else f"shape {names.shape}"
        raise ValueError(f"feature_names must have shape {shape}, found {found}")
    for i, name in enumerate(names.tolist()):
        try:
            hash(name)
        except TypeError:
            raise TypeError(f"feature_names[{i}] is {shortened(name)}, expected a string") from None
    return names


def _codes(column, block, axes, place):
    """Return codes of the values of a column for the entries of a table; -1 if missing.

    place : dict
        The code of each value; new values are added.
    """
    n_axes = len(block.shape)
    codes = np.full((1,) * n_axes, -1, dtype=np.int32)
    for k, (axis, n, first) in enumerate(
        zip(block.axes, block.shape, block.first or (0,) * n_axes)
    ):
        if column in axes.get(axis, ()):
            values = _plain(axes[axis][column][first : first + n])
            along = [place.setdefault(value, len(place)) for value in values]
            codes = np.reshape(np.array(along, dtype=np.int32), (-1,) + (1,) * (n_axes - k - 1))
    return np.broadcast_to(codes, block.shape).ravel()


def _plain(values):
    return values.tolist() if isinstance(values, np.ndarray) else values


def _named(pd, codes, values):
    """Return coded values as a categorical column, which needs few bytes per row."""
    if any(value is None or value is pd.NaT or value is pd.NA for value in values):
        # Labels that cannot be categories.
        return pd.Series(object_array([*values, None])[codes], dtype=object)
    labels = as_labels(values) if values else object_array([])
    if labels.dtype == np.longdouble and labels.dtype != np.float64:  # not supported by pandas
        labels = labels.astype(object)
    try:
        names = pd.Index(labels, tupleize_cols=False)
        return pd.Categorical.from_codes(codes, names)
    except ArithmeticError:  # pandas compares labels, and large integers overflow NumPy's types
        return pd.Series(object_array(values)[codes], dtype=object)
