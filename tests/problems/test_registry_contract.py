"""The contract of BlockProblem on the problems that the fits of public estimators train on.

test_contract.py compares small problems with their definition by enumeration. These tests compare
the methods of a problem with one another, so that the problem of a new estimator is tested without
writing its definition.
"""

import sys

import numpy as np
import pytest

from sstruct._estimators.core.training import Training
from sstruct._problems.core._decode import decode
from sstruct._testing import _problem_access as access
from tests.registry import TRAINED

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
VARIANTS = [
    pytest.param(example, parameters, id=f"{name}-{parameters}")
    for name, example in TRAINED.items()
    for parameters in example.variants()
]


def problem_of(model, X, y):
    """Return the problem of a fit, found by a callback in the frames of its callers."""
    found = []

    def collect(info):
        frame = sys._getframe()
        while frame is not None:
            found.extend(v.problem for v in frame.f_locals.values() if isinstance(v, Training))
            frame = frame.f_back

    model.set_callbacks(collect).fit(X, y)
    return found[-1]


@pytest.mark.parametrize("example, parameters", VARIANTS)
def test_methods_of_problems_agree(example, parameters):
    problem = problem_of(example.unfitted(**parameters), *example.samples())
    forks = problem.fork(), problem.fork()
    for weight, lam in ((1.0, 0.01), (0.25, 1.0)):
        # Some decoders require weights with the signs of a fit. Multipliers, after them, are 0.
        public = problem.layout.public(np.zeros(problem.n_weights))
        fitted = example.fitted(**parameters | {"lam": lam}).w_
        public[: len(fitted)] = fitted
        w = problem.layout.padded(public)
        for i in range(problem.n_blocks):
            truth = problem.true_code(i)
            assert problem.code_loss(i, truth) == 0
            code, value, work, exact = problem.best_code(i, w, weight)
            assert work > 0
            for fork in forks:
                again = fork.best_code(i, w, weight)
                np.testing.assert_array_equal(again[0], code)
                assert (again[1], again[3]) == (value, exact)
            scores = access.scores(problem, i, w, np.array([truth, code]), weight)
            gain = weight * problem.code_loss(i, code)
            assert scores[1] >= scores[0]
            assert gain >= 0
            plane = np.zeros(problem.n_weights)
            access.scatter(problem, i, [code, truth], [1.0, -1.0], plane)
            assert scores[1] - scores[0] == pytest.approx(plane @ w + gain, abs=1e-9)
            distance = access.squared_distance(problem, i, code, truth)
            assert distance == pytest.approx(plane @ plane, abs=1e-9)
            assert access.squared_distance(problem, i, truth, code) == distance
            access.scatter(problem, i, [code, truth], [-1.0, 1.0], plane)
            np.testing.assert_allclose(plane, 0, atol=1e-12)
        if parameters.get("rescaling") != "slack":  # its oracle differs from that of predictions
            codes = [forks[0].best_code(i, w, 0.0)[0] for i in range(problem.n_blocks)]
            np.testing.assert_array_equal(decode(problem, w), np.concatenate(codes))
