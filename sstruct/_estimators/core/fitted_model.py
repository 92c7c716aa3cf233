"""FittedModel: the result of a fit, sufficient for prediction."""


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
