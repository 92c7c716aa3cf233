"""Tables of a model's weights as attributes: views of one vector."""

from typing import Any

import numpy as np


def named_weights(name, doc) -> Any:
    """Return a property for a table of an estimator's weights.

    Parameters
    ----------
    name : str
        Name of the table in the estimator's WeightLayout.
    doc : str
    """

    def get(estimator: Any) -> np.ndarray:
        estimator = estimator._require_fitted()
        return estimator._layout.table(estimator._w, name)

    return property(get, doc=doc)
