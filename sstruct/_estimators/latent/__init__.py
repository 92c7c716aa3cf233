"""Fits with hidden labels, and models with hidden states of labels."""
