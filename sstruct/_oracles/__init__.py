"""Decoders that depend only on potentials, with a folder for each structure."""
