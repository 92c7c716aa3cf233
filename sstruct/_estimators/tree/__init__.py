"""Training data of trees of parts."""
