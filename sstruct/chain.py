"""ChainSSVM: max-margin labelling of sequences."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sstruct._chain_data import LabelledChains
from sstruct._named_weights import named_weights, no_label_weights
from sstruct._problems._chain import ChainProblem
from sstruct._problems._chain_marginals import max_marginals
from sstruct._problems._chain_sparse import decode_sparse, sparse_transitions
from sstruct._problems._chain_top_k import chain_top_k
from sstruct._problems._decode import decode
from sstruct._problems.node_arguments import weight_views
from sstruct._solvers.registry import CHAIN_SOLVERS
from sstruct._threads import n_threads
from sstruct._training import Inference, Training
from sstruct._validation import check_choice, check_number, pack_nodes
from sstruct.base import BaseSSVM

# From so many labels on "auto" trains on factors: doc/benchmarks, large label domains.
LEAST_GDMM_LABELS = 1000


class ChainSSVM(BaseSSVM):
    r"""Structured support vector machine for sequences.

    Learns node weights, start, end and transition weights by minimising

    .. math::

        P(w) = \frac{\lambda}{2} \|w\|^2 + \frac{1}{\sum_i s_i} \sum_i s_i
        \max_y \left[ L_i(y) - \langle w, \phi(x_i, y_i) - \phi(x_i, y) \rangle \right]

    with block-coordinate Frank-Wolfe, and reports how far from the optimum it stopped. Older
    solvers are there to compare with.

    Parameters
    ----------
    lam : float or "auto", default="auto"
        Regularisation, positive; every weight is regularised, intercepts too. ``"auto"`` is 1 over
        the sum of sample weights. LIBLINEAR's C is ``1 / (lam * sum of sample weights)``.
    loss : {"hamming", "hamming-count", "balanced"} or array-like, default="hamming"
        Cost of a wrong labelling. ``"hamming"``: share of labelled nodes that are wrong;
        ``"hamming-count"``: their number; ``"balanced"``: nodes weighted N / (K N_k) by their true
        label k; an array (K,) of node weights by true label, or a (K, K) cost matrix (rows: truth,
        zero diagonal, nonnegative), in the order of ``classes_``. All but ``"hamming-count"`` are
        divided by the number of labelled nodes of the sequence.
    rescaling : {"margin", "slack"}, default="margin"
        Whether wrong labellings are to score less than the truth by a margin of their loss, or
        by a margin of 1 with the shortfall times their loss: the hinge loss of ``"slack"`` is the
        maximum of L_i(y) times 1 plus by how much y scores more than the truth [6]_.
    search : {"auto", "angular", "bisecting", "binary"}, default="auto"
        How that maximum is found. ``"auto"``: exactly, from a table by number of errors, where node
        costs are whole numbers, as ``"hamming"`` has them, and sequences have no more than about
        200 nodes; otherwise ``"bisecting"``, which may miss it, but bounds it: ``objective_`` is
        then an upper bound. ``"binary"`` likewise, with more queries. ``"angular"`` is exact and
        needs an oracle that chains do not have.
    solver : {"auto", "mp-bcfw", "bcfw", "fw", "ssg", "cutting-plane", "gdmm"}, default="auto"
        ``"mp-bcfw"`` alternates exact passes with approximate ones over cached labelings;
        ``"bcfw"`` makes exact passes alone. ``"gdmm"``, of ChainSSVM and MultilabelSSVM, trains on
        single nodes and edges and brings them to agree: for chains of a thousand labels and more,
        where Viterbi's K^2 a node is too dear; margins without `bounds`. ``"auto"`` is
        ``"mp-bcfw"``, but for ChainSSVM with 1,000 labels and more ``"gdmm"``, where nothing is
        asked for that it does not have and there is no `transition_mask`; MultilabelSSVM says when
        it is there.
        The others are baselines: batch Frank-Wolfe, stochastic subgradient and one-slack cutting
        plane (needs clarabel).
        `step`, `cache`, `schedule`, `warm_start` and `checkpoint` are not for them, nor for
        ``"gdmm"``, and `sampling` (without ``"gap"``) and `average` (always) for ``"ssg"`` alone:
        other values are refused.
        ``"ssg"`` has no dual bound: `tol` is not looked at, `max_iter` or `max_time` ends the fit,
        without a warning, and the dual attributes are NaN.
    step : {"auto", "fw", "pairwise", "away", "corrective"}, default="auto"
        Step of an exact visit. ``"auto"`` is ``"pairwise"``, or ``"corrective"`` where an oracle
        call is dear (20,000 multiply-adds and more by its sizes). Approximate visits are
        corrective, unless step is ``"fw"``.
    sampling : {"auto", "uniform", "permutation", "gap", "sequential"}, default="auto"
        Blocks of an exact pass: drawn, each once, or drawn in proportion to their gaps (refreshed
        every 10 passes by a certificate). The first pass visits each once, whatever is asked for.
        ``"sequential"``: each once, one 64th of the data after another. ``"auto"`` is that for
        memory-mapped features beyond scikit-learn's ``working_memory``; else ``"permutation"``, or
        ``"gap"`` where an oracle call is dear.
    cache : {"auto", True, False}, default="auto"
        Whether a cached labelling whose gap is large enough takes the place of an oracle call
        ([2]_, section 3.3). ``"auto"`` is True where an oracle call is dear.
    schedule : {"work", "clock"}, default="work"
        How ``"mp-bcfw"`` weighs approximate passes: by counted work, which is reproducible, or by
        the clock, as in [1]_.
    average : {"auto", True, False}, default="auto"
        Which average of iterates is kept (``w_`` is it or the last one): ``"auto"``, of those after
        the last ten or so passes; True, of those after every visit ([1]_, section 3.5); none.
    gdmm_rho : "auto" or float, default="auto"
        ``"gdmm"`` [7]_: penalty on disagreement; ``"auto"`` balances it with what still moves.
    gdmm_parts : int, default=1
        ``"gdmm"``: parts of the labels, of which a visit to a node searches one, drawn at random;
        1: all labels.
    fit_intercept : bool, default=True
        Whether each label has a bias.
    bounds : array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite where free.
    transitions : bool, default=True
        Whether each pair of neighbouring labels has a weight.
    boundaries : bool, default=True
        Whether each label has a start and an end weight.
    transition_mask : array-like of bool of shape (K, K), callable or None, default=None
        Allowed transitions, rows from, columns to, in the order of ``classes_``; or a function of
        two labels, where None stands for the boundary, such as
        :func:`sstruct.masks.bio_transitions`. Honoured in training and prediction.
    classes : array-like or None, default=None
        All labels, in order; None: those that occur in training.
    ignore_label : object, default=None
        Nodes with this label leave training (the chain is cut there), the loss and ``score``; they
        are still predicted. None: there is none.
    tol : float, default=1e-2
        Stop at relative duality gap (primal - dual) / primal <= tol.
    certificate_every : int, default=10
        Passes between certificates; one is also made when the gap's estimate says that it is time.
        Passes of ``"fw"`` and ``"cutting-plane"`` are certificates themselves.
    max_iter : int, default=1000
        Most passes (n oracle calls each; with `cache`, at most ten times as many rounds).
    max_time : float or None, default=None
        Most seconds; may be overrun by one certificate pass (``"ssg"``: two;
        ``"cutting-plane"``: and one quadratic program).
    warm_start : {False, True, "dual", "primal"}, default=False
        Go on from the last fit, also after a change of `lam` or, under margins, `loss`:
        ``"dual"`` (or True) keeps its dual weights, ``"primal"`` its weights as far as dual weights
        for them exist. Other data raise.
    checkpoint : path or None, default=None
        File where the state of the fit is kept as it goes. A fit that finds it goes on from there
        to the same bits as one that was never interrupted; the file of another fit raises. It is
        removed once a fit has converged. Fits that run at the same time need files of their own.
    n_jobs : int or None, default=None
        Threads for oracles, in training and prediction; -1: all processors. The results do not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        With an int a fit without `max_time` is reproducible to the bit, on one machine and build.
    verbose : int, default=0
        1: progress bar with the solver and the gap (needs tqdm); 2: a line a pass, to the logger
        ``sstruct``.

    Attributes
    ----------
    w_ : ndarray of shape (n_weights,)
        All weights: ``coef_``, ``intercept_``, ``start_coef_``, ``end_coef_``, ``edge_coef_``, as
        far as they exist, one after another; put together when asked for.
    coef_ : ndarray of shape (K, n_features)
        A view, as the others: nothing is stored twice.
    intercept_, start_coef_, end_coef_ : ndarray of shape (K,)
        Zero where the parameter switches them off.
    edge_coef_ : ndarray of shape (K, K)
        Weight of each transition, rows from, columns to.
    classes_ : ndarray of shape (K,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where X has names.
    lam_ : float
    solver_ : str
    n_iter_ : int
        Passes made, at least 1; with `cache`, oracle calls over n.
    n_oracle_calls_ : int
        Without those of certificates; with ``"gdmm"`` visits to a chain that search for labels.
    objective_, dual_objective_, dual_gap_ : float
        Primal at ``w_``, the lower bound, and their difference: the certificate.
    status_ : str
        CONVERGED, MAX_ITER, TIME_LIMIT, STOPPED_BY_CALLBACK, STALLED (rounding, or a search that
        is not exact, ends progress) or INTERRUPTED.
    converged_ : bool
    inference_ : str
        The max-oracle: ``"viterbi (exact)"``; with slack rescaling ``"viterbi, error table
        (exact)"`` or, for example, ``"viterbi, bisecting search (bounded)"``. With 200 labels and
        more, a tenth of whose transitions or fewer have a weight, and without `transition_mask`,
        also that ``predict`` takes the sparse decoder of :func:`sstruct.inference.viterbi`.
    history_ : dict of ndarrays
        One row a pass: seconds, certificate_seconds (cumulative), passes, oracle_calls,
        approximate_passes, primal, gap (NaN between certificates), dual, working_set_size; with
        slack rescaling queries (cumulative, without certificates). A row of ``"fw"`` or
        ``"cutting-plane"`` holds the certificate of the w that its pass began at. ``"gdmm"`` adds
        relaxed_primal, feasibility (mean distance between marginals that are to agree),
        labels_per_unigram, labels_per_bigram (NaN between certificates; beyond 300 labels, where
        transitions are not few, primal and gap are too, until relaxed_primal meets `tol`), rho, and
        unigram_search_seconds, bigram_search_seconds and step_seconds.

    See Also
    --------
    sstruct.Sequences : Ragged data as one flat array.
    sstruct.preprocessing.SequenceVectorizer : Feature dicts to sparse rows.

    Notes
    -----
    A pass costs O(sum of L (nnz + K) K) for sequences of L nodes with nnz nonzero features and K
    labels; prediction O(sum of L (nnz K + K log K + m)) where only m transitions have a weight, and
    they are few. Beyond the features, memory is O(K F + K^2) for the weights and, per sequence, a
    few cached labelings of 4 L bytes each with their pairwise distances; no vector of the size of
    ``w_`` is kept per sequence.

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
       Learning with Factorwise Oracles for Structural SVM of Large Output Domain. NIPS 2016.

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

    _solvers = CHAIN_SOLVERS
    _searches = ("auto", "bisecting", "binary")

    coef_ = named_weights("coef", "Node weights.")
    intercept_ = named_weights("intercept", "Bias of each label.", no_label_weights)
    start_coef_ = named_weights(
        "start", "Weight of each label at the start of a chain.", no_label_weights
    )
    end_coef_ = named_weights(
        "end", "Weight of each label at the end of a chain.", no_label_weights
    )
    edge_coef_ = named_weights(
        "edge",
        "Weight of each transition, rows from, columns to.",
        lambda estimator: np.zeros((len(estimator.classes_),) * 2),
    )

    def __init__(
        self,
        *,
        lam="auto",
        loss="hamming",
        rescaling="margin",
        search="auto",
        solver="auto",
        step="auto",
        sampling="auto",
        cache="auto",
        schedule="work",
        average="auto",
        gdmm_rho="auto",
        gdmm_parts=1,
        fit_intercept=True,
        bounds=None,
        transitions=True,
        boundaries=True,
        transition_mask=None,
        classes=None,
        ignore_label=None,
        tol=1e-2,
        certificate_every=10,
        max_iter=1000,
        max_time=None,
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.lam = lam
        self.loss = loss
        self.rescaling = rescaling
        self.search = search
        self.solver = solver
        self.step = step
        self.sampling = sampling
        self.cache = cache
        self.schedule = schedule
        self.average = average
        self.gdmm_rho = gdmm_rho
        self.gdmm_parts = gdmm_parts
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.transitions = transitions
        self.boundaries = boundaries
        self.transition_mask = transition_mask
        self.classes = classes
        self.ignore_label = ignore_label
        self.tol = tol
        self.certificate_every = certificate_every
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def _check_parameters(self):
        super()._check_parameters()
        check_choice("transitions", self.transitions, (True, False))
        check_choice("boundaries", self.boundaries, (True, False))

    def fit(self, X, y, sample_weight=None):
        """Learn from labelled sequences.

        Parameters
        ----------
        X : list of arrays of shape (L_i, n_features)
            Dense or sparse; also an object array, :class:`sstruct.Sequences`, one array of shape
            (n, L, n_features), or a 2-D array or sparse matrix whose rows are chains of one node.
        y : list of label sequences
            Labels of any hashable type; for 2-D X one label a row.
        sample_weight : array-like of shape (n,), optional
            Nonnegative; weight 0 is absence, weight k is k copies.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            Where the data or a parameter are not as expected; the message names the sample. The
            estimator is then unchanged.
        """
        return self._fit(X, y, sample_weight)

    def _training(self, X, y, sample_weight):
        data = LabelledChains(self, X, y, sample_weight)
        return Training(
            data.problem(self),
            data.block_weight,
            self._lam(data.total_weight),
            data.arrays(),
            Inference("viterbi"),
            {
                "n_features_in_": data.nodes.n_features,
                "feature_names_in_": data.nodes.feature_names,
                "classes_": data.classes,
                # What w_ means must not change when a parameter is set after the fit.
                "_terms": (self.fit_intercept, self.boundaries, self.transitions),
                "_masks": data.masks,
            },
        )

    def _auto_solver(self, problem):
        """GDMM for very many labels, where nothing is asked for that it does not have."""
        refused = any(self._solvers["gdmm"].refused(self.get_params(deep=False)))
        # A mask would make its certificates Viterbi's.
        if refused or self.transition_mask is not None or not self.transitions:
            return "mp-bcfw"
        return "gdmm" if problem.n_labels >= LEAST_GDMM_LABELS else "mp-bcfw"

    def _fitted_attributes(self, solution, lam, solver, attributes):
        fitted = super()._fitted_attributes(solution, lam, solver, attributes)
        views = weight_views(
            solution.w, len(fitted["classes_"]), fitted["n_features_in_"], fitted["_terms"]
        )
        if as_sparse(views, fitted["_masks"]) is not None:
            fitted["inference_"] += "; predictions: sparse viterbi (exact)"
        return fitted

    def _views(self):
        return weight_views(self._w, len(self.classes_), self.n_features_in_, self._terms)

    def _decoder(self, nodes):
        """Return the problem of decoding, and the weights in its layout."""
        bias, boundaries, transitions = self._terms
        problem = ChainProblem(
            nodes.flat,
            nodes.offsets[:-1],
            nodes.lengths,
            len(self.classes_),
            bias=bias,
            boundaries=boundaries,
            transitions=transitions,
            edge_mask=self._masks[0],
            boundary_mask=self._masks[1],
        )
        return problem, self._w

    def _predict_codes(self, X):
        check_is_fitted(self)
        nodes = pack_nodes(self, X, fitted=True)
        problem, w = self._decoder(nodes)
        threads = n_threads(self.n_jobs)
        transitions = as_sparse(self._views(), self._masks)
        if transitions is None:
            return nodes, decode(problem, w, threads)
        return nodes, decode_sparse(problem, w, transitions, threads)

    def predict(self, X):
        """Find the best labelling of each sequence.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        ndarray
            For lists a 1-D object array of label arrays; for (n, L, n_features) of shape (n, L);
            for 2-D X of shape (n,).
        """
        nodes, codes = self._predict_codes(X)
        return nodes.like_input(self.classes_[codes])

    def decision_function(self, X):
        """Compute max-marginals: the best score of a labelling that gives a node a label.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        ndarray
            As :meth:`predict`, with K scores in place of each label; ``-inf`` where
            `transition_mask` forbids it. The labels of ``predict`` have the highest score of
            their node, up to ties.
        """
        check_is_fitted(self)
        nodes = pack_nodes(self, X, fitted=True)
        problem, w = self._decoder(nodes)
        return nodes.like_input(max_marginals(problem, w))

    def predict_top_k(self, X, k):
        """Find the k best labellings of each sequence.

        Parameters
        ----------
        X : as in :meth:`fit`
        k : int
            How many, at least 1.

        Returns
        -------
        labels : ndarray of shape (n,), dtype object
            For each sequence an array (m, L) of different labellings, best first, the first that
            of :meth:`predict`, up to ties; for 2-D X an array (m,). m is k, or the number of
            labellings that the sequence can have, given `transition_mask`, if that is smaller.
        scores : ndarray of shape (n,), dtype object
            For each sequence an array (m,) of their scores ``<w_, phi(x, y)>``.

        See Also
        --------
        sstruct.inference.top_k : The same for potentials.

        Notes
        -----
        O(L K (K + k)) time for a sequence of L nodes, beside the potentials; exact.

        Examples
        --------
        >>> from sstruct import ChainSSVM
        >>> model = ChainSSVM(random_state=0).fit([[[2.0], [-1.0]], [[-2.0]]], [["a", "b"], ["b"]])
        >>> labels, scores = model.predict_top_k([[[3.0], [0.0]]], k=2)
        >>> labels[0].tolist()
        [['a', 'b'], ['a', 'a']]
        """
        check_is_fitted(self)
        check_number("k", k, least=1, whole=True)
        nodes = pack_nodes(self, X, fitted=True)
        ranked = chain_top_k(*self._decoder(nodes), min(int(k), np.iinfo(np.intp).max))
        labels, scores = np.empty((2, len(nodes)), dtype=object)
        for i, (codes, values) in enumerate(ranked):
            labels[i] = self.classes_[codes[:, 0] if nodes.form == "rows" else codes]
            scores[i] = values
        return labels, scores


def as_sparse(views, masks):
    """Return the transitions as sparse rows where decoding with them is faster, or None."""
    if "edge" not in views or any(mask is not None for mask in masks):
        return None
    return sparse_transitions(views["edge"])
