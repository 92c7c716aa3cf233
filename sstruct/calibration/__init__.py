"""Calibrated probabilities, prediction sets and tuned decision thresholds of structured SVMs."""

from __future__ import annotations

from ._conformal import ConformalSSVM
from ._temperature_scaling import CalibratedSSVM
from ._tuned_thresholds import TunedThresholdSSVM

__all__ = ["CalibratedSSVM", "ConformalSSVM", "TunedThresholdSSVM"]
