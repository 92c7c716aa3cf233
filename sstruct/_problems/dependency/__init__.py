"""Dependency trees: features of arcs and their labels."""
