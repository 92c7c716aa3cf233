"""Test CombiLP against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._solvers.core.status import Status
from sstruct.inference import MRF, map_mrf
from sstruct.inference._methods import combilp as module
from sstruct.inference._methods.combilp import EquivalentModel, Part, combilp
from sstruct.inference._methods.message_passing import message_passing
from sstruct.inference._methods.search import search, searcher
from sstruct.inference._model.map_result import Record


def random_model(rng, kind):
    """Return a model in which few edges are strong, with ties or with forbidden labels."""
    n_nodes = 7
    sizes = rng.integers(1, 4, n_nodes)
    edges = np.argwhere(np.triu(rng.random((n_nodes, n_nodes)) < 0.5, 1))
    turned = rng.random(len(edges)) < 0.5
    edges[turned] = edges[turned][:, ::-1]
    node = [rng.normal(size=size) for size in sizes]
    scale = rng.choice([0.1, 2.0], len(edges))
    tables = [s * rng.normal(size=tuple(sizes[e])) for s, e in zip(scale, edges, strict=True)]
    if kind == "ties":
        node, tables = [np.round(c) for c in node], [np.round(c) for c in tables]
    if kind == "forbidden":
        for costs in [*node, *tables]:
            costs[rng.random(costs.shape) < 0.15] = np.inf
    return MRF(node, edges, tables)


def enumerated(model):
    """Return all labelings and their energies."""
    labelings = np.array(list(product(*map(range, model.n_labels))), dtype=np.int32)
    return labelings, np.array([model.energy(labels) for labels in labelings])


def exactly(model, record):
    search(searcher(model), model, record, np.inf)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["plain", "ties", "forbidden"]),
    n_sweeps=st.integers(1, 30),
    inside=st.integers(1, 2**7 - 1),
)
def test_a_part_bounds_the_energy(seed, kind, n_sweeps, inside, new_rng):
    model = random_model(new_rng(seed), kind)
    if model.n_edges == 0:
        return
    energies = enumerated(model)[1]
    record = Record(model, np.zeros(7, dtype=np.int32), 0.0, None)
    _, sweeps = message_passing(model, record, n_sweeps, averaged=True)
    if not np.isfinite(record.lower_bound):
        return
    whole = EquivalentModel(model, sweeps)
    same = MRF(whole.node, model.edges, [whole.edge(e) for e in range(model.n_edges)])
    assert enumerated(same)[1] == pytest.approx(energies, abs=1e-9)
    assert all((whole.edge(e) >= 0).all() for e in range(model.n_edges))
    part = Part(whole, np.array([inside >> v & 1 for v in range(7)], dtype=bool))
    some, values = enumerated(part.model)
    assert part.outside + values.min() <= energies.min() + 1e-9
    labels = part.joined(some[values.argmin()])
    if np.isfinite(values.min()) and not part.in_conflict(labels, 0.0):
        # Edges between nodes outside have their own excess.
        ends = ~np.isin(model.edges, part.nodes)
        excess = whole.excess[ends.all(axis=1)].sum()
        energy = model.energy(labels)
        assert energy == pytest.approx(part.outside + values.min() + excess, abs=1e-9)


@settings(max_examples=150)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["plain", "ties", "forbidden"]))
def test_results_are_minima(seed, kind, new_rng):
    model = random_model(new_rng(seed), kind)
    if model.n_edges == 0:
        return
    energies = enumerated(model)[1]
    record = Record(model, np.zeros(7, dtype=np.int32), 1e-9, None)
    _, sweeps = message_passing(model, record, 20, averaged=True, is_first=True)
    if not np.isfinite(record.lower_bound):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGEST_PART", 1.0)
        status = combilp(model, record, sweeps, exactly)
    assert record.lower_bound <= energies.min() + 1e-9
    assert record.energy >= energies.min() - 1e-9
    if status is Status.CONVERGED:
        assert record.energy == pytest.approx(energies.min(), abs=1e-8)


def frustrated_ring(n_far):
    """Return a frustrated ring of five nodes, from which a long path starts."""
    n_nodes = 5 + n_far
    ring = [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]]
    edges = [*ring, *([v, v + 1] for v in range(4, n_nodes - 1)), [5, n_nodes - 1]]
    node = np.zeros((n_nodes, 2))
    node[5:, 0] = 1.0
    differs = 1.0 - np.eye(2)
    return MRF(node, edges, [1.0 - differs] * 5 + [differs] * (len(edges) - 5))


def test_a_small_part_is_found():
    model = frustrated_ring(20)
    record = Record(model, np.zeros(model.n_nodes, dtype=np.int32), 1e-6, None)
    _, sweeps = message_passing(model, record, 100, averaged=True, is_first=True)
    assert not record.is_closed()
    assert combilp(model, record, sweeps, exactly) is Status.CONVERGED
    assert record.energy == 1.0
    assert record.lower_bound == pytest.approx(1.0, abs=1e-6)
    # Parts that are too large are left to other methods.
    before = record.lower_bound
    record = Record(model, np.zeros(model.n_nodes, dtype=np.int32), 1e-6, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGEST_PART", 0.01)
        assert combilp(model, record, sweeps, exactly) is Status.STALLED
    assert record.lower_bound == -np.inf < before


def test_map_mrf_grows_the_part(monkeypatch):
    """Grow the part, since branch and bound may do no work on the whole model."""
    model, works = frustrated_ring(60), []

    def limited(engine, mrf, record, max_work, *deadline):
        works.append(mrf.n_nodes)
        return search(engine, mrf, record, 0 if mrf is model else max_work, *deadline)

    monkeypatch.setattr("sstruct.inference._methods.map_mrf.search", limited)
    monkeypatch.setattr("sstruct.inference._methods.elimination.MAX_TERMS", 0)
    result = map_mrf(model)
    assert (result.status, result.energy, result.method) == ("PROVEN", 1.0, "exact")
    assert works[:2] == [model.n_nodes] * 2
    assert max(works[2:]) < 33
