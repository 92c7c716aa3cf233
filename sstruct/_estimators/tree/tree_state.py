"""Valid fitted attributes of TreeSSVM."""

import numpy as np

from sstruct._estimators.core.common_state import BASE_STATE
from sstruct._estimators.core.fitted_state import Array, Flag, Number, Unexpected
from sstruct._oracles.tree._max_sum import parents_first
from sstruct._problems.tree.tree_arguments import TreeModel


def is_forest(state):
    """Raise Unexpected unless the parents define a forest."""
    try:
        parents_first(state["parents_"])
    except ValueError as error:
        expected = "the parent of each part, or -1, without cycles"
        raise Unexpected("parents_", f"not a forest ({error})", expected) from None


def tree_model(state):
    """Return the TreeModel of fitted attributes."""
    return TreeModel(
        len(state["parents_"]),
        int(state["n_features_in_"]),
        int(state["n_types_"]),
        state["_bias"],
        state["_pair_scores"],
    )


TREE_STATE = BASE_STATE.extended(
    {
        "n_features_in_": Number(whole=True, least=1),
        "n_types_": Number(whole=True, least=1),
        "parents_": Array(dtype=np.int32, shape=("parts",), least=-1),
        "_bias": Flag(),
        "_pair_scores": Flag(),
    },
    rules=(is_forest,),
    layout=lambda state: tree_model(state).layout,
)
