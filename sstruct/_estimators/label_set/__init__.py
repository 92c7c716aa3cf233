"""Training data and decoders of label sets and single labels."""
