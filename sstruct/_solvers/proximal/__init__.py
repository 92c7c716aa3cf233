"""Proximal methods: the outer loop of FWMAP, and coupled windows."""
