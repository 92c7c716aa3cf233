"""Decoders of sequences."""
