"""GDMM, the greedy direction method of multipliers."""
