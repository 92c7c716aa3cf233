"""Training on windows of large samples, shared by chains and images."""
