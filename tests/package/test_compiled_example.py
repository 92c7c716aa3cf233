"""The problem of examples/compiled_problem, compiled as described in the manual."""

from importlib.util import module_from_spec, spec_from_file_location
from itertools import combinations

import numpy as np
import pytest

from sstruct import StructuredSVM
from sstruct._testing import _problem_access as access
from sstruct.solvers import MPBCFW
from tests.package.compiled_examples import build
from tests.reference import brute_force
from tests.reference.brute_force import Block
from tests.reference.dual_qp import optimum

LAM = 0.1


@pytest.fixture(scope="module")
def intervals(tmp_path_factory):
    """Return the compiled module."""
    here = tmp_path_factory.mktemp("intervals")
    build("compiled_problem", here)
    (path,) = [path for path in here.iterdir() if path.suffix in (".so", ".pyd")]
    spec = spec_from_file_location("intervals", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PythonIntervals:
    """The same structure as a Python oracle."""

    @staticmethod
    def labelings(length):
        return [(0, 0)] + [(a, b) for a in range(length) for b in range(a + 1, length + 1)]

    def joint_feature(self, x, y):
        return x[y[0] : y[1]].sum(axis=0)

    def loss(self, y_true, y):
        both = max(0, min(y_true[1], y[1]) - max(y_true[0], y[0]))
        return (y_true[1] - y_true[0] + y[1] - y[0] - 2 * both) / 6

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        def value(y):
            augmented = 0 if y_true is None else loss_weight * self.loss(y_true, y)
            return w @ self.joint_feature(x, y) + augmented

        return max(self.labelings(len(x)), key=value)


def make_intervals(rng, n=20, length=6, d=3):
    X, y = [], []
    for _ in range(n):
        a, b = sorted(rng.choice(length + 1, 2, replace=False).tolist())
        x = rng.standard_normal((length, d)) - 0.3
        x[a:b, 0] += 1
        X.append(x)
        y.append((a, b))
    y[0] = (0, 0)
    return X, y


def test_the_compiled_problem_trains_as_a_python_oracle(intervals, rng):
    X, y = make_intervals(rng)
    oracle = PythonIntervals()
    blocks = []
    for i, (x, truth) in enumerate(zip(X, y)):
        labelings = oracle.labelings(len(x))
        phi = np.array([oracle.joint_feature(x, labeling) for labeling in labelings])
        losses = np.array([oracle.loss(truth, labeling) for labeling in labelings])
        blocks.append(Block(i, labelings, phi, losses, labelings.index(truth), 1 / len(X)))
    best, _ = optimum(blocks, LAM)
    keywords = {"lam": LAM, "tol": 1e-6, "random_state": 0}
    python = StructuredSVM(oracle, **keywords).fit(X, y)
    for given in ({"n_jobs": 1}, {"n_jobs": 2}, {"batch_size": 2}):
        model = StructuredSVM(intervals.Intervals(), **given, **keywords).fit(X, y)
        assert model.status_ == "CONVERGED"
        primal = brute_force.primal(model.w_, LAM, blocks)
        assert model.objective_ == pytest.approx(primal, rel=1e-12)
        assert best * (1 - 1e-8) <= primal <= best * (1 + 1e-5)
        assert model.dual_objective_ <= best * (1 + 1e-8)
        assert model.objective_ == pytest.approx(python.objective_, rel=2e-6)
        assert model.predict(X).tolist() == python.predict(X).tolist()
        assert model.score(X, y) == pytest.approx(python.score(X, y), abs=1e-12)


def test_distances_have_the_same_bits_for_exchanged_labelings(intervals, rng):
    X, y = make_intervals(rng, n=3)
    problem = intervals.IntervalProblem(X, y)
    codes = np.array(PythonIntervals.labelings(6), dtype=np.int32)
    for i, x in enumerate(X):
        phi = np.array([x[a:b].sum(axis=0) for a, b in codes])
        for j, k in combinations(range(len(codes)), 2):
            distance = access.squared_distance(problem, i, codes[j], codes[k])
            assert distance == access.squared_distance(problem, i, codes[k], codes[j])
            assert distance == pytest.approx(np.sum((phi[j] - phi[k]) ** 2))


def test_errors_for_invalid_problems(intervals, rng):
    X, y = make_intervals(rng, n=3)

    class Few(intervals.Intervals):
        def problem(self, X, y, rows):
            return super().problem(X[1:], y[1:], rows)

    class Other(intervals.Intervals):
        def problem(self, X, y, rows):
            return "none"

    class NoBatch(intervals.Intervals):
        def problem(self, X, y, rows):
            problem = super().problem(X, y, rows)
            problem.batch_size = 0
            return problem

    class Short(intervals.Intervals):
        def predict(self, X, w):
            return super().predict(X, w)[1:]

    for kind, error, message in [
        (NoBatch, ValueError, "NoBatch.problem has batch_size 0, expected >= 1"),
        (Few, ValueError, "Few.problem has 2 blocks for 3 samples"),
        (Other, TypeError, "Other.problem returned str, expected a BlockProblem"),
    ]:
        with pytest.raises(error, match=message):
            StructuredSVM(kind()).fit(X, y)
    with pytest.raises(ValueError, match=r"sample 1: \[2, 9\) is not an interval"):
        StructuredSVM(intervals.Intervals()).fit(X, [y[0], (2, 9), y[2]])

    class Unscored(intervals.Intervals):
        def losses(self, X, y, found):
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match="score returned nan, expected a finite number"):
        StructuredSVM(Unscored(), solver=MPBCFW(early_stopping=True)).fit(X * 5, y * 5)
    with pytest.raises(ValueError, match=r"Short\.predict returned 2 labelings for 3 samples"):
        StructuredSVM(Short()).fit(X, y).predict(X)
