"""Test map_mrf on random models, with each engine, against enumeration.

``python -m tests.inference.random_models`` runs more of these models.
"""

import numpy as np
import pytest

from sstruct.inference import MRF, map_mrf
from sstruct.inference._methods import highs
from tests.inference import random_models
from tests.reference import mrf as reference


@pytest.mark.parametrize("engine", random_models.ENGINES)
@pytest.mark.parametrize("method", random_models.METHODS)
def test_results_equal_enumeration(method, engine):
    first = 50 * random_models.ENGINES.index(engine)
    for seed in range(first, first + 50):
        wrong, statuses = random_models.check(seed, [(method, engine)])
        assert not wrong
        # The models are so small that every method proves its result.
        assert {status for _, _, status in statuses} <= {"PROVEN", "INFEASIBLE"}, seed


def test_an_integer_program_that_highs_solved_wrongly():
    # The presolve of HiGHS removes the minimum if variables are fixed to 0 and auxiliary nodes are
    # integral.
    assert not random_models.check(338, [("auto", "program"), ("exact", "program")])[0]


def test_a_wrong_bound_of_highs_is_rejected(monkeypatch):
    # `random_models.only` replaces `solve` by `solve_here`.
    monkeypatch.setattr(highs, "solve_here", lambda *_: (0, None, 100.0))
    model, _ = random_models.random_model(np.random.default_rng(338))
    with random_models.only("program"):
        result = map_mrf(MRF(*model.arguments()), "exact")
    least = random_models.energies(model).min()
    assert result.status != "PROVEN"
    assert result.lower_bound < least <= result.energy


def test_energies_equal_their_definition():
    model, _ = random_models.random_model(np.random.default_rng(3))
    total = random_models.energies(model)
    for y in np.ndindex(*total.shape):
        assert total[y] == pytest.approx(reference.energy(model, y))
