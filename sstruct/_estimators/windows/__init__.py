"""Training on windows of large samples: what chains and images share."""
