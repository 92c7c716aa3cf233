"""Matchings of rows and columns: training data and decoder."""
