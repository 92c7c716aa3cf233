"""PathCV: lambda by cross-validation along regularization paths."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sstruct._checks.arrays import array_of, is_partitioned
from sstruct._checks.parameters import FLAG, check_number, check_values
from sstruct._checks.shown import shortened
from sstruct._checks.types import NumericArrayLike
from sstruct._checks.warn import warn_user
from sstruct._compat import safe_indexing
from sstruct._estimators.core.base import BaseSSVM, tokenized
from sstruct._estimators.core.fit_warnings import warn_of_empty
from sstruct._estimators.core.fitted_state import (
    CheckedState,
    check_parameters,
    reads_one_fit,
)
from sstruct._estimators.core.missing_methods import Missing, no_probabilities, only_all_samples
from sstruct._estimators.core.partitions import Partitions
from sstruct._estimators.path.along_lambda import LambdaGrid, Sweep, check_sweep
from sstruct._estimators.path.folds import (
    as_rows,
    best_of,
    check_scorer,
    check_splits,
    check_splitter,
    n_samples_of,
    scores_along,
    scores_at,
    splits_of,
    warn_of_unscored,
)
from sstruct._estimators.path.path_state import SEARCH_STATE
from sstruct._input.ragged import NoNodesError, sliceable_weights
from sstruct.path import KAPPA, RegularizationPath, path_options

__all__ = ["PathCV"]

Estimator = TypeVar("Estimator", bound=BaseSSVM)

# Range of a default grid: from the lam of the estimator times this number to lam divided by it.
WIDEST = 30
VALID_VALUES = {
    "warm_start": ("primal", "dual", False),
    "rule": ("best", "one-se"),
    "refit": FLAG,
}
# Entries of the result of a fold that are used only by the search.
FOR_SEARCH = "empty", "data_warnings", "is_scored"


def _has(name):
    """Return a check that the (best) estimator has a method."""

    def check(search):
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return check


@dataclass(kw_only=True, eq=False, repr=False)
class PathCV(CheckedState, MetaEstimatorMixin, BaseEstimator, Generic[Estimator]):
    """Choose the regularization strength `lam` by cross-validation.

    Works like :class:`sklearn.model_selection.GridSearchCV`, but without a grid: each fold computes
    the whole regularization path (:func:`sstruct.ssvm_path`) and scores it on the test samples, in
    about the time of a grid. With `lams`, only these values are evaluated, and each fit continues
    from the previous one.

    Parameters
    ----------
    estimator : an estimator of this package
        An estimator that :func:`sstruct.ssvm_path` accepts.
    eps : float or None, default=None
        Maximum suboptimality of the objective at each lambda, in units of the mean loss, as in
        :func:`sstruct.ssvm_path`. If None, it is relative, see `tol`.
    tol : float, default=0.03
        Without `eps`: maximum suboptimality relative to the objective; between breakpoints of a
        path, to the objective at the next larger one, and above the first one, to that of zero
        weights. The last fit uses the `tol` of the estimator.
    kappa : float or None, default=None
        As in :func:`sstruct.ssvm_path`.
    lam_min : float or None, default=None
        Smallest lambda of interest, as in :func:`sstruct.ssvm_path`.
    lams : array-like of shape (m,) or None, default=None
        Values to choose from. If None, all values from infinity to `lam_min` or, if decoding is not
        exact, 11 values from 30 times the value of `lam` to a thirtieth of it or `lam_min`.
    warm_start : {"primal", "dual", False}, default="primal"
        With `lams`, the state that a fit continues from: weights or dual weights of the previous
        fit, or nothing.
    cv : int, cross-validation generator or iterable, default=5
        As in scikit-learn's searches.
    scoring : str, callable or None, default=None
        As in scikit-learn's searches. If None, the ``score`` of the estimator. For sequences, use a
        scorer of :mod:`sstruct.metrics`; scikit-learn's names require one label per sample.
    rule : {"best", "one-se"}, default="best"
        ``"best"``: the highest mean score; ``"one-se"``: the largest lambda whose mean score is
        within one standard error (over folds) of it. Among equal scores, the largest lambda.
    refit : bool, default=True
        Whether to fit the estimator, with the best lambda and its `tol`, to all samples.
    n_jobs : int or None, default=None
        Number of folds computed in parallel, through any backend of joblib.

    Attributes
    ----------
    best_lam_ : float
        The best lambda, the largest one of an interval with equal scores.
    best_index_ : int
        Its row in ``cv_results_``.
    best_score_ : float
        Its mean score.
    best_params_ : dict
        ``{"lam": best_lam_}``.
    best_estimator_ : estimator
        Fitted to all samples, with `refit`.
    cv_results_ : dict of arrays
        As in scikit-learn's searches, with a row for each segment of the mean score, in decreasing
        order of lambda: param_lam (the upper end), params, split0_test_score etc., mean_test_score,
        std_test_score, rank_test_score, and mean_fit_time, the time of the sweep up to this row in
        seconds. If the test samples of a split have no labeled node, its scores are NaN and are not
        included in the mean.
    lam_end_ : float
        Smallest lambda reached by all folds; 0 if there is no lower limit.
    certified_ : bool
        Whether all paths are certified, see :class:`sstruct.RegularizationPath`.
    scorer_ : callable
        The scorer that was used.
    n_splits_ : int
        Number of folds.
    refit_time_ : float
        Seconds of the last fit, with `refit`.
    classes_, n_features_in_, feature_names_in_
        Attributes of the best estimator.

    See Also
    --------
    sstruct.ssvm_path : One path.
    sstruct.plotting.RegularizationPathDisplay : Draws the scores.
    sklearn.model_selection.GridSearchCV : Search over lambda and any other parameters.

    Notes
    -----
    Above the first breakpoint of a fold, weights are multiples of one vector. Predictions do not
    depend on the factor, unless a part of the model is not learned (`pairwise` is a float). The
    score of the first breakpoint is used there.

    For other parameters than lambda, use a grid search over this estimator.

    Examples
    --------
    >>> from sstruct import ChainSSVM, PathCV
    >>> from sstruct.datasets import make_sequences
    >>> X, y = make_sequences(n_samples=60, random_state=0)
    >>> search = PathCV(ChainSSVM(random_state=0), cv=3).fit(X, y)
    >>> search.certified_
    True
    >>> bool(search.best_score_ > 0.7)
    True
    >>> search.best_estimator_.lam == search.best_lam_
    True
    """

    _fitted_state = SEARCH_STATE

    estimator: Estimator = field(kw_only=False)
    eps: float | None = None
    tol: float = 0.03
    kappa: float | None = None
    lam_min: float | None = None
    lams: NumericArrayLike | None = None
    warm_start: Literal["primal", "dual", False] = "primal"
    cv: Any = 5
    scoring: str | Callable[..., float] | None = None
    rule: Literal["best", "one-se"] = "best"
    refit: bool = True
    n_jobs: int | None = None
    best_lam_: float = field(init=False)
    best_index_: int = field(init=False)
    best_score_: float = field(init=False)
    best_params_: dict[str, float] = field(init=False)
    best_estimator_: Estimator = field(init=False)
    cv_results_: dict[str, Any] = field(init=False)
    lam_end_: float = field(init=False)
    certified_: bool = field(init=False)
    scorer_: Callable[..., float] = field(init=False)
    n_splits_: int = field(init=False)
    refit_time_: float = field(init=False)

    if TYPE_CHECKING:
        # mypy does not know scikit-learn's types, and would not match arguments by position with
        # the fields of a dataclass whose base it does not know.
        def __init__(
            self,
            estimator: Estimator,
            *,
            eps: float | None = ...,
            tol: float = ...,
            kappa: float | None = ...,
            lam_min: float | None = ...,
            lams: NumericArrayLike | None = ...,
            warm_start: Literal["primal", "dual", False] = ...,
            cv: Any = ...,
            scoring: str | Callable[..., float] | None = ...,
            rule: Literal["best", "one-se"] = ...,
            refit: bool = ...,
            n_jobs: int | None = ...,
        ) -> None: ...

    def __dask_tokenize__(self):
        return tokenized(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        estimator = getattr(self, "estimator", None)
        if not isinstance(estimator, BaseSSVM):  # raises an error when it is used
            return tags
        inner = get_tags(estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.target_tags = deepcopy(inner.target_tags)
        tags.input_tags = deepcopy(inner.input_tags)
        return tags

    def __sklearn_is_fitted__(self):
        refits = isinstance(self.refit, bool | np.bool_ | int) and self.refit
        return hasattr(self, "best_estimator_" if refits else "best_lam_")

    def _is_fitted(self):
        # False after a fit that stopped after the paths of the folds.
        return self.__sklearn_is_fitted__()

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Compute the paths of all folds, choose lambda, and fit the estimator with it.

        Parameters
        ----------
        X, y : as in the estimator's ``fit``
            Samples and their labels, or partitions on a Dask cluster. All samples of a partition
            are in the same fold, and each fold is one task: a worker needs enough memory for all
            samples of a fold. `n_jobs` is ignored for partitions.
        sample_weight : as in the estimator's ``fit``, optional
            Weights for the fits; scores are not weighted.
        groups : array-like of shape (n,), optional
            Groups for the splits.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check()
        check_scorer(self.scoring, is_classifier(self), y)
        partitions = None
        if is_partitioned(X):
            if sample_weight is not None:
                raise ValueError(
                    "sample_weight is not supported for partitions by PathCV; use None"
                )
            rows = (
                isinstance(self.estimator, BaseSSVM)
                and self.estimator._structure().samples_are_rows
            )
            partitions = Partitions.of(X, y, rows)
            X, y = partitions.X, partitions.y
        X, y = as_rows(X, "X"), as_rows(y, "y")
        n_samples = n_samples_of(X)
        weights = None if sample_weight is None else sliceable_weights(sample_weight, n_samples)
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        reads_labels = is_classifier(self) and partitions is None
        splits = splits_of(self.cv, reads_labels, X, y, groups)
        check_splits(splits, n_samples, self.cv)
        if partitions is None:
            folds = Parallel(n_jobs=self.n_jobs)(
                delayed(_fold)(self, X, y, weights, train, test, scorer) for train, test in splits
            )
            rows = [np.arange(n_samples)[train] for train, _ in splits]
        else:
            folds, rows = partitions.map_splits(_path_and_scores, splits, self, scorer)
        empty, data_warnings, scored = ([fold.pop(name) for fold in folds] for name in FOR_SEARCH)
        if not self.refit:  # otherwise, the last fit warns about all samples
            found = [of_fold[some] for of_fold, some in zip(rows, empty, strict=True)]
            warn_of_empty(np.unique(np.concatenate(found)))
            for message in dict.fromkeys(chain.from_iterable(data_warnings)):
                warn_user(message)
        warn_of_unscored(np.flatnonzero(~np.array(scored)), len(folds))
        fitted = {
            "scorer_": scorer,
            "n_splits_": len(folds),
            "_folds": folds,
            "certified_": all(fold["certified"] for fold in folds),
            "lam_end_": max(fold["end"] for fold in folds),
        }
        fitted |= best_of(folds, fitted["lam_end_"], np.array(scored), self.rule)
        try:
            if self.refit:
                begin = time.perf_counter()
                model = clone(self.estimator).set_params(lam=fitted["best_lam_"])
                weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
                fitted["best_estimator_"] = model.fit(X, y, **weighted)
                fitted["refit_time_"] = time.perf_counter() - begin
        finally:  # keep the results of the folds even if the last fit fails
            self._publish(dict.fromkeys(self._fitted_state.fields) | fitted)
        return self

    def _check(self):
        """Raise if parameters are out of range."""
        check_parameters(self)
        check_number("tol", self.tol, above=0)
        eps = self.tol if self.eps is None else self.eps
        check_sweep(eps, KAPPA if self.kappa is None else self.kappa, self.lam_min)
        check_values(vars(self), VALID_VALUES)
        check_splitter(self.cv)
        if self.lams is not None:
            lams = array_of(self.lams, "lams")
            if lams.ndim != 1 or len(lams) == 0 or lams.dtype.kind not in "iuf":
                raise ValueError(
                    f"lams must be a list of positive numbers, found {shortened(self.lams)}"
                )
            for lam in lams.tolist():
                check_number("lams", lam, above=0)

    def _stored_state(self):
        state = super()._stored_state()
        if self._is_fitted() and isinstance(self.estimator, BaseSSVM):
            best = self.__dict__.get("best_estimator_")
            state["estimator"] = self.estimator._template(best and vars(best))
            if self.scoring is None:  # the scorer then contains the estimator
                state["scorer_"] = check_scoring(state["estimator"])
        return state

    def split_scores(self, lam: float) -> np.ndarray:
        """Return the score of each fold at any lambda; for a grid, at the next larger value.

        Parameters
        ----------
        lam : float
            At least ``lam_end_``.

        Returns
        -------
        ndarray of shape (n_splits,)
            One score per fold, NaN if its test samples have no labeled node.
        """
        fitted = self._snapshot()
        check_parameters(fitted)
        check_is_fitted(fitted, "lam_end_")
        self._check_state(fitted.__dict__)
        check_number("lam", lam, above=0)
        if lam < fitted.lam_end_:
            raise ValueError(f"lam={lam:g} is below the end of the paths, {fitted.lam_end_:g}")
        return scores_at(fitted._folds, lam)

    @available_if(_has("predict"))
    def predict(self, X: Any) -> Any:
        """Predict with the best estimator.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.

        Returns
        -------
        As the estimator's ``predict``.
            The predictions.
        """
        return self._best().predict(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Compute the decision function of the best estimator.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.

        Returns
        -------
        As the estimator's ``decision_function``.
            The scores.
        """
        return self._best().decision_function(X)

    @available_if(_has("predict_top_k"))
    def predict_top_k(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Predict the k best labelings with the best estimator.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        k : int
            Number of labelings.

        Returns
        -------
        As the estimator's ``predict_top_k``.
            Labelings and their scores.
        """
        return self._best().predict_top_k(X, k)

    predict_proba = Missing(no_probabilities)
    predict_log_proba = Missing(no_probabilities)
    partial_fit = Missing(only_all_samples)

    @reads_one_fit
    def score(self, X: Any, y: Any, **keywords: Any) -> float:
        """Return the score of the best estimator, computed by `scoring`.

        Parameters
        ----------
        X, y : as in :meth:`fit`
            Samples and their labels.
        **keywords : dict
            Passed to the scorer, for example sample_weight.

        Returns
        -------
        float
            The score.
        """
        best = self._best()
        return self.scorer_(best, X, y, **keywords)

    def _best(self):
        fitted = self._require_fitted()
        if not hasattr(fitted, "best_estimator_"):
            raise NotFittedError("this PathCV was fitted with refit=False and cannot predict")
        return fitted.best_estimator_

    @property
    def classes_(self) -> np.ndarray:
        """Labels of the best estimator."""
        return self._best().classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features of the best estimator."""
        return self._of_best("n_features_in_")

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if X has names."""
        return self._of_best("feature_names_in_")

    def _of_best(self, name):
        best = self.__dict__.get("best_estimator_")
        if best is None:
            raise NotFittedError(f"this PathCV has no {name} before it is fitted")
        return getattr(best, name)


def _fold(search, X, y, weights, train, test, scorer):
    """Select the samples of a fold, and return the result of `_path_and_scores`."""
    samples = [(safe_indexing(X, rows), safe_indexing(y, rows)) for rows in (train, test)]
    weights = None if weights is None else weights[train]
    return _path_and_scores(*samples, search, scorer, weights)


def _path_and_scores(train, test, search, scorer, weights=None):
    """Compute the path or grid of a fold, and score each segment of it.

    If the test samples have no labeled node, every score is NaN.

    train, test : tuple
        X and y.
    """
    sweep = Sweep(search.estimator, *train, weights)
    lams = search.lams
    if lams is None and not sweep.exact:  # a path requires gaps of at most eps
        least = sweep.training.lam / WIDEST if search.lam_min is None else search.lam_min
        lams = np.geomspace(max(WIDEST * sweep.training.lam, least), least, 11)
    relative = search.eps is None
    eps = search.tol if relative else search.eps
    if lams is None:
        options = path_options(eps, search.kappa, search.lam_min)
        path = RegularizationPath(sweep, *options, relative=relative)
        end, certified = path.lam_end_, path.certified_
    else:
        path = LambdaGrid(sweep, lams, float(eps), search.warm_start, relative)
        end, certified = path.lams_.min(initial=np.inf), path.certified_
    try:
        scores = scores_along(path, scorer, test)
    except NoNodesError:
        scores = None
    return {
        "lams": path.lams_,
        "scores": np.full(len(path.lams_), np.nan) if scores is None else np.array(scores),
        "is_scored": scores is not None,
        "seconds": path.history_.get("seconds", np.empty(0)),
        "end": end,
        "certified": certified,
        "empty": sweep.training.empty,
        "data_warnings": sweep.training.data_warnings,
    }
