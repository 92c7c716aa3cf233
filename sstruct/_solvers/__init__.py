"""Solvers over any `BlockProblem`: compiled passes, and policy between them."""
