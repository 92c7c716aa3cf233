"""Sequences: training data, decoding."""
