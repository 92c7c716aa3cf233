"""Problems and decoders for tests and benchmarks; not included in wheels."""
