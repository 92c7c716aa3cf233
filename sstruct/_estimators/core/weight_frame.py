"""All weights of a model as a pandas data frame."""

import numpy as np

from sstruct._checks.arrays import array_of
from sstruct._input.labels import as_labels, object_array, shortened
from sstruct._problems.core.node_arguments import join_views


def weight_frame(views, axes, columns):
    """Return a data frame with a row a weight, in the order of the public weight vector.

    Parameters
    ----------
    views : dict of ndarrays
        Parts of the weights by name.
    axes : dict of tuples of dicts
        For each part (others may be there too) what names the entries of its axes, one after
        another: columns of the frame and, for each, the values along the axis.
    columns : sequence of str
        Those beside kind, feature and weight; missing in the rows of parts that do not have them.

    Raises
    ------
    ImportError
        Without pandas.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "to_frame makes a pandas data frame, and pandas is not installed: pip install pandas"
        ) from error
    kinds = np.repeat(np.arange(len(views)), [part.size for part in views.values()])
    frame = {"kind": pd.Categorical.from_codes(kinds, list(views))}
    for column in (*columns, "feature"):
        place = {}
        codes = [_codes(column, part.shape, axes[name], place) for name, part in views.items()]
        frame[column] = _named(pd, np.concatenate(codes), list(place))
    return pd.DataFrame({**frame, "weight": join_views(views)})


def names_of_features(given, n_features):
    """Return names that users give as an array, one for each feature."""
    names, shape = array_of(given, "feature_names", "an array of names"), (n_features,)
    if isinstance(given, str) or names.shape != shape:
        found = repr(given) if isinstance(given, str) else f"shape {names.shape}"
        raise ValueError(f"feature_names must have shape {shape}, one each, found {found}")
    for i, name in enumerate(names.tolist()):
        try:
            hash(name)
        except TypeError:
            raise TypeError(f"feature_names[{i}] is {shortened(name)}, expected a string") from None
    return names


def _codes(column, shape, axes, place):
    """Return a column's values for a part's entries as numbers, -1: missing.

    place : dict
        The number of each value; new ones are added.
    """
    codes = np.full((1,) * len(shape), -1, dtype=np.int32)
    for axis, named in enumerate(axes):
        if column in named:
            along = [place.setdefault(value, len(place)) for value in _plain(named[column])]
            codes = np.reshape(
                np.array(along, dtype=np.int32), (-1,) + (1,) * (len(shape) - axis - 1)
            )
    return np.broadcast_to(codes, shape).ravel()


def _plain(values):
    return values.tolist() if isinstance(values, np.ndarray) else values


def _named(pd, codes, values):
    """Return numbered values as a column, which takes a few bytes a row."""
    if any(value is None or value is pd.NaT or value is pd.NA for value in values):
        # Labels that categories cannot hold.
        return pd.Series(object_array([*values, None])[codes], dtype=object)
    labels = as_labels(values) if values else object_array([])
    if labels.dtype == np.longdouble and labels.dtype != np.float64:  # of which pandas has none
        labels = labels.astype(object)
    try:
        names = pd.Index(labels, tupleize_cols=False)
        return pd.Categorical.from_codes(codes, names)
    except ArithmeticError:  # it compares them, and large integers are too large for NumPy's types
        return pd.Series(object_array(values)[codes], dtype=object)
