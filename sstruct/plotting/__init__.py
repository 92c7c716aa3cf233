"""Visualization of fits and models (requires matplotlib)."""

from ._bound import BoundDisplay
from ._calibration import CalibrationDisplay
from ._convergence import ConvergenceDisplay
from ._regularization_path import RegularizationPathDisplay
from ._segmentation import SegmentationDisplay
from ._spans import SpanDisplay
from ._transition import TransitionDisplay

__all__ = [
    "BoundDisplay",
    "CalibrationDisplay",
    "ConvergenceDisplay",
    "RegularizationPathDisplay",
    "SegmentationDisplay",
    "SpanDisplay",
    "TransitionDisplay",
]
