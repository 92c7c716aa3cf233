"""Test the temperature, the probabilities and the input formats of CalibratedSSVM."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, KFold

from sstruct import ChainSSVM, LatentSSVM, PathCV, StructuredSVM
from sstruct._input.ragged import NoNodesError
from sstruct.calibration import CalibratedSSVM
from sstruct.datasets import make_sequences
from sstruct.spans import spans_of


def chain(**options):
    return ChainSSVM(**{"lam": 0.1, "random_state": 0} | options)


@pytest.fixture(scope="module")
def data():
    """Return short noisy sequences of three labels."""
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 3, length) for length in rng.integers(1, 5, 40)]
    X = [np.eye(3)[labels] + 0.8 * rng.standard_normal((len(labels), 3)) for labels in y]
    return X, y


@pytest.fixture(scope="module")
def model(data):
    return CalibratedSSVM(chain(), cv=4).fit(*data)


def mask(before, after):
    return (before, after) not in ((2, 0), (None, 1))


def distribution(model, x):
    """Return all labelings of a sample and their log-probabilities."""
    labels, scores = model.estimator_.predict_top_k([x], 10**6)
    scaled = scores[0] / model.temperature_
    return labels[0], scaled - logsumexp(scaled)


def log_likelihood(estimator, X, y, T, weights=None):
    """Return the sum of the log-probabilities of labelings, by enumeration."""
    total = 0
    for i, (labels, scores) in enumerate(zip(*estimator.predict_top_k(X, 10**6), strict=True)):
        agrees = np.array([[label in (-1, t) for label, t in zip(y[i], row)] for row in labels])
        agrees = agrees.all(axis=1)
        value = logsumexp(scores[agrees] / T) - logsumexp(scores / T)
        total += value * (1 if weights is None else weights[i])
    return total


def best_temperature(parts):
    """Return the temperature with the largest likelihood, given tuples (model, X, y, weights)."""

    def loss(t):
        parts_at = [log_likelihood(m, X, y, np.exp(t), w) for m, X, y, w in parts]
        return -sum(parts_at)

    grid = np.linspace(-6, 6, 61)
    t = grid[np.argmin([loss(t) for t in grid])]
    return np.exp(minimize_scalar(loss, bounds=(t - 0.2, t + 0.2), method="bounded").x)


def pick(values, rows):
    return [values[i] for i in rows]


@pytest.mark.parametrize("options", [{}, {"transition_mask": mask, "classes": [0, 1, 2]}])
def test_probabilities_equal_enumeration(data, options):
    X, y = data
    if options:
        y = [np.sort(labels) for labels in y]
        y = [np.where(labels[0] == 1, 2, labels) for labels in y]
    model = CalibratedSSVM(chain(**options)).fit(X, y)
    assert abs(np.log(model.temperature_)) > 0.01
    probabilities, log_p = model.predict_proba(X), model.log_proba(X, y)
    for i, x in enumerate(X):
        labels, expected = distribution(model, x)
        marginals = (labels[:, :, None] == model.classes_) * np.exp(expected)[:, None, None]
        np.testing.assert_allclose(probabilities[i], marginals.sum(axis=0), rtol=0, atol=1e-10)
        expected_log_p = expected[(labels == y[i]).all(axis=1)].item()
        assert log_p[i] == pytest.approx(expected_log_p, rel=1e-10, abs=1e-10)
    assert probabilities[0].shape == (len(X[0]), 3)


def test_the_temperature_has_the_largest_held_out_likelihood(data, model):
    X, y = data
    parts = []
    for train, test in KFold(4).split(X):
        estimator = chain().fit(pick(X, train), pick(y, train))
        parts.append((estimator, pick(X, test), pick(y, test), None))
    assert model.temperature_ == pytest.approx(best_temperature(parts), rel=1e-5)
    np.testing.assert_array_equal(model.estimator_.w_, chain().fit(X, y).w_)


def test_weights_and_unknown_labels_in_the_likelihood(data):
    X, y = data
    y = [np.where(np.arange(len(labels)) % 3 == 1, -1, labels) for labels in y]
    weights = np.arange(len(X)) % 3.0
    cv = [(np.arange(20), np.arange(20, 40))]
    model = CalibratedSSVM(chain(ignore_label=-1), cv=cv).fit(X, y, weights)
    estimator = chain(ignore_label=-1).fit(X[:20], y[:20], weights[:20])
    expected = best_temperature([(estimator, X[20:], y[20:], weights[20:])])
    assert model.temperature_ == pytest.approx(expected, rel=1e-5)
    other = CalibratedSSVM(chain(ignore_label=-1), cv=cv).fit(X, y)
    assert abs(other.temperature_ - expected) > 1e-3


def test_a_frozen_estimator_is_not_fitted_again(data):
    X, y = data
    estimator = chain().fit(X[:20], y[:20])
    w = estimator.w_
    model = CalibratedSSVM(FrozenEstimator(estimator)).fit(X[20:], y[20:])
    expected = best_temperature([(estimator, X[20:], y[20:], None)])
    assert model.temperature_ == pytest.approx(expected, rel=1e-5)
    estimator.fit(X[20:], y[20:])  # does not change the calibrated model
    np.testing.assert_array_equal(model.estimator_.w_, w)
    assert isinstance(clone(model).estimator, FrozenEstimator)
    with pytest.raises(NotFittedError):
        CalibratedSSVM(FrozenEstimator(chain())).fit(X, y)


def test_labels_missing_from_a_training_split_are_unknown_in_its_test_split(data):
    X, y = data
    rare = [labels.astype(int) for labels in y]
    rare[0] = np.full(len(rare[0]), 9)
    model = CalibratedSSVM(chain()).fit(X, rare)
    assert 9 in model.classes_
    parts = []
    for train, test in KFold(5).split(X):
        marked = [np.where(labels == 9, -1, labels) for labels in pick(rare, test)]
        estimator = chain().fit(pick(X, train), pick(rare, train))
        parts.append((estimator, pick(X, test), marked, None))
    assert model.temperature_ == pytest.approx(best_temperature(parts), rel=1e-5)


@pytest.mark.filterwarnings("ignore:temperature_")
def test_log_proba_of_other_labelings(data):
    X, y = data
    model = CalibratedSSVM(chain(ignore_label=-1)).fit(X, y)
    partly = [np.full(len(labels), -1) for labels in y]
    np.testing.assert_allclose(model.log_proba(X, partly), 0, atol=1e-12)
    partly[3][-1] = 2
    one = model.predict_proba(X)[3][-1, 2]
    assert model.log_proba(X, partly)[3] == pytest.approx(np.log(one), rel=1e-10)
    partly[3][-1] = 7
    assert model.log_proba(X, partly)[3] == -np.inf
    masked = CalibratedSSVM(chain(transition_mask=mask, classes=[0, 1, 2]))
    masked.fit(X, [np.zeros_like(labels) for labels in y])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert masked.log_proba([X[0][:1]], [[1]]).tolist() == [-np.inf]


@pytest.mark.filterwarnings("ignore:temperature_")
def test_a_sequence_without_an_allowed_labeling(data):
    X, _ = data
    ends = {(None, 1), (None, 2), (0, None)}
    y = [[0, *[1] * (len(x) - 1)] for x in X if len(x) > 1]
    X = [x for x in X if len(x) > 1]
    estimator = chain(transition_mask=lambda a, b: (a, b) not in ends, classes=[0, 1, 2])
    model = CalibratedSSVM(estimator).fit(X, y)
    message = r"forbids every labeling of X\[2\], which has 1 nodes"
    with pytest.raises(ValueError, match=message):
        model.predict_proba([X[0], np.empty((0, 3)), X[0][:1]])
    assert model.log_proba([X[0][:1]], [[0]]).tolist() == [-np.inf]


def test_samples_follow_the_distribution(data, model):
    X, _ = data
    X = [X[0], np.empty((0, 3)), X[1]]
    draws = model.sample(X, 4000, random_state=0)
    assert [d.shape for d in draws] == [(4000, len(x)) for x in X]
    for d, p in zip(draws, model.predict_proba(X), strict=True):
        shares = (d[:, :, None] == model.classes_).mean(axis=0)
        np.testing.assert_allclose(shares, p, atol=0.04)
    again = model.sample(X[:1], 4000, random_state=0)
    np.testing.assert_array_equal(again[0], draws[0])
    again = model.sample([X[2], X[0], X[2]], 4000, random_state=0)
    np.testing.assert_array_equal(again[2], draws[2])
    assert model.sample(X)[0].shape == (1, len(X[0]))


def test_spans_equal_enumeration():
    rng = np.random.default_rng(1)
    tags = np.array(["O", "B-a", "I-a", "B-b", "I-b"])
    codes = [rng.integers(0, 5, 4) for _ in range(30)]
    X = [np.eye(5)[c] + 0.7 * rng.standard_normal((4, 5)) for c in codes]
    model = CalibratedSSVM(chain()).fit(X, [tags[c] for c in codes])
    X.insert(1, np.empty((0, 5)))
    predicted = model.predict_spans(X)
    assert predicted[1] == []
    for x, spans, labels in zip(X, predicted, model.predict(X), strict=True):
        assert [span[:3] for span in spans] == spans_of(labels.tolist())
        if not len(x):
            continue
        every, log_p = distribution(model, x)
        all_spans = [spans_of(row.tolist()) for row in every]
        for *span, p in spans:
            has = np.array([tuple(span) in each for each in all_spans])
            assert p == pytest.approx(np.exp(log_p[has]).sum(), rel=1e-10)
    with pytest.raises(ValueError, match=r"classes_\[0\] is 'B-a'.*scheme 'io'"):
        model.predict_spans(X, scheme="io")


def calibration_error(p, right, bins=10):
    index = np.minimum((p * bins).astype(int), bins - 1)
    return sum(abs((p - right)[index == b].sum()) for b in range(bins)) / len(p)


def test_the_calibration_error_drops():
    X, y = make_sequences(n_samples=900, random_state=0)
    model = CalibratedSSVM(ChainSSVM(random_state=0)).fit(X[:300], y[:300])
    truth = np.concatenate(y[300:])

    def error(model):
        p = np.concatenate(model.predict_proba(X[300:]))
        return calibration_error(p.max(axis=1), model.classes_[p.argmax(axis=1)] == truth)

    fitted = error(model)
    raw = clone(model).fit(X[:300], y[:300])
    raw.temperature_ = 1.0
    assert fitted < 0.02 < 0.05 < error(raw)


def test_the_scale_of_the_scores_does_not_matter(data):
    X, y = data
    frozen = [chain().fit(X[:20], y[:20]) for _ in range(2)]
    frozen[1]._publish({"_w": 1000 * frozen[1]._w})
    one, other = (CalibratedSSVM(FrozenEstimator(m)).fit(X[20:], y[20:]) for m in frozen)
    assert other.temperature_ == pytest.approx(1000 * one.temperature_, rel=1e-5)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_unit_of_sample_weights_does_not_matter(data, factor):
    X, y = data
    frozen = CalibratedSSVM(FrozenEstimator(chain().fit(X[:20], y[:20])))
    expected = frozen.fit(X[20:], y[20:]).temperature_
    weighted = frozen.fit(X[20:], y[20:], np.full(20, factor)).temperature_
    assert weighted == pytest.approx(expected, rel=1e-5)


def test_warnings_for_perfect_and_useless_models(data):
    X, y = data
    exact = [np.eye(3)[labels] for labels in y]
    with pytest.warns(UserWarning, match="no errors on the held-out samples"):
        model = CalibratedSSVM(chain(lam=0.001)).fit(exact, y)
    assert np.isfinite(model.log_proba(exact, y)).all()
    wrong = chain().fit(exact, [(labels + 1) % 3 for labels in y])
    with pytest.warns(UserWarning, match="do not predict the held-out labels"):
        model = CalibratedSSVM(FrozenEstimator(wrong)).fit(exact, y)
    np.testing.assert_allclose(np.concatenate(model.predict_proba(X)), 1 / 3)


def test_other_forms_of_input(data):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = np.c_[y, 1 - y] + rng.standard_normal((60, 2))
    rows = CalibratedSSVM(chain(transitions=False)).fit(X, y)
    assert rows.predict_proba(X).shape == (60, 2)
    assert rows.log_proba(X, y).shape == (60,)
    assert rows.sample(X, 3)[0].shape == (3,)
    stacked = CalibratedSSVM(chain()).fit(X.reshape(20, 3, 2), y.reshape(20, 3))
    assert stacked.predict_proba(X.reshape(20, 3, 2)).shape == (20, 3, 2)
    assert len(stacked.predict_proba([np.empty((0, 2))])[0]) == 0
    assert stacked.sample([np.empty((0, 2))], 2)[0].shape == (2, 0)
    assert stacked.log_proba([np.empty((0, 2))], [[]]).tolist() == [0]


def test_damaged_states(data, model):
    state = model.__getstate__() | {"temperature_": -1.0}
    with pytest.raises(ValueError, match=r"temperature_ is -1\.0.*above 0"):
        CalibratedSSVM(chain()).__setstate__(state)


@pytest.mark.parametrize(
    "estimator, kind, message",
    [
        (StructuredSVM(None), ValueError, "must be one of ChainSSVM, .* found StructuredSVM"),
        (LatentSSVM(chain()), ValueError, "must be one of ChainSSVM"),
        (PathCV(chain()), ValueError, "must be one of ChainSSVM"),
        (
            FrozenEstimator(GridSearchCV(chain(), {"lam": [0.1]})),
            ValueError,
            "fit the GridSearchCV first, and pass its best_estimator_",
        ),
        (FrozenEstimator(StructuredSVM(None)), ValueError, "must be one of ChainSSVM"),
        (ChainSSVM, TypeError, "must be one of ChainSSVM"),
    ],
)
def test_error_for_unsupported_estimators(data, estimator, kind, message):
    with pytest.raises(kind, match=message):
        CalibratedSSVM(estimator).fit(*data)


def test_invalid_data(data, model):
    X, y = data
    with pytest.raises(ValueError, match="sample_weight"):
        CalibratedSSVM(chain()).fit(X, y, np.ones(3))
    with pytest.raises(ValueError, match="X has 40 samples but y has 39"):
        CalibratedSSVM(chain()).fit(X, y[:39])
    with pytest.raises(ValueError, match=r"X\[0\] has .* nodes but y\[0\] has"):
        model.log_proba(X[:1], [[0] * 9])
    with pytest.raises(ValueError, match="n_samples must be"):
        model.sample(X, 0)
    with pytest.raises(ValueError, match="random_state must be"):
        model.sample(X, random_state="a")
    hidden = [*y[:20], *(np.full(len(labels), -1) for labels in y[20:])]
    cv = [(np.arange(20), np.arange(20, 40))]
    with pytest.raises(NoNodesError, match="no held-out sample"):
        CalibratedSSVM(chain(ignore_label=-1), cv=cv).fit(X, hidden)
