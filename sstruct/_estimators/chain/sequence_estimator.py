"""Base class of the estimators of sequences, with their common parameters and attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from sstruct._checks.types import NumericArrayLike
from sstruct._estimators.chain.chain_structure import transition_weights
from sstruct._estimators.chain.resolved_mask import without_functions
from sstruct._estimators.core.base import ScoredLabelingSSVM
from sstruct._estimators.core.weight_frame import named_weights, weights_by

Transitions = bool | NumericArrayLike | Callable[[Any, Any], Any]


@dataclass(kw_only=True, eq=False, repr=False)
class SequenceSSVM(ScoredLabelingSSVM):
    """Base class of estimators of a label for each node of a sequence."""

    start_coef_ = named_weights("start", "Weight of each label at the start of a sequence.")
    end_coef_ = named_weights("end", "Weight of each label at the end of a sequence.")
    edge_coef_ = weights_by(transition_weights, "Weight of each transition, rows from, columns to.")

    transitions: Transitions = True
    boundaries: bool = True
    transition_mask: NumericArrayLike | Callable[[Any, Any], bool] | None = None
    ignore_label: Any = None
    pairwise_scale: float | Literal["auto"] = "auto"
    pairwise_scale_: float = field(init=False)
    transition_groups_: np.ndarray = field(init=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def _stored_parameters(self, attributes):
        return without_functions(self.transition_mask, self.transitions, attributes)
