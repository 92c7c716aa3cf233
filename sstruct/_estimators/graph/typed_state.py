"""Valid fitted attributes of TypedGraphCRFSSVM."""

import numpy as np

from sstruct._estimators.core.common_state import BASE_STATE
from sstruct._estimators.core.fitted_state import (
    Array,
    DictOf,
    Each,
    Flag,
    Labels,
    ListOf,
    Number,
    Text,
    Unexpected,
    raise_unexpected,
)
from sstruct._estimators.graph.typed_constraints import FIRST, KINDS, N_COLUMNS, SECOND
from sstruct._problems.graph.typed_model import TypedModel

INFERENCE = ("auto", "expansion", "max-sum", "fwmap", "exact")

MODEL = {
    "inference": Text(choices=INFERENCE),
    "seed": Number(whole=True, least=0, most=np.iinfo(np.int32).max),
    "constraints": Array(dtype=np.int32, shape=(None, None), optional=True),
}


def types_agree(state):
    """Raise Unexpected unless each type has features and labels, and pairs are valid and sorted."""
    T, pairs = len(state["n_features_in_"]), state["_pairs"]
    if len(state["classes_"]) != T:
        raise_unexpected("classes_", state["classes_"], f"the labels of {T} types")
    names = [tuple(pair[:2]) for pair in pairs]
    if names != sorted(set(names)) or any(max(pair) >= T for pair in names):
        raise_unexpected("_pairs", pairs, f"sorted pairs of types 0 to {T - 1} without duplicates")


def constraints_agree(state):
    """Raise Unexpected unless constraints are valid and of these types."""
    model, T = state["_model"], len(state["classes_"])
    if "constraints" not in model:
        raise Unexpected("_model['constraints']", "missing", "an array, or None")
    rows, n_columns = model["constraints"], N_COLUMNS + max(map(len, state["classes_"]))
    if rows is None:
        return
    name = "_model['constraints']"
    if rows.shape[1] != n_columns or not len(rows):
        raise Unexpected(name, f"shape {rows.shape}", f"shape (n, {n_columns}), n > 0")
    most = [max(KINDS), 1, T - 1, T - 1, *2 * [np.iinfo(np.int32).max]]
    most += [FIRST | SECOND] * (n_columns - N_COLUMNS)
    least = np.where(np.isin(np.arange(n_columns), [4, 5]), -1, 0)
    if ((rows < least) | (rows > most)).any():
        raise Unexpected(name, "a number out of its range", f"least {least}, most {most}")


def typed_model(state):
    """Return the TypedModel of fitted attributes."""
    return TypedModel(
        tuple(map(int, state["n_features_in_"])),
        tuple(map(len, state["classes_"])),
        tuple(tuple(map(int, pair)) for pair in state["_pairs"]),
        bool(state["_bias"]),
    )


TYPED_STATE = BASE_STATE.extended(
    {
        "n_features_in_": ListOf(of=Number(whole=True, least=1), least=1),
        "classes_": ListOf(of=Labels(size=None), least=1),
        # The types of both ends, and the number of edge features.
        "_pairs": ListOf(
            of=Each(
                of=(
                    Number(whole=True, least=0),
                    Number(whole=True, least=0),
                    Number(whole=True, least=1),
                )
            )
        ),
        "_bias": Flag(),
        "_model": DictOf(of=MODEL),
    },
    rules=(types_agree, constraints_agree),
    layout=lambda state: typed_model(state).layout,
)
