"""One seed of whatever is given as random_state."""

import numpy as np
from sklearn.utils import check_random_state

from sstruct._checks.arrays import refuse_sparse
from sstruct._checks.shown import brief


def seed_of(random_state):
    """Return a seed, from 0 to 2^31 - 2.

    Parameters
    ----------
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        A generator is drawn from.

    Raises
    ------
    ValueError
        If it is something else.
    """
    most = np.iinfo(np.int32).max
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(most))
    return int(random_of(random_state).randint(most))


def random_of(random_state):
    """Return NumPy's RandomState of a seed, as scikit-learn does, or raise ValueError."""
    refuse_sparse(random_state, "random_state", "a seed or a generator")
    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise ValueError(f"random_state must be a seed or a generator: {brief(error)}") from None
