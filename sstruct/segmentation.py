"""Max-margin segmentation of sequences, with durations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arguments import explains_arguments
from sstruct._checks.parameters import FLAG, check_values
from sstruct._checks.types import Loss, NumericArrayLike
from sstruct._estimators.chain.sequence_estimator import SequenceSSVM
from sstruct._estimators.core.weight_frame import named_weights
from sstruct._estimators.segment.segment_structure import SegmentStructure

__all__ = ["SegmentSSVM"]

Limit = int | Sequence[int | None] | Mapping[Any, int | None] | None
Bins = NumericArrayLike | Literal["auto"] | None
SegmentLoss = Loss | Literal["segments", "boundaries"] | NumericArrayLike


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class SegmentSSVM(SequenceSSVM):
    r"""Structured SVM for segments of sequences: labels of nodes, and durations of their runs.

    Divides a sequence, such as a recording of a sensor, into segments with one label each. The
    score of a segmentation is that of :class:`ChainSSVM` for the labels of the nodes, plus a weight
    of the duration of each segment, by its label. Durations can also have a minimum and a maximum,
    which predictions always satisfy, and whole segments can have features (`segment_features`).
    Training minimizes

    .. math::

        P(w) = \frac{\lambda}{2} \|w\|^2 + \frac{1}{\sum_i s_i} \sum_i s_i
        \max_y \left[ L_i(y) - \langle w, \phi(x_i, y_i) - \phi(x_i, y) \rangle \right]

    over the allowed segmentations y, where :math:`\langle w, \phi(x, y) \rangle` is the score of y,
    :math:`L_i` is the `loss` and :math:`s_i` the weight of sample i. The norm of w is
    weighted: see `pairwise_scale`. The duration of a segment is the number of its nodes. By
    default, a segment is a maximal run of equal labels, so that adjacent segments have different
    labels; with `self_transitions`, they can have the same one. Without weights and limits of
    durations, this is the model of :class:`ChainSSVM`.

    Parameters
    ----------
    duration_bins : array-like of int of shape (n_bins,), "auto" or None, default="auto"
        Durations that share a weight for each label: the smallest duration of each bin, increasing,
        the first one 1. The last bin also contains all longer durations. ``"auto"``: 1, 2, 4, ...,
        1024. If None, durations have no weights.
    min_duration : int, list of K int or dict, default=1
        Minimum duration of a segment, in nodes: for all labels, for each in the order of
        ``classes_``, or by label; labels that a dict does not contain have the minimum 1. Labels in
        training must satisfy it.
    max_duration : int, None, list of K such or dict, default=None
        Maximum duration of a segment, in the formats of `min_duration`. If None, there is no
        maximum.
    segment_features : str, callable, list of these or None, default=None
        Features of whole segments, in addition to those of nodes. Each feature has a weight for
        each label:

        - ``"mean"``: the mean of the features of the segment's nodes.
        - ``"contrast"``: this mean minus the features of the node before the segment, plus this
          mean minus the features of the node after it; 0 at the ends of the sequence.
        - ``"first"``, ``"last"``: the features of the first and of the last node.
        - a function ``f(x, start, stop)``, at most one. It is called once for each sequence ``x``,
          an array or sparse matrix of shape (L, n_features), with arrays of all starts and stops of
          segments of up to the largest `max_duration` nodes, and returns an array of shape
          (n_segments,) or (n_segments, n_outputs). Nodes from ``start`` to ``stop - 1`` belong to a
          segment. Its results are kept in memory. A function of a saved model must be importable.

        Training and prediction then take time proportional to `max_duration` (see Notes), which
        should be set for sequences of more than a few hundred nodes. The columns of `class_scores`
        have no such weights. Segments of unknown duration have no features.
    self_transitions : bool, default=False
        Whether a segment may follow a segment with the same label. Adjacent spans in y can then
        have the same label; they are two segments in training, losses and predictions. If y has
        labels instead of spans, each run of equal labels is one segment. Each label has a weight
        for such transitions, unless `transitions` is False. `transition_mask` forbids them if it
        forbids two neighboring nodes with this label. The scores of nodes do not depend on the
        position of such a boundary: use `segment_features`, such as ``"contrast"``, weights of
        durations, or both. With ``solver="perceptron"`` and ``"pa"``, such boundaries are learned
        only with the losses ``"segments"`` and ``"boundaries"``. The value is not inferred from y,
        because the model would then depend on whether the samples of a fold, or of the first batch
        of ``partial_fit``, contain such spans. Not supported by :class:`LatentSSVM`.
    transitions : bool, array-like of int of shape (K, K) or callable, default=True
        Weights of the pairs of labels of neighboring nodes. True: one for each pair. False: none.
        Otherwise groups of pairs, which share a weight: an array with the group of each pair, from
        0 on without gaps, or -1 for pairs without a weight, in the order of ``classes_``, whose
        rows are the first and columns the second label; or a function of two labels that returns a
        group, such as a string, or None for pairs without a weight. It is called for the labels of
        the fit, except for pairs that `transition_mask` forbids. For chunk labels use
        :func:`sstruct.masks.bio_kinds`. If each pair has its own group, in order, the fit is the
        same as with True. When a fitted model is saved, a function that cannot be imported, such as
        a lambda, is replaced by the array.
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
        masked, are ignored in training (the sequence is split there), in the loss and in ``score``,
        but are still predicted. Segments next to them may continue there, so their duration is
        unknown: in training they have no duration weight and no minimum. If None, all labels must
        be known, and a missing one raises an error. Use -1 for label arrays padded with -1.
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
    loss : {"hamming", "hamming-count", "balanced", "segments", "boundaries"} or array-like, default="hamming-count"
        Cost of a wrong labeling.

        - ``"hamming-count"``: the number of wrong nodes.
        - ``"hamming"``: the fraction of wrong nodes.
        - ``"balanced"``: as ``"hamming"``, but a node with true label k has weight N / (K N_k),
          where N_k of N nodes have this label and K labels occur.
        - an array (K,): as ``"hamming"``, with the weight of a node by its true label.
        - an array (K, K): the mean cost of the nodes, rows the true label, columns the predicted
          one; nonnegative, with a zero diagonal.

        - ``"segments"``: the number of true segments without a match plus the number of predicted
          segments without a match. A true and a predicted segment match if they have the same label
          and an intersection over union above 1/2. For n segments, true or predicted, the loss is
          n (1 - F1) with their F1 score, see :func:`~sstruct.metrics.segment_f1_score`.
        - ``"boundaries"``: the number of true boundaries between segments that have no predicted
          one, plus the number of predicted boundaries that are wrong. A predicted boundary belongs
          to the nearest true one, the later of two, if it is at most `tolerance` nodes away. It is
          wrong if it belongs to none, or is not the first one of its true boundary. Labels do not
          count. Compare :func:`~sstruct.metrics.boundary_f1_score`.

        Arrays are in the order of ``classes_``. Nodes without a known label do not count; segments
        and boundaries are then those of the labeled parts. ``"segments"`` and ``"boundaries"`` do
        not support `class_weight` and weights of nodes, and make training as slow as
        `segment_features` do. Only these two losses count boundaries between segments with the same
        label, see `self_transitions`.
    tolerance : int, default=5
        Largest distance, in nodes, of a boundary from the true one, for ``loss="boundaries"``.
    class_weight : dict, "balanced" or None, default=None
        Factor of the cost of a wrong node, by its true label, in addition to `loss`: weight 2
        doubles the cost of errors. Labels missing in a dict have weight 1. ``"balanced"`` uses
        N / (K N_k), where N_k of N nodes have label k and K labels occur.
    rescaling : {"margin", "slack"}, default="margin"
        Required margin of the true labeling over a wrong one. With ``"margin"``, it is the loss of
        the wrong labeling. With ``"slack"``, it is 1, and violations are multiplied by the loss
        [6]_.
    search : {"auto", "bisecting", "binary"}, default="auto"
        Search of ``rescaling="slack"`` for the most violated labeling. ``"auto"`` is
        ``"bisecting"``, which may miss the most violated labeling but bounds its violation, so
        ``objective_`` is an upper bound. ``"binary"`` is similar but requires more calls of the
        decoder.
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
        columns, followed by ``class_scores_weight_``), ``mean_coef_``, ``contrast_coef_``,
        ``first_coef_``, ``last_coef_``, ``intercept_``, ``start_coef_``, ``end_coef_``,
        ``edge_coef_``, ``self_transition_coef_``, ``duration_coef_`` and ``segment_coef_``, if they
        are enabled. Each access returns a copy.
    coef_ : ndarray of shape (K, n_features)
        Weights of the features, one row per label. With `class_scores`, it is a copy, in which the
        column with the scores of a class has ``class_scores_weight_`` in the row of this class and
        0 in the others.
    class_scores_weight_ : float
        The weight of the class scores. Only available if `class_scores` is set.
    intercept_, start_coef_, end_coef_ : ndarray of shape (K,)
        Weights of labels; zero if disabled by the parameter.
    edge_coef_ : ndarray of shape (K, K)
        Weight of each transition between neighboring nodes; rows are the first, columns the second
        label. The diagonal has the weights of steps inside a segment.
    self_transition_coef_ : ndarray of shape (K,)
        Weight of a segment of each label after a segment with the same label. It replaces the
        weight of a step inside a segment. Zero without `self_transitions`.
    transition_groups_ : ndarray of int of shape (K, K)
        Group of each transition, -1 if it has no weight. Only available if `transitions` has
        groups; see :class:`ChainSSVM`.
    duration_coef_ : ndarray of shape (K, n_bins)
        Weight of a segment with each label and bin of durations.
    mean_coef_, contrast_coef_, first_coef_, last_coef_ : ndarray of shape (K, n_features)
        Weights of `segment_features`; zero for those that are not used. Without the columns of
        `class_scores`.
    segment_coef_ : ndarray of shape (K, n_outputs)
        Weights of the results of a function in `segment_features`.
    duration_bins_ : ndarray of int of shape (n_bins,)
        Smallest duration of each bin. Only available if durations have weights.
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
    inference_ : str
        The decoder in training: ``"segment viterbi (exact)"``, or with slack rescaling, for
        example, ``"segment viterbi, bisecting search (bounded)"``.
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
    ChainSSVM : The same without durations.
    sstruct.inference.segment_viterbi : The decoder.
    sstruct.calibration.CalibratedSSVM : Adds probabilities of labels and segments.
    sstruct.metrics.segment_f1_score : F1 score of segments.

    Notes
    -----
    A pass over the data takes O(sum of L (nnz + K (K + n_bins))) operations for sequences of L
    nodes with nnz nonzero features and K labels, for any maximum duration [7]_. With
    `segment_features`, or a loss of segments or boundaries, all segments are compared: O(sum of
    L (nnz + K (K + D))) operations for segments of up to D nodes, with D = L without
    `max_duration`, and G D instead of D for a function with G results. The memory is O(L K), plus
    O(L D G) for the results of a function. Sequences are not split into windows, so training
    on many sequences is faster than on few long ones.

    See :doc:`/how_to/segments`.

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
    .. [7] S. Sarawagi, W. W. Cohen. Semi-Markov Conditional Random Fields for Information
       Extraction. NIPS 2004.

    Examples
    --------
    >>> from sstruct import SegmentSSVM
    >>> X = [[[0.0], [0.2], [2.0], [1.8], [2.2], [0.1]], [[2.0], [2.0], [1.9], [0.0], [0.2]]]
    >>> y = [["rest"] * 2 + ["walk"] * 3 + ["rest"], ["walk"] * 3 + ["rest"] * 2]
    >>> model = SegmentSSVM(min_duration={"walk": 3}, lam=0.01, random_state=0).fit(X, y)
    >>> model.predict_spans([[[0.1], [2.0], [0.0], [2.1], [1.9], [2.0]]])
    [[(0, 3, 'rest'), (3, 6, 'walk')]]
    """

    _structure_class = SegmentStructure

    duration_coef_ = named_weights("duration", "Weight of each label and bin of durations.")
    mean_coef_ = named_weights("mean", "Weight of the mean of segments.")
    contrast_coef_ = named_weights("contrast", "Weight of the contrast at the ends of segments.")
    first_coef_ = named_weights("first", "Weight of the first node of segments.")
    last_coef_ = named_weights("last", "Weight of the last node of segments.")
    self_transition_coef_ = named_weights(
        "self_transition", "Weight of a segment of each label after one with the same label."
    )
    segment_coef_ = named_weights("segment", "Weight of the results of the function of segments.")

    loss: SegmentLoss = "hamming-count"
    duration_bins: Bins = "auto"
    min_duration: Limit = 1
    max_duration: Limit = None
    segment_features: Any = None
    self_transitions: bool = False
    tolerance: int = 5
    duration_bins_: np.ndarray = field(init=False)

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
            As in :class:`ChainSSVM`, without edge features. Pass a single sequence, such as a
            recording, as a list of one array: ``fit([X], [y])``.
        y : list of label sequences, or list of lists of spans
            The label of each node, as in :class:`ChainSSVM`; a segment is a maximal run of equal
            labels. Alternatively, the spans of each sequence: a list of tuples
            ``(start, stop, label)``, each of which starts where the previous one stops. Adjacent
            spans have different labels, unless `self_transitions` is True.
        sample_weight : array-like of shape (n,), or list of n arrays (L_i,), optional
            Nonnegative weights of samples, or of nodes in the loss, as in :class:`ChainSSVM`.
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
            If the data or a parameter are invalid, or a segment in y has a duration that
            `min_duration` or `max_duration` does not allow. The message names the sample, and the
            estimator remains unchanged.

        Warns
        -----
        UserWarning
            If each sequence has only one node, and no transitions are learned; or if sequences are
            empty.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def predict(self, X: Any, y_partial: Any = None) -> np.ndarray:
        """Predict the labels of the best segmentation of each sequence.

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
            `y_partial`, the best segmentations that contain the known labels.

        Raises
        ------
        ValueError, TypeError
            If the data are invalid, or a sequence has no allowed segmentation, for example because
            it is shorter than `min_duration`; the message names the sample.
        """
        return self._predict(X, y_partial)

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the best score of a segmentation with each label at each node (max-marginals).

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.

        Returns
        -------
        ndarray
            As in :meth:`predict`, with K scores instead of each label; ``-inf`` if `min_duration`,
            `max_duration` or `transition_mask` forbid the label. The labels from ``predict`` have
            the highest scores of their nodes, up to ties.

        Notes
        -----
        Exact. O(L K (K + n_bins)) time for a sequence of L nodes, plus the time for the scores of
        nodes.

        Examples
        --------
        >>> from sstruct import SegmentSSVM
        >>> X, y = [[[2.0], [1.0], [-1.0], [-2.0]]], [["a", "a", "b", "b"]]
        >>> model = SegmentSSVM(min_duration=2, random_state=0).fit(X, y)
        >>> model.decision_function([[[3.0], [0.0], [-1.0]]])[0].argmax(axis=1).tolist()
        [0, 0, 0]
        """
        return self._decision_function(X)

    def predict_top_k(
        self, X: Any, k: int, *, spans: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the k best segmentations of each sequence.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        k : int
            Number of segmentations, at least 1.
        spans : bool, default=False
            Whether to return the segments instead of the labels of the nodes.

        Returns
        -------
        labels : ndarray of shape (n,), dtype object
            For each sequence, an array (m, L) of the labels of the nodes in distinct segmentations,
            best first; for 2-D X an array (m,). The first one is the result of :meth:`predict`, up
            to ties. m is k, or the number of allowed segmentations, if that is smaller; an empty
            sequence has one, empty segmentation. With `self_transitions`, several segmentations can
            have the same labels. With ``spans=True``, a list of m segmentations for each sequence,
            in the format of :meth:`predict_spans`.
        scores : ndarray of shape (n,), dtype object
            For each sequence, an array (m,) of the scores ``<w_, phi(x, y)>``.

        Raises
        ------
        ValueError, TypeError
            If the data or `k` are invalid, or a sequence has no allowed segmentation; the message
            names the sample.

        Notes
        -----
        Exact [1]_. For a sequence of L nodes with M segments, O(L K (K + n_bins log(L))) time and
        O(L K) memory for the best segmentation, and O(M (K + n_bins log(L))) for each further one.

        References
        ----------
        .. [1] L. Huang, D. Chiang. Better k-best Parsing. IWPT 2005, section 4.4.

        Examples
        --------
        >>> from sstruct import SegmentSSVM
        >>> X, y = [[[2.0], [1.0], [-1.0]]], [["a", "a", "b"]]
        >>> model = SegmentSSVM(random_state=0).fit(X, y)
        >>> labels, scores = model.predict_top_k([[[3.0], [0.0], [-2.0]]], k=2)
        >>> labels[0].tolist()
        [['a', 'a', 'b'], ['a', 'b', 'b']]
        """
        check_values({"spans": spans}, {"spans": FLAG})
        structure, model = self._fitted()
        return structure.ranked(model, X, k, spans=bool(spans))

    def predict_spans(self, X: Any) -> list[list[tuple[int, int, Any]]]:
        """Predict the segments of each sequence.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.

        Returns
        -------
        list of list of tuple (start, stop, label)
            The segments of each sequence, in order; the labels of ``predict`` at the nodes from
            ``start`` to ``stop - 1`` are ``label``. Adjacent segments have different labels, unless
            `self_transitions` is True.

        See Also
        --------
        sstruct.metrics.segment_f1_score : F1 score of segments.

        Examples
        --------
        >>> from sstruct import SegmentSSVM
        >>> X, y = [[[2.0], [1.0], [-1.0]]], [[(0, 2, "a"), (2, 3, "b")]]
        >>> model = SegmentSSVM(random_state=0).fit(X, y)
        >>> model.predict_spans([[[3.0], [-2.0], [-1.0], [-1.0]]])
        [[(0, 1, 'a'), (1, 4, 'b')]]

        Two segments of two nodes with the same label:

        >>> X, y = [[[2.0], [1.0], [2.0], [1.0], [-1.0]]], [[(0, 2, "a"), (2, 4, "a"), (4, 5, "b")]]
        >>> model = SegmentSSVM(self_transitions=True, max_duration=2, random_state=0).fit(X, y)
        >>> model.predict_spans([[[2.0], [1.0], [-1.0], [2.0], [1.0], [2.0], [1.0]]])
        [[(0, 2, 'a'), (2, 3, 'b'), (3, 5, 'a'), (5, 7, 'a')]]
        """
        structure, model = self._fitted()
        return structure.segments(model, structure.pack(X, model))
