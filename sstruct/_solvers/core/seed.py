"""Seeds from the parameter random_state."""

import numpy as np
from sklearn.utils import check_random_state

from sstruct._checks.arrays import refuse_sparse
from sstruct._checks.shown import brief


def seed_of(random_state):
    """Return a seed between 0 and 2^31 - 2.

    Parameters
    ----------
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        If it is a generator, a seed is drawn from it.

    Raises
    ------
    ValueError
        If `random_state` has another type.
    """
    most = np.iinfo(np.int32).max
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(most))
    return int(random_of(random_state).randint(most))


def random_of(random_state):
    """Return the RandomState for a seed, as scikit-learn does, or raise ValueError."""
    refuse_sparse(random_state, "random_state", "a seed or a generator")
    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise ValueError(f"random_state must be a seed or a generator: {brief(error)}") from None
