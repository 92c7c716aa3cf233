"""Decision thresholds for label sets, tuned on held-out rows."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.frozen import FrozenEstimator

from sstruct._checks.parameters import check_choice
from sstruct._checks.shown import shortened
from sstruct._compat.public_module import public_module
from sstruct._estimators.calibration.thresholds import (
    MAX_PARTS,
    SCORING,
    choose_thresholds,
    label_folds,
)
from sstruct._estimators.core.fitted_state import (
    Array,
    FittedState,
    Number,
    Of,
    Unexpected,
    reads_one_fit,
)
from sstruct._estimators.core.structure import weighted_accuracy
from sstruct._estimators.label_set.label_set_structure import has_one_label
from sstruct._estimators.label_set.partial_sets import valid_sets
from sstruct._estimators.path.folds import check_splits, n_samples_of, splits_of
from sstruct._input.indicator import (
    as_output,
    check_label_names,
    is_indicator,
    label_matrix,
    reject_label_lists,
)
from sstruct._input.ragged import check_weights
from sstruct.calibration._held_out import HeldOutMetaEstimator
from sstruct.multilabel import MultilabelSSVM


def _agrees(state):
    """Raise Unexpected unless the estimator predicts sets, and each label has a threshold."""
    model = state["estimator_"]
    if not model._is_fitted() or has_one_label(model):
        raise Unexpected("estimator_", "not fitted to label sets", "a MultilabelSSVM of label sets")
    K, found = len(model.classes_), len(state["best_threshold_"])
    if found != K:
        raise Unexpected("best_threshold_", f"of length {found}", f"{K}, the number of labels")


@public_module("sstruct.calibration")
@dataclass(kw_only=True, eq=False, repr=False)
class TunedThresholdSSVM(ClassifierMixin, HeldOutMetaEstimator):
    r"""Tune the decision thresholds of label sets for an F1 score, on held-out rows.

    Row i is predicted to have label k if its score :math:`m_{ik}`, the max-marginal of
    ``decision_function``, exceeds the threshold :math:`t_k` of the label. Without tuning, all
    thresholds are 0. For high F1 scores, lower thresholds are often better, in particular for rare
    labels [1]_. Works like :class:`sklearn.model_selection.TunedThresholdClassifierCV`, which
    supports two classes: the thresholds are chosen on the held-out rows of all splits, and then the
    estimator is fitted to all rows.

    Parameters
    ----------
    estimator : MultilabelSSVM
        The estimator, which is cloned. A fitted estimator in a
        :class:`~sklearn.frozen.FrozenEstimator` is not fitted again: all rows passed to ``fit`` are
        then held-out rows, and must not have been used for its training. In a pipeline,
        TunedThresholdSSVM must be the last step.
    cv : int, cross-validation generator or iterable, default=5
        As in scikit-learn's searches. An integer is a number of folds, in each of which every label
        has about the same frequency. Test rows of different splits may overlap, and need not cover
        all rows. For a FrozenEstimator, the splits are used only to choose the kind of thresholds
        by cross-validation, see Notes.
    n_jobs : int or None, default=None
        Number of fits in parallel, through any backend of joblib. Results do not depend on it.
    scoring : {"f1_micro", "f1_macro", "f1_samples"}, default="f1_micro"
        The score to maximize, as in scikit-learn with ``zero_division=0``: the F1 score of all
        decisions together, its mean over labels, or its mean over rows.

    Attributes
    ----------
    estimator_ : MultilabelSSVM
        The estimator, fitted to all rows, or a copy of the frozen one.
    best_threshold_ : ndarray of shape (K,)
        The threshold of each label.
    best_score_ : float
        The score on the held-out rows, where the rows of each split (or of each of up to ten groups
        of splits) are predicted with thresholds from the others.
    untuned_score_ : float
        The score on the same rows with thresholds of 0.
    classes_ : ndarray of shape (K,)
        Labels of the estimator.
    n_features_in_ : int
        Number of features of the estimator.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : For two classes.

    Notes
    -----
    The thresholds maximize the score on the held-out rows in one of several ways: no tuning; one
    threshold for all labels; or one threshold for each label. For micro and macro F1, thresholds
    per label are computed with 100, 10 or 1 additional positive rows per label, whose scores have
    the distribution of all labels, so that thresholds of rare labels stay near the shared one. Each
    of these ways is scored by cross-validation over the splits, and the best one is used.
    Thresholds are not tuned unless tuning increases this score by more than twice its standard
    error, the larger one of jackknife estimates over the splits and over 20 groups of rows. Maxima
    are exact; for micro F1, they are found by Dinkelbach's method for all labels together. Only the
    thresholds per label for the sample F1 score are a local maximum, found label by label.

    Tuning for macro F1 can reduce micro F1 and increase the Hamming loss.

    In a hierarchy, labels without all of their ancestors are removed. With constraints, as few
    labels as possible are changed such that the set satisfies them. Other interactions influence
    the scores, but a set of labels above their thresholds need not be the best set of any weights.

    In addition to the fits, the thresholds take O(n K log(n K)) operations per split and O(n K)
    memory for n rows and K labels.

    References
    ----------
    .. [1] R.-E. Fan, C.-J. Lin. A Study on Threshold Selection for Multi-label Classification.
       National Taiwan University, 2007.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from sstruct import MultilabelSSVM
    >>> from sstruct.calibration import TunedThresholdSSVM
    >>> from sstruct.datasets import make_multilabel_pairwise
    >>> X, Y = make_multilabel_pairwise(n_samples=600, n_labels=8, random_state=0)
    >>> model = MultilabelSSVM(random_state=0).fit(X[:300], Y[:300])
    >>> tuned = TunedThresholdSSVM(model, scoring="f1_micro").fit(X[:300], Y[:300])
    >>> bool(tuned.best_score_ > tuned.untuned_score_)
    True
    >>> before = f1_score(Y[300:], model.predict(X[300:]), average="micro")
    >>> after = f1_score(Y[300:], tuned.predict(X[300:]), average="micro")
    >>> bool(after > before)
    True
    """

    _fitted_state: ClassVar[FittedState] = FittedState(
        {
            "estimator_": Of(type=MultilabelSSVM),
            "best_threshold_": Array(dtype=np.float64, shape=("K",)),
            "best_score_": Number(least=0, most=1),
            "untuned_score_": Number(least=0, most=1),
        },
        rules=(_agrees,),
    )
    _example: ClassVar[str] = "MultilabelSSVM"

    scoring: Literal["f1_micro", "f1_macro", "f1_samples"] = "f1_micro"
    best_threshold_: np.ndarray = field(init=False)
    best_score_: float = field(init=False)
    untuned_score_: float = field(init=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Tune the thresholds on held-out rows, and fit the estimator to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Features.
        y : array-like, sparse matrix or data frame of shape (n, K)
            Zeros and ones, for the labels of each row.
        sample_weight : array-like of shape (n,), optional
            Nonnegative weights of the rows, in the fits and in the score.
        groups : array-like of shape (n,), optional
            Groups for the splits.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the estimator is not supported, the data or a parameter are invalid, or all held-out
            rows have weight 0. The object remains unchanged.
        """
        self._check()
        reject_label_lists(y)
        if not is_indicator(y):
            raise ValueError(
                "Unknown label type: TunedThresholdSSVM requires sets of labels, an (n, K) array y "
                f"of 0 and 1, found {shortened(y)}"
            )
        X, y = self._samples(X, y)
        frozen = isinstance(self.estimator, FrozenEstimator)
        sets = label_matrix(y, n_samples_of(X), self._n_labels(y) if frozen else None).toarray() > 0
        weights = check_weights(sample_weight, len(sets))
        splits = self._splits(X, y, groups, sets)
        parts = self._held_out(X, y, sample_weight, splits)
        held_out = [model.decision_function(rows) for model, rows, *_ in parts]
        if frozen:
            held_out = [held_out[0][test] for _, test in splits]
        thresholds, *scores = self._tuned(splits, held_out, sets, weights, parts[0][0])
        model = self._final_estimator(parts, X, y, sample_weight)
        names = ("estimator_", "best_threshold_", "best_score_", "untuned_score_")
        self._publish(dict(zip(names, (model, thresholds, *scores), strict=True)))
        return self

    def _n_labels(self, y):
        """Return the number of labels of a frozen estimator; raise if y has other ones."""
        model = self.estimator.estimator
        if has_one_label(model):
            raise ValueError("estimator was fitted to one label per row, expected label sets")
        check_label_names(y, model.classes_)
        return len(model.classes_)

    def _splits(self, X, y, groups, sets):
        """Return the splits; folds in which each label has the same frequency for an integer."""
        splits = splits_of(self.cv, False, X, y, groups)
        check_splits(splits, len(sets), self.cv)
        if self.cv is None or isinstance(self.cv, numbers.Integral):
            fold = label_folds(sets, len(splits))
            splits = [
                (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(len(splits))
            ]
        return splits

    def _tuned(self, splits, scores, sets, weights, model):
        """Return the thresholds, and their score and that of no tuning."""
        n = len(sets)
        rows = [np.arange(n)[np.asarray(test)] for _, test in splits]
        # A row in several test parts belongs to the first one, so that parts share no row.
        part_of_row = np.full(n, len(rows))
        for k, test in enumerate(rows):
            part_of_row[test] = np.minimum(part_of_row[test], k)
        at, scores = np.concatenate(rows), np.concatenate(scores)
        used = weights[at] > 0
        at, scores = at[used], scores[used]
        if len(at) == 0:
            raise ValueError("all held-out rows have weight 0; thresholds require at least one")
        parts = part_of_row[at] % MAX_PARTS
        if (parts == parts[0]).all():
            parts = label_folds(sets[at], 5)
        # The mean weight is 1, the weight of the rows that are added to those of a label.
        weight = weights[at] / weights[at].mean()
        return choose_thresholds(
            self.scoring, scores, sets[at], weight, parts, lambda each: valid_sets(model, each)
        )

    def _check(self):
        super()._check()
        check_choice("scoring", self.scoring, SCORING)

    def _is_supported(self, estimator):
        return isinstance(estimator, MultilabelSSVM)

    def _supported(self):
        return "a MultilabelSSVM"

    def _sets(self, X):
        """Return the predicted sets, (n, K) of bool."""
        scores = self.estimator_.decision_function(X)
        return valid_sets(self.estimator_, scores > self.best_threshold_)

    @reads_one_fit
    def predict(self, X: Any) -> Any:
        """Predict the labels whose scores are above their thresholds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.

        Returns
        -------
        ndarray, CSR matrix or data frame of shape (n, K)
            Zeros and ones in the format of y in ``fit``. The sets agree with the hierarchy or the
            constraints of the estimator.
        """
        model = self.estimator_
        return as_output(self._sets(X), model._model["output"], model.classes_, X)

    @reads_one_fit
    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the fraction of rows for which all labels are correct.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.
        y : as in :meth:`fit`
            True labels.
        sample_weight : array-like of shape (n,), optional
            Weight of each sample.

        Returns
        -------
        float
            Weighted fraction of rows.
        """
        structure, model = self.estimator_._fitted()
        sets, weights = structure.truth(model, structure.pack(X, model), y, sample_weight)
        return weighted_accuracy((self._sets(X) == sets).all(axis=1), weights)
