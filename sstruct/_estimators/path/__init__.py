"""Regularization paths and grids of lambda."""
