"""Max-margin change point detection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._checks.types import NumericArrayLike
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.weight_frame import named_weights
from sstruct._estimators.segment.change_structure import ChangePointStructure

__all__ = ["ChangePointSSVM"]

Cost = Literal["mean", "variance", "normal", "trend"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class ChangePointSSVM(BaseSSVM):
    r"""Structured SVM for change points of signals: learns the penalty and the weights of costs.

    Divides a signal into segments without labels. Each cost, such as the squared error around the
    mean, measures how badly a segment fits a simple model. The score of change points is

    .. math::

        - \sum_{\text{segments}} \left( \sum_{c, f} w_{c f}\, C_c(x_f) - d_b \right)
        - \beta\, \text{(number of changes)}

    for costs c of features f of the segment, with learned weights :math:`w_{c f} \ge 0`, weights
    :math:`d_b` of its bin b of durations, and a learned penalty :math:`\beta` of each change.
    Predictions maximize the score exactly. Training on annotated signals minimizes

    .. math::

        P(w) = \frac{\lambda}{2} \|w\|^2 + \frac{1}{\sum_i s_i} \sum_i s_i
        \max_y \left[ L_i(y) - \langle w, \phi(x_i, y_i) - \phi(x_i, y) \rangle \right]

    over all change points y, where :math:`\langle w, \phi(x, y) \rangle` is the score of y and
    :math:`s_i` the weight of signal i. The loss :math:`L_i(y)` is the number of true changes
    without a change within `tolerance`, plus the number of changes that are not near a true change,
    or not the first one that is. True changes may also be given as intervals, see :meth:`fit`.

    Parameters
    ----------
    costs : {"mean", "variance", "normal", "trend"} or list of these, default=all of them
        Costs of a segment of n nodes. Costs that do not help get a weight near 0; fewer costs are
        faster.

        - ``"mean"``: the squared error of the segment around its mean.
        - ``"variance"``: minus twice the log-likelihood of a Gaussian with the median of the signal
          as its mean and the variance of the segment, up to a constant: n log(variance).
        - ``"normal"``: the same with the mean of the segment.
        - ``"trend"``: the squared error of the segment around a line, which need not continue the
          line of the segment before.

        Variances are at least 1e-4 times the squared noise level of the signal.
    duration_bins : array-like of int of shape (n_bins,), "auto" or None, default="auto"
        Durations of segments that share a weight: the smallest duration of each bin, increasing,
        the first one 1. The last bin also contains all longer durations. ``"auto"``: 1, the
        shortest duration of a segment in training, and the 10 %, 25 % and 50 % quantiles of these
        durations; with a prior or a warm start, the bins of the earlier fit. If None, durations
        have no weights. Decoding does not prune durations below the last bin, so a large value
        makes it slower.
    min_duration : int, default=1
        Minimum duration of a segment, in nodes. Segments in training must satisfy it.
    max_duration : int or None, default=None
        Maximum duration of a segment. If None, there is no maximum.
    scale : "noise" or None, default="noise"
        With ``"noise"``, each feature of each signal is divided by its noise level, so that
        predictions do not depend on its unit. The noise level is the median absolute difference of
        neighboring nodes divided by 0.954, which estimates the standard deviation of Gaussian
        noise; if the median is 0, it is the root mean square difference divided by sqrt(2).
        Constant features are not scaled. If None, signals are not scaled.
    bounds : array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite for free weights.
        Weights of costs are nonnegative in any case.
    prior : fitted model, array-like of shape (n_weights,) or None, default=None
        Weights w0 to which the weights are regularized: ``lam / 2 * |w - w0|^2`` replaces
        ``lam / 2 * |w|^2`` in the objective and its certificate, which adapts a model to few
        samples: see :doc:`/how_to/adapt_model`. A model must be of the same class, with the same
        features and parameters that define weights; the new model has the classes of the prior,
        which is not changed. ``clone`` does not copy it; in a list of candidates of a parameter
        search, wrap it in :class:`~sklearn.frozen.FrozenEstimator`. An array is in the order of
        ``w_``. ``lam="auto"`` depends only on the features, as without a prior. ``"perceptron"``
        and ``"pa"`` start at w0.
    lam : float or "auto", default="auto"
        Regularization strength, positive. All weights are regularized. ``"auto"`` is 1 / n for the
        sum n of sample weights. Since there are few weights, results depend little on `lam`.
    tolerance : int, default=5
        Largest distance, in nodes, of a change from the true change that it matches, in the loss
        and in ``score``.
    solver : str or solver object, default="auto"
        The training algorithm, by name or as an object of :mod:`sstruct.solvers`. ``"auto"`` is
        ``"cutting-plane"`` [5]_ if clarabel is installed, which converges in less than 100 passes
        even if the costs do not fit the signals, but does not support `warm_start`. With
        `warm_start` or without clarabel, ``"auto"`` is ``"mp-bcfw"`` [1]_, [2]_. ``"bcfw"`` is
        ``"mp-bcfw"`` without passes over cached labelings. Checkpoints require ``"mp-bcfw"`` or
        ``"bcfw"``, as in ``solver=MPBCFW(checkpoint="fit.ckpt")``. All of these, ``"fw"`` [3]_ and
        ``"ssg"`` [4]_ minimize the same objective. ``"perceptron"`` and ``"pa"`` have no objective
        and require ``lam="auto"``.
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
        All weights in one vector: ``coef_``, ``duration_coef_`` if durations have weights, and
        ``penalty_``. Each access returns a copy.
    coef_ : ndarray of shape (n_costs, n_features)
        Weight of each cost in each feature, nonnegative.
    duration_coef_ : ndarray of shape (n_bins,)
        Weight of a segment in each bin of durations.
    duration_bins_ : ndarray of int of shape (n_bins,)
        Smallest duration of each bin. Only available if durations have weights.
    penalty_ : float
        Penalty of each change. With one cost of one feature and without weights of durations,
        ``penalty_ / coef_[0, 0]`` is the penalty for the cost itself, as other packages define it.
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
    status_ : str
        Reason for the end of training: CONVERGED, MAX_ITER, TIME_LIMIT, STOPPED_BY_CALLBACK;
        EARLY_STOPPED: the validation score no longer improved, or the returned weights have a
        better score than the weights within `tol`; INTERRUPTED: by Ctrl-C; STALLED: no further
        progress is possible, because of rounding or because the decoder is not exact; ROUNDING:
        rounding errors may exceed `tol`, so the duality gap is not certified.
    converged_ : bool
        Whether ``status_`` is CONVERGED.
    inference_ : str
        The decoder in training: ``"pruned optimal partitioning (exact)"``.
    history_ : dict of ndarrays
        Columns with one row per pass: seconds and certificate_seconds (cumulative), passes,
        oracle_calls, approximate_passes (passes over cached labelings, of all data or a part),
        primal, gap (both NaN between certificates), dual, working_set_size (cached labelings per
        sample). For ``"fw"`` and ``"cutting-plane"``, a row has the certificate of the weights at
        the start of the pass. ``"perceptron"`` and ``"pa"`` add mistakes, the number of samples in
        the pass with a positive loss. Early stopping adds validation_score; the last row then has
        the certificate of ``w_``.

    See Also
    --------
    SegmentSSVM : Segments with labels.
    sstruct.metrics.boundary_f1_score : F1 score of change points.
    sstruct.datasets.make_change_points : Generate signals with change points.

    Notes
    -----
    Costs are computed in constant time from cumulative sums. The decoder is PELT [6]_: for each
    end, it compares only those starts of the last segment that can still be optimal. This is exact,
    because weights of costs are nonnegative, and starts are pruned only when the durations from
    them are in the last bin. Decoding a signal of L nodes takes O(L) time if the number of changes
    is proportional to L, O(L^2) without changes, and O(L D) with ``max_duration=D``; it takes O(L)
    memory.

    See :doc:`/how_to/change_points`.

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
    .. [6] R. Killick, P. Fearnhead, I. A. Eckley. Optimal Detection of Changepoints With a Linear
       Computational Cost. Journal of the American Statistical Association 107, 2012.

    Examples
    --------
    >>> from sstruct import ChangePointSSVM
    >>> from sstruct.datasets import make_change_points
    >>> X, y = make_change_points(40, random_state=0)
    >>> model = ChangePointSSVM().fit(X[:30], y[:30])
    >>> model.predict([[0.0, 0.2, -0.1, 0.1, 0.0, 8.1, 7.9, 8.2, 8.0, 8.1]])[0]
    array([5])
    >>> bool(model.score(X[30:], y[30:]) > 0.8)
    True
    """

    _structure_class = ChangePointStructure

    coef_ = named_weights("coef", "Weight of each cost in each feature.")
    duration_coef_ = named_weights("duration", "Weight of each bin of durations.")

    costs: Cost | Sequence[Cost] = ("mean", "variance", "normal", "trend")
    duration_bins: NumericArrayLike | Literal["auto"] | None = "auto"
    min_duration: int = 1
    max_duration: int | None = None
    scale: Literal["noise"] | None = "noise"
    tolerance: int = 5
    duration_bins_: np.ndarray = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: np.ndarray = field(init=False)

    @property
    def penalty_(self) -> float:
        """Penalty of each change."""
        _, model = self._fitted()
        return float(model.table("penalty")[0])

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
        """Fit the model to annotated signals.

        Parameters
        ----------
        X : list of n arrays of shape (L_i,) or (L_i, n_features)
            Signals. Pass a single signal as a list of one array: ``fit([X], [y])``. An array of
            shape (n, L) has n signals of one feature, and one of shape (n, L, n_features) n
            signals.
        y : list of n int arrays
            The change points of each signal: increasing indices of the first nodes of all segments
            but the first one, from 1 to L_i - 1; empty for a signal without a change. If a change
            is known only up to an interval, pass a pair of its first and last possible value, as in
            ``[(8, 12), 30]``; intervals must not overlap. The loss accepts each change within
            `tolerance` of an interval. The true change is assumed to be in the middle of its
            interval; with :class:`LatentSSVM`, it is the position that is best for the model.
        sample_weight : array-like of shape (n,), optional
            Nonnegative weights. Weight 2 is equivalent to two copies; samples of weight 0 are
            ignored.
        X_val, y_val : as X and y, optional
            Validation samples for early stopping, an option of solvers; they are not used in
            training. If None, early stopping sets aside a fraction of the samples
            (``validation_fraction`` of the solver).
        sample_weight_val : as for ``score``, optional
            Weights of the validation samples in the score.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the data or a parameter are invalid, or a segment in y has a duration that
            `min_duration` or `max_duration` does not allow. The message names the sample, and the
            estimator remains unchanged.

        Warns
        -----
        UserWarning
            If signals are empty.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the change points of each signal.

        Parameters
        ----------
        X : as in :meth:`fit`
            Signals.

        Returns
        -------
        ndarray of shape (n,), dtype object
            For each signal, an increasing int array with the first nodes of all segments but the
            first one.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid, or a signal cannot be divided into segments of allowed
            durations, for example because it is shorter than `min_duration`. The message names the
            sample.
        """
        return self._predict(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the F1 score of change points within `tolerance` of true ones.

        Parameters
        ----------
        X, y : as in ``fit``
            Signals and their change points.
        sample_weight : array-like of shape (n,), optional
            Weight of the changes of each signal.

        Returns
        -------
        float
            The value of :func:`sstruct.metrics.boundary_f1_score`.
        """
        return super().score(X, y, sample_weight)
