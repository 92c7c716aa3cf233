"""Label sequences as flat integer arrays for the metrics of scikit-learn."""

from collections.abc import Mapping, Set
from itertools import chain

import numpy as np

from sstruct._checks.arrays import array_of, check_listed, type_name
from sstruct._input.labels import (
    IGNORE,
    as_labels,
    check_comparable,
    is_missing,
    label_list,
    ordered,
    shortened,
)
from sstruct._input.ragged import NoNodesError, check_weights


class FlatLabels:
    """True and predicted labels of the scored nodes, encoded as integers."""

    def __init__(self, y_true, y_pred, sample_weight, ignore_label):
        y_true, y_pred = matched(y_true, y_pred)
        self.n_sequences = len(y_true)
        self.sequence_weights = None
        if sample_weight is not None:
            self.sequence_weights = check_weights(sample_weight, self.n_sequences)
        self.lengths = [len(labels) for labels in y_true]
        self.sequence = np.repeat(np.arange(self.n_sequences), self.lengths)
        true, predicted = list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred))
        self.kept = np.arange(len(true))  # positions of the scored nodes
        unknown, advice = (), IGNORE
        if ignore_label is not None:
            unknown, advice = unknown_labels(true, ignore_label), "y_pred needs a label here"
            keep = [label not in unknown for label in true]
            true = [label for label, kept in zip(true, keep) if kept]
            predicted = [label for label, kept in zip(predicted, keep) if kept]
            self.kept = np.flatnonzero(keep)
            self.sequence = self.sequence[self.kept]
        # scikit-learn accepts neither tuples nor mixed types as labels.
        self.labels = ordered(chain(true, predicted))
        as_labels(
            self.labels,
            place=lambda k: _place(self.labels[k], y_true, y_pred, unknown),
            advice=advice,
        )
        if set(true).isdisjoint(predicted):
            check_comparable(predicted, "y_pred", true, "y_true")
        self.code = {label: code for code, label in enumerate(self.labels)}
        self.true = np.fromiter(map(self.code.__getitem__, true), np.int64, len(true))
        self.predicted = np.fromiter(map(self.code.__getitem__, predicted), np.int64, len(true))
        self.weights = None
        if self.sequence_weights is not None:
            self.weights = self.sequence_weights[self.sequence]
        if not true or (self.weights is not None and not self.weights.any()):
            raise NoNodesError("there is no node to score, or none with a weight")

    def codes_of(self, labels):
        """Return the integer codes of `labels`; labels that do not occur get a new code."""
        return [self.code.setdefault(label, len(self.code)) for label in labels]

    def score(self, metric, labels, average, pos_label, zero_division):
        options = {"average": average, "zero_division": zero_division}
        if average == "binary":
            if pos_label not in self.code and len(self.labels) > 1:
                raise ValueError(f"pos_label {shortened(pos_label)} is not among {self.labels}")
            options["pos_label"] = self.codes_of([pos_label])[0]
        labels = None if labels is None else self.codes_of(labels)
        return averaged(metric, self, labels=labels, **options)


def averaged(metric, flat, **options):
    """Return the value of a metric of scikit-learn for the codes of FlatLabels or FlatSpans."""
    value = metric(flat.true, flat.predicted, sample_weight=flat.weights, **options)
    return value if options["average"] is None else float(value)


def check_pairs(true, predicted, noun, sample_weight):
    """Return the weights of samples; their number in y_true and y_pred must be equal, not 0."""
    if len(true) != len(predicted):
        raise ValueError(f"y_true has {len(true)} {noun}s, but y_pred has {len(predicted)}")
    if len(true) == 0:
        raise ValueError(f"y_true is empty, expected at least one {noun}")
    return check_weights(sample_weight, len(true))


def unknown_labels(labels, ignore_label):
    """Return the labels that mark unknown true labels: `ignore_label`, None, NaN and NA."""
    return {label for label in ordered(labels) if is_missing(label) or label == ignore_label}


def _place(label, y_true, y_pred, unknown):
    """Return the first position of a label at a node whose true label is known, for errors."""
    for i, pairs in enumerate(map(zip, y_true, y_pred)):
        for v, pair in enumerate(pairs):
            for name, other in zip(("y_true", "y_pred"), pair):
                if other is label and pair[0] not in unknown:
                    return f"{name}[{i}] at node {v}"


def as_lists(y, name):
    y = _items(y, name)
    check_listed(y, name, "label sequences", type_name, (str, bytes, Mapping, Set))
    return [
        labels if type(labels) is list else label_list(labels, f"{name}[{i}]")
        for i, labels in enumerate(y)
    ]


def matched(y_true, y_pred):
    given = y_true, y_pred
    y_true, y_pred = as_lists(y_true, "y_true"), as_lists(y_pred, "y_pred")
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_pred has {len(y_pred)} sequences, expected {len(y_true)}")
    lengths = [[*map(len, y)] for y in (y_true, y_pred)]
    if lengths[0] != lengths[1]:
        i = next(i for i, (a, b) in enumerate(zip(*lengths)) if a != b)
        raise ValueError(f"y_pred[{i}] has {lengths[1][i]} labels, expected {lengths[0][i]}")
    check_images(*given, "y_pred")
    return y_true, y_pred


def check_images(y_true, values, name, n_axes=0):
    """Raise ValueError if two images have different shapes, apart from axes of length 1.

    n_axes : number of last axes of `values` that are not axes of images
    """
    for i, pair in enumerate(zip(_items(y_true, "y_true"), _items(values, name))):
        shapes = [item.shape for item in pair if isinstance(getattr(item, "shape", None), tuple)]
        if len(shapes) < 2:
            continue
        true, found = shapes
        axes = found[: len(found) - n_axes]
        if true != axes:
            a, b = ([n for n in shape if n != 1] for shape in (true, axes))
            if a != b and len(a) > 1 and len(b) > 1:
                expected = true + found[len(axes) :]
                raise ValueError(f"{name}[{i}] has shape {found}, expected {expected}")


def _items(y, name):
    return array_of(y, name) if isinstance(y, memoryview) else y  # not every format can be indexed
