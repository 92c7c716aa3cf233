"""Validation of external input, shared by all layers."""
