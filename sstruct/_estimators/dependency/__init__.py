"""Training data and decoding of dependency trees of sentences."""
