"""True and predicted spans of many sequences, for the metrics of spans."""

from itertools import chain

import numpy as np

from sstruct._input.label_schemes import Spans
from sstruct._input.labels import ordered
from sstruct._input.ragged import check_weights
from sstruct.metrics._flat_labels import matched, unknown_labels


def read_spans(y_true, y_pred, table, invalid, sample_weight, ignore_label):
    """Return the true and the predicted spans, and the weights of the sequences or None.

    Positions count the labels of all sequences.
    """
    y_true, y_pred = matched(y_true, y_pred)
    weights = None if sample_weight is None else check_weights(sample_weight, len(y_true))
    offsets = np.zeros(len(y_true) + 1, dtype=np.intp)
    np.cumsum(np.fromiter(map(len, y_true), np.intp, len(y_true)), out=offsets[1:])
    true, predicted = (
        table.encoded(chain.from_iterable(y), int(offsets[-1])) for y in (y_true, y_pred)
    )
    if ignore_label is not None:
        unknown = unknown_labels(table, ignore_label)
        ignored = np.isin(true, [code for label, code in table.items() if label in unknown])
        true[ignored] = predicted[ignored] = 0
    spans = [
        Spans(codes, offsets, table, invalid, lambda i, y=y, name=name: (f"{name}[{i}]", y[i]))
        for codes, y, name in ((true, y_true, "y_true"), (predicted, y_pred, "y_pred"))
    ]
    return *spans, weights


def same_bounds(true, predicted):
    """Return the index of the predicted span with the bounds of each true span, or -1."""
    at = np.full(len(true.codes), -1)
    at[predicted.start] = np.arange(len(predicted.start))
    match = at[true.start]
    stop = np.append(predicted.stop, -1)  # for the index -1
    return np.where(stop[match] == true.stop, match, -1)


def sorted_types(true, predicted):
    """Return the types that occur, sorted if possible, and their code for each index in `kinds`.

    The last code is -1, so the index -1 is mapped to itself.
    """
    used = np.unique(np.append(true.kind, predicted.kind)).tolist()
    types = ordered(true.kinds[k] for k in used)
    place = {kind: code for code, kind in enumerate(types)}
    code = np.full(len(true.kinds) + 1, -1)
    code[used] = [place[true.kinds[k]] for k in used]
    return types, code
