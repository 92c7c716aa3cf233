"""Stochastic subgradient, perceptron and passive-aggressive solvers."""
