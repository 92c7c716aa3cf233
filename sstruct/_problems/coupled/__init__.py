"""Blocks that share nodes, with multipliers on the labels of these."""
