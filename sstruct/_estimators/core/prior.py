"""Validate the prior of a fit against the new data."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from sstruct._checks.arrays import LARGEST, first_true, real_array
from sstruct._checks.shown import shortened
from sstruct._estimators.core.fitted_model import FittedModel
from sstruct._estimators.core.online import OF_DATA, check_same_classes, model_attributes
from sstruct._estimators.core.training import have_same_values

# Parameters that must have the values with which the prior was fitted, since they define its
# weights. Others, such as the number of features, are compared as fitted attributes.
PARAMETERS = (
    *("fit_intercept", "transitions", "boundaries", "pairwise", "connectivity"),
    *("method", "symmetric"),
)
# Attributes that do not change the meaning of a weight.
FREE = ("pairwise_scale_", "_masks", "strength")


@dataclass(frozen=True)
class Prior:
    """A validated prior.

    Attributes
    ----------
    w : ndarray of shape (n_weights,)
        In the order of ``w_``.
    model : FittedModel or None
        The model that it comes from, or None for a weight vector.
    """

    w: np.ndarray
    model: FittedModel | None = None


def with_prior(structure):
    """Return a Structure whose `prior` is a Prior or None, and which has the classes of the prior.

    Raises
    ------
    TypeError, ValueError
        If the prior is not a fitted model of the same kind or a vector, or was fitted with other
        parameters that define the weights, or with other classes.
    """
    prior = structure.parameters.get("prior")
    if prior is None or isinstance(prior, Prior):
        return structure
    if not isinstance(prior, BaseEstimator):
        return structure.with_parameters(prior=Prior(_vector(prior)))
    name = structure.estimator_name
    estimator = prior.estimator if isinstance(prior, FrozenEstimator) else prior
    if getattr(estimator, "_structure_class", None) is not type(structure):
        raise TypeError(
            f"prior is a {type(estimator).__name__}, expected a fitted {name} or a vector of "
            f"weights{'; pass its last step' * hasattr(estimator, 'steps')}"
        )
    if not estimator._is_fitted():
        raise ValueError(
            f"prior is a {name} that is not fitted. Candidates of a parameter search are cloned, "
            "which discards fits; wrap a fitted prior in sklearn.frozen.FrozenEstimator"
        )
    _, model = estimator._fitted()
    parameters = structure.parameters
    for key in PARAMETERS:
        found, expected = parameters.get(key), estimator.get_params(deep=False).get(key)
        if not have_same_values(found, expected):
            raise ValueError(
                f"{key}={shortened(found)}, but the prior was fitted with "
                f"{key}={shortened(expected)}; set {key}={shortened(expected)}"
            )
    changes = {"prior": Prior(model.layout.public(model._w), model)}
    if "classes" in parameters:
        classes = parameters["classes"]
        if classes is not None:
            advice = "use classes=None, or fit the prior with these classes"
            check_same_classes(structure, model.classes_, classes, "those of the prior", advice)
        changes["classes"] = model.classes_
    return structure.with_parameters(**changes)


def _vector(prior):
    """Return a vector of weights as an array; raise if it is invalid."""
    w = real_array(prior, "prior")
    if w.ndim != 1:
        raise ValueError(
            f"prior has shape {w.shape}, expected (n_weights,), in the order of w_, or a fitted "
            "model"
        )
    if (k := first_true(~(np.abs(w) <= LARGEST))) is not None:
        raise ValueError(f"prior[{k}] is {w[k]:g}, expected finite weights of at most {LARGEST:g}")
    return w


def prior_weights(structure, training):
    """Return the weights of the prior in the layout of the problem, or None if all are 0.

    Raises
    ------
    ValueError
        If the weights that the data and the parameters define differ from those of the prior.
    """
    prior = structure.parameters.get("prior")
    if prior is None:
        return None
    if prior.model is not None:
        _check_same_weights(structure, prior.model, training)
    n_weights = training.problem.n_weights
    layout = structure.state.layout(training.attributes | {"_w": np.zeros(n_weights)})
    if len(prior.w) != layout.public_size:
        raise ValueError(
            f"prior has {len(prior.w)} weights, but {structure.estimator_name} has "
            f"{layout.public_size} for these data"
        )
    return layout.padded(prior.w) if prior.w.any() else None


def _check_same_weights(structure, model, training):
    """Raise ValueError if a model was fitted to other features, classes or pairs of nodes."""
    now, before = training.attributes, vars(model)
    names = now.get("feature_names_in_"), before.get("feature_names_in_")
    if names[0] is not None and names[1] is not None and not np.array_equal(*names):
        raise ValueError(
            f"the feature names of X are {shortened(list(names[0]))}, but the prior was fitted "
            f"with {shortened(list(names[1]))}"
        )
    now, before = model_attributes(now), model_attributes(before)
    for name in sorted(now.keys() | before.keys(), key=lambda name: name not in OF_DATA):
        found, expected = now.get(name), before.get(name)
        if name not in FREE and not have_same_values(found, expected):
            raise ValueError(
                f"{name.strip('_') if name not in OF_DATA else name} is {shortened(found)}, but "
                f"the prior was fitted with {shortened(expected)}"
            )
