"""Texts that docstrings share, each once; `expand_docstrings.py` writes them into the sources."""


class Common:
    r"""Of most estimators; references [1] to [6] are the same in all.

    Parameters
    ----------
    lam : float or "auto", default="auto"
        Regularization strength, positive; all weights are regularized, intercepts too. ``"auto"``
        is 0.4 V m^(1/5) / n: n is the sum of sample weights, m the nodes of a sample on average,
        and V the variances of a node's features added up, where features whose scale is far beyond
        that of the others count less. For label sets it is 0.6 V / n, and for n > 422 samples times
        7.5 / n^(1/3). Where `loss` is divided by the number of nodes, it is as many times larger.
        The papers' choice is ``lam=1 / n``. LIBLINEAR's C is ``1 / (lam * n)``.
    pairwise_scale : float or "auto", default="auto"
        Size r of the pairwise features beside the node features: of transitions, starts, ends,
        intercepts and edge features. Training regularizes ``lam / 2 * (|u|^2 + |v|^2 / r^2)`` for
        the weights u of node features and all other weights v, so that a larger r regularizes v
        less. Node features divided by r and `lam` divided by r^2 give the same model. Fitted
        weights and `bounds` are those of features as they are in X and pairwise features of size 1.
        ``"auto"`` is 0.5 times the root mean square norm of a node's features, and ``lam="auto"``
        is then V / n, for b > 422 samples or windows times 7.5 / b^(1/3). Predictions then do not
        depend on the scale of X. For ``"perceptron"`` and ``"pa"`` it is 1. In ``partial_fit`` it
        is that of the first samples.
    rescaling : {"margin", "slack"}, default="margin"
        By how much the truth is to score higher than a wrong labeling. ``"margin"``: by its loss.
        ``"slack"``: by 1, and what is missing to that is multiplied by its loss [6]_.
    class_weight : dict, "balanced" or None, default=None
        Factor of a wrong node's cost by its true label, on top of `loss`: weight 2 doubles the cost
        of errors at the label. Labels that a dict leaves out have weight 1. ``"balanced"``:
        N / (K N_k), for N_k of N nodes with label k and the K labels that occur.
    solver : str or solver object, default="auto"
        The training algorithm. A name stands for an object of :mod:`sstruct.solvers` with its
        default options; to set options give the object, as in ``solver=MPBCFW(step="away")``.
        ``"mp-bcfw"`` (:class:`~sstruct.solvers.MPBCFW`, [1]_, [2]_) is the default for ``"auto"``;
        ``"bcfw"`` is the same without passes over cached labelings. Both, ``"fw"`` [3]_, ``"ssg"``
        [4]_ and ``"cutting-plane"`` [5]_ minimize the same objective; the last three are for
        comparison. ``"perceptron"`` and ``"pa"`` have no objective and need ``lam="auto"``. They
        are for a fast first model and, like ``"ssg"``, for ``partial_fit``. Only the first two
        solvers support `warm_start` and `checkpoint`.
    fit_intercept : bool, default=True
        Whether each label has a bias (intercept), which is regularized like all weights.
    bounds : array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite where free.
    classes : array-like or None, default=None
        All labels, in order; None: those that occur in training.
    tol : float, default=1e-2
        Stop when the objective is known to be within the share `tol` of its minimum: at a relative
        duality gap, (primal - dual) / primal, of at most `tol`.
    certificate_every : int, default=10
        Number of passes between certificates, which compute the duality gap with one more oracle
        call for each sample. One is also made when the estimated gap falls below `tol`. Each pass
        of ``"fw"`` and ``"cutting-plane"`` is a certificate.
    max_iter : int, default=1000
        Largest number of passes (n oracle calls each; for a solver with ``cache=True``, at most ten
        times as many rounds).
    max_time : float or None, default=None
        Time limit in seconds. A fit may exceed it by one certificate (``"ssg"``: two;
        ``"cutting-plane"``: one and a quadratic program).
    early_stopping : bool, default=False
        Whether to keep the weights that score best (``score``) on samples that take no part in
        training, of those after each pass: the average, or the last iterate of a solver without an
        average. The certificate is that of the weights kept. For ``"mp-bcfw"``, ``"bcfw"``,
        ``"ssg"`` and perceptrons.
    validation_fraction : float, default=0.1
        Share of the samples that `early_stopping` holds out, drawn by `random_state`, where ``fit``
        is given no `X_val` and `y_val`. Between 0 and 1.
    n_iter_no_change : int, default=5
        With `early_stopping`, stop after so many passes without a better score.
    warm_start : {False, True, "dual", "primal"}, default=False
        Continue from the last fit, also after a change of `lam` or with more samples: ``"dual"``
        (or True) keeps its dual weights, ``"primal"`` its weights as far as dual weights for them
        exist. The data must begin with those of the last fit, all of its samples in their order;
        others may follow, and sample weights may change, but not from or to 0. Other data raise an
        error, and so do classes that are new: name all of them in `classes` before the first fit.
    checkpoint : path or None, default=None
        File in which the state of the fit is saved as it goes. A fit that finds the file continues
        from it, and gives the same bits as a fit that was never interrupted; the file of another
        fit raises an error. It is removed when a fit converges. If the file cannot be written while
        the fit runs, the fit warns and continues. Fits that run at the same time need different
        files.
    n_jobs : int or None, default=None
        Number of threads for training and prediction; -1: all processors. Results do not depend on
        it.
    random_state : int, RandomState instance or None, default=None
        With an int a fit without `max_time` is reproducible to the bit, on one machine and build.
    verbose : int, default=0
        1: progress bar with the solver and the gap (needs tqdm) on ``sys.stderr``; 2: one line a
        pass, to the logger ``sstruct``, which also replaces the bar if there is no ``sys.stderr``.
        A fit continues without its display if the stream is closed.

    Attributes
    ----------
    coef_ : ndarray of shape (K, n_features)
        Weights of each label, one row a label.
    classes_ : ndarray of shape (K,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X has names.
    lam_ : float
        The value of `lam` that was used; 0 for ``"perceptron"`` and ``"pa"``, which use none.
    pairwise_scale_ : float
        The value of `pairwise_scale` that was used.
    solver_ : str
        Name of the solver that was used.
    n_iter_ : int
        Number of passes, at least 1; for a solver with ``cache=True``, oracle calls over n.
    n_oracle_calls_ : int
        Number of oracle calls, without those of certificates; of all calls of ``partial_fit`` so
        far.
    objective_, dual_objective_, dual_gap_ : float
        The certificate: the objective at ``w_`` (primal), a lower bound of its minimum (dual), and
        their difference. With status ROUNDING, `dual_objective_` is so much lower that it still is
        a bound.
    status_ : str
        Why training ended: CONVERGED, MAX_ITER, TIME_LIMIT, STOPPED_BY_CALLBACK; EARLY_STOPPED: the
        score on held-out samples improved no longer, or weights that score better than those within
        `tol` are kept; INTERRUPTED: by Ctrl-C; STALLED: no further progress is possible, by
        rounding or because the decoder is not exact; ROUNDING: numbers are so large that rounding
        errors may exceed `tol`, so that there is no certificate.
    converged_ : bool
        Whether ``status_`` is CONVERGED.
    history_ : dict of ndarrays
        One row a pass: seconds and certificate_seconds (cumulative), passes, oracle_calls,
        approximate_passes (those over cached labelings, of all data or a part), primal, gap (both
        NaN between certificates), dual, working_set_size (cached labelings a sample). A row of
        ``"fw"`` or ``"cutting-plane"`` holds the certificate of the weights that its pass began at.
        Slack rescaling adds queries, oracle calls of its searches (cumulative, without
        certificates); ``"perceptron"`` and ``"pa"`` add mistakes, samples of the pass whose
        prediction cost anything. `early_stopping` adds validation_score; the last row then holds
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
    .. [6] H. Choi, O. Meshi, N. Srebro. Fast and Scalable Structural SVM with Slack Rescaling.
       arXiv:1510.06002, 2015.
    """


class Chains:
    """Of ``ChainSSVM``, added to the texts of the same names above.

    Parameters
    ----------
    solver : added
        ``"gdmm"`` trains on single nodes and transitions and makes them agree step by step [7]_. It
        is for chains of several hundred labels and more, where Viterbi's K^2 operations a node are
        too slow. It supports margin rescaling without `bounds`, and otherwise what ``"fw"``
        supports.
        ``"auto"`` uses ``"gdmm"`` from 400 labels on, unless a parameter that it does not support
        or a `transition_mask` is set, `transitions` is False, or X has edge features, which it
        does not take.
    certificate_every : added
        ``"gdmm"`` also computes one at every second pass from the sixth on.
    warm_start : added
        With margin rescaling `loss` and `class_weight` may change, too.
    n_oracle_calls_ : added
        With ``"gdmm"``: visits to a chain that search for labels.
    objective_ : added
        If sequences were cut into windows, this is the objective over windows, with the
        multipliers of `couple_windows`.
    history_ : added
        A fit to partitions adds rounds, bytes_sent, bytes_received and bytes_copied (for workers
        that die), all of them so far, and least_share: how much was taken of the parts' changes, 1
        in most rounds.
        ``"gdmm"`` adds relaxed_primal, feasibility (mean distance between marginals that should
        agree), labels_per_unigram, labels_per_bigram (NaN between certificates; beyond 300 labels,
        unless few transitions have a weight, primal and gap are too, until relaxed_primal meets
        `tol`), rho, unigram_search_seconds, bigram_search_seconds and step_seconds.
    """


class Grids:
    """Of ``GridCRFSSVM``, added to the texts of the same names above.

    Parameters
    ----------
    objective_ : added
        If images were cut into tiles, that is the objective over tiles, with the multipliers of
        `couple_windows`.
    """


class LabelSets:
    """Of ``MultilabelSSVM``, added to the texts of the same names above.

    Parameters
    ----------
    solver : added
        ``"gdmm"`` updates single labels and edges [9]_, for ``pairwise="and"``; its passes call no
        max-oracle. It solves the relaxation (exactly where edges have no cycle). It supports margin
        rescaling without `bounds`, and otherwise what ``"fw"`` supports.
    history_ : added
        ``"gdmm"`` adds rho, feasibility (Euclidean norm of what edges and labels disagree in, the
        root mean square over the sweeps of a pass), active_labels and admitted_edges (means a
        sample), search_seconds, update_seconds; its oracle calls are those of certificates, which
        also find labels.
    """


class Custom:
    """Of ``StructuredSVM``, added to the texts of the same names above.

    Parameters
    ----------
    history_ : added
        suboptimal: number of oracle answers so far that were worse than a known labeling.
    """


class Held:
    """Of ``fit``: samples to validate on.

    Parameters
    ----------
    X_val, y_val : as X and y, optional
        Samples for `early_stopping`, which take no part in training. None:
        `validation_fraction` of the samples. Labels that training has not seen count as wrong.
    sample_weight_val : as for ``score``, optional
        Their weights in the score.
    """


class Graphs:
    """Of graphs and of grids of pixels.

    Parameters
    ----------
    inference : {"auto", "cut", "expansion", "max-sum", "fwmap"}, default="auto"
        The decoder. ``"cut"``: minimum cut, exact, for two labels where neighbors attract each
        other; ``"max-sum"``: exact, for graphs without cycles; ``"expansion"``: alpha-expansion, or
        fusion moves where neighbors may repel each other, approximate; ``"fwmap"``: any labels and
        graphs, by trees coupled by multipliers as in :func:`sstruct.inference.map_mrf`, each
        decoding starting from the multipliers of the graph's last. It is slower than
        ``"expansion"``, finds better labelings where neighbors repel each other, and bounds what it
        may have missed. ``"auto"`` takes an exact decoder if there is one for all the graphs given,
        else ``"expansion"``, in training and in prediction.
    search : {"auto", "bisecting", "binary"}, default="auto"
        How ``rescaling="slack"`` searches for the worst labeling, by calls of the decoder at
        several weights of the loss. ``"auto"`` is ``"bisecting"``. Both searches may miss the worst
        labeling. If the decoder is exact (or ``"fwmap"``), they bound it, so that ``objective_`` is
        an upper bound of the objective at ``w_``; ``"binary"`` takes more calls.
    bounds : "submodular", array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite where free. For
        ``"potts"`` and ``"contrast"`` pairwise weights are at most 0 even with None, and an array
        that allows others is refused. ``"submodular"`` keeps neighbors attractive for ``"full"``
        and ``"directed"`` (with edge features that are not negative): diagonals of ``edge_coef_``
        at least 0, other entries at most 0.
    ignore_label : object, default=-1
        Label of nodes (pixels) whose label is unknown. These, and those whose label is None, NaN or
        masked, do not count in the loss or in ``score``, and are predicted like all others; Notes
        describe their part in training. None: every label is known, and a missing one raises an
        error.
    warm_start : {False, True, "dual", "primal"}, default=False
        Continue from the last fit, also after a change of `lam` or with more samples: ``"dual"``
        (or True) keeps its dual weights, ``"primal"`` its weights as far as dual weights for them
        exist. The data must begin with those of the last fit, all of its samples in their order;
        others may follow, and sample weights may change, but not from or to 0. Other data raise an
        error, so do new classes (name all of them in `classes` before the first fit), and so may
        another `loss`, other weights of nodes or another `fit_intercept`.

    Attributes
    ----------
    w_ : ndarray of shape (n_weights,)
        All weights in one vector: ``coef_``, ``intercept_`` and ``edge_coef_``, without those that
        do not exist. A copy, made when you ask for it.
    intercept_ : ndarray of shape (K,)
        Zero without `fit_intercept`.
    inference_ : str
        The decoder of training: ``"graph cut (exact)"``, ``"max-sum (exact)"``, ``"node by node
        (exact)"`` where no graph has an edge, ``"alpha-expansion (approximate)"``, ``"fusion moves
        (approximate)"`` or ``"trees by Frank-Wolfe (bounded)"``. With an approximate one
        ``objective_`` may lie below the primal, so that the certificate is approximate too;
        ``dual_objective_`` is still a lower bound. With a bounded one ``objective_`` is an upper
        bound, and ``dual_gap_`` holds whatever labelings were found. Slack rescaling adds the
        search, as in ``"graph cut, bisecting search (bounded)"``.
    """


class Metrics:
    """Of metrics.

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
        True label of nodes to ignore. Nodes whose true label is None or NaN are ignored as well;
        with ``ignore_label=None`` such labels raise an error.
    """


class Chunks:
    """Of metrics of chunks, added to the text of the same name.

    Parameters
    ----------
    ignore_label : added
        Such a node ends a chunk, like O.
    """
