"""Test angles and products over the local polytope against a linear program with two more rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from sstruct._oracles.label_set._polygon import RelaxedPolygon
from sstruct._oracles.label_set._roof_duality import RelaxedLabels
from sstruct._testing._oracle_access import relaxed_maximum, search_polygon
from tests.reference.local_polytope import (
    LocalPolytope,
    as_tables,
    point_of_code,
    random_scores,
    set_scores,
)

PROBLEMS = dict(
    n_labels=st.integers(1, 7),
    density=st.sampled_from([0.4, 1.0]),
    integer=st.booleans(),
    tables=st.booleans(),
    seed=st.integers(0, 10**6),
)
SLOPES = (0.0, 0.05, 0.3, 1.0, 2.0, 7.0, 50.0, np.inf)


class Example:
    """A problem, with h and g as linear functions of points of the local polytope."""

    def __init__(self, rng, n_labels, density, integer, tables):
        scores = random_scores(rng, n_labels, density, integer, tables)
        self.truth = rng.integers(0, 2, n_labels).astype(np.int32)
        self.weights = np.ones(n_labels) if integer else rng.random(n_labels)
        self.margin = 1.0 if integer else float(rng.uniform(0.2, 2.0))
        self.problem = (*scores, self.truth, self.weights, self.margin)
        node, self.edges, edge_scores = scores
        self.polytope = LocalPolytope(n_labels, self.edges)
        self.h = np.concatenate([node, as_tables(edge_scores).ravel()])
        self.g = np.zeros(self.polytope.size)
        self.g[:n_labels] = np.where(self.truth, -self.weights, self.weights)
        every, values = set_scores(node, self.edges, edge_scores)
        of_truth = values[(every == self.truth).all(axis=1)].item()
        self.h_start, self.g_start = self.margin - of_truth, self.weights @ self.truth
        self.sets = values + self.h_start, np.abs(every - self.truth) @ self.weights

    def search(self, *angle):
        """Return h and g of the best mixture, after checks of its code and its bounds."""
        found = search_polygon(RelaxedPolygon(), *self.problem, angle or None)
        if found is None:
            return None
        code, h, g, exact, bound, work = found
        K = len(self.truth)
        share = code[:2].view(np.float64)[0]
        one, two = np.split(code[2:], 2)
        assert 0 <= share < 1
        assert one.tolist() == two.tolist() if share == 0 else one.tolist() < two.tolist()
        point = (1 - share) * point_of_code(one, K, self.edges)
        point += share * point_of_code(two, K, self.edges)
        assert self.polytope.contains(point)
        scale = 1 + np.abs(self.h).sum()
        assert self.h @ point + self.h_start == pytest.approx(h, abs=1e-12 * scale)
        assert self.g @ point + self.g_start == pytest.approx(g, abs=1e-12 * scale)
        assert h > 0
        assert work > 0
        assert exact
        assert bound == pytest.approx(h * g if not angle else h + angle[0] * g, rel=1e-12)
        return h, g

    def constrained(self, loss_weight, lower, upper):
        """Return the maximum of h + loss_weight g in an angle, by the linear program."""
        rows = np.array([lower * self.h - self.g, self.g - upper * self.h, -self.h])
        ends = [self.g_start - lower * self.h_start, upper * self.h_start - self.g_start]
        best = self.polytope.maximum(
            self.h + loss_weight * self.g, rows, np.array([*ends, self.h_start])
        )
        return None if best is None else best[0] + self.h_start + loss_weight * self.g_start


@given(
    loss_weight=st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0, 20.0]),
    angle=st.lists(st.sampled_from(SLOPES), min_size=2, max_size=2, unique=True),
    **PROBLEMS,
)
def test_angle_equals_the_linear_program(
    loss_weight, angle, n_labels, density, integer, tables, seed, new_rng
):
    lower, upper = sorted(angle)
    example = Example(new_rng(seed), n_labels, density, integer, tables)
    found = example.search(loss_weight, lower, upper)
    if np.isinf(upper):  # as documented
        upper = max(1e6 * example.weights.sum() / example.margin, 2 * lower)
    best = example.constrained(loss_weight, lower, upper)
    if found is None:
        # No point with h > 0: at most the origin is in the angle.
        assert best is None or best <= 1e-9
        return
    h, g = found
    assert lower * h - 1e-9 * (1 + h) <= g <= upper * h * (1 + 1e-9) + 1e-9
    assert h + loss_weight * g == pytest.approx(best, rel=1e-7, abs=1e-7)


@given(**PROBLEMS)
def test_product_is_the_largest(n_labels, density, integer, tables, seed, new_rng):
    example = Example(new_rng(seed), n_labels, density, integer, tables)
    h, g = example.search()
    h_sets, g_sets = example.sets
    assert h * g >= (h_sets * g_sets)[h_sets > 0].max() - 1e-9
    # With mu = h / g, the line h + mu g = K bounds every product by K^2 / (4 mu) ([C15], Lemma
    # 5); at the maximum the bound is attained, which proves that no point has a larger product.
    if h * g <= 1e-9:
        mu = 1e-6
    else:
        mu = h / g
    top, _ = example.polytope.maximum(example.h + mu * example.g)
    top += example.h_start + mu * example.g_start
    if h * g > 1e-9:
        assert top**2 / (4 * mu) == pytest.approx(h * g, rel=1e-6)
    for factor in np.geomspace(0.02, 50, 9):
        objective = example.h + factor * mu * example.g
        _, point = example.polytope.maximum(objective)
        other_h = example.h @ point + example.h_start
        other_g = example.g @ point + example.g_start
        assert other_h <= 0 or other_h * other_g <= h * g + 1e-7 * (1 + h * g)


class ManyLabels:
    """A problem in which dominance determines few labels, with bounds by separate cuts."""

    def __init__(self, rng, n_labels):
        self.edges = np.array([(u, v) for u in range(n_labels) for v in range(u)], dtype=np.int32)
        self.node = rng.normal(size=n_labels)
        self.scores = rng.normal(-0.02, 0.1, size=len(self.edges))
        self.truth = (rng.random(n_labels) < 0.2).astype(np.int32)
        self.weights = np.full(n_labels, 1 / n_labels)
        self.charge = np.where(self.truth, -self.weights, self.weights)
        pairs = self.truth[self.edges].all(axis=1)
        self.at_truth = 1.0 - self.node @ self.truth - self.scores @ pairs

    def search(self, angle=None):
        problem = (self.node, self.edges, self.scores, self.truth, self.weights, 1.0)
        return search_polygon(RelaxedPolygon(), *problem, angle)

    def top(self, h_weight, g_weight):
        """Return the maximum of h_weight h + g_weight g."""
        node = h_weight * self.node + g_weight * self.charge
        best = relaxed_maximum(RelaxedLabels(), node, self.edges, h_weight * self.scores)[1]
        return best + h_weight * self.at_truth + g_weight * self.truth.mean()

    def top_of_ray(self, slope):
        """Return the largest h with g = slope h: the minimum of the Lagrangian dual over tau."""
        return minimize_scalar(
            lambda tau: self.top(1 - tau * slope, tau),
            bounds=(-20 / slope, 20 / slope),
            method="bounded",
            options={"xatol": 1e-9},
        ).fun


@pytest.mark.parametrize("n_labels", [20, 45])
def test_many_labels_reach_the_bounds_of_fresh_cuts(n_labels, rng):
    # Cuts are warm-started in these searches, but not for the bounds.
    for _ in range(5):
        problem = ManyLabels(rng, n_labels)
        _, h, g, exact, _, _ = problem.search()
        mu = h / g
        assert exact
        assert problem.top(1, mu) ** 2 / (4 * mu) == pytest.approx(h * g, rel=1e-10)
        for slope in (0.5 / mu, 2 / mu):
            _, h, g, exact, _, _ = problem.search((1.0, slope, slope))
            least = problem.top_of_ray(slope)
            assert exact
            assert g == pytest.approx(slope * h, rel=1e-10)
            assert h <= least * (1 + 1e-10)
            assert h == pytest.approx(least, rel=1e-6)


def test_equal_ends_of_an_angle_give_the_farthest_point_of_the_ray():
    edges = np.zeros((0, 2), dtype=np.int32)
    problem = (np.array([-0.5, 0.5]), edges, np.zeros(0), np.zeros(2, np.int32), np.ones(2), 1.0)
    for slope in (0.1, 0.5, 1.0, 1.5, 2.0):
        _, h, g, exact, _, _ = search_polygon(RelaxedPolygon(), *problem, (0.3, slope, slope))
        # Edges from (1, 0) by (1.5, 1) to (1, 2).
        if slope <= 1 / 1.5:
            assert h == pytest.approx(1 / (1 - 0.5 * slope), rel=1e-12)
        else:
            assert h == pytest.approx(2 / (1 + 0.5 * slope), rel=1e-12)
        assert g == pytest.approx(slope * h, rel=1e-12)
        assert exact
    assert search_polygon(RelaxedPolygon(), *problem, (0.3, 2.1, 2.2)) is None


def test_one_workspace_for_problems_of_any_size(rng):
    workspace = RelaxedPolygon()
    for k in range(40):
        example = Example(rng, int(rng.integers(1, 9)), 0.6, k % 2 == 0, k % 3 == 0)
        angle = (1.0, 0.5, 3.0) if k % 4 else None
        found, fresh = (
            search_polygon(w, *example.problem, angle) for w in (workspace, RelaxedPolygon())
        )
        assert (found is None) == (fresh is None)
        if found is not None:
            np.testing.assert_array_equal(found[0], fresh[0])
            assert found[1:] == fresh[1:]


@pytest.mark.parametrize("truth, weights, margin", [([0], [1.0], 1.0), ([0, 1], [1.0, 1.0], 0.0)])
def test_problems_are_checked(truth, weights, margin):
    with pytest.raises(ValueError, match="one entry per label"):
        search_polygon(
            RelaxedPolygon(),
            np.zeros(2),
            np.zeros((0, 2), np.int32),
            np.zeros(0),
            np.array(truth, dtype=np.int32),
            np.array(weights),
            margin,
        )
