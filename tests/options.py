"""Solver objects with options."""

from sklearn.base import clone

from sstruct.solvers import MPBCFW, SOLVER_OF_NAME


def solver_with(solver="auto", **options):
    """Return the object of a solver, given by name or as an object, with other options."""
    if isinstance(solver, str):
        return SOLVER_OF_NAME.get(solver, MPBCFW)(**options)
    return clone(solver).set_params(**options)
