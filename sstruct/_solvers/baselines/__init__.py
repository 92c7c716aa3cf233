"""Baselines for comparison: batch Frank-Wolfe, stochastic subgradient, cutting plane."""
