"""Texts shared by docstrings; `expand_docstrings.py` writes them into the sources."""


class Common:
    r"""Texts of most estimators; references [1] to [5] are the same in all.

    Parameters
    ----------
    lam : float or "auto", default="auto"
        Regularization strength, positive. All weights are regularized, including intercepts.
        ``"auto"`` is 0.4 V m^(1/5) / n, where n is the sum of sample weights, m the average number
        of nodes per sample, and V the sum of the variances of node features; features on a much
        larger scale than the others have less influence on V. The value is divided by the mean cost
        of a wrong node, which is 1 / m with ``loss="hamming"``. Many papers use ``lam=1 / n``. C of
        LIBLINEAR is ``1 / (lam * n)``.
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
    rescaling : {"margin", "slack"}, default="margin"
        Required margin of the true labeling over a wrong one. With ``"margin"``, it is the loss of
        the wrong labeling. With ``"slack"``, it is 1, and violations are multiplied by the loss
        [6]_.
    class_weight : dict, "balanced" or None, default=None
        Factor of the cost of a wrong node, by its true label, in addition to `loss`: weight 2
        doubles the cost of errors. Labels missing in a dict have weight 1. ``"balanced"`` uses
        N / (K N_k), where N_k of N nodes have label k and K labels occur.
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
    coef_ : ndarray of shape (K, n_features)
        Weights of the features, one row per label. With `class_scores`, it is a copy, in which the
        column with the scores of a class has ``class_scores_weight_`` in the row of this class and
        0 in the others.
    class_scores_weight_ : float
        The weight of the class scores. Only available if `class_scores` is set.
    classes_ : ndarray of shape (K,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.
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
    history_ : dict of ndarrays
        Columns with one row per pass: seconds and certificate_seconds (cumulative), passes,
        oracle_calls, approximate_passes (passes over cached labelings, of all data or a part),
        primal, gap (both NaN between certificates), dual, working_set_size (cached labelings per
        sample). For ``"fw"`` and ``"cutting-plane"``, a row has the certificate of the weights at
        the start of the pass. ``"perceptron"`` and ``"pa"`` add mistakes, the number of samples in
        the pass with a positive loss. Early stopping adds validation_score; the last row then has
        the certificate of ``w_``.

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
    """


class Classes:
    """Texts of estimators with a parameter `classes`, appended to the texts with the same names.

    Parameters
    ----------
    warm_start : added
        New classes raise an error; pass all `classes` before the first fit.
    """


class Slack:
    """Texts of estimators with slack rescaling, appended to the texts with the same names.

    Parameters
    ----------
    lam : added
        With slack rescaling, ``"auto"`` is multiplied by the mean cost instead of divided by it.
    history_ : added
        Slack rescaling adds queries, the oracle calls of its searches (cumulative, excluding
        certificates).

    References
    ----------
    .. [6] H. Choi, O. Meshi, N. Srebro. Fast and Scalable Structural SVM with Slack Rescaling.
       arXiv:1510.06002, 2015.
    """


class PairwiseScale:
    """Texts of estimators with `pairwise_scale`, appended to the texts with the same names.

    Parameters
    ----------
    lam : added
        With ``pairwise_scale="auto"``, the default, V / n replaces the first formula; see
        `pairwise_scale`.
    """


class Chains:
    """Texts of ``ChainSSVM``, appended to the texts with the same names above.

    Parameters
    ----------
    solver : added
        ``"gdmm"`` trains on single nodes and transitions, and gradually enforces their agreement
        [7]_. It is intended for so many labels that Viterbi, with up to K^2 operations per node, is
        too slow. It supports margin rescaling without `bounds` and `class_scores`, and otherwise
        the parameters that ``"fw"`` supports.
        ``"auto"`` uses ``"gdmm"`` for at least 1,500 labels, or at least 600 if X is sparse, unless
        a parameter that it does not support or a `transition_mask` is set, `transitions` is not
        True, or X has edge features.
    warm_start : added
        With margin rescaling, `loss` and `class_weight` may also change.
    n_oracle_calls_ : added
        With ``"gdmm"``, the number of visits to a chain that search for labels.
    objective_ : added
        If sequences were split into windows, this is the objective over windows, with the
        multipliers of ``couple_windows``, an option of the solver.
    history_ : added
        A fit to partitions adds rounds, bytes_sent, bytes_received and bytes_copied (in case
        workers die), all cumulative, and least_share, the smallest step size along the changes of
        partitions, which is 1 in most rounds.
        ``"gdmm"`` adds relaxed_primal, feasibility (mean distance between marginals that should
        agree), labels_per_unigram, labels_per_bigram (NaN between certificates), rho,
        unigram_search_seconds, bigram_search_seconds and step_seconds. For more than 300 labels,
        unless few transitions have a weight, primal and gap are NaN until relaxed_primal reaches
        `tol`.
    """


class Grids:
    """Texts of ``GridCRFSSVM``, appended to the texts with the same names above.

    Parameters
    ----------
    objective_ : added
        If images were split into tiles, this is the objective over tiles, with the multipliers of
        ``couple_windows``, an option of the solver.
    """


class LabelSets:
    """Texts of ``MultilabelSSVM``, appended to the texts with the same names above.

    Parameters
    ----------
    lam : added
        For label sets, ``"auto"`` is 0.6 V / n, multiplied by 7.5 / n^(1/3) for n > 422 samples.
    class_scores : added
        Requires label sets, an (n, K) array y of 0 and 1.
    solver : added
        ``"gdmm"`` updates single labels and edges [9]_, for ``pairwise="and"``; its passes do not
        call the max-oracle. It solves the relaxation (exact if edges have no cycle). It supports
        margin rescaling without `bounds` and `class_scores`, and otherwise the parameters that
        ``"fw"`` supports.
    history_ : added
        ``"gdmm"`` adds rho, feasibility (Euclidean norm of the disagreement between edges and
        labels, root mean square over the sweeps of a pass), active_labels and admitted_edges (means
        per sample), search_seconds, update_seconds; working_set_size is the mean number of labels
        admitted per sample, and oracle calls are made by certificates, which also admit labels.
    """


class Custom:
    """Texts of ``StructuredSVM``, appended to the texts with the same names above.

    Parameters
    ----------
    history_ : added
        The oracle adds suboptimal, the cumulative number of its results that were worse than a
        known labeling.
    """


class Validation:
    """Texts of ``fit`` about validation samples.

    Parameters
    ----------
    X_val, y_val : as X and y, optional
        Validation samples for early stopping, an option of solvers; they are not used in
        training. If None, early stopping sets aside a fraction of the samples
        (``validation_fraction`` of the solver). Labels not seen in training count as errors.
    sample_weight_val : as for ``score``, optional
        Weights of the validation samples in the score.
    """


class Solvers:
    """Texts of options that several solvers have.

    Parameters
    ----------
    certificate_every : int, default=10
        Number of passes between certificates, which compute the duality gap with one additional
        oracle call per sample. A certificate is also computed when the estimated gap falls below
        the tolerance of the estimator. With `cache`, at least ten passes or two oracle calls per
        sample lie between such a certificate and the previous one.
    early_stopping : bool, default=False
        Whether to evaluate ``score`` on validation samples after each pass, and return the weights
        with the best score. After a pass, these are the average, or the last iterate of a solver
        without an average. The certificate, if any, is computed for the returned weights.
    validation_fraction : float, default=0.1
        Fraction of the samples set aside for validation with `early_stopping`, drawn by the
        ``random_state`` of the estimator, unless `X_val` and `y_val` are passed to its ``fit``.
        Between 0 and 1.
    n_iter_no_change : int, default=5
        With `early_stopping`, stop after this number of passes without a better score.
    checkpoint : path or None, default=None
        File in which the state of the fit is saved periodically. If the file exists, the fit
        continues from it, with results that are bitwise identical to an uninterrupted fit; the file
        of a different fit raises an error. It is removed when a fit converges. If the file cannot
        be written during the fit, a warning is issued and the fit continues. Concurrent fits
        require different files.
    """


class Graphs:
    """Texts of estimators of graphs and of grids of pixels.

    Parameters
    ----------
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
    search : {"auto", "bisecting", "binary"}, default="auto"
        Search of ``rescaling="slack"`` for the most violated labeling, by decoding with several
        weights of the loss. ``"auto"`` is ``"bisecting"``. Both searches may miss the most violated
        labeling. If the decoder is exact or bounded, they bound its violation, so
        ``objective_`` is an upper bound of the objective at ``w_``. ``"binary"`` requires more
        calls.
    bounds : "submodular", array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite for free weights.
        For ``"potts"`` and ``"contrast"``, pairwise weights are at most 0 even with None, and an
        array that allows positive ones raises an error. ``"submodular"`` ensures that neighbors
        attract each other for ``"full"`` and ``"directed"`` (with nonnegative edge features):
        diagonals of ``edge_coef_`` are at least 0, other entries at most 0.
    ignore_label : object, default=-1
        Label of nodes (pixels) whose label is unknown. These nodes, and nodes whose label is None,
        NaN or masked, do not count in the loss or in ``score``, and are predicted like all others;
        the Notes describe their role in training. If None, all labels must be known, and a missing
        one raises an error.
    warm_start : {False, True, "dual", "primal"}, default=False
        Continue from the previous fit, for example after changing `lam` or adding samples.
        ``"dual"`` (or True) starts from its dual weights of labelings; ``"primal"`` rescales them
        so that weights change as little as possible if `lam` or sample weights change. The first
        samples must be the samples of the previous fit in the same order; different data raise an
        error. Sample weights may change, but not from or to 0. New classes raise an error; pass all
        `classes` before the first fit. A different `loss` or `fit_intercept`, or different weights
        of nodes, may also raise an error.

    Attributes
    ----------
    w_ : ndarray of shape (n_weights,)
        All weights in one vector: ``coef_`` (with `class_scores`, only the weights of the other
        columns, followed by ``class_scores_weight_``), ``intercept_`` and ``edge_coef_``, if they
        exist. Each access returns a copy.
    intercept_ : ndarray of shape (K,)
        Intercepts; zero without `fit_intercept`.
    inference_ : str
        The decoder in training: ``"graph cut (exact)"``, ``"max-sum (exact)"``, ``"node by node
        (exact)"`` if no graph has an edge, ``"alpha-expansion (approximate)"``, ``"fusion moves
        (approximate)"``, ``"trees by Frank-Wolfe (bounded)"`` or ``"branch and bound (bounded)"``.
        With an approximate decoder, ``objective_`` may be below the primal, so the certificate is
        approximate, but ``dual_objective_`` remains a lower bound. With a bounded decoder,
        ``objective_`` is an upper bound, and ``dual_gap_`` is valid. Slack rescaling adds the
        search, as in ``"graph cut, bisecting search (bounded)"``.
    """


class Metrics:
    """Texts of metrics.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences. Labels may be of any
        hashable type. Label images and other multidimensional arrays are flattened.
    labels : list of labels, default=None
        Labels to average over, in this order. Default: all labels that occur, sorted if possible.
    average : {"weighted", "macro", "micro", "binary"} or None, default="weighted"
        As in scikit-learn; ``None`` returns the score of each label.
    pos_label : label, default=1
        The label to score with ``average="binary"``.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        Value of 0 / 0, as in scikit-learn.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error.
    """
