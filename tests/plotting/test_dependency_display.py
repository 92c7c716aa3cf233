"""DependencyDisplay draws the arcs of both trees, and which of them are errors."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sstruct.plotting import DependencyDisplay

TRUE = [2, 3, 0, 3], ["det", "nsubj", "root", "advmod"]
FOUND = [2, 3, 0, 2], ["det", "obj", "root", "advmod"]


def drawn(display):
    """Return the head (0 for the root) and the token of each arc by kind."""
    arcs = {}
    for kind, lines in display.lines_.items():
        arcs[kind] = []
        for line in lines:
            x, y = line.get_data()
            assert y[-1] == pytest.approx(0)
            is_root = x[0] == x[-1]
            assert max(y) == pytest.approx(y[0] if is_root else abs(x[-1] - x[0]), rel=0.01)
            arcs[kind].append((0 if is_root else round(x[0]), round(x[-1])))
    return arcs


def test_arcs_and_labels():
    _, ax = plt.subplots()
    words = ["The", "dog", "runs", "fast"]
    display = DependencyDisplay.from_predictions(TRUE, FOUND, tokens=words, ax=ax)
    assert display.ax_ is ax
    assert drawn(display) == {
        "correct": [(2, 1), (0, 3)], "wrong label": [(3, 2)], "wrong": [(2, 4)],
        "missed": [(3, 4)],
    }  # fmt: skip
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["det", "root", "obj (nsubj)", "advmod", "advmod", *words]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["correct", "wrong label", "wrong", "missed"]
    # The root is above all other arcs.
    tops = {line.get_ydata().max() for lines in display.lines_.values() for line in lines[:1]}
    assert max(display.lines_["correct"][1].get_ydata()) > max(tops)


def test_heads_only():
    display = DependencyDisplay.from_predictions(np.array(TRUE[0]), np.array(FOUND[0]))
    assert drawn(display)["correct"] == [(2, 1), (3, 2), (0, 3)]
    assert [text.get_text() for text in display.ax_.texts] == [*"1234"]
    alone = DependencyDisplay.from_predictions(None, FOUND)
    assert drawn(alone)["correct"] == [(2, 1), (3, 2), (0, 3), (2, 4)]
    assert alone.ax_.get_legend() is None
    one = DependencyDisplay.from_predictions([2, 0], [0, 1])
    assert drawn(one) == {
        "correct": [], "wrong label": [], "wrong": [(0, 1), (1, 2)], "missed": [(2, 1), (0, 2)]
    }  # fmt: skip
    assert DependencyDisplay.from_predictions([], []).lines_["correct"] == []


def test_estimator():
    class Parser:
        def predict(self, X):
            return [FOUND for _ in X]

    display = DependencyDisplay.from_estimator(Parser(), "sentence", TRUE)
    assert drawn(display)["missed"] == [(3, 4)]
    assert display.predicted_labels == FOUND[1]


INVALID = {
    "tokens": (([0], [0, 1]), {}, "y_true has 1 tokens, but y_pred has 2"),
    "words": ((None, [0]), {"tokens": "ab"}, "tokens has 2 entries, expected 1"),
    "head": ((None, [0, 3]), {}, "y_pred has the head 3 of token 2, expected another token, 1 to"),
    "itself": ((None, [0, 2]), {}, "head 2 of token 2"),
    "negative": ((None, [-1]), {}, "head -1 of token 1"),
    "labels": ((None, ([0], ["a", "b"])), {}, "y_pred has 2 labels, expected 1, one per token"),
    "shape": ((None, [[[0]]]), {}, r"y_pred has shape \(1, 1, 1\)"),
    "fraction": ((None, [0.5]), {}, "y contains 0.5"),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_arguments(case):
    arguments, options, message = INVALID[case]
    with pytest.raises((ValueError, TypeError), match=message):
        DependencyDisplay.from_predictions(*arguments, **options)
