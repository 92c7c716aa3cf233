"""FWMAP's proximal loop."""
