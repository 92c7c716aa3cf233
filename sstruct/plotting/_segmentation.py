"""An image beside its labelings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sstruct._input.labels import encode

from ._matplotlib import import_pyplot


@dataclass(eq=False, repr=False)
class SegmentationDisplay:
    """Labelings of one image, side by side.

    It is recommended to use :meth:`from_predictions`.

    Parameters
    ----------
    labelings : dict of str to int array of shape (height, width)
        Title and labels of each panel; labels index `classes`, -1 is drawn blank.
    classes : array of shape (n_labels,)
        Labels.
    image : array of shape (height, width) or (height, width, 3 or 4), default=None
        The image itself, drawn in the first panel. None: no such panel.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (n_panels,)
        One panel each.
    figure_ : matplotlib Figure
        Figure containing the panels.
    images_ : list of matplotlib AxesImage
        What is drawn in the panels.

    See Also
    --------
    ConvergenceDisplay : How a fit converged.

    Examples
    --------
    >>> from sstruct.plotting import SegmentationDisplay
    >>> display = SegmentationDisplay({"truth": [[0, 1], [1, 1]]}, ["ground", "figure"]).plot()
    >>> [axes.get_title() for axes in display.axes_]
    ['truth']
    """

    labelings: dict[str, np.ndarray]
    classes: np.ndarray
    image: ArrayLike | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        image: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        approximate: bool = False,
        axes: Any = None,
        cmap: Any = None,
    ) -> SegmentationDisplay:
        """Plot the true labels of an image and predicted ones.

        Parameters
        ----------
        y_true : array of shape (height, width) or None
            True labels; None: no such panel.
        y_pred : array of shape (height, width), or dict of str to such arrays
            Predicted labels, or those of several models by name. If `y_true` is given, titles show
            the share of labeled pixels that are right.
        image : array, default=None
            The image: (height, width), or (height, width, 3 or 4), as matplotlib's `imshow` takes
            it.
        classes : array-like, default=None
            All labels, in the order of their colors; by default those that occur, sorted. Other
            labels, such as an ignored one, are drawn blank and not counted.
        approximate : bool, default=False
            Whether the predictions come from a decoder that is not exact; titles say so.
        axes : array of matplotlib Axes, default=None
            Axes to draw in, as many as there are panels; a new figure by default.
        cmap : str or matplotlib Colormap, default=None
            Colours of the labels.

        Returns
        -------
        display : SegmentationDisplay
            Object that holds the panels.

        Examples
        --------
        >>> from sstruct.plotting import SegmentationDisplay
        >>> display = SegmentationDisplay.from_predictions([[0, 1], [1, 1]], [[0, 1], [0, 1]])
        >>> [axes.get_title() for axes in display.axes_]
        ['truth', 'prediction, 75.0 %']
        """
        predictions = y_pred if isinstance(y_pred, Mapping) else {"prediction": y_pred}
        given = {} if y_true is None else {"truth": np.asarray(y_true)}
        given |= {name: np.asarray(labels) for name, labels in predictions.items()}
        shape = next(iter(given.values())).shape
        for name, labels in given.items():
            if labels.ndim != 2 or labels.shape != shape:
                raise ValueError(
                    f"the labels of {name!r} have shape {labels.shape}, expected one height and "
                    f"width for all, here {shape}"
                )
        if classes is None:
            classes = np.unique(np.concatenate([labels.ravel() for labels in given.values()]))
        classes = np.asarray(classes)
        codes = {
            name: encode(labels.ravel(), classes).reshape(shape) for name, labels in given.items()
        }
        panels = {}
        for name, panel in codes.items():
            title = name
            if name in predictions:
                title += " (approximate)" * bool(approximate)
                known = codes["truth"] >= 0 if y_true is not None else np.zeros(shape, dtype=bool)
                if known.any():
                    right = (panel == codes["truth"])[known].mean()
                    title += f", {100 * right:.1f} %"
            panels[title] = panel
        return cls(panels, classes, image).plot(axes=axes, cmap=cmap)

    def plot(self, axes: Any = None, *, cmap: Any = None) -> SegmentationDisplay:
        """Draw the panels.

        Parameters
        ----------
        axes : array of matplotlib Axes, default=None
            Axes to draw in, as many as there are panels; a new figure by default.
        cmap : str or matplotlib Colormap, default=None
            Colours of the labels; by default "cividis" for two, "tab20" for more.

        Returns
        -------
        display : SegmentationDisplay
            The object itself.

        Examples
        --------
        >>> from sstruct.plotting import SegmentationDisplay
        >>> display = SegmentationDisplay({"truth": [[0, 1], [1, 1]]}, [0, 1]).plot(cmap="gray")
        >>> len(display.images_)
        1
        """
        plt = import_pyplot(f"{type(self).__name__}.plot")
        n_labels, n_panels = len(self.classes), len(self.labelings) + (self.image is not None)
        if axes is None:
            _, axes = plt.subplots(
                1, n_panels, figsize=(3.2 * n_panels, 3.0), squeeze=False, layout="constrained"
            )
        axes = np.atleast_1d(axes).ravel()
        if len(axes) != n_panels:
            raise ValueError(f"{len(axes)} axes for {n_panels} panels")
        cmap = plt.get_cmap(cmap or ("cividis" if n_labels <= 2 else "tab20"))
        rest = iter(axes)
        self.images_ = []
        if self.image is not None:
            panel = next(rest)
            self.images_.append(panel.imshow(np.asarray(self.image), cmap="gray"))
            panel.set_title("image")
        for panel, (title, labels) in zip(rest, self.labelings.items(), strict=True):
            blank = np.ma.masked_less(np.asarray(labels), 0)
            drawn = panel.imshow(
                blank, cmap=cmap, vmin=0, vmax=max(n_labels - 1, 1), interpolation="nearest"
            )
            self.images_.append(drawn)
            panel.set_title(title)
        for panel in axes:
            panel.set_axis_off()
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
