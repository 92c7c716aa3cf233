"""Fit, parameters, weights and callbacks shared by all estimators."""
