"""Validation of edges, and incidence lists, shared by decoders."""
