"""Dependency trees of sentences: training data and decoding."""
