"""MulticlassSSVM: max-margin classification into one of K classes."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from sstruct._checks.arguments import explains_arguments
from sstruct._compat import num_samples
from sstruct._estimators.core.base import BaseSSVM, LabelingSSVM
from sstruct._estimators.core.documentation import shares_documentation
from sstruct._estimators.core.fitted_state import reads_one_fit
from sstruct._estimators.core.held_out import class_numbers
from sstruct._estimators.core.named_weights import named_weights, no_label_weights
from sstruct._estimators.core.texts import Common, Held
from sstruct._estimators.label_set.one_label import (
    class_scores,
    one_label_decisions,
    one_label_training,
)
from sstruct._input.labels import find_classes
from sstruct._input.losses import node_costs
from sstruct._input.ragged import labels_of_rows, pack_rows

__all__ = ["MulticlassSSVM"]


@explains_arguments
@shares_documentation(Common)
@dataclass(kw_only=True, eq=False, repr=False)
class MulticlassSSVM(ClassifierMixin, LabelingSSVM):
    r"""Multiclass SVM of Crammer and Singer: one of K classes for every row.

    Predicts one of K classes for each row of X, as :class:`sklearn.svm.LinearSVC` does, with one
    weight vector for each class, learned together [7]_. Training minimizes

    .. math::

        P(w) = \frac{\lambda}{2} \|w\|^2 + \frac{1}{\sum_i s_i} \sum_i s_i c_i
        \max_y \left[ L_i(y) - \langle w_{y_i} - w_y, x_i \rangle \right]

    where :math:`L_i` is the `loss`, and :math:`s_i` and :math:`c_i` are the weights of sample i and
    of its class. Training ends when the objective is known to be within `tol` of its minimum.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether each class has a bias.
    <bounds>
    classes : array-like or None, default=None
        All classes, in order; None: those that occur in training.
    <lam>
    loss : {"hamming", "hamming-count", "balanced"} or array-like, default="hamming-count"
        Cost of a wrong class, the margin that training asks for: 1 for ``"hamming"`` and
        ``"hamming-count"``; N / (K N_k) by the true class k for ``"balanced"``; an array (K,) of
        costs by true class, or a (K, K) cost matrix (rows: truth, zero diagonal, nonnegative), in
        the order of ``classes_``.
    class_weight : dict, "balanced" or None, default=None
        Weight c_i of each class's hinge losses, with scikit-learn's meaning: classes that a dict
        leaves out have weight 1; ``"balanced"`` is N / (K N_k) for the K classes that occur,
        counts weighted by samples.
    <rescaling>
    search : {"auto", "angular", "bisecting", "binary"}, default="auto"
        How ``rescaling="slack"`` finds the worst class. ``"auto"`` compares all of them. The others
        are meant for larger structures: ``"angular"`` is exact, ``"bisecting"`` and ``"binary"``
        may miss the worst class, but bound it.
    <solver>
    <tol>
    <certificate_every>
    <max_iter>
    <max_time>
    <early_stopping>
    <validation_fraction>
    <n_iter_no_change>
    <warm_start>
    <checkpoint>
    n_jobs : int or None, default=None
        Number of threads for oracle calls in training; -1: all processors. Results do not depend on
        it.
    <random_state>
    <verbose>

    Attributes
    ----------
    w_ : ndarray of shape (n_weights,)
        All weights in one vector: ``coef_`` and, with `fit_intercept`, ``intercept_``. A copy, made
        when you ask for it.
    coef_ : ndarray of shape (K, n_features)
        Weights of each class, for two classes too; a view.
    intercept_ : ndarray of shape (K,)
        Zero without `fit_intercept`.
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
        ``"enumeration (exact)"``; with a `search`, for example ``"enumeration, angular search
        (exact)"``.
    <history_>

    See Also
    --------
    ChainSSVM : Labels that depend on their neighbors.
    sklearn.svm.LinearSVC : With ``multi_class="crammer_singer"`` the same optimum, without
        intercept.

    Notes
    -----
    A pass costs O(nnz K) for nnz nonzero features in all. Beyond the features, memory is O(K F) for
    the weights and, per example, a few classes with their dual weights.

    <References>
    .. [7] K. Crammer, Y. Singer. On the Algorithmic Implementation of Multiclass Kernel-based
       Vector Machines. JMLR 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sstruct import MulticlassSSVM
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MulticlassSSVM(lam=0.1, random_state=0).fit(X[:1200] / 16, y[:1200])
    >>> model.status_
    'CONVERGED'
    >>> bool(model.score(X[1200:] / 16, y[1200:]) > 0.85)
    True
    """

    coef_ = named_weights("coef", "Weights of each class.")
    intercept_ = named_weights("intercept", "Bias of each class.", no_label_weights)

    _scaling = "{}"
    _fits_partitions = _samples_are_rows = True

    rescaling: str = "margin"
    search: str = "auto"
    class_weight: Any = None

    @shares_documentation(Held)
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
        """Learn from labeled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Features. Or partitions of rows on a Dask cluster, with y alike: an array or a data
            frame of Dask's, or a list of futures or delayed objects, each an array, a sparse matrix
            or a frame.
        y : array-like of shape (n,)
            Labels of any hashable type; at least two classes.
        sample_weight : array-like of shape (n,), optional
            Nonnegative; weight 2 counts as two copies, weight 0 as none.
        <X_val>
        <sample_weight_val>

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the data or a parameter are not as expected. The message names the sample; the
            estimator stays as it was.
        """
        return self._fit(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))

    def _training(self, X, y, sample_weight):
        rows = pack_rows(self, X, fitted=self._goes_on)
        return one_label_training(self, rows, y, sample_weight, self._cost)

    def _distinct_labels(self, y):
        return find_classes(labels_of_rows(y, num_samples(y)))

    def _classes_to_share(self, y):
        return class_numbers(y)

    def _cost(self, codes, weights, n_labels):
        return node_costs(self.loss, codes, weights, n_labels)[0]

    def _predict_codes(self, X):
        rows, scores = class_scores(self, X)
        return rows, scores.argmax(axis=1)

    @reads_one_fit
    def predict(self, X: Any) -> np.ndarray:
        """Find the class with the highest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n,)
            The predictions.
        """
        _, codes = self._predict_codes(X)
        return self.classes_[codes]

    @reads_one_fit
    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the score of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n, K), or (n,) for two classes
            For two classes the score of the second minus that of the first.
        """
        return one_label_decisions(self, X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Compute the accuracy.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Samples.
        y : array-like of shape (n,)
            Labels that training has not seen count as wrong.
        sample_weight : array-like of shape (n,), optional
            Weight of each sample.

        Returns
        -------
        float
            Share of labels that are right.
        """
        return BaseSSVM.score(self, X, y, sample_weight)
