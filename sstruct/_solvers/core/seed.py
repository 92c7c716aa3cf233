"""Seeds from the parameter random_state."""

from functools import lru_cache

import numpy as np
from sklearn.utils import check_random_state

from sstruct._checks.arrays import refuse_sparse
from sstruct._checks.shown import brief

MOST = np.iinfo(np.int32).max


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
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(MOST))
    return drawn_seed(random_state)


def drawn_seed(random_state):
    """Return the first seed that scikit-learn's generator for a seed draws, or raise ValueError."""
    if type(random_state) is int:
        return _seed_of_seed(random_state)
    return int(random_of(random_state).randint(MOST))


@lru_cache
def _seed_of_seed(seed):
    # A new generator takes 0.1 ms, a twentieth of a small fit.
    return int(random_of(seed).randint(MOST))


def random_of(random_state):
    """Return the RandomState for a seed, as scikit-learn does, or raise ValueError."""
    refuse_sparse(random_state, "random_state", "a seed or a generator")
    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise ValueError(f"random_state must be a seed or a generator: {brief(error)}") from None
