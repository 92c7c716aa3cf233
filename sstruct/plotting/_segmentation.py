"""Visualization of segmentations next to the image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sstruct._checks.arrays import array_of
from sstruct._checks.shown import brief, shortened
from sstruct._input.labels import encode
from sstruct._input.segments import numbered, painted

from ._matplotlib import import_pyplot


@dataclass(eq=False, repr=False)
class SegmentationDisplay:
    """Visualization of true and predicted label images side by side.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    labelings : dict of str to int array of shape (height, width)
        Title and labels of each panel; labels index `classes`, and -1 is not drawn.
    classes : array of shape (n_labels,)
        The labels.
    image : array of shape (height, width) or (height, width, 3 or 4), default=None
        The image, drawn in the first panel. If None, this panel is omitted.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (n_panels,)
        Axes of the panels.
    figure_ : matplotlib Figure
        Figure containing the panels.
    images_ : list of matplotlib AxesImage
        Images in the panels.

    See Also
    --------
    ConvergenceDisplay : Plot the convergence of a fit.

    Examples
    --------
    .. plot::
        :include-source: True

        >>> from sstruct import GridCRFSSVM
        >>> from sstruct.datasets import make_grids
        >>> from sstruct.plotting import SegmentationDisplay
        >>> X, y = make_grids(n_samples=11, random_state=0)
        >>> model = GridCRFSSVM(random_state=0).fit(X[:10], y[:10])
        >>> display = SegmentationDisplay.from_estimator(model, X[10], y[10])
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
        """Plot true and predicted labels of an image.

        Parameters
        ----------
        y_true : array of shape (height, width) or None
            True labels. If None, their panel is omitted.
        y_pred : array of shape (height, width), or dict of str to such arrays
            Predicted labels, or those of several models by name. If `y_true` is given, titles show
            the accuracy on labeled pixels.
        image : array, default=None
            Image of shape (height, width) or (height, width, 3 or 4), in the format of matplotlib's
            `imshow`.
        classes : array-like, default=None
            All labels in the order of their colors. Default: the labels that occur, sorted. Other
            labels, such as an ignored one, are neither drawn nor counted.
        approximate : bool, default=False
            Whether the predictions come from an approximate decoder, which is shown in the titles.
        axes : array of matplotlib Axes, default=None
            Axes to draw in, one for each panel; a new figure by default.
        cmap : str or matplotlib Colormap, default=None
            Colors of the labels.

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
        # A sparse dok matrix is a Mapping, too.
        named = isinstance(y_pred, Mapping) and not sparse.issparse(y_pred)
        predictions = y_pred if named else {"prediction": y_pred}
        if not predictions:
            raise ValueError("y_pred is empty, expected at least one array of labels")
        given = {} if y_true is None else {"truth": y_true}
        if given.keys() & predictions.keys():
            raise ValueError("a prediction is named 'truth', which is reserved; rename it")
        given = {name: _label_image(name, y) for name, y in (given | predictions).items()}
        _common_shape(given)
        codes, classes = _encoded(given, classes)
        display = cls(_titled(codes, y_true is not None, approximate), classes, image)
        return display.plot(axes=axes, cmap=cmap)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        segments: ArrayLike | None = None,
        image: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        axes: Any = None,
        cmap: Any = None,
    ) -> SegmentationDisplay:
        """Plot the labels that a fitted estimator predicts for an image, and the true labels.

        Parameters
        ----------
        estimator : fitted GridCRFSSVM or GraphCRFSSVM
            The estimator, or a pipeline or search that ends with it.
        X : array of shape (height, width, n_features) or tuple
            A sample as in the estimator's ``predict``: an image, or a graph with `segments`.
        y : array of shape (height, width) or (n_nodes,), default=None
            True labels of the pixels, or of the nodes of the graph. If None, their panel is
            omitted.
        segments : array of int of shape (height, width), default=None
            The node of each pixel, if X is a graph: the argument of
            :func:`sstruct.preprocessing.superpixel_graph`, negative for pixels excluded by a mask.
        image : array, default=None
            As in :meth:`from_predictions`, drawn next to the labels.
        classes : array-like, default=None
            As in :meth:`from_predictions`; by default the estimator's ``classes_``.
        axes : array of matplotlib Axes, default=None
            Axes to draw in, one for each panel; a new figure by default.
        cmap : str or matplotlib Colormap, default=None
            Colors of the labels.

        Returns
        -------
        display : SegmentationDisplay
            Object that holds the panels. Titles indicate approximate decoding.

        Examples
        --------
        >>> from sstruct import GridCRFSSVM
        >>> from sstruct.datasets import make_grids
        >>> from sstruct.plotting import SegmentationDisplay
        >>> X, y = make_grids(n_samples=4, random_state=0)
        >>> model = GridCRFSSVM(lam=1e4, random_state=0).fit(X[:3], y[:3])
        >>> display = SegmentationDisplay.from_estimator(model, X[3], y[3])
        >>> len(display.axes_)
        2
        """
        shape, nodes, n_nodes = _pixels_of(X, segments)
        given = {}
        if y is not None:
            given["truth"] = np.asarray(y)
            found = given["truth"].shape
            if found != shape and (nodes is None or found != (n_nodes,)):
                or_nodes = "" if nodes is None else f" or {(n_nodes,)}"
                raise ValueError(f"y has shape {found}, expected {shape}{or_nodes}")
        given["prediction"] = np.asarray(estimator.predict([X])[0])
        if classes is None:
            classes = getattr(estimator, "classes_", None)
        codes, classes = _encoded(given, classes)
        for name, values in codes.items():
            if values.ndim == 1:
                codes[name] = painted(nodes, n_nodes, values, -1)
        display = cls(_titled(codes, y is not None, _is_approximate(estimator)), classes, image)
        return display.plot(axes=axes, cmap=cmap)

    def plot(self, axes: Any = None, *, cmap: Any = None) -> SegmentationDisplay:
        """Plot the panels.

        Parameters
        ----------
        axes : array of matplotlib Axes, default=None
            Axes to draw in, one for each panel; a new figure by default.
        cmap : str or matplotlib Colormap, default=None
            Colors of the labels; by default "cividis" for two, "tab20" for more.

        Returns
        -------
        display : SegmentationDisplay
            This object.

        Examples
        --------
        >>> from sstruct.plotting import SegmentationDisplay
        >>> display = SegmentationDisplay({"truth": [[0, 1], [1, 1]]}, [0, 1]).plot(cmap="gray")
        >>> len(display.images_)
        1
        """
        plt = import_pyplot(f"{type(self).__name__}.plot")
        self._check_shapes()
        n_labels, n_panels = len(self.classes), len(self.labelings) + (self.image is not None)
        if axes is None:
            _, axes = plt.subplots(
                1, n_panels, figsize=(3.2 * n_panels, 3.0), squeeze=False, layout="constrained"
            )
        axes = np.atleast_1d(axes).ravel()
        if len(axes) != n_panels:
            raise ValueError(
                f"axes has {len(axes)} entries, expected one for each of {n_panels} panels"
            )
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

    def _check_shapes(self):
        """Validate the shapes of labelings and image before anything is drawn."""
        if not isinstance(self.labelings, Mapping) or not self.labelings:
            kind = type(self.labelings).__name__
            raise TypeError(f"labelings must be a dict of label images by title, found {kind}")
        shape = _common_shape(self.labelings)
        own = shape if self.image is None else array_of(self.image, "image").shape
        if own[:2] != shape or (len(own) > 2 and own[2:] not in ((1,), (3,), (4,))):
            raise ValueError(
                f"image has shape {own}, expected {shape} like the labels, or {(*shape, 3)} or "
                f"{(*shape, 4)}"
            )


def _common_shape(labelings):
    """Return the shape (height, width) of all labels, or raise ValueError."""
    shape = None
    for title, labels in labelings.items():
        own = np.shape(labels)
        shape = own if shape is None else shape
        if len(own) != 2 or own != shape:
            expected = shape if len(shape) == 2 else "(height, width)"
            raise ValueError(
                f"the labels of {shortened(title)} have shape {own}, expected {expected}, the same "
                "for all panels"
            )
    return shape


def _label_image(name, labels):
    """Return labels as an array (height, width)."""
    name = f"the labels of {shortened(name)}"
    array = array_of(labels, name, "an array of shape (height, width)")
    if array.ndim != 2:
        several = array.ndim > 2 or array.dtype == object
        hint = "; pass a single image" if several else ""
        if array.ndim == 1 and not several:
            hint = (
                "; use sstruct.preprocessing.pixel_labels(segments, labels) for labels of segments"
            )
        raise ValueError(f"{name} have shape {array.shape}, expected (height, width){hint}")
    return array


def _encoded(given, classes):
    """Return the indices of labels among the classes, by name, and the classes."""
    try:
        if classes is None:
            classes = np.unique(np.concatenate([labels.ravel() for labels in given.values()]))
    except (TypeError, ArithmeticError) as error:  # such as an invalid Decimal
        raise TypeError(f"labels must have types that can be compared: {brief(error)}") from error
    classes = array_of(classes, "classes")
    if classes.ndim != 1 or len(classes) == 0:
        raise ValueError(f"classes has shape {classes.shape}, expected a list of labels")
    codes = {
        name: encode(labels.ravel(), classes).reshape(labels.shape)
        for name, labels in given.items()
    }
    return codes, classes


def _pixels_of(X, segments):
    """Return the shape of the image of a sample; for a graph, also its node indices and number."""
    if isinstance(X, list) and any(isinstance(item, tuple) for item in X):
        raise ValueError(f"X is a list of {len(X)} graphs, expected a single one, such as X[0]")
    if isinstance(X, tuple):
        if segments is None:
            raise ValueError(
                "X is a graph, which requires segments, the array (height, width) from which it "
                "was built"
            )
        nodes, n_found = numbered(segments)
        n_nodes = X[0].shape[0] if hasattr(X[0], "shape") else len(X[0])
        if n_found != n_nodes:
            raise ValueError(
                f"segments has {n_found} segments, but the graph has {n_nodes} nodes; if it was "
                "built with a mask, pass segments=numpy.where(mask, segments, -1)"
            )
        return nodes.shape, nodes, n_nodes
    if segments is not None:
        raise ValueError("segments requires a graph, but X is not a tuple (node features, edges)")
    expected = "a single image (height, width, n_features), such as X[0] of several images"
    shape = array_of(X, "X", expected).shape
    if len(shape) != 3:
        raise ValueError(f"X has shape {shape}, expected {expected}")
    return shape[:2], None, None


def _is_approximate(estimator):
    """Return whether an estimator, or the last step of a pipeline or search, is approximate."""
    model = getattr(estimator, "best_estimator_", estimator)
    model = getattr(model, "steps", [(None, model)])[-1][1]
    return bool(getattr(model, "_is_approximate", False))


def _titled(codes, compared, approximate):
    """Return the panels by title; with `compared`, the first panel is the truth."""
    panels = {}
    for name, panel in codes.items():
        title = name
        if not compared or name != "truth":
            title += " (approximate)" * bool(approximate)
            known = codes["truth"] >= 0 if compared else np.zeros(panel.shape, dtype=bool)
            if known.any():
                right = (panel == codes["truth"])[known].mean()
                title += f", {100 * right:.1f} %"
        panels[title] = panel
    return panels
