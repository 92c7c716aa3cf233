"""Prediction sets by conformal prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.parameters import FLAG, Range, check_values
from sstruct._checks.warn import warn_user
from sstruct._compat import safe_indexing
from sstruct._compat.public_module import public_module
from sstruct._estimators.calibration.conformity import (
    SpanGaps,
    gaps_of_ranked,
    labeling_gaps,
    labels_within,
    true_label_gaps,
)
from sstruct._estimators.calibration.risk_control import ROUNDING, HeldOutScores
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.fitted_state import (
    Array,
    FittedState,
    Number,
    Of,
    raise_unexpected,
    reads_one_fit,
)
from sstruct._estimators.path.folds import n_samples_of
from sstruct._input.label_schemes import LETTERS
from sstruct._input.labels import object_array
from sstruct._input.ragged import NoNodesError, is_of_nodes
from sstruct.calibration._held_out import WITH_DISTRIBUTION, HeldOutPredictor
from sstruct.chain import ChainSSVM
from sstruct.segmentation import SegmentSSVM
from sstruct.spans import Scheme

VALID = {
    "target": ("labelings", "nodes", "spans"),
    "confidence_level": Range(above=0, below=1),
    "k": Range(least=1, whole=True),
    "scheme": tuple(LETTERS),
    "suffix": FLAG,
    "allow_empty": FLAG,
}


def _check_scores(state):
    """Raise Unexpected unless the scores are sorted, without NaN."""
    scores = state["conformity_scores_"]
    if np.isnan(scores).any() or (scores[:-1] > scores[1:]).any():
        raise_unexpected("conformity_scores_", scores, "ascending numbers")


@public_module("sstruct.calibration")
@dataclass(kw_only=True, eq=False, repr=False)
class ConformalSSVM(HeldOutPredictor):
    r"""Predict sets that contain the truth with a given probability (conformal prediction).

    A set contains all labelings, labels of a node or spans whose scores are close to the best one.
    The largest accepted difference is estimated on samples that were not used for training: true
    labels are within it in the requested fraction of these samples. This is valid for every model
    and every decoder, if new samples come from the same distribution. A better model has smaller
    sets.

    Parameters
    ----------
    estimator : estimator of sstruct
        The estimator, which is cloned. A fitted estimator in a
        :class:`~sklearn.frozen.FrozenEstimator` is not fitted again: all samples passed to ``fit``
        are then held-out samples, and must not have been used for its training (split conformal
        prediction). Sets of labelings or spans require :class:`ChainSSVM` or
        :class:`~sstruct.SegmentSSVM`; sets of labels of nodes are also supported for graphs,
        images, rows, label sets and :class:`~sstruct.TreeSSVM`. In a pipeline, ConformalSSVM must
        be the last step.
    cv : int, cross-validation generator or iterable, default=5
        As in scikit-learn's searches. Test samples of different splits may overlap, and need not
        cover all samples. Not used for a FrozenEstimator.
    n_jobs : int or None, default=None
        Number of fits in parallel, through any backend of joblib. Results do not depend on it.
    target : {"labelings", "nodes", "spans"}, default="labelings"
        The elements of the sets:

        - "labelings": labelings of the whole sample. The set contains the true labeling with
          probability `confidence_level`.
        - "nodes": labels, a set for each node: a node of a graph, a pixel, a part of a pose, a row.
          For label sets, whether a label may be on, off, or both. The expected fraction of the
          nodes of a sample whose sets miss the true label is at most ``1 - confidence_level``.
        - "spans": spans, such as named entities, or the segments of SegmentSSVM. The expected
          fraction of the true spans of a sample that the set misses is at most
          ``1 - confidence_level``.
    confidence_level : float, default=0.9
        Between 0 and 1. Other levels can be passed to :meth:`predict_set` without another fit.
    k : int, default=100
        Largest number of labelings of a sample that are examined, as for
        :meth:`ChainSSVM.predict_top_k`. Not used for nodes. Spans of ChainSSVM are found only if
        one of these labelings has them. The k best labelings of a long sequence differ in few
        nodes, so pass sentences instead of documents, or increase k, if true spans are not found:
        the confidence level then requires an infinite threshold, and ``fit`` issues a warning.
        Spans of SegmentSSVM are compared exactly; k is only used if the threshold is infinite.
    scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
        Label scheme of spans, as for :func:`sstruct.spans.spans_of`. Not supported for SegmentSSVM,
        whose spans are its segments.
    suffix : bool, default=False
        Whether the letter follows the type of a span, as in ``"PER-B"``. Not supported for
        SegmentSSVM.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, fitted to all samples, or a copy of the frozen one.
    conformity_scores_ : ndarray of shape (m,)
        Ascending; for each true labeling, label or span of the held-out samples, the score of the
        best other labeling minus the score of the best labeling that agrees with the truth. If the
        truth is predicted, this is minus its margin. ``inf`` if no labeling agrees with the truth,
        and ``-inf`` if there is no other labeling. The scores of predicted spans are 0.
    classes_ : ndarray of shape (K,)
        Labels of the estimator.
    n_features_in_ : int
        Number of features of the estimator.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    CalibratedSSVM : Probabilities of labels, labelings and spans.

    Notes
    -----
    **Threshold.** A sample has the loss :math:`L_i(t)`: the fraction of its true elements whose
    conformity score is above t; for labelings 0 or 1. The threshold for the confidence level
    :math:`1 - \alpha` and n held-out samples is [1]_

    .. math::

        \min \left\{ t \ge 0 :
        \frac{1}{n + 1} \left( \sum_i w_i L_i(t) + 1 \right) \le \alpha \right\}

    The weights w are the sample weights, scaled to a mean of 1; a new sample has weight 1. For
    labelings without weights, this is the quantile of split conformal prediction [2]_. If
    :math:`\alpha < 1 / (n + 1)`, or too many scores are infinite, the threshold is infinite. Sets
    grow with the confidence level. Elements whose score equals the threshold are included.

    **Empty sets.** Sets always contain the prediction, unless :meth:`predict_set` is called with
    ``allow_empty=True``. If predictions are correct more often than the confidence level requires,
    the coverage is therefore higher than the level: at a level of 90 %, the sets of the digits of
    :func:`~sstruct.datasets.load_digit_dates` contain 99 % of the true ones. With
    ``allow_empty=True``, t can be negative, and a prediction whose margin over the second-best
    label or labeling is smaller than -t has an empty set, so the coverage is close to the
    level. An empty set marks an uncertain prediction, not an impossible one. MAPIE's LAC sets can
    be empty in the same way.

    **Guarantee.** With a FrozenEstimator and without sample weights, the loss of a new sample is at
    most :math:`\alpha` on average over held-out and new samples, if all of them are exchangeable,
    such as independent samples of one distribution. The guarantee holds for any number of samples.
    It does not hold separately for each held-out set, label or kind of samples: for labelings, the
    coverage given the held-out samples has a beta distribution with a mean of at least
    :math:`1 - \alpha` and a standard deviation of about
    :math:`\sqrt{\alpha (1 - \alpha) / n}`. Nodes of one sample are dependent, so the unit is the
    sample.

    With `cv`, scores come from the models of all splits, and sets from the model fitted to all
    samples. All samples are then used for both, but there is no guarantee for a finite number of
    samples. The coverage is correct to the extent that these models have similar scores; usually,
    the final model is better than the others, and the sets are slightly too large. The
    cross-conformal predictor of [2]_, which keeps the models of all splits, is not used: the sets
    of several models cannot be enumerated together.

    **Choice of scores.** On the dates of :func:`~sstruct.datasets.load_digit_dates`, with 150
    training and 300 held-out samples, sets of level 95 % have 1.32 labelings on average with
    differences of scores, 1.34 with cumulative probabilities (adaptive prediction sets), and 2.35
    with ranks.

    **Special samples.** Samples without nodes or known labels are ignored; unknown labels, see
    `ignore_label` of the estimators, agree with every label. Labels not seen in training and
    labelings that the model forbids have infinite scores. Samples without true spans have no loss.
    Unknown labels are outside of spans. The score of a span is the one of the best labeling with it
    among the k best; it is infinite if there is none. For a segment of SegmentSSVM, it is the score
    of the best of all segmentations with this segment. Segments next to unknown labels are ignored,
    because they may continue there.

    **Names** follow MAPIE: `confidence_level`, `predict_set` and `conformity_scores_`; its
    ``conformalize`` is ``fit`` with a FrozenEstimator, which replaces ``prefit=True``.

    References
    ----------
    .. [1] A. N. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster. Conformal Risk Control.
       ICLR 2024, Theorem 1.
    .. [2] V. Vovk. Cross-conformal predictors. Annals of Mathematics and Artificial Intelligence
       74, 2015.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sstruct import ChainSSVM
    >>> from sstruct.calibration import ConformalSSVM
    >>> from sstruct.datasets import make_sequences
    >>> X, y = make_sequences(n_samples=300, random_state=0)
    >>> model = ChainSSVM(random_state=0).fit(X[:100], y[:100])
    >>> sets = ConformalSSVM(FrozenEstimator(model)).fit(X[100:200], y[100:200])
    >>> labelings, is_complete = sets.predict_set(X[200:])
    >>> covered = [(rows == labels).all(axis=1).any() for rows, labels in zip(labelings, y[200:])]
    >>> bool(sum(covered) >= 85)
    True
    """

    _fitted_state: ClassVar[FittedState] = FittedState(
        {
            "estimator_": Of(type=BaseSSVM),
            "conformity_scores_": Array(dtype=float, shape=("m",), any_float=True),
            "_shares": Array(dtype=float, shape=("m",), least=0),
            "_n_conformity_samples": Number(whole=True, least=1),
        },
        rules=(_check_scores,),
    )

    target: Literal["labelings", "nodes", "spans"] = "labelings"
    confidence_level: float = 0.9
    k: int = 100
    scheme: Scheme = "bio"
    suffix: bool = False
    conformity_scores_: np.ndarray = field(init=False)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Compute the scores of held-out samples, and fit the estimator to all samples.

        Parameters
        ----------
        X, y : as in the estimator's ``fit``
            Samples and their labels.
        sample_weight : as in the estimator's ``fit``, optional
            Weights for the fits. Weights of samples also apply to the threshold; weights of nodes
            do not.
        groups : array-like of shape (n,), optional
            Groups for the splits.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the estimator does not support `target`, the data or a parameter are invalid, or no
            held-out sample of positive weight has a known label. The object remains unchanged.

        Warns
        -----
        UserWarning
            If the threshold for `confidence_level` is infinite.
        """
        self._check()
        X, y = self._samples(X, y)
        splits = self._splits(X, y, sample_weight, groups)
        parts = self._held_out(X, y, sample_weight, splits)
        parts_scores = [self._scores(*part) for part in parts]
        scores, samples, weights = zip(*parts_scores, strict=True)
        first = np.cumsum([0, *map(len, weights)])
        samples = [own + at for own, at in zip(samples, first)]
        weights = np.concatenate(weights)
        if not weights.any():
            raise NoNodesError(
                "no held-out sample of positive weight has a known label; prediction sets require "
                "at least one"
            )
        flat = np.concatenate(scores)
        held_out = HeldOutScores.from_samples(flat, np.concatenate(samples), weights)
        self._publish(
            {
                "estimator_": self._final_estimator(parts, X, y, sample_weight),
                "conformity_scores_": held_out.scores,
                "_shares": held_out.shares,
                "_n_conformity_samples": int(held_out.n_samples),
            }
        )
        if held_out.threshold(self.confidence_level) == np.inf:
            warn_user(self._why_infinite(held_out))
        return self

    def _scores(self, estimator, X, y, sample_weight):
        """Return the conformity scores of held-out samples, their samples, and sample weights."""
        structure, model = estimator._fitted()
        if self.target == "labelings":
            scores, is_known = labeling_gaps(structure, model, X, y)
            samples = np.arange(len(scores))
        elif self.target == "nodes":
            scores, samples = true_label_gaps(structure, model, X, y)
            is_known = np.bincount(samples, minlength=n_samples_of(X)) > 0
        else:
            finder = self._span_finder(structure, model)
            scores, samples, is_known = finder.of_truth(X, y, self.k)
        weights = is_known.astype(float)
        if sample_weight is not None and not is_of_nodes(sample_weight):
            weights *= sample_weight
        used = weights[samples] > 0
        return scores[used], samples[used], weights

    def _why_infinite(self, held_out):
        """Return the warning that the threshold is infinite."""
        level, n_samples = self.confidence_level, held_out.n_samples
        reason = f"no set has confidence_level={level:g}: "
        if held_out.allowed(level) < 0:
            needed = math.ceil(level / (1 - level) - ROUNDING)
            return reason + (
                f"it requires at least {needed} held-out samples, found {n_samples}; fit with more "
                "samples, or use a lower level"
            )
        unlisted = np.count_nonzero(held_out.scores == np.inf)
        what = {"nodes": "labels"}.get(self.target, self.target)
        searched = self.target == "spans" and isinstance(self.estimator_, ChainSSVM)
        advice = ", shorter sequences or a larger k" if searched else ""
        return reason + (
            f"{unlisted} of {len(held_out.scores)} true {what} of held-out samples are impossible "
            f"for the model or not found by it; use a lower level{advice}"
        )

    def _check(self):
        check_values(vars(self), VALID)
        super()._check()

    def _is_supported(self, estimator):
        if self.target == "nodes":
            return isinstance(estimator, BaseSSVM) and estimator._structure_class.has_distribution
        return isinstance(estimator, (ChainSSVM, SegmentSSVM))

    def _supported(self):
        if self.target == "nodes":
            return f"{WITH_DISTRIBUTION} for target='nodes'"
        return (
            f"a ChainSSVM or SegmentSSVM for target={self.target!r} (target='nodes' supports "
            f"{WITH_DISTRIBUTION})"
        )

    @reads_one_fit
    def predict_set(
        self, X: Any, *, confidence_level: float | None = None, allow_empty: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predict sets of labelings, labels or spans.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        confidence_level : float, default=None
            Between 0 and 1. By default, the parameter of this object.
        allow_empty : bool, default=False
            Whether sets of uncertain predictions may be empty, so that sets do not contain the
            truth more often than requested; see the notes of the class. Not supported for spans.

        Returns
        -------
        sets : ndarray
            For labelings, an object array with an array (m, L) for each sequence, best first, as in
            ``predict_top_k``; for 2-D X an array (m,). For SegmentSSVM with `self_transitions`, a
            list of m segmentations, each a list of (start, stop, label). For nodes, as the
            estimator's ``decision_function`` with a boolean instead of each score: whether the
            label is in the set; for rows always of shape (n, K), and for label sets (n, K, 2),
            whether the label may be off and on. For spans, a list of (start, stop, type) for each
            sequence, sorted; spans may overlap.
        is_complete : ndarray of bool of shape (n,)
            False if more than `k` labelings belong to the set, or if the threshold is infinite, so
            that no set of known labels has this confidence level; then fit with more held-out
            samples, or use a lower level.
        """
        level = self.confidence_level if confidence_level is None else confidence_level
        check_values({"confidence_level": level, "allow_empty": allow_empty}, VALID)
        if allow_empty and self.target == "spans":
            raise ValueError("allow_empty=True is not supported for target='spans'; use False")
        structure, model = self.estimator_._fitted()
        scores = self.conformity_scores_, self._shares, self._n_conformity_samples
        threshold = HeldOutScores(*scores).threshold(level, -np.inf if allow_empty else 0.0)
        if self.target == "nodes":
            if hasattr(structure, "label_scores"):
                scores = structure.label_scores(model, structure.pack(X, model))
            else:
                scores = self.estimator_.decision_function(X)
            return labels_within(scores, threshold), np.full(len(scores), threshold < np.inf)
        samples = structure.pack(X, model)
        if self.target == "labelings":
            return self._labelings(structure, model, X, samples, threshold)
        rows, kinds = self._span_finder(structure, model).within(samples, threshold, self.k)
        spans = [[] for _ in range(len(samples))]
        for i, start, stop, kind in rows.tolist():
            spans[i].append((start, stop, kinds[kind]))
        return object_array(spans), np.full(len(samples), threshold < np.inf)

    def _span_finder(self, structure, model):
        """Return the object that computes the gaps of spans."""
        if structure.spans_are_segments:
            return structure.span_gaps(model, self.scheme, self.suffix)
        return SpanGaps(structure, model, self.scheme, self.suffix)

    def _labelings(self, structure, model, X, samples, threshold):
        """Return the labelings within a threshold, and whether there are no others."""
        sets, is_complete = np.empty(len(samples), dtype=object), np.zeros(len(samples), dtype=bool)
        left, k = np.arange(len(samples)), 1
        while len(left):
            # Most samples have few labelings, so that only the others are decoded with a larger k.
            k, rest = min(8 * k, self.k), []
            # The gap of the best labeling depends on the second one.
            ranked = structure.top_k(model, samples, max(k, 2))
            for i, (codes, scores) in zip(left.tolist(), ranked, strict=True):
                inside = gaps_of_ranked(scores) <= threshold
                ended = not inside.all() or len(inside) < k
                if not ended and k < self.k:
                    rest.append(i)
                codes, inside = codes[: self.k], inside[: self.k]
                sets[i] = structure.labelings(model, samples, codes[inside])
                is_complete[i] = ended and threshold < np.inf
            left = np.array(rest, dtype=np.intp)
            if rest:
                samples = structure.pack(safe_indexing(X, left), model)
        return sets, is_complete
