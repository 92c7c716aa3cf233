"""Test models with merged triangles against enumeration and linear programs."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sstruct.inference import MRF
from sstruct.inference._methods.exact import local_polytope
from sstruct.inference._model import triangles
from sstruct.inference._model.auxiliary import pairwise_model
from sstruct.inference._model.triangles import merge_triangles


def random_model(rng, density, forbids):
    n_nodes = 6
    sizes = rng.integers(1, 4, n_nodes)
    edges = rng.permutation(np.argwhere(np.triu(rng.random((n_nodes, n_nodes)) < density, 1)))
    turned = rng.random(len(edges)) < 0.5
    edges[turned] = edges[turned][:, ::-1]
    tables = [rng.normal(size=tuple(sizes[e])) for e in edges]
    if forbids:
        for table in tables:
            table[rng.random(table.shape) < 0.1] = np.inf
    weights = rng.exponential(size=len(edges)) + 0.1
    return MRF([rng.normal(size=size) for size in sizes], edges, tables, weights)


def relaxation(mrf):
    costs, matrix, sums = local_polytope(pairwise_model(mrf)[0])
    allowed = np.isfinite(costs)
    found = linprog(costs[allowed], A_eq=matrix[:, np.flatnonzero(allowed)], b_eq=sums)
    return np.inf if found.status == 2 else found.fun


@settings(max_examples=60)
@given(density=st.sampled_from([0.3, 0.6, 1.0]), forbids=st.booleans(), seed=st.integers(0, 10**6))
def test_energies_stay_and_the_relaxation_is_tighter(density, forbids, seed, new_rng):
    mrf = random_model(new_rng(seed), density, forbids)
    merged = merge_triangles(mrf)
    if merged is None:
        return
    assert merged.n_edges + 3 * merged.n_factors == mrf.n_edges
    labelings = [np.array(x, dtype=np.int32) for x in product(*map(range, mrf.n_labels))]
    energies = [mrf.energy(labels) for labels in labelings]
    assert [merged.energy(labels) for labels in labelings] == pytest.approx(energies, abs=1e-9)
    assert relaxation(mrf) - 1e-7 <= relaxation(merged) <= min(energies) + 1e-7


def test_models_without_triangles_are_not_merged(monkeypatch):
    square = [[0, 1], [1, 2], [2, 3], [3, 0]]
    assert merge_triangles(MRF(np.zeros((4, 2)), square, np.eye(2))) is None
    chord = MRF(np.zeros((4, 2)), [*square, [0, 2]], np.eye(2))
    assert merge_triangles(chord).n_factors == 1
    factor = [((0, 1, 3), np.zeros((2, 2, 2)))]
    assert merge_triangles(MRF(np.zeros((4, 2)), [[0, 1]], np.eye(2), factors=factor)) is None
    for name in ("MAX_VISITS", "MAX_ENTRIES"):
        with monkeypatch.context() as patch:
            patch.setattr(triangles, name, 1)
            assert merge_triangles(chord) is None
