"""Label sets and single labels: training data, decoders."""
