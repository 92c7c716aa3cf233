"""MatchingDisplay draws the pairs of both sides, and which of them are errors."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sstruct import AlignmentSSVM, MatchingSSVM
from sstruct.datasets import make_matchings
from sstruct.plotting import MatchingDisplay


def drawn(display):
    """Return the row and the column of each line by kind."""
    for lines in display.lines_.values():
        assert all([*line.get_ydata()] == [1, 0] for line in lines)
    return {
        kind: [tuple(map(int, line.get_xdata())) for line in own]
        for kind, own in display.lines_.items()
    }


def test_pairs_and_names():
    _, ax = plt.subplots()
    display = MatchingDisplay.from_predictions(
        [0, -1, 2, 1], [0, 1, 2, -2], row_names="abcd", column_names=[7, 8, 9], ax=ax
    )
    assert display.ax_ is ax
    assert drawn(display) == {"correct": [(0, 0), (2, 2)], "wrong": [(1, 1)], "missed": [(3, 1)]}
    texts = [(text.get_text(), *text.get_position()) for text in ax.texts]
    assert texts == [
        *[(name, x, 1) for x, name in enumerate("abcd")],
        *[(name, x, 0) for x, name in enumerate("789")],
    ]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["correct", "wrong", "missed"]
    colors = {kind: lines[0].get_color() for kind, lines in display.lines_.items()}
    assert len(set(colors.values())) == 3


def test_without_the_truth():
    display = MatchingDisplay.from_predictions(None, [1, -1], n_columns=4)
    assert drawn(display) == {"correct": [(0, 1)], "wrong": [], "missed": []}
    assert [text.get_text() for text in display.ax_.texts] == [*"01", *"0123"]
    assert display.ax_.get_legend() is None
    assert MatchingDisplay.from_predictions([], []).n_columns == 0


def test_estimators():
    X, y = make_matchings(10, max_distance=0.4, random_state=0)
    model = MatchingSSVM(random_state=0).fit(X, y)
    display = MatchingDisplay.from_estimator(model, X[3], y[3])
    np.testing.assert_array_equal(display.predicted_columns, model.predict(X[3:4])[0])
    assert display.n_columns == X[3]["shape"][1]
    X, y = make_matchings(10, random_state=0)
    model = MatchingSSVM(random_state=0).fit(X, y)
    assert MatchingDisplay.from_estimator(model, X[3]).n_columns == X[3].shape[1]
    X, y = [("ab", "abc")] * 3, [[0, 1]] * 3
    model = AlignmentSSVM(lam=0.01, random_state=0).fit(X, y)
    display = MatchingDisplay.from_estimator(model, X[0], y[0], row_names="xy")
    assert (display.row_names, display.column_names) == ([*"xy"], [*"abc"])
    assert drawn(display)["correct"] == [(0, 0), (1, 1)]


INVALID = {
    "rows": (([0], [0, 1]), {}, "y_true has 1 rows, but y_pred has 2"),
    "columns": (([0], [3]), {"n_columns": 2}, "found column 3, but there are 2 columns"),
    "shape": ((None, [[0, 1]]), {}, r"y_pred has shape \(1, 2\), expected \(n_rows,\)"),
    "twice": ((None, [2, -1, -1, 2]), {}, "y_pred matches both row 0 and row 3 to column 2"),
    "true twice": (([1, 1], [0, 1]), {}, "y_true matches both row 0 and row 1 to column 1"),
    "fraction": ((None, [0.5]), {}, "y_pred must contain integers"),
    "names": ((None, [0]), {"row_names": "ab"}, "row_names has 2 names, expected 1"),
    "no names": ((None, [0]), {"column_names": 3}, "column_names must be a list, found 3"),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_arguments(case):
    arguments, options, message = INVALID[case]
    with pytest.raises((ValueError, TypeError), match=message):
        MatchingDisplay.from_predictions(*arguments, **options)
