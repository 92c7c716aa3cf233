"""Calibrated probabilities of structured SVMs."""

from ._temperature_scaling import CalibratedSSVM

__all__ = ["CalibratedSSVM"]
