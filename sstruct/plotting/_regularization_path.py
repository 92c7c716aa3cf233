"""Visualization of regularization paths."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted

from sstruct._checks.parameters import check_choice
from sstruct._checks.shown import shortened
from sstruct.path import RegularizationPath

from ._matplotlib import draw_curves

_Y_LABELS = {
    "objective": "Objective",
    "gap": "Duality gap",
    "score": "Score",
    "working_set_size": "Cached labelings of a sample",
}
# Factor by which the range of lambda is extended on each side, and number of points above the first
# breakpoint.
_BEYOND = 10.0
_POINTS = 12


@dataclass(eq=False, repr=False)
class RegularizationPathDisplay:
    """Objective, gap, scores or working sets of a path as functions of lambda.

    It is recommended to use :meth:`from_path` or, for a cross-validated search,
    :meth:`from_estimator`.

    Parameters
    ----------
    curves : dict of dict
        For each available quantity of ``"objective"``, ``"gap"``, ``"score"`` and
        ``"working_set_size"``, a dict of curves by name, each a pair of arrays (lams, values).
    eps : float, default=None
        Largest gap that the path allows, drawn as a line.
    guarantee : str, default="certified"
        ``guarantee_`` of the path; values other than the default are shown in the legend.
    best_lam : float, default=None
        The chosen lambda, drawn as a line with the scores.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure containing the curves.
    lines_ : list of matplotlib Line2D
        The curves.

    See Also
    --------
    sstruct.ssvm_path : Compute a path.
    sstruct.PathCV : Choose lambda by cross-validation.
    ConvergenceDisplay : Plot the convergence of a fit.

    Examples
    --------
    .. plot::
        :include-source: True

        >>> from sstruct import ChainSSVM, ssvm_path
        >>> from sstruct.datasets import make_sequences
        >>> from sstruct.plotting import RegularizationPathDisplay
        >>> X, y = make_sequences(n_samples=60, random_state=0)
        >>> path = ssvm_path(ChainSSVM(), X[:40], y[:40])
        >>> display = RegularizationPathDisplay.from_path(
        ...     path, train=(X[:40], y[:40]), validation=(X[40:], y[40:]), y="score"
        ... )
    """

    curves: dict[str, Any]
    _: KW_ONLY
    eps: float | None = None
    guarantee: str = "certified"
    best_lam: float | None = None

    @classmethod
    def from_path(
        cls,
        path: Any,
        *,
        train: tuple[Any, Any] | None = None,
        validation: tuple[Any, Any] | None = None,
        scoring: Any = None,
        y: Literal["objective", "gap", "score", "working_set_size"] = "objective",
        ax: Any = None,
        **kwargs: Any,
    ) -> RegularizationPathDisplay:
        """Plot a path.

        Parameters
        ----------
        path : RegularizationPath
            The path to plot.
        train, validation : tuple of (X, y), default=None
            Samples for the score of the model at every breakpoint.
        scoring : str, callable or None, default=None
            As in scikit-learn; by default the ``score`` of the estimator.
        y : {"objective", "gap", "score", "working_set_size"}, default="objective"
            Vertical axis, see :meth:`plot`.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.
        **kwargs : dict
            Passed to matplotlib's `plot`.

        Returns
        -------
        display : RegularizationPathDisplay
            Object that holds the curves.

        Examples
        --------
        >>> from sstruct import ChainSSVM, ssvm_path
        >>> from sstruct.datasets import make_sequences
        >>> from sstruct.plotting import RegularizationPathDisplay
        >>> X, y = make_sequences(n_samples=40, random_state=0)
        >>> path = ssvm_path(ChainSSVM(), X, y)
        >>> display = RegularizationPathDisplay.from_path(path, y="gap")
        """
        if not isinstance(path, RegularizationPath):
            raise TypeError(
                "path must be a RegularizationPath, as returned by ssvm_path, found "
                f"{shortened(path)}; for a fitted PathCV, use from_estimator"
            )
        lams, rows = _points(path)
        bounds = np.array([path._certificate(lam) for lam in lams])
        curves = {
            "objective": {"primal": (lams, bounds[:, 0]), "dual": (lams, bounds[:, 1])},
            "gap": {"gap": (lams, np.maximum(bounds[:, 0] - bounds[:, 1], 0))},
            "working_set_size": {
                "cached labelings": (path.lams_, path.history_["working_set_size"])
            },
        }
        scores = {}
        for name, data in (("training", train), ("validation", validation)):
            if data is not None:
                models = [path.estimator(lam) for lam in path.lams_]
                scorer = check_scoring(models[0], scoring=scoring)
                values = np.array([scorer(model, *data) for model in models])
                scores[name] = (lams, values[rows])
        if scores:
            curves["score"] = scores
        display = cls(curves, eps=path.eps, guarantee=path.guarantee_)
        return display.plot(ax=ax, y=y, **kwargs)

    @classmethod
    def from_estimator(
        cls, search: Any, *, ax: Any = None, **kwargs: Any
    ) -> RegularizationPathDisplay:
        """Plot the mean test score of a fitted :class:`sstruct.PathCV`, and the chosen lambda.

        Parameters
        ----------
        search : PathCV
            A fitted search.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.
        **kwargs : dict
            Passed to matplotlib's `plot`.

        Returns
        -------
        display : RegularizationPathDisplay
            Object that holds the curve.

        Examples
        --------
        .. plot::
            :include-source: True

            >>> from sstruct import ChainSSVM, PathCV
            >>> from sstruct.datasets import make_sequences
            >>> from sstruct.plotting import RegularizationPathDisplay
            >>> X, y = make_sequences(n_samples=60, random_state=0)
            >>> search = PathCV(ChainSSVM(random_state=0), cv=3).fit(X, y)
            >>> display = RegularizationPathDisplay.from_estimator(search)
        """
        if not isinstance(search, BaseEstimator) or not hasattr(search, "lam_min"):
            raise TypeError(
                f"search must be a fitted PathCV, found {shortened(search)}; for a path of "
                "ssvm_path, use from_path"
            )
        check_is_fitted(search)
        results = search.cv_results_
        lams = np.asarray(results["param_lam"], dtype=float)
        scores = np.asarray(results["mean_test_score"])
        if search.lams is None:  # each score holds down to the next lambda
            ends = np.append(np.nextafter(lams[1:], np.inf), search.lam_end_ or lams[-1] / _BEYOND)
            lams = np.column_stack([lams, ends]).ravel()
            scores = np.repeat(scores, 2)
        curves = {"score": {"mean over folds": (lams, scores)}}
        guarantee = "certified" if search.certified_ else "approximate"
        display = cls(curves, guarantee=guarantee, best_lam=search.best_lam_)
        return display.plot(ax=ax, y="score", **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        y: Literal["objective", "gap", "score", "working_set_size"] = "objective",
        **kwargs: Any,
    ) -> RegularizationPathDisplay:
        """Plot curves as functions of lambda, which decreases from left to right.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.
        y : {"objective", "gap", "score", "working_set_size"}, default="objective"
            Vertical axis: primal and dual objectives (the primal is an upper bound above the first
            breakpoint); the gap between them and the largest allowed gap; scores of the samples
            passed to :meth:`from_path`; or the mean size of the working sets at breakpoints.
        **kwargs : dict
            Passed to matplotlib's `plot`, for all curves.

        Returns
        -------
        display : RegularizationPathDisplay
            This object.

        Examples
        --------
        >>> from sstruct.plotting import RegularizationPathDisplay
        >>> curves = {"gap": {"gap": ([10.0, 1.0], [0.05, 0.1])}}
        >>> len(RegularizationPathDisplay(curves, eps=0.1).plot(y="gap").lines_)
        2
        """
        check_choice("y", y, tuple(_Y_LABELS))
        if y not in self.curves:
            raise ValueError(
                f"this display has no {y}"
                + (": pass train=(X, y) or validation to from_path" if y == "score" else "")
            )
        suffix = "" if self.guarantee == "certified" else f" ({self.guarantee})"
        curves = [
            (name, np.asarray(lams), np.asarray(values),
             {"linestyle": "--" if name == "dual" else "-", "label": name + suffix})
            for name, (lams, values) in self.curves[y].items()
        ]  # fmt: skip
        ax, self.figure_, self.lines_ = draw_curves(
            self, ax, curves, kwargs, "lambda", _Y_LABELS[y]
        )
        if y == "gap" and self.eps is not None:
            self.lines_.append(ax.axhline(self.eps, color="0.4", linestyle=":", label="eps"))
            ax.legend()
        if y == "score" and self.best_lam is not None:
            label = f"best: {self.best_lam:.3g}"
            self.lines_.append(ax.axvline(self.best_lam, color="0.4", linestyle=":", label=label))
            ax.legend()
        ax.set_xscale("log")
        if not ax.xaxis_inverted():
            ax.invert_xaxis()
        self.ax_ = ax
        return self


def _points(path):
    """Return the lambdas at both ends of each segment, decreasing, and the row of each segment."""
    first, last = path.lams_[0], path.lams_[-1]
    above = np.geomspace(_BEYOND * first, first, _POINTS, endpoint=False)
    end = path.lam_end_ if path.lam_end_ > 0 else last / _BEYOND
    ends = np.append(np.nextafter(path.lams_[1:], np.inf), min(end, last))
    lams = np.concatenate([above, np.column_stack([path.lams_, ends]).ravel()])
    return lams, np.r_[np.zeros(_POINTS, int), np.repeat(np.arange(len(path.lams_)), 2)]
