"""Certificates for large and small numbers are valid or flagged; other numbers raise errors."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChainSSVM, GraphCRFSSVM, MulticlassSSVM, MultilabelSSVM, ssvm_path
from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._problems.label_set._multiclass import MulticlassProblem
from sstruct._solvers.core.rounding import UNIT, Rounding

SOLVERS = ("mp-bcfw", "bcfw", "fw", "ssg", "cutting-plane")


def exact_primal(model, X, y):
    """Return P(w) of a MulticlassSSVM with loss "hamming-count" as a Fraction."""
    w = [[Fraction(float(v)) for v in row] for row in np.c_[model.coef_, model.intercept_]]
    total = Fraction(0)
    for x, truth in zip(X, y, strict=True):
        row = [Fraction(float(v)) for v in [*x, 1.0]]
        score = [sum(a * b for a, b in zip(weights, row)) for weights in w]
        k = model.classes_.tolist().index(truth)
        total += max(s - score[k] + (j != k) for j, s in enumerate(score))
    size = sum(a * a for row in w for a in row)
    return Fraction(float(model.lam_)) / 2 * size + total / len(X)


def fitted(model, *data):
    """Fit, and return the model and the messages of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*data)
    assert not [w for w in caught if issubclass(w.category, RuntimeWarning)]
    return model, " ".join(str(w.message) for w in caught)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("power", [3, 8, 16, 40, 90])
def test_certificate_is_valid_or_flagged(rng, name, power):
    if name == "cutting-plane":
        pytest.importorskip("clarabel")
    X, y = rng.standard_normal((6, 2)), [0, 1, 2, 0, 1, 2]
    X[3] *= 10.0**power  # one sample of another scale
    model = MulticlassSSVM(lam=0.1, solver=name, max_iter=50, random_state=0)
    model, warned = fitted(model, X, y)
    primal = exact_primal(model, X, y)
    if name != "ssg":
        # The dual is a lower bound for any status.
        assert model.dual_objective_ <= primal * (1 + Fraction(1, 10**7))
    if model.status_ == "ROUNDING":
        assert "MulticlassSSVM has no certified duality gap: rounding errors may reach" in warned
        assert "scale the features" in warned.lower()
        assert not model.converged_
        return
    assert abs(Fraction(model.objective_) - primal) <= max(model.tol, 1e-7) * primal
    if model.converged_:
        assert primal - Fraction(model.dual_objective_) <= 3 * Fraction(model.tol) * primal


@pytest.mark.parametrize("lam", ["auto", 1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_ordinary_fits_have_certificates(rng, lam, tol):
    X = rng.standard_normal((30, 4)) * [1, 10, 100, 0.01]
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 5)
    assert fitted(MulticlassSSVM(lam=lam, tol=tol, max_iter=20), X, y)[0].status_ != "ROUNDING"


def test_tiny_lam_ends_in_rounding_on_separable_data():
    X, y = np.repeat(np.eye(3), 4, axis=0), np.repeat([0, 1, 2], 4)
    for lam, status in ((1e-3, "CONVERGED"), (1e-6, "CONVERGED"), (1e-14, "ROUNDING")):
        model, warned = fitted(MulticlassSSVM(lam=lam, random_state=0), X, y)
        assert model.status_ == status
        assert ("has no certified duality gap" in warned) == (status == "ROUNDING")
        assert 0 <= model.dual_objective_ <= exact_primal(model, X, y)
        assert model.dual_gap_ == model.objective_ - model.dual_objective_


def test_path_ends_if_rounding_exceeds_eps(rng, monkeypatch):
    X, y = rng.standard_normal((6, 3)), [0, 1, 2, 0, 1, 2]
    last = ssvm_path(MulticlassSSVM(random_state=0), X, y, eps=0.1, lam_min=1e-4).lams_[-1]
    monkeypatch.setattr(Rounding, "bound", lambda self, lam, *_: 0.0 if lam > last else np.inf)
    with pytest.warns(ConvergenceWarning, match="rounding errors may exceed eps. Scale the feat"):
        path = ssvm_path(MulticlassSSVM(random_state=0), X, y, eps=0.1, lam_min=1e-4)
    assert path.status_ == "ROUNDING"
    assert path.lams_.min() > last


def test_bound_covers_rounding_errors(rng):
    X = rng.standard_normal((20, 5))
    problem = MulticlassProblem(X, rng.integers(0, 3, 20), 3)
    rounding = Rounding(problem, 0.1, np.full(20, 1 / 20))
    np.testing.assert_allclose(rounding.size, np.sqrt((X**2).sum(axis=1) + 1).mean())
    w = rng.standard_normal(problem.n_weights)
    bound = rounding.bound(0.1, 2.0, 1.0, w, w)
    assert UNIT < bound < 1e-10
    assert rounding.bound(0.1, 2.0, 1.0, 10 * w) > 5 * bound
    assert rounding.bound(0.1, 2.0, np.nan, w) <= bound
    # Squares that underflow.
    assert rounding.bound(1e300, 1e-200, 1e-200, 1e-170 * w) > 1e-20
    assert rounding.bound(0.1, 0.0, 0.0, 0 * w) == 0


def test_norms_bound_joint_features(rng):
    X = rng.standard_normal((6, 2))
    problem = ChainProblem(X, ChainRanges([0, 1, 3], [1, 2, 3]), ChainModel(3), [0, 1, 1, 2, 0, 1])
    rows = np.sqrt((X**2).sum(axis=1)) + 1
    expected = [rows[0] + 3, rows[1:3].sum() + 4, rows[3:].sum() + 5]
    np.testing.assert_allclose(problem.norms(), expected)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("scale, lam", [(1e90, 1e-70), (1, 5e-324), (1, 1e-308), (1, 1e-200)])
def test_too_small_lam_raises_before_the_fit(rng, name, scale, lam):
    if name == "cutting-plane":
        pytest.importorskip("clarabel")
    X, y = rng.standard_normal((4, 2)) * scale, [0, 1, 0, 1]
    model = MulticlassSSVM(lam=lam, solver=name)
    message = rf"may exceed the range of float64: with lam={lam:g} and features of norms up to \d"
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "_w")


@pytest.mark.parametrize(
    "make, data, message",
    [
        (MulticlassSSVM, ([[1.0], [1e101]], [0, 1]), r"X\[1\] contains the feature 1e\+101"),
        (ChainSSVM, ([[[1.0]], [[1.0], [-1e200]]], [[0], [1, 1]]), r"X\[1\] .* node 1 .* -1e\+200"),
        (
            lambda: GraphCRFSSVM(pairwise="contrast"),
            ([(np.ones((2, 1)), [[0, 1]], [[1e120]])], [[0, 1]]),
            r"edge features of X\[0\] contain 1e\+120, expected at most 1e\+100",
        ),
        (
            lambda: GraphCRFSSVM(pairwise=1e101),
            ([(np.ones((1, 1)), [])], [[0]]),
            "pairwise must be",
        ),
        (
            lambda: MultilabelSSVM(loss=[1e101, 1]),
            ([[1.0], [2.0]], [[0, 1], [1, 0]]),
            r"loss contains 1e\+101, expected at most 1e\+100",
        ),
        (
            lambda: MulticlassSSVM(class_weight={0: 1e200, 1: 1}),
            ([[1.0], [2.0]], [0, 1]),
            r"class_weight must be at most 1e\+100",
        ),
        (
            lambda: MulticlassSSVM(bounds=[[1e200] * 4, [np.inf] * 4]),
            ([[1.0], [2.0]], [0, 1]),
            r"bounds of weight 0 are 1e\+200 and inf, expected a value of",
        ),
        (
            MulticlassSSVM,
            ([[1.0], [2.0]], [0, 1], [1e308, 1e308]),
            r"sample_weight\[0\] is 1e\+308 of a sum of inf",
        ),
        (
            MulticlassSSVM,
            ([[1.0], [2.0]], [0, 1], [1e-200, 1e200]),
            r"sample_weight\[0\] is 1e-200 of a sum of 1e\+200",
        ),
    ],
)
def test_too_large_or_small_numbers(make, data, message):
    model = make()
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(*data)
    assert vars(model) == before


def test_too_large_features_in_prediction():
    model = MulticlassSSVM(random_state=0).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match=r"X\[0\] contains the feature 1e\+101"):
        model.decision_function([[1e101]])
