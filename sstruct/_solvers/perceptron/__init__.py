"""Averaged perceptron and passive-aggressive: online solvers without an objective."""
