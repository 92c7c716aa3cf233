"""OrdinalSSVM, which predicts one label from an ordered set, such as a grade, for each row."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from ordinal_structure import OrdinalStructure
from sklearn.base import ClassifierMixin

from sstruct._checks.arguments import explains_arguments
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.weight_frame import named_weights

__all__ = ["OrdinalSSVM"]


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class OrdinalSSVM(ClassifierMixin, BaseSSVM):
    """Support vector machine for ordinal labels.

    The score of the label with index y is ``y * (coef_ @ x) + intercept_[y]``, and the cost of a
    wrong label is its distance from the true one in the order of the labels [1]_. All labels share
    one weight vector, and their order is that of ``classes_``.

    Parameters
    ----------
    classes : array-like or None, default=None
        All labels, in order. If None, the sorted labels that occur in training.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features; a view.
    intercept_ : ndarray of shape (K,)
        Intercept of each label; a view.
    classes_ : ndarray of shape (K,)
        The labels, in order.

    References
    ----------
    .. [1] K. Antoniuk, V. Franc, V. Hlavac. MORD: Multi-class Classifier for Ordinal Regression.
       ECML PKDD 2013.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> y = ["1 low", "1 low", "2 medium", "2 medium", "3 high", "3 high"]
    >>> model = OrdinalSSVM(lam=0.01, tol=1e-3, random_state=0).fit(X, y)
    >>> model.predict([[0.3], [2.5], [9.0]]).tolist()
    ['1 low', '2 medium', '3 high']
    """

    classes: ArrayLike | None = None
    classes_: np.ndarray = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: np.ndarray = field(init=False)

    _structure_class = OrdinalStructure

    coef_ = named_weights("coef", "Weights of the features.")
    intercept_ = named_weights("intercept", "Intercept of each label.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on classes without an order, as in some checks
        return tags

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
        """Fit the model to labeled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Features.
        y : array-like of shape (n,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n,), optional
            Nonnegative weights.
        X_val, y_val, sample_weight_val : as X, y and sample_weight, optional
            Validation samples for early stopping.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label with the highest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n,)
            The predictions.
        """
        return self._predict(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.
        y : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), optional
            Weight of each sample.

        Returns
        -------
        float
            Weighted fraction of correct predictions.
        """
        return BaseSSVM.score(self, X, y, sample_weight)
