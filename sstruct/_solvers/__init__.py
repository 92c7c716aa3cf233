"""Solvers for any `BlockProblem`, with compiled passes."""
