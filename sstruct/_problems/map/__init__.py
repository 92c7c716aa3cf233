"""MAP inference as a block problem."""
