"""Branch and bound on a model, with limited work."""

import numpy as np

from sstruct._oracles.mrf._branch_and_bound import BranchAndBound
from sstruct._solvers.core.status import Status
from sstruct.inference._methods.exact import n_marginals
from sstruct.inference._model.auxiliary import pairwise_model

# Limit on the labels and the table entries of the model.
MAX_ENTRIES = 2**23
# Labelings that are better by this fraction of 1 + abs(energy), or by less, are not searched for.
# The fraction is at most MIN_TOLERANCE_SHARE times `tol`: errors of components add up, and together
# must not exceed `tol`.
MIN_IMPROVEMENT = 1e-9
MIN_TOLERANCE_SHARE = 1 / 64


def check_size(mrf):
    """Raise ValueError if a model is too large for the search."""
    n_variables = n_marginals(pairwise_model(mrf)[0])
    if n_variables > MAX_ENTRIES:
        raise ValueError(
            f'method="exact" requires {n_variables} variables, more than {MAX_ENTRIES}; '
            'use method="trws", which computes a bound for larger models'
        )


def searcher(mrf):
    """Return the BranchAndBound of a model, or None if the model is too large."""
    model, _ = pairwise_model(mrf)
    return BranchAndBound(model) if n_marginals(model) <= MAX_ENTRIES else None


def search(engine, mrf, record, max_work, deadline=np.inf):
    """Search for a labeling better than the best one; return the status.

    Parameters
    ----------
    engine : BranchAndBound
        Branch and bound of `mrf`; continues with the bounds of its last search.
    mrf : MRF
    record : Record
        Receives the labeling, the bound, and labels that are optimal if a better labeling exists.
    max_work : float
        Limit on the table entries visited.
    deadline : float
        Time limit in addition to the one of the record.

    Returns
    -------
    status : Status
        CONVERGED, INFEASIBLE, TIME_LIMIT, or STALLED if a limit on work or memory was reached.
    """
    scale = record.energy if record.energy < np.inf else record.lower_bound
    slack = min(MIN_IMPROVEMENT, MIN_TOLERANCE_SHARE * record.tol)
    slack *= 1 + (abs(scale) if np.isfinite(scale) else 0.0)
    labels = engine.run(record.energy, slack, min(deadline, record.deadline), max_work)
    if labels is not None:
        record.offer(labels[: mrf.n_nodes], engine.value)
    if engine.lower == np.inf:
        return Status.INFEASIBLE
    record.bound(engine.lower)
    record.only = engine.only[: mrf.n_nodes]
    record.row()
    if engine.error is not None:
        raise engine.error
    return record.status()
