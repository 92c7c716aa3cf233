"""Valid fitted attributes of ChainSSVM."""

import numpy as np

from sstruct._estimators.core.common_state import (
    CERTIFICATE,
    FORM,
    LABELING_STATE,
    is_scored,
    sizes_of,
)
from sstruct._estimators.core.fitted_state import Array, Each, Flag, Labels, Number
from sstruct._problems.chain.chain_arguments import chain_layout, number_of_groups

MASKS = (
    Array(dtype=np.bool_, shape=("K", "K"), optional=True),
    Array(dtype=np.bool_, shape=(2, "K"), optional=True),
)


def layout_of_chains(state):
    """Return the WeightLayout of fitted attributes."""
    terms = bool(state["_boundaries"]), bool(state["_transitions"])
    n_edge_features = int(state.get("n_edge_features_in_") or 0)
    n_groups = number_of_groups(state.get("transition_groups_"))
    return chain_layout(
        *sizes_of(state), *terms, n_edge_features, is_scored(state), n_groups=n_groups
    )


CHAIN_STATE = LABELING_STATE.extended(
    {
        "_form": FORM,
        "_boundaries": Flag(),
        "_transitions": Flag(),
        "_masks": Each(of=MASKS),
        # Only if transitions share weights.
        "transition_groups_": Array(dtype=np.int32, shape=("K", "K"), least=-1, optional=True),
        "pairwise_scale_": Number(positive=True),
        # Only if sequences have edge features.
        "n_edge_features_in_": Number(whole=True, least=1, size="G", optional=True),
        "edge_feature_names_in_": Labels(size="G", strings=True, optional=True),
        "whole_objective_": CERTIFICATE,
    },
    layout=layout_of_chains,
)
