"""Visualization of bounds during MAP inference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from sstruct._checks.parameters import check_choice
from sstruct._checks.shown import shortened
from sstruct.inference._model.map_result import MapResult

from ._matplotlib import draw_curves, finite_curves

KEYS = ("energy", "lower_bound")
_X_LABELS = {"seconds": "Seconds", "iterations": "Iterations"}


class BoundDisplay:
    """Best energy and lower bound of one or more runs of MAP inference.

    It is recommended to use :meth:`from_result` or :meth:`from_results`.

    Parameters
    ----------
    histories : dict of str to dict
        Histories by name, in the format of :attr:`sstruct.inference.MapResult.history`: arrays
        ``seconds``, ``energy`` and ``lower_bound`` of equal length, one entry per recorded step.
        Infinite values are not drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure containing the curves.
    lines_ : list of matplotlib Line2D
        The curves in the order of `histories`: for each, the energy and then the bound, without
        those that are never finite.

    See Also
    --------
    sstruct.inference.map_mrf : Compute the results.
    ConvergenceDisplay : Plot the convergence of training.

    Examples
    --------
    .. plot::
        :include-source: True

        >>> import numpy as np
        >>> from sstruct.inference import MRF, map_mrf
        >>> from sstruct.plotting import BoundDisplay
        >>> rng = np.random.default_rng(0)
        >>> edges = [[i, j] for i in range(12) for j in range(i)]
        >>> model = MRF(rng.random((12, 3)), edges, rng.random((len(edges), 3, 3)))
        >>> results = {method: map_mrf(model, method) for method in ("trws", "fwmap")}
        >>> display = BoundDisplay.from_results(results, x="iterations")
    """

    def __init__(self, histories: dict[str, dict[str, np.ndarray]]) -> None:
        self.histories = histories

    @classmethod
    def from_result(
        cls,
        result: MapResult,
        *,
        name: str | None = None,
        ax: Any = None,
        x: Literal["seconds", "iterations"] = "seconds",
        **kwargs: Any,
    ) -> BoundDisplay:
        """Plot energy and bound of one run.

        Parameters
        ----------
        result : MapResult
            Output of :func:`sstruct.inference.map_mrf`.
        name : str, default=None
            Name in the legend; the method by default.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.
        x : {"seconds", "iterations"}, default="seconds"
            Horizontal axis.
        **kwargs : dict
            Passed to matplotlib's `step`.

        Returns
        -------
        display : BoundDisplay
            Object that holds the curves.

        Examples
        --------
        >>> import numpy as np
        >>> from sstruct.inference import MRF, map_mrf
        >>> from sstruct.plotting import BoundDisplay
        >>> edges = [[0, 1], [1, 2], [2, 0]]
        >>> result = map_mrf(MRF(np.eye(3), edges, 1 - np.eye(3)), "trws")
        >>> display = BoundDisplay.from_result(result)
        """
        _check_result(result, "result")
        name = result.method if name is None else name
        return cls.from_results({name: result}, ax=ax, x=x, **kwargs)

    @classmethod
    def from_results(
        cls,
        results: Mapping[str, MapResult],
        *,
        ax: Any = None,
        x: Literal["seconds", "iterations"] = "seconds",
        **kwargs: Any,
    ) -> BoundDisplay:
        """Plot energies and bounds of several runs in one figure.

        Parameters
        ----------
        results : dict of str to MapResult
            Results by name; the legend shows the names.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.
        x : {"seconds", "iterations"}, default="seconds"
            Horizontal axis.
        **kwargs : dict
            Passed to matplotlib's `step`, for all curves.

        Returns
        -------
        display : BoundDisplay
            Object that holds the curves.

        Examples
        --------
        >>> import numpy as np
        >>> from sstruct.inference import MRF, map_mrf
        >>> from sstruct.plotting import BoundDisplay
        >>> model = MRF(np.eye(3), [[0, 1], [1, 2], [2, 0]], 1 - np.eye(3))
        >>> results = {method: map_mrf(model, method) for method in ("trws", "exact")}
        >>> display = BoundDisplay.from_results(results, x="iterations")
        """
        if not isinstance(results, Mapping):
            raise TypeError(f"results must be a dict by name, found {shortened(results)}")
        for name, result in results.items():
            _check_result(result, f"results[{name!r}]")
        return cls({name: result.history for name, result in results.items()}).plot(
            ax=ax, x=x, **kwargs
        )

    def plot(
        self, ax: Any = None, *, x: Literal["seconds", "iterations"] = "seconds", **kwargs: Any
    ) -> BoundDisplay:
        """Plot the best energies (solid) and the best bounds (dashed) so far.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.
        x : {"seconds", "iterations"}, default="seconds"
            Horizontal axis.
        **kwargs : dict
            Passed to matplotlib's `step`, for all curves.

        Returns
        -------
        display : BoundDisplay
            This object.

        Examples
        --------
        >>> from sstruct.plotting import BoundDisplay
        >>> history = {"seconds": [0.0], "energy": [5.0], "lower_bound": [float("-inf")]}
        >>> len(BoundDisplay({"icm": history}).plot(x="iterations").lines_)
        1
        """
        check_choice("x", x, tuple(_X_LABELS))
        curves = []
        for name, history in self.histories.items():
            xs = np.asarray(history["seconds"], dtype=float)
            xs = xs if x == "seconds" else np.arange(len(xs))
            for label, *curve, style in finite_curves(name, history, KEYS, xs):
                options = {"where": "post", "linestyle": style, "label": label}
                curves.append((name, *curve, options))
        self.ax_, self.figure_, self.lines_ = draw_curves(
            self, ax, curves, kwargs, _X_LABELS[x], "Energy", "step"
        )
        return self


def _check_result(result, name):
    """Raise TypeError, which names the argument, for other objects than a MapResult."""
    if not isinstance(result, MapResult):
        raise TypeError(
            f"{name} must be a MapResult, as returned by map_mrf, found {shortened(result)}"
        )
