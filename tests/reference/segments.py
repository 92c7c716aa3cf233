"""Segments by their definition: the durations of runs of equal labels, in plain Python."""

from dataclasses import replace
from itertools import groupby

import numpy as np

from tests.reference import brute_force


def runs(y):
    """The runs of a labeling: (start, stop, label)."""
    out, start = [], 0
    for label, nodes in groupby(y):
        stop = start + len(list(nodes))
        out.append((start, stop, label))
        start = stop
    return out


def durations_of(y, starts, ends, bins, n_labels):
    """The number of runs of each label and bin; runs at open ends have no duration."""
    count = np.zeros((n_labels, len(bins)))
    for start, stop, label in runs(y):
        if (start > 0 or starts) and (stop < len(y) or ends):
            count[label, np.searchsorted(bins, stop - start, side="right") - 1] += 1
    return count.ravel()


def is_within(y, starts, ends, least, most):
    return all(
        stop - start <= most[label]
        and (
            stop - start >= least[label] or not ((start > 0 or starts) and (stop < len(y) or ends))
        )
        for start, stop, label in runs(y)
    )


def blocks(X, y, model, bins, least, most, *arguments, **options):
    """brute_force.blocks of a model with durations; `bins` may be empty."""
    chains = brute_force.blocks(X, y, model, *arguments, **options)
    ends = {}
    for i, labels in enumerate(y):
        ends[i] = [(a == 0, b == len(labels)) for a, b in brute_force.segments(labels)]
    out = []
    for block in chains:
        whole = ends[block.sample].pop(0)
        kept = [p for p, y in enumerate(block.labelings) if is_within(y, *whole, least, most)]
        counts = [
            durations_of(block.labelings[p], *whole, bins, model.n_labels) if len(bins) else ()
            for p in kept
        ]
        out.append(
            replace(
                block,
                labelings=[block.labelings[p] for p in kept],
                phi=np.hstack([block.phi[kept], np.array(counts)]),
                loss=block.loss[kept],
                truth=kept.index(block.truth),
            )
        )
    return out
