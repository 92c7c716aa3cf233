"""Graphs and grids: training data, decoding."""
