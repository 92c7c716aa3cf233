"""State of solvers that make one step per sample, for training on later samples."""

import numpy as np

from sstruct._problems.core.kept_arrays import MOST_COUNTED, kept_array


def kept_steps(kept, problem):
    """Return the validated arguments `weights`, `moment` and `n_steps` of a state to continue from.

    Parameters
    ----------
    kept : dict or None
        State returned by ``export``, or None to start from scratch.
    problem : BlockProblem

    Raises
    ------
    ValueError
        If a field is invalid; the message names it.
    """
    if kept is None:
        return {}
    found = {
        name: problem.without_padding(kept_array(kept, name, np.float64, problem.n_weights))
        for name in ("weights", "moment")
    }
    n_steps = kept.get("n_steps")
    if type(n_steps) is not int or not 0 <= n_steps <= MOST_COUNTED:
        raise ValueError(f"n_steps is {n_steps!r}, expected an integer from 0 to {MOST_COUNTED}")
    return {**found, "n_steps": n_steps}


def exported(weights, moment, n_steps):
    """Return the state in the form that `kept_steps` reads."""
    return {"weights": weights, "moment": moment, "n_steps": int(n_steps)}
