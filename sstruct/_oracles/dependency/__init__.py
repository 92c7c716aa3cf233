"""Dependency trees: decoders of scores of arcs."""
