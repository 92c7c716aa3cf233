"""Labels of any hashable type: joined, ordered, turned into integers."""

import numbers
from collections.abc import Hashable, Iterable
from itertools import chain, islice

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from sstruct._checks.arrays import without_view
from sstruct._checks.shown import shortened

NUMERIC = (float, np.floating)
EQUAL_TO_THEMSELVES = {str, bytes, int, bool, type(None), np.str_, np.bool_}
# More have no weights that fit into memory.
MOST_CLASSES = 10**7


def object_array(items):
    """Return a 1-D array of objects, whatever their lengths."""
    items = list(without_view(items))
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out


def is_hashable(value):
    """Whether a value can be a label: arrays and sparse matrices cannot, nor what holds them."""
    try:
        hash(value)
    except (TypeError, ValueError):  # the latter of memoryviews
        return False
    return True


def check_label(value, name):
    """Raise unless a value, of which `name` is what an error calls it, can be a label."""
    if not is_hashable(value):
        raise TypeError(
            f"{name} is {shortened(value)}, which is not hashable and cannot be a label"
        )
    if is_missing(value):
        raise ValueError(f"{name} is {shortened(value)}, which is no label")


def is_missing(label):
    """Whether a label is not equal to itself: NaN, pandas' NA, or what cannot even be compared."""
    if type(label) in EQUAL_TO_THEMSELVES:
        return False
    try:
        # Tables and sparse matrices compare their entries, the latter by compiled code, which goes
        # where a damaged one leads.
        if hasattr(label, "shape") and not isinstance(label, np.ndarray | Hashable):
            return True
        same = label == label
        return same is label or not bool(same)  # NA answers with itself
    except Exception:
        return True


def is_one_label(item):
    """Whether an item for a row is a label, or a list or array of a single one."""
    if isinstance(item, np.ndarray):
        return item.size == 1
    return not isinstance(item, list | tuple) or len(item) == 1


def join_labels(items):
    """Return the labels of all items as one array: of their kind if they share one."""
    items = [without_view(item) for item in items]
    if all(isinstance(item, np.ndarray) and item.ndim == 1 for item in items):
        kinds = {item.dtype.kind for item in items}
        if len(kinds) == 1 and kinds <= set("iubUSf"):
            return as_labels(np.concatenate(list(items)))
    return as_labels(list(chain.from_iterable(items)))


def as_labels(labels):
    """Return a 1-D array: numbers, strings, or, for any other hashable mix, objects."""
    if isinstance(labels, np.ndarray) and labels.ndim != 1:
        raise ValueError(f"labels must be 1-D for each sample, found shape {labels.shape}")
    if isinstance(labels, np.ma.MaskedArray):
        if np.ma.getmaskarray(labels).any():
            raise ValueError(
                "y is a masked array: give masked nodes a label of their own, labels.filled(-1), "
                "and ignore_label=-1"
            )
        labels = labels.data
    if isinstance(labels, np.ndarray):
        labels = np.asarray(labels)  # a subclass would go into classes_
    if isinstance(labels, np.ndarray) and labels.dtype != object:
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
        elif labels.dtype.kind not in "iubUS":
            raise TypeError(f"y has dtype {labels.dtype}, expected labels")
        return labels
    types = set(map(type, labels))
    # NumPy's strings lose NULs at the end, and with them what tells two labels apart.
    if types and all(issubclass(t, str) for t in types) and "\0" not in "".join(labels):
        return np.array([*labels], dtype=np.str_)
    if types and all(issubclass(t, numbers.Real | np.bool_) for t in types):
        array = np.array([*labels])
        if array.dtype != object:  # it is where an integer is too large, and for fractions
            return as_labels(array)
    if not all(t in EQUAL_TO_THEMSELVES for t in types):
        for label in labels:
            if type(label) in EQUAL_TO_THEMSELVES:
                continue
            if not is_hashable(label):  # even comparing a sparse matrix would read it
                raise _unhashable([label])
            if is_missing(label):
                name = "NaN" if isinstance(label, NUMERIC) else shortened(label)
                raise ValueError(f"y contains {name}, which is no label")
    return object_array(labels)


def ordered(labels):
    """Distinct hashable labels as a list: sorted where they can be, else by first appearance."""
    labels = list(labels)
    try:
        distinct = list(dict.fromkeys(labels))
    except (TypeError, ValueError):  # the latter of memoryviews
        raise _unhashable(labels) from None
    try:
        return sorted(distinct)
    except Exception:  # whatever the comparison of two strange labels raises
        return distinct


def find_classes(labels):
    """Return the distinct labels as a 1-D array in a fixed order."""
    if labels.dtype != object:
        return np.unique(labels)
    try:
        return as_labels(ordered(labels))
    except TypeError:
        raise _unhashable(labels) from None


def training_classes(classes, labels, used, sample_of):
    """Return all labels in order: those that a `classes` parameter gives, or those that occur.

    `used` tells which labels train; `sample_of` turns the position of a label into its sample's.
    """
    if classes is None:
        return find_classes(labels[used])
    strange = isinstance(classes, str) or getattr(classes, "ndim", 1) == 0
    strange = strange or sparse.issparse(classes)  # to list whose rows would run compiled code
    if strange or not isinstance(classes, Iterable):
        raise TypeError(f"classes must be a list of labels or None, found {shortened(classes)}")
    classes = list(islice(without_view(classes), MOST_CLASSES + 1))  # iterators may have no end
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"classes has more than {MOST_CLASSES} labels")
    classes = as_labels(classes)
    if len(classes) == 0 or len(find_classes(classes)) < len(classes):
        raise ValueError("classes must name at least one label, and none twice")
    unknown = np.flatnonzero(used & (encode(labels, classes) < 0))
    if len(unknown):
        at = unknown[0]
        raise ValueError(
            f"y[{sample_of(at)}] contains {shortened(labels[at])}, which is not in classes"
        )
    return classes


def _unhashable(labels):
    """The error that names the first label which cannot be one."""
    for label in labels:
        if not is_hashable(label):
            hint = "; SequenceVectorizer reads dicts" if isinstance(label, dict) else ""
            return TypeError(f"{shortened(label)} is not hashable and cannot be a label{hint}")
    return TypeError("labels cannot be compared with each other")


def encode(labels, classes):
    """Return the index of each label in `classes`, -1 where it is not there."""
    if _comparable(labels.dtype, classes.dtype):
        order = np.argsort(classes)
        at = np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)
        found = order[at].astype(np.int32)
        found[classes[found] != labels] = -1
        return found
    try:
        index = {label: k for k, label in enumerate(classes.tolist())}
        return np.array([index.get(label, -1) for label in labels.tolist()], dtype=np.int32)
    except (TypeError, ValueError):
        raise _unhashable([*classes.tolist(), *labels.tolist()]) from None


def _comparable(a, b):
    """Whether NumPy compares two types exactly: not through floats that hold no large integer."""
    if a.kind in "biu" and b.kind in "biu":
        return np.result_type(a, b).kind != "f"
    return a.kind == b.kind != "O"


def is_label(labels, wanted):
    """Boolean array: where a label equals `wanted`, an ``ignore_label`` (None: nowhere)."""
    if wanted is None:
        return np.zeros(len(labels), dtype=bool)
    check_label(wanted, "ignore_label")
    return encode(labels, as_labels([wanted])) == 0
