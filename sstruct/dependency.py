"""Max-margin dependency parser."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.weight_frame import named_weights
from sstruct._estimators.dependency.dependency_structure import DependencyStructure

__all__ = ["DependencySSVM"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class DependencySSVM(BaseSSVM):
    r"""Structured SVM for dependency trees of sentences.

    Each token of a sentence has one head, another token or the root, and the arcs from heads to
    tokens form a tree. Arcs have features f_{h t}, and may have labels. The score of a tree with
    the heads h_t and labels l_t is

    .. math::

        \sum_t \left( \langle w, f_{h_t, t} \rangle
        + \langle u_{l_t}, g_{h_t, t} \rangle \right)

    for learned weights w of arcs and, with labels, weights u_l of each label l. The label features
    g are the same as f unless they are given separately. The tree with the highest score is found
    exactly: the maximum spanning tree, or the best projective tree.

    Parameters
    ----------
    labeled : bool, default=False
        Whether arcs have labels, such as grammatical relations. If True, y contains pairs of heads
        and labels.
    projective : bool, default=False
        Whether arcs must not cross: all tokens between a head and its dependent then descend from
        the head. Decoding takes longer. True trees must be projective.
    single_root : bool, default=True
        Whether exactly one token is a child of the root, as in Universal Dependencies.
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
    ignore_label : object, default=None
        Value that marks tokens of y whose head or label is unknown; it must not be a valid head or
        label, such as -1. If it is set, sentences with a token whose head or label is
        `ignore_label`, None, NaN or masked are not used in training, and these tokens are ignored
        in ``score``; :class:`LatentSSVM` completes them instead. If None, a missing head or label
        raises an error.
    lam : float or "auto", default="auto"
        Regularization strength, positive. All weights are regularized.
        ``"auto"`` is 0.4 V m^(1/5) / n, where n is the sum of sample weights, m the average number
        of tokens per sentence, and V the sum of the variances of the features of arcs; features on
        a much larger scale than the others have less influence on V. With ``loss="hamming"``, the
        value is multiplied by m. Many papers use ``lam=1 / n``.
    loss : {"hamming-count", "hamming"}, default="hamming-count"
        Cost of a wrong tree: ``"hamming-count"`` is the number, and ``"hamming"`` the fraction, of
        the tokens with a wrong head or label.
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
        error. Sample weights may change, but not from or to 0. New labels of arcs raise an error.
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
        All weights in one vector: ``coef_`` and, with labels, ``label_coef_``. Each access returns
        a copy.
    coef_ : ndarray of shape (n_features,)
        Weights of the features of arcs.
    label_coef_ : ndarray of shape (n_labels, n_label_features)
        Weights of the label features of arcs for each label; of shape (0, 0) without labels.
    classes_ : ndarray of shape (n_labels,)
        The sorted labels of arcs. Only available if ``labeled=True``.
    n_features_in_ : int
        Number of features of an arc.
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
        The decoder: ``"maximum spanning tree (exact)"`` or ``"Eisner (exact)"``.
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
    sstruct.preprocessing.ArcVectorizer : Features of arcs from words and tags.
    sstruct.inference.dependency_tree : The decoder, for given scores.
    sstruct.metrics.labeled_attachment_score : Fraction of tokens with the right head and label.
    sstruct.datasets.make_dependency_trees : Generate sentences with trees.

    Notes
    -----
    For a sentence of n tokens, decoding takes O(n^2) operations for maximum spanning trees [6]_ and
    O(n^3) for projective trees [7]_, in addition to the computation of the scores of all candidate
    arcs and labels, which usually takes most of the time. With `single_root`, the best tree with
    one child of the root is found exactly. Decoding takes O(n^2) memory per thread in addition to
    the features; sentences with ``arcs`` may have at most 8192 tokens. Passing only the candidate
    arcs reduces the time and memory for features.

    The unlabeled model is the first-order model of [6]_. Labels of arcs are independent of each
    other given the tree, so the best label of each arc is found first.

    See :doc:`/how_to/parse_dependencies`.

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
    .. [6] R. McDonald, F. Pereira, K. Ribarov, J. Hajic. Non-projective Dependency Parsing using
       Spanning Tree Algorithms. HLT-EMNLP 2005.
    .. [7] J. Eisner. Three New Probabilistic Models for Dependency Parsing: An Exploration. COLING
       1996.

    Examples
    --------
    >>> from sstruct import DependencySSVM
    >>> from sstruct.datasets import make_dependency_trees
    >>> X, y = make_dependency_trees(300, random_state=0)
    >>> X[0].shape, y[0]
    ((9, 10, 38), array([5, 3, 9, 3, 8, 9, 5, 3, 0]))
    >>> model = DependencySSVM(random_state=0).fit(X[:200], y[:200])
    >>> model.inference_
    'maximum spanning tree (exact)'
    >>> bool(model.score(X[200:], y[200:]) > 0.8)
    True
    """

    _structure_class = DependencyStructure

    coef_ = named_weights("coef", "Weights of the features of arcs.")
    label_coef_ = named_weights("label_coef", "Weights of the label features for each label.")

    labeled: bool = False
    projective: bool = False
    single_root: bool = True
    loss: Literal["hamming-count", "hamming"] = "hamming-count"
    ignore_label: Any = None
    n_features_in_: int = field(init=False)
    classes_: np.ndarray = field(init=False)

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
        """Fit the model to sentences with true trees.

        Parameters
        ----------
        X : list of n arrays of shape (n_tokens, n_tokens + 1, n_features), or list of n dicts
            Features of all arcs: ``X[i][t - 1, h]`` has the features of the arc from head h to
            token t. Tokens are numbered from 1 to n_tokens, and head 0 is the root. Entries with
            h = t are ignored. Or dicts with the keys:

            features : array of shape (n_tokens, n_tokens + 1, n_features) or (n_arcs, n_features)
                Features of all arcs. With ``arcs``, features of the listed arcs, which may be a
                sparse matrix.
            arcs : int array of shape (n_arcs, 2), optional
                Head and dependent of each candidate arc. Other arcs are forbidden. Each token must
                have at least one candidate arc.
            label_features : as features, optional
                Features of arcs for the weights of labels, ``features`` by default.
        y : list of n int arrays of shape (n_tokens,), or list of n pairs (heads, labels)
            The head of each token, 0 for the root, as in the column HEAD of CoNLL-U. With
            ``labeled=True``, pairs of such an array and an array of labels of shape (n_tokens,).
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
            If the data or a parameter are invalid, for example if heads form a cycle, or a tree is
            not projective and ``projective=True``. The message names the sample, and the estimator
            remains unchanged.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def predict(self, X: Any, y_partial: Any = None) -> np.ndarray:
        """Predict the best tree of each sentence, optionally given some known heads.

        Parameters
        ----------
        X : as in :meth:`fit`
            Sentences.
        y_partial : list of n trees, optional
            Known heads and labels, in the form of y; the others are predicted given these. None,
            NaN or `ignore_label` (-1 if `ignore_label` is None) marks an unknown head or label; if
            the label of a token is unknown, its head is ignored. None instead of a tree marks all
            tokens as unknown.

        Returns
        -------
        ndarray of shape (n,), dtype object
            For each sentence, an int array (n_tokens,) of heads, 0 for the root; with
            ``labeled=True``, a pair of this array and an array of labels.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid, or no tree consists of candidate arcs and contains the known
            heads; the message names the sample.

        Examples
        --------
        If token 1 is known to be the child of the root:

        >>> from sstruct import DependencySSVM
        >>> from sstruct.datasets import make_dependency_trees
        >>> X, y = make_dependency_trees(100, random_state=0)
        >>> model = DependencySSVM(random_state=0).fit(X[:80], y[:80])
        >>> model.predict(X[80:81])[0]
        array([2, 0, 2])
        >>> model.predict(X[80:81], [[0, None, None]])[0]
        array([0, 1, 2])
        """
        return self._predict(X, y_partial)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of all arcs.

        Parameters
        ----------
        X : as in :meth:`fit`
            Sentences.

        Returns
        -------
        ndarray of shape (n,), dtype object
            For each sentence, an array (n_tokens, n_tokens + 1) with a row per token and a column
            per head. Entries are the scores of arcs with their best labels, and ``-inf`` for arcs
            that are not candidates. :func:`sstruct.inference.dependency_tree` computes the
            predicted heads from this array.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid; the message names the sample.
        """
        return self._decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the unlabeled or, with ``labeled=True``, the labeled attachment score.

        Parameters
        ----------
        X, y : as in ``fit``
            Sentences and their true trees, which need not be projective.
        sample_weight : array-like of shape (n,), optional
            Weight of the tokens of each sentence.

        Returns
        -------
        float
            Weighted fraction of tokens with the true head and, with labels, the true label. Labels
            not seen in training are errors.
        """
        return super().score(X, y, sample_weight)
