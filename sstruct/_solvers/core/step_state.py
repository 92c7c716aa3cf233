"""What solvers that make one step a sample leave behind, for samples that come later."""

import numpy as np

from sstruct._problems.core.kept_arrays import MOST_COUNTED, kept_array


def kept_steps(kept, problem):
    """Return the arguments `weights`, `moment` and `n_steps` of a state to go on from, checked.

    Parameters
    ----------
    kept : dict or None
        What ``export`` gave; None: the start.
    problem : BlockProblem

    Raises
    ------
    ValueError
        Names the field.
    """
    if kept is None:
        return {}
    found = {
        name: problem.without_padding(kept_array(kept, name, np.float64, problem.n_weights))
        for name in ("weights", "moment")
    }
    n_steps = kept.get("n_steps")
    if type(n_steps) is not int or not 0 <= n_steps <= MOST_COUNTED:
        raise ValueError(f"n_steps: {n_steps!r}, expected a count of samples")
    return {**found, "n_steps": n_steps}


def exported(weights, moment, n_steps):
    """Undo `kept_steps`."""
    return {"weights": weights, "moment": moment, "n_steps": int(n_steps)}
