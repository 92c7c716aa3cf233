"""The parts of a model's weights as attributes: views of one vector."""

from typing import Any

import numpy as np


def named_weights(name, doc, missing=None) -> Any:
    """Make the property that returns a part of an estimator's weights.

    Parameters
    ----------
    name : str
        Of the part, in the estimator's ``_views()``.
    doc : str
    missing : function of the estimator, optional
        Makes what stands for a part that the model does not have.
    """

    def get(estimator: Any) -> np.ndarray:
        estimator = estimator._require_fitted()
        views = estimator._views()
        return views[name] if missing is None or name in views else missing(estimator)

    return property(get, doc=doc)


def no_label_weights(estimator):
    """Zeros that stand for a weight a label."""
    return np.zeros(len(estimator.classes_))
