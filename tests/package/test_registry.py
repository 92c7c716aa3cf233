"""The registry of examples is complete, and its data are small."""

import numpy as np
import pytest

from tests.hostile.certificates import BLOCKS
from tests.registry import EXAMPLES, FIRST, TRAINED, WITH_OPTIONS, public_estimators


@pytest.mark.parametrize("estimator", public_estimators())
def test_every_public_estimator_has_an_example(estimator):
    assert estimator in FIRST, (
        f"{estimator.__name__} has no example: add one to EXAMPLES in tests/registry.py, so that "
        "the general tests run on it"
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_can_be_fitted(name):
    example = EXAMPLES[name]
    X, y = example.samples()
    first, second = example.fitted(), example.fitted(**example.refitted)
    for model in (first, second):
        assert len(model.predict(X)) == len(y)
        assert np.isfinite(model.score(X, y))
    assert example.refitted.keys() <= example.unfitted().get_params().keys()
    assert example.parameters.keys() <= example.unfitted().get_params().keys()


@pytest.mark.parametrize("name", TRAINED)
def test_attacks_recompute_the_objective(name):
    assert name in BLOCKS, (
        f"add the objective of {name!r} to BLOCKS in tests/hostile/certificates.py"
    )


def test_solvers_contain_each_value_of_each_option():
    solvers = [each.get_params() for each in WITH_OPTIONS]
    for name, values in {
        "step": {"auto", "fw", "pairwise", "away", "corrective"},
        "sampling": {"auto", "uniform", "permutation", "gap", "given"},
        "cache": {"auto", True, False},
        "average": {"auto", True, False},
    }.items():
        assert {each[name] for each in solvers if name in each} == values
