"""Meta-estimators that evaluate an estimator on samples that were not used for its training."""

from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from sstruct._checks.arrays import is_partitioned
from sstruct._checks.shown import shortened
from sstruct._compat import safe_indexing
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.fit import check_samples
from sstruct._estimators.core.fitted_state import (
    FittedState,
    Of,
    check_parameters,
    reads_one_fit,
)
from sstruct._estimators.core.meta_estimator import (
    MetaSSVM,
    inner_estimator,
    predict_given,
    search_hint,
)
from sstruct._estimators.path.folds import (
    as_rows,
    check_splits,
    check_splitter,
    n_samples_of,
    splits_of,
)
from sstruct._input.ragged import check_target, sliceable_weights
from sstruct._input.threads import check_n_jobs

# The estimators whose structure has the attribute `has_distribution`, for errors.
WITH_DISTRIBUTION = (
    "one of ChainSSVM, SegmentSSVM, GraphCRFSSVM, GridCRFSSVM, TypedGraphCRFSSVM, MulticlassSSVM, "
    "MultilabelSSVM and TreeSSVM"
)


@dataclass(kw_only=True, eq=False, repr=False)
class HeldOutMetaEstimator(MetaSSVM):
    """Base class: an estimator, splits, and methods of the estimator fitted to all samples.

    A subclass implements ``fit``, declares further attributes in ``_fitted_state`` and its
    estimators in ``_supported``.
    """

    _fitted_state: ClassVar[FittedState] = FittedState({"estimator_": Of(type=BaseSSVM)})
    # The name of a supported estimator, for errors.
    _example: ClassVar[str] = "ChainSSVM"

    estimator: BaseSSVM | FrozenEstimator = field(kw_only=False)
    cv: Any = 5
    n_jobs: int | None = None
    estimator_: BaseSSVM = field(init=False)

    def _check(self):
        """Raise an error if a parameter is invalid or the estimator is not supported."""
        check_parameters(self)
        if self.n_jobs is not None:
            check_n_jobs(self.n_jobs)
        check_splitter(self.cv)
        name, estimator = type(self).__name__, inner_estimator(self.estimator)
        if isinstance(estimator, Pipeline):
            advice = (
                f"make {name} the last step of the pipeline, as in make_pipeline(transformer, "
                f"{name}({self._example}()))"
            )
            if estimator is not self.estimator:
                advice = (
                    f"use {name}(FrozenEstimator(pipeline[-1])), and pipeline[:-1].transform(X) as "
                    "X in all of its methods"
                )
            raise TypeError(f"estimator must be {self._supported()}, found a Pipeline; {advice}")
        if not self._is_supported(estimator):
            kind = ValueError if isinstance(estimator, BaseEstimator) else TypeError
            raise kind(
                f"estimator must be {self._supported()}, found {shortened(estimator)}"
                f"{search_hint(estimator)}"
            )
        if estimator is not self.estimator:
            estimator._fitted()
        elif estimator._structure().solver_option("checkpoint") is not None:
            raise ValueError(
                f"checkpoint of the solver is not supported by {name}, which makes several fits; "
                "use checkpoint=None"
            )

    def _is_supported(self, estimator):
        """Whether a value of the parameter `estimator` is supported."""
        raise NotImplementedError

    def _supported(self):
        """Describe the supported estimators, for errors."""
        raise NotImplementedError

    def _samples(self, X, y):
        """Return X and y in a form that can be split."""
        name = type(self).__name__
        if is_partitioned(X):
            raise ValueError(f"X in partitions is not supported by {name}; pass local samples")
        check_target(y, name)
        return as_rows(X, "X"), as_rows(y, "y")

    def _held_out(self, X, y, sample_weight, splits):
        """Return an estimator and its held-out samples for each split: (estimator, X, y, weights).

        X, y : as from ``_samples``
        splits : as from ``_splits``; for a FrozenEstimator, all samples are held out once
        """
        weights = (
            None if sample_weight is None else sliceable_weights(sample_weight, n_samples_of(X))
        )
        if isinstance(self.estimator, FrozenEstimator):
            return [(copy(self.estimator.estimator), X, y, weights)]
        own = None if self._routed(sample_weight) is None else weights
        models = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_rows)(self.estimator, X, y, own, train) for train, _ in splits
        )
        return [
            (model, *_rows(test, X, y, weights))
            for model, (_, test) in zip(models, splits, strict=True)
        ]

    def _splits(self, X, y, sample_weight, groups):
        """Validate all samples; return the pairs of rows for training and testing, () if frozen."""
        if isinstance(self.estimator, FrozenEstimator):
            return ()
        check_samples(clone(self.estimator)._structure(), X, y, sample_weight)
        splits = splits_of(self.cv, get_tags(self).estimator_type == "classifier", X, y, groups)
        check_splits(splits, n_samples_of(X), self.cv)
        return splits

    def _final_estimator(self, parts, X, y, sample_weight):
        """Return the estimator fitted to all samples, or the copy of the frozen one.

        parts : as from ``_held_out``; X, y : as from ``_samples``
        """
        if isinstance(self.estimator, FrozenEstimator):
            return parts[0][0]
        sample_weight = self._routed(sample_weight)
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        return clone(self.estimator).fit(X, y, **weighted)

    @reads_one_fit
    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of the estimator.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.

        Returns
        -------
        As the estimator's ``decision_function``.
            The scores.
        """
        return self.estimator_.decision_function(X)

    @reads_one_fit
    def score(self, X: Any, y: Any, sample_weight: "ArrayLike | None" = None) -> float:
        """Return the score of the estimator.

        Parameters
        ----------
        X, y : as in :meth:`fit`
            Samples and their labels.
        sample_weight : as in the estimator's ``score``, optional
            Weights of samples or nodes.

        Returns
        -------
        float
            The score, such as the weighted fraction of correctly predicted labels.
        """
        return self.estimator_.score(X, y, sample_weight)

    @property
    def classes_(self) -> np.ndarray:
        """Labels of the estimator."""
        return self._fitted_attribute("classes_")

    def _fitted_attribute(self, name):
        return getattr(self._require_fitted().estimator_, name)


class HeldOutPredictor(HeldOutMetaEstimator):
    """Base class of meta-estimators whose predictions are those of the estimator."""

    @reads_one_fit
    def predict(self, X: Any, y_partial: Any = None) -> np.ndarray:
        """Predict with the estimator.

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
        return predict_given(self.estimator_, X, y_partial)


def _rows(rows, X, y, weights):
    """Return the samples of a split."""
    some = None if weights is None else weights[rows]
    return safe_indexing(X, rows), safe_indexing(y, rows), some


def _fit_rows(estimator, X, y, weights, rows):
    """Return the estimator fitted to the training samples of a split."""
    return clone(estimator).fit(*_rows(rows, X, y, weights))
