"""Max-margin labeling of the pixels of images."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._estimators.graph.grid_structure import GridStructure
from sstruct.graph import GraphCRFSSVM

__all__ = ["GridCRFSSVM"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class GridCRFSSVM(GraphCRFSSVM):
    r"""Structured SVM for images: a label for every pixel.

    This estimator is a :class:`GraphCRFSSVM` whose graphs are grids of pixels. Images may differ in
    size; edge features are computed from the images.

    Parameters
    ----------
    connectivity : {4, 8}, default=4
        Number of neighbors of a pixel: 4, or 8 with diagonals.
    pairwise : {"potts", "contrast", "full", "directed"} or float, default="potts"
        Contribution of the labels a and b of two neighboring pixels to the score.

        - ``"potts"``: ``edge_coef_ * [a != b]``, one weight, at most 0.
        - ``"contrast"``: ``edge_coef_ @ [1, exp(-s / (2 * mean(s)))] * [a != b]``, two weights, at
          most 0, for the squared distance s of the features of the two pixels and its mean over the
          pairs of neighbors in the image. Different labels cost less where features change a lot.
        - ``"full"``: ``(edge_coef_[a, b] + edge_coef_[b, a]) / 2``, any signs. If some pairs repel
          each other, decoding takes several times as long as with ``"potts"``.
        - ``"directed"``: ``edge_coef_[g, a, b]``, any signs, for the direction g of the edge:
          right, down and, for 8 neighbors, down-right and down-left; a is the label of the upper or
          left pixel.
        - a float, at least 0: the fixed cost of neighbors with different labels.
    inference : {"auto", "cut", "expansion", "max-sum", "fwmap", "exact"}, default="auto"
        The decoder. ``"cut"``: minimum cut, exact, for two labels if neighbors attract each other;
        ``"max-sum"``: exact, for graphs without cycles; ``"expansion"``: approximate, by
        alpha-expansion, or by fusion moves if neighbors may repel each other; ``"fwmap"``: for all
        labels and graphs, by trees coupled by multipliers as in :func:`sstruct.inference.map_mrf`,
        warm-started from the last decoding of the same graph. ``"fwmap"`` is slower than
        ``"expansion"``, finds better labelings if neighbors repel each other, and bounds its error.
        ``"exact"``: for graphs of up to several hundred nodes; the first of these decoders that is
        exact for all graphs, otherwise ``"expansion"`` followed by branch and bound, which proves
        that a labeling is optimal or finds a better one, within limits. ``"auto"`` uses the first
        of these decoders that is exact for all graphs, otherwise ``"expansion"``, both in training
        and in prediction.
    max_oracle_time : float or None, default=None
        Time limit in seconds, at least 0, of each decoding by branch and bound (``"exact"``), in
        training and prediction. At the limit, the best labeling found and a bound are returned, so
        that certificates remain valid; results then depend on the speed of the machine. If None,
        only the number of visited table entries is limited, to 2^31 (several seconds), and results
        are reproducible. During training, a decoding stops early if the labeling found so far
        allows a step of the solver. Only the last certificate of a fit requires proofs of
        optimality; earlier values of primal and gap in ``history_`` may be somewhat too large. With
        branch and bound, ``history_`` has two more columns, both cumulative: searches, the number
        of decodings in passes that did not stop early, and proofs, the number of these whose
        labeling is proven to be optimal.
    class_scores : slice, list, tuple or None, default=None
        Columns of X that are scores of the classes from another model, such as logits or
        log-probabilities; higher is better. Exactly one column per class, in the order of
        ``classes_``: a slice, or a list or array of column numbers or names. These K columns share
        one weight, ``class_scores_weight_``, instead of K weights each: it multiplies the k-th
        column in the score of class k. It is learned, at least 0, and regularized like the weights
        of features. A tuple ``("fixed", columns)`` sets it to 1; ``objective_`` then includes
        ``lam / 2`` for it, and paths over `lam` are not supported. ``("scale", columns)`` is the
        same as `columns`. See :doc:`/how_to/given_scores`.
    fit_intercept : bool, default=True
        Whether each label has a bias (intercept), which is regularized like all weights.
    bounds : "submodular", array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite for free weights.
        For ``"potts"`` and ``"contrast"``, pairwise weights are at most 0 even with None, and an
        array that allows positive ones raises an error. ``"submodular"`` ensures that neighbors
        attract each other for ``"full"`` and ``"directed"`` (with nonnegative edge features):
        diagonals of ``edge_coef_`` are at least 0, other entries at most 0.
    prior : fitted model, array-like of shape (n_weights,) or None, default=None
        Weights w0 to which the weights are regularized: ``lam / 2 * |w - w0|^2`` replaces
        ``lam / 2 * |w|^2`` in the objective and its certificate, which adapts a model to few
        samples: see :doc:`/how_to/adapt_model`. A model must be of the same class, with the same
        features and parameters that define weights; the new model has the classes of the prior,
        which is not changed. ``clone`` does not copy it; in a list of candidates of a parameter
        search, wrap it in :class:`~sklearn.frozen.FrozenEstimator`. An array is in the order of
        ``w_``. ``lam="auto"`` depends only on the features, as without a prior. ``"perceptron"``
        and ``"pa"`` start at w0.
    classes : array-like or None, default=None
        All labels, in the order of ``classes_``. If None, the sorted labels that occur in training.
    ignore_label : object, default=-1
        Label of nodes (pixels) whose label is unknown. These nodes, and nodes whose label is None,
        NaN or masked, do not count in the loss or in ``score``, and are predicted like all others;
        the Notes describe their role in training. If None, all labels must be known, and a missing
        one raises an error.
    lam : float or "auto", default="auto"
        Regularization strength, positive. All weights are regularized, including intercepts.
        ``"auto"`` is 0.4 V m^(1/5) / n, where n is the sum of sample weights, m the average number
        of nodes per sample, and V the sum of the variances of node features; features on a much
        larger scale than the others have less influence on V. The value is divided by the mean cost
        of a wrong node, which is 1 / m with ``loss="hamming"``. Many papers use ``lam=1 / n``. C of
        LIBLINEAR is ``1 / (lam * n)``.
        With slack rescaling, ``"auto"`` is multiplied by the mean cost instead of divided by it.
    loss : {"hamming", "hamming-count", "balanced"} or array-like, default="hamming-count"
        Cost of a wrong labeling.

        - ``"hamming-count"``: the number of wrong pixels.
        - ``"hamming"``: the fraction of wrong pixels.
        - ``"balanced"``: as ``"hamming"``, but a pixel with true label k has weight N / (K N_k),
          where N_k of N pixels have this label and K labels occur.
        - an array (K,): as ``"hamming"``, with the weight of a pixel by its true label.
        - an array (K, K): the mean cost of the pixels, rows the true label, columns the predicted
          one; nonnegative, with a zero diagonal.

        Arrays are in the order of ``classes_``. Pixels without a known label do not count.
    class_weight : dict, "balanced" or None, default=None
        Factor of the cost of a wrong node, by its true label, in addition to `loss`: weight 2
        doubles the cost of errors. Labels missing in a dict have weight 1. ``"balanced"`` uses
        N / (K N_k), where N_k of N nodes have label k and K labels occur.
    rescaling : {"margin", "slack"}, default="margin"
        Required margin of the true labeling over a wrong one. With ``"margin"``, it is the loss of
        the wrong labeling. With ``"slack"``, it is 1, and violations are multiplied by the loss
        [6]_.
    search : {"auto", "bisecting", "binary"}, default="auto"
        Search of ``rescaling="slack"`` for the most violated labeling, by decoding with several
        weights of the loss. ``"auto"`` is ``"bisecting"``. Both searches may miss the most violated
        labeling. If the decoder is exact or bounded, they bound its violation, so
        ``objective_`` is an upper bound of the objective at ``w_``. ``"binary"`` requires more
        calls.
    window_size : int, "auto" or None, default="auto"
        Train on tiles: each image of more than this number of pixels is split into tiles of at most
        this number of pixels, whose sides differ by at most one pixel. This makes training on large
        images several times faster. Each edge belongs to one tile; if it crosses the border of the
        tile, the label of the pixel on the other side is free. Training minimizes the sum of the
        hinge losses of tiles, an upper bound of the hinge losses of images, so ``objective_`` is at
        least the objective of whole images, ``whole_objective_``. ``"auto"`` splits images of more
        than 16,384 pixels into tiles of at most 4,096 pixels, except with slack rescaling, with a
        `solver` other than ``"mp-bcfw"`` and ``"bcfw"``, or if the images are mapped from a file.
        Integers require margin rescaling and one of these solvers. With None, training uses whole
        images. Predictions are always made for whole images. See :doc:`/how_to/long_recordings`.
    solver : str or solver object, default="auto"
        The training algorithm. A name is shorthand for an object of :mod:`sstruct.solvers` with
        default options; to set options, such as early stopping or a checkpoint, pass an object, as
        in ``solver=MPBCFW(early_stopping=True)``. ``"auto"`` is ``"mp-bcfw"``
        (:class:`~sstruct.solvers.MPBCFW`, [1]_, [2]_); ``"bcfw"`` is the same without passes over
        cached labelings. Only these two solvers support `warm_start` and checkpoints. ``"fw"``
        [3]_, ``"ssg"`` [4]_ and ``"cutting-plane"`` [5]_ minimize the same objective and are
        intended for comparison. ``"perceptron"`` and ``"pa"`` have no objective and require
        ``lam="auto"``. They are useful for a fast first model and, like ``"ssg"``, for
        ``partial_fit``.
    tol : float, default=1e-2
        Tolerance of the stopping criterion: stop once the relative duality gap,
        (primal - dual) / primal, is at most `tol`, which bounds the relative suboptimality.
    max_iter : int, default=1000
        Maximum number of passes of n oracle calls. With ``cache=True``, an option of solvers, a
        pass over the samples may make fewer calls; then the number of passes is at most 10
        `max_iter`.
    max_time : float or None, default=None
        Time limit in seconds. A fit may exceed it by the time of one certificate (two for
        ``"ssg"``, one and a quadratic program for ``"cutting-plane"``).
    warm_start : {False, True, "dual", "primal"}, default=False
        Continue from the previous fit, for example after changing `lam` or adding samples.
        ``"dual"`` (or True) starts from its dual weights of labelings; ``"primal"`` rescales them
        so that weights change as little as possible if `lam` or sample weights change. The first
        samples must be the samples of the previous fit in the same order; different data raise an
        error. Sample weights may change, but not from or to 0. New classes raise an error; pass all
        `classes` before the first fit. A different `loss` or `fit_intercept`, or different weights
        of nodes, may also raise an error.
    n_jobs : int or None, default=None
        Number of threads for training and prediction; -1 uses all processors. Results do not depend
        on it.
    random_state : int, RandomState instance or None, default=None
        Pass an int for results that are bitwise reproducible on the same machine and build, unless
        `max_time` is set.
    verbose : int, default=0
        If 1, show a progress bar with the solver and the gap on ``sys.stderr``. If 2, or if tqdm is
        not installed or ``sys.stderr`` is None, log one line per pass to the logger ``sstruct``. If
        the stream is closed, the fit continues without output.

    Attributes
    ----------
    w_ : ndarray of shape (n_weights,)
        All weights in one vector: ``coef_`` (with `class_scores`, only the weights of the other
        columns, followed by ``class_scores_weight_``), ``intercept_`` and ``edge_coef_``, if they
        exist. Each access returns a copy.
    coef_ : ndarray of shape (K, n_features)
        Weights of the features, one row per label. With `class_scores`, it is a copy, in which the
        column with the scores of a class has ``class_scores_weight_`` in the row of this class and
        0 in the others.
    class_scores_weight_ : float
        The weight of the class scores. Only available if `class_scores` is set.
    intercept_ : ndarray of shape (K,)
        Intercepts; zero without `fit_intercept`.
    edge_coef_ : ndarray of shape (1,), (2,), (K, K) or (D, K, K), or None
        Pairwise weights of ``"potts"``, ``"contrast"``, ``"full"`` or ``"directed"``, for D = 2 or
        4 directions; None if `pairwise` is a float.
    classes_ : ndarray of shape (K,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.
    lam_ : float
        The value of `lam` that was used; 0 for ``"perceptron"`` and ``"pa"``, which do not use it.
    solver_ : str
        Name of the solver that was used.
    n_iter_ : int
        Number of passes, at least 1; for a solver with ``cache=True``, oracle calls divided by n.
    n_oracle_calls_ : int
        Number of oracle calls, excluding certificates. ``partial_fit`` counts all previous calls.
    objective_, dual_objective_, dual_gap_ : float
        The certificate: the objective at ``w_`` (primal), a lower bound of its minimum (dual), and
        their difference. With status ROUNDING, `dual_objective_` is lowered so that it remains a
        valid bound.
        If images were split into tiles, this is the objective over tiles, with the multipliers of
        ``couple_windows``, an option of the solver.
    whole_objective_ : float
        The objective of whole images at ``w_``, at most ``objective_`` if decoding is exact. Only
        available if images were split into tiles and X was not in partitions.
    status_ : str
        Reason for the end of training: CONVERGED, MAX_ITER, TIME_LIMIT, STOPPED_BY_CALLBACK;
        EARLY_STOPPED: the validation score no longer improved, or the returned weights have a
        better score than the weights within `tol`; INTERRUPTED: by Ctrl-C; STALLED: no further
        progress is possible, because of rounding or because the decoder is not exact; ROUNDING:
        rounding errors may exceed `tol`, so the duality gap is not certified.
    converged_ : bool
        Whether ``status_`` is CONVERGED.
    inference_ : str
        The decoder in training: ``"graph cut (exact)"``, ``"max-sum (exact)"``, ``"node by node
        (exact)"`` if no graph has an edge, ``"alpha-expansion (approximate)"``, ``"fusion moves
        (approximate)"``, ``"trees by Frank-Wolfe (bounded)"`` or ``"branch and bound (bounded)"``.
        With an approximate decoder, ``objective_`` may be below the primal, so the certificate is
        approximate, but ``dual_objective_`` remains a lower bound. With a bounded decoder,
        ``objective_`` is an upper bound, and ``dual_gap_`` is valid. Slack rescaling adds the
        search, as in ``"graph cut, bisecting search (bounded)"``.
    history_ : dict of ndarrays
        Columns with one row per pass: seconds and certificate_seconds (cumulative), passes,
        oracle_calls, approximate_passes (passes over cached labelings, of all data or a part),
        primal, gap (both NaN between certificates), dual, working_set_size (cached labelings per
        sample). For ``"fw"`` and ``"cutting-plane"``, a row has the certificate of the weights at
        the start of the pass. ``"perceptron"`` and ``"pa"`` add mistakes, the number of samples in
        the pass with a positive loss. Early stopping adds validation_score; the last row then has
        the certificate of ``w_``.
        Slack rescaling adds queries, the oracle calls of its searches (cumulative, excluding
        certificates).

    See Also
    --------
    GraphCRFSSVM : Any graphs, such as superpixels, with user-defined edge features.

    Notes
    -----
    With ``"hamming-count"``, a good value of `lam` depends little on the number of pixels, as for
    :class:`GraphCRFSSVM`. With ten images of 512 x 512 pixels, three float32 features and
    ``"potts"``, 20 passes took 260 MB in addition to the data, and 190 MB with
    ``window_size=None``.

    In training, unknown pixels up to five edges away from a labeled pixel get the nearest label,
    without loss, as in :class:`GraphCRFSSVM`. Other unknown pixels are removed. The pixels of an
    image are completed only if most neighboring labeled pixels have equal labels, at most a tenth
    of the unknown pixels are farther away, and `pairwise` is not 0. Void borders between objects
    therefore require no preprocessing.

    Images of the same size share their edges, about 2 H W or, with 8 neighbors, 4 H W for an H x W
    image. Features in one contiguous array (n, H, W, F) are not copied unless pixels are removed or
    images are split into tiles, which copies all features.

    References
    ----------
    .. [1] N. Shah, V. Kolmogorov, C. H. Lampert. A Multi-Plane Block-Coordinate Frank-Wolfe
       Algorithm for Training Structural SVMs with a Costly max-Oracle. CVPR 2015.
    .. [2] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. K. Dokania, S. Lacoste-Julien. Minding the
       Gaps for Block Frank-Wolfe Optimization of Structured SVMs. ICML 2016.
    .. [3] S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher. Block-Coordinate Frank-Wolfe
       Optimization for Structural SVMs. ICML 2013.
    .. [4] S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter. Pegasos: Primal Estimated
       sub-GrAdient SOlver for SVM. Mathematical Programming 127, 2011.
    .. [5] T. Joachims, T. Finley, C.-N. J. Yu. Cutting-Plane Training of Structural SVMs.
       Machine Learning 77, 2009.
    .. [6] H. Choi, O. Meshi, N. Srebro. Fast and Scalable Structural SVM with Slack Rescaling.
       arXiv:1510.06002, 2015.

    Examples
    --------
    Noisy images of squares:

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

    _structure_class = GridStructure

    connectivity: Literal[4, 8] = 4
    window_size: int | Literal["auto"] | None = "auto"
    whole_objective_: float = field(init=False)

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
        """Fit the model to labeled images.

        Parameters
        ----------
        X : list of n arrays of shape (H, W, n_features), or array of shape (n, H, W, n_features)
            Features, which should have a scale of about 1; divide 8-bit images by 255. Images
            without pixels are ignored with a warning. The rows of a 2-D array or sparse matrix are
            images of one pixel. X and y may also be partitions of such lists on a Dask cluster: see
            :doc:`/how_to/cluster`.
        y : list of n arrays of shape (H, W), or array of shape (n, H, W)
            Labels of any hashable type; for 2-D X one label per row.
        sample_weight : array-like of shape (n,), or list of n arrays (H, W), optional
            Nonnegative weights. With one number per sample, weight 2 is equivalent to two copies,
            and samples of weight 0 are ignored. With one array per sample, the weights of pixels
            multiply their costs in the loss; a loss that is a fraction of the pixels is then a
            fraction of the weights. Errors at pixels of weight 0 cost nothing, but such pixels
            remain in the image, unless all its labeled pixels have weight 0: such an image is
            ignored. To ignore pixels, use `ignore_label`.
        X_val, y_val : as X and y, optional
            Validation samples for early stopping, an option of solvers; they are not used in
            training. If None, early stopping sets aside a fraction of the samples
            (``validation_fraction`` of the solver). Labels not seen in training count as errors.
        sample_weight_val : as for ``score``, optional
            Weights of the validation samples in the score.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the data or a parameter are invalid. The message names the sample, and the estimator
            remains unchanged.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def predict(self, X: Any, y_partial: Any = None) -> np.ndarray:
        """Predict the best labeling of each image, optionally given some known labels.

        The decoder is the one of the fit; see `inference_` for whether it is exact.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        y_partial : list of n arrays of shape (H, W), or array of shape (n, H, W), optional
            Known labels; the others are predicted given these. The label of an unknown pixel is
            None, NaN, `ignore_label` or -1 (unless -1 is a class); None instead of an image marks
            all of its pixels as unknown. For 2-D X, one label per row.

        Returns
        -------
        ndarray
            For lists, a 1-D object array of (H, W) label arrays; for X of shape
            (n, H, W, n_features), an array of shape (n, H, W); for 2-D X, of shape (n,). With
            `y_partial`, the best labelings that contain the known labels.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid; the message names the sample and the pixel.

        Examples
        --------
        The known label of one pixel changes the predictions for the others:

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
        """Compute the best score of a labeling with each label at each pixel (max-marginals).

        Scores are exact for two labels if neighbors attract each other, by minimum cuts, and for
        images of one row or column. Otherwise, they are lower bounds: the score of the labeling
        from ``predict`` with only this label changed.

        Parameters
        ----------
        X : as in :meth:`fit`
            Images; pass a single image as a list of one array. X may be 2-D only if it was 2-D in
            ``fit``.

        Returns
        -------
        ndarray
            In the form of the output of :meth:`predict`, with K scores instead of each label:
            arrays (H, W, K) for images, (n, K) for 2-D X. If scores are exact, the labels from
            ``predict`` have the highest scores of their pixels, up to ties.

        See Also
        --------
        GraphCRFSSVM.decision_function : The algorithm and its complexity.
        """
        return super().decision_function(X)
