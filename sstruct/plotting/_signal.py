"""Visualization of segments over the signal that they divide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from sstruct._checks.arrays import real_array
from sstruct._checks.shown import shortened
from sstruct._estimators.segment.label_spans import has_spans, labels_of_spans
from sstruct._input.boundaries import pack_changes
from sstruct._input.label_schemes import LabelCodes, spans_in
from sstruct._input.labels import label_list
from sstruct.change_points import ChangePointSSVM
from sstruct.segmentation import SegmentSSVM

from ._matplotlib import drawing_axes

_HEIGHT, _DISTANCE = 0.07, 0.09  # height and distance of strips, relative to the axes


@dataclass(eq=False, repr=False)
class SignalDisplay:
    """Segments of a signal, such as the activities in a recording, as strips above the signal.

    Each labeling of the signal is drawn as a strip. Its boxes are the segments, and their colors
    show the labels. Lines in the signal mark the boundaries of the last labeling.

    It is recommended to use :meth:`from_estimator` or :meth:`from_labels`.

    Parameters
    ----------
    signal : array of shape (L,) or (L, n_channels)
        Values to draw, one line for each channel.
    segments : dict of str to list of (start, stop, label)
        Segments by the name of their strip, the first one on top, as returned by
        :meth:`SegmentSSVM.predict_spans <sstruct.SegmentSSVM.predict_spans>`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the signal.
    figure_ : matplotlib Figure
        Figure containing the axes.
    lines_ : list of matplotlib Line2D
        The channels.
    boxes_ : list of matplotlib Rectangle
        The segments of all strips.

    See Also
    --------
    SpanDisplay : True and predicted spans of many sequences.
    SegmentationDisplay : True and predicted labels of an image.

    Examples
    --------
    .. plot::
        :include-source: True

        >>> import numpy as np
        >>> from sstruct.plotting import SignalDisplay
        >>> y = np.repeat(["rest", "walk", "rest"], [30, 50, 20])
        >>> predicted = np.repeat(["rest", "walk", "rest"], [33, 45, 22])
        >>> signal = np.sin(np.arange(100.0)) * (y == "walk")
        >>> display = SignalDisplay.from_labels(signal, {"true": y, "predicted": predicted})
        >>> display.segments["predicted"]
        [(0, 33, 'rest'), (33, 78, 'walk'), (78, 100, 'rest')]
    """

    signal: ArrayLike
    segments: Mapping[str, Any]

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, x: Any, y: Any = None, *, signal: Any = None, ax: Any = None
    ) -> SignalDisplay:
        """Plot the labels or segments that a fitted estimator or pipeline predicts for a sequence.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator or pipeline that predicts label sequences or change points.
        x : array of shape (L, n_features)
            One sequence, an entry of X in `predict`.
        y : array of shape (L,) or list of (start, stop, label), default=None
            Its true labels or segments, for another strip. For :class:`sstruct.ChangePointSSVM`,
            its change points; the labels of segments are then their numbers.
        signal : array of shape (L,) or (L, n_channels), default=None
            The values to draw; x by default.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        display : SignalDisplay
            Object that holds the segments.

        Examples
        --------
        >>> from sstruct import SegmentSSVM
        >>> from sstruct.plotting import SignalDisplay
        >>> X, y = [[[2.0], [1.5], [-1.0]]], [["a", "a", "b"]]
        >>> model = SegmentSSVM(lam=0.01).fit(X, y)
        >>> SignalDisplay.from_estimator(model, X[0], y[0]).segments["predicted"]
        [(0, 2, 'a'), (2, 3, 'b')]
        """
        labels = {} if y is None else {"true": y}
        labels |= {"predicted": _predicted(estimator, x)}
        signal = _signal(x if signal is None else signal)
        if isinstance(_last(estimator), ChangePointSSVM):
            labels = {name: _numbered(own, len(signal)) for name, own in labels.items()}
        return cls.from_labels(signal, labels, ax=ax)

    @classmethod
    def from_labels(
        cls, signal: Any, labels: Mapping[str, Any], *, ax: Any = None
    ) -> SignalDisplay:
        """Plot labelings of a signal.

        Parameters
        ----------
        signal : array of shape (L,) or (L, n_channels)
            The values to draw.
        labels : dict of str to array of shape (L,) or list of (start, stop, label)
            The label of each node, by the name of the strip; a segment is a maximal run of equal
            labels. Alternatively, segments, each of which starts where the previous one stops.
            Adjacent segments may have the same label.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        display : SignalDisplay
            Object that holds the segments.
        """
        signal = _signal(signal)
        if not isinstance(labels, Mapping):
            raise TypeError(f"labels must be a dict of label sequences, found {shortened(labels)}")
        segments, table = {}, LabelCodes(None, False, ())
        for name, given in labels.items():
            if has_spans(given):
                labels_of_spans(given, len(signal), True, f"labels[{name!r}]", "the signal")
                segments[str(name)] = [tuple(span) for span in given]
                continue
            listed = label_list(given, f"labels[{name!r}]")
            if len(listed) != len(signal):
                raise ValueError(
                    f"labels[{name!r}] has {len(listed)} entries, but the signal has {len(signal)}"
                )
            segments[str(name)] = spans_in(listed, table, "repair", f"labels[{name!r}]")
        return cls(signal, segments).plot(ax)

    def plot(self, ax: Any = None) -> SignalDisplay:
        """Plot the signal and its segments.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        display : SignalDisplay
            This object.
        """
        signal = _signal(self.signal)
        plt, ax = drawing_axes(self, ax, (9, 3))
        self.lines_ = ax.plot(signal, color="0.3", linewidth=0.8)
        kinds = sorted({str(label) for spans in self.segments.values() for *_, label in spans})
        colors = {kind: f"C{k % 10}" for k, kind in enumerate(kinds)}
        self.boxes_, transform = [], ax.get_xaxis_transform()
        for row, (name, spans) in enumerate(self.segments.items()):
            bottom = 1.02 + _DISTANCE * (len(self.segments) - 1 - row)
            for start, stop, label in spans:
                box = plt.Rectangle(
                    (start - 0.5, bottom), stop - start, _HEIGHT, facecolor=colors[str(label)],
                    edgecolor="white", linewidth=0.5, transform=transform, clip_on=False,
                )  # fmt: skip
                self.boxes_.append(ax.add_patch(box))
            ax.text(
                -0.01, bottom + _HEIGHT / 2, name, transform=ax.transAxes, ha="right", va="center"
            )
        for start, *_ in [*self.segments.values()][-1][1:] if self.segments else []:
            ax.axvline(start - 0.5, color="0.7", linewidth=0.8, zorder=0)
        ax.set(xlabel="Position", xlim=(-0.5, max(len(signal), 1) - 0.5))
        if kinds:
            keys = [plt.Rectangle((0, 0), 1, 1, fc=color, label=t) for t, color in colors.items()]
            ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(1, 1))
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _last(estimator):
    """Return the last step of a pipeline, or another estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _numbered(changes, length):
    """Return the segments between change points as spans, whose labels are 1, 2, ..."""
    (places,) = pack_changes([changes], "y", np.array([length]))
    ends = [0, *places.tolist(), length]
    return [(start, stop, k) for k, (start, stop) in enumerate(pairwise(ends), 1)]


def _predicted(estimator, x):
    """Return the predicted segments of a SegmentSSVM, or the labels of another estimator."""
    last = _last(estimator)
    if not isinstance(last, SegmentSSVM):
        return estimator.predict([x])[0]
    X = [x] if last is estimator else estimator[:-1].transform([x])
    return last.predict_spans(X)[0]


def _signal(signal):
    """Return the signal as an array of shape (L, n_channels)."""
    signal = real_array(signal, "signal")
    if signal.ndim not in (1, 2):
        raise ValueError(f"signal has shape {signal.shape}, expected (L,) or (L, n_channels)")
    return signal.reshape(len(signal), -1)
