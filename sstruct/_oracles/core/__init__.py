"""What oracles share: edges and incidence, checked."""
