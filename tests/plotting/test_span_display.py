"""SpanDisplay draws true and predicted spans, and frames those without a match."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_rgba

from sstruct import ChainSSVM
from sstruct.plotting import SpanDisplay

WORDS = [["Ada", "Byron", "lives"], ["in", "Rome"], ["Paris"]]
TRUE = [["B-PER", "I-PER", "O"], ["O", "B-LOC"], ["B-LOC"]]
FOUND = [["B-PER", "O", "O"], ["O", "B-LOC"], ["B-PER"]]


def boxes(display):
    """Return the row, the extent and whether it has a frame, for each box."""
    return [
        (round(box.get_y() + box.get_height() / 2), box.get_x(), box.get_x() + box.get_width(),
         box.get_edgecolor() == to_rgba("black"))
        for box in display.boxes_
    ]  # fmt: skip


def test_words():
    display = SpanDisplay.from_predictions(TRUE, FOUND, tokens=WORDS, only_errors=False)
    assert boxes(display) == [
        (0, 0, 9, True), (0, 0, 3, True),
        (1, 3, 7, False), (1, 3, 7, False),
        (2, 0, 5, True), (2, 0, 5, True),
    ]  # fmt: skip
    true, found = display.boxes_[4:]
    assert true.get_y() < found.get_y()  # the axis points downwards
    assert true.get_facecolor() != found.get_facecolor()
    assert true.get_facecolor() == display.boxes_[2].get_facecolor()
    assert [text.get_text() for text in display.ax_.texts] == [
        word for words in WORDS for word in words
    ]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["LOC", "PER"]


def test_errors_are_selected():
    display = SpanDisplay.from_predictions(TRUE, FOUND, tokens=WORDS)
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["0", "2"]
    assert SpanDisplay.from_predictions(TRUE, FOUND, n=1).names == ["0"]
    assert SpanDisplay.from_predictions(TRUE, TRUE).boxes_ == []


def test_frames_over_time():
    _, ax = plt.subplots()
    y_true, y_pred = [["rest", "walk", "walk", "run"]], [["rest", "walk", "run", "run"]]
    display = SpanDisplay.from_predictions(y_true, y_pred, scheme=None, background=["rest"], ax=ax)
    assert display.ax_ is ax
    assert boxes(display) == [(0, 1, 3, True), (0, 3, 4, True), (0, 1, 2, True), (0, 2, 4, True)]
    assert ax.get_xlabel() == "Position"


def test_estimator():
    X, y = [[[1.0], [1.0], [-1.0]]], [["B-x", "I-x", "O"]]
    model = ChainSSVM(lam=0.01).fit(X, y)
    assert SpanDisplay.from_estimator(model, X, y).names == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n": 0}, ValueError, "n must be an integer of at least 1, found 0"),
        ({"y_pred": FOUND[:2]}, ValueError, "y_pred has 2 sequences, expected 3"),
        ({"y_pred": [["O"], *FOUND[1:]]}, ValueError, r"y_pred\[0\] has 1 labels, expected 3"),
        ({"tokens": [["a"]] * 3}, ValueError, r"tokens\[0\] has 1 tokens, expected 3"),
        ({"tokens": 3}, TypeError, "tokens must be a list of sequences, found 3"),
        ({"y_true": "O"}, TypeError, "y_true must be a list of label sequences"),
        ({"y_true": [["X"] * 3, *TRUE[1:]]}, ValueError, r"y_true\[0\]\[0\] is 'X'"),
        ({"scheme": "bie"}, ValueError, "scheme"),
    ],
)
def test_invalid_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        SpanDisplay.from_predictions(**{"y_true": TRUE, "y_pred": FOUND} | arguments)
