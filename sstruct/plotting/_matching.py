"""Visualization of predicted and true matchings and alignments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arrays import array_of, check_depth, listed
from sstruct._checks.parameters import check_number
from sstruct._estimators.alignment.alignment_samples import is_pair
from sstruct._estimators.matching.matching_samples import check_distinct
from sstruct._input.integers import integers

from ._matplotlib import drawing_axes

# Names and styles of lines: pairs of both, of the prediction only, and of the truth only.
_STYLES = {
    "correct": {"color": "C0", "linestyle": "-"},
    "wrong": {"color": "C3", "linestyle": "-"},
    "missed": {"color": "0.5", "linestyle": "--"},
}


@dataclass(eq=False, repr=False)
class MatchingDisplay:
    """True and predicted pairs of a matching of two sets, or of an alignment of two sequences.

    Rows are above and columns below, in their order. Solid lines connect predicted pairs, in
    another color if they are wrong, and dashed lines connect true pairs that are missed.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    true_columns : ndarray of int of shape (n_rows,) or None
        Column of each row, -1 if it is unmatched. None if the truth is unknown.
    predicted_columns : ndarray of int of shape (n_rows,)
        The same for the prediction.
    n_columns : int
        Number of columns.
    row_names, column_names : list of str, default=None
        Names of the rows and columns, such as the symbols of sequences. By default the rows and
        columns are numbered.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the matching.
    figure_ : matplotlib Figure
        Figure containing the matching.
    lines_ : dict of str to list of matplotlib Line2D
        The lines of pairs that are ``"correct"``, ``"wrong"`` and ``"missed"``. Without the truth,
        all pairs are correct.

    See Also
    --------
    sstruct.metrics.alignment_accuracy : Fraction of the true pairs that are found.

    Examples
    --------
    .. plot::
        :include-source: True

        >>> from sstruct.plotting import MatchingDisplay
        >>> y_true, y_pred = [0, -1, 1, 2, 3], [0, 1, -1, 2, 3]
        >>> display = MatchingDisplay.from_predictions(
        ...     y_true, y_pred, row_names="SHEEP", column_names="SEEP"
        ... )
        >>> {kind: len(lines) for kind, lines in display.lines_.items()}
        {'correct': 3, 'wrong': 1, 'missed': 1}
    """

    true_columns: np.ndarray | None
    predicted_columns: np.ndarray
    n_columns: int
    row_names: list[str] | None = None
    column_names: list[str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        row_names: Iterable[Any] | None = None,
        column_names: Iterable[Any] | None = None,
        ax: Any = None,
    ) -> MatchingDisplay:
        """Plot the matching that a fitted estimator predicts for a sample, and the true one.

        Parameters
        ----------
        estimator : fitted MatchingSSVM or AlignmentSSVM
            The estimator, or a pipeline that ends with one.
        X : array, tuple or dict
            One sample, as in the list that ``predict`` takes.
        y : array of int of shape (n_rows,), default=None
            Its true columns.
        row_names, column_names : iterable, default=None
            Names of the rows and columns. By default the symbols, if the sample has sequences.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        display : MatchingDisplay
            Object that holds the matchings.

        Examples
        --------
        >>> from sstruct import AlignmentSSVM
        >>> from sstruct.plotting import MatchingDisplay
        >>> X, y = [("hello", "hallo"), ("yes", "es")], [[0, 1, 2, 3, 4], [-1, 0, 1]]
        >>> model = AlignmentSSVM(lam=0.01, random_state=0).fit(X, y)
        >>> display = MatchingDisplay.from_estimator(model, X[1], y[1])
        >>> display.predicted_columns.tolist(), display.row_names
        ([-1, 0, 1], ['y', 'e', 's'])
        """
        (columns,) = estimator.predict([X])
        sequences, shape = _parts(X)
        if sequences is not None:
            row_names = sequences[0] if row_names is None else row_names
            column_names = sequences[1] if column_names is None else column_names
        return cls.from_predictions(
            y,
            columns,
            n_columns=None if shape is None else int(shape[1]),
            row_names=row_names,
            column_names=column_names,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_pred: ArrayLike,
        *,
        n_columns: int | None = None,
        row_names: Iterable[Any] | None = None,
        column_names: Iterable[Any] | None = None,
        ax: Any = None,
    ) -> MatchingDisplay:
        """Plot the true and the predicted matching of a sample.

        Parameters
        ----------
        y_true : array of int of shape (n_rows,) or None
            The true column of each row, negative if it is unmatched. If None, only the prediction
            is drawn.
        y_pred : array of int of shape (n_rows,)
            The predicted columns. A column has at most one row.
        n_columns : int, default=None
            Number of columns. By default the number of `column_names`, or the largest column + 1.
        row_names, column_names : iterable, default=None
            Names of the rows and columns; the characters of a string.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        display : MatchingDisplay
            Object that holds the matchings.
        """
        predicted = _columns(y_pred, "y_pred")
        true = None if y_true is None else _columns(y_true, "y_true")
        if true is not None and len(true) != len(predicted):
            raise ValueError(f"y_true has {len(true)} rows, but y_pred has {len(predicted)}")
        both = predicted if true is None else np.concatenate([predicted, true])
        names = [_names(row_names, "row_names"), _names(column_names, "column_names")]
        if n_columns is None:
            n_columns = int(both.max(initial=-1)) + 1 if names[1] is None else len(names[1])
        check_number("n_columns", n_columns, least=0, whole=True)
        if both.max(initial=-1) >= n_columns:
            raise ValueError(f"found column {both.max()}, but there are {n_columns} columns")
        for key, own, n in zip(("row_names", "column_names"), names, (len(predicted), n_columns)):
            if own is not None and len(own) != n:
                raise ValueError(f"{key} has {len(own)} names, expected {n}")
        return cls(true, predicted, int(n_columns), *names).plot(ax)

    def plot(self, ax: Any = None) -> MatchingDisplay:
        """Plot the matchings.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        display : MatchingDisplay
            This object.
        """
        n_rows = len(self.predicted_columns)
        width = max(n_rows, self.n_columns)
        _, ax = drawing_axes(self, ax, (np.clip(0.3 * width + 1, 4, 16), 2.5))
        self.lines_ = {}
        for kind, pairs in self._pairs().items():
            self.lines_[kind] = [
                ax.plot([r, c], [1, 0], zorder=1, **_STYLES[kind])[0] for r, c in pairs
            ]
            if pairs and self.true_columns is not None:
                self.lines_[kind][0].set_label(kind)
        for names, n, y in ((self.row_names, n_rows, 1), (self.column_names, self.n_columns, 0)):
            ax.scatter(range(n), [y] * n, s=120, color="white", edgecolors="0.6", zorder=2)
            for x, name in enumerate(map(str, range(n)) if names is None else names):
                ax.text(x, y, name, ha="center", va="center", fontsize=8, zorder=3)
        ax.set(xlim=(-0.7, max(width, 1) - 0.3), ylim=(-0.3, 1.3))
        ax.set_xticks([])
        ax.set_yticks([1, 0], ["Rows", "Columns"])
        if self.true_columns is not None and any(self.lines_.values()):
            ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _pairs(self):
        """Return the pairs of a row and a column of each kind of line."""
        predicted = self.predicted_columns
        true = predicted if self.true_columns is None else self.true_columns
        rows = {
            "correct": np.flatnonzero((predicted == true) & (predicted >= 0)),
            "wrong": np.flatnonzero((predicted != true) & (predicted >= 0)),
            "missed": np.flatnonzero((predicted != true) & (true >= 0)),
        }
        return {
            kind: [(int(r), int((true if kind == "missed" else predicted)[r])) for r in own]
            for kind, own in rows.items()
        }


def _columns(values, name):
    """Return the column of each row as an array."""
    check_depth(values, name)
    columns = integers(array_of(values, name), name)
    if columns.ndim != 1:
        raise ValueError(f"{name} has shape {columns.shape}, expected (n_rows,)")
    check_distinct(name, columns)
    return np.maximum(columns, -1)


def _names(values, name):
    """Return names as a list of strings, or None."""
    return None if values is None else [str(each) for each in listed(values, name, "a list")]


def _parts(x):
    """Return the sequences of a sample, or None, and its numbers of rows and columns, or None."""
    if not isinstance(x, Mapping):
        x = {"sequences" if is_pair(x) else "features": x}
    sequences = x.get("sequences")
    if sequences is not None:
        return sequences, tuple(map(len, sequences))
    return None, x["shape"] if "shape" in x else np.shape(x["features"])
