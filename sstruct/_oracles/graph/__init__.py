"""Decoders of labeled graphs."""
