"""Max-margin bipartite matching."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.weight_frame import named_weights
from sstruct._estimators.matching.matching_structure import MatchingStructure

__all__ = ["MatchingSSVM"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class MatchingSSVM(BaseSSVM):
    r"""Structured SVM for matchings of two sets, such as objects in two frames.

    Each sample has rows and columns, and features f_{rc} of each pair of a row r and a column c.
    A row is matched to at most one column, and a column to at most one row. The score of a matching
    y, with y_r the column of row r or -1, is

    .. math::

        \sum_{r: y_r \geq 0} \langle w, f_{r, y_r} \rangle
        + \sum_{r: y_r = -1} \left( b + \langle u, g_r \rangle \right)
        + \sum_{c \notin y} \langle v, h_c \rangle

    for learned weights w, u and v, a bias b, and optional features g_r and h_c of unmatched rows
    and columns. The matching with the highest score is found exactly, by linear assignment.

    Parameters
    ----------
    allow_unmatched : bool, default=True
        Whether any rows and columns may be unmatched. If False, the number of pairs is the number
        of rows or of columns, whichever is smaller.
    fit_intercept : bool, default=True
        Whether unmatched rows have a bias, which is regularized like all weights. Without
        `allow_unmatched`, there is no bias, since it would be the same for all matchings.
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
    ignore_label : int or None, default=None
        Marker in y of rows whose match is unknown, which must not be a column or -1, such as -2. If
        it is set, these rows, and rows whose match is None, NaN or masked, are removed from the
        sample in training, and ignored in ``score``. :class:`LatentSSVM` completes them instead. If
        None, a missing match raises an error.
    lam : float or "auto", default="auto"
        Regularization strength, positive. All weights are regularized, including intercepts.
        ``"auto"`` is 0.4 V m^(1/5) / n, where n is the sum of sample weights, m the average number
        of rows per sample, and V the sum of the variances of the features of pairs; features on a
        much larger scale than the others have less influence on V. With ``loss="hamming"``, the
        value is multiplied by m. Many papers use ``lam=1 / n``.
    loss : {"hamming-count", "hamming"}, default="hamming-count"
        Cost of wrong matches: the number of rows that have another column than the true one (or
        only one of the two is unmatched); or the fraction of these rows.
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
        Number of workers that compute matchings in training, through the active backend of joblib
        (by default processes); -1 uses all processors. Results do not depend on it. Worthwhile only
        for hundreds of rows and columns. ``predict`` does not use it.
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
        All weights in one vector: ``coef_``, ``unmatched_row_coef_``, ``unmatched_column_coef_``
        and ``intercept_``, if they exist. Each access returns a copy.
    coef_ : ndarray of shape (n_features,)
        Weights of the features of pairs.
    unmatched_row_coef_ : ndarray of shape (n_row_features,)
        Weights of the features of unmatched rows.
    unmatched_column_coef_ : ndarray of shape (n_column_features,)
        Weights of the features of unmatched columns.
    intercept_ : ndarray of shape (1,)
        Score of an unmatched row, without its features; zero without `fit_intercept` or
        `allow_unmatched`. A bias of unmatched columns would be redundant, since a matching with one
        unmatched row more also has one unmatched column more.
    n_features_in_ : int
        Number of features of a pair.
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
        The decoder, ``"linear assignment (exact)"``.
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
    AlignmentSSVM : Pairs of positions of two sequences, in increasing order.
    sstruct.datasets.make_matchings : Generate detections in two frames.
    sstruct.extending.MILPOracle : For matchings with further constraints, and for tracks over many
        frames.
    sstruct.inference.graph_matching : Matching with costs of pairs of assignments, for given costs.

    Notes
    -----
    Decoding takes O(a^2 b) operations for the smaller number a of rows and columns and the larger
    number b [6]_, and O(n_features) operations for each candidate pair. Memory is O(a b) per
    sample.

    For each sample, a few cached matchings are stored, as differences of features of n_weights
    entries, and their losses.

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
    .. [6] D. F. Crouse. On implementing 2D rectangular assignment algorithms. IEEE Transactions on
       Aerospace and Electronic Systems 52, 2016.

    Examples
    --------
    Detections in two frames; -1 marks detections of the first frame that have disappeared:

    >>> from sstruct import MatchingSSVM
    >>> from sstruct.datasets import make_matchings
    >>> X, y = make_matchings(60, random_state=0)
    >>> X[0].shape, y[0].shape
    ((10, 9, 4), (10,))
    >>> model = MatchingSSVM(random_state=0).fit(X[:40], y[:40])
    >>> model.inference_
    'linear assignment (exact)'
    >>> bool(model.score(X[40:], y[40:]) > 0.9)
    True
    """

    _structure_class = MatchingStructure

    coef_ = named_weights("coef", "Weights of the features of pairs.")
    unmatched_row_coef_ = named_weights(
        "unmatched_row", "Weights of the features of unmatched rows."
    )
    unmatched_column_coef_ = named_weights(
        "unmatched_column", "Weights of the features of unmatched columns."
    )
    intercept_ = named_weights("intercept", "Score of an unmatched row.")

    allow_unmatched: bool = True
    loss: Literal["hamming-count", "hamming"] = "hamming-count"
    fit_intercept: bool = True
    ignore_label: Any = None
    n_features_in_: int = field(init=False)

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
        """Fit the model to true matchings.

        Parameters
        ----------
        X : list of n arrays of shape (n_rows, n_columns, n_features), or list of n dicts
            Features of all pairs of a row and a column. Samples may differ in the numbers of rows
            and columns, which may be 0. Or dicts with the keys:

            features : array of shape (n_rows, n_columns, n_features) or (n_pairs, n_features)
                Features of all pairs or, with ``pairs``, of the listed ones.
            pairs : int array of shape (n_pairs, 2), optional
                Row and column of each pair that may be matched. Other pairs are forbidden.
            shape : tuple (n_rows, n_columns)
                Required with ``pairs``.
            unmatched_rows : array of shape (n_rows, n_row_features), optional
                Features of each row that count if it is unmatched.
            unmatched_columns : array of shape (n_columns, n_column_features), optional
                Features of each column that count if it is unmatched.
        y : list of n int arrays of shape (n_rows,)
            The true column of each row, -1 if the row is unmatched.
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
            If the data or a parameter are invalid, for example if a column is matched to two rows,
            or a matching has fewer pairs than ``allow_unmatched=False`` requires. The message names
            the sample, and the estimator remains unchanged.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def predict(self, X: Any, y_partial: Any = None) -> np.ndarray:
        """Predict the best matching of each sample, optionally given some known matches.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        y_partial : list of n int arrays of shape (n_rows,), optional
            Known matches; the others are predicted given these. For each sample, the column of each
            row, -1 if it is known to be unmatched, or None, NaN or `ignore_label` if unknown (-2 if
            `ignore_label` is None); or None instead of an array if all are unknown.

        Returns
        -------
        ndarray of shape (n,), dtype object
            For each sample, an int array (n_rows,): the column of each row, -1 if it is unmatched.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid, or ``allow_unmatched=False`` and the pairs allow no matching of
            the required size; the message names the sample.

        Examples
        --------
        A user has matched the first row to column 1:

        >>> import numpy as np
        >>> from sstruct import MatchingSSVM
        >>> distance = np.array([[0.1, 0.4, 2.0], [0.3, 0.1, 1.0]])
        >>> X, y = [distance[:, :, np.newaxis]] * 4, [[0, 1]] * 4
        >>> model = MatchingSSVM(lam=0.01, random_state=0).fit(X, y)
        >>> model.predict(X[:1])[0].tolist(), model.predict(X[:1], [[1, None]])[0].tolist()
        ([0, 1], [1, 0])
        """
        return self._predict(X, y_partial)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of all pairs.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.

        Returns
        -------
        ndarray of shape (n,), dtype object
            For each sample, an array (n_rows, n_columns): the score of each pair minus the scores
            of its row and its column if these are unmatched; ``-inf`` for pairs that are not
            candidates. The predicted matching has the highest sum of these scores.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid; the message names the sample.
        """
        return self._decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy over all rows with a known match.

        Parameters
        ----------
        X, y : as in ``fit``
            Samples and their true matchings.
        sample_weight : array-like of shape (n,), optional
            Weight of the rows of each sample.

        Returns
        -------
        float
            Weighted fraction of rows whose column, or -1, is predicted correctly.
        """
        return super().score(X, y, sample_weight)
