"""Decoders of sequences of segments."""
