"""Pictures of fits and models (needs matplotlib)."""

from ._convergence import ConvergenceDisplay
from ._segmentation import SegmentationDisplay
from ._transition import TransitionDisplay

__all__ = ["ConvergenceDisplay", "SegmentationDisplay", "TransitionDisplay"]
