"""Max-margin prediction of sets of labels that interact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from sstruct._checks.arguments import explains_arguments
from sstruct._checks.types import ClassWeight, Loss, NumericArrayLike
from sstruct._estimators.core.base import BaseSSVM, ScoredLabelingSSVM
from sstruct._estimators.core.weight_frame import named_weights
from sstruct._estimators.label_set.label_set_structure import LabelSetStructure
from sstruct._export.export_method import ExportMixin
from sstruct._input.label_constraints import LabelConstraint

__all__ = ["MultilabelSSVM"]

Inference = Literal["auto", "independent", "enumeration", "tree", "cut", "relaxed", "exact"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class MultilabelSSVM(ExportMixin, ClassifierMixin, ScoredLabelingSSVM):
    r"""Structured SVM for sets of labels that attract or exclude each other.

    Predicts which of K labels are on, like scikit-learn's multilabel classifiers, with weights for
    pairs of labels that occur together often or never. The score of :math:`y \in \{0, 1\}^K` is

    .. math::

        f(x, y) = \sum_k y_k (\langle w_k, x \rangle + b_k) + \sum_{(u, v)} v_{uv} y_u y_v

    and its weights minimize

    .. math::

        P(w) = \frac{\lambda}{2} \|w\|^2 + \frac{1}{\sum_i s_i} \sum_i s_i c_i
        \max_y \left[ L_i(y) - f(x_i, y_i) + f(x_i, y) \right]

    where :math:`L_i` is the `loss`, :math:`s_i` the weight of sample i and :math:`c_i` its factor
    from `class_weight`. Training stops once the duality gap shows that the objective is within
    `tol` of its minimum. With slack rescaling, the last factor is
    :math:`L_i(y) [1 - f(x_i, y_i) + f(x_i, y)]`.

    Parameters
    ----------
    edges : {"auto", "full", "tree"}, None or array-like, default="auto"
        Pairs of labels that have a weight.

        - ``"auto"``: ``"full"`` for at most 20 labels, ``"tree"`` for more.
        - ``"full"``: all pairs. Slow for more than 20 labels, in particular with `constraints`.
        - ``"tree"``: K - 1 pairs, the tree with maximum mutual information in the training labels
          [7]_.
        - None: no pair.
        - an integer array (E, 2): the given pairs; an empty list means no pairs.
        - an integer array (K,): a hierarchy, as the parent of each label, -1 at roots. A label is
          then on only together with all its ancestors, in training and in predictions; there are no
          weights of pairs.
    constraints : list of LabelConstraint or None, default=None
        Constraints made by the functions of :mod:`sstruct.constraints`, such as
        ``[implies("poodle", "dog"), at_most(3, genres)]``. Training sets must satisfy them, and
        predictions always do. For sets of labels without a hierarchy. With more than 20 labels, use
        ``edges="tree"`` (the default), None or a few pairs: with ``"full"``, the search for the
        best set may take up to a second for each sample in each pass.
    pairwise : {"and", "full"}, default="and"
        ``"and"``: one weight per pair, if both labels are on; positive weights attract, negative
        ones repel. ``"full"``: a weight for each of the four combinations of on and off.
    inference : {"auto", "independent", "enumeration", "tree", "cut", "relaxed", "exact"}, default="auto"
        The decoder. Exact decoders are ``"independent"``: label by label, without edges;
        ``"tree"``: max-sum, for edges without cycles and hierarchies; ``"enumeration"``: all sets
        of at most 20 labels; ``"cut"``: minimum cut, for ``pairwise="and"`` with
        ``bounds="submodular"``. ``"relaxed"`` supports any interactions: training uses solutions of
        a linear program [8]_, found by one cut, whose labels may be fractional; predictions are
        completed to sets. ``"auto"`` uses the first of these that supports the labels and edges,
        but a cut instead of enumeration for more than 18 labels. For slack rescaling with errors of
        different costs, it enumerates up to 18 labels, which is exact; a hierarchy is enumerated
        only if its parents are given as `constraints`. With `constraints`, ``"auto"`` enumerates up
        to 18 labels, and uses ``"exact"`` for more: a branch and bound search for any interactions
        and constraints. It is exact unless it reaches its limit of work, about a second for a row,
        and bounds its error otherwise. A decoder that does not support the labels, edges and
        constraints raises an error.
    class_scores : slice, list, tuple or None, default=None
        Columns of X that are scores of the classes from another model, such as logits or
        log-probabilities; higher is better. Exactly one column per class, in the order of
        ``classes_``: a slice, or a list or array of column numbers or names. These K columns share
        one weight, ``class_scores_weight_``, instead of K weights each: it multiplies the k-th
        column in the score of class k. It is learned, at least 0, and regularized like the weights
        of features. A tuple ``("fixed", columns)`` sets it to 1; ``objective_`` then includes
        ``lam / 2`` for it, and paths over `lam` are not supported. ``("scale", columns)`` is the
        same as `columns`. See :doc:`/how_to/given_scores`.
        Requires label sets, an (n, K) array y of 0 and 1.
    fit_intercept : bool, default=True
        Whether each label has a bias (intercept), which is regularized like all weights.
    bounds : "submodular", array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite for free weights.
        ``"submodular"``, for ``pairwise="and"``: labels attract each other, so edge weights are at
        least 0.
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
        Names of the K columns of y or, for one label per sample, all labels, sorted. If None, the
        column names of y, if it is a data frame, or the labels that occur.
    lam : float or "auto", default="auto"
        Regularization strength, positive. All weights are regularized, including intercepts.
        ``"auto"`` is 0.4 V m^(1/5) / n, where n is the sum of sample weights, m the average number
        of nodes per sample, and V the sum of the variances of node features; features on a much
        larger scale than the others have less influence on V. The value is divided by the mean cost
        of a wrong node, which is 1 / m with ``loss="hamming"``. Many papers use ``lam=1 / n``. C of
        LIBLINEAR is ``1 / (lam * n)``.
        With slack rescaling, ``"auto"`` is multiplied by the mean cost instead of divided by it.
        For label sets, ``"auto"`` is 0.6 V / n, multiplied by 7.5 / n^(1/3) for n > 422 samples.
    loss : {"hamming-count", "asymmetric", "hamming", "balanced"} or array, default="hamming-count"
        Cost of a wrong set of labels.

        - ``"hamming-count"``: the number of wrong labels.
        - ``"asymmetric"``: the number of false labels plus twice the number of missed ones.
          Recommended for high F1 scores: on nine real data sets, micro and macro F1 are higher than
          with ``"hamming-count"``, by up to 30 and 50 percent, and the Hamming loss is 0.5 to 9
          percent larger (:doc:`/how_to/label_sets`).
        - ``"hamming"``: the number of wrong labels, divided by K. Hidden labels of
          :class:`LatentSSVM` count as correct.
        - ``"balanced"``: N / (2 K N_k) for each wrong label, for N samples, of which N_k have the
          true value (on or off) of that label.
        - an array (K,): the cost of each label, divided by K.
    class_weight : list of K dicts, dict, "balanced" or None, default=None
        Weight c_i of a sample in the objective, as in scikit-learn for several outputs: the product
        of the weights of its labels, from a dict ``{0: weight, 1: weight}`` for each label or, with
        ``"balanced"``, N / (2 N_k) for N_k samples of N with this value, or 1 if all have it. For
        one label per sample, as in :class:`MulticlassSSVM`.
    rescaling : {"margin", "slack"}, default="margin"
        Required margin of the true labeling over a wrong one. With ``"margin"``, it is the loss of
        the wrong labeling. With ``"slack"``, it is 1, and violations are multiplied by the loss
        [6]_.
    search : {"auto", "angular", "bisecting", "binary"}, default="auto"
        Search of slack rescaling for the most violated set. ``"auto"`` is an exact, direct search
        for enumeration, for forests and hierarchies if all errors have the same cost (by a table
        over the number of errors), and for ``inference="relaxed"`` (over solutions of the linear
        program and mixtures of two); otherwise ``"bisecting"``. ``"angular"`` is also exact, for
        enumeration and the relaxation. ``"bisecting"`` and ``"binary"`` may miss the most violated
        set, but bound its violation.
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
        ``"gdmm"`` updates single labels and edges [9]_, for ``pairwise="and"``; its passes do not
        call the max-oracle. It solves the relaxation (exact if edges have no cycle). It supports
        margin rescaling without `bounds` and `class_scores`, and otherwise the parameters that
        ``"fw"`` supports.
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
        columns, followed by ``class_scores_weight_``), ``intercept_`` (with `fit_intercept`) and
        ``edge_coef_``. Each access returns a copy.
    coef_ : ndarray of shape (K, n_features)
        Weights of the features, one row per label. With `class_scores`, it is a copy, in which the
        column with the scores of a class has ``class_scores_weight_`` in the row of this class and
        0 in the others.
    class_scores_weight_ : float
        The weight of the class scores. Only available if `class_scores` is set.
    intercept_ : ndarray of shape (K,)
        Intercepts; zero without `fit_intercept`.
    edge_coef_ : ndarray of shape (E,) or (E, 2, 2)
        Weights of the edges. For ``pairwise="full"``, the axes of length 2 are the values of the
        first and the second label.
    edges_ : ndarray of shape (E, 2)
        Pairs of interacting labels u < v, sorted; empty for a hierarchy and if each sample has one
        label.
    classes_ : ndarray of shape (K,)
        `classes`, the column names of y if it is a data frame, or 0 ... K - 1; the labels, if each
        sample has one label.
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
        The certificate: primal objective at ``w_``, lower bound of the optimum, and their
        difference. For a relaxation (see ``inference_``), they refer to the relaxed problem:
        ``objective_`` is an upper bound of the exact objective, but ``dual_objective_`` may be
        above its optimum. If ``solver="gdmm"`` replaces an exact decoder, with
        ``inference="auto"`` and at most 20 labels, ``dual_objective_`` and ``dual_gap_`` are
        therefore NaN; the values of the relaxed problem are in ``history_``. With status ROUNDING,
        ``dual_objective_`` is lowered so that it remains a valid bound.
    status_ : str
        Reason for the end of training: CONVERGED, MAX_ITER, TIME_LIMIT, STOPPED_BY_CALLBACK;
        EARLY_STOPPED: the validation score no longer improved, or the returned weights have a
        better score than the weights within `tol`; INTERRUPTED: by Ctrl-C; STALLED: no further
        progress is possible, because of rounding or because the decoder is not exact; ROUNDING:
        rounding errors may exceed `tol`, so the duality gap is not certified.
    converged_ : bool
        Whether ``status_`` is CONVERGED.
    inference_ : str
        The decoder: ``"label by label (exact)"``, ``"max-sum (exact)"``, ``"enumeration (exact)"``,
        ``"graph cut (exact)"``, ``"branch and bound (bounded)"`` or ``"roof duality (LP
        relaxation)"``. For the last one, ``objective_`` and the certificate refer to the relaxed
        problem, whose hinge losses are upper bounds, and so is ``objective_``. Slack rescaling adds
        the search: ``"max-sum, error table (exact)"``, ``"graph cut, bisecting search (bounded)"``,
        ``"roof duality, edges of a polygon (LP relaxation)"``.
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
        ``"gdmm"`` adds rho, feasibility (Euclidean norm of the disagreement between edges and
        labels, root mean square over the sweeps of a pass), active_labels and admitted_edges (means
        per sample), search_seconds, update_seconds; working_set_size is the mean number of labels
        admitted per sample, and oracle calls are made by certificates, which also admit labels.

    See Also
    --------
    MulticlassSSVM : One label per sample.
    sklearn.multioutput.ClassifierChain : Labels predicted in sequence.

    Notes
    -----
    For a 1-D y with one label per sample, training is equivalent to :class:`MulticlassSSVM`, with
    the loss of two sets of one label each (2 / K for ``"hamming"``), without edges.

    A pass takes O(nnz K) operations for nnz nonzero features in total, plus oracle calls: O(K) for
    trees and O(2^K) for enumeration (0.01 ms for 14 labels). In addition to the features, memory is
    O(K F + E) for the weights and, per sample, a few cached sets of 4 K bytes, 4 K + E / 8 for
    relaxed ones, and twice as much for the mixtures of slack rescaling.

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
    .. [7] C. K. Chow, C. N. Liu. Approximating Discrete Probability Distributions with Dependence
       Trees. IEEE Transactions on Information Theory 14(3), 1968.
    .. [8] T. Finley, T. Joachims. Training Structural SVMs when Exact Inference is Intractable.
       ICML 2008.
    .. [9] I. E.-H. Yen, X. Huang, K. Zhong, R. Zhang, P. Ravikumar, I. S. Dhillon. Dual Decomposed
       Learning with Factorwise Oracles for Structural SVMs of Large Output Domain. NIPS 2016.

    Examples
    --------
    Two labels that never occur together, although the features allow it:

    >>> import numpy as np
    >>> from sstruct import MultilabelSSVM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> Y = X > 0
    >>> Y[:, 1] &= ~Y[:, 0]
    >>> model = MultilabelSSVM(lam=0.01, random_state=0).fit(X, Y)
    >>> bool(model.edge_coef_[0] < 0)
    True
    >>> model.predict([[1.0, 0.8], [-1.0, 0.8]])
    array([[1, 0],
           [0, 1]])
    """

    _structure_class = LabelSetStructure

    edge_coef_ = named_weights("edge", "Weights of the edges.")

    edges: Literal["auto", "full", "tree"] | NumericArrayLike | None = "auto"
    constraints: Sequence[LabelConstraint] | None = None
    pairwise: Literal["and", "full"] = "and"
    inference: Inference = "auto"
    bounds: Literal["submodular"] | NumericArrayLike | None = None
    loss: Loss | Literal["asymmetric"] | NumericArrayLike = "hamming-count"
    search: Literal["auto", "angular", "bisecting", "binary"] = "auto"
    class_weight: ClassWeight | Sequence[Mapping[Any, float]] | None = None
    edges_: np.ndarray = field(init=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

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
        y : array-like, sparse matrix or data frame of shape (n, K), or array-like of shape (n,)
            Zeros and ones, for the labels of each row; or one label per row, of any hashable type.
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
            If the data or a parameter are invalid, or a set in y violates a constraint. The message
            names the sample, and the estimator remains unchanged.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def predict(self, X: Any, y_partial: Any = None) -> Any:
        """Predict the set of labels with the highest score, optionally given some known labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.
        y_partial : array-like of shape (n, K), optional
            Known labels: 1 for a label that a row has, 0 for a label that it does not have, and
            None, NaN or -1 if this is unknown; or None instead of a row if nothing is known. In a
            hierarchy, the ancestors of labels that are on, and the descendants of labels that are
            off, are also known. If each row has one label, known labels of shape (n,) are also
            accepted, with None, NaN or -1 (unless that is a class) for unknown ones.

        Returns
        -------
        ndarray, CSR matrix or data frame of shape (n, K), or ndarray of shape (n,)
            Zeros and ones in the format of y in ``fit`` (data frames of pandas and polars have the
            same columns; data frames of pandas have the index of X); or one label per row. With
            `y_partial`, the best sets that agree with it; see ``inference_`` for whether the
            decoder is exact.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid, or no set of a hierarchy or that satisfies the constraints, or
            no label if each row has one label, agrees with `y_partial`; the message names the row.

        Examples
        --------
        Two labels that never occur together: if one is known, the other one is off.

        >>> import numpy as np
        >>> from sstruct import MultilabelSSVM
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> Y = X > 0
        >>> Y[:, 1] &= ~Y[:, 0]
        >>> model = MultilabelSSVM(lam=0.01, random_state=0).fit(X, Y)
        >>> model.predict([[0.2, 1.0]] * 2, y_partial=[[1, -1], [-1, 1]])
        array([[1, 0],
               [0, 1]])
        """
        return self._predict(X, y_partial)

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the contribution of each label to the best score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n, K), or (n,) for two classes and one label per row
            The best score of a set with the label minus the best score of a set without it;
            infinite if the constraints leave no choice. For one label per row, as in
            :class:`MulticlassSSVM`. Exact if the decoder is exact.
        """
        return self._decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the fraction of rows for which all labels are correct.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.
        y : as in :meth:`fit`
            True labels.
        sample_weight : array-like of shape (n,), optional
            Weight of each sample.

        Returns
        -------
        float
            Weighted fraction of rows.
        """
        return BaseSSVM.score(self, X, y, sample_weight)
