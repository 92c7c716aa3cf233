"""The parameter `solver_options`: its names, ranges, and the solvers that have them."""

import sys
from dataclasses import fields

from sstruct._checks.shown import shortened
from sstruct._input.ragged import check_choice, check_number
from sstruct._solvers.frank_wolfe.constants import Constants

# The least value of each number.
LEAST = {
    "cache_lifetime": 0,
    "max_working_set": 2,  # the true labeling and one more
    "max_approximate_passes": 0,
    "full_pass_every": 1,
    "cache_gap_share": 0,
    "cache_mean_gap_share": 0,
    "gap_refresh_every": 1,
}
# Those of approximate passes, which only MP-BCFW makes.
MULTI_PLANE = ("max_approximate_passes", "full_pass_every")


def check_solver_options(given, solver):
    """Raise unless `solver_options` has values in range for options that a solver has.

    Raises
    ------
    TypeError
        If it is not a dict, or a value has the wrong type.
    ValueError
        If the solver does not have an option, or a value is out of range.
    """
    if given is None:
        return
    if not isinstance(given, dict):
        raise TypeError(f"solver_options must be a dict or None, found {shortened(given)}")
    types = {field.name: field.type for field in fields(Constants)}
    names = [name for name in types if solver != "bcfw" or name not in MULTI_PLANE]
    for name, value in given.items():
        if name not in names:
            raise ValueError(
                f"solver_options has {shortened(name)}, which solver={solver!r} does not have; "
                f"expected some of {', '.join(names)}"
            )
        shown = f"solver_options[{name!r}]"
        if types[name] is bool:
            check_choice(shown, value, (True, False))
        else:
            check_number(shown, value, least=LEAST[name], whole=types[name] is int)


def constants_of(given):
    """Return the Constants of checked `solver_options`."""
    found = {}
    for field in fields(Constants):
        if given and field.name in given:
            value = field.type(given[field.name])
            found[field.name] = min(value, sys.maxsize) if field.type is int else value
    return Constants(**found)
