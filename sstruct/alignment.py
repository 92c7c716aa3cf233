"""Max-margin alignment of sequences."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._estimators.alignment.alignment_structure import (
    AlignmentStructure,
    gap_weights,
    substitution_weights,
)
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.weight_frame import named_weights, weights_by

__all__ = ["AlignmentSSVM"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class AlignmentSSVM(BaseSSVM):
    r"""Structured SVM for alignments of two sequences, such as proteins, words or melodies.

    An alignment pairs positions of two sequences in increasing order. Rows are positions of the
    first sequence, and columns those of the second one. The score of an alignment y, with y_r the
    column of row r or -1, is

    .. math::

        \sum_{r: y_r \geq 0} \left( \langle w, f_{r, y_r} \rangle + S_{a_r, b_{y_r}} + c \right)
        + \sum_{g} \left( o + (|g| - 1) e \right)

    for learned weights w of features of pairs, substitution weights S of the symbols of the
    sequences a and b, a bias c, and the scores o and e of opening and extending a gap. A gap g is a
    run of unaligned positions of one sequence, between two pairs or, unless alignments are local,
    at the ends. The alignment with the highest score is found exactly, by dynamic programming.
    Scores are learned as in [7]_.

    Parameters
    ----------
    method : {"global", "local"}, default="global"
        ``"global"``: alignments of the whole sequences. ``"local"``: alignments of a part of each;
        positions before the first pair and after the last one do not score.
    symmetric : bool, default=True
        Whether weights do not depend on the order of the sequences: exchanging two symbols does not
        change the weight of their pair, and gaps of both sequences have the same weights.
    fit_intercept : bool, default=True
        Whether pairs have a bias, which is regularized like all weights. With symbols, pairs have
        no bias, because it would be redundant.
    bounds : array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite for free weights.
        Weights of gaps are at most 0 in any case.
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
        Marker in y, in arrays of columns, of rows whose column is unknown, which must not be a
        column or -1, such as -2. :class:`LatentSSVM` completes these rows, and rows whose column is
        None, NaN or masked; ``score`` ignores them. If None, a missing column raises an error.
    lam : float or "auto", default="auto"
        Regularization strength, positive. All weights are regularized, including intercepts.
        ``"auto"`` is 0.4 V m^(1/5) / n, where n is the sum of sample weights, m the average number
        of rows per sample, and V the sum of the variances of the features of pairs, including
        indicators of pairs of symbols; features on a much larger scale than the others have less
        influence on V. With ``loss="hamming"``, the value is multiplied by m. Many papers use
        ``lam=1 / n``.
    loss : {"hamming-count", "hamming"}, default="hamming-count"
        Cost of a wrong alignment: the number of rows that have another column than the true one (or
        only one of the two is unaligned); or the fraction of these rows.
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
        Number of workers that compute alignments in training, through the active backend of joblib
        (by default processes); -1 uses all processors. Results do not depend on it. Worthwhile only
        for thousands of positions. ``predict`` does not use it.
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
        All weights in one vector: ``coef_``, the distinct entries of ``substitution_coef_``,
        ``intercept_``, ``gap_open_coef_`` and ``gap_extend_coef_``, if they exist. If
        `symmetric`, there is one weight of either kind for gaps, and the upper triangle of
        ``substitution_coef_``, row by row. Each access returns a copy.
    coef_ : ndarray of shape (n_features,)
        Weights of the features of pairs.
    substitution_coef_ : ndarray of shape (n_symbols, n_symbols)
        Weight of each pair of a symbol in the first sequence and one in the second, in the order of
        ``symbols_``. Without symbols, of shape (0, 0).
    intercept_ : ndarray of shape (1,)
        Score of a pair, without its features; zero without `fit_intercept`, or with symbols.
    gap_open_coef_ : ndarray of shape (2,)
        Score of the first position of a gap of the first, and of the second sequence; at most 0.
    gap_extend_coef_ : ndarray of shape (2,)
        Score of each further position of a gap; at most 0.
    symbols_ : ndarray of shape (n_symbols,)
        The symbols that occur in training, sorted. Exists only with symbols.
    n_features_in_ : int
        Number of features of a pair, 0 if there are only symbols.
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
        The decoder, ``"Needleman-Wunsch (exact)"`` or ``"Smith-Waterman (exact)"``.
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
    sstruct.inference.align : Alignments for given scores.
    sstruct.metrics.alignment_accuracy : Fraction of true pairs that are found.
    sstruct.datasets.make_alignments : Generate pairs of sequences.
    MatchingSSVM : Pairs in any order.

    Notes
    -----
    Decoding takes O(n m) operations for n rows and m columns [6]_, and O(n_features) operations for
    each pair. Memory is 9 n m bytes per sample while it is decoded, in addition to its features;
    more than 2^30 pairs of positions raise an error.

    The alignment is exact for any weights. Between two pairs, a gap of each sequence may occur.

    For each sample, a few cached alignments are stored, as differences of features of n_weights
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
    .. [6] O. Gotoh. An improved algorithm for matching biological sequences. Journal of Molecular
       Biology 162(3), 1982.
    .. [7] T. Joachims, T. Galor, R. Elber. Learning to align sequences: a maximum-margin approach.
       New Algorithms for Macromolecular Simulation, 2006.

    Examples
    --------
    Pairs of sequences that have a common ancestor; -1 marks positions that were inserted or whose
    partner was deleted:

    >>> from sstruct import AlignmentSSVM
    >>> from sstruct.datasets import make_alignments
    >>> X, y = make_alignments(60, random_state=0)
    >>> model = AlignmentSSVM(random_state=0).fit(X[:40], y[:40])
    >>> model.inference_
    'Needleman-Wunsch (exact)'
    >>> bool(model.score(X[40:], y[40:]) > 0.8)
    True
    >>> model.substitution_coef_.shape, bool(model.gap_open_coef_[0] < 0)
    ((20, 20), True)
    """

    _structure_class = AlignmentStructure

    coef_ = named_weights("coef", "Weights of the features of pairs.")
    intercept_ = named_weights("intercept", "Score of a pair.")
    substitution_coef_ = weights_by(substitution_weights, "Weights of pairs of symbols.")
    gap_open_coef_ = weights_by(
        partial(gap_weights, "gap_open"),
        "Scores of the first positions of gaps of both sequences.",
    )
    gap_extend_coef_ = weights_by(
        partial(gap_weights, "gap_extend"),
        "Scores of the other positions of gaps of both sequences.",
    )

    method: Literal["global", "local"] = "global"
    symmetric: bool = True
    loss: Literal["hamming-count", "hamming"] = "hamming-count"
    fit_intercept: bool = True
    ignore_label: Any = None
    n_features_in_: int = field(init=False)
    symbols_: np.ndarray = field(init=False)

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
        """Fit the model to true alignments.

        Parameters
        ----------
        X : list of n tuples (first, second), arrays (n_rows, n_columns, n_features), or dicts
            Pairs of sequences. A sequence is a string, whose symbols are its characters, or a list
            or array of symbols, integers or strings. Or features of all pairs of a row and a
            column. Or dicts with the keys:

            sequences : tuple (first, second), optional
                The sequences of n_rows and of n_columns symbols.
            features : array of shape (n_rows, n_columns, n_features), optional
                Features of all pairs.

            All samples have the same keys. Sequences may be empty.
        y : list of n int arrays of shape (n_rows,) or (n_pairs, 2)
            The true column of each row, -1 if the row is unaligned; or the rows and columns of all
            aligned pairs. Both must increase.
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
            If the data or a parameter are invalid, for example if columns do not increase. The
            message names the sample, and the estimator remains unchanged.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def predict(self, X: Any, y_partial: Any = None) -> np.ndarray:
        """Predict the best alignment of each sample, optionally given some known columns.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples. Pairs with a symbol that did not occur in training have the substitution
            weight 0.
        y_partial : list of n int arrays of shape (n_rows,), optional
            Known columns; the others are predicted given these. For each sample, the column of each
            row, -1 if it is known to be unaligned, or None, NaN or `ignore_label` if unknown (-2 if
            `ignore_label` is None); or None instead of an array if all are unknown.

        Returns
        -------
        ndarray of shape (n,), dtype object
            For each sample, an int array (n_rows,): the column of each row, -1 if it is unaligned.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid; the message names the sample.

        Examples
        --------
        A user has marked the first letter as unaligned:

        >>> from sstruct import AlignmentSSVM
        >>> X, y = [("hello", "hallo"), ("yes", "es")], [[0, 1, 2, 3, 4], [-1, 0, 1]]
        >>> model = AlignmentSSVM(lam=0.01, random_state=0).fit(X, y)
        >>> model.predict([("yell", "hell")])[0].tolist()
        [0, 1, 2, 3]
        >>> model.predict([("yell", "hell")], [[-1, None, None, None]])[0].tolist()
        [-1, 1, 2, 3]
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
            For each sample, an array (n_rows, n_columns): the score of each pair of positions,
            without gaps. :func:`sstruct.inference.align` computes the predicted alignment from
            these scores and the scores of gaps.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid; the message names the sample.
        """
        return self._decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy over all rows with a known column.

        Parameters
        ----------
        X, y : as in ``fit``
            Samples and their true alignments.
        sample_weight : array-like of shape (n,), optional
            Weight of the rows of each sample.

        Returns
        -------
        float
            Weighted fraction of rows whose column, or -1, is predicted correctly.
        """
        return super().score(X, y, sample_weight)
