"""LatentSSVM: structured SVMs trained on data with hidden labels."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from sstruct._checks.parameters import Range, check_values
from sstruct._checks.shown import shortened
from sstruct._checks.warn import warn_user
from sstruct._compat import num_samples
from sstruct._estimators.core.base import BaseSSVM, tokenized
from sstruct._estimators.core.fit_warnings import warn_of_empty
from sstruct._estimators.core.fitted_state import CheckedState, check_parameters, reads_one_fit
from sstruct._estimators.core.missing_methods import Missing, no_probabilities, only_all_samples
from sstruct._estimators.core.preparation import check_given
from sstruct._estimators.core.structure import weighted_accuracy
from sstruct._estimators.core.training import Samples
from sstruct._estimators.latent.latent_state import LATENT_STATE
from sstruct._estimators.latent.rounds import Latent, Rounds, concave_convex
from sstruct._estimators.latent.starts import (
    errors_of,
    first_states,
    labels_by,
    last_of,
    randomly_weighted,
    seeded,
)
from sstruct._input.completion import KnownLabels
from sstruct._input.labels import as_labels
from sstruct._input.partial import known_codes
from sstruct._input.per_sample import PerSample
from sstruct._solvers.core.seed import random_of
from sstruct.custom import StructuredSVM

__all__ = ["LatentSSVM"]

# A table of transitions between the states of one label then has 10^8 entries.
MOST_STATES = 10_000
VALID_VALUES = {
    "states_per_label": Range(least=1, whole=True),
    "tol": Range(least=0),
    "max_rounds": Range(least=1, whole=True),
    "n_init": Range(least=1, whole=True),
}


def _has(name):
    """Return a check that the estimator has a method."""

    def check(latent):
        getattr(getattr(latent, "estimator_", latent.estimator), name)
        return True

    return check


@dataclass(kw_only=True, eq=False, repr=False)
class LatentSSVM(CheckedState, MetaEstimatorMixin, BaseEstimator):
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
    [1]_. J is not convex; the rounds converge to a local solution.

    Parameters
    ----------
    estimator : an estimator of this package
        :class:`ChainSSVM`, :class:`GraphCRFSSVM`, :class:`GridCRFSSVM`, :class:`TreeSSVM`,
        :class:`MultilabelSSVM`, or :class:`StructuredSVM` with an oracle that implements
        ``complete``. It is cloned.
    states_per_label : int, default=1
        Range of hidden states of each label, for chains, graphs and images. Initial states are
        k-means clusters of the features of the nodes of each label.
    tol : float, default=0.001
        Stop once the relative decrease of the objective is smaller.
    max_rounds : int, default=20
        Maximum number of rounds, each of which is a fit.
    n_init : int, default=1
        Range of starts; the result with the lowest objective is returned. The first one starts
        from a model of the known labels, the others from such models with random sample weights.
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
        J at the weights of `estimator_`. If its decoder is not exact, an upper bound, provided that
        the objective of `estimator_` is one.
    history_ : dict of arrays
        Columns with one row per round of the best start: objective, J after the round; bound, dual
        and gap, the certificate of its fit, whose objective is an upper bound of J; changed, the
        number of hidden labels (with states, of all states) that change with the new model; passes;
        oracle_calls; seconds since the start.
    n_rounds_ : int
        Range of rounds of the best start.
    n_hidden_ : int
        Range of hidden labels.
    converged_ : bool
        Whether the rounds have converged to `tol`.
    classes_ : ndarray of shape (K,)
        All labels.
    n_features_in_ : int
        Range of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    sstruct.ChainSSVM : With `ignore_label`, splits sequences at nodes with unknown labels.

    Notes
    -----
    A round requires a fit, which continues from the dual weights of the last one if the solver has
    dual weights, and two passes. Without hidden labels, there is one round, the ``fit`` of the
    estimator.

    ``objective`` in ``history_`` never increases: a round that would increase it, by less than the
    gap of its fit, is discarded and stops the rounds. A smaller `tol` of `estimator` allows more
    rounds.

    An estimator passed as `init` is trained without the hidden labels: chains are split there, and
    the labels of sets are learned separately. To train it in rounds, pass a LatentSSVM. `init` is
    fitted for each of the `n_init` starts, and not used without hidden labels. Transformers of a
    pipeline get y with the markers of hidden labels.

    Samples without known labels are ignored. They would not change J.

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

    def __dask_tokenize__(self):
        return tokenized(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        estimator = getattr(self, "estimator", None)
        if not isinstance(estimator, BaseSSVM):  # raises an error when it is used
            return tags
        inner = get_tags(estimator)
        tags.estimator_type = inner.estimator_type
        tags.target_tags = inner.target_tags
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags

    def _check_parameters(self):
        check_parameters(self)
        if not isinstance(self.estimator, BaseSSVM):
            hint = "; put LatentSSVM at the end of the pipeline"
            raise TypeError(
                "estimator must be an estimator of this package, found "
                f"{shortened(self.estimator)}{hint * isinstance(self.estimator, Pipeline)}"
            )
        check_values(vars(self), VALID_VALUES)
        structure = self.estimator._structure()
        if structure.checkpoint is not None:
            raise ValueError(
                "checkpoint is not supported by LatentSSVM, which makes many fits; use "
                "checkpoint=None"
            )
        if structure.prior is not None:
            raise ValueError(
                "prior is not supported by LatentSSVM; use prior=None, or fit the estimator itself"
            )
        if structure.early_stopping is not False:
            raise ValueError(
                "early_stopping=True is not supported by LatentSSVM, whose rounds continue from "
                "fit to fit; use early_stopping=False"
            )
        if structure.couple_windows:
            raise ValueError(
                "couple_windows=True of the solver is not supported by LatentSSVM; use "
                "couple_windows=False"
            )
        if self.init is not None:
            self._check_init()
        if not structure.has_objective:
            raise ValueError(
                f"solver={structure.solver_name!r} has no objective, which LatentSSVM requires; "
                "use solver='mp-bcfw' or 'bcfw'"
            )

    def _check_init(self):
        last = last_of(self.init)
        if not isinstance(last, BaseSSVM | LatentSSVM):
            raise TypeError(
                "init must be an estimator of this package, or a pipeline that ends in one, found "
                f"{shortened(self.init)}"
            )
        inner = last.estimator if isinstance(last, LatentSSVM) else last
        if isinstance(self.estimator, StructuredSVM) or isinstance(inner, StructuredSVM):
            raise TypeError(
                "StructuredSVM does not support init and cannot be used as init; use init=None, "
                "since complete(x, y, None) of its oracle returns the initial completion"
            )

    def _check_given(self, X, y, sample_weight):
        """Raise if parameters, also of the estimators, are out of range or data nested too deep."""
        self._check_parameters()
        check_given(self.estimator._structure(), X, y, sample_weight)
        if self.init is not None:
            with errors_of("init"):
                last = last_of(self.init)
                if isinstance(last, LatentSSVM):
                    last._check_given(X, y, sample_weight)
                else:
                    check_given(last._structure(), X, y, sample_weight)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to labels, some of which are hidden.

        Parameters
        ----------
        X : as in the estimator's ``fit``
            Samples.
        y : as in the estimator's ``fit``
            Labels. Hidden labels are marked by the `ignore_label` of the estimator or, in sets of
            labels, by NaN, None, -1 or a mask.
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
        self._check_given(X, y, sample_weight)
        begin, random = time.perf_counter(), random_of(self.random_state)
        model = clone(self.estimator)
        if model.random_state is None and self.random_state is not None:
            model.set_params(random_state=random.randint(np.iinfo(np.int32).max))
        n_states = int(self.states_per_label)
        known = model._structure().hidden(X, y, sample_weight)
        if len(known.empty):  # warn once instead of in all fits
            warn_of_empty(known.empty)
            rest = np.delete(np.arange(num_samples(X)), known.empty)
            samples = Samples(X, y, sample_weight).of(rest)
            X, y, sample_weight = samples.X, samples.y, samples.sample_weight
            known = model._structure().hidden(X, y, sample_weight)
        if n_states > 1 and known.features is None:
            raise ValueError(
                f"states_per_label={n_states} is supported only for chains, graphs and images, "
                f"found {type(model).__name__}"
            )
        if n_states > MOST_STATES:
            raise ValueError(
                f"states_per_label must be at most {MOST_STATES}, found {shortened(n_states)}"
            )

        def seconds():
            return time.perf_counter() - begin

        if known.n_hidden == 0 and n_states == 1 and known.plain:
            best = _plain(model.fit(X, y, sample_weight), seconds())
        else:
            latent = Latent(
                X, y, sample_weight, known, n_states, float(self.tol), int(self.max_rounds)
            )
            best = self._best_start(model, latent, random, seconds)
            best.model.set_params(warm_start=self.estimator.warm_start)
            vars(best.model).pop("_warm_state", None)
        best.model.set_params(random_state=self.estimator.random_state)
        self._publish(
            {
                "estimator_": best.model,
                "objective_": float(best.objective),
                "history_": best.history(),
                "n_rounds_": len(best.rows),
                "n_hidden_": known.n_hidden,
                "converged_": best.converged,
                "_n_states": n_states,
            }
        )
        if not best.converged:
            warn_user(
                f"LatentSSVM reached max_rounds={self.max_rounds}, and the objective still "
                f"decreases by more than tol={float(self.tol):g}. Increase max_rounds, or tol.",
                ConvergenceWarning,
            )
        return self

    def _best_start(self, template, latent, random, seconds):
        """Return the Rounds of the start with the lowest objective."""
        best = None
        if self.init is not None and latent.known.n_hidden:
            latent.check_data(template)
        for start in range(int(self.n_init)):
            model = clone(template)
            codes = self._first_codes(model, latent, start > 0, random)
            refuses = "the completion by init is invalid for estimator"
            with nullcontext() if self.init is None else errors_of(refuses):
                training = latent.training(model, codes)
            found = concave_convex(model, latent, codes, training, seconds)
            if best is None or found.objective < best.objective:
                best = found
        return best

    def _first_codes(self, model, latent, redrawn, random):
        """Return initial codes of all labels, or states; `redrawn`: with random sample weights."""
        codes, weights = latent.known.codes, latent.sample_weight
        if latent.known.n_hidden:
            if redrawn:
                weights = randomly_weighted(weights, _n_samples(latent.X), random)
            given = latent.X, latent.y, weights, latent.known
            if self.init is None:
                codes = model._first_labels(*given)
            else:
                seeds = None if self.random_state is None else random
                with errors_of("init"):
                    codes = labels_by(seeded(self.init, seeds), *given)
        if latent.n_states > 1:
            codes = first_states(latent.known, codes, latent.n_states, random)
        return codes

    def _structure(self):
        """Return the Structure of the estimator, for `init`."""
        return self.estimator._structure()

    def _first_labels(self, X, y, sample_weight, known):
        """Return the codes of all labels after a fit, if this object is `init`."""
        codes = self.fit(X, y, sample_weight).estimator_._complete(X, known, self._n_states)
        return codes // self._n_states

    def _stored_state(self):
        state = super()._stored_state()
        if self._is_fitted() and isinstance(self.estimator, BaseSSVM):
            attributes, n = vars(self.estimator_), self._n_states
            if n > 1:  # masks and groups of transitions refer to states
                edges, boundaries = attributes.get("_masks", (None, None))
                groups = attributes.get("transition_groups_")
                attributes = {
                    "classes_": self.classes_,
                    "_masks": (
                        _of_labels(edges, n),
                        None if boundaries is None else boundaries[:, ::n],
                    ),
                    "transition_groups_": _of_labels(groups, n),
                }
            state["estimator"] = self.estimator._template(attributes)
        return state

    @property
    def classes_(self) -> np.ndarray:
        """All labels."""
        fitted = self._snapshot()
        classes = fitted._of_fitted("classes_")
        if fitted._n_states == 1:
            return classes
        return as_labels([label for label, _ in classes[:: fitted._n_states].tolist()])

    @property
    def n_features_in_(self) -> int:
        """Range of features."""
        return self._of_fitted("n_features_in_")

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if X has names."""
        return self._of_fitted("feature_names_in_")

    def _of_fitted(self, name):
        if "estimator_" not in self.__dict__:
            raise AttributeError(f"this LatentSSVM has no {name} before it is fitted")
        return getattr(self.estimator_, name)

    def _decoded(self, X, y_partial=None):
        """Return structure and packed samples, and the codes of labels or their states."""
        structure, model = self.estimator_._fitted()
        samples = structure.pack(X, model)
        nodes = getattr(samples, "nodes", samples)
        if y_partial is None:
            return structure, nodes, structure.decode(model, samples) // self._n_states
        shapes = getattr(nodes, "shapes", None)
        known = known_codes(y_partial, nodes, self.classes_, structure.ignore_label, shapes)
        known = KnownLabels(known, np.ones(len(known), dtype=bool))
        codes = structure.complete(model, X, known, self._n_states)
        return structure, nodes, codes // self._n_states

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
        if self._n_states == 1:
            return self.estimator_.predict(X, *([] if y_partial is None else [y_partial]))
        _, nodes, codes = self._decoded(X, y_partial)
        return nodes.like_input(self.classes_[codes])

    @available_if(_has("decision_function"))
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
        if self._n_states == 1:
            return scores

        def best(scores):
            return scores.reshape(*scores.shape[:-1], -1, self._n_states).max(axis=-1)

        return PerSample.of(map(best, scores)) if scores.dtype == object else best(scores)

    predict_proba = Missing(no_probabilities)
    predict_log_proba = Missing(no_probabilities)
    partial_fit = Missing(only_all_samples)

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
        if self._n_states == 1:
            return self.estimator_.score(X, y, sample_weight)
        structure, nodes, codes = self._decoded(X)
        truth, weights = structure.truth_of_nodes(self.classes_, nodes, y, sample_weight)
        return weighted_accuracy(codes == truth, weights)


def _of_labels(table, n_states):
    """Return a table of pairs of states as a table of pairs of labels; None stays None."""
    return None if table is None else table[::n_states, ::n_states].copy()


def _n_samples(X):
    """Return the number of samples of a list or matrix."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _plain(model, seconds):
    """Return the Rounds of a fit without hidden labels."""
    row = {
        "objective": model.objective_, "bound": model.objective_, "dual": model.dual_objective_,
        "gap": model.dual_gap_, "changed": 0, "passes": model.n_iter_,
        "oracle_calls": model.n_oracle_calls_, "seconds": seconds,
    }  # fmt: skip
    return Rounds(model, model.objective_, True, [row])
