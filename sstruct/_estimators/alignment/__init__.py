"""Alignments of two sequences: training data and scores."""
