"""Visualization of predicted and true spans of sequences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sstruct._checks.parameters import is_integer
from sstruct._checks.shown import shortened
from sstruct._input.label_schemes import LabelCodes, spans_in
from sstruct.metrics._flat_labels import matched
from sstruct.metrics._span_matches import checked_tokens
from sstruct.spans import Invalid, Scheme

from ._matplotlib import drawing_axes

_HEIGHT = 0.28  # of a box; rows have a distance of 1


@dataclass(eq=False, repr=False)
class SpanDisplay:
    """True and predicted spans of sequences, such as the entities of sentences.

    Each sequence is a row. Boxes above its words are true spans, boxes below are predicted spans,
    and colors show the types. Spans without an equal counterpart have a black frame. Without words,
    the horizontal axis shows the positions, such as the frames of a recording.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    true_spans, predicted_spans : list of n_sequences lists of (start, stop, type)
        Spans of each sequence, as returned by :func:`sstruct.spans.spans_of`.
    tokens : list of n_sequences lists of str, default=None
        The words of each sequence.
    names : list of n_sequences str, default=None
        Name of each row. By default the rows are numbered.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the spans.
    figure_ : matplotlib Figure
        Figure containing the spans.
    boxes_ : list of matplotlib Rectangle
        True and then predicted spans of each sequence.

    See Also
    --------
    sstruct.metrics.span_confusions : Table of the most frequent errors.

    Examples
    --------
    .. plot::
        :include-source: True

        >>> from sstruct.plotting import SpanDisplay
        >>> words = [["Ada", "Byron", "lives", "in", "London"], ["Paris", "sleeps"]]
        >>> y_true = [["B-PER", "I-PER", "O", "O", "B-LOC"], ["B-LOC", "O"]]
        >>> y_pred = [["B-PER", "O", "O", "O", "B-LOC"], ["B-PER", "O"]]
        >>> display = SpanDisplay.from_predictions(y_true, y_pred, tokens=words)
        >>> display.true_spans
        [[(0, 2, 'PER'), (4, 5, 'LOC')], [(0, 1, 'LOC')]]
    """

    true_spans: Sequence[Sequence[tuple[int, int, Any]]]
    predicted_spans: Sequence[Sequence[tuple[int, int, Any]]]
    tokens: Sequence[Sequence[str]] | None = None
    names: Sequence[str] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: Any, y: Iterable[Any], **kwargs: Any
    ) -> SpanDisplay:
        """Plot the spans that a fitted estimator or pipeline predicts.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator or pipeline that predicts label sequences.
        X : list of sequences
            As in `predict`.
        y : list of label sequences
            True labels.
        **kwargs : dict
            Passed to :meth:`from_predictions`.

        Returns
        -------
        display : SpanDisplay
            Object that holds the spans.

        Examples
        --------
        >>> from sstruct import ChainSSVM
        >>> from sstruct.plotting import SpanDisplay
        >>> X, y = [[[1.0], [1.0], [-1.0]]], [["B-x", "I-x", "O"]]
        >>> model = ChainSSVM(lam=0.01).fit(X, y)
        >>> display = SpanDisplay.from_estimator(model, X, y, only_errors=False)
        >>> display.predicted_spans
        [[(0, 2, 'x')]]
        """
        return cls.from_predictions(y, estimator.predict(X), **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Iterable[Any],
        y_pred: Iterable[Any],
        *,
        tokens: Iterable[Any] | None = None,
        scheme: Scheme | None = "bio",
        background: Iterable[Any] = (),
        invalid: Invalid = "repair",
        suffix: bool = False,
        only_errors: bool = True,
        n: int = 10,
        ax: Any = None,
    ) -> SpanDisplay:
        """Plot true and predicted spans.

        Parameters
        ----------
        y_true, y_pred : list of label sequences
            True and predicted labels.
        tokens : list of sequences, default=None
            Word of each label.
        scheme : {"bio", "bioes", "bilou", "iob1", "io"} or None, default="bio"
            The scheme of the labels, see :func:`sstruct.spans.spans_of`. With None, the labels are
            those of frames: a span is a maximal run of frames with the same label.
        background : iterable of labels, default=()
            Labels that are outside of spans, in addition to O.
        invalid : {"repair", "drop", "raise"}, default="repair"
            How to treat labels that do not follow the scheme.
        suffix : bool, default=False
            Whether the letter follows the type, as in ``"PER-B"``.
        only_errors : bool, default=True
            Whether to skip sequences whose spans are all correct.
        n : int, default=10
            Largest number of sequences to draw, at least 1.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        display : SpanDisplay
            Object that holds the spans. The names of its rows are the indices of the sequences.
        """
        if not is_integer(n) or n < 1:
            raise ValueError(f"n must be an integer of at least 1, found {shortened(n)}")
        y_true, y_pred = matched(y_true, y_pred)
        if tokens is not None:
            checked_tokens(tokens, np.cumsum([0, *map(len, y_true)]))
            tokens = [[*map(str, words)] for words in tokens]
        table = LabelCodes(scheme, suffix, background)
        rows = []
        for i, (labels, predicted) in enumerate(zip(y_true, y_pred)):
            spans = [
                spans_in(each, table, invalid, f"{name}[{i}]")
                for name, each in (("y_true", labels), ("y_pred", predicted))
            ]
            if len(rows) < n and not (only_errors and spans[0] == spans[1]):
                rows.append((*spans, None if tokens is None else tokens[i], str(i)))
        true, predicted, words, names = map(list, zip(*rows)) if rows else ([], [], [], [])
        return cls(true, predicted, None if tokens is None else words, names).plot(ax)

    def plot(self, ax: Any = None) -> SpanDisplay:
        """Plot the spans.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        display : SpanDisplay
            This object.
        """
        names = self.names or [str(i) for i in range(len(self.true_spans))]
        edges = [self._edges(i) for i in range(len(names))]
        width = max((each[-1] for each in edges), default=1)
        size = np.clip(0.08 * width + 2, 5, 16), np.clip(0.6 * len(names) + 1, 2, 12)
        plt, ax = drawing_axes(self, ax, size)
        types = sorted({str(s[2]) for part in self._parts() for spans in part for s in spans})
        colors = {kind: f"C{k % 10}" for k, kind in enumerate(types)}
        self.boxes_ = []
        for i, at in enumerate(edges):
            for spans, others, y in (
                (self.true_spans[i], self.predicted_spans[i], i - 0.15 - _HEIGHT),
                (self.predicted_spans[i], self.true_spans[i], i + 0.15),
            ):
                for span in spans:
                    start, stop, kind = span
                    box = plt.Rectangle(
                        (at[start], y),
                        at[stop] - at[start] - (0.0 if self.tokens is None else 1.0),
                        _HEIGHT,
                        facecolor=colors[str(kind)],
                        edgecolor="none" if span in others else "black",
                    )
                    self.boxes_.append(ax.add_patch(box))
            for word, x in zip([] if self.tokens is None else self.tokens[i], at):
                ax.text(x, i, word, va="center", family="monospace", fontsize=8)
        ax.set(xlim=(0, width), ylim=(max(len(names), 1) - 0.5, -0.5))
        ax.set_yticks(range(len(names)), names)
        ax.set(ylabel="Sequence", title="True spans above, predicted spans below")
        if self.tokens is None:
            ax.set(xlabel="Position")
        else:
            ax.set_xticks([])
        if types:
            keys = [plt.Rectangle((0, 0), 1, 1, fc=color, label=t) for t, color in colors.items()]
            ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(1, 1))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _parts(self):
        return self.true_spans, self.predicted_spans

    def _edges(self, i):
        """Return the start of each position on the axis, and the end of the last one."""
        if self.tokens is not None:
            return np.append(0, np.cumsum([len(word) + 1 for word in self.tokens[i]]))
        stops = [span[1] for part in self._parts() for span in part[i]]
        return np.arange(max(stops, default=0) + 1)
