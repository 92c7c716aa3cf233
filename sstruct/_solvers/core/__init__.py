"""Dual state, working sets, certificates, clock and history, shared by all solvers."""
