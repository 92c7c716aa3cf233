"""Choose lambda by cross-validation along regularization paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted

from sstruct._checks.parameters import check_number
from sstruct._checks.types import NumericArrayLike
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.fitted_state import check_parameters, reads_one_fit
from sstruct._estimators.core.meta_estimator import MetaSSVM, if_fitted_has, predict_given
from sstruct._estimators.core.missing_methods import Missing, no_probabilities
from sstruct._estimators.path.folds import scores_at
from sstruct._estimators.path.path_search import PathSearch
from sstruct._estimators.path.path_state import SEARCH_STATE

__all__ = ["PathCV"]

Estimator = TypeVar("Estimator", bound=BaseSSVM)


@dataclass(kw_only=True, eq=False, repr=False)
class PathCV(MetaSSVM, Generic[Estimator]):
    """Choose the regularization strength `lam` by cross-validation.

    Works like :class:`sklearn.model_selection.GridSearchCV`, but without a grid: each fold computes
    the whole regularization path (:func:`sstruct.ssvm_path`) and scores it on the test samples.
    With `lams`, only these values are evaluated, and each fit continues from the previous one. A
    path takes about as long as 31 such values.

    Parameters
    ----------
    estimator : an estimator of this package
        An estimator that :func:`sstruct.ssvm_path` accepts.
    eps : float or None, default=None
        Maximum suboptimality of the objective at each lambda, in units of the mean loss, as in
        :func:`sstruct.ssvm_path`. If None, the relative suboptimality is limited by `tol` instead.
    tol : float, default=0.03
        If `eps` is None, maximum suboptimality relative to the objective. Between the breakpoints
        of a path, it is relative to the objective at the next larger breakpoint; above the first
        breakpoint, to the objective of zero weights (or the prior). The final fit uses the `tol` of
        the estimator.
    kappa : float or None, default=None
        As in :func:`sstruct.ssvm_path`.
    lam_min : float or None, default=None
        Smallest lambda of interest, as in :func:`sstruct.ssvm_path`.
    lams : array-like of shape (m,) or None, default=None
        Values to choose from. If None, all values from infinity to `lam_min`. If decoding is not
        exact, 11 values from 30 times the value of `lam` to `lam_min` or, if this is None, to a
        thirtieth of the value of `lam`.
    warm_start : {"primal", "dual", False}, default="primal"
        With `lams`, the state that a fit continues from: weights or dual weights of the previous
        fit, or nothing.
    cv : int, cross-validation generator or iterable, default=5
        As in scikit-learn's searches.
    scoring : str, callable or None, default=None
        As in scikit-learn's searches. If None, the ``score`` of the estimator. For sequences, use a
        scorer of :mod:`sstruct.metrics`; scikit-learn's names require one label per sample.
    rule : {"best", "one-se"}, default="best"
        ``"best"``: the lambda with the highest mean score; ``"one-se"``: the largest lambda whose
        mean score is within one standard error (over folds) of the highest one. Of several values
        with equal scores, the largest is chosen.
    refit : bool, default=True
        Whether to fit the estimator, with the best lambda and its `tol`, to all samples.
    n_jobs : int or None, default=None
        Number of folds computed in parallel, through any backend of joblib.

    Attributes
    ----------
    best_lam_ : float
        The best lambda; if an interval has equal scores, its largest value.
    best_index_ : int
        Row of the best lambda in ``cv_results_``.
    best_score_ : float
        Mean score of the best lambda.
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
        Time of the final fit in seconds. Only available with `refit`.
    classes_, n_features_in_, feature_names_in_
        Attributes of the best estimator.

    See Also
    --------
    sstruct.ssvm_path : Compute one path.
    sstruct.plotting.RegularizationPathDisplay : Plot the scores.
    sklearn.model_selection.GridSearchCV : Search over lambda and any other parameters.

    Notes
    -----
    Above the first breakpoint of a fold, weights are multiples of one vector. Predictions do not
    depend on the factor, unless a part of the model is fixed (`pairwise` is a float, or there is a
    prior). The score of the first breakpoint is used for all larger values.

    To choose other parameters than lambda, use a grid search over this estimator.

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
    _fitted_name = "best_estimator_"

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

    def _is_fitted(self):
        # False if the final fit, after the paths of the folds, raised an error.
        refits = isinstance(self.refit, bool | np.bool_ | int) and self.refit
        return hasattr(self, "best_estimator_" if refits else "best_lam_")

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
            Weights for the fits; scores are not weighted. Not supported for partitions.
        groups : array-like of shape (n,), optional
            Groups for the splits.

        Returns
        -------
        self
            The fitted estimator.
        """
        weights = self._routed(sample_weight)
        self._settings(PathSearch).run(X, y, weights, groups, self._publish)
        return self

    def _stored_with(self, template):
        # The default scorer contains the estimator.
        scorer = {"scorer_": check_scoring(template)} if self.scoring is None else {}
        return super()._stored_with(template) | scorer

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

    @if_fitted_has("predict")
    def predict(self, X: Any, y_partial: Any = None) -> Any:
        """Predict with the best estimator.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        y_partial : as in the estimator's ``predict``, optional
            Known labels.

        Returns
        -------
        As the estimator's ``predict``.
            The predictions.
        """
        return predict_given(self._best(), X, y_partial)

    @if_fitted_has("decision_function")
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

    @if_fitted_has("predict_top_k")
    def predict_top_k(self, X: Any, k: int, **keywords: Any) -> tuple[np.ndarray, np.ndarray]:
        """Predict the k best labelings with the best estimator.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        k : int
            Number of labelings.
        **keywords : dict
            Further arguments of the estimator's ``predict_top_k``.

        Returns
        -------
        As the estimator's ``predict_top_k``.
            Labelings and their scores.
        """
        return self._best().predict_top_k(X, k, **keywords)

    predict_proba = Missing(no_probabilities)
    predict_log_proba = Missing(no_probabilities)

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
