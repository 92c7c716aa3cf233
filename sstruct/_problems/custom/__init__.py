"""User-defined structures."""
