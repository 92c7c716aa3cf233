"""Pictures of fits and models (needs matplotlib)."""

from ._convergence import ConvergenceDisplay
from ._transition import TransitionDisplay

__all__ = ["ConvergenceDisplay", "TransitionDisplay"]
