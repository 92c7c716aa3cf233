"""Test moves of two labels at once against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._oracles.mrf._packed_mrf import JointMoves, PackedMRF
from sstruct.inference import MRF
from tests.reference import mrf as reference


@settings(max_examples=150)
@given(
    n_nodes=st.integers(1, 6),
    density=st.sampled_from([0.0, 0.4, 1.0]),
    kind=st.sampled_from(["real", "integer", "forbidding"]),
    seed=st.integers(0, 10**6),
)
def test_no_change_of_both_labels_of_an_edge_lowers_the_energy(
    n_nodes, density, kind, seed, new_rng
):
    rng = new_rng(seed)
    plain = reference.random_model(rng, n_nodes, density, kind)
    model = MRF(*plain.arguments())
    labels = np.array([rng.integers(len(costs)) for costs in plain.node], dtype=np.int32)
    before = reference.energy(plain, labels)
    energy = JointMoves(PackedMRF(model)).search(labels, 1000)
    assert energy <= before + 1e-12  # sums in different orders
    assert energy == pytest.approx(reference.energy(plain, labels), abs=1e-12)
    for u, v in plain.edges:
        for pair in product(range(len(plain.node[u])), range(len(plain.node[v]))):
            other = labels.copy()
            other[[u, v]] = pair
            if energy < np.inf:  # otherwise, the number of forbidden terms is minimized
                assert reference.energy(plain, other) >= energy - 1e-8


def test_rounds_are_limited(rng):
    plain = reference.random_model(rng, 6, 1.0, "real")
    labels = np.zeros(6, dtype=np.int32)
    expected = reference.energy(plain, labels)
    assert JointMoves(PackedMRF(MRF(*plain.arguments()))).search(labels, 0) == pytest.approx(
        expected
    )
    np.testing.assert_array_equal(labels, 0)


def test_exchanges_escape_local_minima_of_single_moves():
    # Each node has the label that the other one should have, and there is no third label.
    table = [[np.inf, 0.0], [0.0, np.inf]]
    model = MRF([[1.0, 0.0], [0.0, 1.0]], [[0, 1]], table)
    packed, labels = PackedMRF(model), np.array([0, 1], dtype=np.int32)
    assert packed.improve(labels, 100) == 2.0
    assert JointMoves(packed).search(labels, 10) == 0.0
    np.testing.assert_array_equal(labels, [1, 0])
