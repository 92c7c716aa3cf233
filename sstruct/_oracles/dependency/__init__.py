"""Decoders of dependency trees, given scores of arcs."""
