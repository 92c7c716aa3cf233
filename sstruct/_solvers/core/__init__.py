"""Dual state, working sets, certificates, clock, history: shared by all solvers."""
