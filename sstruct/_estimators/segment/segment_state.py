"""Valid fitted attributes of SegmentSSVM."""

import numpy as np

from sstruct._estimators.chain.chain_state import CHAIN_STATE
from sstruct._estimators.core.common_state import is_scored, sizes_of
from sstruct._estimators.core.fitted_state import Array, Flag, Number, Unexpected
from sstruct._problems.chain.chain_arguments import number_of_groups
from sstruct._problems.segment.segment_arguments import (
    FEATURE_KINDS,
    number_of_bins,
    segment_layout,
)


def layout_of_segments(state):
    """Return the WeightLayout of fitted attributes."""
    terms = bool(state["_boundaries"]), bool(state["_transitions"])
    n_bins = number_of_bins(state.get("duration_bins_"))
    n_groups = number_of_groups(state.get("transition_groups_"))
    segment_options = kinds_of(state), int(state.get("_n_segment_features") or 0)
    sizes = *sizes_of(state), *terms, n_bins, is_scored(state), n_groups
    return segment_layout(*sizes, *segment_options, bool(state.get("_self_transitions")))


def kinds_of(state):
    """Return the names of the features of segments of fitted attributes."""
    kinds = state.get("_segment_kinds")
    return () if kinds is None else tuple(FEATURE_KINDS[kind] for kind in kinds)


def kinds_increase(state):
    """Raise Unexpected unless kinds of features are in the order of their weights."""
    kinds = state.get("_segment_kinds")
    if kinds is not None and (np.diff(kinds) < 1).any():
        raise Unexpected("_segment_kinds", "another order", "increasing indices")


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
        # Only if whole segments have features, by name or by a function.
        "_segment_kinds": Array(
            dtype=np.int32, shape=("kinds",), least=0, most=len(FEATURE_KINDS) - 1, optional=True
        ),
        "_n_segment_features": Number(whole=True, least=1, most=2**31, optional=True),
        "_self_transitions": Flag(optional=True),
    },
    rules=(durations_are_ranges, kinds_increase),
    layout=layout_of_segments,
)
