"""Training data and decoding of sequences."""
