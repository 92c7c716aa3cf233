"""Segments as runs of equal labels, in plain Python.

A code has the label k of each node, or K + k if a segment starts there after another with label k.
"""

from dataclasses import replace
from itertools import groupby, pairwise, product

import numpy as np

from tests.reference import brute_force, changes

KINDS = ("mean", "contrast", "first", "last")


def runs(y, n_labels=None):
    """Return segments (start, stop, label) of a labeling, or of a code if `n_labels` is given."""
    if n_labels is not None:
        starts = [
            l for l in range(len(y)) if l == 0 or y[l] >= n_labels or y[l] != y[l - 1] % n_labels
        ]
        return [(a, b, y[a] % n_labels) for a, b in pairwise([*starts, len(y)])]
    out, start = [], 0
    for label, nodes in groupby(y):
        stop = start + len(list(nodes))
        out.append((start, stop, label))
        start = stop
    return out


def with_splits(y, n_labels):
    """Return all codes of segmentations whose nodes have the labels y."""
    choices = [(k, n_labels + k) if l > 0 and k == y[l - 1] else (k,) for l, k in enumerate(y)]
    return list(product(*choices))


def labels_of(y, n_labels):
    """Return the labels of the nodes of a code."""
    return tuple(code % n_labels for code in y)


def split_counts(y, n_labels):
    """Return the number of segments of each label after one with the same label."""
    codes = [code - n_labels for code in y if code >= n_labels]
    return np.bincount(codes, minlength=n_labels).astype(float)


def with_split_counts(phi, y, model):
    """Return the features of a chain with transitions for a code, and the counts of splits."""
    K, counts, phi = model.n_labels, split_counts(y, model.n_labels), phi.copy()
    groups = np.arange(K * K).reshape(K, K) if model.groups is None else model.groups
    for k in range(K):
        if groups[k, k] >= 0:
            phi[len(phi) - 1 - groups.max() + groups[k, k]] -= counts[k]
    return np.r_[phi, counts]


def durations_of(y, starts, ends, bins, n_labels):
    """Return the number of runs of each label and bin; runs at open ends have no duration."""
    count = np.zeros((n_labels, len(bins)))
    for start, stop, label in runs(y, n_labels):
        if (start > 0 or starts) and (stop < len(y) or ends):
            count[label, np.searchsorted(bins, stop - start, side="right") - 1] += 1
    return count.ravel()


def segment_values(x, start, stop):
    """Return the features of a segment that are computed from its rows, by kind."""
    mean = x[start:stop].mean(axis=0)
    return {
        "mean": mean,
        "contrast": (mean - x[start - 1] if start > 0 else 0)
        + (mean - x[stop] if stop < len(x) else 0),
        "first": x[start],
        "last": x[stop - 1],
    }


def features_of(x, y, kinds, given, n_labels, starts=True, ends=True):
    """Return sums of features of segments: (K, F) for each kind in order, and (K, G) of `given`.

    given : dict that maps (start, stop) to an array (G,), or None
    """
    x, K = np.asarray(x, dtype=float), n_labels
    tables = {kind: np.zeros((K, x.shape[1])) for kind in kinds}
    others = np.zeros((K, len(given[0, 1]))) if given else np.zeros((K, 0))
    for start, stop, label in runs(y, K):
        if not ((start > 0 or starts) and (stop < len(y) or ends)):
            continue
        values = segment_values(x, start, stop)
        for kind, table in tables.items():
            table[label] += values[kind]
        if given:
            others[label] += given[start, stop]
    return [tables[kind] for kind in KINDS if kind in kinds], others


def segment_loss(truth, y, n_labels=None):
    """Count segments of both without a match: same label, intersection over union above 1/2."""
    true, found = runs(truth, n_labels), runs(y, n_labels)
    n_matches = sum(
        k == label and 2 * (min(b, stop) - max(a, start)) > max(b, stop) - min(a, start)
        for a, b, k in true
        for start, stop, label in found
    )
    return len(true) + len(found) - 2 * n_matches


def boundary_loss(truth, y, tolerance, n_labels=None):
    """Return the loss of the boundaries between segments: tests.reference.changes.loss."""
    starts = [[start for start, _, _ in runs(z, n_labels)[1:]] for z in (truth, y)]
    return changes.loss(*([l in own for l in range(len(y))] for own in starts), tolerance)


def segment_losses(name, truth, labelings, tolerance, n_labels=None):
    """Return the losses "segments" or "boundaries" of labelings, or codes."""
    losses = [
        segment_loss(truth, y, n_labels)
        if name == "segments"
        else boundary_loss(truth, y, tolerance, n_labels)
        for y in labelings
    ]
    return np.array(losses, dtype=float)


def is_within(y, starts, ends, least, most):
    return all(
        stop - start <= most[label]
        and (
            stop - start >= least[label] or not ((start > 0 or starts) and (stop < len(y) or ends))
        )
        for start, stop, label in runs(y, len(least))
    )


def blocks(
    X, y, model, bins, least, most, *arguments, kinds=(), function=None, tolerance=None, loss=None,
    splits=False, **options,
):  # fmt: skip
    """Return brute_force.blocks of a model with durations; `bins` may be empty.

    kinds, function : features of whole segments    loss : "segments", "boundaries" or of nodes
    splits : whether y has codes of segmentations, -1 for unknown labels
    """
    by_segments = isinstance(loss, str) and loss in ("segments", "boundaries")
    of_nodes = {} if loss is None or by_segments else {"loss": loss}
    K = model.n_labels
    labels = [[k if k < 0 else k % K for k in own] for own in y] if splits else y
    chains = brute_force.blocks(X, labels, model, *arguments, **of_nodes, **options)
    ends = {}
    for i, labels in enumerate(y):
        ends[i] = [(a, b, a == 0, b == len(labels)) for a, b in brute_force.segments(labels)]
    out = []
    for block in chains:
        first, stop, *whole = ends[block.sample].pop(0)
        if splits:
            block = _with_splits(block, tuple(y[block.sample][first:stop]), model)
        kept = [p for p, y in enumerate(block.labelings) if is_within(y, *whole, least, most)]
        x, n = np.asarray(X[block.sample], dtype=float), stop - first
        given = function and {
            (a, b): np.atleast_1d(function(x, np.array([first + a]), np.array([first + b]))[0])
            for a in range(n)
            for b in range(a + 1, n + 1)
        }
        labelings = [block.labelings[p] for p in kept]
        counts = [durations_of(z, *whole, bins, K) if len(bins) else () for z in labelings]
        found = [features_of(x[first:stop], z, kinds, given, K, *whole) for z in labelings]
        tables = [np.ravel([table.ravel() for table in of_kinds]) for of_kinds, _ in found]
        others = [table.ravel() for _, table in found]
        cut = K * x.shape[1]
        phi = block.phi[kept]
        truth = kept.index(block.truth)
        losses = block.loss[kept]
        if by_segments:
            losses = segment_losses(loss, labelings[truth], labelings, tolerance, K)
        parts = [phi[:, :cut], np.array(tables), phi[:, cut:], np.array(counts), np.array(others)]
        out.append(
            replace(block, labelings=labelings, phi=np.hstack(parts), loss=losses, truth=truth)
        )
    return out


def _with_splits(block, truth, model):
    """Return a block with the codes of all segmentations; `truth` is the true one."""
    found = [
        (code, with_split_counts(phi, code, model) if model.transitions else phi, loss)
        for labels, phi, loss in zip(block.labelings, block.phi, block.loss, strict=True)
        for code in with_splits(labels, model.n_labels)
    ]
    codes, phi, losses = zip(*found, strict=True)
    return replace(
        block, labelings=list(codes), phi=np.array(phi), loss=np.array(losses),
        truth=codes.index(tuple(int(k) for k in truth)),
    )  # fmt: skip
