"""Batch Frank-Wolfe and cutting-plane methods, for comparison."""
