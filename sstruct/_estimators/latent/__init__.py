"""Fits with hidden labels: rounds of completions and fits, states below labels."""
