"""Training data and decoding of graphs and grids."""
