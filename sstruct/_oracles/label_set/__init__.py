"""Decoders of label sets."""
