"""Distributed fits: in each round every partition makes a pass, and their moves are combined."""
