"""Inference in Markov random fields."""
