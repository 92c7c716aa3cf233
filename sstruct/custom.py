"""Structured SVM for user-defined structures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.custom.custom_structure import CustomStructure

__all__ = ["StructuredSVM"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class StructuredSVM(BaseSSVM):
    r"""Structured SVM for user-defined structures, described by a Python object.

    You implement the oracle, an object with three methods that return the features of a sample with
    a labeling, the loss of a labeling, and the labeling with the highest score. Training minimizes

    .. math::

        P(w) = \frac{\lambda}{2} \|w\|^2 + \frac{1}{\sum_i s_i} \sum_i s_i
        \max_y \left[ L_i(y) - \langle w, \phi(x_i, y_i) - \phi(x_i, y) \rangle \right]

    where :math:`\phi` is ``joint_feature``, :math:`L_i` is ``loss`` and :math:`s_i` the weight of
    sample i. Training stops once the duality gap shows that the objective is within `tol` of its
    minimum. Samples and labelings may be any objects; they are passed only to the oracle.

    Parameters
    ----------
    oracle : object
        Object with the methods

        ``joint_feature(x, y)``
            Return the features of a sample with a labeling: an array of shape (d,), or a sparse one
            of shape (1, d), with the same d for all.
        ``loss(y_true, y)``
            Return the cost of predicting y: at least 0, and 0 for ``y_true``.
        ``argmax(x, w, y_true=None, loss_weight=1.0)``
            Return the labeling with the largest score ``w @ joint_feature(x, y)`` or, if `y_true`
            is given, the largest score plus ``loss_weight * loss(y_true, y)``. Must not write to
            `w`.

        and optionally

        ``constrained_argmax(x, w, y_true, *, loss_weight, margin, lower, upper, above, below)``
            For exact slack rescaling (``search="angular"``): with h = margin + w @ (phi(x, y) -
            phi(x, y_true)), return the labeling with the largest h + loss_weight * loss among the
            labelings with h > 0 and loss / h from `lower` to `upper`, excluding `lower` itself if
            `above`, and `upper` if `below`; or None if there is no such labeling.
        ``bounded_argmax(x, w, y_true, loss_weight=1.0)``
            For oracles that may stop before they have found the best labeling: return the labeling
            that was found and an upper bound of the score, plus the loss, of any labeling. Used for
            training instead of ``argmax``. The bounds keep the certificate valid. See
            :class:`sstruct.extending.MILPOracle`.
        ``potentials(x, w)``
            Return an object that is passed to ``argmax`` and ``constrained_argmax`` instead of `w`,
            such as an array of scores of parts. It is computed once for each sample and weights,
            while a search of slack rescaling calls ``argmax`` many times. Arrays are made
            read-only.
        ``encode(x, y)``, ``decode(x, labeling)``
            Convert a labeling in `y` to the form that the other methods accept and return, and
            back, for ``predict``. ``encode`` is called once for each true labeling.
        ``complete(x, y, w)``
            For :class:`LatentSSVM`: return the labeling with the largest score among the labelings
            that agree with `y`, which is partially known; or any of them if `w` is None, for the
            initial completion. Labelings have the form of `y` of ``fit``, not encoded. ``loss``
            must then depend only on the known part.
        ``work``
            Time of a call of ``argmax`` in nanoseconds, default 1e6. For slower oracles, more
            passes over cached labelings are made per pass that calls the oracle.

        Methods must not change their arguments, and must return equal results for equal arguments.
        For C functions, see :class:`sstruct.extending.CompiledOracle`; for integer programs,
        :class:`sstruct.extending.MILPOracle`.
    bounds : array-like of shape (2, d) or None, default=None
        Lower and upper bounds of the weights; infinite for free weights.
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
        Regularization strength, positive. All weights are regularized. ``"auto"`` is 1 divided by
        the sum of sample weights, as in many papers; it does not depend on the scale of features.
    rescaling : {"margin", "slack"}, default="margin"
        Required margin of the true labeling over a wrong one. With ``"margin"``, it is the loss of
        the wrong labeling. With ``"slack"``, it is 1, and violations are multiplied by the loss
        [6]_.
    search : {"auto", "angular", "bisecting", "binary"}, default="auto"
        Search of slack rescaling for the most violated labeling. ``"auto"`` is ``"angular"``, which
        is exact, if the oracle has ``constrained_argmax``, otherwise ``"bisecting"``, which may
        miss the most violated labeling but bounds its violation.
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
        samples must be the samples of the previous fit in the same order. Different data, or a
        different oracle (by its type and public attributes), raise an error.
    n_jobs : int or None, default=None
        Number of workers for oracle calls, through the active backend of joblib (by default
        processes), or of threads for a compiled oracle. Results do not depend on it. A process that
        was forked after its parent started such workers makes all calls itself. With slack
        rescaling, each worker searches in a different block. ``solver="ssg"`` calls Python oracles
        sequentially, except for certificates.
    batch_size : int or "auto", default="auto"
        Number of oracle calls that are made with the same weights before any of the results is
        used. It limits the number of busy workers. ``"auto"``: an eighth of the samples, at most
        64. Larger batches keep more workers busy, but require more calls in total.
    random_state : int, RandomState instance or None, default=None
        Pass an int for results that are bitwise reproducible on the same machine and build, unless
        `max_time` is set.
    verbose : int, default=0
        If 1, show a progress bar with the solver and the gap on ``sys.stderr``. If 2, or if tqdm is
        not installed or ``sys.stderr`` is None, log one line per pass to the logger ``sstruct``. If
        the stream is closed, the fit continues without output.

    Attributes
    ----------
    w_ : ndarray of shape (d,)
        The weights, one for each entry of ``joint_feature``.
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
        ``"oracle (exact)"``; ``"oracle (bounded)"`` if it has ``bounded_argmax``; or ``"oracle
        (approximate)"`` if a cached labeling was ever better than the result of the oracle, or its
        bound; with slack rescaling, for example, ``"oracle, angular search (exact)"``.
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
        The oracle adds suboptimal, the cumulative number of its results that were worse than a
        known labeling.

    Notes
    -----
    For each sample, a few cached labelings are stored, as phi(x_i, y_i) - phi(x_i, y) and the loss:
    8 d bytes each, or 12 bytes per nonzero if at least half of the entries are zero.

    The results of the oracle in ``fit`` are validated. Errors name the sample and the call; the
    estimator then has the attributes of the fit so far, as after Ctrl-C.

    The duality gap is valid only if ``argmax`` is exact. With an approximate one, ``objective_``
    and ``dual_gap_`` may be too small. If a cached labeling scores higher than the result of the
    oracle, it is used instead and counted in ``history_``, and a warning is issued.

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
    >>> import numpy as np
    >>> from sstruct import StructuredSVM
    >>> class Sign:
    ...     def joint_feature(self, x, y):
    ...         return y * np.asarray(x)
    ...     def loss(self, y_true, y):
    ...         return float(y != y_true)
    ...     def argmax(self, x, w, y_true=None, loss_weight=1.0):
    ...         scores = {y: y * np.dot(w, x) for y in (-1, 1)}
    ...         if y_true is not None:
    ...             scores[-y_true] += loss_weight
    ...         return max(scores, key=scores.get)
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [0.5, -2.0]], [1, 1, -1, -1]
    >>> model = StructuredSVM(Sign(), random_state=0).fit(X, y)
    >>> model.status_
    'CONVERGED'
    >>> model.predict([[1.0, 1.0], [-1.0, -1.0]]).tolist()
    [1, -1]
    """

    _structure_class = CustomStructure

    oracle: Any = field(kw_only=False)
    rescaling: Literal["margin", "slack"] = "margin"
    search: Literal["auto", "angular", "bisecting", "binary"] = "auto"
    batch_size: int | Literal["auto"] = "auto"

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Fit the model to labeled samples.

        Parameters
        ----------
        X : list of n objects
            Samples, in any form that the oracle supports; rows of arrays and tables are samples. Or
            partitions of samples on a Dask cluster: a bag, or a list of futures or delayed objects
            of lists.
        y : list of n objects, default=None
            The true labelings, in any form that the oracle supports. For partitions, the same
            partitions of labelings, or None if X contains pairs (x, y).
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
            If a parameter, or a result of the oracle, is invalid. The oracle is first called for
            the true labelings; an error in these calls leaves the estimator unchanged. After a
            later error, the estimator has the attributes of the fit so far.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    @property
    def w_(self) -> np.ndarray:
        """The weights."""
        _, model = self._fitted()
        return model._w

    def predict(self, X: Any) -> np.ndarray:
        """Predict the labeling with the largest score of each sample.

        Parameters
        ----------
        X : list of n objects
            Samples, or an array or a table whose rows are samples; not partitions on a cluster.

        Returns
        -------
        ndarray of shape (n,), dtype object
            The decoded result of ``oracle.argmax(x, w_)`` for each sample.
        """
        return self._predict(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return an accuracy between 0 and 1, computed from the loss of the oracle.

        The score is 1 - l / max(1, m), for the mean loss l of the predictions and the mean m of the
        largest loss of any labeling. For losses of at most 1, such as the fraction of wrong labels,
        it is one minus the mean loss; for the number of wrong labels, it is the fraction of correct
        labels.

        Parameters
        ----------
        X : list of n objects
            As in :meth:`predict`.
        y : list of n objects
            The true labelings.
        sample_weight : array-like of shape (n,), optional
            Weights of the samples.

        Returns
        -------
        float
            The score. It requires two calls of the oracle per sample; the labeling with the largest
            loss is the result of ``argmax`` with `y_true` and zero weights.
        """
        return super().score(X, y, sample_weight)
