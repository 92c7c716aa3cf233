"""Problems and decoders that only tests and benchmarks need; not in wheels."""
