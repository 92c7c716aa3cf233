"""The result of a fit, sufficient for prediction."""

import numpy as np

from sstruct._input.class_scores import other_columns


class FittedModel:
    """The fitted attributes of an estimator: arrays and plain values.

    Parameters
    ----------
    state : FittedState
        Declares the attributes, and the layout of the weights.
    attributes : dict
        Values by name. Optional attributes may be missing.
    """

    def __init__(self, state, attributes):
        self._state = state
        vars(self).update(attributes)

    def with_weights(self, w):
        """Return the model with other weights, in the layout of the problem."""
        return FittedModel(self._state, vars(self) | {"_w": w})

    def get(self, name, default=None):
        """Return an optional attribute, or `default` if it is missing."""
        return vars(self).get(name, default)

    @property
    def layout(self):
        """The WeightLayout of the weights."""
        return self._state.layout(vars(self))

    def table(self, name):
        """Return the table of weights with a name, as a view of all weights."""
        return self.layout.table(self._w, name)

    def tables(self):
        """Return all tables of weights by name, as views of all weights."""
        return self.layout.views(self._w)

    def node_coef(self):
        """Return the weights of all columns of X, (K, n_features), including scores of classes.

        A view of the weights if there are no such scores.
        """
        coef, columns = self.table("coef"), self.get("_class_scores")
        if columns is None:
            return coef
        out = np.zeros((len(columns), self.n_features_in_))
        out[:, other_columns(columns, self.n_features_in_)] = coef
        out[np.arange(len(columns)), columns] = self.table("class_scores")[0]
        return out
