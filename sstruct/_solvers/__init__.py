"""Solvers for any `BlockProblem`: compiled passes, and the policy between passes."""
