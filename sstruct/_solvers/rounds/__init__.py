"""Rounds over parts: each part of the blocks advances by itself, and their moves are fitted."""
