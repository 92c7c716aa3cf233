"""Visualization of predicted and true dependency trees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sstruct._checks.arrays import listed
from sstruct._estimators.dependency.sentence_samples import tree_of_any_size

from ._matplotlib import drawing_axes

# Names and styles of arcs.
_STYLES = {
    "correct": {"color": "C0", "linestyle": "-"},
    "wrong label": {"color": "C1", "linestyle": "-"},
    "wrong": {"color": "C3", "linestyle": "-"},
    "missed": {"color": "0.5", "linestyle": "--"},
}
# Number of points of an arc.
_POINTS = 50


@dataclass(eq=False, repr=False)
class DependencyDisplay:
    """True and predicted dependency tree of a sentence, as arcs above its tokens.

    An arc leads from a head to a token, and has a mark at the token. The arc of a token whose head
    is the root comes from above. Solid arcs are predicted; their colors show whether the head and
    the label are correct. Dashed arcs are true arcs that are missed.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    true_heads : ndarray of int of shape (n_tokens,) or None
        Head of each token, numbered from 1, or 0 for the root. None if the truth is unknown.
    predicted_heads : ndarray of int of shape (n_tokens,)
        The same for the prediction.
    true_labels, predicted_labels : list of n_tokens labels, default=None
        Label of the arc to each token.
    tokens : list of n_tokens str, default=None
        The tokens. By default, the tokens are numbered.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the tree.
    figure_ : matplotlib Figure
        Figure containing the tree.
    lines_ : dict of str to list of matplotlib Line2D
        The arcs that are ``"correct"``, ``"wrong label"``, ``"wrong"`` and ``"missed"``. Without
        the truth, all arcs are correct.

    See Also
    --------
    MatchingDisplay : Pairs of two sets or sequences.

    Examples
    --------
    .. plot::
        :include-source: True

        >>> from sstruct.plotting import DependencyDisplay
        >>> y_true = [2, 3, 0, 3], ["det", "nsubj", "root", "advmod"]
        >>> y_pred = [2, 3, 0, 2], ["det", "obj", "root", "advmod"]
        >>> display = DependencyDisplay.from_predictions(
        ...     y_true, y_pred, tokens=["The", "dog", "runs", "fast"]
        ... )
        >>> {kind: len(arcs) for kind, arcs in display.lines_.items()}
        {'correct': 2, 'wrong label': 1, 'wrong': 1, 'missed': 1}
    """

    true_heads: np.ndarray | None
    predicted_heads: np.ndarray
    true_labels: list[Any] | None = None
    predicted_labels: list[Any] | None = None
    tokens: list[str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        tokens: Iterable[Any] | None = None,
        ax: Any = None,
    ) -> DependencyDisplay:
        """Plot the tree that a fitted estimator predicts for a sentence, and the true one.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator or pipeline that predicts heads, or pairs of heads and labels.
        X : object
            One sentence, as in the list that ``predict`` takes.
        y : array of int of shape (n_tokens,) or tuple (heads, labels), default=None
            Its true tree.
        tokens : iterable, default=None
            The tokens.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        display : DependencyDisplay
            Object that holds the trees.
        """
        return cls.from_predictions(y, estimator.predict([X])[0], tokens=tokens, ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, tokens: Iterable[Any] | None = None, ax: Any = None
    ) -> DependencyDisplay:
        """Plot the true and the predicted tree of a sentence.

        Parameters
        ----------
        y_true : array of int of shape (n_tokens,), tuple (heads, labels) or None
            The head of each token, numbered from 1, or 0 for the root; and the labels of the arcs,
            if there are any. If None, only the prediction is drawn.
        y_pred : array of int of shape (n_tokens,) or tuple (heads, labels)
            The predicted tree.
        tokens : iterable, default=None
            The tokens.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        display : DependencyDisplay
            Object that holds the trees.
        """
        predicted, predicted_labels = _tree(y_pred, "y_pred")
        true, true_labels = (None, None) if y_true is None else _tree(y_true, "y_true")
        if true is not None and len(true) != len(predicted):
            raise ValueError(f"y_true has {len(true)} tokens, but y_pred has {len(predicted)}")
        if tokens is not None:
            tokens = [str(token) for token in listed(tokens, "tokens", "a list")]
            if len(tokens) != len(predicted):
                raise ValueError(f"tokens has {len(tokens)} entries, expected {len(predicted)}")
        return cls(true, predicted, true_labels, predicted_labels, tokens).plot(ax)

    def plot(self, ax: Any = None) -> DependencyDisplay:
        """Plot the trees.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        display : DependencyDisplay
            This object.
        """
        n = len(self.predicted_heads)
        size = np.clip(0.9 * n + 1.5, 4, 16), np.clip(0.3 * n + 1.5, 2, 6)
        _, ax = drawing_axes(self, ax, size)
        arcs = self._arcs()
        top = max((abs(h - t) for own in arcs.values() for h, t, _ in own if h > 0), default=0) + 1
        self.lines_ = {kind: [_draw(ax, top, kind, *arc) for arc in own]
                       for kind, own in arcs.items()}  # fmt: skip
        for kind, lines in self.lines_.items():
            if lines and self.true_heads is not None:
                lines[0].set_label(kind)
        for t in range(1, n + 1):
            name = str(t) if self.tokens is None else self.tokens[t - 1]
            ax.text(t, -0.1, name, ha="center", va="top")
        ax.set(xlim=(0.3, max(n, 1) + 0.7), ylim=(-0.2 * top - 0.3, top + 0.3))
        ax.axis("off")
        if self.true_heads is not None and n > 0:
            ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _arcs(self):
        """Return the head, token and label of the arcs of each kind."""
        n, predicted = len(self.predicted_heads), self.predicted_heads
        true = predicted if self.true_heads is None else self.true_heads
        labels = self.predicted_labels or [None] * n
        true_labels = self.true_labels or [None] * n
        compared = self.true_labels is not None and self.predicted_labels is not None
        arcs = {kind: [] for kind in _STYLES}
        for t in range(n):
            same = not compared or labels[t] == true_labels[t]
            kind = "wrong" if predicted[t] != true[t] else "correct" if same else "wrong label"
            text = labels[t] if kind != "wrong label" else f"{labels[t]} ({true_labels[t]})"
            arcs[kind].append((int(predicted[t]), t + 1, text))
            if kind == "wrong":
                arcs["missed"].append((int(true[t]), t + 1, true_labels[t]))
        return arcs


def _draw(ax, top, kind, head, token, label):
    """Draw an arc from a head to a token, and its label."""
    if head == 0:
        x, y, apex = [token, token], [top, 0], (token, top)
    else:
        angle = np.linspace(0, np.pi, _POINTS)
        height = abs(head - token)
        x = (head + token) / 2 + (head - token) / 2 * np.cos(angle)
        y, apex = height * np.sin(angle), ((head + token) / 2, height)
    (line,) = ax.plot(x, y, marker="v", markevery=[-1], zorder=1, **_STYLES[kind])
    if label is not None:
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(*apex, str(label), ha="center", va="center", fontsize=8, bbox=box)
    return line


def _tree(tree, name):
    """Return the heads of a tree as an array, and its labels as a list or None."""
    heads, labels = tree_of_any_size(name, tree)
    return heads, None if labels is None else labels.tolist()
