"""Test the content of displays, but not their style."""

import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sstruct import ChainSSVM, GraphCRFSSVM, GridCRFSSVM, LatentSSVM, PathCV
from sstruct._input.labels import object_array
from sstruct.datasets import make_grids, make_sequences
from sstruct.plotting import (
    ConvergenceDisplay,
    DependencyDisplay,
    MatchingDisplay,
    SegmentationDisplay,
    SignalDisplay,
    SpanDisplay,
    TransitionDisplay,
)
from sstruct.preprocessing import pixel_labels, superpixel_graph

plt = pytest.importorskip("matplotlib.pyplot")


class Fake(BaseEstimator):
    """An object with only the attributes of a fitted estimator."""

    def fit(self, X, y):
        return self


def fitted(**attributes):
    estimator = Fake()
    vars(estimator).update(attributes)
    return estimator


def history(n_passes=30, every=10, rate=0.2):
    """Return the history of a simulated fit, with certificates every few passes and at the end."""
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


@pytest.mark.parametrize(
    "display",
    [
        ConvergenceDisplay({}),
        SegmentationDisplay({"truth": [[0, 1]]}, [0, 1]),
        TransitionDisplay(np.eye(2), ["a", "b"]),
        SpanDisplay([[]], [[]]),
        DependencyDisplay(None, np.array([0])),
        MatchingDisplay(None, np.array([0]), 1),
        SignalDisplay(np.zeros(2), {}),
    ],
    ids=lambda display: type(display).__name__,
)
def test_error_without_matplotlib(display, monkeypatch):
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
    # The time for certificates is not included.
    np.testing.assert_allclose(line.get_xdata(), expected)
    certified = np.isfinite(past["gap"])
    np.testing.assert_allclose(line.get_ydata(), (past["gap"] / past["primal"])[certified])
    assert display.ax_.get_yscale() == "log"
    assert display.figure_ is display.ax_.figure
    assert line.get_label() == "Fake"


def test_primal_and_dual_share_a_color():
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


def test_a_fit_without_an_objective_and_one_of_rounds():
    X, y = [np.eye(2), np.eye(2)], [[0, 1], [1, -1]]
    perceptron = ChainSSVM(solver="perceptron", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"no duality gap \(.*\), nor an objective"):
        ConvergenceDisplay.from_estimator(perceptron)
    latent = LatentSSVM(ChainSSVM(ignore_label=-1, random_state=0)).fit(X, y)
    with pytest.raises(
        ValueError, match="'LatentSSVM' has one entry per round, each of which is a fit"
    ):
        ConvergenceDisplay.from_estimator(latent)


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


def test_convergence_requires_dict_of_estimators():
    with pytest.raises(TypeError, match=r"estimators must be a dict of estimators by name, found"):
        ConvergenceDisplay.from_estimators([ChainSSVM()])


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


def test_plot_of_end_weights_only():
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
    with pytest.raises(ValueError, match=r"shape \(2, 2\), but there are 3 classes"):
        TransitionDisplay(np.eye(2), ["a", "b", "c"]).plot()
    with pytest.raises(ValueError, match=r"end_coef has shape \(3,\), expected \(2,\)"):
        TransitionDisplay(np.eye(2), ["a", "b"], end_coef=np.ones(3)).plot()
    with pytest.raises(NotFittedError):
        TransitionDisplay.from_estimator(fitted())


# Segmentations


def test_segmentations_beside_the_image():
    truth, wrong = np.array([["a", "b"], ["b", "?"]]), np.array([["a", "a"], ["b", "b"]])
    display = SegmentationDisplay.from_predictions(
        truth, {"right": truth, "wrong": wrong}, image=np.zeros((2, 2, 3)), classes=["b", "a"]
    )
    titles = [axes.get_title() for axes in display.axes_]
    # The pixel whose label is not among the classes is not counted.
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
    with pytest.raises(ValueError, match=r"'prediction' have shape \(3, 2\), expected \(2, 3\)"):
        SegmentationDisplay.from_predictions(labels, labels.T)
    with pytest.raises(ValueError, match=r"'truth' have shape \(6,\)"):
        SegmentationDisplay.from_predictions(labels.ravel(), labels)
    _, axes = plt.subplots(1, 2)
    display = SegmentationDisplay.from_predictions(labels, labels, axes=axes)
    assert display.axes_[1] is axes[1]
    with pytest.raises(ValueError, match="axes has 1 entries, expected one for each of 2 panels"):
        SegmentationDisplay.from_predictions(labels, labels, axes=axes[:1])


FLAT = np.zeros((2, 3), dtype=int)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"y_true": FLAT.ravel()}, r"'truth' have shape \(6,\), .*pixel_labels\(segments"),
        (
            {"y_pred": FLAT[np.newaxis]},
            r"'prediction' have shape \(1, 2, 3\), .* pass a single image",
        ),
        (
            {"y_pred": object_array([FLAT])},
            r"'prediction' have shape \(1,\), .* pass a single image",
        ),
        ({"y_pred": [[0, 1], [1]]}, r"'prediction' must be an array of shape \(height, width\)"),
        ({"y_pred": {"a": FLAT, "b": FLAT.T}}, r"'b' have shape \(3, 2\), expected \(2, 3\)"),
        ({"y_pred": {}}, "y_pred is empty"),
        ({"classes": [[0, 1]]}, r"classes has shape \(1, 2\), expected a list of labels"),
        ({"y_pred": {"truth": FLAT}}, "a prediction is named 'truth'"),
        (
            {"image": np.ones((3, 2))},
            r"image has shape \(3, 2\), expected \(2, 3\) like the labels",
        ),
        ({"image": np.ones((2, 3, 5))}, r"image has shape \(2, 3, 5\), .* or \(2, 3, 4\)"),
    ],
)
def test_segmentations_with_wrong_shapes_raise_before_drawing(change, message):
    figures = plt.get_fignums()
    with pytest.raises(ValueError, match=message):
        SegmentationDisplay.from_predictions(**{"y_true": FLAT, "y_pred": FLAT, **change})
    with pytest.raises(TypeError, match=r"'prediction' must be .* a sparse matrix"):
        SegmentationDisplay.from_predictions(FLAT, sparse.dok_array(FLAT))
    assert plt.get_fignums() == figures


def test_display_requires_dict_of_images():
    with pytest.raises(TypeError, match=r"labelings must be a dict of label images.*found list"):
        SegmentationDisplay([FLAT], [0]).plot()
    with pytest.raises(ValueError, match=r"'a' have shape \(6,\), expected \(height, width\)"):
        SegmentationDisplay({"a": FLAT.ravel()}, [0]).plot()


# Segmentations by estimators


@pytest.fixture(scope="module")
def grids():
    X, y = make_grids(n_samples=6, random_state=0)
    return list(X), [np.where(labels, "figure", "ground") for labels in y]


def panels(display):
    """Return the drawn labels by title, without the accuracy; None for an empty panel."""
    out = {}
    for axes, drawn in zip(display.axes_, display.images_):
        codes = np.ma.filled(drawn.get_array().astype(int), -1)
        names = np.append(np.asarray(display.classes, dtype=object), None)
        out[axes.get_title().split(",")[0]] = names[codes]
    return out


def test_segmentation_of_an_estimator_of_images(grids):
    X, y = grids
    model = GridCRFSSVM(lam=1e4, random_state=0).fit(X[:4], y[:4])
    truth = y[5].astype(object)
    truth[0] = None
    display = SegmentationDisplay.from_estimator(model, X[5], truth)
    drawn = panels(display)
    assert list(drawn) == ["truth", "prediction"]
    np.testing.assert_array_equal(drawn["prediction"], model.predict([X[5]])[0])
    np.testing.assert_array_equal(drawn["truth"], truth)
    # Pixels without a label are not counted.
    right = 100 * (drawn["prediction"] == truth)[1:].mean()
    assert display.axes_[1].get_title() == f"prediction, {right:.1f} %"
    beside = SegmentationDisplay.from_estimator(model, X[5], image=X[5][..., 0])
    assert [axes.get_title() for axes in beside.axes_] == ["image", "prediction"]


@pytest.mark.parametrize("wrap", [make_pipeline, "search"])
def test_segmentation_of_pipelines_and_searches(grids, wrap):
    X, y = grids
    model = GridCRFSSVM(lam=1e3, pairwise="full", max_iter=2, random_state=0)
    outer = GridSearchCV(model, {"lam": [1e3]}, cv=2) if wrap == "search" else wrap(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        outer.fit(X[:4], y[:4])
    display = SegmentationDisplay.from_estimator(outer, X[5], y[5])
    assert display.axes_[1].get_title().startswith("prediction (approximate), ")
    np.testing.assert_array_equal(panels(display)["truth"], y[5])


@pytest.mark.parametrize("pixels", [False, True], ids=["labels of nodes", "labels of pixels"])
def test_segmentation_of_an_estimator_of_graphs(rng, pixels):
    segments = 10 + 7 * (np.arange(24).reshape(4, 6) // 2)
    segments[0, :2] = -1
    images = rng.random((6, 4, 6))
    X = [superpixel_graph(image, segments) for image in images]
    # With ignore_label=None, -1 is a label like any other.
    y = [np.where(x[0][:, 0] > 0.5, 1, -1) for x in X]
    model = GraphCRFSSVM(loss="hamming-count", lam=0.1, ignore_label=None, random_state=0)
    model.fit(X[:5], y[:5])
    truth = pixel_labels(segments, y[5], fill=0) if pixels else y[5]
    display = SegmentationDisplay.from_estimator(
        model, X[5], truth, segments=segments, image=images[5]
    )
    drawn = panels(display)
    expected = pixel_labels(segments, model.predict([X[5]])[0], fill=0).astype(object)
    expected[segments < 0] = None
    np.testing.assert_array_equal(drawn["prediction"], expected)
    found = pixel_labels(segments, y[5], fill=0).astype(object)
    found[segments < 0] = None
    np.testing.assert_array_equal(drawn["truth"], found)


def test_invalid_sample_raises_before_prediction(rng):
    segments = np.arange(6).reshape(2, 3) // 2
    graph, image = superpixel_graph(rng.random((2, 3)), segments), rng.random((2, 3, 1))
    unfitted = fitted(predict=None)
    for X, keywords, message in (
        ([image], {}, r"X has shape \(1, 2, 3, 1\), expected a single image .*X\[0\]"),
        ([image, image[:1]], {}, r"X must be a single image .*X\[0\]"),
        (image[..., 0], {}, r"X has shape \(2, 3\), expected a single image"),
        ([graph], {"segments": segments}, "X is a list of 1 graphs, expected a single one"),
        (graph, {}, "X is a graph, which requires segments"),
        (
            graph,
            {"segments": segments // 2},
            r"has 2 segments, but the graph has 3 nodes.*mask, seg",
        ),
        (image, {"segments": segments}, "segments requires a graph"),
        (image, {"y": [0, 1]}, r"y has shape \(2,\), expected \(2, 3\)$"),
        (graph, {"y": [0, 1], "segments": segments}, r"y has shape \(2,\), .* or \(3,\)$"),
    ):
        with pytest.raises(ValueError, match=message):
            SegmentationDisplay.from_estimator(unfitted, X, **keywords)


def test_displays_do_not_call_fitted_searches_unfitted():
    X, y = make_sequences(n_samples=10, random_state=0)
    search = PathCV(ChainSSVM(tol=0.5, random_state=0), cv=2).fit(X, y)
    with pytest.raises(NotFittedError, match=r"PathCV has no edge_coef_; pass .* best_estimator_"):
        TransitionDisplay.from_estimator(search)
    with pytest.raises(NotFittedError, match=r"PathCV has no history_; pass .* best_estimator_"):
        ConvergenceDisplay.from_estimator(search)
