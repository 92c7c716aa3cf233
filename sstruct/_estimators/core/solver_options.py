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
# Those of block gaps and cached labelings, which fits to partitions do not use.
OF_GAPS = ("cache_gap_share", "cache_mean_gap_share", "gap_refresh_every")


def check_solver_options(given, solver, cache, sampling):
    """Raise unless `solver_options` has values in range for options that have an effect.

    Parameters
    ----------
    given : dict or None
    solver : str
    cache, sampling : bool or str
        The other parameters of the solver. "auto" counts as every value that it may stand for.

    Raises
    ------
    TypeError
        If it is not a dict, or a value has the wrong type.
    ValueError
        If the solver does not have an option, a value is out of range, or an option has no effect.
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
    for name in given:
        idle = _without_effect(name, given, solver, cache, sampling)
        if idle is not None:
            reason, advice = idle
            raise ValueError(
                f"solver_options[{name!r}] has no effect with {reason}; leave it out, or set "
                f"{advice}"
            )


def _without_effect(name, given, solver, cache, sampling):
    """Return why an option has no effect and what would change that; None if it may have one."""
    most = given.get("max_approximate_passes", 2)
    if name == "full_pass_every" and most < 2:  # the first pass visits all samples
        return f"'max_approximate_passes': {most}", "'max_approximate_passes' to 2 or more"
    if isinstance(cache, str) or cache:
        return None
    if name == "gap_refresh_every":
        reason = f"cache=False and sampling={sampling!r}"
        return None if sampling in ("auto", "gap") else (reason, "cache=True or sampling='gap'")
    if name in OF_GAPS:
        return "cache=False", "cache=True"
    if solver == "bcfw" and name in ("cache_lifetime", "max_working_set"):
        return "solver='bcfw' and cache=False", "cache=True or solver='mp-bcfw'"
    return None


def constants_of(given):
    """Return the Constants of checked `solver_options`."""
    found = {}
    for field in fields(Constants):
        if given and field.name in given:
            value = field.type(given[field.name])
            found[field.name] = min(value, sys.maxsize) if field.type is int else value
    return Constants(**found)
