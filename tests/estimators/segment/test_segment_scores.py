"""Max-marginals, k best segmentations and probabilities of SegmentSSVM, by enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.frozen import FrozenEstimator

from sstruct import SegmentSSVM
from sstruct.calibration import CalibratedSSVM, ConformalSSVM
from tests.reference import brute_force, segments

BINS, LABELS = (1, 2, 4), ["a", "b", "c"]
LIMITS = {"min_duration": {"a": 2}, "max_duration": {"c": 2}}
LEAST, MOST = (2, 1, 1), (99, 99, 2)


def sequences(rng, n, lengths=(5, 3, 4, 6)):
    """Noisy sequences whose labels satisfy LIMITS."""
    X, y = [], []
    for i in range(n):
        found = allowed(lengths[i % len(lengths)])
        codes = np.array(found[rng.integers(len(found))])
        X.append(np.eye(3)[codes] + 0.7 * rng.standard_normal((len(codes), 3)))
        y.append(np.array(LABELS)[codes])
    return X, y


def allowed(length):
    every = product(range(3), repeat=length)
    return [y for y in every if segments.is_within(y, True, True, LEAST, MOST)]


def enumerated(model, x):
    """All allowed labelings of a sequence, as codes, and their scores."""
    labelings, chain = allowed(len(x)), brute_force.Model(3)
    phi = [
        np.r_[brute_force.joint_feature(x, y, chain), segments.durations_of(y, True, True, BINS, 3)]
        for y in labelings
    ]
    return np.array(labelings), np.array(phi) @ model.w_


@pytest.fixture(scope="module")
def fitted():
    X, y = sequences(np.random.default_rng(0), 24)
    options = {"duration_bins": BINS, "lam": 0.1, "ignore_label": "?", "random_state": 0}
    return SegmentSSVM(**options, **LIMITS).fit(X, y), X, y


def test_max_marginals_and_rankings_equal_enumeration(fitted):
    model, X, _ = fitted
    found, ranked = model.decision_function(X), model.predict_top_k(X, 10**6)
    for x, here, labels, scores in zip(X, found, *ranked, strict=True):
        codes, values = enumerated(model, x)
        for at in np.ndindex(*here.shape):
            best = values[codes[:, at[0]] == at[1]].max(initial=-np.inf)
            assert here[at] == pytest.approx(best, abs=1e-10)
        np.testing.assert_allclose(scores, np.sort(values)[::-1], atol=1e-10)
        assert len({tuple(row) for row in labels}) == len(codes)
    for labels, here in zip(model.predict(X), model.predict_top_k(X, 1)[0], strict=True):
        assert labels.tolist() == here[0].tolist()


def test_sequences_without_nodes_or_segmentations(fitted):
    model, X, _ = fitted
    strict = SegmentSSVM(min_duration=2, random_state=0).fit(X[:1], [["a"] * 2 + ["b"] * 3])
    samples = [X[0], np.empty((0, 3)), X[0][:1]]
    scores = strict.decision_function(samples)
    assert [each.shape for each in scores] == [(5, 2), (0, 2), (1, 2)]
    assert np.isneginf(scores[2]).all()
    assert np.isfinite(scores[0]).all()
    with pytest.raises(ValueError, match=r"every segmentation of X\[2\], which has 1 nodes"):
        strict.predict_top_k(samples, 2)
    labels, values = strict.predict_top_k(samples[:2], 2)
    assert (labels[1].shape, values[1].tolist()) == ((1, 0), [0.0])
    calibrated = CalibratedSSVM(FrozenEstimator(model)).fit(*sequences(np.random.default_rng(1), 9))
    empty = [np.empty((0, 3))]
    assert calibrated.predict_proba(empty)[0].shape == (0, 3)
    assert calibrated.log_proba(empty, [[]]).tolist() == [0]
    assert calibrated.predict_spans(empty) == [[]]
    assert calibrated.sample(empty, 2)[0].shape == (2, 0)
    assert model.decision_function(empty)[0].shape == (0, 3)


@pytest.mark.parametrize("k", [0, -1, 1.5, None, "2"])
def test_invalid_numbers_of_segmentations(fitted, k):
    model, X, _ = fitted
    with pytest.raises((ValueError, TypeError), match="k must be"):
        model.predict_top_k(X, k)


@pytest.fixture(scope="module")
def calibrated(fitted):
    X, y = sequences(np.random.default_rng(2), 40)
    return CalibratedSSVM(fitted[0].set_params(n_jobs=2), cv=3).fit(X, y)


def test_probabilities_equal_enumeration(calibrated):
    X, y = sequences(np.random.default_rng(3), 8)
    assert calibrated.exact_
    model = calibrated.estimator_
    p, spans = calibrated.predict_proba(X), calibrated.predict_spans(X)
    log_p = calibrated.log_proba(X, y)
    partial = [["?", *labels[1:-1], "?"] for labels in y]
    log_partial = calibrated.log_proba(X, partial)
    for i, x in enumerate(X):
        codes, values = enumerated(model, x)
        values = values / calibrated.temperature_
        values -= logsumexp(values)
        want = (np.eye(3)[codes] * np.exp(values)[:, np.newaxis, np.newaxis]).sum(axis=0)
        np.testing.assert_allclose(p[i], want, rtol=1e-9, atol=1e-300)
        labels = np.array(LABELS)[codes]
        assert log_p[i] == pytest.approx(values[(labels == y[i]).all(axis=1)][0])
        agree = (labels[:, 1:-1] == y[i][1:-1]).all(axis=1)
        assert log_partial[i] == pytest.approx(logsumexp(values[agree]))
        runs = [segments.runs(row) for row in labels.tolist()]
        assert [span[:3] for span in spans[i]] == segments.runs(model.predict([x])[0].tolist())
        for *span, probability in spans[i]:
            has = [tuple(span) in own for own in runs]
            assert probability == pytest.approx(np.exp(logsumexp(values[has])))
    short = [["b"] + ["a"] + ["b"] * (len(labels) - 2) for labels in y]
    assert np.isneginf(calibrated.log_proba(X, short)).all()
    assert np.isneginf(calibrated.log_proba(X, [["z"] * len(labels) for labels in y])).all()


def test_temperature_maximizes_the_likelihood(fitted):
    X, y = sequences(np.random.default_rng(4), 40)
    model = CalibratedSSVM(FrozenEstimator(fitted[0])).fit(X, y)

    def loss(temperature):
        total = 0
        for x, labels in zip(X, y, strict=True):
            codes, values = enumerated(fitted[0], x)
            true = (np.array(LABELS)[codes] == labels).all(axis=1)
            total += logsumexp(values / temperature) - values[true][0] / temperature
        return total

    best = loss(model.temperature_)
    assert best < min(loss(1.02 * model.temperature_), loss(0.98 * model.temperature_))


def test_samples_are_allowed_and_do_not_depend_on_other_sequences(calibrated):
    X, _ = sequences(np.random.default_rng(5), 6)
    draws = calibrated.sample(X, 50, random_state=0)
    for x, rows in zip(X, draws, strict=True):
        assert rows.shape == (50, len(x))
        for row in rows.tolist():
            codes = [LABELS.index(label) for label in row]
            assert segments.is_within(codes, True, True, LEAST, MOST)
    for rows, other in zip(draws[:3], calibrated.sample(X[:3], 50, random_state=0), strict=True):
        assert rows.tolist() == other.tolist()


def test_results_do_not_depend_on_n_jobs(fitted):
    X, y = sequences(np.random.default_rng(6), 150)
    found = []
    for n_jobs in (1, 2, 3):
        model = CalibratedSSVM(FrozenEstimator(fitted[0].set_params(n_jobs=n_jobs))).fit(X, y)
        p = np.concatenate(model.predict_proba(X))
        scores = np.concatenate(model.decision_function(X))
        found.append((model.temperature_, p.tobytes(), scores.tobytes()))
    fitted[0].set_params(n_jobs=None)
    assert found[0] == found[1] == found[2]


def test_schemes_are_not_for_segments(calibrated):
    X, _ = sequences(np.random.default_rng(7), 2)
    for options in ({"scheme": "bioes"}, {"suffix": True}):
        with pytest.raises(ValueError, match="whose spans are its segments; found scheme="):
            calibrated.predict_spans(X, **options)


def test_prediction_sets_contain_the_truth(fitted):
    X, y = sequences(np.random.default_rng(8), 120)
    frozen = FrozenEstimator(fitted[0])
    sets = ConformalSSVM(frozen, confidence_level=0.8).fit(X[:60], y[:60])
    # The conformity score of a labeling is the gap to the best other one, from enumeration.
    gaps = []
    for x, labels in zip(X[:60], y[:60], strict=True):
        codes, values = enumerated(fitted[0], x)
        true = (np.array(LABELS)[codes] == labels).all(axis=1)
        gaps.append(values[~true].max() - values[true][0])
    np.testing.assert_allclose(sets.conformity_scores_, np.sort(gaps), atol=1e-10)
    labelings, complete = sets.predict_set(X[60:])
    assert complete.all()
    hits = [(rows == own).all(axis=1).any() for rows, own in zip(labelings, y[60:], strict=True)]
    assert np.mean(hits) > 0.65
    nodes, _ = ConformalSSVM(frozen, target="nodes").fit(X[:60], y[:60]).predict_set(X[60:])
    misses = [
        1 - own[np.arange(len(labels)), np.searchsorted(LABELS, labels)].mean()
        for own, labels in zip(nodes, y[60:], strict=True)
    ]
    assert np.mean(misses) < 0.2
