"""Discrete tomography and graph matching."""
