"""Distributed fits, which combine the passes of all partitions in each round."""
