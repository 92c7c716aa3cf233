"""User-defined structures: oracles and training data."""
