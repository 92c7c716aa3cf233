"""Test lam="auto" against its definition, with sample weights, scales and losses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    StructuredSVM,
    TreeSSVM,
)
from sstruct._estimators.core import lam_from_scale
from sstruct._estimators.core.lam_from_scale import (
    STRENGTH,
    TrainedNodes,
    feature_spread,
    joined,
    scale_of,
)
from tests.estimators.custom.choices import Choice

PARENTS = [-1, 0, 0]


def spread_of(features, weights, bias):
    """Return the spread of features, read in chunks."""
    nodes = TrainedNodes(features, weights, n_nodes=1.0, mean_cost=1.0, bias=bias)
    return feature_spread(scale_of(nodes, 1.0).moments, bias)


def definition(rows, weights, bias):
    """Return the spread, computed separately for each feature."""
    total = weights.sum()
    scales, shares, squares = [], [], 0
    for column in np.asarray(rows, dtype=float).T:
        variance = weights @ (column - weights @ column / total) ** 2 / total
        squares += weights @ column**2 / total
        if variance > 1e-22 * (weights @ column**2 / total):
            share = weights[column != 0].sum() / total
            scales.append((variance / share) ** (1 / 3))
            shares.append(share)
    typical = sum(shares) * np.average(scales, weights=shares) ** 3 if shares else 0
    return max(typical, squares / 400, bias / 40)


@given(
    n=st.integers(1, 30),
    F=st.integers(1, 6),
    density=st.sampled_from([0.1, 0.5, 1.0]),
    shift=st.sampled_from([0.0, 3.0, 1e6]),
    dtype=st.sampled_from([np.float32, np.float64]),
    bias=st.booleans(),
    key=st.integers(0, 2**32 - 1),
)
def test_spread_is_its_definition(n, F, density, shift, dtype, bias, key, new_rng):
    rng = new_rng(key)
    rows = rng.standard_normal((n, F)) * np.exp(3 * rng.standard_normal(F)) + shift
    rows = (rows * (rng.random((n, F)) < density)).astype(dtype)
    weights = rng.integers(0, 4, n).astype(float)
    weights[0] = 1
    expected = definition(rows, weights, bias)
    close = {"rel": 1e-6, "abs": 1e-9 * max(shift, 1)}
    assert spread_of(rows, weights, bias) == pytest.approx(expected, **close)
    stored = sparse.csr_matrix(rows)
    assert spread_of(stored, weights, bias) == pytest.approx(expected, **close)
    copies = np.repeat(rows, weights.astype(int), axis=0)
    ones = np.ones(len(copies))
    for same in (copies, sparse.csr_matrix(copies)):
        assert spread_of(same, ones, bias) == pytest.approx(expected, **close)


def test_parts_of_the_rows_make_the_whole(rng, monkeypatch):
    rows = rng.standard_normal((200, 3)) + np.linspace(-5, 5, 200)[:, np.newaxis]
    rows[:, 0] *= rng.random(200) < 0.3
    stored, weights = sparse.csr_matrix(rows), rng.random(200)
    weights[40:80] = 0
    whole = spread_of(rows, weights, True)
    monkeypatch.setattr(lam_from_scale, "AT_ONCE", 7)
    assert spread_of(rows, weights, True) == pytest.approx(whole, rel=1e-12)
    assert spread_of(stored, weights, True) == pytest.approx(whole, rel=1e-12)


def test_stored_zeros_and_constants_have_no_spread():
    rows = np.array([[1.0, 0, 7], [0, 2, 7], [3, 0, 7]])
    stored = sparse.csr_matrix(rows)
    stored.data[0] = 0
    weights = np.ones(3)
    expected = definition(stored.toarray()[:, :2], weights, False)
    assert spread_of(stored, weights, False) == pytest.approx(expected)
    assert spread_of(np.full((4, 2), 10.0), np.ones(4), False) == pytest.approx(200 / 400)
    assert spread_of(np.full((4, 2), 10.0), np.ones(4), True) == pytest.approx(200 / 400)


CHAINS = [[[0.0], [2.0]], [[4.0]], [[2.0], [2.0], [2.0]]]
LABELS = [["a", "b"], ["a"], ["b", "b", "b"]]


def test_lam_of_chains_computed_by_hand():
    # Six nodes 0, 2, 4, 2, 2, 2: mean 2, variance 8/6, five of them not 0; so the spread is
    # 5/6 * (8/6) / (5/6). Three samples.
    model = ChainSSVM(pairwise_scale=1).fit(CHAINS, LABELS)
    assert model.lam_ == pytest.approx(0.4 * (8 / 6) * 2**0.2 / 3)
    # The loss is divided by lengths: a wrong node costs 3/6 on average.
    assert ChainSSVM(pairwise_scale=1, loss="hamming").fit(CHAINS, LABELS).lam_ == pytest.approx(
        2 * model.lam_
    )
    assert ChainSSVM(pairwise_scale=1, lam=1 / 3).fit(CHAINS, LABELS).lam_ == 1 / 3
    # Weights 2, 0, 1: two copies of the nodes 0, 2, and 2, 2, 2; mean 10/7, five of seven not 0.
    weighted = ChainSSVM(pairwise_scale=1).fit(CHAINS, LABELS, sample_weight=[2, 0, 1])
    variance = (2 * (10 / 7) ** 2 + 5 * (4 / 7) ** 2) / 7
    assert weighted.lam_ == pytest.approx(0.4 * variance * (7 / 3) ** 0.2 / 3)
    # Nodes without a label are ignored, so 0 and 4 remain.
    labels = [["a", "-"], ["b"], ["-"] * 3]
    model = ChainSSVM(pairwise_scale=1, ignore_label="-").fit(CHAINS, labels)
    assert model.lam_ == pytest.approx(0.4 * 4 / 2)


def samples(kind, rng, t=1.0, n=30):
    """Return an estimator, X and y, with features multiplied by t."""
    if kind in ("chain", "chain rows", "grid"):
        shape = {"chain": (6,), "chain rows": (), "grid": (3, 4)}[kind]
        y = rng.integers(0, 3, (n, *shape))
        X = t * (np.eye(3)[y] + rng.standard_normal((*y.shape, 3)))
        return GridCRFSSVM() if kind == "grid" else ChainSSVM(), X, y
    if kind == "graph":
        y = [rng.integers(0, 2, rng.integers(2, 6)) for _ in range(n)]
        edges = [np.array([(v, v + 1) for v in range(len(v) - 1)]) for v in y]
        X = [(t * (np.eye(2)[v] + rng.standard_normal((len(v), 2))), e) for v, e in zip(y, edges)]
        return GraphCRFSSVM(), X, y
    if kind == "tree":
        X = [{"features": [t * rng.standard_normal((4, 2)) for _ in PARENTS],
              "positions": [rng.standard_normal((4, 2)) for _ in PARENTS]}
             for _ in range(n)]  # fmt: skip
        return TreeSSVM(parents=PARENTS), X, [rng.integers(0, 4, 3) for _ in range(n)]
    X = t * rng.standard_normal((n, 4))
    if kind == "label sets":
        return MultilabelSSVM(), X, (X[:, :3] / t + rng.standard_normal((n, 3)) > 0).astype(int)
    y = (X[:, :3] / t + rng.standard_normal((n, 3))).argmax(axis=1)
    return (MultilabelSSVM() if kind == "one label" else MulticlassSSVM()), X, y


KINDS = ("chain", "chain rows", "grid", "graph", "tree", "label sets", "one label", "classes")


@pytest.mark.filterwarnings("ignore:.*scale the features")
@pytest.mark.parametrize("kind", KINDS)
def test_features_t_times_as_large(kind, new_rng):
    lams = []
    for t in (1.0, 100.0):
        model, X, y = samples(kind, new_rng(0), t)
        lams.append(model.set_params(tol=1).fit(X, y).lam_)
    assert lams[1] == pytest.approx(1e4 * lams[0])


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"tree", "grid"}))
def test_sparse_and_dense_features_have_the_same_lam(kind, rng):
    model, X, y = samples(kind, rng)
    if kind == "graph":
        stored = [(sparse.csr_matrix(x), *rest) for x, *rest in X]
    elif kind == "chain":
        stored = [sparse.csr_matrix(x) for x in X]
    else:
        stored = sparse.csr_matrix(X)
    lam = model.set_params(tol=1).fit(X, y).lam_
    assert clone(model).fit(stored, y).lam_ == pytest.approx(lam, rel=1e-12)


@pytest.mark.parametrize("kind", ["chain", "grid", "label sets", "one label"])
def test_a_loss_in_another_unit_predicts_the_same(kind, rng):
    # All samples have the same size, so "hamming" is "hamming-count" in another unit.
    model, X, y = samples(kind, rng)
    model.set_params(tol=1e-9, max_iter=20_000, random_state=0)
    size = np.size(y[0]) if kind != "one label" else 3
    count = clone(model).set_params(loss="hamming-count").fit(X, y)
    share = clone(model).set_params(loss="hamming").fit(X, y)
    assert share.lam_ == pytest.approx(size * count.lam_)
    np.testing.assert_allclose(size * share.w_, count.w_, atol=1e-5 * abs(count.w_).max())


def test_costs_and_classes(rng):
    model, X, y = samples("classes", rng)
    lam = model.fit(X, y).lam_
    costs = np.array([[0.0, 1, 3], [1, 0, 5], [2, 2, 0]])
    counts = np.bincount(y)
    mean = counts @ costs.sum(axis=1) / 2 / len(y)
    assert MulticlassSSVM(loss=costs).fit(X, y).lam_ == pytest.approx(lam / mean)
    assert MulticlassSSVM(loss="balanced").fit(X, y).lam_ == pytest.approx(lam)
    # Under slack rescaling, costs are factors of hinge losses whose margin is 1.
    slack = MulticlassSSVM(loss=costs, rescaling="slack").fit(X, y)
    assert slack.lam_ == pytest.approx(lam * mean)
    assert MulticlassSSVM(loss=np.zeros(3)).fit(X, y).lam_ == pytest.approx(lam)


@pytest.mark.parametrize("edges", ["auto", None, [-1, 0]], ids=["auto", "none", "hierarchy"])
@pytest.mark.parametrize("n", [3, 422, 3376])
def test_lam_of_label_sets_computed_by_hand(edges, n):
    # Two features alternate between 0 and 2: each has variance 1, and half of its rows are not 0.
    X = np.tile([[0.0, 0.0], [2.0, 2.0]], (n // 2, 1)) if n > 3 else np.zeros((3, 2))
    Y = np.tile([[0, 0], [1, 1]], (n // 2, 1)) if n > 3 else np.eye(3, 2, dtype=int)
    Y[:, 1] &= Y[:, 0]
    spread = 2.0 if n > 3 else 1 / 40  # the minimum with a bias
    once = {"max_iter": 1, "tol": 1.0, "random_state": 0}
    model = MultilabelSSVM(edges=edges, **once).fit(X, Y)
    assert model.lam_ == pytest.approx(0.6 * spread / n / (2 if n == 3376 else 1))  # (n / 422)^1/3
    # Weights count as copies in the number of samples, too.
    weighted = clone(model).fit(X, Y, sample_weight=np.full(len(X), 8.0))
    expected = 0.6 * spread / (8 * n) * min(1, (8 * n / 422) ** (-1 / 3))
    assert weighted.lam_ == pytest.approx(expected)
    # Missed labels cost twice as much.
    on, off = Y.sum(), Y.size - Y.sum()
    costly = clone(model).set_params(loss="asymmetric").fit(X, Y)
    assert costly.lam_ == pytest.approx(model.lam_ * (off + 2 * on) / (off + 4 * on))


def test_one_label_a_row_has_the_lam_of_classes(rng):
    X, y = rng.standard_normal((1000, 3)), rng.integers(0, 3, 1000)
    once = {"max_iter": 1, "tol": 1.0, "random_state": 0}
    lams = [kind(**once).fit(X, y).lam_ for kind in (MultilabelSSVM, MulticlassSSVM)]
    assert 2 * lams[0] == pytest.approx(lams[1])  # two wrong labels


@pytest.mark.parametrize("label_sets", [False, True])
def test_partitions_have_the_lam_of_all_samples(rng, label_sets):
    X, weights = rng.standard_normal((900, 4)), rng.integers(0, 3, 900).astype(float)

    def scale(rows):
        nodes = TrainedNodes(X[rows], weights[rows], 1, 1.0, True, label_sets=label_sets)
        return scale_of(nodes, weights[rows].sum())

    parts = joined([scale(slice(a, b)) for a, b in [(0, 100), (100, 500), (500, 900)]])
    whole = lam_from_scale.lam_from_scale(scale(slice(None)))
    assert lam_from_scale.lam_from_scale(parts) == pytest.approx(whole, rel=1e-12)


def test_costs_of_rare_labels_in_sets(rng):
    X = rng.standard_normal((200, 3))
    share = np.array([0.5, 0.1, 0.02])
    Y = (np.arange(200)[:, np.newaxis] < 200 * share).astype(int)
    model = MultilabelSSVM(loss="hamming-count", edges=None)
    lam = model.fit(X, Y).lam_
    # Costs are N / (2 K N_k) for N_k of N samples; their mean is weighted by the costs.
    costs, counts = 0.5 / 3 / np.array([1 - share, share]), np.array([1 - share, share])
    mean = (counts * costs**2).sum() / (counts * costs).sum()
    assert mean > 1
    balanced = clone(model).set_params(loss="balanced")
    assert balanced.fit(X, Y).lam_ == pytest.approx(lam / mean)
    weights = rng.integers(1, 3, 200)
    repeated = np.repeat(np.arange(200), weights)
    expected = clone(balanced).fit(X[repeated], Y[repeated]).lam_
    assert clone(balanced).fit(X, Y, weights).lam_ == pytest.approx(expected, rel=1e-12)
    given = clone(model).set_params(loss=[3.0, 1.0, 2.0])
    assert given.fit(X, Y).lam_ == pytest.approx(lam / ((9 + 1 + 4) / 6 / 3))
    # Under slack rescaling, costs are factors of hinge losses, and all labels count equally.
    slack = {"rescaling": "slack", "max_iter": 1, "tol": 1.0}
    assert clone(balanced).set_params(**slack).fit(X, Y).lam_ == pytest.approx(lam / 3)
    same = clone(model).set_params(loss=[1.0, 1.0, 1.0]).fit(X, Y).lam_
    assert same == clone(model).set_params(loss="hamming").fit(X, Y).lam_


def test_sizes_of_nodes_are_costs(rng):
    model, X, y = samples("graph", rng)
    lam = model.fit(X, y).lam_
    sized = [(x, edges, None, np.full(len(x), 50.0)) for x, edges in X]
    assert clone(model).fit(sized, y).lam_ == pytest.approx(lam / 50)
    share = clone(model).set_params(loss="hamming").fit(X, y)
    assert clone(share).fit(sized, y).lam_ == pytest.approx(share.lam_)


def test_lam_of_constant_features(rng):
    y = [0, 1, 1]
    X, plain = np.ones((3, 2)), MulticlassSSVM(fit_intercept=False)
    assert MulticlassSSVM().fit(X, y).lam_ == pytest.approx(STRENGTH / 40 / 3)
    assert plain.fit(X, y).lam_ == pytest.approx(STRENGTH * 2 / 400 / 3)
    assert plain.fit(0 * X, y).lam_ == STRENGTH / 3


@pytest.mark.parametrize("unit", [1e-150, 1e60])
def test_error_for_lam_beyond_float64(unit):
    X = np.array([[1, 2], [-1, 0], [0, 3]]) * unit
    model = MulticlassSSVM(fit_intercept=False)
    with pytest.raises(ValueError, match=r'lam="auto" is .* variance .*; rescale the features'):
        model.fit(X, [0, 1, 1], sample_weight=np.full(3, 1e300))


def test_user_defined_oracle_uses_the_lam_of_the_paper(rng):
    X, y = [rng.standard_normal((3, 2)) for _ in range(8)], [0, 1] * 4
    model = StructuredSVM(Choice(), random_state=0).fit(X, y, sample_weight=np.full(8, 2.0))
    assert model.lam_ == 1 / 16
