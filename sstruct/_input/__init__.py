"""Validation of input, and encoding and decoding of labels."""
