"""Test the temperature that maximizes a likelihood."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from sstruct._estimators.calibration.temperature import fit_temperature


def categorical(scores, truth):
    """Return the loss of samples with a score for each of their outcomes."""

    def loss(scale):
        scaled = scale * scores
        return (logsumexp(scaled, axis=1) - scaled[np.arange(len(truth)), truth]).sum()

    return loss


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 1e-2, 1.0, 50.0, 1e6]))
def test_the_derivative_is_zero(seed, size):
    rng = np.random.default_rng(seed)
    scores = size * rng.standard_normal((60, 4))
    p = np.exp(scores / size * 1.5)
    truth = np.array([rng.choice(4, p=row / row.sum()) for row in p])
    T, warning = fit_temperature(categorical(scores, truth))
    assert warning is None
    at = np.exp(scores / T - logsumexp(scores / T, axis=1, keepdims=True))
    slope = ((at * scores).sum(axis=1) - scores[np.arange(60), truth]).sum()
    curvature = ((at * scores**2).sum(axis=1) - (at * scores).sum(axis=1) ** 2).sum()
    assert abs(slope / curvature) * T < 1e-5  # the relative Newton step in 1 / T
    assert T / size == pytest.approx(1 / 1.5, rel=0.9)


@pytest.mark.parametrize("size", [1e-5, 1.0, 1e5])
def test_perfect_predictions_have_joint_probability_one_half(size):
    loss = categorical(size * np.array([[1.0, 0.0], [3.0, 1.0]]), np.array([0, 0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        T, warning = fit_temperature(loss)
    assert "no errors" in warning
    assert loss(1 / T) == pytest.approx(math.log(2), rel=1e-5)


@pytest.mark.parametrize("truth", [1, 2])
def test_scores_without_information(truth):
    scores = np.array([[1.0, 0.0, -1.0]] * 3)
    T, warning = fit_temperature(categorical(scores, np.full(3, truth)))
    assert "do not predict" in warning
    assert np.isfinite(T)
    np.testing.assert_allclose(np.exp(scores / T), 1)


@pytest.mark.parametrize("truth, message", [(0, "no errors"), (1, "do not predict")])
def test_one_sample_with_two_labelings(truth, message):
    scores = np.array([[1.0, 0.0]])
    T, warning = fit_temperature(categorical(scores, np.array([truth])))
    assert message in warning
    np.testing.assert_allclose(np.exp(scores / T), 1)


def test_single_outcomes_need_no_temperature():
    assert fit_temperature(lambda scale: 0.0) == (1.0, None)
