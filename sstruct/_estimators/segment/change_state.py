"""Valid fitted attributes of ChangePointSSVM."""

import numpy as np

from sstruct._estimators.core.common_state import BASE_STATE
from sstruct._estimators.core.fitted_state import Array, Flag, Labels, Number
from sstruct._estimators.segment.segment_state import durations_are_ranges
from sstruct._problems.segment.change_arguments import COSTS, change_layout
from sstruct._problems.segment.segment_arguments import number_of_bins


def layout_of_changes(state):
    """Return the WeightLayout of fitted attributes."""
    n_bins = number_of_bins(state.get("duration_bins_"))
    return change_layout(len(state["_costs"]), int(state["n_features_in_"]), n_bins)


CHANGE_STATE = BASE_STATE.extended(
    {
        "n_features_in_": Number(whole=True, least=1, size="F"),
        "feature_names_in_": Labels(size="F", strings=True, optional=True),
        # Only if durations have weights.
        "duration_bins_": Array(dtype=np.int64, shape=("bins",), least=1, optional=True),
        # The meaning of w_ must not change if a parameter is set after the fit.
        "_costs": Array(dtype=np.int32, shape=("costs",), least=0, most=len(COSTS) - 1),
        "_durations": Array(dtype=np.int64, shape=(2, 1), least=1),
        "_scaled": Flag(),
    },
    rules=(durations_are_ranges,),
    layout=layout_of_changes,
)
