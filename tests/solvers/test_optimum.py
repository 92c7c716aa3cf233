"""Test fits against the optimum of an independent QP solver, and certificates computed by NumPy."""

import numpy as np
import pytest
from scipy import sparse

from sstruct.chain import ChainSSVM
from sstruct.solvers import MPBCFW
from tests.reference import brute_force, dual_qp

TABLE = np.array([[0, 1, 3], [2, 0, 0.5], [1, 1, 0]])
LOSSES = {
    "hamming": "hamming",
    "count": "hamming-count",
    "balanced": "balanced",
    "weights": np.array([0.5, 2.0, 1.0]),
    "table": TABLE,
}
MASK = np.array([[True, True, False], [True, False, True], [True, True, True]])
STEPS = ["fw", "pairwise", "away", "corrective"]


def follows(before, after):
    """Return whether a transition is allowed: no start with 2, no end with 1, MASK between."""
    if before is None:
        return after != 2
    if after is None:
        return before != 1
    return bool(MASK[before, after])


def make(rng, *, model=None, n=9, ignored=False, F=3, K=3, csr=False):
    """Return noisy chains with allowed labelings; -1 marks ignored nodes."""
    model = model or brute_force.Model(K)
    X, y = [], []
    for i in range(n):
        length = (3, 1, 4, 2)[i % 4]
        x = rng.standard_normal((length, F)) * (rng.random((length, F)) < 0.8)
        choices = brute_force.labelings(length, model)
        labels = np.array(choices[rng.integers(len(choices))])
        X.append(sparse.csr_matrix(x) if csr else x)
        y.append(labels)
    y[0][:] = [0, 1, 0]  # every label occurs, even if nodes are ignored
    y[3][:] = [1, 2]
    if ignored:
        y[2][1], y[6][3], y[4][0] = -1, -1, -1
        y[5][0] = -1  # a sample without a labeled node
    return X, y


def certify(estimator, X, y, lam, model, loss="hamming-count", weights=None):
    """Recompute primal, dual and optimum by their definitions; return the blocks."""
    terms = brute_force.blocks(X, y, model, loss, weights)
    assert estimator.lam_ == pytest.approx(lam)
    dual_qp.check_working_sets(estimator, terms)
    best, _ = dual_qp.check_optimum(estimator, terms)
    assert estimator.objective_ - estimator.dual_objective_ <= estimator.tol * best * 1.01
    return terms


def compare(X, y, *, model=None, loss="hamming-count", weights=None, **parameters):
    """Fit tightly; optimum, certificate and reference must agree."""
    estimator = ChainSSVM(
        pairwise_scale=1, lam=0.1, loss=loss, ignore_label=-1, tol=1e-8, max_iter=100_000,
        solver=MPBCFW(average=False), warm_start=True, random_state=0, **parameters,
    ).fit(X, y, sample_weight=weights)  # fmt: skip
    certify(estimator, X, y, 0.1, model or brute_force.Model(3), loss, weights)
    return estimator


@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("ignored", [False, True], ids=["labeled", "ignored"])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss(rng, loss, ignored, weighted, csr):
    X, y = make(rng, ignored=ignored, csr=csr)
    weights = rng.choice([0.5, 1.0, 3.0], len(X)) if weighted else None
    if weighted:
        weights[7] = 0.0
    compare(X, y, loss=LOSSES[loss], weights=weights)


@pytest.mark.parametrize("boundary", [False, True], ids=["array", "callable"])
@pytest.mark.parametrize("transitions", [True, False])
@pytest.mark.parametrize("ignored", [False, True])
def test_masks(rng, boundary, transitions, ignored):
    limits = np.array([[True, True, False], [True, False, True]]) if boundary else None
    model = brute_force.Model(3, True, True, transitions, MASK, limits)
    X, y = make(rng, model=model, ignored=ignored)
    mask = follows if boundary else MASK
    estimator = compare(
        X, y, model=model, transition_mask=mask, transitions=transitions, classes=[0, 1, 2]
    )
    for labels in estimator.predict(X):
        assert brute_force.is_allowed(labels, model)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("boundaries", [True, False])
@pytest.mark.parametrize("transitions", [True, False])
def test_every_switch(rng, bias, boundaries, transitions):
    X, y = make(rng, ignored=True)
    compare(
        X,
        y,
        model=brute_force.Model(3, bias, boundaries, transitions),
        fit_intercept=bias,
        boundaries=boundaries,
        transitions=transitions,
    )


def test_samples_without_labels_count_as_weight_0(rng):
    X, y = make(rng, ignored=True)
    assert (y[5] == -1).all()  # counts as weight 0
    weights = np.arange(len(X), dtype=float)  # and so does sample 0
    y[1][0] = 1
    lam = 1 / (weights.sum() - weights[5])
    estimator = ChainSSVM(
        pairwise_scale=1, lam=lam, ignore_label=-1, tol=1e-8, warm_start=True, max_iter=20_000,
        solver=MPBCFW(average=False), random_state=0,
    ).fit(X, y, weights)  # fmt: skip
    certify(estimator, X, y, lam, brute_force.Model(3), weights=weights)


def test_uniform_sampling_does_not_stall_on_blocks_it_has_not_drawn():
    # A pass of draws with replacement may visit only solved blocks without being stalled.
    X, y = list(np.eye(4)[:, np.newaxis]), [[0], [1], [0], [1]]
    for seed in range(20):
        estimator = ChainSSVM(
            transitions=False, boundaries=False, fit_intercept=False,
            solver=MPBCFW(sampling="uniform"), tol=1e-6, random_state=seed,
        ).fit(X, y)  # fmt: skip
        assert estimator.status_ == "CONVERGED"
