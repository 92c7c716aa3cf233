"""Tomography and graph matching."""
