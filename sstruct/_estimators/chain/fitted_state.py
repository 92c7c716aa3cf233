"""What the attributes of a fitted ChainSSVM are to be."""

import numpy as np

from sstruct._estimators.core.common_state import LABELING_STATE
from sstruct._estimators.core.fitted_state import Array, Each

MASKS = (
    Array(dtype=np.bool_, shape=("K", "K"), optional=True),
    Array(dtype=np.bool_, shape=(2, "K"), optional=True),
)
CHAIN_STATE = LABELING_STATE.extended({"_masks": Each(of=MASKS)})
