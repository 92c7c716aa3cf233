"""Valid fitted attributes of SegmentSSVM."""

import numpy as np

from sstruct._estimators.chain.chain_state import CHAIN_STATE
from sstruct._estimators.core.common_state import is_scored, sizes_of
from sstruct._estimators.core.fitted_state import Array, Unexpected
from sstruct._problems.chain.chain_arguments import number_of_groups
from sstruct._problems.segment.segment_arguments import number_of_bins, segment_layout


def layout_of_segments(state):
    """Return the WeightLayout of fitted attributes."""
    terms = bool(state["_boundaries"]), bool(state["_transitions"])
    n_bins = number_of_bins(state.get("duration_bins_"))
    n_groups = number_of_groups(state.get("transition_groups_"))
    return segment_layout(*sizes_of(state), *terms, n_bins, is_scored(state), n_groups)


def durations_are_ranges(state):
    """Raise Unexpected unless bins increase from 1 on, and minima are at most maxima."""
    bins, (least, most) = state.get("duration_bins_"), state["_durations"]
    if bins is not None and (len(bins) == 0 or bins[0] != 1 or (bins[1:] <= bins[:-1]).any()):
        raise Unexpected("duration_bins_", "other durations", "increasing durations from 1 on")
    if (least > most).any():
        raise Unexpected("_durations", "a minimum above a maximum", "minima and maxima")


SEGMENT_STATE = CHAIN_STATE.extended(
    {
        # Only if durations have weights.
        "duration_bins_": Array(dtype=np.int64, shape=("bins",), least=1, optional=True),
        "_durations": Array(dtype=np.int64, shape=(2, "K"), least=1),
    },
    rules=(durations_are_ranges,),
    layout=layout_of_segments,
)
