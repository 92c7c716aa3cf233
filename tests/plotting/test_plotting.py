"""Displays: what is drawn, not how it looks."""

import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sstruct import plotting
from sstruct.plotting import ConvergenceDisplay, SegmentationDisplay, TransitionDisplay

plt = pytest.importorskip("matplotlib.pyplot")


class Fake(BaseEstimator):
    """Has the attributes of a fitted estimator and nothing else."""

    def fit(self, X, y):
        return self


def fitted(**attributes):
    estimator = Fake()
    vars(estimator).update(attributes)
    return estimator


def history(n_passes=30, every=10, rate=0.2):
    """Passes of a made-up fit, certificates every few of them and at the end."""
    passes = np.arange(1, n_passes + 1)
    certified = (passes % every == 0) | (passes == 1)
    certified[-1] = True
    gap = np.exp(-rate * passes)
    nothing = np.full(n_passes, np.nan)
    return {
        "seconds": 0.01 * passes + 0.1 * np.cumsum(certified),
        "certificate_seconds": 0.1 * np.cumsum(certified),
        "passes": passes.astype(float),
        "oracle_calls": 100 * passes,
        "approximate_passes": 3 * passes,
        "primal": np.where(certified, 0.5 + gap / 2, nothing),
        "dual": 0.5 - gap / 2,
        "gap": np.where(certified, gap, nothing),
        "working_set_size": passes,
    }


def without_dual():
    past = history()
    return past | {"gap": np.full_like(past["gap"], np.nan), "dual": np.full(30, np.nan)}


def test_public_names():
    assert plotting.__all__ == [
        "BoundDisplay",
        "ConvergenceDisplay",
        "RegularizationPathDisplay",
        "SegmentationDisplay",
        "TransitionDisplay",
    ]


@pytest.mark.parametrize(
    "display",
    [
        ConvergenceDisplay({}),
        SegmentationDisplay({"truth": [[0, 1]]}, [0, 1]),
        TransitionDisplay(np.eye(2), ["a", "b"]),
    ],
    ids=lambda display: type(display).__name__,
)
def test_without_matplotlib_the_error_says_what_to_install(display, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=rf"{type(display).__name__}.plot .* sstruct\[plot\]"):
        display.plot()


# Convergence


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ("seconds", [0.01, 0.1, 0.2, 0.3]),
        ("oracle_calls", [100, 1000, 2000, 3000]),
        ("passes", [1, 10, 20, 30]),
    ],
)
def test_relative_gap_at_certificates_only(x, expected):
    past = history()
    display = ConvergenceDisplay.from_estimator(fitted(history_=past), x=x)
    (line,) = display.lines_
    # Seconds are the solver's: without those spent on certificates.
    np.testing.assert_allclose(line.get_xdata(), expected)
    certified = np.isfinite(past["gap"])
    np.testing.assert_allclose(line.get_ydata(), (past["gap"] / past["primal"])[certified])
    assert display.ax_.get_yscale() == "log"
    assert display.figure_ is display.ax_.figure
    assert line.get_label() == "Fake"


def test_primal_and_dual_share_a_colour():
    fits = {"a": fitted(history_=history()), "b": fitted(history_=history(rate=0.5))}
    display = ConvergenceDisplay.from_estimators(fits, x="passes", y="primal_dual")
    labels = [line.get_label() for line in display.lines_]
    assert labels == ["a, primal", "a, dual", "b, primal", "b, dual"]
    # The dual is known after every pass, the primal at certificates.
    assert [len(line.get_xdata()) for line in display.lines_] == [4, 30, 4, 30]
    colors = [line.get_color() for line in display.lines_]
    assert colors[0] == colors[1] != colors[2] == colors[3]
    assert display.ax_.get_yscale() == "linear"


def test_a_closed_gap_is_left_out():
    past = history()
    past["gap"][-1] = past["primal"][-1] = 0.0
    display = ConvergenceDisplay({"a": past}).plot()
    assert len(display.lines_[0].get_ydata()) == 3


def test_solver_without_a_dual():
    past = {"ssg": without_dual()}
    display = ConvergenceDisplay(past).plot(y="primal_dual")
    assert [line.get_label() for line in display.lines_] == ["ssg, primal"]
    n_figures = len(plt.get_fignums())
    with pytest.raises(ValueError, match="'ssg' has no duality gap"):
        ConvergenceDisplay(past).plot()
    assert len(plt.get_fignums()) == n_figures


def test_convergence_axes_name_and_options():
    _, ax = plt.subplots()
    display = ConvergenceDisplay.from_estimator(
        fitted(history_=history()), name="fit", ax=ax, color="red", marker="x"
    )
    assert display.ax_ is ax
    assert display.lines_[0].get_color() == "red"
    assert display.lines_[0].get_marker() == "x"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["fit"]


@pytest.mark.parametrize("arguments", [{"x": "time"}, {"y": "gap"}])
def test_convergence_unknown_axis(arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        ConvergenceDisplay({"a": history()}).plot(**arguments)


def test_convergence_of_an_unfitted_estimator():
    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(fitted())


# Transitions


def chain(n_labels=3, boundaries=True, seed=0):
    rng = np.random.default_rng(seed)
    attributes = {
        "edge_coef_": rng.normal(size=(n_labels, n_labels)),
        "classes_": np.array([f"l{k}" for k in range(n_labels)]),
    }
    for name in ("start_coef_", "end_coef_"):
        attributes[name] = rng.normal(size=n_labels) if boundaries else np.zeros(n_labels)
    return fitted(**attributes)


def tick_names(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


def test_transitions_with_boundaries():
    model = chain()
    display = TransitionDisplay.from_estimator(model)
    table = display.im_.get_array()
    assert table.shape == (4, 4)
    np.testing.assert_array_equal(table[1:, :3], model.edge_coef_)
    np.testing.assert_array_equal(table[0, :3], model.start_coef_)
    np.testing.assert_array_equal(table[1:, 3], model.end_coef_)
    assert table.mask[0, 3]
    assert tick_names(display.ax_.xaxis) == ["l0", "l1", "l2", "end"]
    assert tick_names(display.ax_.yaxis) == ["start", "l0", "l1", "l2"]
    low, high = display.im_.get_clim()
    assert low == -high == -np.abs(table).max()
    assert display.colorbar_ is not None


def test_zero_or_absent_boundaries_are_not_drawn():
    model = chain(boundaries=False)
    assert TransitionDisplay.from_estimator(model).im_.get_array().shape == (3, 3)
    del model.start_coef_, model.end_coef_
    assert TransitionDisplay.from_estimator(model).im_.get_array().shape == (3, 3)


def test_end_weights_alone():
    display = TransitionDisplay(np.eye(2), ["a", "b"], end_coef=[1.0, 2.0]).plot()
    assert display.im_.get_array().shape == (2, 3)
    assert tick_names(display.ax_.yaxis) == ["a", "b"]


def test_many_labels_have_fewer_ticks():
    names = tick_names(TransitionDisplay.from_estimator(chain(65)).ax_.xaxis)
    assert names[:2] == ["l1", "l4"]
    assert len(names) <= 31
    assert names[-1] == "end"


def test_forbidden_transitions_do_not_set_the_scale():
    display = TransitionDisplay([[1.0, -np.inf], [0.5, 2.0]], [0, 1]).plot()
    assert display.im_.get_clim() == (-2, 2)


def test_transitions_of_zero():
    assert TransitionDisplay(np.zeros((2, 2)), [0, 1]).plot().im_.get_clim() == (-1, 1)


def test_transition_axes_and_options():
    _, ax = plt.subplots()
    display = TransitionDisplay.from_estimator(chain(), ax=ax, colorbar=False, vmax=5.0)
    assert display.ax_ is ax
    assert display.colorbar_ is None
    assert display.im_.get_clim()[1] == 5


def test_transition_shapes_and_unfitted():
    with pytest.raises(ValueError, match=r"shape \(2, 2\) and there are 3 classes"):
        TransitionDisplay(np.eye(2), ["a", "b", "c"]).plot()
    with pytest.raises(NotFittedError):
        TransitionDisplay.from_estimator(fitted())


# Segmentations


def test_segmentations_beside_the_image():
    truth, wrong = np.array([["a", "b"], ["b", "?"]]), np.array([["a", "a"], ["b", "b"]])
    display = SegmentationDisplay.from_predictions(
        truth, {"right": truth, "wrong": wrong}, image=np.zeros((2, 2, 3)), classes=["b", "a"]
    )
    titles = [axes.get_title() for axes in display.axes_]
    # The pixel whose label is none of the classes is not counted.
    assert titles == ["image", "truth", "right, 100.0 %", "wrong, 66.7 %"]
    shown = display.images_[1].get_array()
    assert shown.mask.tolist() == [[False, False], [False, True]]
    assert shown[~shown.mask].tolist() == [1, 0, 0]
    assert display.images_[3].get_array().tolist() == [[1, 1], [0, 0]]


def test_segmentations_say_that_they_are_approximate():
    labels = np.array([[3, 5]])
    display = SegmentationDisplay.from_predictions(None, labels, approximate=True)
    assert [axes.get_title() for axes in display.axes_] == ["prediction (approximate)"]
    assert display.images_[0].get_array().tolist() == [[0, 1]]


def test_segmentation_shapes_and_axes():
    labels = np.zeros((2, 3), dtype=int)
    with pytest.raises(ValueError, match=r"'prediction' have shape \(3, 2\).* here \(2, 3\)"):
        SegmentationDisplay.from_predictions(labels, labels.T)
    with pytest.raises(ValueError, match=r"'truth' have shape \(6,\)"):
        SegmentationDisplay.from_predictions(labels.ravel(), labels)
    _, axes = plt.subplots(1, 2)
    display = SegmentationDisplay.from_predictions(labels, labels, axes=axes)
    assert display.axes_[1] is axes[1]
    with pytest.raises(ValueError, match="1 axes for 2 panels"):
        SegmentationDisplay.from_predictions(labels, labels, axes=axes[:1])
