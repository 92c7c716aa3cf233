"""Visualization of fits and models (requires matplotlib)."""

from ._bound import BoundDisplay
from ._calibration import CalibrationDisplay
from ._convergence import ConvergenceDisplay
from ._dependency_trees import DependencyDisplay
from ._matching import MatchingDisplay
from ._regularization_path import RegularizationPathDisplay
from ._segmentation import SegmentationDisplay
from ._signal import SignalDisplay
from ._spans import SpanDisplay
from ._transition import TransitionDisplay

__all__ = [
    "BoundDisplay",
    "CalibrationDisplay",
    "ConvergenceDisplay",
    "DependencyDisplay",
    "MatchingDisplay",
    "RegularizationPathDisplay",
    "SegmentationDisplay",
    "SignalDisplay",
    "SpanDisplay",
    "TransitionDisplay",
]
