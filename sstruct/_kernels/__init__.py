"""C headers, clock, random numbers and constants."""
