"""Test segmentations against enumeration."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sstruct.inference import segment_viterbi, viterbi
from sstruct.masks import bio_transitions


@cache
def segmentations(length, n_labels):
    """Return all segmentations: tuples of (start, stop, label) that cover all positions."""
    if length == 0:
        return [()]
    return [
        (*rest, (start, length, label))
        for start in range(length)
        for label in range(n_labels)
        for rest in segmentations(start, n_labels)
    ]


def score(segments, node, *, edge, duration, bins, least, most, split, start, end):
    """Return the score of a segmentation by its definition, -inf if it is not allowed."""
    total, before = start[segments[0][2]] + end[segments[-1][2]], None
    for first, stop, label in segments:
        steps = stop - first
        if not least[label] <= steps <= most[label]:
            return -np.inf
        total += sum(node[first:stop, label])
        total += sum([edge[label, label]] * (steps - 1))
        total += duration[label, np.searchsorted(bins, steps, side="right") - 1]
        if before == label:
            total += split[label]
        elif before is not None:
            total += edge[before, label]
        before = label
    return total


def random_case(rng, high):
    """Return integer scores, whose sums are exact; `high` = 1 leads to ties."""
    L, K, n_bins = int(rng.integers(1, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 5))

    def scores(*shape):
        values = rng.integers(-high, high + 1, shape).astype(float)
        if rng.random() < 0.4:
            values[rng.random(shape) < 0.2] = -np.inf
        return values

    longest = np.array([int(rng.integers(1, 7)) if rng.random() < 0.6 else 100 for _ in range(K)])
    return scores(L, K), {
        "edge": scores(K, K),
        "duration": scores(K, n_bins),
        "bins": 1 + np.r_[0, np.cumsum(rng.integers(1, 3, n_bins - 1))],
        "least": np.minimum(rng.integers(1, 4, K) if rng.random() < 0.6 else 1, longest),
        "most": longest,
        "split": scores(K) if rng.random() < 0.5 else np.full(K, -np.inf),
        "start": scores(K),
        "end": scores(K),
    }


def decode(node, case, **options):
    return segment_viterbi(
        node,
        case["edge"],
        duration_scores=case["duration"],
        duration_bins=case["bins"],
        min_duration=case["least"],
        max_duration=[None if most == 100 else int(most) for most in case["most"]],
        split=None if np.isneginf(case["split"]).all() else case["split"],
        start=case["start"],
        end=case["end"],
        **options,
    )


def check(rng, high):
    node, case = random_case(rng, high)
    best = max(score(each, node, **case) for each in segmentations(*node.shape))
    if best == -np.inf:
        with pytest.raises(ValueError, match="has no segmentation"):
            decode(node, case)
        return False
    segments, value = decode(node, case)
    assert value == best
    assert score(segments, node, **case) == best
    starts, stops = [each[0] for each in segments], [each[1] for each in segments]
    assert starts == [0, *stops[:-1]]
    assert stops[-1] == len(node)
    return True


@pytest.mark.parametrize("high", [1, 3, 10**6])
def test_equals_enumeration(high):
    rng = np.random.default_rng(high)
    feasible = sum(check(rng, high) for _ in range(400))
    assert 100 < feasible < 400  # both outcomes are tested


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 100]))
def test_equals_enumeration_of_any_case(seed, high):
    check(np.random.default_rng(seed), high)


def by_recursion(node, edge, duration, least, most):
    """Return the best score in O(L^2 K^2), for chains that are too long for enumeration."""
    L, K = node.shape
    best = np.full((L + 1, K), -np.inf)
    for stop in range(1, L + 1):
        for k in range(K):
            for steps in range(least[k], min(most[k], stop) + 1):
                begin = stop - steps
                inner = node[begin:stop, k].sum() + (steps - 1) * edge[k, k]
                inner += duration[k, min(steps, duration.shape[1]) - 1]
                before = [best[begin, j] + edge[j, k] for j in range(K) if j != k]
                best[stop, k] = max(best[stop, k], inner + (max(before) if begin else 0))
    return best[-1].max()


@pytest.mark.parametrize("most", [None, 5, 23])
def test_long_windows(most):
    """Decode chains much longer than segments, with labels that are forbidden at some nodes."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        L, K = int(rng.integers(30, 80)), 3
        node = rng.integers(-9, 10, (L, K)).astype(float)
        node[rng.random((L, K)) < 0.02] = -np.inf
        edge, duration = rng.integers(-9, 10, (K, K)) * 1.0, rng.integers(-9, 10, (K, 4)) * 1.0
        least, longest = rng.integers(1, 4, K), [most or L] * K
        best = by_recursion(node, edge, duration, least, longest)
        limits = {"duration_scores": duration, "min_duration": least, "max_duration": most}
        if best == -np.inf:
            with pytest.raises(ValueError, match="no segmentation"):
                segment_viterbi(node, edge, **limits)
        else:
            assert segment_viterbi(node, edge, **limits)[1] == best


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_without_durations_equals_viterbi(seed):
    rng = np.random.default_rng(seed)
    L, K = int(rng.integers(1, 30)), int(rng.integers(1, 5))
    node, edge = rng.integers(-99, 100, (L, K)) * 1.0, rng.integers(-99, 100, (K, K)) * 1.0
    ends = {name: rng.integers(-99, 100, K) * 1.0 for name in ("start", "end")}
    _, value = viterbi(node, edge, **ends)
    segments, found = segment_viterbi(node.astype(np.float32), edge, **ends)
    assert found == value
    path = np.concatenate([[label] * (stop - start) for start, stop, label in segments])
    total = node[range(L), path].sum() + edge[path[:-1], path[1:]].sum()
    assert total + ends["start"][path[0]] + ends["end"][path[-1]] == value
    assert all(a[2] != b[2] for a, b in pairwise(segments))


def test_loss_augmented():
    """Add costs of wrong nodes; the result has the largest sum of score and costs."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        node, case = random_case(rng, 3)
        truth = rng.integers(0, node.shape[1], len(node))
        wrong = truth[:, np.newaxis] != np.arange(node.shape[1])
        values = [
            score(each, node, **case)
            + sum(wrong[start:stop, label].sum() for start, stop, label in each)
            for each in segmentations(*node.shape)
        ]
        if max(values) > -np.inf:
            assert decode(node + wrong, case)[1] == max(values)


def test_masks_classes_and_many_chains():
    chains = [np.zeros((3, 3)), np.ones((4, 3)), np.empty((0, 3))]
    options = {"classes": ["O", "B", "I"], "mask": bio_transitions, "min_duration": [1, 1, 2]}
    segments, values = segment_viterbi(chains, [[0, 0, 0], [0, 0, 9], [0, 0, 0]], **options)
    assert segments[0] == [(0, 1, "B"), (1, 3, "I")]
    assert segments[2] == []
    assert values.tolist() == [9, 13, 0]
    again = segment_viterbi(chains, [[0, 0, 0], [0, 0, 9], [0, 0, 0]], n_jobs=2, **options)
    assert again[0] == segments
    assert again[1].tolist() == values.tolist()


def test_error_without_allowed_segmentation():
    with pytest.raises(ValueError, match=r"node_scores\[1\] of 1 positions has no segmentation"):
        segment_viterbi([np.zeros((2, 2)), np.zeros((1, 2))], min_duration=2)
    with pytest.raises(ValueError, match="no segmentation: segments have at least 1 and at most 2"):
        segment_viterbi(np.zeros((3, 1)), max_duration=2)
    assert len(segment_viterbi(np.zeros((3, 1)), max_duration=2, split=-1)[0]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edge_scores": np.zeros((2, 2, 2))}, r"edge_scores must have shape \(2, 2\), found"),
        ({"edge_scores": [[0, np.nan], [0, 0]]}, "edge_scores must not contain NaN"),
        ({"duration_scores": np.zeros((3, 2))}, r"duration_scores must have shape \(2, 'n_bins'\)"),
        ({"duration_scores": np.zeros((2, 0))}, "duration_scores must have shape"),
        ({"duration_scores": np.zeros(2)}, "duration_scores must have shape"),
        (
            {"duration_scores": [[np.inf], [0]]},
            "duration_scores must be at most 1e.100 in absolute",
        ),
        ({"duration_scores": np.zeros((2, 2)), "duration_bins": [1]}, r"shape \(2, 1\), found"),
        ({"duration_bins": [2, 3]}, "duration_bins must be the smallest duration of each bin"),
        ({"duration_bins": [1, 1]}, "duration_bins must be the smallest duration of each bin"),
        ({"min_duration": 0}, "min_duration must be at least 1, found 0"),
        ({"min_duration": [1, 2, 3]}, "min_duration must have 2 entries, found 3"),
        ({"min_duration": 3, "max_duration": [3, 2]}, "max_duration is 2 for label 1"),
        ({"max_duration": 2**64}, "max_duration must be at most 9223372036854775807"),
        ({"split": [0, 0, 0]}, r"split must be a number or have shape \(2,\)"),
        ({"split": np.nan}, "split must be at most"),
        (
            {"start": [1e200, 0]},
            "contain 1e.200 at position 0, expected magnitudes of at most 1e.100",
        ),
    ],
)
def test_invalid_values(arguments, message):
    with pytest.raises(ValueError, match=message):
        segment_viterbi(np.zeros((3, 2)), **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"edge_scores": csr_array(np.eye(2))},
        {"min_duration": 1.5},
        {"min_duration": None},
        {"max_duration": [1, 2.5]},
        {"max_duration": "ab"},
        {"duration_bins": [1.0, 2.0]},
    ],
)
def test_invalid_types(arguments):
    with pytest.raises(TypeError, match=next(iter(arguments))):
        segment_viterbi(np.zeros((3, 2)), **arguments)


def test_rounding_of_long_chains():
    """Compare the score with that of the segments, summed without cumulative sums."""
    rng = np.random.default_rng(2)
    node = 1e6 + rng.standard_normal((3000, 2))
    segments, value = segment_viterbi(node, [[0, -1.0], [-1.0, 0]], min_duration=3)
    exact = sum(node[start:stop, label].sum() for start, stop, label in segments)
    assert value == pytest.approx(exact - (len(segments) - 1), rel=1e-14)
