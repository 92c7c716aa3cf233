"""Markov random fields."""
