"""Oracles and training data of user-defined structures."""
