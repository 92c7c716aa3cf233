"""Valid fitted attributes of models of graphs and images."""

import numpy as np

from sstruct._estimators.core.common_state import (
    CERTIFICATE,
    FORM,
    LABELING_STATE,
    is_scored,
    sizes_of,
)
from sstruct._estimators.core.fitted_state import (
    DictOf,
    Flag,
    ListOf,
    Number,
    Text,
    Unexpected,
    raise_unexpected,
)
from sstruct._estimators.graph.graph_samples import n_grid_features
from sstruct._problems.graph.graph_arguments import PAIRWISE, WITH_FEATURES, graph_layout

INFERENCE = ("auto", "cut", "expansion", "max-sum", "fwmap", "exact")

MODEL = {
    "pairwise": Text(choices=PAIRWISE),
    "strength": Number(least=0),
    "connectivity": Number(whole=True, least=0, most=8),
    "attractive": Flag(),
    "inference": Text(choices=INFERENCE),
    "n_edge_features": Number(whole=True, least=0),
    "edge_names": ListOf(of=Text(), optional=True),
    "seed": Number(whole=True, least=0, most=np.iinfo(np.int32).max),
}


def edges_agree(state):
    """Raise Unexpected unless the pairwise model matches labels and edge features."""
    model, K = state["_model"], len(state["classes_"])
    G, names = model["n_edge_features"], model.get("edge_names")
    if (G > 0) != (model["pairwise"] in WITH_FEATURES):
        expected = f"the value of a model with pairwise={model['pairwise']!r}"
        raise_unexpected("_model['n_edge_features']", G, expected)
    if names is not None and len(names) != G:
        raise_unexpected(
            "_model['edge_names']", names, f"None or a name for each of {G} edge features"
        )
    if model["inference"] == "cut" and (K > 2 or not model["attractive"]):
        found = f"'cut' for {K} labels{'' if model['attractive'] else ' that may repel each other'}"
        raise Unexpected("_model['inference']", found, "two labels that attract each other")


def grid_agrees(state):
    """Raise Unexpected unless edge features match the grid."""
    model = state["_model"]
    if model["connectivity"] not in (4, 8):
        raise_unexpected("_model['connectivity']", model["connectivity"], "4 or 8")
    expected = n_grid_features(model["pairwise"], model["connectivity"])
    if model["pairwise"] in WITH_FEATURES and model["n_edge_features"] != expected:
        raise_unexpected(
            "_model['n_edge_features']", model["n_edge_features"], f"{expected} for grids"
        )


def layout_of_graphs(state):
    """Return the WeightLayout of fitted attributes."""
    model = state["_model"]
    n_edge_features = int(model["n_edge_features"])
    return graph_layout(model["pairwise"], *sizes_of(state), n_edge_features, is_scored(state))


GRAPH_STATE = LABELING_STATE.extended(
    {
        "_form": FORM,
        "_model": DictOf(of=MODEL),
        "_keeps_planes": Flag(),
    },
    rules=(edges_agree,),
    layout=layout_of_graphs,
)
GRID_STATE = GRAPH_STATE.extended({"whole_objective_": CERTIFICATE}, rules=(grid_agrees,))
