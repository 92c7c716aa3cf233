"""CalibrationDisplay draws the calibration curve of nodes and spans."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from sstruct import ChainSSVM
from sstruct.calibration import CalibratedSSVM
from sstruct.datasets import make_sequences
from sstruct.plotting import CalibrationDisplay


@pytest.fixture(scope="module")
def fitted():
    X, y = make_sequences(n_samples=90, random_state=0)
    return CalibratedSSVM(ChainSSVM(random_state=0)).fit(X[:40], y[:40]), X[40:], y[40:]


def test_nodes(fitted):
    model, X, y = fitted
    _, ax = plt.subplots()
    display = CalibrationDisplay.from_estimator(model, X, y, n_bins=4, ax=ax)
    p, truth = np.concatenate(model.predict_proba(X)), np.concatenate(y)
    right = model.classes_[p.argmax(axis=1)] == truth
    true, mean = calibration_curve(right, p.max(axis=1).clip(0, 1), n_bins=4, pos_label=True)
    np.testing.assert_allclose(display.prob_true, true)
    np.testing.assert_allclose(display.prob_pred, mean)
    np.testing.assert_allclose(display.line_.get_ydata(), true)
    assert display.ax_ is ax
    assert isinstance(display, CalibrationDisplay)
    assert display.estimator_name == "CalibratedSSVM"
    one = CalibrationDisplay.from_estimator(
        model, X, y, label=2, name="two", strategy="quantile", color="red"
    )
    true, mean = calibration_curve(
        truth == 2, p[:, 2].clip(0, 1), strategy="quantile", pos_label=True
    )
    np.testing.assert_allclose(one.prob_true, true)
    assert one.line_.get_color() == "red"
    assert one.estimator_name == "two"
    assert one.ax_.get_ylabel() == "Fraction of true 2s"


def test_ignored_labels(fitted):
    model, X, y = fitted
    hidden = [np.where(labels == 1, -1, labels) for labels in y]
    display = CalibrationDisplay.from_estimator(model, X, hidden, ignore_label=-1)
    assert len(display.y_prob) == (np.concatenate(y) != 1).sum()


def test_spans():
    y_true = [["B-a", "O"], ["O", "B-a"], ["B-b", "O"]]
    spans = [[(0, 1, "a", 0.9)], [(0, 1, "a", 0.3)], [(0, 1, "b", 0.85)]]
    display = CalibrationDisplay.from_spans(y_true, spans, name="tagger")
    np.testing.assert_allclose(display.prob_pred, [0.3, 0.875])
    np.testing.assert_allclose(display.prob_true, [0, 1])
    assert display.ax_.get_xlabel() == "Mean probability of the span"
    with pytest.raises(ValueError, match="y_spans has no spans to draw"):
        CalibrationDisplay.from_spans(y_true, [[]] * 3)


def test_unknown_label(fitted):
    model, X, y = fitted
    with pytest.raises(ValueError, match="label 9 is not among labels"):
        CalibrationDisplay.from_estimator(model, X, y, label=9)


def test_pos_label(fitted):
    model, X, y = fitted
    with pytest.raises(TypeError, match="no parameter pos_label; use label"):
        CalibrationDisplay.from_estimator(model, X, y, pos_label=1)
