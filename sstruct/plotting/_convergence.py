"""Visualization of the convergence of fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sstruct._checks.parameters import check_choice
from sstruct._checks.shown import shortened

from ._matplotlib import draw_curves, finite_curves

_X_LABELS = {
    "seconds": "Seconds (excluding certificates)",
    "oracle_calls": "Oracle calls",
    "passes": "Effective passes",
}
_Y_LABELS = {
    "relative_gap": "Relative duality gap",
    "primal_dual": "Objective",
}


class ConvergenceDisplay:
    """Convergence of one or more fits: duality gap, or primal and dual objective.

    It is recommended to use :meth:`from_estimator` or :meth:`from_estimators`, which read the
    histories of fitted estimators.

    Parameters
    ----------
    histories : dict of str to dict
        Histories by name, in the format of the fitted attribute `history_`: arrays of equal length
        with one entry per pass. ``primal`` and ``gap`` are NaN for passes without a certificate.
        The entries ``seconds``, ``certificate_seconds``, ``oracle_calls``, ``passes``, ``primal``,
        ``gap`` and ``dual`` are used.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure containing the curves.
    lines_ : list of matplotlib Line2D
        The curves in the order of `histories`; for objectives, the primal and then the dual.

    See Also
    --------
    TransitionDisplay : Plot the transition weights of a chain.

    Examples
    --------
    .. plot::
        :include-source: True

        >>> from sstruct import ChainSSVM
        >>> from sstruct.datasets import make_sequences
        >>> from sstruct.plotting import ConvergenceDisplay
        >>> from sstruct.solvers import BCFW, MPBCFW
        >>> X, y = make_sequences(random_state=0)
        >>> model = ChainSSVM(lam=0.01, tol=1e-3, random_state=0)
        >>> fits = {
        ...     solver.name: model.set_params(solver=solver).fit(X, y).history_
        ...     for solver in (BCFW(certificate_every=1), MPBCFW(certificate_every=1))
        ... }
        >>> display = ConvergenceDisplay(fits).plot(x="oracle_calls")
    """

    def __init__(self, histories: dict[str, Any]) -> None:
        self.histories = histories

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        name: str | None = None,
        ax: Any = None,
        x: Literal["seconds", "oracle_calls", "passes"] = "seconds",
        y: Literal["relative_gap", "primal_dual"] = "relative_gap",
        **kwargs: Any,
    ) -> ConvergenceDisplay:
        """Plot the convergence of one fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator of this package.
        name : str, default=None
            Name in the legend; the class of the estimator by default.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.
        x : {"seconds", "oracle_calls", "passes"}, default="seconds"
            Horizontal axis, see :meth:`plot`.
        y : {"relative_gap", "primal_dual"}, default="relative_gap"
            Vertical axis, see :meth:`plot`.
        **kwargs : dict
            Passed to matplotlib's `plot`.

        Returns
        -------
        display : ConvergenceDisplay
            Object that holds the curves.

        Examples
        --------
        >>> from sstruct import ChainSSVM
        >>> from sstruct.datasets import make_sequences
        >>> from sstruct.plotting import ConvergenceDisplay
        >>> X, y = make_sequences(random_state=0)
        >>> display = ConvergenceDisplay.from_estimator(ChainSSVM().fit(X, y))
        """
        name = type(estimator).__name__ if name is None else name
        return cls.from_estimators({name: estimator}, ax=ax, x=x, y=y, **kwargs)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, BaseEstimator],
        *,
        ax: Any = None,
        x: Literal["seconds", "oracle_calls", "passes"] = "seconds",
        y: Literal["relative_gap", "primal_dual"] = "relative_gap",
        **kwargs: Any,
    ) -> ConvergenceDisplay:
        """Plot the convergence of several fitted estimators in one figure.

        Parameters
        ----------
        estimators : dict of str to estimator
            Fitted estimators by name. The legend shows the names, with ``(approximate)`` appended
            if the decoder is approximate.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.
        x : {"seconds", "oracle_calls", "passes"}, default="seconds"
            Horizontal axis, see :meth:`plot`.
        y : {"relative_gap", "primal_dual"}, default="relative_gap"
            Vertical axis, see :meth:`plot`.
        **kwargs : dict
            Passed to matplotlib's `plot`, for all curves.

        Returns
        -------
        display : ConvergenceDisplay
            Object that holds the curves.

        Examples
        --------
        >>> from sstruct import ChainSSVM
        >>> from sstruct.datasets import make_sequences
        >>> from sstruct.plotting import ConvergenceDisplay
        >>> X, y = make_sequences(random_state=0)
        >>> fits = {s: ChainSSVM(lam=0.1, solver=s).fit(X, y) for s in ("bcfw", "mp-bcfw")}
        >>> display = ConvergenceDisplay.from_estimators(fits)
        """
        if not isinstance(estimators, Mapping):
            raise TypeError(
                f"estimators must be a dict of estimators by name, found {shortened(estimators)}"
            )
        histories = {}
        for name, estimator in estimators.items():
            check_is_fitted(
                estimator,
                "history_",
                msg="%(name)s has no history_; pass a fitted estimator, such as best_estimator_ of "
                "a search or the last step of a pipeline",
            )
            if "primal" not in estimator.history_:
                raise ValueError(
                    f"the history of {shortened(name)} has one entry per round, each of which is a "
                    "fit; plot the history of a single fit"
                )
            # Certificates computed by approximate decoders are only estimates.
            if getattr(estimator, "_is_approximate", False):
                name = f"{name} (approximate)"
            histories[name] = estimator.history_
        return cls(histories).plot(ax=ax, x=x, y=y, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        x: Literal["seconds", "oracle_calls", "passes"] = "seconds",
        y: Literal["relative_gap", "primal_dual"] = "relative_gap",
        **kwargs: Any,
    ) -> ConvergenceDisplay:
        """Plot the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.
        x : {"seconds", "oracle_calls", "passes"}, default="seconds"
            Horizontal axis. Seconds exclude the time for certificates.
        y : {"relative_gap", "primal_dual"}, default="relative_gap"
            Vertical axis: either (primal - dual) / primal on a logarithmic scale, without passes
            that have no certificate or a gap of zero; or the primal (solid) and dual (dashed)
            objectives.
        **kwargs : dict
            Passed to matplotlib's `plot`, for all curves.

        Returns
        -------
        display : ConvergenceDisplay
            This object.

        Examples
        --------
        >>> from sstruct.plotting import ConvergenceDisplay
        >>> history = {"passes": [1, 2], "primal": [1.0, 0.5], "dual": [0.1, 0.45]}
        >>> len(ConvergenceDisplay({"BCFW": history}).plot(x="passes", y="primal_dual").lines_)
        2
        """
        check_choice("x", x, tuple(_X_LABELS))
        check_choice("y", y, tuple(_Y_LABELS))
        # Validated first, so that an error does not leave an empty figure.
        curves = []
        for name, history in self.histories.items():
            for label, xs, ys, style in _curves(name, history, x, y):
                options = {"linestyle": style, "label": label}
                if y == "relative_gap" and "marker" not in kwargs:
                    # Markers show the passes with a certificate, unless there are many.
                    options |= {"marker": "o" if len(xs) <= 40 else None, "markersize": 3.5}
                curves.append((name, xs, ys, options))
        self.ax_, self.figure_, self.lines_ = draw_curves(
            self, ax, curves, kwargs, _X_LABELS[x], _Y_LABELS[y]
        )
        if y == "relative_gap":
            self.ax_.set_yscale("log")
        return self


def _curves(name, history, x, y):
    """Return the curves of a history: label, xs, ys and line style of each."""
    xs = np.asarray(history[x], dtype=float)
    if x == "seconds":
        xs = xs - np.asarray(history["certificate_seconds"], dtype=float)
    if y == "primal_dual":
        return finite_curves(name, history, ("primal", "dual"), xs)
    gap = np.asarray(history["gap"], dtype=float)
    primal = np.asarray(history["primal"], dtype=float)
    if not np.isfinite(gap).any():
        certified = np.isfinite(primal).any()
        hint = '; y="primal_dual" shows its objective.' if certified else ", nor an objective."
        raise ValueError(
            f"The history of {shortened(name)} has no duality gap (its solver has no dual "
            f"objective){hint}"
        )
    # Comparisons with NaN are False, which removes passes without a certificate.
    shown = (gap > 0) & (primal > 0)
    return [(name, xs[shown], gap[shown] / primal[shown], "-")]
