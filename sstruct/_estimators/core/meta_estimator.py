"""Base class of estimators that fit another estimator of this package."""

from __future__ import annotations

from dataclasses import fields
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if

from sstruct._estimators.core.base import BaseSSVM, tokenized
from sstruct._estimators.core.fitted_state import CheckedState, check_parameters
from sstruct._estimators.core.missing_methods import Missing, requires_all_samples

if TYPE_CHECKING:
    # mypy does not know scikit-learn's types, and matches arguments by position with the fields of
    # a dataclass only if it knows all bases.
    class BaseEstimator:
        def __getattr__(self, name: str) -> Any: ...

    class MetaEstimatorMixin: ...
else:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin


def if_fitted_has(name):
    """Return a decorator of methods that exist if the (fitted) estimator has a method."""

    def check(meta):
        getattr(getattr(meta, meta._fitted_name, meta.estimator), name)
        return True

    return available_if(check)


def predict_given(model, X, y_partial):
    """Return the predictions of a fitted estimator, given known labels unless they are None."""
    if y_partial is None:
        return model.predict(X)
    if "y_partial" not in signature(model.predict).parameters:
        raise TypeError(f"{type(model).__name__} does not support y_partial, which must be None")
    return model.predict(X, y_partial)


def search_hint(value):
    """Return advice for errors if a search, such as GridSearchCV, is passed as an estimator."""
    # `refit` is a parameter of PathCV and of all searches of scikit-learn.
    if isinstance(value, type) or not hasattr(value, "refit"):
        return ""
    return f"; fit the {type(value).__name__} first, and pass its best_estimator_"


class MetaSSVM(CheckedState, MetaEstimatorMixin, BaseEstimator):
    """Base class of estimators whose parameter `estimator` is an estimator of this package."""

    # The attribute with the fitted estimator.
    _fitted_name: ClassVar[str] = "estimator_"

    def __dask_tokenize__(self):
        return tokenized(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        estimator = inner_estimator(getattr(self, "estimator", None))
        if isinstance(estimator, BaseSSVM):  # others raise an error when they are used
            inner = get_tags(estimator)
            for name in ("estimator_type", "target_tags", "input_tags", "classifier_tags"):
                setattr(tags, name, getattr(inner, name))
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Get metadata routing of this object: ``fit`` routes sample_weight to the estimator.

        Returns
        -------
        routing : MetadataRouter
            Routing information.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def _routed(self, sample_weight):
        """Return the sample weights of the fits, or None if the estimator does not request them.

        Without metadata routing, they are those of this object.
        """
        if sample_weight is None or not get_config()["enable_metadata_routing"]:
            return sample_weight
        routed = process_routing(self, "fit", sample_weight=sample_weight)
        return routed.estimator.fit.get("sample_weight")

    def _settings(self, kind):
        """Return a dataclass whose fields are parameters."""
        check_parameters(self)
        return kind(**{each.name: getattr(self, each.name) for each in fields(kind)})

    def _stored_state(self):
        state = super()._stored_state()
        if self._is_fitted() and isinstance(self.estimator, BaseSSVM):
            state |= self._stored_with(self.estimator._template(self._attributes_of_estimator()))
        return state

    def _attributes_of_estimator(self):
        """Return the fitted attributes of the estimator, or None if it is not fitted."""
        fitted = self.__dict__.get(self._fitted_name)
        return None if fitted is None else vars(fitted)

    def _stored_with(self, template):
        """Return the part of a stored state that depends on the template of the estimator."""
        return {"estimator": template}

    partial_fit = Missing(requires_all_samples)

    @property
    def n_features_in_(self) -> int:
        """Number of features of the estimator."""
        return self._fitted_attribute("n_features_in_")

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if X has names."""
        return self._fitted_attribute("feature_names_in_")

    def _fitted_attribute(self, name) -> Any:
        """Return an attribute of the fitted estimator."""
        fitted = self.__dict__.get(self._fitted_name)
        if fitted is None:
            raise NotFittedError(f"this {type(self).__name__} has no {name} before it is fitted")
        return getattr(fitted, name)


def inner_estimator(model):
    """Return the estimator in a FrozenEstimator, or the model itself."""
    return model.estimator if isinstance(model, FrozenEstimator) else model
