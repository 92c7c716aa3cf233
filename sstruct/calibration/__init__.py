"""Calibrated probabilities and prediction sets of structured SVMs."""

from ._conformal import ConformalSSVM
from ._temperature_scaling import CalibratedSSVM

__all__ = ["CalibratedSSVM", "ConformalSSVM"]
