"""Test MILPOracle against enumeration and a QP, and searches that stop early."""

import pickle
import warnings
from itertools import product

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from scipy.optimize import LinearConstraint
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sstruct import StructuredSVM
from sstruct._estimators.custom import binary_programs
from sstruct._problems.custom.oracle_calls import digest
from sstruct.extending import BinaryProgram, MILPOracle
from sstruct.solvers import BCFW
from tests.estimators.custom.choices import ConstrainedChoice
from tests.estimators.custom.test_custom import check_certificate
from tests.reference import brute_force
from tests.reference.brute_force import Block
from tests.reference.dual_qp import optimum

LAM = 0.05


def make_program(rng, d=3, as_sparse=False):
    """Return a program that has solutions, and all of its solutions."""
    while True:
        n, m = rng.integers(1, 7), rng.integers(0, 3)
        features = rng.standard_normal((n, d)).round(2)
        matrix = rng.integers(-2, 3, (m, n))
        upper = rng.integers(0, 3, m).astype(float)
        lower = np.where(rng.random(m) < 0.3, upper, np.where(rng.random(m) < 0.5, -1, -np.inf))
        everything = np.array(list(product((0, 1), repeat=n)))
        sums = everything @ matrix.T
        allowed = everything[((sums >= lower) & (sums <= upper)).all(axis=1)]
        if len(allowed):
            break
    if as_sparse:
        features, matrix = sparse.csr_array(features), sparse.csc_array(matrix)
    costs = rng.random(n).round(2) if rng.random() < 0.5 else None
    return BinaryProgram(
        features, [LinearConstraint(matrix, lower, upper)] if m else (), costs
    ), allowed


def make_programs(rng, n=8, **options):
    made = [make_program(rng, **options) for _ in range(n)]
    X, allowed = [x for x, _ in made], [a for _, a in made]
    y = []
    for x, a in made:
        scores = a @ (x.features @ np.array([1.0, -1.0, 0.5])) + rng.standard_normal(len(a))
        y.append(a[np.argmax(scores)])
    return X, y, allowed


def blocks_of(X, y, allowed):
    """Return the terms of the objective, by enumeration."""
    return [
        Block(
            sample=i,
            labelings=[tuple(z) for z in a.tolist()],
            phi=a @ (x.features.toarray() if sparse.issparse(x.features) else x.features),
            loss=(a != truth) @ x.costs,
            truth=a.tolist().index(truth.tolist()),
            weight=1 / len(X),
        )
        for i, (x, truth, a) in enumerate(zip(X, y, allowed, strict=True))
    ]


def fit(X, y, oracle=None, **parameters):
    defaults = {"lam": LAM, "tol": 1e-6, "random_state": 0}
    return StructuredSVM(oracle or MILPOracle(), **{**defaults, **parameters}).fit(X, y)


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_labelings_equal_enumeration(rng, as_sparse):
    oracle = MILPOracle()
    for _ in range(150):
        x, allowed = make_program(rng, as_sparse=as_sparse)
        w = rng.standard_normal(3) * 10.0 ** rng.integers(-8, 5) * rng.integers(0, 2, 3)
        truth = oracle.encode(x, allowed[rng.integers(len(allowed))])
        weight = float(rng.integers(0, 3))
        scores = allowed @ (x.features @ w)
        values = scores + weight * ((allowed != truth[0]) @ x.costs)
        size = 1e-9 * (1e-300 + abs(x.features @ w).sum() + weight * x.costs.sum())
        for y_true, expected in ((None, scores), (truth, values)):
            found, bound = oracle.bounded_argmax(x, w, y_true, weight)
            np.testing.assert_array_equal(found, oracle.argmax(x, w, y_true, weight))
            at = allowed.tolist().index(found[0].tolist())
            assert expected[at] >= expected.max() - size
            assert expected.max() - size <= bound <= expected.max() + 10 * size
        found = oracle.encode(x, allowed[0])
        np.testing.assert_array_equal(oracle.decode(x, found), allowed[0])
        assert oracle.loss(truth, found) == pytest.approx((allowed[0] != truth[0]) @ x.costs)


@pytest.mark.parametrize(
    "options",
    [{}, {"as_sparse": True}, {"solver": BCFW(step="pairwise"), "tol": 0.01},
     {"solver": "cutting-plane"}, {"solver": "fw", "tol": 0.05}, {"n_jobs": 2}],
    ids=["default", "sparse", "bcfw", "cutting-plane", "fw", "threads"],
)  # fmt: skip
def test_fits_reach_the_optimum(rng, options):
    options = dict(options)
    as_sparse = options.pop("as_sparse", False)
    X, y, allowed = make_programs(rng, as_sparse=as_sparse)
    with parallel_config("threading"):
        model = fit(X, y, **options)
    assert model.inference_ == "oracle (bounded)"
    check_certificate(model, blocks_of(X, y, allowed), options.get("tol", 1e-6))
    for x, a, found in zip(X, allowed, model.predict(X), strict=True):
        assert found.dtype == np.int64
        scores = a @ (x.features @ model.w_)
        assert scores[a.tolist().index(found.tolist())] == pytest.approx(scores.max())


def test_bounds_and_priors_of_weights_apply(rng):
    X, y, allowed = make_programs(rng)
    blocks, box = blocks_of(X, y, allowed), np.array([[0.0] * 3, [0.5] * 3])
    check_certificate(fit(X, y, bounds=box), blocks, 1e-6, box=box)
    prior = rng.standard_normal(3)
    model = fit(X, y, prior=prior)
    assert model.objective_ == pytest.approx(brute_force.primal(model.w_, LAM, blocks, prior))
    assert model.dual_gap_ <= 1e-6 * model.objective_


class Early(MILPOracle):
    """An oracle that stops with any labeling, or none, and a bound that is too large."""

    def _solve(self, x, value):
        found, bound = super()._solve(x, value)
        draw = np.random.default_rng(abs(hash(value.tobytes())) % 2**32)
        if draw.random() < 0.5:
            return found, bound
        return None, bound + draw.random() * 0.02


@pytest.mark.parametrize("options", [
    {}, {"solver": "fw"}, {"solver": "cutting-plane"}, {"rescaling": "slack"},
], ids=str)  # fmt: skip
def test_early_stops_keep_the_certificate_valid(new_rng, options):
    for seed in range(3):
        X, y, allowed = make_programs(new_rng(seed))
        blocks = blocks_of(X, y, allowed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = fit(X, y, Early(), max_iter=15, **options)
        if "rescaling" in options:
            scaled = [(b.loss * (1 - b.psi @ model.w_)).max() for b in blocks]
            primal = LAM / 2 * model.w_ @ model.w_ + np.mean(scaled)
        else:
            primal = brute_force.primal(model.w_, LAM, blocks)
            best, _ = optimum(blocks, LAM, None)
            assert model.dual_objective_ <= best * (1 + 1e-8)
        assert model.objective_ >= primal * (1 - 1e-9)
        assert model.inference_.endswith("(bounded)")
        assert "suboptimal" not in model.history_ or not model.history_["suboptimal"].any()


class Wrong(MILPOracle):
    """An oracle that returns the true labeling after two calls, with an invalid bound."""

    _left = 2

    def bounded_argmax(self, x, w, y_true=None, loss_weight=1.0):
        self._left -= 1
        if self._left >= 0:
            return super().bounded_argmax(x, w, y_true, loss_weight)
        return y_true, float(y_true[0] @ (x.features @ w))


def test_a_wrong_bound_is_found():
    # Two samples that differ only in their labelings: for any w, one of them has a loss, which the
    # labeling found by the first calls has, too.
    X, y = [BinaryProgram(np.ones((1, 3)))] * 2, [np.array([0]), np.array([1])]
    with pytest.warns(UserWarning, match="the oracle returned a labeling worse than one seen"):
        model = fit(X, y, Wrong())
    assert model.inference_ == "oracle (approximate)"


def test_limits_are_passed_to_highs(monkeypatch, rng):
    seen = []

    def milp(*arguments, options, **keywords):
        seen.append(dict(options))  # milp removes some
        return original(*arguments, options=options, **keywords)

    original = binary_programs.milp
    monkeypatch.setattr(binary_programs, "milp", milp)
    x, _ = make_program(rng)
    MILPOracle().argmax(x, np.ones(3))
    MILPOracle(mip_rel_gap=0.5, max_time=10, max_nodes=3).argmax(x, np.ones(3))
    assert seen == [{"mip_rel_gap": 0.0}, {"mip_rel_gap": 0.5, "time_limit": 10, "node_limit": 3}]


def test_hard_programs_stop_with_a_bound(rng):
    # Market split: equations with large coefficients, whose only solution is the planted one.
    n = 25
    matrix = rng.integers(0, 100, (5, n))
    truth = rng.integers(0, 2, n)
    x = BinaryProgram(
        rng.standard_normal((n, 3)), LinearConstraint(matrix, matrix @ truth, matrix @ truth)
    )
    oracle = MILPOracle(max_nodes=1)
    y_true, w = oracle.encode(x, truth), rng.standard_normal(3)
    found, bound = oracle.bounded_argmax(x, w, y_true)
    np.testing.assert_array_equal(found, y_true)
    assert bound > y_true[0] @ (x.features @ w) + 0.01
    with pytest.raises(RuntimeError, match="increase max_time or max_nodes"):
        oracle.argmax(x, w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fit([x] * 4, [truth] * 4, oracle, max_iter=2)
    assert model.objective_ > 0
    with pytest.raises(RuntimeError, match="increase max_time or max_nodes"):
        model.predict([x])


FREE = np.eye(3)


@pytest.mark.parametrize("arguments, error, match", [
    (([[1.0, np.nan]],), ValueError, "features has nan at index 0"),
    ((np.ones(3),), ValueError, r"features must have shape .*found \(3,\)"),
    ((np.ones((0, 2)),), ValueError, r"features must have shape .*found \(0, 2\)"),
    ((FREE, (), [1, 1]), ValueError, r"costs must have shape \(3,\), found \(2,\)"),
    ((FREE, (), [1, -1, 1]), ValueError, "costs must be at least 0, found -1.0 at index 1"),
    ((FREE, [1]), TypeError, r"constraints\[0\] must be a scipy.optimize.LinearConstraint"),
    ((FREE, LinearConstraint([[1, 1]])), ValueError, r"constraints\[0\].A must have 3 columns"),
    ((FREE, LinearConstraint(np.full((1, 3), np.inf))), ValueError, r"constraints\[0\].A has inf"),
    ((FREE, None), TypeError, "constraints must be a scipy.optimize.LinearConstraint or a seq"),
    ((FREE, LinearConstraint(FREE, [0, 2, 0], 1)), ValueError, "lb 2 above ub 1 in row 1"),
    ((FREE, [LinearConstraint(FREE, np.nan)]), ValueError, r"constraints\[0\].lb .*without NaN"),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_invalid_programs_raise(arguments, error, match):
    with pytest.raises(error, match=match):
        BinaryProgram(*arguments)


@pytest.mark.parametrize("y, match", [
    ([1, 0], r"y must have shape \(3,\), found \(2,\)"),
    ([1, 2, 0], "y must have values 0 and 1, found 2"),
    ([1, 1, 0], "y violates constraint 1: 2 is not between -inf and 1"),
])  # fmt: skip
def test_invalid_labelings_name_the_sample(y, match):
    x = BinaryProgram(
        FREE, [LinearConstraint(FREE[:1], 0, 1), LinearConstraint(np.ones((1, 3)), ub=1)]
    )
    with pytest.raises(ValueError, match=match) as caught:
        fit([x, x], [[1, 0, 0], y])
    assert caught.value.__notes__ == ["raised by encode of the oracle at X[1]"]


@pytest.mark.parametrize("oracle, match", [
    (MILPOracle(mip_rel_gap=-1), "mip_rel_gap must be"),
    (MILPOracle(max_time=0), "max_time must be"),
    (MILPOracle(max_nodes=1.5), "max_nodes must be"),
])  # fmt: skip
def test_invalid_parameters_raise(oracle, match):
    with pytest.raises((TypeError, ValueError), match=match):
        fit([BinaryProgram(FREE)], [[1, 0, 0]], oracle)


def test_other_samples_and_programs_without_solution_raise():
    with pytest.raises(TypeError, match="must be a BinaryProgram, found array"):
        fit([FREE], [[1, 0, 0]])
    x = BinaryProgram(
        FREE, [LinearConstraint(np.ones((1, 3)), 2, 2), LinearConstraint(np.ones((1, 3)), 0, 1)]
    )
    with pytest.raises(ValueError, match="the constraints of a sample have no solution"):
        MILPOracle().argmax(x, np.ones(3))
    model = fit([BinaryProgram(FREE)] * 2, [[1, 0, 0]] * 2)
    for n_jobs in (None, 2):
        model.set_params(n_jobs=n_jobs)
        for wrong in (x, BinaryProgram(np.ones((3, 4)))):
            with pytest.raises(ValueError, match=r"no solution|have 4 columns") as caught:
                model.predict([BinaryProgram(FREE), wrong])
            assert caught.value.__notes__ == ["raised by argmax of the oracle at X[1]"]


@pytest.mark.parametrize("found, error", [
    (0, TypeError), ((0,), TypeError), ((0, "1"), TypeError), ((0, np.inf), ValueError),
    ((0, np.nan), ValueError),
])  # fmt: skip
def test_other_results_of_bounded_argmax_raise(rng, found, error):
    class Strange(ConstrainedChoice):
        def bounded_argmax(self, x, w, y_true=None, loss_weight=1.0):
            return found

    with pytest.raises(error, match=r"X\[0\]: bounded_argmax"):
        fit([rng.standard_normal((3, 2))], [0], Strange())


@pytest.mark.parametrize("stored", [np.ravel, sparse.csr_array])
def test_a_bound_below_the_value_of_its_labeling_raises(rng, stored):
    class WithoutLoss(ConstrainedChoice):
        def joint_feature(self, x, y):
            return stored(x[[y]])

        def bounded_argmax(self, x, w, y_true, loss_weight=1.0):
            label = self.argmax(x, w, y_true, loss_weight)
            return label, (x @ w).max()

    message = (
        r"X\[0\]: bounded_argmax returned the bound 0, below 0.5, the score plus loss of its "
        r"labeling\. The bound must be at least"
    )
    with pytest.raises(ValueError, match=message):
        fit([rng.standard_normal((2, 2))], [0], WithoutLoss())


def test_state(rng):
    X, y, _ = make_programs(rng)
    model = fit(X, y, MILPOracle(max_nodes=10**6))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.w_, model.w_)
    copy = clone(model)
    assert copy.oracle.max_nodes == 10**6
    assert copy.oracle is not model.oracle
    assert repr(X[0]) == repr(pickle.loads(pickle.dumps(X[0])))


def test_changes_of_a_program_change_its_digest():
    x = BinaryProgram(FREE, LinearConstraint(np.ones((1, 3)), ub=1))
    other = BinaryProgram(FREE, LinearConstraint(np.ones((1, 3)), ub=2))
    assert digest(x) == digest(pickle.loads(pickle.dumps(x))) != digest(other)
    before = digest(x)
    x.features[0, 0] = 2
    assert digest(x) != before
