"""The threshold of held-out scores equals its definition, in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct._estimators.calibration.risk_control import HeldOutScores

VALUES = (-np.inf, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, np.inf)
samples_with_scores = st.lists(st.lists(st.sampled_from(VALUES), max_size=4), min_size=1)


def risk(scores, weights, t):
    """Return the weighted mean of the losses, with one additional sample whose loss is 1."""
    total, n = sum(weights), sum(w > 0 for w in weights)
    losses = [Fraction(sum(s > t for s in own), max(len(own), 1)) for own in scores]
    weighted = sum(Fraction(w) * n / total * loss for w, loss in zip(weights, losses, strict=True))
    return (weighted + 1) / (n + 1)


def held_out(scores, weights):
    samples = np.repeat(np.arange(len(scores)), [len(own) for own in scores])
    flat = np.array([s for own in scores for s in own], dtype=float)
    return HeldOutScores.from_samples(flat, samples, np.array(weights, dtype=float))


@given(samples_with_scores, st.integers(1, 99), st.data())
def test_the_threshold_is_the_smallest_with_a_small_risk(scores, percent, data):
    n = len(scores)
    weights = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    least = data.draw(st.sampled_from((-np.inf, -0.75, 0.0)))
    found = held_out(scores, weights).threshold(percent / 100, least)
    alpha = 1 - Fraction(percent, 100)
    values = sorted({least, *VALUES[:-1]})
    fine = [t for t in values if t >= least and risk(scores, weights, t) <= alpha]
    assert found == (fine[0] if fine else np.inf)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=60), st.integers(1, 99))
def test_one_score_per_sample_is_the_quantile_of_split_conformal_prediction(scores, percent):
    rank = -((-(len(scores) + 1) * percent) // 100)
    expected = np.inf if rank > len(scores) else sorted(scores)[rank - 1]
    found = held_out([[s] for s in scores], np.ones(len(scores))).threshold(percent / 100)
    assert found == expected


@pytest.mark.parametrize("n, level", [(9, 0.9), (19, 0.95), (99, 0.99), (4, 0.8), (9, 0.7)])
def test_rounding_of_levels_does_not_matter(n, level):
    scores = held_out([[float(i)] for i in range(n)], np.ones(n))
    assert scores.threshold(level) == round(level * (n + 1)) - 1
    fewer = held_out([[float(i)] for i in range(n)][: round(level / (1 - level)) - 1],
                     np.ones(min(n, round(level / (1 - level)) - 1)))  # fmt: skip
    assert fewer.threshold(level) == np.inf


def test_the_unit_of_weights_does_not_matter():
    scores, weights = [[1.0], [2.0, 3.0], [], [4.0], [1.5]], [1, 2, 1, 0, 3]
    small = held_out(scores, np.array(weights) * 1e-200)
    assert small.threshold(0.5) == held_out(scores, weights).threshold(0.5)
    assert small.n_samples == 4
