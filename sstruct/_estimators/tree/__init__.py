"""Trees of parts: training data."""
