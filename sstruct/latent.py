"""Structured SVMs for data with hidden labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from sstruct._checks.warn import warn_user
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.fitted_state import reads_one_fit
from sstruct._estimators.core.meta_estimator import MetaSSVM, if_fitted_has, predict_given
from sstruct._estimators.core.missing_methods import Missing, no_probabilities
from sstruct._estimators.latent.latent_fit import LatentFit
from sstruct._estimators.latent.latent_state import LATENT_STATE
from sstruct._estimators.latent.states import (
    ModelWithStates,
    attributes_of_labels,
    best_of_states,
    labels_of_states,
)

__all__ = ["LatentSSVM"]


@dataclass(kw_only=True, eq=False, repr=False)
class LatentSSVM(MetaSSVM):
    r"""Meta-estimator that trains on data with hidden labels, by completing them.

    Trains an estimator of this package on data with unknown labels, such as illegible letters,
    words without a tag, parts of a body that are not annotated, or unknown entries of a label
    matrix. Rounds alternate between two steps: complete the hidden labels with the best labels
    given the known ones, and fit the model to the completed labels. With `states_per_label`, each
    label has several hidden states with separate weights, for labels with several kinds of
    appearance. The rounds decrease

    .. math::

        J(w) = \frac{\lambda}{2} \|w\|^2 + \frac{1}{\sum_i s_i} \sum_i s_i \left(
        \max_{y, h} \left[ L_i(y) + \langle w, \phi(x_i, y, h) \rangle \right]
        - \max_h \langle w, \phi(x_i, y_i, h) \rangle \right)

    for the known labels :math:`y_i`, hidden ones h and a loss that depends only on known labels
    [1]_. J is not convex, so the result depends on the initialization, see `n_init` and `init`.

    Parameters
    ----------
    estimator : an estimator of this package
        Any estimator except :class:`MulticlassSSVM` and :class:`TypedGraphCRFSSVM`. The oracle of
        :class:`StructuredSVM` must implement ``complete``. The estimator is cloned.
    states_per_label : int, default=1
        Number of hidden states of each label, for sequences, graphs and images. Initial states are
        k-means clusters of the features of the nodes of each label.
    tol : float, default=0.001
        Stop once the relative decrease of the objective is smaller.
    max_rounds : int, default=20
        Maximum number of rounds, each of which is a fit.
    n_init : int, default=1
        Number of starts; the result with the lowest objective is returned. The first start uses a
        model fitted to the known labels, the others use such models with random sample weights.
    init : estimator or None, default=None
        Model that completes the hidden labels before the first round: an estimator of this package
        for the same labels, or a pipeline that ends in one. A more accurate model, for example with
        features that are too slow for prediction, gives better completions. It is fitted to X and
        y; see Notes. Default: `estimator`. Not supported for :class:`StructuredSVM`, whose oracle
        returns the initial completion.
    random_state : int, RandomState instance or None, default=None
        Seed of the clusters and of further starts, and of the fits if `random_state` of `estimator`
        or `init` is None.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to the last completion. With states, its labels are pairs (label, state).
    objective_ : float
        J at the weights of `estimator_`. If the decoder is not exact, this is an upper bound of J,
        provided that the objective of `estimator_` is an upper bound of its exact objective.
    history_ : dict of arrays
        Columns with one row per round of the best start: objective, J after the round; bound, dual
        and gap, the certificate of the fit of the round, whose objective is an upper bound of J;
        changed, the number of hidden labels (with states, of all states) that change with the new
        model; passes; oracle_calls; seconds since the start of ``fit``.
    n_rounds_ : int
        Number of rounds of the best start.
    n_hidden_ : int
        Number of hidden labels.
    converged_ : bool
        Whether the rounds have converged to `tol`.
    classes_ : ndarray of shape (K,)
        All labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    sstruct.ChainSSVM : With `ignore_label`, splits sequences at nodes with unknown labels.

    Notes
    -----
    A round requires a fit, which continues from the dual weights of the previous round if the
    solver has dual weights, and two passes. Without hidden labels, there is one round, the ``fit``
    of the estimator.

    ``objective`` in ``history_`` never increases: a round that would increase it, by less than the
    gap of its fit, is discarded and stops the rounds. A smaller `tol` of `estimator` allows more
    rounds. Ctrl-C keeps the best of the completed rounds, if there is one.

    An estimator passed as `init` is trained without the hidden labels: chains are split there, and
    the labels of sets are learned separately. To train it in rounds, pass a LatentSSVM. `init` is
    fitted for each of the `n_init` starts, and not used without hidden labels. Transformers of a
    pipeline get y with the markers of hidden labels.

    Samples without known labels are ignored, since they do not change J.

    References
    ----------
    .. [1] C.-N. J. Yu, T. Joachims. Learning Structural SVMs with Latent Variables. ICML 2009,
       sections 3 and 4.

    Examples
    --------
    Every second label is hidden:

    >>> from sstruct import ChainSSVM, LatentSSVM
    >>> from sstruct.datasets import make_sequences
    >>> X, y = make_sequences(n_samples=60, random_state=0)
    >>> partly = [labels.copy() for labels in y[:40]]
    >>> for labels in partly:
    ...     labels[::2] = -1
    >>> model = LatentSSVM(ChainSSVM(lam=0.01, ignore_label=-1, random_state=0), random_state=0)
    >>> model = model.fit(X[:40], partly)
    >>> model.converged_
    True
    >>> bool(model.score(X[40:], y[40:]) > 0.7)
    True
    """

    _fitted_state = LATENT_STATE

    estimator: BaseSSVM = field(kw_only=False)
    states_per_label: int = 1
    tol: float = 1e-3
    max_rounds: int = 20
    n_init: int = 1
    init: BaseEstimator | None = None
    random_state: int | np.random.RandomState | None = None
    estimator_: BaseSSVM = field(init=False)
    objective_: float = field(init=False)
    n_rounds_: int = field(init=False)
    n_hidden_: int = field(init=False)
    converged_: bool = field(init=False)
    history_: dict[str, np.ndarray] = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to labels, some of which are hidden.

        Parameters
        ----------
        X : as in the estimator's ``fit``
            Samples.
        y : as in the estimator's ``fit``
            Labels. Hidden labels are marked by the `ignore_label` of the estimator or, in sets of
            labels, by NaN, None, -1 or a mask. For :class:`ChangePointSSVM`, intervals are hidden
            change points.
        sample_weight : as in the estimator's ``fit``, optional
            Weight of each sample, or of its nodes in the loss.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            As in the estimator's ``fit``; the estimator remains unchanged.

        Warns
        -----
        ConvergenceWarning
            If `max_rounds` is reached before convergence to `tol`.
        """
        self._settings(LatentFit).run((X, y, self._routed(sample_weight)), self._publish)
        if not self.converged_:
            warn_user(
                f"LatentSSVM reached max_rounds={self.max_rounds}, and the objective still "
                f"decreases by more than tol={float(self.tol):g}. Increase max_rounds, or tol.",
                ConvergenceWarning,
            )
        return self

    def _structure(self):
        """Return the Structure of the estimator, for `init`."""
        return self.estimator._structure()

    def _first_labels(self, X, y, sample_weight, known):
        """Return the codes of all labels after a fit, if this object is `init`."""
        codes = self.fit(X, y, sample_weight).estimator_._complete(X, known, self._n_states)
        return codes // self._n_states

    def _attributes_of_estimator(self):
        return attributes_of_labels(super()._attributes_of_estimator(), self._n_states)

    @property
    def classes_(self) -> np.ndarray:
        """All labels."""
        fitted = self._snapshot()
        return labels_of_states(fitted._fitted_attribute("classes_"), fitted._n_states)

    @reads_one_fit
    def predict(self, X: Any, y_partial: Any = None) -> Any:
        """Predict the labels of the best labelings, including hidden states.

        Parameters
        ----------
        X : as in the estimator's ``predict``
            Samples.
        y_partial : as in the estimator's ``predict``, optional
            Known labels; the others are predicted given these.

        Returns
        -------
        As the estimator's ``predict``.
            The predictions.
        """
        if self._n_states > 1:
            return self._with_states().predict(X, y_partial)
        return predict_given(self.estimator_, X, y_partial)

    @if_fitted_has("decision_function")
    @reads_one_fit
    def decision_function(self, X: Any) -> Any:
        """Return the decision function of the estimator, the maximum over the states of a label.

        Parameters
        ----------
        X : as in the estimator's ``predict``
            Samples.

        Returns
        -------
        As the estimator's ``decision_function``.
            The scores.
        """
        scores = self.estimator_.decision_function(X)
        return scores if self._n_states == 1 else best_of_states(scores, self._n_states)

    predict_proba = Missing(no_probabilities)
    predict_log_proba = Missing(no_probabilities)

    @reads_one_fit
    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the score of the estimator for labels.

        Parameters
        ----------
        X, y : as in the estimator's ``score``
            Samples and their true labels; hidden ones are ignored.
        sample_weight : as in the estimator's ``score``, optional
            Weight of each sample.

        Returns
        -------
        float
            The score.
        """
        scored = self.estimator_ if self._n_states == 1 else self._with_states()
        return scored.score(X, y, sample_weight)

    def _with_states(self):
        return ModelWithStates(*self.estimator_._fitted(), self._n_states)
