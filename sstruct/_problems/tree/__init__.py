"""Trees of parts."""
