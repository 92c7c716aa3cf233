"""Checks of what comes from outside, which all layers share."""
