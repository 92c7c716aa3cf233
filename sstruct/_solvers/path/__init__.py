"""Regularization paths."""
