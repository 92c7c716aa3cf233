"""Graphs and grids."""
