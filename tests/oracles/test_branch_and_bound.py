"""Test branch and bound against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._oracles.mrf._branch_and_bound import BranchAndBound
from sstruct.inference import MRF
from tests.reference import mrf as reference


@pytest.mark.parametrize("max_work", [np.inf, 100])
@settings(max_examples=200)
@given(
    n_nodes=st.integers(1, 7),
    density=st.sampled_from([0.3, 0.6, 1.0]),
    kind=st.sampled_from(["real", "integer", "forbidding"]),
    excess=st.sampled_from([np.inf, 1.0, 0.0, -0.5]),
    seed=st.integers(0, 10**6),
)
def test_searches_equal_enumeration(n_nodes, density, kind, excess, seed, max_work, new_rng):
    plain = reference.random_model(new_rng(seed), n_nodes, density, kind)
    energies = {
        y: reference.energy(plain, y) for y in product(*(range(len(c)) for c in plain.node))
    }
    least = min(energies.values())
    upper = least + excess
    search = BranchAndBound(MRF(*plain.arguments()))
    labels = search.run(upper, 1e-9, np.inf, max_work)
    assert search.lower <= least + 1e-8
    if labels is not None:
        assert search.value == pytest.approx(energies[tuple(labels.tolist())], abs=1e-9)
        assert search.lower <= search.value < upper
    if max_work == np.inf:
        if excess != 0:  # otherwise, the result depends on rounding
            assert (labels is not None) == (excess > 0 and least < np.inf)
        assert search.value == pytest.approx(least, abs=2e-9) or labels is None
        assert search.lower >= min(least, upper) - 1e-8
    if least < upper - 1e-6:
        optimal = np.array([y for y, energy in energies.items() if energy <= least + 1e-8])
        assert ((search.only < 0) | (optimal == search.only)).all(axis=1).any()


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_a_search_continues_from_the_bounds_of_a_shorter_one(seed, new_rng):
    plain = reference.random_model(new_rng(seed), 6, 1.0, "real")
    search = BranchAndBound(MRF(*plain.arguments()))
    upper = 100.0
    for max_work in (10, 100, np.inf):
        search.run(upper, 1e-9, np.inf, max_work)
        upper = min(upper, search.value)
    assert upper == pytest.approx(reference.minimum(plain), abs=1e-8)
    assert search.lower == pytest.approx(upper, abs=1e-8)


def test_components_are_searched_one_after_the_other(rng):
    # 20 triangles of nodes with three labels: 20 * 27 labelings instead of 27^20.
    first = 3 * np.arange(20)[:, None, None]
    edges = (first + [[0, 1], [1, 2], [0, 2]]).reshape(-1, 2)
    tables = rng.normal(size=(60, 3, 3))
    model = MRF(np.zeros((60, 3)), edges, list(tables))
    least = sum(
        reference.minimum(reference.Model(list(np.zeros((3, 3))), edges[:3], part, np.ones(3)))
        for part in tables.reshape(20, 3, 3, 3)
    )
    search = BranchAndBound(model)
    labels = search.run(np.inf, 1e-9, np.inf, np.inf)
    assert model.energy(labels) == pytest.approx(least)
    assert search.lower == pytest.approx(least, abs=1e-7)
    assert search.n_visits < 100


def test_a_deadline_ends_a_search(rng):
    n = 40
    edges = np.argwhere(np.triu(np.ones((n, n)), 1))
    model = MRF(np.zeros((n, 5)), edges, list(rng.normal(size=(len(edges), 5, 5))))
    search = BranchAndBound(model)
    labels = search.run(np.inf, 1e-9, 0.0, np.inf)
    assert search.lower <= model.energy(labels)
