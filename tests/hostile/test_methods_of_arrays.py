"""Arrays of a subclass are converted to plain arrays without calling their methods.

Overridden methods run arbitrary code, and even methods of NumPy's subclasses may be unsafe:
``astype`` of a 3-D ``np.matrix`` writes out of bounds.
"""

from random import Random

import numpy as np
import pytest

from tests.hostile.functions import FUNCTIONS, arguments
from tests.registry import TRAINED

pytestmark = pytest.mark.filterwarnings("ignore")

CASES = 9


class Guarded(np.ndarray):
    def astype(self, *args, **options):
        pytest.fail("a method of the array was called")


def guarded(value, depth=0):
    """Return the value with all arrays in it as Guarded, also in lists, tuples and dicts."""
    if type(value) is np.ndarray:
        return value.view(Guarded)
    if type(value) in (list, tuple) and depth < 4:
        return type(value)(guarded(item, depth + 1) for item in value)
    if type(value) is dict:
        return {name: guarded(item, depth + 1) for name, item in value.items()}
    return value


def narrowed(value, kind, depth=0):
    """Return the value with all float arrays in it rounded and converted to a dtype."""
    if type(value) is np.ndarray and value.dtype.kind == "f":
        return np.round(value).astype(kind)
    if type(value) in (list, tuple) and depth < 4:
        return type(value)(narrowed(item, kind, depth + 1) for item in value)
    return value


@pytest.mark.parametrize("function, make", FUNCTIONS)
def test_functions_do_not_call_methods_of_arrays(function, make, rng):
    for _ in range(5):
        try:
            function(**guarded(arguments(make, rng)))
        except ValueError:  # some random arguments are invalid
            continue
        return
    pytest.fail("no valid arguments were drawn")


@pytest.mark.parametrize("name", [n for n in TRAINED if "hoice" not in n])
def test_estimators_do_not_call_methods_of_arrays(name):
    example, n_fits = TRAINED[name], 0
    for seed in range(CASES):
        rng, random = np.random.default_rng(seed), Random(seed)
        X, y = example.varied(rng, 4)
        X = narrowed(X, random.choice([float, np.float32, np.int8, np.int64]))
        parameters = guarded(example.valid_parameters(random) | {"verbose": 0})
        model = example.estimator(**parameters)
        try:
            model.fit(guarded(X), guarded(y), guarded(np.ones(4)))
        except ValueError:
            continue
        n_fits += 1
        model.predict(guarded(X))
        model.score(guarded(X), guarded(y))
    assert n_fits > CASES / 3
