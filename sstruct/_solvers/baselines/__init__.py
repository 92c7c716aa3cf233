"""Solvers for comparison: batch Frank-Wolfe, subgradient, cutting plane."""
