"""What the attributes of a fitted TreeSSVM are to be."""

import math

import numpy as np

from sstruct._estimators.core.common_state import BASE_STATE
from sstruct._estimators.core.fitted_state import Array, Each, Flag, Number, Unexpected
from sstruct._oracles.tree._max_sum import parents_first
from sstruct._problems.tree.arguments import TreeModel


def is_forest(state):
    """The parents are those of a forest."""
    try:
        parents_first(state["parents_"])
    except ValueError as error:
        raise Unexpected("parents_", f"no forest ({error})", "a parent before it, or -1") from None


def tree_weights(state):
    n_features, n_types = int(state["n_features_in_"]), int(state["n_types_"])
    model = TreeModel(len(state["parents_"]), n_features, n_types, *state["_terms"])
    return sum(math.prod(shape) for shape in model.shapes.values())


TREE_STATE = BASE_STATE.extended(
    {
        "n_features_in_": Number(whole=True, least=1),
        "n_types_": Number(whole=True, least=1),
        "parents_": Array(dtype=np.int32, shape=("parts",), least=-1),
        # Whether there are intercepts, pair scores.
        "_terms": Each(of=(Flag(), Flag())),
    },
    rules=(is_forest,),
    n_weights=tree_weights,
)
