"""Concatenation, order and encoding of labels of any hashable type.

Labels that other libraries use for padding or void nodes are detected.
"""

import numbers
from collections import deque
from collections.abc import Hashable, Iterable
from itertools import chain, islice

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from sstruct._checks.arrays import (
    array_of,
    first_true,
    is_ordered,
    is_tensor,
    items_of,
    without_view,
)
from sstruct._checks.shown import plain, shortened
from sstruct._checks.warn import warn_user

NUMERIC = (float, np.floating)
EQUAL_TO_THEMSELVES = {str, bytes, int, bool, np.str_, np.bool_}
IGNORE = (
    "ignore_label=None requires all labels to be known: set ignore_label to a value that is not a "
    "class, such as ignore_label=-1, to ignore nodes with unknown labels"
)
# Weights for more classes would not fit into memory.
MAX_CLASSES = 10**7
PADDING = -1
TORCH_PADDING = -100  # ignore_index of PyTorch's losses; padding of labels in Hugging Face
VOID = 255  # in image masks
PADDING_NAMES = {"pad", "padding", "nan"}  # the last is a missing label, converted to a string


def object_array(items):
    """Return a 1-D array of objects, regardless of their lengths."""
    items = list(without_view(items))
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out


def is_hashable(value):
    """Return True if a value can be a label: it must be hashable and not a tensor.

    The hash of a tensor does not depend on its values.
    """
    if is_tensor(value):
        return False
    try:
        hash(value)
    except (TypeError, ValueError):  # memoryviews raise the latter
        return False
    return True


def check_label(value, name):
    """Raise an error unless a value can be a label; `name` is used in errors."""
    if not is_hashable(value):
        raise TypeError(
            f"{name} is {shortened(value)}, which is not hashable and cannot be a label"
        )
    if is_missing(value):
        raise ValueError(f"{name} is {shortened(value)}, which is not a valid label")


def is_missing(label):
    """Return True if a label is None, masked, or not equal to itself, like NaN, NA and NaT."""
    if type(label) in EQUAL_TO_THEMSELVES:
        return False
    if label is None or label is np.ma.masked:
        return True
    try:
        # Data frames and sparse matrices compare their entries, the latter in compiled code on
        # indices that have not been validated.
        if hasattr(label, "shape") and not isinstance(label, np.ndarray | Hashable):
            return True
        same = label == label
        return same is label or not bool(same)  # comparing pandas' NA returns NA
    except Exception:
        return True


def is_one_label(item):
    """Return True if the item of a row is a label, or a list or array of a single label."""
    if isinstance(item, np.ndarray):
        return item.size == 1
    return not isinstance(item, list | tuple) or len(item) == 1


def masked_as_none(items):
    """Return a masked array as lists with None for masked entries, or its data if it has none.

    Other objects are returned unchanged.
    """
    if not isinstance(items, np.ma.MaskedArray):
        return items
    return items.tolist() if np.ma.is_masked(items) else items.data


def label_list(labels, name):
    """Return the labels of one sequence, or of an image or another array, as a list."""
    labels = masked_as_none(items_of(labels))
    if not is_ordered(labels):
        found = f"{type(labels).__name__} {shortened(labels)}"
        raise TypeError(f"{name} must be a sequence of labels, found {found}")
    if isinstance(labels, np.ndarray | memoryview):
        return array_of(labels, name).ravel().tolist()
    return list(labels)


def concatenate_labels(items):
    """Concatenate the labels of all items: an array if they have a common type, else a list."""
    items, kinds = list(items), set()
    for i, item in enumerate(items):
        if type(item) is not np.ndarray:
            items[i] = item = masked_as_none(without_view(item))
        kinds.add(item.dtype.kind if isinstance(item, np.ndarray) and item.ndim == 1 else "")
    if len(kinds) == 1 and kinds <= set("iubUSf"):
        return np.concatenate(items)
    return list(chain.from_iterable(items))


def label_array(labels, place=None):
    """Return labels as a 1-D array of numbers, strings or, for other hashable types, objects.

    Missing labels (None, NaN, pandas' NA, masked entries) are kept.

    Parameters
    ----------
    labels : ndarray or list
    place : callable, optional
        Maps the position of a label to the start of an error message, "y[2] at node 5".
    """
    labels = masked_as_none(labels)
    if isinstance(labels, np.ndarray):
        if labels.ndim != 1:
            raise ValueError(f"labels must be 1-D for each sample, found shape {labels.shape}")
        labels = np.asarray(labels)  # classes_ should not be a subclass
        if labels.dtype != object:
            if labels.dtype.kind not in "iubUSf":
                raise TypeError(
                    f"y has dtype {labels.dtype}, expected numbers, strings or objects as labels"
                )
            return labels
    types = set(map(type, labels))
    # NumPy's strings drop trailing NULs, so distinct labels could become equal.
    if types and all(issubclass(t, str) for t in types) and "\0" not in "".join(labels):
        return np.array([*labels], dtype=np.str_)
    if types and all(issubclass(t, numbers.Real | np.bool_) for t in types):
        array = np.array([*labels])
        if array.dtype != object:  # object for large integers and for Fraction
            return label_array(array, place)
    if not types <= EQUAL_TO_THEMSELVES:
        try:  # hash only, since comparing sparse matrices would read them
            deque(map(hash, labels), maxlen=0)
            if any(map(is_tensor, labels)):
                raise TypeError
        except (TypeError, ValueError):
            for at, label in enumerate(labels):
                if label is not np.ma.masked and not is_hashable(label):
                    raise _unhashable([label], "" if place is None else f"{place(at)}: ") from None
    return object_array(labels)


def as_labels(labels, ignore_label=None, place=None, advice=IGNORE):
    """Return labels as `label_array` does, and raise an error for values that are not classes.

    Parameters
    ----------
    labels : ndarray or list
    ignore_label : object, optional
        Replaces missing labels; if None, these raise an error.
    place : callable, optional
        As in `label_array`.
    advice : str
        Recommendation in the error about a missing label.

    Raises
    ------
    ValueError
        If a label is missing and `ignore_label` is None, or if it is infinite or not an integer.
    """
    if type(labels) is np.ndarray and labels.ndim == 1 and labels.dtype.kind in "iubUS":
        return labels  # these are neither missing nor continuous
    labels = label_array(labels, place)
    missing = _missing(labels)
    if missing is not None:
        at = int(missing.argmax())
        if ignore_label is None:
            found = labels[at]
            name = "NaN" if isinstance(found, NUMERIC) else shortened(found)
            name = "None or a masked entry" if found is None else name
            where = "y contains" if place is None else f"{place(at)} is"
            raise ValueError(f"{where} {name}, which marks an unknown label. {advice}")
        check_label(ignore_label, "ignore_label")
        kept = zip(labels.tolist(), missing.tolist())
        kept = [ignore_label if unknown else label for label, unknown in kept]
        if label_array(labels[~missing]).dtype == bool:  # a numeric ignore_label would convert them
            return object_array(kept)
        return as_labels(kept)
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
        fractions = labels != np.trunc(labels)
        if fractions.any():
            raise ValueError(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, which "
                "expects discrete classes on a regression target with continuous values: y "
                f"contains {plain(labels[fractions.argmax()])}"
            )
    return labels


def label_rules(structure, place):
    """Return the keywords of `as_labels` for the y of a Structure.

    place : see `as_labels`
    """
    if hasattr(structure, "ignore_label"):
        return {"ignore_label": structure.ignore_label, "place": place}
    advice = f"{structure.estimator_name} has no ignore_label: remove samples with unknown labels"
    return {"place": place, "advice": advice}


def _missing(labels):
    """Return a mask of the missing labels, or None if there are none."""
    if labels.dtype.kind == "f":
        out = np.isnan(labels)
    elif labels.dtype == object and not set(map(type, labels)) <= EQUAL_TO_THEMSELVES:
        out = np.array([is_missing(label) for label in labels], dtype=bool)
    else:
        return None
    return out if out.any() else None


def ordered(labels):
    """Return distinct hashable labels, sorted if possible, else by first appearance."""
    labels = list(labels)
    try:
        distinct = list(dict.fromkeys(labels))
    except (TypeError, ValueError):  # memoryviews raise the latter
        raise _unhashable(labels) from None
    try:
        return sorted(distinct)
    except Exception:  # comparisons of user classes may raise anything
        return distinct


def find_classes(labels):
    """Return the distinct labels as a 1-D array in a deterministic order."""
    if labels.dtype != object:
        return np.unique(labels)
    return as_labels(ordered(labels))


def training_classes(classes, labels, used, sample_of):
    """Return the classes in order: those given by the parameter `classes`, or those that occur.

    `used` is the mask of training labels; `sample_of` maps the position of a label to its sample.
    """
    if classes is None:
        classes = find_classes(labels[used])
        if classes.dtype == object:
            check_one_type(classes)
        return classes
    strange = isinstance(classes, str) or getattr(classes, "ndim", 1) == 0
    strange = strange or sparse.issparse(classes)  # listing it would run compiled code
    if strange or not isinstance(classes, Iterable):
        raise TypeError(f"classes must be a list of labels or None, found {shortened(classes)}")
    classes = list(islice(without_view(classes), MAX_CLASSES + 1))  # iterators may be infinite
    if len(classes) > MAX_CLASSES:
        raise ValueError(f"classes has more than {MAX_CLASSES} labels")
    advice = "Remove it, and set ignore_label"
    classes = as_labels(classes, place=lambda k: f"classes[{k}]", advice=advice)
    n_distinct = len(find_classes(classes))
    if len(classes) == 0 or n_distinct < len(classes):
        raise ValueError(
            "classes must contain at least one label and no duplicates, found "
            f"{len(classes)} labels, {n_distinct} of them distinct: {shortened(classes.tolist())}"
        )
    if (at := first_true(used & (encode(labels, classes) < 0))) is not None:
        raise ValueError(
            f"y[{sample_of(at)}] contains {shortened(labels[at])}, which is not in classes"
        )
    return classes


def check_one_type(classes):
    """Raise ValueError for a number and a string that look the same, such as 0 and "0"."""
    names = {label for label in classes.tolist() if isinstance(label, str)}
    for label in classes.tolist():
        if isinstance(label, numbers.Number) and str(label) in names:
            raise ValueError(
                f"y contains {plain(label)!r} and {str(label)!r}, which would be two classes. "
                "Convert all labels to one type; if both are classes, pass "
                f"classes={shortened(classes.tolist())}"
            )


def _unhashable(labels, place=""):
    """Return the error about the first label that is not hashable."""
    for label in labels:
        if not is_hashable(label):
            hint = "; use SequenceVectorizer for dicts" if isinstance(label, dict) else ""
            found = shortened(label)
            return TypeError(f"{place}{found} is not hashable and cannot be a label{hint}")
    return TypeError("labels cannot be compared with each other")


def encode(labels, classes):
    """Return the index of each label in `classes`, -1 if it is not a class."""
    kinds = labels.dtype.kind, classes.dtype.kind
    comparable = kinds[0] == kinds[1] != "O"
    if kinds[0] in "biu" and kinds[1] in "biu":  # not as floats, which round integers
        comparable = np.result_type(labels.dtype, classes.dtype).kind != "f"
    if comparable:
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


def encode_truth(labels, classes, weights):
    """Return the index of each label in `classes`, -1 if it is not a class, for scores.

    Labels of the wrong type raise ValueError, unless their weights are 0.
    """
    codes, scored = encode(labels, classes), weights > 0
    if (codes[scored] < 0).all():
        check_comparable(labels[scored].tolist(), "y", classes.tolist(), "the fitted model")
    return codes


def check_comparable(labels, name, expected, expected_name):
    """Raise ValueError if one of two disjoint lists of labels has only strings, the other none.

    Otherwise scores would be 0 without an explanation.
    """
    are_strings = [{isinstance(label, str) for label in each} for each in (labels, expected)]
    if all(are_strings) and are_strings[0].isdisjoint(are_strings[1]):
        raise ValueError(
            f"{name} has labels like {shortened(labels[0])}, and {expected_name} has labels like "
            f"{shortened(expected[0])}, which cannot be equal; convert the labels of {name} to the "
            "other type"
        )


def is_label(labels, wanted):
    """Return a mask of the labels that equal `wanted`, an ``ignore_label`` (None matches none)."""
    if wanted is None:
        return np.zeros(len(labels), dtype=bool)
    check_label(wanted, "ignore_label")
    return encode(labels, as_labels([wanted])) == 0


def check_padding(structure, y, labels, nodes):
    """Raise an error if y is an array padded with -1 and `ignore_label` is None.

    The value -1 is considered padding if it occurs only at the ends of rows (of images: of rows and
    columns), after other labels, the labels are not just -1 and 1, and the parameter `classes` is
    None. Lists of labels are not padded arrays, unless X is one array of samples of equal size.

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
        f"y[{i}] ends in {PADDING} from {_name(place)} on. Since {PADDING} occurs only at the ends "
        "of samples, it is probably padding, but would be learned as a label. Set "
        f"ignore_label={PADDING}; if {PADDING} is a label, pass classes={np.unique(y).tolist()}"
    )


def _only_at_ends(padded):
    """Return True if, along each axis but the first, True is only followed by True.

    Some sample must contain both values, since samples that are all True are ambiguous.
    """
    for axis in range(1, padded.ndim):
        falls = np.diff(padded.astype(np.int8), axis=axis) < 0
        if falls.any():
            return False
    sample_axes = tuple(range(1, padded.ndim))
    return bool((padded.any(axis=sample_axes) & ~padded.all(axis=sample_axes)).any())


def _name(place):
    return f"node {place[0]}" if len(place) == 1 else f"pixel {tuple(map(int, place))}"


def check_reserved(structure, classes, codes=None, place=None):
    """Raise an error or warn if a class is a value reserved for padding or void elsewhere.

    Raise an error if it is almost certainly not a class: -100 if all other labels are nonnegative
    and not 100, 255 of a uint8 mask if the other labels are numbered from 0 or 1 without gaps,
    "<PAD>" and "[PAD]". "-100" is the same as -100, since NumPy converts numbers among strings to
    strings; the other labels must not start with "-". Warn for ambiguous values such as "pad" and
    "nan", and for all of these values if the structure has no `ignore_label`. 255 may be a gray
    value: it is accepted if the other labels are only 0, some exceed 126, or some are negative.

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
    text = f"{where} {found}, a value that other libraries use for padding or void labels"
    keep = f"if {found} is a class, pass classes={shortened(classes.tolist())}"
    if not hasattr(structure, "ignore_label"):
        warn_user(f"{text}. {name} learns it as a class; remove such rows, or {keep}")
    elif certain:
        raise ValueError(f"{text}. Set ignore_label={found}; {keep}")
    else:
        warn_user(f"{text}. {name} learns it as a class. Set ignore_label={found}; {keep}")


def _reserved(classes):
    """Return the index of the first reserved class, or None, and whether it cannot be a class."""
    if classes.dtype.kind in "UO":
        texts = [str(label) if isinstance(label, str | int) else "" for label in classes.tolist()]
        for k, text in enumerate(texts):
            bare = text.strip("<>[](){}_|").lower()
            if bare in PADDING_NAMES:
                return k, bare != text.lower()
            if text == str(TORCH_PADDING):
                negative = sum(other.startswith("-") for other in texts) > 1
                return k, not negative and str(-TORCH_PADDING) not in texts
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
