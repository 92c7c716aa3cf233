"""Detection of padding and void labels of other libraries, which are not meant as classes."""

import numpy as np

from sstruct._checks.shown import plain, shortened
from sstruct._checks.warn import warn_user

PADDING = -1
TORCH_PADDING = -100  # ignore_index of PyTorch's losses; padding of labels in Hugging Face
VOID = 255  # in image masks
PADDING_NAMES = {"pad", "padding"}


def refuse_padding(structure, y, labels, nodes):
    """Raise an error if y is an array padded with -1 and `ignore_label` is None.

    The value -1 is considered padding if it occurs only at the ends of rows (of images: of rows and
    columns), after other labels, the labels are not just -1 and 1, and `classes` does not contain
    it. Lists of labels are not padded arrays, unless X is one array of samples of equal size.

    Parameters
    ----------
    structure : Structure
    y : as passed to ``fit``
    labels : ndarray of shape (n_nodes,)
        All labels.
    nodes : Nodes
    """
    if structure.ignore_label is not None or structure.classes is not None:
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
        f"y[{i}] ends in {PADDING} from {_name(place)} on, and {PADDING} occurs only at the ends "
        f"in y, like padding, which would be learned as a label. Set ignore_label={PADDING}; "
        f"if {PADDING} is a label, pass classes={np.unique(y).tolist()}"
    )


def _only_at_ends(padded):
    """Return True if, along each axis but the first, True is only followed by True.

    Some sample must contain both values, since samples that are all True are ambiguous.
    """
    for axis in range(1, padded.ndim):
        falls = np.diff(padded.astype(np.int8), axis=axis) < 0
        if falls.any():
            return False
    of_sample = tuple(range(1, padded.ndim))
    return bool((padded.any(axis=of_sample) & ~padded.all(axis=of_sample)).any())


def _name(place):
    return f"node {place[0]}" if len(place) == 1 else f"pixel {tuple(map(int, place))}"


def check_reserved(structure, classes, codes=None, place=None):
    """Raise an error or warn if a class is a value reserved for padding or void elsewhere.

    Raise an error if it is almost certainly not a class: -100 if all other labels are nonnegative,
    255 of a uint8 mask if the other labels are numbered from 0 or 1, "<PAD>" and "[PAD]". Warn for
    ambiguous values such as "pad". 255 may be a gray value: it is accepted if the other labels are
    only 0, or some exceed 126.

    Parameters
    ----------
    structure : Structure
    classes : ndarray of shape (K,)
        Labels that occur in training.
    codes : ndarray of int of shape (n_nodes,), optional
        Class index of each node.
    place : callable, optional
        Maps the position of a node to the name of its label in errors, "y[3] at node 5".
    """
    k, certain = _reserved(classes)
    if k is None:
        return
    name, found = structure.estimator_name, shortened(plain(classes[k]))
    where = "y contains" if place is None else f"{place(int((codes == k).argmax()))} is"
    text = f"{where} {found}, a value that other libraries use for padding or void"
    keep = f"if {found} is a class, pass classes={shortened(classes.tolist())}"
    if not hasattr(structure, "ignore_label"):
        text = f"{text} labels. {name} learns it as a class; remove such rows, or {keep}"
        warn_user(text)
    elif certain:
        raise ValueError(f"{text} labels. Set ignore_label={found}; {keep}")
    else:
        text = f"{text} labels. {name} learns it as a class. Set ignore_label={found}; {keep}"
        warn_user(text)


def _reserved(classes):
    """Return the index of the first reserved class, or None, and whether an error is certain."""
    if classes.dtype.kind in "UO":
        for k, label in enumerate(classes.tolist()):
            bare = label.strip("<>[](){}_|").lower() if isinstance(label, str) else ""
            if bare in PADDING_NAMES:
                return k, bare != label.lower()
    if classes.dtype.kind not in "iuf":
        return None, False
    others = classes[classes != TORCH_PADDING]
    if len(others) < len(classes):
        counted = len(others) > 0 and others.min() >= 0 and not (others == -TORCH_PADDING).any()
        return int((classes == TORCH_PADDING).argmax()), bool(counted)
    others = classes[classes != VOID]
    if 0 < len(others) < len(classes) and others.min() >= 0 and 0 < others.max() < VOID // 2:
        first = others.min()
        counted = first <= 1 and len(others) > 1 and others.max() - first == len(others) - 1
        return int((classes == VOID).argmax()), bool(counted and classes.dtype == np.uint8)
    return None, False
