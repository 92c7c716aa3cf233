"""Solvers that make one step per sample: subgradient, perceptron and passive-aggressive."""
