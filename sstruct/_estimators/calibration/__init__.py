"""Calibration of the probabilities of fitted models."""
