"""Training data and scores of alignments of two sequences."""
