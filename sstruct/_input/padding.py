"""Label arrays whose ends are padded with -1, which would be taken for a label."""

import numpy as np

PADDING = -1


def refuse_padding(estimator, y, labels, nodes):
    """Raise where y is an array padded with -1 and `ignore_label` is None.

    -1 is taken for padding where it only fills the ends of rows (of images: of rows and columns),
    after other labels, and neither are the labels -1 and 1 nor does `classes` name it. Lists of
    labels are no padded array, unless X is one array of samples of the same size.

    Parameters
    ----------
    estimator : LabelingSSVM
        With `ignore_label`; it is not changed.
    y : as given to ``fit``
    labels : ndarray of shape (n_nodes,)
        All labels.
    nodes : Nodes
    """
    if estimator.ignore_label is not None or estimator.classes is not None:
        return
    if nodes.form == "stacked":
        y = nodes.like_input(labels)
    if not isinstance(y, np.ndarray) or y.ndim not in (2, 3) or y.dtype.kind not in "if":
        return
    padded = y == PADDING
    if not padded.any() or not _only_at_ends(padded) or not (y[~padded] != 1).any():
        return
    i, *place = np.argwhere(padded & ~padded.all(axis=tuple(range(1, y.ndim)), keepdims=True))[0]
    raise ValueError(
        f"y[{i}] ends in {PADDING} from {_name(place)} on, and y has no other {PADDING} than at "
        f"ends: padding, it seems, which would be learned as a label. Set ignore_label={PADDING}; "
        f"if {PADDING} is a label, name it: classes={np.unique(y).tolist()}"
    )


def _only_at_ends(padded):
    """Whether, along each axis but the first, True is followed by True alone.

    And whether some sample has both: one that is all True tells nothing.
    """
    for axis in range(1, padded.ndim):
        falls = np.diff(padded.astype(np.int8), axis=axis) < 0
        if falls.any():
            return False
    of_sample = tuple(range(1, padded.ndim))
    return bool((padded.any(axis=of_sample) & ~padded.all(axis=of_sample)).any())


def _name(place):
    return f"node {place[0]}" if len(place) == 1 else f"pixel {tuple(map(int, place))}"
