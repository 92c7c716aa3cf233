"""Test the content of SignalDisplay, but not its style."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sstruct import ChangePointSSVM, SegmentSSVM
from sstruct.plotting import SignalDisplay
from sstruct.preprocessing import PerNode

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def ax():
    return plt.subplots()[1]


def test_strips_have_the_segments(ax):
    true, found = ["a", "a", "b", "b", "b"], ["a", "b", "b", "b", "a"]
    signal = np.arange(10.0).reshape(5, 2)
    display = SignalDisplay.from_labels(signal, {"true": true, "found": found}, ax=ax)
    assert display.segments == {
        "true": [(0, 2, "a"), (2, 5, "b")],
        "found": [(0, 1, "a"), (1, 4, "b"), (4, 5, "a")],
    }
    assert display.ax_ is ax
    for line, channel in zip(display.lines_, signal.T, strict=True):
        assert line.get_ydata().tolist() == channel.tolist()
    boxes = display.boxes_
    assert [(box.get_x(), box.get_width()) for box in boxes] == [
        (-0.5, 2), (1.5, 3), (-0.5, 1), (0.5, 3), (3.5, 1)
    ]  # fmt: skip
    # One row for each labeling, the first one on top, and one color for each label.
    rows = [box.get_y() for box in boxes]
    assert rows[0] == rows[1] > rows[2] == rows[3] == rows[4] > 1
    colors = [box.get_facecolor() for box in boxes]
    assert colors[0] == colors[2] == colors[4] != colors[1] == colors[3]
    assert [text.get_text() for text in ax.texts] == ["true", "found"]
    boundaries = [line.get_xdata()[0] for line in ax.lines if line not in display.lines_]
    assert boundaries == [0.5, 3.5]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_from_estimator(ax):
    rng = np.random.default_rng(0)
    y = [np.repeat([0, 1, 0], [4, 5, 3]) for _ in range(5)]
    X = [labels[:, np.newaxis] + 0.1 * rng.standard_normal((12, 2)) for labels in y]
    model = SegmentSSVM(random_state=0).fit(X, y)
    display = SignalDisplay.from_estimator(model, X[0], y[0], signal=X[0][:, 0], ax=ax)
    assert display.segments["predicted"] == model.predict_spans(X[:1])[0]
    assert display.segments["true"] == [(0, 4, 0), (4, 9, 1), (9, 12, 0)]
    assert len(display.lines_) == 1
    assert [*SignalDisplay.from_estimator(model, X[0], ax=ax).segments] == ["predicted"]


@pytest.mark.parametrize("piped", [False, True])
def test_from_estimator_of_change_points(ax, piped):
    x = np.repeat([0.0, 5.0, -5.0], [20, 30, 25]) + 0.1 * np.sin(np.arange(75.0) ** 2)
    model = ChangePointSSVM(costs="mean", duration_bins=None)
    if piped:
        model = make_pipeline(FunctionTransformer(), model)
    model.fit([x], [[20, 50]])
    display = SignalDisplay.from_estimator(model, x, [20, 49], ax=ax)
    assert display.segments == {
        "true": [(0, 20, 1), (20, 49, 2), (49, 75, 3)],
        "predicted": [(0, 20, 1), (20, 50, 2), (50, 75, 3)],
    }
    assert [*SignalDisplay.from_estimator(model, x, ax=ax).segments] == ["predicted"]
    with pytest.raises(ValueError, match=r"^y\[0\] has the change point 75, but X\[0\] has 75"):
        SignalDisplay.from_estimator(model, x, [20, 75])


def test_no_labels(ax):
    display = SignalDisplay.from_labels([1.0, 2.0], {}, ax=ax)
    assert display.boxes_ == []
    assert ax.get_legend() is None


@pytest.mark.parametrize(
    ("signal", "labels", "error", "message"),
    [
        ([1.0, 2.0], {"a": [1]}, ValueError, r"labels\['a'\] has 1 entries, but the signal has 2"),
        ([1.0, 2.0], [1, 2], TypeError, "labels must be a dict of label sequences, found"),
        (np.zeros((2, 2, 2)), {}, ValueError, r"signal has shape \(2, 2, 2\), expected \(L,\)"),
        (3.0, {}, ValueError, r"signal has shape \(\)"),
        (["x"], {}, (ValueError, TypeError), "signal"),
        (
            np.zeros(5),
            {"a": [(0, 2, "x"), (3, 5, "x")]},
            ValueError,
            r"labels\['a'\] has the span \(3",
        ),
        (np.zeros(5), {"a": [(0, 5, None)]}, ValueError, r"labels\['a'\] at node 0 is None"),
        (
            np.zeros(5),
            {"a": [(0, 2, "x"), (2, 4, "x")]},
            ValueError,
            r"the signal has 5 nodes, but the spans of labels\['a'\] stop at 4",
        ),
    ],
)
def test_invalid_arguments(ax, signal, labels, error, message):
    with pytest.raises(error, match=message):
        SignalDisplay.from_labels(signal, labels, ax=ax)


@pytest.mark.parametrize("piped", [False, True])
def test_adjacent_segments_with_the_same_label_are_drawn(ax, piped):
    x, y = np.array([[2.0], [1.0], [2.0], [1.0], [-1.0]]), [(0, 2, "a"), (2, 4, "a"), (4, 5, "b")]
    model = SegmentSSVM(self_transitions=True, max_duration=2, random_state=0)
    if piped:
        model = make_pipeline(PerNode(FunctionTransformer()), model)
    model.fit([x], [y])
    display = SignalDisplay.from_estimator(model, x, y, ax=ax)
    assert display.segments == {"true": y, "predicted": y}
    assert [box.get_width() for box in display.boxes_] == [2, 2, 1] * 2
