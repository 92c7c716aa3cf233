"""Baselines for comparison: batch Frank-Wolfe and cutting plane."""
