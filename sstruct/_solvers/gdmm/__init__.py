"""The greedy direction method of multipliers."""
