"""Labels of nodes from spans that users pass as y, and spans of predicted labels."""

from itertools import pairwise

import numpy as np

from sstruct._checks.arrays import is_sized, items_of
from sstruct._checks.parameters import is_integer
from sstruct._checks.shown import plain, shortened
from sstruct._input.labels import check_label
from sstruct._problems.segment.segment_arguments import runs_of

# Limit on the nodes of a sample whose spans are converted without X, which would limit them.
MAX_NODES = 10**8


def without_spans(y, lengths, self_transitions=False, name="y"):
    """Return y with the labels of nodes in place of spans; y itself if it has no spans.

    Parameters
    ----------
    y : as passed to ``fit``
        Spans are lists of tuples (start, stop, label), the first with start 0; see `has_spans`.
    lengths : ndarray of shape (n,)
        Numbers of nodes.
    self_transitions : bool
        Whether adjacent spans may have the same label.
    name : str
        Name of y in errors.
    """
    items = _items(y)
    if len(items) != len(lengths):
        return y
    for i, item in enumerate(items):
        if are_triples(item) and not has_spans(item) and len(item) != lengths[i] > 0:
            raise ValueError(
                f"{name}[{i}] is {shortened(item)}, expected {lengths[i]} labels, or spans: tuples "
                "(start, stop, label) with integers start and stop, the first with start 0"
            )
    if not any(map(has_spans, items)):
        return y
    out = []
    for i, item in enumerate(items):
        if not has_spans(item) and lengths[i] > 0:
            raise ValueError(
                f"{name}[{i}] has no spans (start, stop, label), but other samples do; found "
                f"{shortened(item)}"
            )
        names = f"{name}[{i}]", f"X[{i}]"
        out.append(labels_of_spans(item, lengths[i], self_transitions, *names))
    return out


def splits_of(y, lengths):
    """Return whether a span starts at each node after one with the same label, (n_nodes,).

    y, lengths : as for `without_spans`, which must have validated them
    """
    out, first = np.zeros(int(np.sum(lengths)), dtype=bool), 0
    for item, length in zip(_items(y), np.asarray(lengths).tolist()):
        for (*_, before), (start, _, label) in pairwise(item) if has_spans(item) else ():
            out[first + start] = label == before
        first += length
    return out


def labels_and_splits(y, name):
    """Return y with labels of nodes in place of spans, and the result of `splits_of`.

    Numbers of nodes are those of the spans. The second result is None if y has no spans.
    """
    items = _items(y)
    if not any(map(has_spans, items)):
        return y, None
    lengths = []
    for i, item in enumerate(items):
        lengths.append(item[-1][1] if has_spans(item) else len(item) if is_sized(item) else 1)
        if lengths[-1] > MAX_NODES:
            raise ValueError(
                f"{name}[{i}] has the span {shortened(item[-1])}, expected at most {MAX_NODES} "
                "nodes"
            )
    return without_spans(items, lengths, True, name), splits_of(items, lengths)


def _items(y):
    """Return the samples of y, which may have spans; an empty list for arrays of labels."""
    y = items_of(y)
    is_list = isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.dtype == object)
    return list(y) if is_list else []


def has_spans(item):
    """Return whether a sample of y is a list of spans, the first of which starts at 0."""
    # In most cases, the first item is sufficient. Subclasses of lists may have any length.
    if not isinstance(item, list | tuple) or not isinstance(next(iter(item), None), tuple):
        return False
    spans = [tuple(span) if isinstance(span, tuple) else () for span in item]
    return (
        all(len(span) == 3 for span in spans)
        and all(is_integer(bound) for span in spans for bound in span[:2])
        and spans[0][0] == 0
        and spans[0][1] > 0
    )


def are_triples(item):
    """Return whether a sample of y has three values per row, such as spans in another form."""
    if isinstance(item, np.ndarray):
        return item.ndim == 2 and item.shape[1] == 3
    if not isinstance(item, list | tuple) or not isinstance(next(iter(item), None), list | tuple):
        return False
    return all(isinstance(part, list | tuple) and len(part) == 3 for part in item)


def labels_of_spans(spans, length, self_transitions, name, sequence):
    """Return a list with the label of each node, given the spans of one sequence.

    Parameters
    ----------
    spans : list of (start, stop, label)
    length : int
        Number of nodes.
    self_transitions : bool
        Whether adjacent spans may have the same label.
    name, sequence : str
        Names of the spans and of the sequence in errors, such as "y[2]" and "X[2]".
    """
    end, before = 0, None
    for number, (start, stop, label) in enumerate(spans):
        if start != end or stop <= start:
            advice = "; for a gap, add a span with ignore_label or another label" * (start > end)
            raise ValueError(
                f"{name} has the span {shortened((start, stop, label))} after node {end}; "
                f"each span must start where the one before it stops, and stop later{advice}"
            )
        check_label(label, f"{name} at node {start}")
        if number > 0 and label == before and not self_transitions:
            raise ValueError(
                f"{name} has two adjacent spans with label {shortened(label)} at node "
                f"{start}; join them, or set self_transitions=True if they are two segments"
            )
        end, before = stop, label
    if end != length:
        raise ValueError(
            f"{sequence} has {length} nodes, but the spans of {name} stop at {end}; the last span "
            "must stop at the number of nodes"
        )
    return [label for start, stop, label in spans for _ in range(start, stop)]


def spans_of_nodes(codes, offsets, n_labels):
    """Return start, stop, label and sample of all spans, given the codes of segmentations."""
    some = np.flatnonzero(np.diff(offsets))
    first, stop, block = runs_of(codes, offsets[some], np.diff(offsets)[some], n_labels)
    sample = some[block]
    begin = offsets[sample]
    return first - begin, stop - begin, codes[first] % n_labels, sample


def spans_of_samples(codes, offsets, classes):
    """Return a list of (start, stop, label) of each sample, given the codes of segmentations."""
    out = [[] for _ in range(len(offsets) - 1)]
    start, stop, code, sample = spans_of_nodes(codes, offsets, len(classes))
    labels = [plain(label) for label in classes[code]]
    for i, *span in zip(sample.tolist(), start.tolist(), stop.tolist(), labels):
        out[i].append(tuple(span))
    return out
