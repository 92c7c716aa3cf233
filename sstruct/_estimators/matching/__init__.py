"""Training data and decoder of matchings of rows and columns."""
