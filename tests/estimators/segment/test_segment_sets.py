"""Test prediction sets of segments against enumeration, and their coverage on generated data."""

import warnings

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from sstruct._problems.segment._segment_sums import SegmentSums
from sstruct.calibration import ConformalSSVM
from tests.estimators.segment.small import K, enumerated, make
from tests.reference import segments
from tests.reference.segmentations import Segmentations


def gaps(model, x, allowed):
    """Return the gap of each segment of any allowed segmentation, from the definition."""
    best = {}
    for code, score in zip(*enumerated(model, x, **allowed), strict=True):
        for span in segments.runs(code, K):
            best[span] = max(score, best.get(span, -np.inf))
    highest = max(best.values())
    return {span: highest - score for span, score in best.items()}


def test_scores_and_sets_equal_enumeration(fitted):
    model, allowed = fitted
    X, _, spans = make(np.random.default_rng(1), 16, **allowed)
    sets = ConformalSSVM(FrozenEstimator(model), target="spans", confidence_level=0.8)
    sets.fit(X, spans)
    every = [gaps(model, x, allowed) for x in X]
    true = [own[span] for own, here in zip(every, spans, strict=True) for span in here]
    np.testing.assert_allclose(sets.conformity_scores_, np.sort(true), atol=1e-9)
    assert (sets.conformity_scores_ == 0).any()
    X, _, _ = make(np.random.default_rng(2), 16, **allowed)
    every, predicted = [gaps(model, x, allowed) for x in X], model.predict_spans(X)
    for level in (0.1, 0.5, 0.8, 0.9):
        found, complete = sets.predict_set(X, confidence_level=level)
        assert complete.all()
        threshold = max(here[span] for here, own in zip(every, found) for span in own)
        for here, own, best in zip(every, found, predicted, strict=True):
            assert own == sorted(own)
            assert set(best) <= set(own)
            # All segments below the threshold, which is a score of the held-out samples.
            assert set(own) >= {span for span, gap in here.items() if gap < threshold - 1e-9}


def test_infinite_thresholds_list_the_best_segmentations(fitted):
    model, allowed = fitted
    X, _, spans = make(np.random.default_rng(3), 5, **allowed)
    sets = ConformalSSVM(FrozenEstimator(model), target="spans", k=3)
    with pytest.warns(UserWarning, match="requires at least 9 held-out samples, found 5"):
        sets.fit(X, spans)
    found, complete = sets.predict_set([*X, np.empty((0, 2))])
    assert not complete.any()
    assert found[5] == []
    for own, ranked in zip(found, model.predict_top_k(X, 3, spans=True)[0], strict=False):
        assert own == sorted({span for each in ranked for span in each})


def test_coverage_matches_level(fitted):
    """The level is 0.8; the mean over held-out sets has a standard deviation of about 0.01."""
    model, allowed = fitted
    covered = []
    for seed in range(6):
        X, _, spans = make(np.random.default_rng(10 + seed), 300, **allowed)
        order = np.random.default_rng(seed).permutation(300)
        X, spans = [X[i] for i in order], [spans[i] for i in order]
        sets = ConformalSSVM(FrozenEstimator(model), target="spans", confidence_level=0.8)
        found, _ = sets.fit(X[:100], spans[:100]).predict_set(X[100:])
        covered += [
            np.mean([span in own for span in true])
            for own, true in zip(found, spans[100:], strict=True)
        ]
    assert 0.77 < np.mean(covered) < 0.9


def test_unknown_and_unseen_labels(fitted):
    model, allowed = fitted
    X, _, _ = make(np.random.default_rng(4), 4, lengths=(5,), **allowed)
    y = [
        [(0, 2, 0), (2, 3, -1), (3, 5, 1)],  # both may continue at node 2
        [(0, 2, 0), (2, 4, 1), (4, 5, -1)],
        [(0, 2, 0), (2, 4, 7), (4, 5, 2)],
        [(0, 5, -1)],
    ]
    expected = [gaps(model, X[1], allowed)[0, 2, 0]]
    here = gaps(model, X[2], allowed)
    expected += [here[0, 2, 0], here[4, 5, 2], np.inf]
    sets = ConformalSSVM(FrozenEstimator(model), target="spans", confidence_level=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        sets.fit(X, y)
    np.testing.assert_allclose(sets.conformity_scores_, np.sort(expected), atol=1e-9)
    assert sets._n_conformity_samples == 3


@pytest.mark.parametrize("seed", range(20))
def test_segments_within_a_threshold_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        made = Segmentations.random(rng, max_nodes=5)
        n_labels = made.problem.n_labels
        for threshold in (0.0, 1.0, 5.0, 1e9):
            expected = set()
            for i, (codes, scores) in enumerate(zip(made.labelings, made.scores, strict=True)):
                for code, score in zip(codes.tolist(), scores, strict=True):
                    if score >= scores.max() - threshold - 1e-9:
                        expected |= {(i, *span) for span in segments.runs(code, n_labels)}
            found = SegmentSums(made.problem, maxima=True).segments_within(made.w, threshold + 1e-9)
            assert sorted(map(tuple, found.tolist())) == sorted(expected)
    with pytest.raises(ValueError, match="requires maxima=True"):
        SegmentSums(made.problem).segments_within(made.w, 1.0)
