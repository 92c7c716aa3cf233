"""Decoders of trees."""
