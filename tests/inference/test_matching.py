"""Test that the energies of matching models are the costs of the matchings."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sstruct.inference import map_mrf
from sstruct.inference._applications.matching_model import matching_model
from tests.inference.test_graph_matching import cost


@settings(max_examples=50)
@given(n_left=st.integers(1, 4), n_right=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_energies_are_costs_of_matchings(n_left, n_right, seed, new_rng):
    rng = new_rng(seed)
    unary = rng.normal(size=(n_left, n_right))
    unary[rng.random(unary.shape) < 0.3] = np.inf
    size = unary.size
    pairwise = np.where(rng.random((size, size)) < 0.3, rng.normal(size=(size, size)), 0.0)
    model = matching_model(unary, sparse.csr_array(pairwise))
    loose = matching_model(unary, pairwise, exclusive=False)
    assert loose.has_costs.all()
    np.testing.assert_array_equal(model.mrf.edges[model.has_costs], loose.mrf.edges)
    least = np.inf
    for labels in product(*(range(k) for k in model.mrf.n_labels)):
        matching = model.matching(labels)
        expected = cost(unary, pairwise, matching)
        least = min(least, expected)
        assert model.mrf.energy(labels) == pytest.approx(expected)
        if expected < np.inf:
            assert loose.mrf.energy(labels) == pytest.approx(expected)
    assert map_mrf(model.mrf, "exact").energy == pytest.approx(least, abs=1e-9)


def test_pairs_without_costs_share_tables():
    unary = np.zeros((6, 4))
    unary[0, :2] = np.inf
    pairwise = np.zeros((24, 24))
    pairwise[4, 9] = 1.0  # left node 1 to right node 0, left node 2 to right node 1
    model = matching_model(unary, pairwise)
    assert model.mrf.edges[model.has_costs].tolist() == [[1, 2]]
    assert model.mrf.n_edges == 15
    # The tables: first node and another node, two other nodes, and the pair with a cost.
    assert model.mrf.tables.size == 3 * 5 + 5 * 5 + 5 * 5
    assert model.mrf.energy([2, 0, 1, 4, 4, 4]) == 1.0
    assert model.mrf.energy([2, 4, 1, 0, 4, 4]) == 0.0
    assert model.mrf.energy([2, 4, 4, 1, 1, 4]) == np.inf


@pytest.mark.parametrize(
    "unary, pairwise, message",
    [
        ([], [], r"unary must have shape"),
        ([[0.0, np.nan]], np.zeros((2, 2)), r"unary\[0, 1\] is nan"),
        ([[0.0, 0.0]], np.zeros((2, 3)), r"pairwise must have shape \(2, 2\)"),
        ([[0.0, 0.0]], [[0.0, np.inf], [0.0, 0.0]], r"pairwise\[0, 1\] is inf"),
    ],
)
def test_invalid_input(unary, pairwise, message):
    with pytest.raises(ValueError, match=message):
        matching_model(unary, pairwise)
