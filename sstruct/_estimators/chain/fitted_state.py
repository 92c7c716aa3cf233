"""What the attributes of a fitted ChainSSVM are to be."""

import numpy as np

from sstruct._estimators.core.common_state import CERTIFICATE, LABELING_STATE, label_rows
from sstruct._estimators.core.fitted_state import Array, Each, Labels, Number
from sstruct._problems.chain.arguments import edge_feature_size

MASKS = (
    Array(dtype=np.bool_, shape=("K", "K"), optional=True),
    Array(dtype=np.bool_, shape=(2, "K"), optional=True),
)


def chain_weights(state):
    """Return the size of a chain's weights."""
    G = state.get("n_edge_features_in_") or 0
    return label_rows(state) + edge_feature_size(len(state["classes_"]), int(G))


CHAIN_STATE = LABELING_STATE.extended(
    {
        "_masks": Each(of=MASKS),
        "pairwise_scale_": Number(positive=True),
        # Where sequences have such features; older pickles know of none.
        "n_edge_features_in_": Number(whole=True, least=1, size="G", optional=True),
        "edge_feature_names_in_": Labels(size="G", strings=True, optional=True),
        "whole_objective_": CERTIFICATE,
    },
    n_weights=chain_weights,
)
