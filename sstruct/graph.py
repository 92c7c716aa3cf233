"""Max-margin labeling of the nodes of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._checks.types import NumericArrayLike
from sstruct._estimators.core.base import ScoredLabelingSSVM
from sstruct._estimators.core.weight_frame import named_weights
from sstruct._estimators.graph.graph_structure import GraphStructure

__all__ = ["GraphCRFSSVM"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class GraphCRFSSVM(ScoredLabelingSSVM):
    r"""Structured SVM for graphs: a label for every node, such as each superpixel of an image.

    The estimator labels every node of a graph, and takes into account which labels occur at
    neighboring nodes. The score of a labeling is the sum of weights of node features and of the
    labels at both ends of each edge, and ``predict`` searches for the labeling with the highest
    score. Graphs may differ in their numbers of nodes and edges. Training minimizes

    .. math::

        P(w) = \frac{\lambda}{2} \|w\|^2 + \frac{1}{\sum_i s_i} \sum_i s_i
        \max_y \left[ L_i(y) - \langle w, \phi(x_i, y_i) - \phi(x_i, y) \rangle \right]

    where :math:`\langle w, \phi(x, y) \rangle` is the score of the labeling y, :math:`L_i` is the
    `loss` and :math:`s_i` the weight of sample i. The required margin of the true labeling over
    another one is the loss of the latter (with slack rescaling, it is 1, and the hinge loss is
    multiplied by the loss). Training stops once the duality gap shows that the objective is within
    `tol` of its minimum.

    Parameters
    ----------
    pairwise : {"potts", "contrast", "full", "directed"} or float, default="potts"
        Contribution of the labels a and b of two neighbors to the score.

        - ``"potts"``: ``edge_coef_ * [a != b]``, one weight, at most 0.
        - ``"contrast"``: ``edge_coef_ @ features * [a != b]``, for nonnegative edge features;
          weights are at most 0.
        - ``"full"``: ``(edge_coef_[a, b] + edge_coef_[b, a]) / 2``, any signs.
        - ``"directed"``: ``sum_g features[g] * edge_coef_[g, a, b]``, a at the first and b at the
          second node of the edge; features and weights of any sign.
        - a float, at least 0: the cost of neighbors with different labels, not learned.
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
    bounds : "submodular", array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite for free weights.
        For ``"potts"`` and ``"contrast"``, pairwise weights are at most 0 even with None, and an
        array that allows positive ones raises an error. ``"submodular"`` ensures that neighbors
        attract each other for ``"full"`` and ``"directed"`` (with nonnegative edge features):
        diagonals of ``edge_coef_`` are at least 0, other entries at most 0.
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
    ignore_label : object, default=-1
        Label of nodes (pixels) whose label is unknown. These nodes, and nodes whose label is None,
        NaN or masked, do not count in the loss or in ``score``, and are predicted like all others;
        the Notes describe their role in training. If None, all labels must be known, and a missing
        one raises an error.
    lam : float or "auto", default="auto"
        Regularization strength, positive. All weights are regularized, including intercepts.
        ``"auto"`` is 0.4 V m^(1/5) / n, where n is the sum of sample weights, m the average number
        of nodes per sample, and V the sum of the variances of node features; features on a much
        larger scale than the others have less influence on V. The value is divided by the mean cost
        of a wrong node, which is 1 / m with ``loss="hamming"``. Many papers use ``lam=1 / n``. C of
        LIBLINEAR is ``1 / (lam * n)``.
        With slack rescaling, ``"auto"`` is multiplied by the mean cost instead of divided by it.
    loss : {"hamming", "hamming-count", "balanced"} or array-like, default="hamming-count"
        Cost of a wrong labeling. Nodes are weighted by their sizes, if X has sizes.

        - ``"hamming-count"``: the number of wrong nodes (the sum of their sizes).
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
        Search of ``rescaling="slack"`` for the most violated labeling, by decoding with several
        weights of the loss. ``"auto"`` is ``"bisecting"``. Both searches may miss the most violated
        labeling. If the decoder is exact or bounded, they bound its violation, so
        ``objective_`` is an upper bound of the objective at ``w_``. ``"binary"`` requires more
        calls.
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
        error. Sample weights may change, but not from or to 0. New classes raise an error; pass all
        `classes` before the first fit. A different `loss` or `fit_intercept`, or different weights
        of nodes, may also raise an error.
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
        columns, followed by ``class_scores_weight_``), ``intercept_`` and ``edge_coef_``, if they
        exist. Each access returns a copy.
    coef_ : ndarray of shape (K, n_features)
        Weights of the features, one row per label. With `class_scores`, it is a copy, in which the
        column with the scores of a class has ``class_scores_weight_`` in the row of this class and
        0 in the others.
    class_scores_weight_ : float
        The weight of the class scores. Only available if `class_scores` is set.
    intercept_ : ndarray of shape (K,)
        Intercepts; zero without `fit_intercept`.
    edge_coef_ : ndarray of shape (1,), (G,), (K, K) or (G, K, K), or None
        Pairwise weights of ``"potts"``, ``"contrast"``, ``"full"`` or ``"directed"``, for G edge
        features; None if `pairwise` is a float.
    classes_ : ndarray of shape (K,)
        The labels.
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
        The decoder in training: ``"graph cut (exact)"``, ``"max-sum (exact)"``, ``"node by node
        (exact)"`` if no graph has an edge, ``"alpha-expansion (approximate)"``, ``"fusion moves
        (approximate)"``, ``"trees by Frank-Wolfe (bounded)"`` or ``"branch and bound (bounded)"``.
        With an approximate decoder, ``objective_`` may be below the primal, so the certificate is
        approximate, but ``dual_objective_`` remains a lower bound. With a bounded decoder,
        ``objective_`` is an upper bound, and ``dual_gap_`` is valid. Slack rescaling adds the
        search, as in ``"graph cut, bisecting search (bounded)"``.
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

    See Also
    --------
    GridCRFSSVM : Images, whose graphs are grids of pixels.
    ChainSSVM : Sequences.

    Notes
    -----
    Features are summed over the V nodes of a graph, and so are errors with ``"hamming-count"``, so
    a good value of `lam` depends little on V. The other losses are divided by V, so `lam` should be
    V times as large, which ``"auto"`` does. With a much smaller `lam`, large graphs require many
    passes.

    An unknown node up to five edges away from a labeled one is completed before training. It gets
    the most frequent label of its neighbors that are closer to labeled nodes; ties go to the first
    label in ``classes_``. Completed labels are a fixed part of the true labeling :math:`y_i`, and
    errors there cost nothing. Therefore, the objective is convex, its certificate is valid, and
    edges across a border of unknown nodes are used in training. Unknown nodes that are farther away
    are removed with their edges. The nodes of a graph are completed only if most edges between
    labeled nodes join equal labels, at most a tenth of the unknown nodes are farther away, and
    `pairwise` is not 0; otherwise all unknown nodes are removed. :class:`LatentSSVM` completes all
    unknown nodes with predicted labels.

    In addition to the features and edges, memory is O(V K + E) for the largest graph per thread, a
    vector of the size of ``w_`` per thread, and a few cached labelings of 4 V bytes each per graph.
    During a fit, ``"fwmap"`` stores 8 K bytes for each node and each tree that contains it, also in
    checkpoints, and branch and bound (``"exact"``) up to 32 K bytes per edge (16 K in checkpoints)
    and 4 bytes per node of each graph. In addition, branch and bound stores tables of at most 2^25
    costs of 8 bytes per thread, and stops at this limit as it does at `max_oracle_time`. A graph
    for which E K^2 exceeds 2^23 raises an error.

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
    Label the nodes of cycles, whose neighbors mostly have the same label:

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

    _structure_class = GraphStructure

    edge_coef_ = named_weights("edge", "Pairwise weights; None if they are fixed.")

    pairwise: Literal["potts", "contrast", "full", "directed"] | float = "potts"
    inference: Literal["auto", "cut", "expansion", "max-sum", "fwmap", "exact"] = "auto"
    max_oracle_time: float | None = None
    bounds: Literal["submodular"] | NumericArrayLike | None = None
    ignore_label: Any = -1

    def __repr__(self, *arguments):
        text = super().__repr__(*arguments)
        # A comment, so that the repr remains an expression for the estimator.
        return text + "  # certificate: approximate" * getattr(self, "_is_approximate", False)

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
        """Fit the model to labeled graphs.

        Parameters
        ----------
        X : list of n tuples (node features, edges[, edge features[, node sizes]])
            Node features: (V, F), dense or sparse. Edges: integers (E, 2), pairs of different nodes
            0 to V - 1 without duplicates; or a symmetric sparse adjacency matrix (V, V) of ones,
            whose edges are in the order of its upper triangle, row by row. Edge features: (E, G) or
            None. Node sizes: (V,) positive weights of the nodes in the loss, or None. Features may
            be data frames, whose names are used by ``to_frame``. Graphs without nodes are ignored
            with a warning. The rows of a 2-D array or sparse matrix are graphs of one node. X and y
            may also be partitions of such lists on a Dask cluster: see :doc:`/how_to/cluster`.
        y : list of n arrays of shape (V,)
            Labels of any hashable type; for 2-D X one label per row.
        sample_weight : array-like of shape (n,), or list of n arrays (V,), optional
            Nonnegative weights. A number per sample: weight 2 is equivalent to two copies, and
            samples of weight 0 are ignored. Or an array per sample, with the weights of its nodes
            in the loss, which multiply the costs and sizes of nodes; a loss that is a fraction of
            nodes is then a fraction of weights. Errors at nodes of weight 0 cost nothing, but such
            nodes remain in the graph, unless all its labeled nodes have weight 0: such a graph is
            ignored. To ignore nodes, use `ignore_label`.
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
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def predict(self, X: Any, y_partial: Any = None) -> np.ndarray:
        """Predict the best labeling of each graph, optionally given some known labels.

        The decoder is the one of the fit; see `inference_` for whether it is exact.

        Parameters
        ----------
        X : as in :meth:`fit`
            Node sizes are ignored.
        y_partial : list of n arrays of shape (V,), optional
            Known labels; the others are predicted given these. For each sample, an array with an
            entry per node: the label, or None, NaN, `ignore_label` or -1 (unless that is a class)
            if unknown; or None instead of an array if all are unknown. For 2-D X, an entry per row.

        Returns
        -------
        ndarray
            For graphs, a 1-D object array of label arrays, which are empty for graphs without
            nodes; for 2-D X, an array of shape (n,). With `y_partial`, the best labelings that
            contain the known labels.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid; the message names the sample and the node.

        Examples
        --------
        Three nodes in a row. A known label of the last one changes the labels of its neighbors:

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
        return self._predict(X, y_partial)

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the best score of a labeling with each label at each node (max-marginals).

        For any `inference`, scores are exact for two labels if neighbors attract each other, by
        minimum cuts, and for graphs without cycles, by max-sum. For other graphs, they are
        approximate and never too high: the score of the labeling from ``predict`` with only this
        label changed. If ``inference_`` ends in "(exact)", all scores are exact, unless it is
        "max-sum (exact)" and graphs in X have cycles.

        Parameters
        ----------
        X : as in :meth:`fit`
            2-D only if X was 2-D in ``fit``. Node sizes are ignored.

        Returns
        -------
        ndarray
            As in :meth:`predict`, with K scores instead of each label: arrays (V, K) for graphs,
            (n, K) for 2-D X. If scores are exact, the labels from ``predict`` have the highest
            scores of their nodes, up to ties.

        Notes
        -----
        The time is O(E K^2) for E edges without cycles, and O(V K + E K) if the labeling from
        ``predict`` is changed at each node. With minimum cuts, the whole graph requires one cut,
        and each node a search for the best labeling with its other label [1]_. The search is short
        unless edges have much more weight than features; in the worst case, it visits the whole
        graph, and the time is O(V E).

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
        return self._decision_function(X)
