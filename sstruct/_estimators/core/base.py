"""Base classes of all estimators."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from sstruct._checks.arguments import other_name
from sstruct._checks.arrays import is_partitioned
from sstruct._checks.shown import shortened
from sstruct._checks.types import ClassWeight, Loss, NumericArrayLike, SolverName
from sstruct._compat import CALLBACK_ATTRIBUTES, with_callbacks
from sstruct._estimators.core.callbacks import CallbackSupport, FitTask
from sstruct._estimators.core.common_state import BASE_STATE
from sstruct._estimators.core.fit import (
    Fit,
    check_given,
    prepare_training,
    prior_digest,
    training_of,
)
from sstruct._estimators.core.fit_warnings import warn_of_empty
from sstruct._estimators.core.fitted_model import FittedModel
from sstruct._estimators.core.fitted_state import (
    CheckedState,
    FittedState,
    check_parameters,
    of_format,
    parameter_names,
)
from sstruct._estimators.core.missing_methods import (
    AvailableIf,
    Missing,
    no_probabilities,
    only_for_sequences,
)
from sstruct._estimators.core.online import check_same_model, structure_for_partial_fit
from sstruct._estimators.core.partitions import parted_score
from sstruct._estimators.core.prior import with_prior
from sstruct._estimators.core.structure import Structure
from sstruct._estimators.core.training import Samples
from sstruct._estimators.core.weight_frame import (
    named_weights,
    names_of_features,
    weight_frame,
    weights_by,
)
from sstruct._input.class_scores import other_columns
from sstruct.solvers import MPBCFW, SOLVER_OF_NAME, BaseSolver

PICKLE_FORMAT = 1


@dataclass(kw_only=True, eq=False, repr=False)
class BaseSSVM(CheckedState, CallbackSupport, BaseEstimator):
    """Base class of structured SVMs: parameters and fitted attributes.

    A subclass sets ``_structure_class`` and implements ``fit``, which calls ``_fit``, and
    ``predict``.
    """

    # Parameters of all estimators, and attributes of fitted ones. An estimator is a dataclass, so
    # each parameter and its default are declared only once: here, or in the subclass that adds it.
    lam: float | Literal["auto"] = "auto"
    solver: SolverName | BaseSolver = "auto"
    bounds: NumericArrayLike | None = None
    prior: Self | NumericArrayLike | None = None
    tol: float = 1e-2
    max_iter: int = 1000
    max_time: float | None = None
    warm_start: bool | Literal["dual", "primal"] = False
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
    lam_: float = field(init=False)
    solver_: str = field(init=False)
    n_iter_: int = field(init=False)
    n_oracle_calls_: int = field(init=False)
    objective_: float = field(init=False)
    dual_objective_: float = field(init=False)
    dual_gap_: float = field(init=False)
    status_: str = field(init=False)
    converged_: bool = field(init=False)
    inference_: str = field(init=False)
    history_: dict[str, np.ndarray] = field(init=False)

    _structure_class: ClassVar[type[Structure]] = Structure
    # The FittedState of the structure.
    _fitted_state: ClassVar[FittedState] = BASE_STATE

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        cls._fitted_state = cls._structure_class.state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # No estimator type, so that cv=5 does not inspect structured targets.
        tags.estimator_type = None
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def _structure(self, state=None):
        """Return the Structure of the parameters, including those that a subclass hides.

        state : snapshot of the attributes of the estimator; default: the current attributes
        """
        kind, state = type(self), self.__dict__ if state is None else state
        names = parameter_names(kind)
        try:
            parameters = dict(zip(names, map(state.__getitem__, names)))
        except KeyError:  # a parameter is a default of the class, or missing in the file of a model
            check_parameters(self, state)
            parameters = {k: state[k] if k in state else getattr(kind, k) for k in names}
        return self._structure_class(kind.__name__, parameters)

    def _fitted(self):
        """Return the Structure and the FittedModel of one consistent snapshot of the attributes.

        Raises
        ------
        NotFittedError
            Before a fit.
        ValueError
            If fitted attributes are invalid.
        """
        state = self.__dict__.copy()  # atomic with respect to other threads
        structure = self._structure(state)
        if "_w" not in state:
            check_is_fitted(self)
        known = self._check_state(state)
        if "model" not in known:
            known["model"] = self._model_of_fit(state)
        return structure, known["model"]

    def _model_of_fit(self, state=None):
        """Return the FittedModel of fitted attributes, without validation."""
        state = self.__dict__ if state is None else state
        names = self._fitted_state.fields
        return FittedModel(self._fitted_state, {k: state[k] for k in names if k in state})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the solver object, if `solver` is one.

        Returns
        -------
        params : dict
            Values by name.
        """
        params = super().get_params(deep)
        return {k: v for k, v in params.items() if not k.startswith("prior__")}

    def __sklearn_clone__(self):
        if not isinstance(self.prior, BaseEstimator):
            return super().__sklearn_clone__()
        # A clone of a fitted prior would not be fitted, so it is shared.
        template = copy(self)
        template.prior = None
        other = super(BaseSSVM, template).__sklearn_clone__()
        other.prior = self.prior
        return other

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        self
            The estimator itself.
        """
        names = self.get_params(deep=False) if params else {}
        for name, value in params.items():
            if name.startswith("prior__"):
                raise ValueError(
                    f"{name} is a parameter of the prior, a fitted model that cannot be changed; "
                    "set prior to another model"
                )
            solver = params.get("solver", self.solver)
            if name.startswith("solver__") and isinstance(solver, str):
                kind = SOLVER_OF_NAME.get(solver, MPBCFW).__name__
                raise ValueError(
                    f"solver={solver!r} is a name and has no options to set; use an object, "
                    f"solver={kind}({name.removeprefix('solver__')}=...)"
                )
            known = other_name(type(self).__name__, names, name, value)
            if known is not None:
                raise ValueError(known)
        return super().set_params(**params)

    @with_callbacks
    def _fit(self, X, y, sample_weight, training=None, validation=None):
        """Run the solver and set all fitted attributes; called by ``fit`` of subclasses.

        training : the Training of the data, or None to prepare it here
        validation : X_val, y_val and sample_weight_val
        """
        structure, samples = self._structure(), Samples(X, y, sample_weight)
        warm = self.__dict__.get("_warm_state") if structure.warm_start else None
        if warm is not None:
            self._check_state()
            structure.last_fit = self._model_of_fit()
        if training is None:
            training = training_of(structure, samples, Samples(*validation))
        return self._solve(Fit(structure, training, warm), (X, y, sample_weight))

    @with_callbacks
    def _fit_part(self, X, y, classes, sample_weight):
        """Make one step per sample, continuing from the last call; called by `partial_fit`."""
        structure, model = self._structure(), None
        check_given(structure, X, y, sample_weight)
        if self._is_fitted():
            _, model = self._fitted()
        structure = structure_for_partial_fit(with_prior(structure), model, y, classes)
        training = prepare_training(structure, Samples(X, y, sample_weight), model=model)
        warn_of_empty(training.empty)
        fit = Fit(structure, training, online=True)
        if model is not None:
            check_same_model(model, training)
            # Calls without feature names keep the names of earlier calls.
            names = model.get("feature_names_in_")
            training.attributes |= {} if names is None else {"feature_names_in_": names}
            fit.setup.warm = model._steps
            if fit.setup.warm["bounded"] != (fit.setup.bounds is not None):
                raise ValueError("bounds were added or removed since the last call; use a clone")
            if fit.setup.warm["prior"] != prior_digest(training):
                raise ValueError("prior has changed since the last call; use a clone")
        return self._solve(fit, (X, y, sample_weight))

    def _predict(self, X, y_partial=None):
        """Return the best labelings of X, given known labels; called by ``predict``."""
        structure, model = self._fitted()
        return structure.predict(model, X, y_partial)

    def _decision_function(self, X):
        """Return the scores of labels; called by ``decision_function`` of subclasses."""
        structure, model = self._fitted()
        return structure.decision_function(model, X)

    def _first_labels(self, X, y, sample_weight, known):
        """Return initial codes of all labels that agree with the KnownLabels, for LatentSSVM."""
        codes = self._structure().first_labels(X, y, sample_weight, known)
        if codes is not None:
            return codes
        model = clone(self).set_params(warm_start=False)
        return model.fit(X, y, sample_weight)._complete(X, known)

    def _complete(self, X, known, n_states=1):
        """Return the best codes of all labels, or states, that agree with the KnownLabels of X."""
        structure, model = self._fitted()
        return structure.complete(model, X, known, n_states)

    def _solve(self, fit, given):
        """Run the solver of a Fit and set all fitted attributes.

        given : the arguments of ``fit``
        """
        options, task = fit.setup.options, None
        if not CALLBACK_ATTRIBUTES.isdisjoint(vars(self)):
            max_passes = None if options.cache else options.max_iter  # cache hits are not counted
            task = FitTask(self, given, max_passes, fit.fitted_attributes)
            if task.active:
                fit.setup.callback = task.after_pass
        solution = fit.solve(self._publish)
        fit.end(solution, task)
        return self

    def _check_partial_fit(self):
        """Raise AttributeError unless the solver supports partial_fit."""
        solvers = self._structure_class.solvers
        supported = [each for each in solvers if solvers[each].supports_partial_fit]
        solver = getattr(self.solver, "name", self.solver)
        if not isinstance(solver, str) or solver not in supported:
            others = " or ".join(f'solver="{each}"' for each in supported)
            raise AttributeError(
                f"{type(self).__name__} has no partial_fit with solver={shortened(solver)}; use "
                f"{others} (how_to/learn_as_data_come in the manual)"
            )

    @partial(AvailableIf, _check_partial_fit)
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> Self:
        """Update the weights with new samples, one step per sample in the given order.

        Available for ``solver="perceptron"``, ``"pa"`` and ``"ssg"``. The first call starts at
        w = 0, or at the prior. Later calls, and calls after ``fit``, continue from the previous
        one. Splitting the samples into several calls gives exactly the weights of a single call.
        ``w_`` is the average over all steps so far, for ``"ssg"`` weighted by the numbers of the
        steps, and there is no certificate: ``objective_`` and the dual attributes are NaN. ``fit``
        with ``"ssg"`` evaluates the objective and returns the last weights instead of the average
        if they are better, so its ``w_`` may differ.

        Parameters
        ----------
        X, y : as in ``fit``
            New samples, with the same features as in earlier calls.
        classes : array-like, optional
            All labels that can occur in later calls. Required in the first call, unless the
            parameter `classes` is set, and optional in later ones. :class:`MultilabelSSVM` requires
            it only if samples have one label each. Not supported by estimators without the
            parameter `classes`, such as :class:`TreeSSVM` and :class:`StructuredSVM`.
        sample_weight : as in ``fit``
            Factor of the step of each sample; ``fit`` with ``"ssg"`` divides it by the mean weight.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the data or a parameter are invalid, or do not match earlier calls: other features,
            new classes, another solver. The estimator remains unchanged.

        Examples
        --------
        >>> from sstruct import ChainSSVM
        >>> from sstruct.datasets import make_sequences
        >>> X, y = make_sequences(n_samples=60, random_state=0)
        >>> model = ChainSSVM(solver="perceptron")
        >>> for first in range(0, 40, 10):
        ...     part = slice(first, first + 10)
        ...     model = model.partial_fit(X[part], y[part], classes=range(4))
        >>> model.n_oracle_calls_
        40
        >>> bool(model.score(X[40:], y[40:]) > 0.7)
        True
        """
        return self._fit_part(X, y, classes, sample_weight)

    predict_proba = Missing(no_probabilities)
    predict_log_proba = Missing(no_probabilities)
    predict_top_k = Missing(only_for_sequences)

    @property
    def w_(self) -> np.ndarray:
        """All weights in one vector."""
        _, model = self._fitted()
        return model.layout.public(model._w)

    def to_frame(self, feature_names: ArrayLike | None = None) -> Any:
        """Return all weights as a pandas data frame, with the labels and features they belong to.

        Parameters
        ----------
        feature_names : array-like of str of shape (n_features,), optional
            Names of the features, such as ``pipeline[:-1].get_feature_names_out()``. Default:
            ``feature_names_in_`` or, if X had no names, x0, x1, ... For :class:`StructuredSVM`,
            names of the weights; default: their indices.

        Returns
        -------
        frame : pandas.DataFrame
            One row per weight, in the order of ``w_``, with the columns

            kind
                The group of weights, usually an attribute name without its ending, such as coef,
                intercept, start, edge, or type for ``type_coef_``; w for :class:`StructuredSVM`;
                class_scores for the weight of the class scores, whose columns are not in coef.
            label, next_label or other_label
                The label, or the pair of neighboring or interacting labels. In ``edge_coef_`` of
                chains, next_label follows label. With ``pairwise="directed"``, label belongs to the
                first node of an edge. :class:`TreeSSVM` has part, type and parent_type instead;
                :class:`MultilabelSSVM` with ``pairwise="full"`` also has the value of each label.
            group
                The number of the group of transitions in ``transition_groups_``, if
                :class:`ChainSSVM` or :class:`SegmentSSVM` has groups; label and next_label are
                missing in these rows.
            duration, segment_feature, cost, sequence, first or second
                The smallest duration of a bin and the index of a feature of segments
                (:class:`SegmentSSVM`); the cost (:class:`ChangePointSSVM`, also with duration); the
                sequence of a gap and the two symbols of a pair (:class:`AlignmentSSVM`).
            feature
                Name of the feature of the node or edge.
            weight
                The weight, a float.

            All columns except weight are categorical. Values that do not apply are missing.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If the number of names differs from the number of features.

        Examples
        --------
        >>> from sstruct import ChainSSVM
        >>> X, y = [[[2.0, 0.0], [0.0, 1.0]], [[0.0, 2.0]]], [["a", "b"], ["b"]]
        >>> frame = ChainSSVM(lam=0.1, random_state=0).fit(X, y).to_frame(["warm", "wet"])
        >>> frame.columns.tolist()
        ['kind', 'label', 'next_label', 'feature', 'weight']
        >>> wet = frame.query("kind == 'coef' and feature == 'wet'")
        >>> wet.label[wet.weight.idxmax()]
        'b'
        """
        structure, model = self._fitted()
        values = structure.axis_values(model)
        if feature_names is not None:
            values["feature"] = names_of_features(feature_names, len(values["feature"]))
        if model.get("_class_scores") is not None:
            others = other_columns(model._class_scores, model.n_features_in_)
            values["feature"] = np.asarray(values["feature"])[others]
        return weight_frame(model.layout, model._w, values)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy over all nodes.

        Parameters
        ----------
        X, y : as in ``fit``
            Labels not seen in ``fit`` count as errors; nodes with ``ignore_label`` are ignored.
        sample_weight : array-like of shape (n,), or list of arrays, optional
            Weight of each sample, which applies to all its nodes. For sequences, graphs and images
            also an array per sample, with the weights of its nodes.

        Returns
        -------
        float
            Weighted fraction of correctly predicted labels.
        """
        structure, model = self._fitted()
        if structure.fits_partitions and is_partitioned(X):
            return parted_score(structure, model, X, y, sample_weight)
        samples = structure.pack(X, model)
        return structure.score(model, samples, structure.truth(model, samples, y, sample_weight))

    def __dask_tokenize__(self):
        # Dask would use only the fields of the dataclass, without the fitted attributes.
        return tokenized(self)

    def _stored_parameters(self, attributes):
        """Return the parameters that are stored in another form, given the fitted attributes."""
        return {}

    def _template(self, attributes):
        """Return a copy to store in the file of a model that was fitted with this estimator.

        attributes : fitted attributes, or None if not fitted
        """
        other = copy(self)
        other.__dict__ = self._without_functions(vars(self), attributes)
        return other

    def _without_functions(self, state, attributes):
        """Return a state for a file of a fitted model, without functions that belong to a fit."""
        state = {name: value for name, value in state.items() if name != "_skl_callbacks"}
        return state if attributes is None else state | self._stored_parameters(attributes)

    def _stored_state(self):
        state = super()._stored_state()
        if not self.warm_start:
            state.pop("_warm_state", None)
        if self._is_fitted():
            state = self._without_functions(state, vars(self))
        state["_sstruct_format"] = PICKLE_FORMAT
        return state

    def __setstate__(self, state):
        super().__setstate__(of_format(self, state, PICKLE_FORMAT))


@dataclass(kw_only=True, eq=False, repr=False)
class LabelingSSVM(BaseSSVM):
    """A BaseSSVM with feature weights and a bias for each class seen in training."""

    intercept_ = named_weights("intercept", "Bias of each label.")

    loss: Loss | NumericArrayLike = "hamming-count"
    rescaling: Literal["margin", "slack"] = "margin"
    search: Literal["auto", "bisecting", "binary"] = "auto"
    class_weight: ClassWeight | None = None
    fit_intercept: bool = True
    classes: ArrayLike | None = None
    classes_: np.ndarray = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: np.ndarray = field(init=False)


@dataclass(kw_only=True, eq=False, repr=False)
class ScoredLabelingSSVM(LabelingSSVM):
    """A LabelingSSVM that accepts scores of the classes from another model."""

    coef_ = weights_by(FittedModel.node_coef, "Weights of each label.")

    class_scores: Any = None

    @property
    def class_scores_weight_(self) -> float:
        """Weight of the class scores."""
        _, model = self._fitted()
        if model.get("_class_scores") is None:
            raise AttributeError("class_scores_weight_ exists only after a fit with class_scores")
        return float(model.table("class_scores")[0])


def tokenized(estimator):
    """Return the type and state of an estimator, which identify it for Dask."""
    from dask.base import normalize_token

    return normalize_token((type(estimator), estimator.__getstate__()))
