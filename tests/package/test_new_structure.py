"""The structure of examples/new_structure passes the tests of the package's structures."""

import doctest
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from tests.estimators.common import test_common, test_fits
from tests.estimators.state import test_states
from tests.package.compiled_examples import build
from tests.problems import test_contract, test_registry_contract
from tests.reference import brute_force
from tests.reference.dual_qp import optimum
from tests.registry import COMMON, Example

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """Yield the modules of the example."""
    here = tmp_path_factory.mktemp("ordinal")
    build("new_structure", here)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(here)
        import diabetes
        import ordinal
        import ordinal_problem

        yield SimpleNamespace(ordinal=ordinal, problem=ordinal_problem, diabetes=diabetes)
    for name in ("diabetes", "ordinal", "ordinal_structure", "ordinal_problem"):
        del sys.modules[name]


# The data of the problem are small integers, so results agree exactly with the definition.


def make_ordinals(module, rng, n_labels, n=5, F=3):
    """Return a problem, and its joint feature map and loss in NumPy."""
    X = rng.integers(-3, 4, (n, F)).astype(float)
    labels = rng.integers(0, n_labels, n).astype(np.int32)
    problem = module.OrdinalProblem(X, labels, n_labels)
    w = rng.integers(-4, 5, problem.n_weights).astype(float)
    return SimpleNamespace(
        problem=problem,
        phi=lambda i, y: np.r_[y[0] * X[i], np.eye(n_labels)[y[0]]],
        loss=lambda i, y: abs(y[0] - labels[i]),
        w=w,
        padded=w,
        public=problem.layout.public,
        allowed=[[(y,) for y in range(n_labels)]] * n,
    )


@pytest.mark.parametrize("n_labels", [1, 2, 3, 8])
def test_the_problem_agrees_with_its_definition(modules, rng, n_labels):
    made = make_ordinals(modules.problem, rng, n_labels)
    test_contract.check_against_definition(made, rng)
    norms = [
        max(np.linalg.norm(made.phi(i, y)) for y in made.allowed[i])
        for i in range(made.problem.n_blocks)
    ]
    assert (made.problem.norms() >= norms).all()


def test_a_problem_for_prediction_has_no_labels(modules):
    problem = modules.problem.OrdinalProblem(np.ones((2, 1)), None, 3)
    for call in (problem.true_code, lambda i: problem.code_loss(i, np.zeros(1, np.int32))):
        with pytest.raises(ValueError, match="without labels"):
            call(0)


# The estimator.


def make_rows(rng, n):
    X = rng.standard_normal((n, 2))
    y = rng.permutation(n) % 3
    X[:, 0] += y
    return X, y


@pytest.fixture(scope="module")
def example(modules):
    """Return the entry that the structure would have in EXAMPLES of tests/registry.py."""
    return Example(
        modules.ordinal.OrdinalSSVM,
        make_rows,
        COMMON | {"classes": (None, [0, 1, 2])},
        checked=({},),
        refitted={"classes": [0, 1, 2, 3]},
    )


def test_fits_reach_the_optimum(example, rng):
    X, y = make_rows(rng, 20)
    weights = rng.integers(0, 3, 20)
    blocks = []
    for i in np.flatnonzero(weights):
        phi = np.array([np.r_[k * X[i], np.eye(3)[k]] for k in range(3)])
        loss = np.abs(np.arange(3.0) - y[i])
        block = brute_force.Block(i, [0, 1, 2], phi, loss, y[i], weights[i] / weights.sum())
        blocks.append(block)
    best, w = optimum(blocks, 0.1)
    model = example.estimator(lam=0.1, tol=1e-6, random_state=0).fit(X, y, weights)
    assert model.converged_
    assert model.objective_ == pytest.approx(brute_force.primal(model.w_, 0.1, blocks), rel=1e-12)
    assert model.dual_objective_ <= best * (1 + 1e-8)
    assert best * (1 - 1e-8) <= model.objective_ <= best * (1 + 1e-5)
    np.testing.assert_allclose(model.w_, w, atol=0.01)
    scores = np.outer(X @ model.coef_, range(3)) + model.intercept_
    np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))
    np.testing.assert_array_equal(model.predict(sparse.csr_array(X)), model.predict(X))
    assert model.score(X, y) == (model.predict(X) == y).mean()


def test_errors_name_the_sample(example):
    X, y = example.samples(4)
    with pytest.raises(ValueError, match=r"y\[1\] contains 5, which is not in classes"):
        example.estimator(classes=[0, 1, 2]).fit(X, [0, 5, 1, 2])
    with pytest.raises(ValueError, match="y has 1 class, expected two or more"):
        example.estimator().fit(X, [1, 1, 1, 1])
    model = example.estimator().fit(X, y)
    with pytest.raises(ValueError, match="X has 1 features, but OrdinalSSVM is expecting 2"):
        model.predict(X[:, :1])


def test_the_problem_contract_holds(example):
    for parameters in example.variants():
        test_registry_contract.test_methods_of_problems_agree(example, parameters)


def test_general_tests_pass(example, tmp_path, rng):
    test_common.test_fit_is_repeatable_and_changes_nothing_else(example)
    test_common.test_predictions_do_not_depend_on_the_other_samples(example)
    test_common.test_unit_sample_weights_equal_no_weights(example)
    test_fits.test_weights_are_copies(example, {})
    test_fits.test_warm_starts(example, {"lam": "auto"})
    test_fits.test_early_stopping_keeps_the_best_weights(example, rng)
    test_fits.test_paths(example, {})
    test_fits.test_searches_along_paths(example)
    test_fits.test_searches(example)
    test_fits.test_same_bits_for_every_n_jobs(example, {}, None)
    with pytest.MonkeyPatch.context() as patch:
        test_fits.test_fits_are_resumed_from_any_pass(example, {}, tmp_path, patch)
    for restored in (test_states.from_pickle, test_states.from_skops):
        test_states.test_models_are_restored(example, {}, restored)
    test_states.test_predictions_do_not_depend_on_parameters_of_the_fit(example, {})
    test_states.test_damaged_states_raise_or_are_harmless(example)


@pytest.mark.filterwarnings("ignore:.*SSVM stopped at:sklearn.exceptions.ConvergenceWarning")
def test_checks_of_sklearn_pass(example):
    for model, check in test_common.checks_of(example.estimator()):
        test_common.test_estimator_check(model, check)


def test_the_examples_run(modules, capsys):
    assert doctest.testmod(modules.ordinal).failed == 0
    modules.diabetes.main()
    ordinal, multiclass = (float(line.split()[-1]) for line in capsys.readouterr().out.splitlines())
    assert ordinal < 0.9 < multiclass
