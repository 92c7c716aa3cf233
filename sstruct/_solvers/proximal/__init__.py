"""Proximal methods for FWMAP and coupled windows."""
