"""Max-margin classification into one of K classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from sstruct._checks.arguments import explains_arguments
from sstruct._estimators.core.base import BaseSSVM, LabelingSSVM
from sstruct._estimators.core.weight_frame import named_weights
from sstruct._estimators.label_set.label_set_structure import ClassStructure
from sstruct._export.export_method import ExportMixin

__all__ = ["MulticlassSSVM"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class MulticlassSSVM(ExportMixin, ClassifierMixin, LabelingSSVM):
    r"""Multiclass SVM of Crammer and Singer: one of K classes for every row.

    Predicts one of K classes for each row of X, like :class:`sklearn.svm.LinearSVC`, with one
    weight vector per class, which are learned jointly [7]_. Training minimizes

    .. math::

        P(w) = \frac{\lambda}{2} \|w\|^2 + \frac{1}{\sum_i s_i} \sum_i s_i c_i
        \max_y \left[ L_i(y) - \langle w_{y_i} - w_y, x_i \rangle \right]

    where :math:`L_i` is the `loss`, and :math:`s_i` and :math:`c_i` are the weights of sample i and
    of its class. Training stops once the duality gap shows that the objective is within `tol` of
    its minimum.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether each class has a bias.
    bounds : array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite for free weights.
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
        All classes, sorted. If None, the classes that occur in training.
    lam : float or "auto", default="auto"
        Regularization strength, positive. All weights are regularized, including intercepts.
        ``"auto"`` is 0.4 V m^(1/5) / n, where n is the sum of sample weights, m the average number
        of nodes per sample, and V the sum of the variances of node features; features on a much
        larger scale than the others have less influence on V. The value is divided by the mean cost
        of a wrong node, which is 1 / m with ``loss="hamming"``. Many papers use ``lam=1 / n``. C of
        LIBLINEAR is ``1 / (lam * n)``.
        With slack rescaling, ``"auto"`` is multiplied by the mean cost instead of divided by it.
    loss : {"hamming", "hamming-count", "balanced"} or array-like, default="hamming-count"
        Cost of a wrong class, which is the required margin: 1 for ``"hamming"`` and
        ``"hamming-count"``; N / (K N_k) by the true class k for ``"balanced"``; an array (K,) of
        costs by true class, or a (K, K) cost matrix (rows: truth, zero diagonal, nonnegative), in
        the order of ``classes_``.
    class_weight : dict, "balanced" or None, default=None
        Weight c_i of the hinge losses of each class, as in scikit-learn. Classes missing in a dict
        have weight 1; ``"balanced"`` is N / (K N_k) for the K classes that occur, with counts
        weighted by samples.
    rescaling : {"margin", "slack"}, default="margin"
        Required margin of the true labeling over a wrong one. With ``"margin"``, it is the loss of
        the wrong labeling. With ``"slack"``, it is 1, and violations are multiplied by the loss
        [6]_.
    search : {"auto", "angular", "bisecting", "binary"}, default="auto"
        Search of ``rescaling="slack"`` for the most violated class. ``"auto"`` compares all
        classes. The others are intended for larger structures: ``"angular"`` is exact;
        ``"bisecting"`` and ``"binary"`` may miss the most violated class, but bound its violation.
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
        New classes raise an error; pass all `classes` before the first fit.
    n_jobs : int or None, default=None
        Number of threads for oracle calls in training; -1 uses all processors. Results do not
        depend on it.
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
        All weights in one vector: ``coef_`` and, with `fit_intercept`, ``intercept_``. Each access
        returns a copy.
    coef_ : ndarray of shape (K, n_features)
        Weights of each class, also for two classes; a view.
    intercept_ : ndarray of shape (K,)
        Intercepts; zero without `fit_intercept`.
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
    status_ : str
        Reason for the end of training: CONVERGED, MAX_ITER, TIME_LIMIT, STOPPED_BY_CALLBACK;
        EARLY_STOPPED: the validation score no longer improved, or the returned weights have a
        better score than the weights within `tol`; INTERRUPTED: by Ctrl-C; STALLED: no further
        progress is possible, because of rounding or because the decoder is not exact; ROUNDING:
        rounding errors may exceed `tol`, so the duality gap is not certified.
    converged_ : bool
        Whether ``status_`` is CONVERGED.
    inference_ : str
        ``"enumeration (exact)"``; with a `search`, for example ``"enumeration, angular search
        (exact)"``.
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
    ChainSSVM : Labels that depend on their neighbors.
    sklearn.svm.LinearSVC : Has the same optimum with ``multi_class="crammer_singer"``, without
        intercept.

    Notes
    -----
    A pass takes O(nnz K) operations for nnz nonzero features in total. In addition to the features,
    memory is O(K F) for the weights and, per sample, a few classes with their dual weights.

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
    .. [7] K. Crammer, Y. Singer. On the Algorithmic Implementation of Multiclass Kernel-based
       Vector Machines. JMLR 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sstruct import MulticlassSSVM
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MulticlassSSVM(lam=0.1, random_state=0).fit(X[:1200] / 16, y[:1200])
    >>> model.status_
    'CONVERGED'
    >>> bool(model.score(X[1200:] / 16, y[1200:]) > 0.85)
    True
    """

    _structure_class = ClassStructure

    coef_ = named_weights("coef", "Weights of each class.")

    search: Literal["auto", "angular", "bisecting", "binary"] = "auto"

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
        """Fit the model to labeled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Features. X and y may also be partitions of rows on a Dask cluster: a Dask array or data
            frame, or a list of futures or delayed objects of arrays, sparse matrices or frames.
        y : array-like of shape (n,)
            Labels of any hashable type; at least two classes.
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

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class with the highest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n,)
            The predictions.
        """
        return self._predict(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the score of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n, K), or (n,) for two classes
            For two classes, the score of the second minus the score of the first.
        """
        return self._decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.
        y : array-like of shape (n,)
            True labels. Labels not seen in ``fit`` count as errors.
        sample_weight : array-like of shape (n,), optional
            Weight of each sample.

        Returns
        -------
        float
            Weighted fraction of correct predictions.
        """
        return BaseSSVM.score(self, X, y, sample_weight)
