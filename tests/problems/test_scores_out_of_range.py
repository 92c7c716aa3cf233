"""Test that oracles terminate and return or raise if weights exceed the range of float64."""

import numpy as np
import pytest

from sstruct import TreeSSVM
from tests.registry import TRAINED

MANY = {
    "graph": [{"inference": name} for name in ("expansion", "max-sum", "fwmap", "exact")],
    "grid": [{"inference": "cut"}, {"inference": "expansion", "pairwise": "full"}],
    "label sets": [
        {"inference": name}
        for name in ("auto", "independent", "enumeration", "tree", "cut", "relaxed")
    ],
    "typed graph": [{"inference": name} for name in ("expansion", "fwmap", "exact")],
}
# All labelings of chains have the score -inf then, as if masks forbade them.
REJECTED = (
    "exceed the range of float64",
    "require nonnegative quadratic weights",
    "forbid every labeling",
)
CASES = [
    (name, more)
    for name in (
        "chain",
        "graph",
        "grid",
        "typed graph",
        "candidates",
        "maps",
        "label sets",
        "rows",
    )
    for more in MANY.get(name, [{}])
]


def weights(rng, d):
    yield from (np.full(d, value) for value in (np.nan, np.inf, -np.inf))
    yield np.where(rng.random(d) < 0.5, np.nan, 1.0)
    yield np.where(rng.random(d) < 0.3, np.inf, rng.choice([-1e308, 1e308], d))
    yield rng.choice([-1.7e308, 1.7e308], d)


def labeling_or_error(problem, i, w):
    try:
        return problem.best_code(i, w, 1.0)[0]
    except ValueError as error:
        return str(error)


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("name, more", CASES, ids=str)
def test_labeling_or_error(rng, name, more):
    example = TRAINED[name]
    n_calls = 0
    for seed in range(8):
        X, y = example.varied(np.random.default_rng(seed), 4)
        model = example.estimator(**example.required, **more, lam=0.1)
        try:
            problem = model._structure().train(X, y, None).problem
        except ValueError:  # the decoder does not support these graphs
            continue
        for w in weights(rng, problem.n_weights):
            for i in range(problem.n_blocks):
                answer = labeling_or_error(problem, i, w)
                if isinstance(answer, str):
                    assert any(text in answer for text in REJECTED)
                else:
                    problem.check_code(i, answer)
                n_calls += 1
    assert n_calls


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_subgradient_steps_do_not_follow_weights_beyond_float64(rng):
    example = TRAINED["maps"]
    X, y = example.varied(rng, 3)
    model = TreeSSVM(parents=[-1, 0, 0], solver="ssg", lam=1e-300, random_state=0, max_iter=5)
    with pytest.raises(ValueError, match="exceed the range of float64"):
        model.fit([{"features": 1e30 * x["features"]} for x in X], y)
