"""Averaged perceptron and passive-aggressive: no objective, samples as they come."""
