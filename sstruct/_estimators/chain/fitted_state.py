"""What the attributes of a fitted ChainSSVM are to be."""

import numpy as np

from sstruct._estimators.core.common_state import CERTIFICATE, LABELING_STATE, sizes_of
from sstruct._estimators.core.fitted_state import Array, Each, Flag, Labels, Number
from sstruct._problems.chain.arguments import ChainModel

MASKS = (
    Array(dtype=np.bool_, shape=("K", "K"), optional=True),
    Array(dtype=np.bool_, shape=(2, "K"), optional=True),
)


def chain_model(state):
    """Return the ChainModel of fitted attributes."""
    n_labels, _, bias = sizes_of(state)
    return ChainModel(n_labels, bias, state["_boundaries"], state["_transitions"], *state["_masks"])


def chain_layout(state):
    """Return the WeightLayout of fitted attributes."""
    n_edge_features = state.get("n_edge_features_in_") or 0
    return chain_model(state).layout(int(state["n_features_in_"]), int(n_edge_features))


CHAIN_STATE = LABELING_STATE.extended(
    {
        "_boundaries": Flag(),
        "_transitions": Flag(),
        "_masks": Each(of=MASKS),
        "pairwise_scale_": Number(positive=True),
        # Only if sequences have features of transitions.
        "n_edge_features_in_": Number(whole=True, least=1, size="G", optional=True),
        "edge_feature_names_in_": Labels(size="G", strings=True, optional=True),
        "whole_objective_": CERTIFICATE,
    },
    layout=chain_layout,
)
