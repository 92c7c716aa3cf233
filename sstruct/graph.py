"""GraphCRFSSVM: max-margin labeling of the nodes of graphs."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._checks.magnitudes import LARGEST
from sstruct._checks.scalars import is_real
from sstruct._checks.shown import shortened
from sstruct._estimators.core.base import LabelingSSVM
from sstruct._estimators.core.fitted_state import reads_one_fit
from sstruct._estimators.core.named_weights import named_weights
from sstruct._estimators.core.threads import n_threads
from sstruct._estimators.core.training import Training
from sstruct._estimators.graph.decoding import (
    PREDICTION_ITERATIONS,
    TRAINING_ITERATIONS,
    decoder_of,
    decoding_method,
    described_inference,
)
from sstruct._estimators.graph.fitted_state import GRAPH_STATE, INFERENCE
from sstruct._estimators.graph.partial import free_nodes, state_scores
from sstruct._estimators.graph.samples import pack_graphs
from sstruct._estimators.graph.training import LabeledGraphs, check_feature_need
from sstruct._input.padding import refuse_padding
from sstruct._input.partial import known_codes
from sstruct._input.ragged import check_choice, check_number, known_labels
from sstruct._problems.core._decode import decode
from sstruct._problems.core._explicit import ExplicitProblem, explicit_where_cheaper
from sstruct._problems.graph._max_marginals import max_marginals
from sstruct._problems.graph.arguments import PAIRWISE, WITH_FEATURES, attractive_edges
from sstruct._solvers.core.seed import random_of

__all__ = ["GraphCRFSSVM"]

MODELS = PAIRWISE[1:]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class GraphCRFSSVM(LabelingSSVM):
    r"""Structured SVM for graphs: a label for every node, such as each superpixel of an image.

    Labels every node of a graph so that neighboring labels fit together. The score of a labeling
    adds up weights of the nodes' features and of the labels at both ends of each edge; ``predict``
    looks for the labeling with the highest score. Every graph may have its own number of nodes and
    edges. Training minimizes

    .. math::

        P(w) = \frac{\lambda}{2} \|w\|^2 + \frac{1}{\sum_i s_i} \sum_i s_i
        \max_y \left[ L_i(y) - \langle w, \phi(x_i, y_i) - \phi(x_i, y) \rangle \right]

    Here :math:`\langle w, \phi(x, y) \rangle` is the score of the labeling y, :math:`L_i` is the
    `loss` and :math:`s_i` the weight of sample i: the true labeling is to score higher than every
    other, by the other's loss (with slack rescaling by 1, and the hinge loss is multiplied by the
    other's loss). Training ends when the objective is known to be within `tol` of its minimum.

    Parameters
    ----------
    pairwise : {"potts", "contrast", "full", "directed"} or float, default="potts"
        What the labels a and b of two neighbors add to the score.

        - ``"potts"``: ``edge_coef_ * [a != b]``, one weight, at most 0.
        - ``"contrast"``: ``edge_coef_ @ features * [a != b]``; edge features that are not negative,
          weights at most 0.
        - ``"full"``: ``(edge_coef_[a, b] + edge_coef_[b, a]) / 2``, any signs.
        - ``"directed"``: ``sum_g features[g] * edge_coef_[g, a, b]``, a at the first and b at the
          second node of the edge; features and weights of any sign.
        - a float, at least 0: the cost of neighbors with different labels, not learned.
    inference : {"auto", "cut", "expansion", "max-sum", "fwmap"}, default="auto"
        The decoder. ``"cut"``: minimum cut, exact, for two labels where neighbors attract each
        other; ``"max-sum"``: exact, for graphs without cycles; ``"expansion"``: alpha-expansion, or
        fusion moves where neighbors may repel each other, approximate; ``"fwmap"``: any labels and
        graphs, by trees coupled by multipliers as in :func:`sstruct.inference.map_mrf`, each
        decoding starting from the multipliers of the graph's last. It is slower than
        ``"expansion"``, finds better labelings where neighbors repel each other, and bounds what it
        may have missed. ``"auto"`` takes an exact decoder if there is one for all the graphs given,
        else ``"expansion"``, in training and in prediction.
    fit_intercept : bool, default=True
        Whether each label has a bias (intercept), which is regularized like all weights.
    bounds : "submodular", array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite where free. For
        ``"potts"`` and ``"contrast"`` pairwise weights are at most 0 even with None, and an array
        that allows others is refused. ``"submodular"`` keeps neighbors attractive for ``"full"``
        and ``"directed"`` (with edge features that are not negative): diagonals of ``edge_coef_``
        at least 0, other entries at most 0.
    classes : array-like or None, default=None
        All labels, in order; None: those that occur in training.
    ignore_label : object, default=-1
        Label of nodes (pixels) whose label is unknown. These, and those whose label is None, NaN or
        masked, do not count in the loss or in ``score``, and are predicted like all others; Notes
        describe their part in training. None: every label is known, and a missing one raises an
        error.
    lam : float or "auto", default="auto"
        Regularization strength, positive; all weights are regularized, intercepts too. ``"auto"``
        is 0.4 V m^(1/5) / n: n is the sum of sample weights, m the nodes of a sample on average,
        and V the variances of a node's features added up, where features whose scale is far beyond
        that of the others count less. For label sets it is 0.6 V / n, and for n > 422 samples times
        7.5 / n^(1/3). Where `loss` is divided by the number of nodes, it is as many times larger.
        The papers' choice is ``lam=1 / n``. LIBLINEAR's C is ``1 / (lam * n)``.
    loss : {"hamming", "hamming-count", "balanced"} or array-like, default="hamming-count"
        Cost of a wrong labeling. Nodes count with their sizes, where X has some.

        - ``"hamming-count"``: the number of wrong nodes (the sum of their sizes).
        - ``"hamming"``: the share of wrong nodes.
        - ``"balanced"``: as ``"hamming"``, but a node with true label k counts N / (K N_k), for N_k
          of N nodes with that label and the K labels that occur.
        - an array (K,): as ``"hamming"``, with the weight of a node by its true label.
        - an array (K, K): the mean cost of the nodes, rows the true label, columns the predicted
          one; nonnegative, with a zero diagonal.

        Arrays are in the order of ``classes_``. Nodes without a known label do not count.
    class_weight : dict, "balanced" or None, default=None
        Factor of a wrong node's cost by its true label, on top of `loss`: weight 2 doubles the cost
        of errors at the label. Labels that a dict leaves out have weight 1. ``"balanced"``:
        N / (K N_k), for N_k of N nodes with label k and the K labels that occur.
    rescaling : {"margin", "slack"}, default="margin"
        By how much the truth is to score higher than a wrong labeling. ``"margin"``: by its loss.
        ``"slack"``: by 1, and what is missing to that is multiplied by its loss [6]_.
    search : {"auto", "bisecting", "binary"}, default="auto"
        How ``rescaling="slack"`` searches for the worst labeling, by calls of the decoder at
        several weights of the loss. ``"auto"`` is ``"bisecting"``. Both searches may miss the worst
        labeling. If the decoder is exact (or ``"fwmap"``), they bound it, so that ``objective_`` is
        an upper bound of the objective at ``w_``; ``"binary"`` takes more calls.
    solver : str or solver object, default="auto"
        The training algorithm. A name stands for an object of :mod:`sstruct.solvers` with its
        default options; to set options give the object, as in ``solver=MPBCFW(step="away")``.
        ``"mp-bcfw"`` (:class:`~sstruct.solvers.MPBCFW`, [1]_, [2]_) is the default for ``"auto"``;
        ``"bcfw"`` is the same without passes over cached labelings. Both, ``"fw"`` [3]_, ``"ssg"``
        [4]_ and ``"cutting-plane"`` [5]_ minimize the same objective; the last three are for
        comparison. ``"perceptron"`` and ``"pa"`` have no objective and need ``lam="auto"``. They
        are for a fast first model and, like ``"ssg"``, for ``partial_fit``. Only the first two
        solvers support `warm_start` and `checkpoint`.
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
        error, so do new classes (name all of them in `classes` before the first fit), and so may
        another `loss`, other weights of nodes or another `fit_intercept`.
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
    w_ : ndarray of shape (n_weights,)
        All weights in one vector: ``coef_``, ``intercept_`` and ``edge_coef_``, without those that
        do not exist. A copy, made when you ask for it.
    coef_ : ndarray of shape (K, n_features)
        Weights of each label, one row a label.
    intercept_ : ndarray of shape (K,)
        Zero without `fit_intercept`.
    edge_coef_ : ndarray of shape (1,), (G,), (K, K) or (G, K, K), or None
        Pairwise weights of ``"potts"``, ``"contrast"``, ``"full"`` or ``"directed"``, for G edge
        features; None where `pairwise` is a float.
    classes_ : ndarray of shape (K,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X has names.
    lam_ : float
        The value of `lam` that was used; 0 for ``"perceptron"`` and ``"pa"``, which use none.
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
    inference_ : str
        The decoder of training: ``"graph cut (exact)"``, ``"max-sum (exact)"``, ``"node by node
        (exact)"`` where no graph has an edge, ``"alpha-expansion (approximate)"``, ``"fusion moves
        (approximate)"`` or ``"trees by Frank-Wolfe (bounded)"``. With an approximate one
        ``objective_`` may lie below the primal, so that the certificate is approximate too;
        ``dual_objective_`` is still a lower bound. With a bounded one ``objective_`` is an upper
        bound, and ``dual_gap_`` holds whatever labelings were found. Slack rescaling adds the
        search, as in ``"graph cut, bisecting search (bounded)"``.
    history_ : dict of ndarrays
        One row a pass: seconds and certificate_seconds (cumulative), passes, oracle_calls,
        approximate_passes (those over cached labelings, of all data or a part), primal, gap (both
        NaN between certificates), dual, working_set_size (cached labelings a sample). A row of
        ``"fw"`` or ``"cutting-plane"`` holds the certificate of the weights that its pass began at.
        Slack rescaling adds queries, oracle calls of its searches (cumulative, without
        certificates); ``"perceptron"`` and ``"pa"`` add mistakes, samples of the pass whose
        prediction cost anything. `early_stopping` adds validation_score; the last row then holds
        the certificate of ``w_``.

    See Also
    --------
    GridCRFSSVM : Images, whose graphs are grids of pixels.
    ChainSSVM : Sequences.

    Notes
    -----
    Features add up over the V nodes of a graph, as errors do with ``"hamming-count"``, so that
    `lam` does not depend on V. The other losses are divided by V: weights come out V times smaller,
    and `lam` is to be V times as large, as ``"auto"`` is. With a far smaller one large graphs take
    many passes.

    An unknown node up to five edges away from a labeled one is completed before training: it takes
    the most frequent label of its neighbors that are closer to labeled nodes, the first of several
    in ``classes_``. Completed labels are part of the true labeling :math:`y_i` and then fixed;
    errors there cost nothing. So the objective is convex, its certificate is valid, and edges
    across a border of unknown nodes are learned from. Unknown nodes that are farther away are left
    out, with their edges. So are all unknown nodes of a graph if more than a tenth of them are
    farther away, if most edges between its labeled nodes join different labels, or if `pairwise` is
    0. :class:`LatentSSVM` completes all unknown nodes with the labels that the model predicts.

    Beyond the features and edges, memory is O(V K + E) for the largest graph per thread, a vector
    of the size of ``w_`` per thread, and per graph a few cached labelings of 4 V bytes each. While
    it fits, ``"fwmap"`` keeps 8 K bytes for each node and each of the trees that have it, also in a
    checkpoint.

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
    Noisy labels on cycles, where neighbors mostly agree:

    >>> import numpy as np
    >>> from sstruct import GraphCRFSSVM
    >>> rng = np.random.default_rng(0)
    >>> edges = np.array([(v, (v + 1) % 12) for v in range(12)])
    >>> y = [np.roll(np.repeat([0, 1], 6), rng.integers(12)) for _ in range(40)]
    >>> X = [((2 * labels - 1)[:, None] + rng.normal(size=(12, 1)), edges) for labels in y]
    >>> model = GraphCRFSSVM(lam=0.01, random_state=0).fit(X[:20], y[:20])
    >>> model.inference_
    'graph cut (exact)'
    >>> alone = GraphCRFSSVM(lam=0.01, pairwise=0.0, random_state=0).fit(X[:20], y[:20])
    >>> bool(model.score(X[20:], y[20:]) > alone.score(X[20:], y[20:]))
    True
    """

    _fits_partitions = True
    _fitted_state = GRAPH_STATE
    _searches = ("auto", "bisecting", "binary")
    _one_sample = "graphs: one graph is a list of one tuple, [(node features, edges)]"

    coef_ = named_weights("coef", "Node weights.")
    intercept_ = named_weights("intercept", "Bias of each label.")
    edge_coef_ = named_weights("edge", "Pairwise weights; None where they are fixed.")

    pairwise: str | float = "potts"
    inference: str = "auto"
    rescaling: str = "margin"
    search: str = "auto"
    class_weight: Any = None
    ignore_label: Any = -1

    def __repr__(self, *arguments):
        text = super().__repr__(*arguments)
        # A comment, so that the text is still the expression that makes the estimator.
        return text + "  # certificate: approximate" * getattr(self, "_is_approximate", False)

    def _check_parameters(self):
        super()._check_parameters()
        check_choice("inference", self.inference, INFERENCE)
        if is_real(self.pairwise) or isinstance(self.pairwise, bool):
            check_number("pairwise", self.pairwise, least=0)
            if self.pairwise > LARGEST:
                raise ValueError(
                    f"pairwise must be at most {LARGEST:g}, found {shortened(self.pairwise)}: "
                    "divide loss and pairwise by one number"
                )
            if self.pairwise > 0 and self.rescaling == "slack":
                raise ValueError(
                    f"pairwise={shortened(self.pairwise)} with rescaling='slack': a fixed pairwise "
                    'cost is supported by margin rescaling only; take pairwise="potts", which '
                    "learns the cost, or pairwise=0.0"
                )
        else:
            check_choice("pairwise", self.pairwise, MODELS)
        if isinstance(self.bounds, str):
            check_choice("bounds", self.bounds, ("submodular",))

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
        """Learn from labeled graphs.

        Parameters
        ----------
        X : list of n tuples (node features, edges[, edge features[, node sizes]])
            Node features: (V, F), dense or sparse; edges: integers (E, 2), two different nodes 0 to
            V - 1, no pair twice, or a sparse adjacency matrix (V, V), symmetric, of ones, whose
            edges are those of its upper triangle, row by row; edge features: (E, G) or None; node
            sizes: (V,) positive weights of the nodes in the loss, or None. Features may be data
            frames, whose names ``to_frame`` shows. Graphs without nodes are ignored, with a
            warning. A 2-D array or sparse matrix is read as graphs of one node, one a row. Or
            partitions of such lists on a Dask cluster, with y alike: see :doc:`/how_to/cluster`.
        y : list of n arrays of shape (V,)
            Labels of any hashable type; for 2-D X one label a row.
        sample_weight : array-like of shape (n,), or list of n arrays (V,), optional
            Nonnegative. One number for each sample: weight 2 counts as two copies, weight 0 as
            none. Or one array for each sample: the weights of its nodes in the loss, which multiply
            the nodes' costs and sizes; a loss that is a share of nodes is then a share of weights.
            Wrong labels at nodes of weight 0 cost nothing, but such nodes stay in the graph; to
            leave nodes out, use `ignore_label`.
        X_val, y_val : as X and y, optional
            Samples for `early_stopping`, which take no part in training. None:
            `validation_fraction` of the samples. Labels that training has not seen count as wrong.
        sample_weight_val : as for ``score``, optional
            Their weights in the score.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the data or a parameter are not as expected. The message names the sample; the
            estimator stays as it was.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def _model_to_fit(self):
        """Return the parts of ``_model`` that the parameters say."""
        fixed = is_real(self.pairwise)
        return {
            "pairwise": "fixed" if fixed else self.pairwise,
            "strength": float(self.pairwise) if fixed else 0.0,
            "connectivity": self._parameters().get("connectivity", 0),
        }

    def _training(self, X, y, sample_weight, completion=None):
        model = self._model_to_fit()
        graphs = self._pack(X, model, fitted=self._goes_on)
        labels = self._labels(y, graphs.nodes)
        refuse_padding(self, y, labels, graphs.nodes)
        n_edge_features = None if graphs.edge_features is None else graphs.edge_features.shape[1]
        check_feature_need(model["pairwise"], n_edge_features)
        data = LabeledGraphs(self, graphs, labels, sample_weight, completion)
        K = len(data.classes)
        self._check_attraction(model["pairwise"], graphs.edge_features, K)
        common = [np.array(repr(model))]
        model["attractive"] = self._is_attractive(model["pairwise"])
        model["inference"] = self.inference
        model["edge_names"] = graphs.edge_names
        model["seed"] = int(random_of(self.random_state).randint(2**31 - 1))
        pairwise = model["pairwise"], model["strength"]
        method = decoding_method(model, data.whole_graphs, K)

        def given():
            decoder = decoder_of(method, model["seed"], TRAINING_ITERATIONS)
            return pairwise, decoder, self.fit_intercept

        problem = data.problem(*given())
        has_features = model["pairwise"] in WITH_FEATURES
        model["n_edge_features"] = problem.pairwise.n_features if has_features else 0
        # Planes are relative to truths: with other ones no warm start could go on from them.
        explicit = self._with_planes(problem) if completion is None else problem
        if explicit is not problem:
            if self.warm_start or self.checkpoint is not None:
                explicit.keep_labelings()
            # Planes hold weights' places and losses: a warm start must find those unchanged too.
            common += [np.array(problem.n_weights)]
        inference = described_inference(method, pairwise[0], data.whole_graphs)
        return Training(
            explicit,
            data.sample_weight,
            data.total_weight,
            data.trained,
            data.data(*common, explicit=explicit is not problem),
            inference,
            {
                "n_features_in_": graphs.nodes.n_features,
                "feature_names_in_": graphs.nodes.feature_names,
                "classes_": data.classes,
                # What w_ means must not change when a parameter is set after the fit.
                "_bias": self.fit_intercept,
                "_model": model,
                "_form": graphs.nodes.form,
                "_keeps_planes": explicit is not problem,
            },
            features=_scalable(graphs, model["pairwise"]),
            empty=graphs.nodes.empty,
            whole=None if data.image is None else lambda: data.whole_problem(*given()),
        )

    def _with_planes(self, problem):
        """Return the problem, with explicit planes where these are cheaper.

        Where a fit goes on from another its labelings stay what they are. Planes hold losses: if
        these change with every sample that is added, a warm start needs the labelings.
        """
        solver = self._solvers.get(self._solver_name)
        if self._is_part or (solver is not None and solver.takes_samples_as_they_come):
            return problem  # parts must decode alike, and nothing is scored twice
        if self.warm_start and "_warm_state" in self.__dict__:
            return ExplicitProblem(problem) if self._keeps_planes else problem
        weights = self.loss, self.class_weight
        if self.warm_start and any(isinstance(w, str) and w == "balanced" for w in weights):
            return problem
        return explicit_where_cheaper(problem)

    def _is_attractive(self, pairwise):
        """Whether bounds keep neighbors from repelling each other."""
        return pairwise in ("fixed", "potts", "contrast") or isinstance(self.bounds, str)

    def _check_attraction(self, pairwise, edge_features, n_labels):
        """Raise where neighbors may repel each other and must not."""
        if isinstance(self.bounds, str) and pairwise == "directed" and (edge_features < 0).any():
            raise ValueError(
                'bounds="submodular" with pairwise="directed" needs edge features that are not '
                "negative: no box on the weights keeps the others attractive"
            )
        if self.inference == "cut" and n_labels > 2:
            raise ValueError(f'inference="cut" is for two labels, found {n_labels}')
        if self.inference == "cut" and not self._is_attractive(pairwise):
            raise ValueError(
                f'inference="cut" with pairwise="{pairwise}" needs bounds="submodular": free '
                "weights may make neighbors repel each other"
            )

    def _bounds(self, problem):
        """Box the pairwise weights where neighbors must not repel each other."""
        given = self.bounds is not None and not isinstance(self.bounds, str)
        bounds = super()._bounds(problem) if given else None
        pairwise, shape = problem.pairwise.name, problem.pairwise.shape
        always = pairwise in ("potts", "contrast")
        if pairwise == "fixed" or not (always or isinstance(self.bounds, str)):
            return bounds
        if given:
            if (problem.layout.table(bounds[1], "edge") > 0).any():
                raise ValueError(
                    f'bounds let a weight of pairwise="{pairwise}" be positive: neighbors would '
                    "repel each other; expected upper bounds of at most 0 for edge_coef_"
                )
            return bounds
        bounds = problem.layout.unbounded()
        for bound, edge in zip(bounds, attractive_edges(pairwise, shape)):
            problem.layout.table(bound, "edge")[...] = edge
        return bounds

    def _pack(self, X, model, *, fitted):
        """Check X and return its Graphs; model: ``_model`` of the fit."""
        pairwise, expected = model["pairwise"], None
        if fitted and pairwise in WITH_FEATURES:
            expected = self._model["n_edge_features"]
        return pack_graphs(self, X, pairwise, expected, fitted=fitted)

    def _axis_values(self):
        values = super()._axis_values() | {"other_label": self.classes_}
        return values | {"edge_feature": {"feature": self._edge_feature_names()}}

    def _edge_feature_names(self):
        default = [f"edge{g}" for g in range(self._model["n_edge_features"])]
        return self._model.get("edge_names") or default

    def _predict_codes(self, X, y_partial=None):
        graphs = self._pack(X, self._model, fitted=True)
        nodes = graphs.nodes
        if y_partial is None:
            return nodes, self._decoded(graphs)
        known = known_codes(
            y_partial, nodes, self.classes_, self.ignore_label, getattr(nodes, "shapes", None)
        )
        return nodes, self._around(graphs, known)

    def _around(self, graphs, known):
        """Return the labels of all nodes, around known ones; -1 where they are free."""
        codes, free = known.copy(), known < 0
        if free.any():
            edge, K = self._layout.table(self._w, "edge"), len(self.classes_)
            graphs, samples = graphs.with_nodes()
            rest = free_nodes(graphs, known, self._pairwise, edge, K)
            codes[free] = self._decoded(rest.graphs, samples[rest.samples], rest.node_scores)
        return codes

    def _nodes(self, X):
        return self._pack(X, self._model, fitted=True).nodes

    def _known_labels(self, X, y, sample_weight):
        nodes = self._pack(X, self._model_to_fit(), fitted=False).nodes
        return known_labels(self, nodes, self._labels(y, nodes), sample_weight)

    def _complete(self, X, known, n_states=1):
        graphs = self._pack(X, self._model, fitted=True)
        if n_states == 1 or not len(known.codes):
            return self._around(graphs, known.codes)
        scores = state_scores(graphs, known.codes, self._pairwise, self._views(), n_states)
        return self._decoded(graphs, node_scores=scores)

    @property
    def _pairwise(self):
        """Name of the pairwise model of the fit and its fixed cost."""
        return self._model["pairwise"], self._model["strength"]

    def _problem(self, graphs, samples, node_scores=None):
        """Return the problem of decoding graphs that have nodes; `samples`: their indices in X."""
        K = len(self.classes_)
        method = decoding_method(self._model, graphs, K, samples)
        decoder = decoder_of(method, self._model["seed"], PREDICTION_ITERATIONS, keeps=False)
        return graphs.problem(self._pairwise, K, decoder, bias=self._bias, node_scores=node_scores)

    def _decoded(self, graphs, samples=None, node_scores=None):
        """Return the labels of all nodes."""
        if samples is None:
            graphs, samples = graphs.with_nodes()
        if not len(samples):
            return np.empty(0, dtype=np.int32)
        problem = self._problem(graphs, samples, node_scores)
        return decode(problem, self._w, n_threads(self.n_jobs))

    @reads_one_fit
    def predict(self, X: Any, y_partial: Any = None) -> np.ndarray:
        """Find the best labeling of each graph; known labels may be given.

        With the decoder of the fit; `inference_` says whether it is exact.

        Parameters
        ----------
        X : as in :meth:`fit`
            Node sizes are not looked at.
        y_partial : list of n arrays of shape (V,), optional
            Labels that are known already; the others are predicted around them. For each sample
            an array with one entry a node: the label, or None, NaN, `ignore_label` or -1 (unless
            that is a class) if it is not known. None instead of an array: nothing is known. For
            2-D X one entry a row.

        Returns
        -------
        ndarray
            For graphs a 1-D object array of label arrays, empty ones for graphs without nodes; for
            2-D X of shape (n,). With `y_partial` the best of the labelings that have the known
            labels.

        Raises
        ------
        ValueError, TypeError
            Where the data are not as expected; the message names the sample and the node.

        Examples
        --------
        Three nodes in a row; the last one's label is known, and its neighbors follow it:

        >>> from sstruct import GraphCRFSSVM
        >>> edges = [[0, 1], [1, 2]]
        >>> X = [([[2.0], [1.0], [2.0]], edges), ([[-2.0], [-1.0], [-2.0]], edges)]
        >>> model = GraphCRFSSVM(pairwise=0.5, random_state=0).fit(X, [[1, 1, 1], [0, 0, 0]])
        >>> sample = ([[0.1], [0.1], [0.1]], edges)
        >>> model.predict([sample])[0]
        array([1, 1, 1])
        >>> model.predict([sample], y_partial=[[-1, -1, 0]])[0]
        array([0, 0, 0])
        """
        nodes, codes = self._predict_codes(X, y_partial)
        return nodes.like_input(self.classes_[codes])

    @reads_one_fit
    def decision_function(self, X: Any) -> np.ndarray:
        """Compute for each node and label the best score of a labeling with it (max-marginals).

        Exact for two labels whose neighbors attract each other, by minimum cuts, and for graphs
        without cycles, by max-sum, whatever `inference` is. For all others approximate, and never
        too high: the score of the labeling that ``predict`` finds with this one label changed.
        Where ``inference_`` ends in "(exact)" all is exact, unless it is "max-sum (exact)" and
        graphs given here have cycles.

        Parameters
        ----------
        X : as in :meth:`fit`
            2-D only if X was in the fit. Node sizes are not looked at.

        Returns
        -------
        ndarray
            As :meth:`predict`, with K scores in place of each label: arrays (V, K) for graphs,
            (n, K) for 2-D X. Where they are exact, the labels of ``predict`` have the highest score
            of their node, up to ties.

        Notes
        -----
        O(E K^2) time for E edges without cycles, O(V K + E K) for changes of one labeling. With
        cuts, one for the whole graph, and then a search around each node for its other label [1]_.
        It is short unless edges weigh much more than features, and at worst goes through the whole
        graph: O(V E).

        References
        ----------
        .. [1] P. Kohli, P. H. S. Torr. Measuring Uncertainty in Graph Cut Solutions. Computer
           Vision and Image Understanding 112(1), 2008.

        Examples
        --------
        >>> from sstruct import GraphCRFSSVM
        >>> edges = [[0, 1], [1, 2]]
        >>> X = [([[2.0], [1.0], [2.0]], edges), ([[-2.0], [-1.0], [-2.0]], edges)]
        >>> model = GraphCRFSSVM(pairwise=0.5, random_state=0).fit(X, [[1, 1, 1], [0, 0, 0]])
        >>> scores = model.decision_function(X)
        >>> scores[0].shape
        (3, 2)
        >>> scores[0].argmax(axis=1)
        array([1, 1, 1])
        """
        graphs, samples = self._pack(X, self._model, fitted=True).with_nodes()
        scores = np.empty((0, len(self.classes_)))
        if len(samples):
            problem = self._problem(graphs, samples)
            scores = max_marginals(problem, self._w, graphs.are_forests(), n_threads(self.n_jobs))
        return graphs.nodes.like_input(scores)


def _scalable(graphs, pairwise):
    """The rows of nodes, and those of edges that users give and the model reads."""
    given = pairwise in WITH_FEATURES and graphs.grids is None and graphs.edge_features is not None
    return (graphs.nodes.flat, graphs.edge_features) if given else (graphs.nodes.flat,)
