"""Small sequences with segments, and their segmentations enumerated."""

import numpy as np

from tests.reference import brute_force, segments

K = 3
FREE = (1,) * K, (99,) * K


def codes_of(length, splits, limits=FREE):
    """Return the codes of all allowed segmentations; with splits, also those of equal neighbors."""
    every = brute_force.labelings(length, brute_force.Model(K))
    if splits:
        every = [code for labels in every for code in segments.with_splits(labels, K)]
    return [code for code in every if segments.is_within(code, True, True, *limits)]


def make(rng, n=8, lengths=(5, 3, 4, 2), limits=FREE, splits=True, hidden=False):
    """Return noisy sequences, codes of segmentations, and their spans.

    hidden : whether to hide some labels, but not all splits
    """
    X, codes = [], []
    for i in range(n):
        found = codes_of(lengths[i % len(lengths)], splits, limits)
        code = np.array(found[rng.integers(len(found))])
        X.append(rng.standard_normal((len(code), 2)) + 0.5 * (code % K)[:, np.newaxis])
        codes.append(code)
    if hidden:
        hide(codes)
    if splits and not any((code >= K).any() for code in codes):
        return make(rng, n, lengths, limits, hidden=hidden)
    return X, codes, [spans_of(code) for code in codes]


def hide(codes):
    """Mark some nodes as unknown, -1, in place."""
    for i, l in ((0, 2), (2, 1), (4, 0)):
        after = l + 1
        if after < len(codes[i]) and codes[i][after] >= K:  # a segment after an unknown label
            codes[i][after] -= K
        codes[i][l] = -1


def spans_of(code):
    """Return the spans of a code; -1 is a span of one node."""
    out, first = [], 0
    for stop in [*np.flatnonzero(np.array(code) < 0).tolist(), len(code)]:
        known = segments.runs([int(k) for k in code[first:stop]], K)
        out += [(first + a, first + b, k) for a, b, k in known]
        if stop < len(code):
            out.append((stop, stop + 1, -1))
        first = stop + 1
    return out


def enumerated(model, x, splits, limits=FREE):
    """Return the codes of all allowed segmentations, and their scores by definition."""
    chain, codes = brute_force.Model(K), codes_of(len(x), splits, limits)
    phi = []
    for code in codes:
        own = brute_force.joint_feature(x, segments.labels_of(code, K), chain)
        own = segments.with_split_counts(own, code, chain) if splits else own
        phi.append(np.r_[own, segments.durations_of(code, True, True, model.duration_bins_, K)])
    return codes, np.array(phi) @ model.w_
