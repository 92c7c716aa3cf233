"""Max-margin pictorial structures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.weight_frame import named_weights
from sstruct._estimators.tree.tree_structure import TreeStructure

__all__ = ["TreeSSVM"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class TreeSSVM(BaseSSVM):
    r"""Structured SVM for the positions of the parts of an object, such as the joints of a body.

    Predicts the positions of the parts of an object, by a pictorial structure [7]_. Each part has a
    parent, and its expected offset from the parent is learned. A state of part p is one of its
    candidates s, or a pixel of its score map, with features f_{p,s} and a position (x, y). The
    score of states y is

    .. math::

        \sum_p \langle w_p, f_{p, y_p} \rangle - \sum_{p, \mathrm{parent}}
        \left( a_p\, dx^2 + b_p\, dx + c_p\, dy^2 + d_p\, dy \right)

    for the offset (dx, dy) of the part from its parent, divided by the scale of the sample, and
    learned a_p, c_p >= 0. Parts may have types, such as orientations of a limb, with separate
    weights, and a score for each pair of types of a part and its parent [8]_.

    Parameters
    ----------
    parents : array-like of int of shape (P,)
        Parent of each part, -1 at a root; several roots make a forest.
    fit_intercept : bool, default=True
        Whether each type of a part has a bias. Without types there is no bias, since it would be
        the same for all states of a part.
    bounds : array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite for free weights.
        The quadratic weights are nonnegative in any case.
    prior : fitted model, array-like of shape (n_weights,) or None, default=None
        Weights w0 to which the weights are regularized: ``lam / 2 * |w - w0|^2`` replaces
        ``lam / 2 * |w|^2`` in the objective and its certificate, which adapts a model to few
        samples: see :doc:`/how_to/adapt_model`. A model must be of the same class, with the same
        features and parameters that define weights; the new model has the classes of the prior,
        which is not changed. ``clone`` does not copy it; in a list of candidates of a parameter
        search, wrap it in :class:`~sklearn.frozen.FrozenEstimator`. An array is in the order of
        ``w_``. ``lam="auto"`` depends only on the features, as without a prior. ``"perceptron"``
        and ``"pa"`` start at w0.
    ignore_label : int or None, default=-1
        State of parts that are not annotated. These parts, and parts whose state is None or masked,
        are ignored in training with their edges (a child of such a part is a root in that sample),
        in the loss and in ``score``, but are still predicted. If None, all parts must be annotated,
        and a missing state raises an error.
    lam : float or "auto", default="auto"
        Regularization strength, positive. All weights are regularized, including intercepts.
        ``"auto"`` is 0.4 V m^(1/5) / n, where n is the sum of sample weights, m the average number
        of annotated parts per sample, and V the sum of the variances of the features of states;
        features on a much larger scale than the others have less influence on V. Unless
        ``loss="hamming-count"``, the value is multiplied by m, or divided by m with slack
        rescaling. Many papers use ``lam=1 / n``.
    loss : {"distance", "hamming", "hamming-count"}, default="distance"
        Cost of wrong states. ``"distance"``: mean over annotated parts of
        min(1, squared distance from the true position / scale^2), independent of the type;
        ``"hamming"``: fraction of annotated parts whose state is wrong; ``"hamming-count"``: the
        number of such parts.
    rescaling : {"margin", "slack"}, default="margin"
        Required margin of the true labeling over a wrong one. With ``"margin"``, it is the loss of
        the wrong labeling. With ``"slack"``, it is 1, and violations are multiplied by the loss
        [6]_.
    search : {"auto", "bisecting", "binary"}, default="auto"
        Search of slack rescaling for the most violated states. ``"auto"`` is exact for candidates
        with a Hamming loss, by a table over the number of errors; otherwise it is ``"bisecting"``,
        which may miss the most violated states but bounds their violation, so ``objective_`` is an
        upper bound. ``"binary"`` is similar but requires more queries.
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
        error. Sample weights may change, but not from or to 0.
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
        All weights in one vector: ``coef_``, ``intercept_``, ``edge_coef_`` and ``type_coef_``,
        if they exist. Each access returns a copy.
    coef_ : ndarray of shape (P, n_features), or (P, T, n_features) for T > 1 types
        Weights of the features of each part, and of each of its types.
    intercept_ : ndarray of shape (P,), or (P, T)
        Biases; zero without types or `fit_intercept`.
    edge_coef_ : ndarray of shape (P, 4), or (P, T, 4)
        a, b, c and d of the edge from each part, of each type, to its parent; zero at a root. With
        ``pair_scores`` a fifth column, their weight.
    type_coef_ : ndarray of shape (P, T, T), or None
        Score of each pair of types; rows are types of the parent, columns of the part. None without
        types.
    n_features_in_, n_types_ : int
        Number of features of a state, and of types of a part.
    parents_ : ndarray of shape (P,)
        Parent of each part, -1 at a root.
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
    status_ : str
        Reason for the end of training: CONVERGED, MAX_ITER, TIME_LIMIT, STOPPED_BY_CALLBACK;
        EARLY_STOPPED: the validation score no longer improved, or the returned weights have a
        better score than the weights within `tol`; INTERRUPTED: by Ctrl-C; STALLED: no further
        progress is possible, because of rounding or because the decoder is not exact; ROUNDING:
        rounding errors may exceed `tol`, so the duality gap is not certified.
    converged_ : bool
        Whether ``status_`` is CONVERGED.
    inference_ : str
        The decoder: ``"distance transform (exact)"`` for score maps, ``"max-sum (exact)"`` for
        candidates; with slack rescaling ``"max-sum, error table (exact)"``, or ``"distance
        transform, bisecting search (bounded)"``.
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
    sstruct.inference.tree_max_sum, sstruct.inference.distance_transform : The decoders.
    sstruct.metrics.mean_joint_distance : Mean distance of predicted from true positions.

    Notes
    -----
    Decoding takes O(n_features) per state, and then O(S_parent S_p) per edge of candidates or
    O(T S_p) per edge of score maps with T types.

    All weights are regularized, including weights of offsets, which are measured in units of
    ``scale``. With a scale of about the distance between parts, offsets are near 1 and training is
    fast.

    There is no `class_weight`, since the states of a part are positions in a sample and not classes
    shared by samples.

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
    .. [7] P. F. Felzenszwalb, D. P. Huttenlocher. Pictorial Structures for Object Recognition.
       IJCV 61, 2005.
    .. [8] Y. Yang, D. Ramanan. Articulated Pose Estimation with Flexible Mixtures-of-Parts.
       CVPR 2011.

    Examples
    --------
    >>> from sstruct import TreeSSVM
    >>> from sstruct.datasets import make_stick_figures
    >>> figures = make_stick_figures(60, random_state=0)
    >>> X, y = figures.data, figures.target
    >>> model = TreeSSVM(parents=figures.parents, lam=0.001, random_state=0).fit(X[:40], y[:40])
    >>> model.inference_
    'distance transform (exact)'
    >>> bool(model.score(X[40:], y[40:]) > 0.9)
    True
    """

    _structure_class = TreeStructure

    coef_ = named_weights("coef", "Weights of the features of each part and type.")
    intercept_ = named_weights("intercept", "Bias of each part and type.")
    edge_coef_ = named_weights(
        "edge", "Weights of the deformation, and the pair score, of each part's edge."
    )
    type_coef_ = named_weights("type", "Weights of pairs of types.")

    parents: ArrayLike
    loss: Literal["distance", "hamming", "hamming-count"] = "distance"
    rescaling: Literal["margin", "slack"] = "margin"
    search: Literal["auto", "bisecting", "binary"] = "auto"
    fit_intercept: bool = True
    ignore_label: Any = -1
    n_features_in_: int = field(init=False)
    n_types_: int = field(init=False)
    parents_: np.ndarray = field(init=False)

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
        """Fit the model to annotated samples.

        Parameters
        ----------
        X : list of n dicts
            Samples with the keys:

            features : list of P arrays (S_p, n_features), or array
                Features of the candidates of each part; or score maps, one array
                (P, H, W, n_features) or, with T types, (P, T, H, W, n_features). Samples may differ
                in the numbers of candidates, or in H and W.
            positions : list of P arrays (S_p, 2)
                (x, y) of each candidate. Omitted for maps: x is the column, y the row.
            scale : float, default=1
                Unit of distances in the loss and in the deformation, such as the length of a limb.
            pair_scores : list of P arrays (S_parent, S_p), optional
                Image-dependent scores of pairs of states of a part and its parent, multiplied by a
                learned weight per edge. The entry of a root is ignored and may be None. Must be
                present in all samples or in none. Maps then take O(S_parent S_p) per edge.

            X and y may also be partitions of such lists on a Dask cluster: see
            :doc:`/how_to/cluster`.
        y : list of n int arrays of shape (P,)
            State of each part: index of the candidate, or ``row * W + column`` of a map, plus
            ``type * H * W``.
        sample_weight : array-like of shape (n,), optional
            Nonnegative weights. Weight 2 is equivalent to two copies; samples of weight 0 are
            ignored.
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
        """Predict the best states of each sample, optionally given some known states.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        y_partial : list of n int arrays of shape (P,), optional
            Known states; the others are predicted given these. For each sample, the state of each
            part, or None, NaN, -1 or `ignore_label` if unknown; or None instead of a sample if all
            are unknown.

        Returns
        -------
        ndarray of shape (n,), dtype object
            For each sample, an int array (P,). With `y_partial`, the best states that contain the
            known ones.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid; the message names the sample and the part.

        Examples
        --------
        The state of the first part is known, and the others are predicted given it:

        >>> from sstruct import TreeSSVM
        >>> from sstruct.datasets import make_stick_figures
        >>> figures = make_stick_figures(10, random_state=0)
        >>> X, y = figures.data, figures.target
        >>> model = TreeSSVM(parents=figures.parents, lam=0.001, random_state=0).fit(X, y)
        >>> known = [[states[0], *[-1] * (len(states) - 1)] for states in y]
        >>> y_pred = model.predict(X, known)
        >>> bool(y_pred[0][0] == y[0][0])
        True
        """
        return self._predict(X, y_partial)

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the best score of a pose with each state of each part (max-marginals).

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.

        Returns
        -------
        ndarray of shape (n,), dtype object
            For each sample, a list of P arrays (S_p,), in the order of states. The states from
            ``predict`` have the highest scores of their parts, up to ties.
        """
        return self._decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy over all annotated parts.

        Parameters
        ----------
        X, y : as in ``fit``
            Samples and their labels.
        sample_weight : array-like of shape (n,), optional
            Weight of the parts of each sample.

        Returns
        -------
        float
            Weighted fraction of parts with the true state. For the distance of the others, see
            :func:`sstruct.metrics.mean_joint_distance`.
        """
        return super().score(X, y, sample_weight)
