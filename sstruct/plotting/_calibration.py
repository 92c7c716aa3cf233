"""Visualization of the calibration of probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibrationDisplay as SklearnCalibrationDisplay

from sstruct._checks.shown import shortened
from sstruct._input.labels import label_list
from sstruct.metrics._flat_probabilities import FlatProbabilities
from sstruct.metrics._span_thresholds import SpanEvents
from sstruct.spans import Scheme

from ._matplotlib import import_pyplot


class CalibrationDisplay(SklearnCalibrationDisplay):
    """Calibration curve (reliability diagram) of probabilities of nodes or spans.

    It is recommended to use :meth:`from_estimator`, :meth:`from_predictions` or :meth:`from_spans`.

    Parameters
    ----------
    prob_true : ndarray of shape (n_bins,)
        Fraction of the events in each bin that are true.
    prob_pred : ndarray of shape (n_bins,)
        Mean probability of the events in each bin.
    y_prob : ndarray of shape (n_events,)
        Probability of each event.
    estimator_name : str, default=None
        Name in the legend.
    pos_label : None
        As in scikit-learn, not used.

    Attributes
    ----------
    line_ : matplotlib Artist
        Calibration curve.
    ax_ : matplotlib Axes
        Axes with the curve.
    figure_ : matplotlib Figure
        Figure containing the curve.

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : The same for one label per sample; the base class.
    sstruct.metrics.flat_calibration_error : Mean absolute difference between curve and diagonal.

    Examples
    --------
    .. plot::
        :include-source: True

        >>> from sstruct import ChainSSVM
        >>> from sstruct.calibration import CalibratedSSVM
        >>> from sstruct.datasets import make_sequences
        >>> from sstruct.plotting import CalibrationDisplay
        >>> X, y = make_sequences(n_samples=160, random_state=0)
        >>> model = CalibratedSSVM(ChainSSVM(random_state=0)).fit(X[:60], y[:60])
        >>> display = CalibrationDisplay.from_estimator(model, X[60:], y[60:])
        >>> len(display.prob_true) <= 5
        True
    """

    def __init__(
        self,
        prob_true: np.ndarray,
        prob_pred: np.ndarray,
        y_prob: np.ndarray,
        *,
        estimator_name: str | None = None,
        pos_label: Any = None,
    ) -> None:
        super().__init__(
            prob_true, prob_pred, y_prob, estimator_name=estimator_name, pos_label=pos_label
        )

    @classmethod
    def from_estimator(  # type: ignore[override]
        cls, estimator: BaseEstimator, X: Any, y: Iterable[Any], **kwargs: Any
    ) -> CalibrationDisplay:
        """Plot the calibration of the probabilities of a fitted estimator or pipeline.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator or pipeline with ``predict_proba`` and ``classes_``, such as
            :class:`~sstruct.calibration.CalibratedSSVM`.
        X : list of samples
            As in `predict_proba`.
        y : list of label sequences
            True labels.
        **kwargs : dict
            Passed to :meth:`from_predictions`.

        Returns
        -------
        display : CalibrationDisplay
            Object that holds the curve.
        """
        name = kwargs.pop("name", type(estimator).__name__)
        return cls.from_predictions(
            y, estimator.predict_proba(X), labels=estimator.classes_, name=name, **kwargs
        )

    @classmethod
    def from_predictions(  # type: ignore[override]
        cls,
        y_true: Iterable[Any],
        y_proba: Iterable[Any],
        *,
        labels: Iterable[Any],
        label: Any = None,
        ignore_label: Any = None,
        n_bins: int = 5,
        strategy: Literal["uniform", "quantile"] = "uniform",
        name: str | None = None,
        ref_line: bool = True,
        ax: Any = None,
        **kwargs: Any,
    ) -> CalibrationDisplay:
        """Plot the calibration of the probabilities of all nodes.

        Parameters
        ----------
        y_true : list of n label sequences
            True labels.
        y_proba : list of n arrays of shape (L_i, K)
            Probabilities.
        labels : list of K labels
            The label of each column, such as ``classes_``.
        label : label, default=None
            The event is that a node has this label. By default, the event is that the most probable
            label of a node is the true label.
        ignore_label : label, default=None
            True label of nodes to ignore, as for :func:`sstruct.metrics.flat_accuracy_score`.
        n_bins : int, default=5
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            Whether bins have equal widths or equal numbers of events.
        name, ref_line, ax : default=None, True, None
            As in scikit-learn's ``CalibrationDisplay.from_predictions``.
        **kwargs : dict
            Passed to ``matplotlib.pyplot.plot``.

        Returns
        -------
        display : CalibrationDisplay
            Object that holds the curve.
        """
        labels = label_list(labels, "labels")
        if label is not None and label not in labels:
            raise ValueError(f"label {shortened(label)} is not among labels {shortened(labels)}")
        flat = FlatProbabilities(y_true, y_proba, labels, None, ignore_label)
        probability, right = flat.events(None if label is None else labels.index(label))
        event = "label" if label is None else repr(label)
        options = {"n_bins": n_bins, "strategy": strategy, "name": name, "ref_line": ref_line}
        return cls._drawn(right, probability, event, ax=ax, **options, **kwargs)

    @classmethod
    def from_spans(
        cls,
        y_true: Iterable[Any],
        y_spans: Iterable[Any],
        *,
        scheme: Scheme = "bio",
        suffix: bool = False,
        ignore_label: Any = None,
        n_bins: int = 5,
        strategy: Literal["uniform", "quantile"] = "uniform",
        name: str | None = None,
        ref_line: bool = True,
        ax: Any = None,
        **kwargs: Any,
    ) -> CalibrationDisplay:
        """Plot the calibration of the probabilities of predicted spans.

        Parameters
        ----------
        y_true : list of n label sequences
            True labels.
        y_spans : list of n lists of tuple (start, stop, type, probability)
            Predicted spans, as returned by ``predict_spans`` of
            :class:`~sstruct.calibration.CalibratedSSVM`.
        scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
            Label scheme, as for :func:`sstruct.spans.spans_of`.
        suffix, ignore_label : default=False, None
            As for :func:`sstruct.metrics.span_precision_recall_curve`.
        n_bins : int, default=5
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            Whether bins have equal widths or equal numbers of events.
        name, ref_line, ax : default=None, True, None
            As in scikit-learn's ``CalibrationDisplay.from_predictions``.
        **kwargs : dict
            Passed to ``matplotlib.pyplot.plot``.

        Returns
        -------
        display : CalibrationDisplay
            Object that holds the curve.
        """
        events = SpanEvents(y_true, y_spans, scheme, suffix, None, ignore_label)
        if not len(events.probability):
            raise ValueError("y_spans has no spans to draw, expected at least one")
        options = {"n_bins": n_bins, "strategy": strategy, "name": name, "ref_line": ref_line}
        return cls._drawn(events.right, events.probability, "span", ax=ax, **options, **kwargs)

    @classmethod
    def _drawn(cls, right, probability, event, **options):
        """Return the display, with names of the axes that state the event."""
        import_pyplot(cls.__name__)
        if "pos_label" in options:
            raise TypeError(f"{cls.__name__} has no parameter pos_label; use label for one label")
        # Marginals may exceed 1 by rounding errors.
        display = super().from_predictions(
            right.astype(int), probability.clip(0, 1), pos_label=1, **options
        )
        display.ax_.set(
            xlabel=f"Mean probability of the {event}", ylabel=f"Fraction of true {event}s"
        )
        return display
