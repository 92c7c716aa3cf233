"""Test searches, states and bounds of the factors of GDMM on label sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct._oracles.label_set._relaxation import LabelRelaxation
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._problems.label_set._multilabel import MultilabelProblem
from sstruct._solvers.gdmm._label_bounds import consistent_point, hinge_losses, measures
from sstruct._solvers.gdmm._label_pass import LabelFactors
from sstruct._testing._solver_access import label_parts, label_state, search_labels
from tests.reference.local_polytope import LocalPolytope

SEEDS = dict(key=st.integers(0, 2**32 - 1), n_parts=st.sampled_from([1, 2, 3]))


class Case:
    """A random problem, its factors after some passes, and all of it in NumPy."""

    def __init__(self, rng, n_parts=1, n_passes=None, rho=None, exhaustive=False):
        n, self.K, F = rng.integers(1, 6), int(rng.integers(3, 9)), rng.integers(1, 4)
        self.X = rng.normal(size=(n, F))
        self.Y = (rng.random((n, self.K)) < 0.3).astype(int)
        pairs = [(u, v) for u in range(self.K) for v in range(u + 1, self.K)]
        share = rng.choice([0.3, 1.0])
        kept = [pair for pair in pairs if rng.random() < share]
        self.edges = np.array(kept, dtype=np.int32).reshape(-1, 2)
        self.cost = rng.uniform(0.2, 1.5, (2, self.K))
        first = np.r_[0, np.cumsum(self.Y.sum(axis=1))]
        self.problem = MultilabelProblem(
            self.X, (first, np.nonzero(self.Y)[1]), LabelRelaxation(self.K, self.edges),
            cost=self.cost,
        )  # fmt: skip
        self.lam, self.weights = rng.choice([0.05, 0.5]), rng.uniform(0.2, 1, n)
        self.rho = rho or rng.choice([0.1, 1.0, 10.0])
        self.factors = LabelFactors(
            self.problem, self.lam, self.weights, self.rho, n_parts, int(rng.integers(10**6)), 2,
            rng.choice([0.0, 1.0]), exhaustive,
        )  # fmt: skip
        for _ in range(rng.integers(0, 8) if n_passes is None else n_passes):
            assert self.factors.run(np.inf)

    def views(self, w):
        views = self.problem.layout.views(w)
        return views["coef"], views["intercept"], views.get("edge", np.zeros(0))

    def random_weights(self, rng):
        w = np.zeros(self.problem.n_weights)
        for part in self.problem.layout.views(w).values():
            part[...] = rng.normal(size=part.shape) * rng.choice([0.3, 1.0])
            part[rng.random(part.shape) < 0.3] = 0
        return w

    def alphas(self, i):
        alpha = np.zeros(self.K)
        state = label_state(self.factors, i)
        alpha[state["label"]] = state["alpha"]
        return alpha


@given(**SEEDS)
def test_searches_find_the_true_maxima(new_rng, key, n_parts):
    rng = new_rng(key)
    case = Case(rng, n_parts, exhaustive=bool(rng.integers(2)))
    w = case.random_weights(rng)
    coef, intercept, v = case.views(w)
    parts = label_parts(case.factors)
    assert sorted(np.concatenate(parts)) == list(range(case.K))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    for i in range(len(case.X)):
        part = int(rng.integers(n_parts))
        slack = -rng.exponential(size=case.K) * (rng.random(case.K) < 0.5)
        label, top, edge, joint = search_labels(case.factors, i, part, w, slack)
        gains = coef @ case.X[i] + intercept + case.cost[0]
        admitted = np.isin(np.arange(case.K), label_state(case.factors, i)["label"])
        candidates = [k for k in parts[part] if not admitted[k]]
        if candidates:
            assert label in candidates
            assert gains[label] == pytest.approx(max(gains[candidates]), abs=1e-12)
            assert top == pytest.approx(gains[label], abs=1e-12)
        else:
            assert label == -1
        scored = np.full(case.K, -np.inf)
        scored[parts[part]] = np.minimum(gains[parts[part]], 0)
        scored[admitted] = slack[admitted]
        joints = {
            e: v[e] + scored[a] + scored[b]
            for e, (a, b) in enumerate(case.edges)
            if not (admitted[a] and admitted[b])
        }
        best = max(joints.values(), default=0)
        if best <= 1e-12:
            assert joint <= 1e-12
        else:
            assert joints[edge] == pytest.approx(best, abs=1e-12)
            assert joint == pytest.approx(best, abs=1e-12)


@given(**SEEDS)
def test_running_variables_are_consistent(new_rng, key, n_parts):
    rng = new_rng(key)
    case = Case(rng, n_parts)
    before = [label_state(case.factors, i) for i in range(len(case.X))]
    case.factors.set_rho(2 * case.rho)
    coef, bias = np.zeros((case.K, case.X.shape[1])), np.zeros(case.K)
    v = np.zeros(len(case.edges))
    for i, state in enumerate(before):
        C, truth = case.weights[i] / case.lam, case.Y[i]
        label, alpha, beta = state["label"], state["alpha"], state["beta"]
        assert len(set(label)) == len(label)
        assert label[: state["n_true"]].tolist() == np.flatnonzero(truth).tolist()
        on = truth[label] == 1
        assert ((alpha[on] >= 0) & (alpha[on] <= C)).all()
        assert ((alpha[~on] <= 0) & (alpha[~on] >= -C)).all()
        # All edges between admitted labels, each once, are there.
        inside = np.isin(case.edges, label).all(axis=1)
        assert sorted(state["edge"]) == np.flatnonzero(inside).tolist()
        np.testing.assert_array_equal(label[state["end"]], case.edges[state["edge"]])
        masses = np.column_stack([-beta.sum(axis=1), beta])
        outcome = truth[case.edges[state["edge"]]] @ [2, 1]
        right = np.arange(4) == outcome.reshape(-1, 1)
        assert (masses[right] >= -1e-12).all()
        assert (masses[right] <= C * (1 + 1e-12)).all()
        assert (masses[~right] <= 1e-12).all()
        coef[label] += alpha[:, None] * case.X[i]
        bias[label] += alpha
        v[state["edge"]] += beta[:, 2]
        # A change of rho keeps the multipliers rho (message - residual).
        after = label_state(case.factors, i)
        residual = beta[:, [1, 0]] + beta[:, 2:] - alpha[state["end"]]
        np.testing.assert_allclose(
            case.rho * (state["message"] - residual),
            2 * case.rho * (after["message"] - residual),
            atol=1e-12,
        )
    for part, expected in zip(case.views(case.factors.running_weights), (coef, bias, v)):
        np.testing.assert_allclose(part, expected, atol=1e-10)


@given(key=st.integers(0, 2**32 - 1))
def test_bounds_from_scratch(new_rng, key):
    rng = new_rng(key)
    case = Case(rng)
    alphas = np.array([case.alphas(i) for i in range(len(case.X))])
    w, dual = consistent_point(case.factors)
    before = [label_state(case.factors, i)["label"] for i in range(len(case.X))]
    hinge, exact = hinge_losses(case.factors, ThreadPool(case.problem, 1), w)
    grown = [
        len(set(label_state(case.factors, i)["label"])) - len(set(old))
        for i, old in enumerate(before)
    ]
    coef, bias, v = case.views(w)
    assert exact
    # The weights are a multiple of those of the labels' alpha, with edges from consistent masses.
    full = alphas.T @ case.X
    scale = np.vdot(coef, full) / max(np.vdot(full, full), 1e-300)
    np.testing.assert_allclose(coef, scale * full, atol=1e-10)
    np.testing.assert_allclose(bias, scale * alphas.sum(axis=0), atol=1e-10)
    assert -1e-12 <= scale <= 1 + 1e-12
    factor = case.weights / case.lam
    q = case.Y - scale * alphas / factor[:, None]
    loss = (np.where(case.Y == 1, case.cost[1] * (1 - q), case.cost[0] * q)).sum(axis=1)
    norm = (coef**2).sum() + (bias**2).sum() + (v**2).sum()
    assert dual == pytest.approx(case.weights @ loss - case.lam / 2 * norm, abs=1e-10)
    # The masses of edges are consistent with those of the unscaled alpha.
    q = case.Y - alphas / factor[:, None]
    low, high = np.zeros((2, len(v)))
    for e, (a, b) in enumerate(case.edges):
        both = case.Y[:, a] * case.Y[:, b]
        low[e] = factor @ (both - np.minimum(q[:, a], q[:, b]))
        high[e] = factor @ (both - np.maximum(q[:, a] + q[:, b] - 1, 0))
    np.testing.assert_allclose(v, scale * np.clip(0, low, high), atol=1e-9)
    # The hinge losses are those of the linear program.
    polytope = LocalPolytope(case.K, case.edges)
    for i, x in enumerate(case.X):
        gains = coef @ x + bias + np.where(case.Y[i] == 1, -case.cost[1], case.cost[0])
        tables = np.kron(v, [0, 0, 0, 1]) if len(v) else np.zeros(0)
        best, _ = polytope.maximum(np.r_[gains, tables])
        on = case.Y[i]
        truth = gains @ on + v @ (on[case.edges[:, 0]] * on[case.edges[:, 1]])
        assert hinge[i] == pytest.approx(best - truth, abs=1e-7)
    assert dual <= case.lam / 2 * norm + case.weights @ hinge + 1e-9
    labels, active, edges, square = measures(case.factors)
    states = [label_state(case.factors, i) for i in range(len(case.X))]
    assert labels == pytest.approx(np.mean([len(state["label"]) for state in states]))
    assert edges == pytest.approx(np.mean([len(state["edge"]) for state in states]))
    assert active <= labels
    ends = [(state["alpha"][state["end"]] ** 2).sum() for state in states]
    assert square == pytest.approx(sum(ends))
    assert (case.alphas(0) == alphas[0]).all()
    # At most one label per sample is added.
    assert set(grown) <= {0, 1}


def test_invalid_arguments(rng):
    case = Case(rng)
    with pytest.raises(ValueError, match="expected 1 to"):
        LabelFactors(case.problem, 1.0, case.weights, 1.0, case.K + 1)
    expected = f"expected {len(case.weights)} positive block weights"
    with pytest.raises(ValueError, match=expected):
        LabelFactors(case.problem, 1.0, 0 * case.weights, 1.0)
    with pytest.raises(ValueError, match="positive block weights, found"):
        LabelFactors(case.problem, 1.0, np.ones(len(case.weights) + 1), 1.0)
    with pytest.raises(IndexError, match="is out of range"):
        label_state(case.factors, len(case.X))
    with pytest.raises(IndexError, match="is out of range"):
        search_labels(case.factors, 0, 1)
    with pytest.raises(ValueError, match="to another problem"):
        hinge_losses(
            case.factors, ThreadPool(Case(rng).problem, 1), np.zeros(case.problem.n_weights)
        )
