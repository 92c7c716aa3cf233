"""The regularization path."""
