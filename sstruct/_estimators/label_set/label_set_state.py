"""Valid fitted attributes of MultilabelSSVM."""

import numpy as np

from sstruct._estimators.core.common_state import LABELING_STATE, is_scored, sizes_of
from sstruct._estimators.core.fitted_state import (
    Array,
    DictOf,
    Flag,
    Number,
    Text,
    Unexpected,
    raise_unexpected,
)
from sstruct._estimators.label_set.interactions import DECODERS, label_decoder
from sstruct._oracles.tree._max_sum import parents_first
from sstruct._problems.label_set.label_set_arguments import label_set_layout

ONE_LABEL = "one label"
MODEL = {
    "method": Text(choices=(*DECODERS, ONE_LABEL)),
    "full": Flag(),
    # Only if rows have sets of labels.
    "output": Text(optional=True),
    "K": Number(whole=True, least=1, optional=True),
    "parents": Array(dtype=np.int64, shape=("K",), least=-1, optional=True),
    "constraints": Array(dtype=np.int32, shape=(None, None), optional=True),
}


def edges_agree(state):
    """Raise Unexpected unless edges are sorted pairs of labels."""
    edges, K = state["edges_"], len(state["classes_"])
    if len(edges) and edges.max() >= K:
        raise Unexpected("edges_", f"up to label {edges.max()}", f"labels below {K}")
    first, second = edges.T.astype(np.int64)
    if (first >= second).any() or (np.diff(first * K + second) <= 0).any():
        raise Unexpected("edges_", "not sorted", "pairs u < v, sorted, without duplicates")


def model_agrees(state):
    """Raise Unexpected unless the decoder supports these labels and edges."""
    model, edges, K = state["_model"], state["edges_"], len(state["classes_"])
    method, parents, constraints = model["method"], model.get("parents"), model.get("constraints")
    if method == ONE_LABEL:
        if len(edges):
            raise Unexpected("edges_", f"{len(edges)} edges", "no edges with one label per row")
        return
    for name in ("output", "K"):
        if model.get(name) is None:
            raise Unexpected(f"_model[{name!r}]", "missing", MODEL[name].expected())
    for name in ("parents", "constraints"):
        if name not in model:
            raise Unexpected(f"_model[{name!r}]", "missing", "an array, or None")
    if model["K"] != K:
        raise_unexpected("_model['K']", model["K"], f"{K}, the number of classes_")
    if parents is not None and method != "tree":
        raise_unexpected("_model['method']", method, "'tree' for a hierarchy")
    if constraints is not None and (parents is not None or constraints.shape[1] != K + 2):
        found = f"shape {constraints.shape}" if parents is None else "both constraints and parents"
        raise Unexpected("_model['constraints']", found, f"shape (n, {K + 2}), without parents")
    try:
        if parents is not None:
            parents_first(parents)
        label_decoder(method, K, edges, parents, whole=True, constraints=constraints)
    except ValueError as error:
        found = f"{method!r}, which is not supported ({error})"
        raise Unexpected("_model['method']", found, "a decoder for edges_ and parents") from None


LABEL_SET_STATE = LABELING_STATE.extended(
    {
        "edges_": Array(dtype=np.int32, shape=("E", 2), least=0),
        "_model": DictOf(of=MODEL),
    },
    rules=(edges_agree, model_agrees),
    layout=lambda state: label_set_layout(
        *sizes_of(state), len(state["edges_"]), state["_model"]["full"], is_scored(state)
    ),
)
