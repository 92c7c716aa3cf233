"""What the attributes of a fitted model of graphs or images are to be."""

import math

import numpy as np

from sstruct._estimators.core.common_state import CERTIFICATE, LABELING_STATE, label_rows
from sstruct._estimators.core.fitted_state import (
    Flag,
    ListOf,
    Number,
    Record,
    Text,
    Unexpected,
    refuse,
)
from sstruct._estimators.graph.samples import n_grid_features
from sstruct._problems.graph.arguments import PAIRWISE, WITH_FEATURES, edge_shape

INFERENCE = ("auto", "cut", "expansion", "max-sum", "fwmap")

MODEL = {
    "pairwise": Text(choices=PAIRWISE),
    "strength": Number(least=0),
    "connectivity": Number(whole=True, least=0, most=8),
    "attractive": Flag(),
    "inference": Text(choices=INFERENCE),
    "edge_names": ListOf(of=Text(), optional=True),
    "seed": Number(whole=True, least=0, most=np.iinfo(np.int32).max),
}


def edges_agree(state):
    """The pairwise weights have the shape that the pairwise model gives them."""
    shape, model, K = state["_edge_shape"], state["_model"], len(state["classes_"])
    pairwise = model["pairwise"]
    G = int(shape[0]) if shape and pairwise in WITH_FEATURES else 1
    expected = edge_shape(pairwise, K, G)
    if tuple(shape) != expected:
        refuse("_edge_shape", shape, f"{expected}, for {K} labels and pairwise={pairwise!r}")
    names = model.get("edge_names")
    if names is not None and (pairwise not in WITH_FEATURES or len(names) != G):
        refuse("_model['edge_names']", names, f"a name for each of {G} edge features, if any")
    if model["inference"] == "cut" and (K > 2 or not model["attractive"]):
        found = f"'cut' for {K} labels{'' if model['attractive'] else ' that may repel each other'}"
        raise Unexpected("_model['inference']", found, "two that attract each other")


def grid_agrees(state):
    """Edge features are those that are made of grids."""
    shape, model = state["_edge_shape"], state["_model"]
    if model["connectivity"] not in (4, 8):
        refuse("_model['connectivity']", model["connectivity"], "4 or 8")
    expected = n_grid_features(model["pairwise"], model["connectivity"])
    if model["pairwise"] in WITH_FEATURES and shape[0] != expected:
        refuse("_edge_shape", shape, f"{expected} first, the features of a grid's edges")


def graph_weights(state):
    return label_rows({**state, "_terms": (state["_terms"][0], 0, 0)}) + _size(state)


def _size(state):
    shape = state["_edge_shape"]
    return math.prod(map(int, shape)) if shape else 0


GRAPH_STATE = LABELING_STATE.extended(
    {
        "_edge_shape": ListOf(of=Number(whole=True, least=1)),
        "_model": Record(of=MODEL),
        "_keeps_planes": Flag(),
    },
    rules=(edges_agree,),
    n_weights=graph_weights,
)
GRID_STATE = GRAPH_STATE.extended({"whole_objective_": CERTIFICATE}, rules=(grid_agrees,))
