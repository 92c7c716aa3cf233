"""Tables of a model's weights as attributes: views of one vector."""

from typing import Any

import numpy as np


def named_weights(name, doc) -> Any:
    """Return a property for a table of the weights, by its name in the layout.

    Parameters
    ----------
    name : str
    doc : str
        The docstring of the property.
    """

    def get(estimator: Any) -> np.ndarray:
        _, model = estimator._fitted()
        return model.table(name)

    return property(get, doc=doc)
