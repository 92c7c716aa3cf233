"""Functions shared by decoders: validation of edges and incidence lists."""
