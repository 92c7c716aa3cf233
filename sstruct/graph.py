"""GraphCRFSSVM: max-margin labelling of the nodes of graphs."""

from sstruct._documentation import shares_documentation
from sstruct._graph_base import GraphSSVM
from sstruct._graph_input import pack_graphs
from sstruct._problems.graph_arguments import WITH_FEATURES
from sstruct.chain import ChainSSVM


@shares_documentation(ChainSSVM)
class GraphCRFSSVM(GraphSSVM):
    r"""Structured support vector machine for graphs, such as superpixels of images.

    Learns node weights and pairwise weights by minimising

    .. math::

        P(w) = \frac{\lambda}{2} \|w\|^2 + \frac{1}{\sum_i s_i} \sum_i s_i
        \max_y \left[ L_i(y) - \langle w, \phi(x_i, y_i) - \phi(x_i, y) \rangle \right]

    with block-coordinate Frank-Wolfe, and reports how far from the optimum it stopped. Every graph
    may have its own number of nodes and edges.

    Parameters
    ----------
    pairwise : {"potts", "contrast", "full", "directed"} or float, default="potts"
        What the labels a and b of two neighbours add to the score.

        - ``"potts"``: ``edge_coef_ * [a != b]``, one weight, at most 0.
        - ``"contrast"``: ``edge_coef_ @ features * [a != b]``; edge features that are not negative,
          weights at most 0.
        - ``"full"``: ``(edge_coef_[a, b] + edge_coef_[b, a]) / 2``, any signs.
        - ``"directed"``: ``sum_g features[g] * edge_coef_[g, a, b]``, a at the first and b at the
          second node of the edge; features and weights of any sign.
        - a float, at least 0: the cost of neighbours with different labels, not learned.
    inference : {"auto", "cut", "expansion", "max-sum", "fwmap"}, default="auto"
        The decoder. ``"cut"``: minimum cut, exact, for two labels where neighbours attract each
        other; ``"max-sum"``: exact, for graphs without cycles; ``"expansion"``: alpha-expansion, or
        fusion moves where neighbours may repel each other, approximate; ``"fwmap"``: any labels
        and graphs, trees coupled by multipliers as in :func:`sstruct.inference.map_mrf`, each
        decoding from the multipliers of the graph's last. It is slower than ``"expansion"``, finds
        better labellings where neighbours repel each other, and bounds what it may have missed.
        ``"auto"`` takes an exact one if there is one for all the graphs given, else
        ``"expansion"``, in training as in prediction.
    <lam>
    loss : {"hamming", "hamming-count", "balanced"} or array-like, default="hamming"
        Cost of a wrong labelling, the sum of its nodes' costs times the nodes' sizes (1 where X has
        none). ``"hamming"``: 1 for a wrong node; ``"balanced"``: N / (K N_k) by the true label k,
        N_k the size of all nodes with it; an array (K,) of costs by true label, or a (K, K) cost
        matrix (rows: truth, zero diagonal, nonnegative), in the order of ``classes_``. These are
        divided by the size of the graph's labelled nodes; ``"hamming-count"`` is ``"hamming"`` not
        divided.
    <solver>
    <step>
    <sampling>
    <cache>
    <schedule>
    <average>
    <fit_intercept>
    bounds : "submodular", array-like of shape (2, n_weights) or None, default=None
        Lower and upper bounds of the weights, in the order of ``w_``; infinite where free. For
        ``"potts"`` and ``"contrast"`` pairwise weights are at most 0 with None too, and an array
        that allows others is refused. ``"submodular"`` keeps neighbours attractive for ``"full"``
        and ``"directed"`` (with edge features that are not negative): diagonals of ``edge_coef_``
        at least 0, other entries at most 0.
    <classes>
    ignore_label : object, default=-1
        Nodes with this label, and their edges, leave training, the loss and ``score``; they are
        still predicted. None: there is none.
    <tol>
    <certificate_every>
    <max_iter>
    <max_time>
    warm_start : {False, True, "dual", "primal"}, default=False
        Go on from the last fit, also after a change of `lam`: ``"dual"`` (or True) keeps its dual
        weights, ``"primal"`` its weights as far as dual weights for them exist. Other data raise,
        and so may another `loss` or `fit_intercept`.
    <checkpoint>
    <n_jobs>
    <random_state>
    <verbose>

    Attributes
    ----------
    w_ : ndarray of shape (n_weights,)
        All weights: ``coef_``, ``intercept_``, ``edge_coef_``, as far as they exist, one after
        another; put together when asked for.
    <coef_>
    intercept_ : ndarray of shape (K,)
        Zero without `fit_intercept`.
    edge_coef_ : ndarray of shape (1,), (G,), (K, K) or (G, K, K), or None
        Pairwise weights of ``"potts"``, ``"contrast"``, ``"full"`` or ``"directed"``, for G edge
        features; None where `pairwise` is a float.
    <classes_>
    <n_features_in_>
    <feature_names_in_>
    <lam_>
    <solver_>
    <n_iter_>
    <n_oracle_calls_>
    <objective_>
    <status_>
    <converged_>
    inference_ : str
        The decoder of training: ``"graph cut (exact)"``, ``"max-sum (exact)"``, ``"alpha-expansion
        (approximate)"`` or ``"fusion moves (approximate)"``, or, where no graph has an edge,
        ``"node by node (exact)"``; ``"trees by Frank-Wolfe (bounded)"``: ``objective_`` is not
        below the primal, so that ``dual_gap_`` holds whatever labellings were found. With an
        approximate one ``objective_`` may lie below the primal, and the certificate is approximate
        too; ``dual_objective_`` is a lower bound all the same.
    <history_>

    See Also
    --------
    GridCRFSSVM : Images, whose graphs are grids of pixels.
    ChainSSVM : Sequences.

    Notes
    -----
    Features add up over the V nodes of a graph, and the loss, unless it is ``"hamming-count"``, is
    divided by V: weights come out V times smaller than those of single nodes, and `lam` is to be
    V^2 times as large (``"hamming-count"``: V times). With ``lam="auto"`` large graphs are hardly
    regularised, and take many passes.

    There is no ``decision_function``: the max-marginals of a graph take a decoding each.

    Beyond the features and edges, memory is O(V K + E) for the largest graph per thread, a vector
    of the size of ``w_`` per thread, and per graph a few cached labelings of 4 V bytes each. While
    it fits, ``"fwmap"`` keeps 8 K bytes for each node and each of the trees that have it. They are
    not in a checkpoint: a fit that goes on from one does not end with the same bits.

    <References>

    Examples
    --------
    Noisy labels on cycles, where neighbours mostly agree:

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

    def _pack(self, X, model, *, fitted):
        pairwise, expected = model["pairwise"], None
        if fitted and pairwise in WITH_FEATURES:
            expected = self._edge_shape[0]
        return pack_graphs(self, X, pairwise, expected, fitted=fitted)

    def fit(self, X, y, sample_weight=None):
        """Learn from labelled graphs.

        Parameters
        ----------
        X : list of n tuples (node features, edges[, edge features[, node sizes]])
            Node features: (V, F), dense or sparse; edges: integers (E, 2), two different nodes 0
            to V - 1, no pair twice; edge features: (E, G) or None; node sizes: (V,) positive
            weights of the nodes in the loss, or None. A 2-D array or sparse matrix is read as
            graphs of one node, one a row.
        y : list of n arrays of shape (V,)
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
        return self._fit_problem(**self._training(X, y, sample_weight))

    def predict(self, X):
        """Find the best labelling of each graph, with the decoder of the fit.

        Parameters
        ----------
        X : as in :meth:`fit`
            Node sizes are not looked at.

        Returns
        -------
        ndarray
            For graphs a 1-D object array of label arrays; for 2-D X of shape (n,).
        """
        return self._predicted(X)
