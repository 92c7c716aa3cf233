"""Visualization of the transition weights of a chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sstruct._checks.arrays import listed, real_array

from ._matplotlib import drawing_axes

_MAX_TICKS = 30


@dataclass(eq=False, repr=False)
class TransitionDisplay:
    """Transition weights of a chain as a heat map.

    Rows are labels and columns are the labels that follow them. Start and end weights, if the
    model has them, are shown as an additional row above and an additional column on the right.

    It is recommended to use :meth:`from_estimator`.

    Parameters
    ----------
    edge_coef : array of shape (n_labels, n_labels)
        Weight of each transition from row to column.
    classes : array of shape (n_labels,)
        The labels.
    start_coef, end_coef : array of shape (n_labels,), default=None
        Weight of each label at the start and at the end of a chain. Not drawn if None or all zero.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the heat map.
    figure_ : matplotlib Figure
        Figure containing the heat map.
    im_ : matplotlib AxesImage
        The heat map.
    colorbar_ : matplotlib Colorbar or None
        The color bar, if any.

    See Also
    --------
    ConvergenceDisplay : Plot the convergence of a fit.

    Examples
    --------
    .. plot::
        :include-source: True

        >>> from sstruct import ChainSSVM
        >>> from sstruct.datasets import make_sequences
        >>> from sstruct.plotting import TransitionDisplay
        >>> X, y = make_sequences(random_state=0)
        >>> model = ChainSSVM(random_state=0).fit(X, y)
        >>> display = TransitionDisplay.from_estimator(model)
        >>> display.im_.get_array().shape
        (5, 5)
    """

    edge_coef: ArrayLike
    classes: ArrayLike
    start_coef: ArrayLike | None = None
    end_coef: ArrayLike | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        ax: Any = None,
        cmap: Any = "RdBu_r",
        colorbar: bool = True,
        **kwargs: Any,
    ) -> TransitionDisplay:
        """Plot the transition weights of a fitted chain.

        Parameters
        ----------
        estimator : ChainSSVM
            A fitted estimator.
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.
        cmap : str or matplotlib Colormap, default="RdBu_r"
            A diverging color map, centered at weight zero.
        colorbar : bool, default=True
            Whether to draw a color bar.
        **kwargs : dict
            Passed to matplotlib's `imshow`.

        Returns
        -------
        display : TransitionDisplay
            Object that holds the heat map.

        Examples
        --------
        >>> from sstruct import ChainSSVM
        >>> from sstruct.datasets import make_sequences
        >>> from sstruct.plotting import TransitionDisplay
        >>> X, y = make_sequences(random_state=0)
        >>> display = TransitionDisplay.from_estimator(ChainSSVM().fit(X, y))
        """
        check_is_fitted(
            estimator,
            "edge_coef_",
            msg="%(name)s has no edge_coef_; pass a fitted estimator of sequences, such as "
            "best_estimator_ of a search or the last step of a pipeline",
        )
        display = cls(
            estimator.edge_coef_,
            estimator.classes_,
            # Chains without boundary weights do not have these attributes.
            getattr(estimator, "start_coef_", None),
            getattr(estimator, "end_coef_", None),
        )
        return display.plot(ax=ax, cmap=cmap, colorbar=colorbar, **kwargs)

    def plot(
        self, ax: Any = None, *, cmap: Any = "RdBu_r", colorbar: bool = True, **kwargs: Any
    ) -> TransitionDisplay:
        """Plot the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.
        cmap : str or matplotlib Colormap, default="RdBu_r"
            A diverging color map, centered at weight zero.
        colorbar : bool, default=True
            Whether to draw a color bar.
        **kwargs : dict
            Passed to matplotlib's `imshow`.

        Returns
        -------
        display : TransitionDisplay
            This object.

        Examples
        --------
        >>> from sstruct.plotting import TransitionDisplay
        >>> display = TransitionDisplay([[1.0, -1.0], [0.0, 0.5]], ["B", "I"]).plot(colorbar=False)
        >>> [tick.get_text() for tick in display.ax_.get_xticklabels()]
        ['B', 'I']
        """
        weights = real_array(self.edge_coef, "edge_coef")
        classes = listed(self.classes, "classes", "a list or an array of labels")
        n_labels = len(classes)
        if weights.shape != (n_labels, n_labels) or n_labels == 0:
            raise ValueError(
                f"edge_coef has shape {weights.shape}, but there are {n_labels} classes: expected "
                "one row and one column per class (a model without transition weights cannot be "
                "shown)"
            )
        start = _present(self.start_coef, "start_coef", n_labels)
        end = _present(self.end_coef, "end_coef", n_labels)
        # NaN is not drawn: the cell of the row of the start and the column of the end.
        table = np.full((n_labels + (start is not None), n_labels + (end is not None)), np.nan)
        table[-n_labels:, :n_labels] = weights
        if start is not None:
            table[0, :n_labels] = start
        if end is not None:
            table[-n_labels:, -1] = end

        # Space for tick labels, up to the number at which they are thinned out.
        side = np.clip(0.22 * n_labels + 2.5, 4.5, 8.0)
        _, ax = drawing_axes(self, ax, (side + 0.8, side))
        # Forbidden transitions may be -inf and must not determine the color scale.
        finite = np.abs(table[np.isfinite(table)])
        limit = finite.max() if finite.size and finite.max() > 0 else 1.0
        image = ax.imshow(table, **{"cmap": cmap, "vmin": -limit, "vmax": limit, **kwargs})
        # A white line separates the boundary weights from the transitions.
        gap = {"color": "white", "linewidth": 3 if n_labels <= _MAX_TICKS else 1.5}
        if start is not None:
            ax.axhline(0.5, **gap)
        if end is not None:
            ax.axvline(n_labels - 0.5, **gap)
        _set_ticks(ax, classes, start is not None, end is not None)
        ax.set(xlabel="Label", ylabel="Previous label")
        self.colorbar_ = None
        if colorbar:
            self.colorbar_ = ax.figure.colorbar(image, ax=ax, label="Weight", shrink=0.85)
        self.ax_ = ax
        self.figure_ = ax.figure
        self.im_ = image
        return self


def _set_ticks(ax, classes, has_start, has_end):
    names = [str(label) for label in classes]
    step = -(-len(names) // _MAX_TICKS)
    # Offset by half a step, to avoid the tick of the start.
    shown = np.arange(step // 2, len(names), step)
    columns = [(int(k), names[k]) for k in shown]
    rows = [(k + has_start, name) for k, name in columns]
    if has_start:
        rows.insert(0, (0, "start"))
    if has_end:
        columns.append((len(names), "end"))
    # Horizontal names of more than two letters would overlap.
    rotation = 90 if max(map(len, names)) > 2 else 0
    ax.set_xticks(*zip(*columns), rotation=rotation)
    ax.set_yticks(*zip(*rows))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _present(coef, name, n_labels):
    """Return boundary weights as an array, or None if there are none to show."""
    if coef is None:
        return None
    weights = real_array(coef, name)
    if weights.shape != (n_labels,):
        raise ValueError(f"{name} has shape {weights.shape}, expected ({n_labels},)")
    return weights if weights.any() else None
