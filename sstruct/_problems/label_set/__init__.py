"""Label sets and single labels."""
