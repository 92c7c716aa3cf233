"""GridCRFSSVM: max-margin labeling of the pixels of images."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._checks.scalars import is_real
from sstruct._checks.shown import shortened
from sstruct._estimators.core.documentation import shares_documentation
from sstruct._estimators.core.texts import Common, Graphs, Held
from sstruct._estimators.graph.fitted_state import GRID_STATE
from sstruct._estimators.graph.samples import image_labels, pack_grids
from sstruct._estimators.windows.windowed import Windows
from sstruct._problems.core._rows import is_mapped
from sstruct.graph import GraphCRFSSVM

__all__ = ["GridCRFSSVM"]

# Names of the features that grids make for their edges, for `to_frame`.
GRID_FEATURES = {
    "contrast": ["constant", "contrast"],
    "directed": ["right", "down", "down-right", "down-left"],
}
# window_size="auto" cuts images of more pixels than the first number into tiles of at most the
# second: benchmarks/notes/images.md.
LARGEST_WHOLE = 128**2
AUTO_TILE = 64**2


@explains_arguments
@shares_documentation(Common, Graphs)
@dataclass(kw_only=True, eq=False, repr=False)
class GridCRFSSVM(Windows, GraphCRFSSVM):
    r"""Structured SVM for images: a label for every pixel.

    A :class:`GraphCRFSSVM` whose graphs are grids of pixels. Each image may have its own size; edge
    features are made of the images.

    Parameters
    ----------
    connectivity : {4, 8}, default=4
        Number of neighbors of a pixel: 4, or 8 with diagonals.
    pairwise : {"potts", "contrast", "full", "directed"} or float, default="potts"
        What the labels a and b of two neighboring pixels add to the score.

        - ``"potts"``: ``edge_coef_ * [a != b]``, one weight, at most 0.
        - ``"contrast"``: two weights, at most 0, times [a != b] and times 1 and
          ``exp(-norm(x_u - x_v) ** 2 / (2 mean))``, where mean is that of the squared norm over the
          image's edges: less where the image changes much.
        - ``"full"``: ``(edge_coef_[a, b] + edge_coef_[b, a]) / 2``, any signs. If some pairs repel
          each other, decoding takes several times as long as with ``"potts"``: about 3 s instead
          of 0.2 s for 360 x 480 pixels and 11 labels.
        - ``"directed"``: ``edge_coef_[g, a, b]``, any signs, of the direction g of the edge: right,
          down and, for 8 neighbors, down-right and down-left; a is the label of the upper or
          left pixel.
        - a float, at least 0: the cost of neighbors with different labels, not learned.
    <inference>
    <fit_intercept>
    <bounds>
    <classes>
    <ignore_label>
    <lam>
    loss : {"hamming", "hamming-count", "balanced"} or array-like, default="hamming-count"
        Cost of a wrong labeling.

        - ``"hamming-count"``: the number of wrong pixels.
        - ``"hamming"``: the share of wrong pixels.
        - ``"balanced"``: as ``"hamming"``, but a pixel with true label k counts N / (K N_k), for
          N_k of N pixels with that label and the K labels that occur.
        - an array (K,): as ``"hamming"``, with the weight of a pixel by its true label.
        - an array (K, K): the mean cost of the pixels, rows the true label, columns the predicted
          one; nonnegative, with a zero diagonal.

        Arrays are in the order of ``classes_``. Pixels without a known label do not count.
    <class_weight>
    <rescaling>
    <search>
    window_size : int, "auto" or None, default="auto"
        Train on tiles: each image of more than this number of pixels is cut into tiles of at most
        this number of pixels, whose sides differ by at most one pixel. This makes training on large
        images several times faster. Each edge belongs to one tile; if it leaves the tile, the label
        at its end is free. The sum of the tiles' hinge losses is an upper bound of the image's, and
        is what training minimizes: ``objective_`` is at least the objective of whole images,
        ``whole_objective_``. ``"auto"`` cuts images of more than 16,384 pixels into tiles of at
        most 4,096 pixels, but none with slack rescaling, with a `solver` other than ``"mp-bcfw"``
        and ``"bcfw"``, or if the images are mapped from a file. Integers need margin rescaling and
        one of these solvers. With None, training uses whole images. Predictions are always made for
        whole images. See :doc:`/how_to/long_recordings`.
    <solver>
    <tol>
    <certificate_every>
    <max_iter>
    <max_time>
    <early_stopping>
    <validation_fraction>
    <n_iter_no_change>
    <warm_start>
    <checkpoint>
    <n_jobs>
    <random_state>
    <verbose>

    Attributes
    ----------
    <w_>
    <coef_>
    <intercept_>
    edge_coef_ : ndarray of shape (1,), (2,), (K, K) or (D, K, K), or None
        Pairwise weights of ``"potts"``, ``"contrast"``, ``"full"`` or ``"directed"``, for D = 2 or
        4 directions; None where `pairwise` is a float.
    <classes_>
    <n_features_in_>
    <feature_names_in_>
    <lam_>
    <solver_>
    <n_iter_>
    <n_oracle_calls_>
    <objective_>
        If images were cut into tiles, that is the objective over tiles.
    whole_objective_ : float
        The objective of whole images at ``w_``, at most ``objective_`` if decoding is exact. Only
        if images were cut into tiles, and not for partitions.
    <status_>
    <converged_>
    <inference_>
    <history_>

    See Also
    --------
    GraphCRFSSVM : Any graphs, such as superpixels, with edge features of one's own.

    Notes
    -----
    `lam` does not depend on the number of pixels, as for :class:`GraphCRFSSVM`. With ten
    images of 512 x 512 pixels, three float32 features and ``"potts"``, 20 passes took 260 MB beside
    the data, and 190 MB with ``window_size=None``.

    Unknown pixels up to five edges away from a labeled pixel take the nearest label in training,
    without loss, as nodes of :class:`GraphCRFSSVM` do; others are left out, and so are all unknown
    pixels of an image if more than a tenth of them is farther away. Void borders between
    objects therefore need no preparation.

    Images of one size share their edges, of which an H x W image has about 2 H W or, with 8
    neighbors, 4 H W. Features in one contiguous array (n, H, W, F) are not copied unless pixels
    leave training or images are cut into tiles, which copies all of them.

    <References>

    Examples
    --------
    Squares seen through noise:

    >>> import numpy as np
    >>> from sstruct import GridCRFSSVM
    >>> rng = np.random.default_rng(0)
    >>> y = np.zeros((20, 12, 12), dtype=int)
    >>> for image in y:
    ...     row, column = rng.integers(1, 5, 2)
    ...     image[row : row + 6, column : column + 6] = 1
    >>> X = (2 * y - 1 + rng.normal(size=y.shape))[..., np.newaxis]
    >>> model = GridCRFSSVM(random_state=0).fit(X[:10], y[:10])
    >>> model.status_
    'CONVERGED'
    >>> model.predict(X[10:]).shape
    (10, 12, 12)
    >>> bool(model.score(X[10:], y[10:]) > 0.97)
    True
    """

    _fitted_state = GRID_STATE
    _one_sample = "images: one image is a list of one array (height, width, channels), [X]"

    connectivity: int = 4
    window_size: int | str | None = "auto"
    whole_objective_: float = field(init=False)

    def _check_parameters(self):
        super()._check_parameters()
        if not is_real(self.connectivity) or self.connectivity not in (4, 8):
            raise ValueError(f"connectivity must be 4 or 8, found {shortened(self.connectivity)}")

    def _windows(self, nodes):
        """Return the size up to which images are not cut, and the largest size of a tile."""
        # Tiles are copies; features that are mapped from a file may exceed the memory.
        on_disk = is_mapped(nodes.flat)
        return self._window_sizes(*((np.inf, 1) if on_disk else (LARGEST_WHOLE, AUTO_TILE)))

    def _pack(self, X, model, *, fitted):
        return pack_grids(self, X, model["pairwise"], model["connectivity"], fitted=fitted)

    def _edge_feature_names(self):
        names = GRID_FEATURES[self._model["pairwise"]]
        return names[: self._edge_shape[0]]

    def _labels_of(self, labels):
        return np.ravel(labels)

    def _labels(self, y, nodes):
        return image_labels(y, nodes, self)

    @shares_documentation(Held)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Learn from labeled images.

        Parameters
        ----------
        X : list of n arrays of shape (H, W, n_features), or array of shape (n, H, W, n_features)
            Values of about 1; of images as they are loaded, from 0 to 255, divide by 255. Images
            without pixels are ignored, with a warning. A 2-D array or sparse matrix is read as
            images of one pixel, one a row. Or partitions of such lists on a Dask cluster, with y
            alike: see :doc:`/how_to/cluster`.
        y : list of n arrays of shape (H, W), or array of shape (n, H, W)
            Labels of any hashable type; for 2-D X one label a row.
        sample_weight : array-like of shape (n,), or list of n arrays (H, W), optional
            Nonnegative. One number for each sample: weight 2 counts as two copies, weight 0 as
            none. Or one array for each sample: the weights of its pixels in the loss, which
            multiply the pixels' costs; a loss that is a share of pixels is then a share of weights.
            Wrong labels at pixels of weight 0 cost nothing, but such pixels stay in the image; to
            leave pixels out, use `ignore_label`.
        <X_val>
        <sample_weight_val>

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the data or a parameter are not as expected. The message names the sample; the
            estimator stays as it was.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def predict(self, X: Any, y_partial: Any = None) -> np.ndarray:
        """Find the best labeling of each image; known labels may be given.

        With the decoder of the fit; `inference_` says whether it is exact.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        y_partial : list of n arrays of shape (H, W), or array of shape (n, H, W), optional
            Known labels, which are kept: for each pixel a label, and None, NaN or -1 (where that
            is no class), or `ignore_label`, where it is not known; None in the place of an image of
            which nothing is known. For 2-D X one label a row.

        Returns
        -------
        ndarray
            For lists a 1-D object array of (H, W) label arrays; for (n, H, W, n_features) of shape
            (n, H, W); for 2-D X of shape (n,). With `y_partial` the best of the labelings that have
            the known labels.

        Raises
        ------
        ValueError, TypeError
            Where the data are not as expected; the message names the sample and the pixel.

        Examples
        --------
        One pixel is marked by hand, and the others follow it:

        >>> import numpy as np
        >>> from sstruct import GridCRFSSVM
        >>> y = np.array([np.ones((2, 3), dtype=int), np.zeros((2, 3), dtype=int)])
        >>> X = 2.0 * y[..., np.newaxis] - 1
        >>> model = GridCRFSSVM(pairwise=0.5, random_state=0).fit(X, y)
        >>> seeds = np.full((1, 2, 3), -1)
        >>> seeds[0, 0, 0] = 0
        >>> model.predict(X[:1] / 10, seeds)
        array([[[0, 0, 0],
                [0, 0, 0]]])
        """
        return super().predict(X, y_partial)

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute for each pixel and label the best score of a labeling with it (max-marginals).

        Exact for two labels whose neighbors attract each other, by minimum cuts, and for images
        of one row or column. For others approximate, and never too high: the score of the labeling
        that ``predict`` finds with this one label changed. ``inference_`` is then not exact either.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples; one image is a list of one array. 2-D only if X was in the fit.

        Returns
        -------
        ndarray
            As :meth:`predict`, with K scores in place of each label: arrays (H, W, K) for images,
            (n, K) for 2-D X. Where they are exact, the labels of ``predict`` have the highest score
            of their pixel, up to ties.

        See Also
        --------
        GraphCRFSSVM.decision_function : How, and what it costs.
        """
        return super().decision_function(X)
