"""Test max-marginals, k best segmentations and probabilities of SegmentSSVM."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.frozen import FrozenEstimator

from sstruct import SegmentSSVM
from sstruct.calibration import CalibratedSSVM, ConformalSSVM
from tests.estimators.segment.small import K, enumerated, make
from tests.reference import segments


def test_predictions_equal_enumeration(fitted):
    model, allowed = fitted
    X, _, _ = make(np.random.default_rng(1), 12, **allowed)
    found, scores = model.predict_top_k(X, 10**6, spans=True)
    labels, _ = model.predict_top_k(X, 10**6)
    n_split = 0
    for x, own, values, rows, best, spans, marginals in zip(
        X, found, scores, labels, model.predict(X), model.predict_spans(X),
        model.decision_function(X), strict=True,
    ):  # fmt: skip
        codes, expected = enumerated(model, x, **allowed)
        score = {tuple(segments.runs(c, K)): v for c, v in zip(codes, expected, strict=True)}
        assert score[tuple(spans)] == pytest.approx(expected.max(), abs=1e-9)
        assert best.tolist() == rows[0].tolist()
        np.testing.assert_allclose([score[tuple(each)] for each in own], values, atol=1e-9)
        for each, row in zip(own, rows.tolist(), strict=True):
            assert row == [k for a, b, k in each for _ in range(a, b)]
        n_split += any(a[2] == b[2] for a, b in pairwise(spans))
        np.testing.assert_allclose(values, np.sort(expected)[::-1], atol=1e-9)
        assert len({tuple(each) for each in own}) == len(codes) == len(own)
        for l, k in np.ndindex(marginals.shape):
            here = [v for code, v in zip(codes, expected, strict=True) if code[l] % K == k]
            assert marginals[l, k] == pytest.approx(max(here, default=-np.inf), abs=1e-9)
        known = [None] * len(x)
        known[1] = int(np.argmin(marginals[1]))
        if np.isfinite(marginals[1].min()):
            best = max(v for c, v in zip(codes, expected, strict=True) if c[1] % K == known[1])
            given = model.predict([x], [known])[0]
            of_labels = [
                v
                for code, v in zip(codes, expected, strict=True)
                if segments.labels_of(code, K) == tuple(given.tolist())
            ]
            assert max(of_labels) == pytest.approx(best, abs=1e-9)
    assert (n_split > 0) == allowed["splits"]


def test_sequences_without_nodes_or_segmentations(fitted):
    model, allowed = fitted
    X, _, spans = make(np.random.default_rng(1), 9, **allowed)
    strict = SegmentSSVM(min_duration=2, random_state=0).fit(X[:1], [["a"] * 2 + ["b"] * 3])
    samples = [X[0], np.empty((0, 2)), X[0][:1]]
    scores = strict.decision_function(samples)
    assert [each.shape for each in scores] == [(5, 2), (0, 2), (1, 2)]
    assert np.isneginf(scores[2]).all()
    assert np.isfinite(scores[0]).all()
    with pytest.raises(ValueError, match=r"every segmentation of X\[2\], which has 1 nodes"):
        strict.predict_top_k(samples, 2)
    labels, values = strict.predict_top_k(samples[:2], 2)
    assert (labels[1].shape, values[1].tolist()) == ((1, 0), [0.0])
    calibrated = CalibratedSSVM(FrozenEstimator(model)).fit(X, spans)
    empty = [np.empty((0, 2))]
    assert calibrated.predict_proba(empty)[0].shape == (0, K)
    assert calibrated.log_proba(empty, [[]]).tolist() == [0]
    assert calibrated.predict_spans(empty) == [[]]
    assert calibrated.sample(empty, 2)[0].shape == (2, 0)
    assert model.decision_function(empty)[0].shape == (0, K)


@pytest.mark.parametrize("k", [0, -1, 1.5, None, "2"])
def test_invalid_numbers_of_segmentations(fitted, k):
    with pytest.raises((ValueError, TypeError), match="k must be"):
        fitted[0].predict_top_k(make(np.random.default_rng(1), 2)[0], k)


@pytest.fixture(scope="module")
def calibrated(fitted):
    X, _, spans = make(np.random.default_rng(2), 40, **fitted[1])
    return CalibratedSSVM(fitted[0].set_params(n_jobs=2), cv=3).fit(X, spans)


def test_temperature_maximizes_the_likelihood(fitted):
    model, allowed = fitted
    X, codes, spans = make(np.random.default_rng(4), 40, **allowed)
    found = CalibratedSSVM(FrozenEstimator(model)).fit(X, spans).temperature_

    def loss(temperature):
        total = 0
        for x, code in zip(X, codes, strict=True):
            every, values = enumerated(model, x, **allowed)
            total += logsumexp(values / temperature)
            total -= values[every.index(tuple(code.tolist()))] / temperature
        return total

    assert loss(found) < min(loss(1.02 * found), loss(0.98 * found))


def test_probabilities_equal_enumeration(fitted, calibrated):
    allowed, model = fitted[1], calibrated.estimator_
    X, codes, spans = make(np.random.default_rng(3), 10, **allowed)
    assert calibrated.exact_
    p, found = calibrated.predict_proba(X), calibrated.predict_spans(X)
    log_p = calibrated.log_proba(X, spans)
    labels = [(code % K).tolist() for code in codes]
    of_runs = calibrated.log_proba(X, labels)
    of_partial = calibrated.log_proba(X, [[-1, *own[1:]] for own in labels])
    for i, x in enumerate(X):
        every, values = enumerated(model, x, **allowed)
        values = values / calibrated.temperature_
        values -= logsumexp(values)
        assert log_p[i] == pytest.approx(values[every.index(tuple(codes[i].tolist()))])
        # In y without spans, segments are runs of equal labels.
        runs = tuple(labels[i])
        expected = values[every.index(runs)] if runs in every else -np.inf
        assert of_runs[i] == pytest.approx(expected)
        # The only free boundary is that next to the unknown label.
        agree = [c[1] % K == runs[1] and c[2:] == runs[2:] for c in every]
        assert of_partial[i] == pytest.approx(logsumexp(values[agree]) if any(agree) else -np.inf)
        want = [(np.array(every) % K == k).T @ np.exp(values) for k in range(K)]
        np.testing.assert_allclose(p[i], np.transpose(want), rtol=1e-9, atol=1e-250)
        assert [span[:3] for span in found[i]] == model.predict_spans([x])[0]
        for *span, probability in found[i]:
            has = [tuple(span) in segments.runs(c, K) for c in every]
            assert probability == pytest.approx(np.exp(values[has]).sum())
    for impossible in (
        [[1, 0] + [1] * (len(own) - 2) for own in labels],
        [[7] * len(x) for x in X],
    ):
        assert np.isneginf(calibrated.log_proba(X, impossible)).all()


def test_samples_are_allowed_and_do_not_depend_on_other_sequences(fitted, calibrated):
    X, _, _ = make(np.random.default_rng(5), 6, **fitted[1])
    draws = calibrated.sample(X, 50, random_state=0)
    for x, rows in zip(X, draws, strict=True):
        assert rows.shape == (50, len(x))
        possible = {segments.labels_of(c, K) for c in enumerated(fitted[0], x, **fitted[1])[0]}
        assert set(map(tuple, rows.tolist())) <= possible
    for rows, other in zip(draws[:3], calibrated.sample(X[:3], 50, random_state=0), strict=True):
        assert rows.tolist() == other.tolist()


def test_results_do_not_depend_on_n_jobs(fitted):
    X, _, spans = make(np.random.default_rng(6), 150, **fitted[1])
    found = []
    for n_jobs in (1, 2, 3):
        model = CalibratedSSVM(FrozenEstimator(fitted[0].set_params(n_jobs=n_jobs))).fit(X, spans)
        p = np.concatenate(model.predict_proba(X))
        scores = np.concatenate(model.decision_function(X))
        found.append((model.temperature_, p.tobytes(), scores.tobytes()))
    fitted[0].set_params(n_jobs=None)
    assert found[0] == found[1] == found[2]


def test_label_schemes_are_rejected(fitted, calibrated):
    X, _, spans = make(np.random.default_rng(7), 4, **fitted[1])
    for options in ({"scheme": "bioes"}, {"suffix": True}):
        with pytest.raises(ValueError, match="whose spans are its segments; found scheme="):
            calibrated.predict_spans(X, **options)
        sets = ConformalSSVM(FrozenEstimator(fitted[0]), target="spans", **options)
        with pytest.raises(ValueError, match="not supported for SegmentSSVM, whose spans are its"):
            sets.fit(X, spans)


def test_prediction_sets_contain_the_truth(fitted):
    model, allowed = fitted
    X, codes, spans = make(np.random.default_rng(8), 400, **allowed)
    frozen, n = FrozenEstimator(model), 200
    sets = ConformalSSVM(frozen, confidence_level=0.8, k=1000).fit(X[:n], spans[:n])
    gaps = []  # score of the best other segmentation minus that of the truth
    for x, code in zip(X[:n], codes[:n], strict=True):
        every, values = enumerated(model, x, **allowed)
        at = every.index(tuple(code.tolist()))
        gaps.append(np.delete(values, at).max() - values[at])
    np.testing.assert_allclose(sets.conformity_scores_, np.sort(gaps), atol=1e-9)
    found, complete = sets.predict_set(X[n:])
    assert complete.all()
    if not allowed["splits"]:
        found = [[segments.runs(row) for row in rows.tolist()] for rows in found]
    hits = [own in each for each, own in zip(found, spans[n:], strict=True)]
    # The standard deviation of the coverage is 0.04.
    assert abs(np.mean(hits) - 0.8) < 0.12
    nodes, _ = ConformalSSVM(frozen, target="nodes").fit(X[:n], spans[:n]).predict_set(X[n:])
    misses = [
        1 - own[np.arange(len(code)), code % K].mean()
        for own, code in zip(nodes, codes[n:], strict=True)
    ]
    assert np.mean(misses) < 0.18
