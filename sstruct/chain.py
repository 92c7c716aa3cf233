"""Max-margin labeling of sequences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._estimators.chain.chain_structure import ChainStructure
from sstruct._estimators.chain.sequence_estimator import SequenceSSVM
from sstruct._estimators.core.weight_frame import named_weights
from sstruct._export.export_method import ExportMixin

__all__ = ["ChainSSVM"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class ChainSSVM(ExportMixin, SequenceSSVM):
    r"""Structured SVM for sequences: a label for every node, such as each word of a sentence.

    The estimator labels every node of a sequence, such as the words of a sentence or the days of a
    record, and takes into account which labels follow each other. The score of a labeling adds up
    weights of the nodes' features, of the transitions between neighboring labels, and of the labels
    at both ends, and ``predict`` finds the labeling with the highest score. Training minimizes

    .. math::

        P(w) = \frac{\lambda}{2} \|w\|^2 + \frac{1}{\sum_i s_i} \sum_i s_i
        \max_y \left[ L_i(y) - \langle w, \phi(x_i, y_i) - \phi(x_i, y) \rangle \right]

    where :math:`\langle w, \phi(x, y) \rangle` is the score of the labeling y, :math:`L_i` is the
    `loss` and :math:`s_i` the weight of sample i. The required margin of the true labeling over
    another one is the loss of the latter. The norm of w is weighted: see `pairwise_scale`.
    Training stops once the duality gap shows that the objective is within `tol` of its minimum.

    Parameters
    ----------
    transitions : bool, array-like of int of shape (K, K) or callable, default=True
        Weights of the pairs of labels of neighboring nodes. True: one for each pair. False: none.
        Otherwise groups of pairs, which share a weight: an array with the group of each pair, from
        0 on without gaps, or -1 for pairs without a weight, in the order of ``classes_``, whose
        rows are the first and columns the second label; or a function of two labels that returns a
        group, such as a string, or None for pairs without a weight. It is called for the labels of
        the fit, except for pairs that `transition_mask` forbids. For chunk labels use
        :func:`sstruct.masks.bio_kinds`. If each pair has its own group, in order, the fit is the
        same as with True. Groups are not supported by ``solver="gdmm"``. The weights of edge
        features are not affected. When a fitted model is saved, a function that cannot be imported,
        such as a lambda, is replaced by the array.
    boundaries : bool, default=True
        Whether each label has a start and an end weight.
    transition_mask : array-like of bool of shape (K, K), callable or None, default=None
        Allowed transitions, in training and prediction: an array in the order of ``classes_``,
        whose rows are the first and columns the second label; or a function of two labels that
        returns a bool, with None for the start and the end of a chain. For chunk labels use
        :func:`sstruct.masks.bio_transitions` or :func:`sstruct.masks.bioes_transitions`. When a
        fitted model is saved, a function that cannot be imported, such as a lambda, is replaced by
        a function with the same results for the labels of the fit.
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
        All labels, in the order of ``classes_``. If None, the sorted labels that occur in training.
    ignore_label : object, default=None
        Label of nodes whose label is unknown. Such nodes, and nodes whose label is None, NaN or
        masked, are ignored in training (the chain is split there), in the loss and in ``score``,
        but are still predicted. If None, all labels must be known, and a missing one raises an
        error. Use -1 for label arrays padded with -1.
    lam : float or "auto", default="auto"
        Regularization strength, positive. All weights are regularized, including intercepts.
        ``"auto"`` is 0.4 V m^(1/5) / n, where n is the sum of sample weights, m the average number
        of nodes per sample, and V the sum of the variances of node features; features on a much
        larger scale than the others have less influence on V. The value is divided by the mean cost
        of a wrong node, which is 1 / m with ``loss="hamming"``. Many papers use ``lam=1 / n``. C of
        LIBLINEAR is ``1 / (lam * n)``.
        With slack rescaling, ``"auto"`` is multiplied by the mean cost instead of divided by it.
        With ``pairwise_scale="auto"``, the default, V / n replaces the first formula; see
        `pairwise_scale`.
    pairwise_scale : float or "auto", default="auto"
        Size r of the pairwise features (transitions, starts, ends, intercepts and edge features)
        relative to node features. The regularizer is ``lam / 2 * (|u|^2 + |v|^2 / r^2)`` for the
        weights u of node features and all other weights v, so a larger r regularizes v less.
        Dividing node features by r and `lam` by r^2 has the same effect. Fitted weights and
        `bounds` refer to the features in X and to pairwise features of size 1. ``"auto"`` is 0.5
        times the root mean square norm of node features. ``lam="auto"`` is then V / n, multiplied
        by 7.5 / b^(1/3) for b > 422 samples or windows, and predictions do not depend on the scale
        of X. With the solvers ``"perceptron"`` and ``"pa"``, ``"auto"`` is 1. ``partial_fit`` keeps
        the value of the first call.
    loss : {"hamming", "hamming-count", "balanced"} or array-like, default="hamming-count"
        Cost of a wrong labeling.

        - ``"hamming-count"``: the number of wrong nodes.
        - ``"hamming"``: the fraction of wrong nodes.
        - ``"balanced"``: as ``"hamming"``, but a node with true label k has weight N / (K N_k),
          where N_k of N nodes have this label and K labels occur.
        - an array (K,): as ``"hamming"``, with the weight of a node by its true label.
        - an array (K, K): the mean cost of the nodes, rows the true label, columns the predicted
          one; nonnegative, with a zero diagonal.

        Arrays are in the order of ``classes_``. Nodes without a known label do not count.
    class_weight : dict, "balanced" or None, default=None
        Factor of the cost of a wrong node, by its true label, in addition to `loss`: weight 2
        doubles the cost of errors. Labels missing in a dict have weight 1. ``"balanced"`` uses
        N / (K N_k), where N_k of N nodes have label k and K labels occur.
    rescaling : {"margin", "slack"}, default="margin"
        Required margin of the true labeling over a wrong one. With ``"margin"``, it is the loss of
        the wrong labeling. With ``"slack"``, it is 1, and violations are multiplied by the loss
        [6]_.
    search : {"auto", "bisecting", "binary"}, default="auto"
        Search of ``rescaling="slack"`` for the most violated labeling. ``"auto"`` is exact if node
        costs are integers, as with ``"hamming"``, nodes have no weights, and sequences have at most
        about 200 nodes; otherwise it is ``"bisecting"``, which visits up to 100 labelings in order
        of an upper bound on their violation. It may miss the most violated one but bounds its
        violation, so ``objective_`` is an upper bound. ``"binary"`` has larger bounds and requires
        more calls of the decoder.
    window_size : int, "auto" or None, default="auto"
        Train on windows: each sequence of more than this many nodes is split into windows of nearly
        equal size, which makes training on few, long sequences several times faster. Each
        transition belongs to one window; if it leaves this window, the label of its second node is
        free.
        Training minimizes the sum of the hinge losses of windows, an upper bound of the hinge
        losses of sequences, so ``objective_`` is at least the objective of whole sequences,
        ``whole_objective_``. ``"auto"`` splits sequences of more than 1,000 nodes into windows of
        at most 200, except with slack rescaling, with a `solver` other than ``"mp-bcfw"`` and
        ``"bcfw"``, or if ``solver="auto"`` is ``"gdmm"``. Integers require margin rescaling and
        one of these solvers. With None, training uses whole sequences. Predictions are always
        made for whole sequences. See :doc:`/how_to/long_recordings`.
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
        ``"gdmm"`` trains on single nodes and transitions, and gradually enforces their agreement
        [7]_. It is intended for so many labels that Viterbi, with up to K^2 operations per node, is
        too slow. It supports margin rescaling without `bounds` and `class_scores`, and otherwise
        the parameters that ``"fw"`` supports.
        ``"auto"`` uses ``"gdmm"`` for at least 1,500 labels, or at least 600 if X is sparse, unless
        a parameter that it does not support or a `transition_mask` is set, `transitions` is not
        True, or X has edge features.
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
        With margin rescaling, `loss` and `class_weight` may also change.
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
        columns, followed by ``class_scores_weight_``), ``intercept_``, ``start_coef_``,
        ``end_coef_``, ``edge_coef_`` and ``edge_feature_coef_``, if they are enabled. Each access
        returns a copy.
    coef_ : ndarray of shape (K, n_features)
        Weights of the features, one row per label. With `class_scores`, it is a copy, in which the
        column with the scores of a class has ``class_scores_weight_`` in the row of this class and
        0 in the others.
    class_scores_weight_ : float
        The weight of the class scores. Only available if `class_scores` is set.
    intercept_, start_coef_, end_coef_ : ndarray of shape (K,)
        Weights of labels; zero if disabled by the parameter.
    edge_coef_ : ndarray of shape (K, K)
        Weight of each transition; rows are the first, columns the second label.
    transition_groups_ : ndarray of int of shape (K, K)
        Group of each transition, -1 if it has no weight. ``w_`` and `bounds` have one entry for
        each group instead of each transition. The groups of a function are numbered in the order of
        their first transitions, row by row. Only available if `transitions` has groups.
    edge_feature_coef_ : ndarray of shape (G, K, K)
        Weights of each edge feature, by first and second label; G is 0 if X has no edge features.
    classes_ : ndarray of shape (K,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.
    n_edge_features_in_ : int
        Number G of edge features, if X has any.
    edge_feature_names_in_ : ndarray of shape (G,)
        Names of the edge features, if X has them.
    lam_ : float
        The value of `lam` that was used; 0 for ``"perceptron"`` and ``"pa"``, which do not use it.
    pairwise_scale_ : float
        The value of `pairwise_scale` that was used.
    solver_ : str
        Name of the solver that was used.
    n_iter_ : int
        Number of passes, at least 1; for a solver with ``cache=True``, oracle calls divided by n.
    n_oracle_calls_ : int
        Number of oracle calls, excluding certificates. ``partial_fit`` counts all previous calls.
        With ``"gdmm"``, the number of visits to a chain that search for labels.
    objective_, dual_objective_, dual_gap_ : float
        The certificate: the objective at ``w_`` (primal), a lower bound of its minimum (dual), and
        their difference. With status ROUNDING, `dual_objective_` is lowered so that it remains a
        valid bound.
        If sequences were split into windows, this is the objective over windows, with the
        multipliers of ``couple_windows``, an option of the solver.
    whole_objective_ : float
        The objective of whole sequences at ``w_``, at most ``objective_``. Only available if
        sequences were split into windows, and not for partitions.
    status_ : str
        Reason for the end of training: CONVERGED, MAX_ITER, TIME_LIMIT, STOPPED_BY_CALLBACK;
        EARLY_STOPPED: the validation score no longer improved, or the returned weights have a
        better score than the weights within `tol`; INTERRUPTED: by Ctrl-C; STALLED: no further
        progress is possible, because of rounding or because the decoder is not exact; ROUNDING:
        rounding errors may exceed `tol`, so the duality gap is not certified.
    converged_ : bool
        Whether ``status_`` is CONVERGED.
    inference_ : str
        The decoder in training: ``"viterbi (exact)"``; with slack rescaling ``"viterbi, error table
        (exact)"`` or, for example, ``"viterbi, bisecting search (bounded)"``. For 200 labels or
        more, if at most a tenth of the transitions have a weight and there is no `transition_mask`,
        it also mentions that ``predict`` uses the sparse decoder of
        :func:`sstruct.inference.viterbi`.
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
        A fit to partitions adds rounds, bytes_sent, bytes_received and bytes_copied (in case
        workers die), all cumulative, and least_share, the smallest step size along the changes of
        partitions, which is 1 in most rounds.
        ``"gdmm"`` adds relaxed_primal, feasibility (mean distance between marginals that should
        agree), labels_per_unigram, labels_per_bigram (NaN between certificates), rho,
        unigram_search_seconds, bigram_search_seconds and step_seconds. For more than 300 labels,
        unless few transitions have a weight, primal and gap are NaN until relaxed_primal reaches
        `tol`.

    See Also
    --------
    sstruct.Sequences : Ragged data as one flat array.
    sstruct.preprocessing.SequenceVectorizer : Feature dicts to sparse rows.

    Notes
    -----
    A pass over the data takes O(sum of L (nnz + K) K) operations for sequences of L nodes with nnz
    nonzero features and K labels; prediction takes O(sum of L (nnz K + K log K + m)) if only few
    transitions, m, have a weight. In addition to the features, memory is O(K F + K^2) for the
    weights and, per sequence, a few cached labelings of 4 L bytes each with their pairwise
    distances; no vector of the size of ``w_`` is stored per sequence. With G edge features, a pass
    takes O(sum of L K^2 G) additional operations, and each thread requires O(L K^2) memory for the
    longest sequence.

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
    .. [7] I. E.-H. Yen, X. Huang, K. Zhong, R. Zhang, P. Ravikumar, I. S. Dhillon. Dual Decomposed
       Learning with Factorwise Oracles for Structural SVMs of Large Output Domain. NIPS 2016.

    Examples
    --------
    >>> from sstruct import ChainSSVM
    >>> from sstruct.datasets import make_sequences
    >>> X, y = make_sequences(n_samples=60, random_state=0)
    >>> model = ChainSSVM(lam=0.01, random_state=0).fit(X[:40], y[:40])
    >>> model.status_
    'CONVERGED'
    >>> bool(model.score(X[40:], y[40:]) > 0.7)
    True
    """

    _structure_class = ChainStructure

    edge_feature_coef_ = named_weights(
        "edge_feature", "Weights of each feature of a transition, by labels from and to."
    )

    window_size: int | Literal["auto"] | None = "auto"
    n_edge_features_in_: int = field(init=False)
    edge_feature_names_in_: np.ndarray = field(init=False)
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
        """Fit the model to labeled sequences.

        Parameters
        ----------
        X : list of arrays of shape (L_i, n_features)
            Dense or sparse features, or data frames. Also an object array or a series of these,
            :class:`sstruct.Sequences`, one array of shape (n, L, n_features), or a 2-D array,
            sparse matrix or data frame whose rows are sequences of one node. Pass a single
            sequence, such as a time series, as a list of one array: ``fit([X], [y])``. Empty
            sequences are ignored with a warning. With edge features, each sequence is a tuple
            (features, edge features), of shapes (L_i, n_features) and (L_i - 1, G), or
            ``Sequences`` have ``edge_features``. X may also be in partitions on a Dask cluster: a
            bag, or a list of futures or delayed objects; see :doc:`/how_to/cluster`.
        y : list of label sequences
            Labels of any hashable type; for 2-D X one label per row. For partitions, the same
            partitions of labels, or None if X contains pairs (x, y).
        sample_weight : array-like of shape (n,), or list of n arrays (L_i,), optional
            Nonnegative weights. A number per sample: weight 2 is equivalent to two copies, and
            samples of weight 0 are ignored. Or an array per sample, with the weights of its nodes
            in the loss, which multiply the costs of nodes; a loss that is a fraction of nodes is
            then a fraction of weights. Errors at nodes of weight 0 cost nothing, but such nodes
            remain in the sequence, unless all its labeled nodes have weight 0: such a sequence is
            ignored. To ignore nodes, use `ignore_label`. Integers that equal the lengths of the
            sequences raise an error, since other packages expect lengths here; pass such weights as
            floats.
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

        Warns
        -----
        UserWarning
            If each sequence has only one node, as for 2-D X, and no transitions are learned (unless
            ``transitions=False``); or if sequences are empty.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def predict(self, X: Any, y_partial: Any = None) -> np.ndarray:
        """Predict the best labeling of each sequence, optionally given some known labels.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples; a single sequence is a list of one array. 2-D only if X was 2-D in ``fit``.
        y_partial : list of label sequences, optional
            Known labels; the others are predicted given these. For each sample, an array with an
            entry per node: the label, or None, NaN, `ignore_label` or -1 (unless that is a class)
            if unknown; or None instead of an array if all are unknown. For 2-D X, an entry per row.

        Returns
        -------
        ndarray
            For lists, a 1-D object array of label arrays, which are empty for empty sequences; for
            X of shape (n, L, n_features), an array of shape (n, L); for 2-D X, of shape (n,). With
            `y_partial`, the best labelings that contain the known labels.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid, or no labeling allowed by `transition_mask` contains the known
            labels; the message names the sample and the node.

        Examples
        --------
        A known label in the middle changes the predictions of its neighbors:

        >>> from sstruct import ChainSSVM
        >>> X, y = [[[2.0], [1.0]], [[-2.0], [-1.0]]], [["a", "a"], ["b", "b"]]
        >>> model = ChainSSVM(random_state=0).fit(X, y)
        >>> sample = [[0.1], [1.0], [0.1]]
        >>> model.predict([sample])[0].tolist()
        ['a', 'a', 'a']
        >>> model.predict([sample], y_partial=[[None, "b", None]])[0].tolist()
        ['b', 'b', 'b']
        """
        return self._predict(X, y_partial)

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the best score of a labeling with each label at each node (max-marginals).

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.

        Returns
        -------
        ndarray
            As in :meth:`predict`, with K scores instead of each label; ``-inf`` if
            `transition_mask` forbids the label. The labels from ``predict`` have the highest scores
            of their nodes, up to ties.
        """
        return self._decision_function(X)

    def predict_top_k(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the k best labelings of each sequence.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        k : int
            Number of labelings, at least 1.

        Returns
        -------
        labels : ndarray of shape (n,), dtype object
            For each sequence, an array (m, L) of distinct labelings, best first; for 2-D X an array
            (m,). The first one is the result of :meth:`predict`, up to ties. m is k, or the number
            of labelings allowed by `transition_mask`, if that is smaller; an empty sequence has
            one, empty labeling.
        scores : ndarray of shape (n,), dtype object
            For each sequence, an array (m,) of the scores ``<w_, phi(x, y)>``.

        See Also
        --------
        sstruct.inference.top_k : The same for potentials.

        Notes
        -----
        Exact. O(L K (K + k)) time for a sequence of L nodes, plus the time for potentials.

        Examples
        --------
        >>> from sstruct import ChainSSVM
        >>> model = ChainSSVM(random_state=0).fit([[[2.0], [-1.0]], [[-2.0]]], [["a", "b"], ["b"]])
        >>> labels, scores = model.predict_top_k([[[3.0], [0.0]]], k=2)
        >>> labels[0].tolist()
        [['a', 'b'], ['a', 'a']]
        """
        structure, model = self._fitted()
        return structure.ranked(model, X, k)
