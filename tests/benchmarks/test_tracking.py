"""Test that the tracking benchmark has valid tracks, and its gaps by enumeration."""

import numpy as np
import pytest

from sstruct import StructuredSVM
from sstruct.extending import MILPOracle
from tests.reference import brute_force, dual_qp


@pytest.fixture
def tracking(script):
    return script("tracking")


def enumerated(i, x, y, weight):
    """Return the Block of all labelings that satisfy the constraints."""
    n = len(y)
    every = (np.arange(2**n)[:, np.newaxis] >> np.arange(n)) & 1
    values = every @ x.matrix.T.toarray()
    every = every[((values >= x.lower) & (values <= x.upper)).all(axis=1)]
    truth = int(np.flatnonzero((every == y).all(axis=1))[0])
    loss = (every != y).sum(axis=1).astype(float)
    return brute_force.Block(i, every, every @ x.features, loss, truth, weight)


def small_graphs(tracking, rng, n, most=16):
    found = []
    while len(found) < n:
        x, y = tracking.tracking_graph(rng, n_frames=2, n_objects=1)
        if 4 < len(y) <= most and len(y) == len(x.costs):
            found.append((x, y))
    return zip(*found, strict=True)


def test_gaps_on_small_graphs_match_enumeration(tracking, rng):
    X, y = map(list, small_graphs(tracking, rng, 6))
    terms = [enumerated(i, x, truth, 1 / 6) for i, (x, truth) in enumerate(zip(X, y))]
    best, _ = dual_qp.optimum(terms, 0.1)
    for tol in (0.3, 0.01, 1e-5):
        model = StructuredSVM(MILPOracle(), lam=0.1, tol=tol, random_state=0).fit(X, y)
        objective = brute_force.primal(model.w_, 0.1, terms)
        # HiGHS has tolerances of about 1e-6.
        assert model.objective_ == pytest.approx(objective, rel=1e-6)
        assert tracking.objective(X, y, 0.1, model.w_) == pytest.approx(objective, rel=1e-9)
        assert model.dual_objective_ <= best * (1 + 1e-8)
        assert objective <= best * (1 + tol)


def test_true_tracks_satisfy_the_constraints(tracking, rng):
    n_divisions = 0
    for _ in range(10):
        x, y = tracking.tracking_graph(rng)
        MILPOracle().encode(x, y)
        assert set(np.unique(y)) <= {0, 1}
        assert x.features.shape[1] == len(tracking.FEATURES)
        n_divisions += int(y @ x.features[:, tracking.FEATURES.index("divide")])
    assert n_divisions > 0


def test_bounds_of_bundles_are_minima(tracking, rng):
    pytest.importorskip("clarabel")
    rows, offsets = rng.normal(size=(5, 3)), rng.normal(size=5)
    w, value = tracking.least_bound(rows, offsets, 0.5)
    assert value == pytest.approx(0.25 * w @ w + (rows @ w + offsets).max(), rel=1e-7)
    for _ in range(50):
        other = w + rng.normal(scale=0.1, size=3)
        assert value <= 0.25 * other @ other + (rows @ other + offsets).max() + 1e-8


def test_runs(tracking, run, capsys):
    arguments = ["--graphs", "2", "--frames", "3", "--objects", "2", "--lam", "1", "--seeds", "1"]
    assert run(tracking, *arguments)
    assert "sstruct" in capsys.readouterr().out
