"""Test the contract and the slack rescaling of mixtures of relaxed label sets."""

from types import SimpleNamespace

import numpy as np
import pytest

from sstruct._oracles.label_set._relaxation import LabelRelaxation
from sstruct._problems.label_set._mixtures import MixtureProblem
from sstruct._problems.label_set._multilabel import MultilabelProblem
from sstruct._problems.slack._slack_problem import SlackProblem
from sstruct._testing import _problem_access as access
from tests.problems.test_contract import check_against_definition
from tests.problems.test_multilabel import make
from tests.reference.mixtures import best_of_polygon

KINDS = ("halves", "relaxed")


def mixture(share, one, two=None):
    """Return the code of (1 - share) one + share two as a tuple."""
    head = np.array([share]).view(np.int32)
    return (*head.tolist(), *one, *(one if two is None else two))


def parts_of(y):
    """Return the share and the two codes of a mixture."""
    one, two = np.split(np.array(y[2:], dtype=np.int32), 2)
    return np.array(y[:2], dtype=np.int32).view(np.float64)[0], tuple(one), tuple(two)


def mixed(made, rng, n_mixtures):
    """Return the same parts with mixtures: all corners, and some mixtures of two corners."""

    def linear(function):
        def at(i, y):
            share, one, two = parts_of(y)
            return (1 - share) * function(i, one) + share * function(i, two)

        return at

    allowed = []
    for corners in made.allowed:
        some = [mixture(0.0, y) for y in corners]
        for _ in range(n_mixtures if len(corners) > 1 else 0):
            a, b = sorted(rng.choice(len(corners), 2, replace=False))
            one, two = sorted((corners[a], corners[b]))
            some.append(mixture(rng.choice([0.25, 0.5, 0.75]), one, two))
        allowed.append(some)
    return SimpleNamespace(
        **{**vars(made), "problem": MixtureProblem(made.problem), "phi": linear(made.phi),
           "loss": linear(made.loss), "allowed": allowed, "corners": made.allowed}
    )  # fmt: skip


@pytest.mark.parametrize("full", [False, True], ids=["and", "full"])
@pytest.mark.parametrize("kind", KINDS)
def test_contract(rng, kind, full):
    for K in (1, 2, 3):
        for bias in (True, False):
            made = make(rng, kind, K, full=full, bias=bias, storage="csr" if bias else "dense")
            check_against_definition(mixed(made, rng, 200), rng)


@pytest.mark.parametrize("full", [False, True], ids=["and", "full"])
def test_slack_rescaling_by_definition(rng, full):
    for K in (1, 2, 3):
        made = mixed(make(rng, "relaxed", K, full=full), rng, 60)
        problem = SlackProblem(made.problem)
        for i, allowed in enumerate(made.allowed):
            truth = problem.true_code(i)
            pick = [allowed[k] for k in rng.permutation(len(allowed))[:20]]
            losses = np.array([made.loss(i, y) for y in pick])
            psi = np.array([made.phi(i, y) - made.phi(i, truth) for y in pick])
            codes = np.array(pick, dtype=np.int32)
            planes = losses[:, np.newaxis] * psi
            np.testing.assert_allclose(
                access.scores(problem, i, made.padded, codes),
                losses * (1 + psi @ made.w),
                rtol=1e-13,
            )
            weights = rng.standard_normal(len(pick))
            weights[0] -= weights.sum()
            out = np.zeros(problem.n_weights)
            access.scatter(problem, i, codes, weights, out)
            np.testing.assert_allclose(made.public(out), weights @ planes, atol=1e-10)
            for a in range(len(pick)):
                found = [access.squared_distance(problem, i, codes[a], code) for code in codes]
                np.testing.assert_allclose(
                    found, ((planes - planes[a]) ** 2).sum(axis=1), rtol=1e-12, atol=1e-9
                )
                assert found[a] == 0
                back = [access.squared_distance(problem, i, code, codes[a]) for code in codes]
                assert found == back  # to the bit


def random_weights(rng, made):
    w = rng.standard_normal(len(made.w)) * rng.choice([0.02, 0.2, 2.0])
    return w, made.problem.layout.padded(w)


def points(made, i, w, margin):
    """Return h and g of all corners."""
    truth = tuple(2 * made.Y[i]) + (0,) * (len(made.corners[i][0]) - len(made.Y[i]))
    of_truth = mixture(0.0, truth)
    h = [margin + (made.phi(i, mixture(0.0, y)) - made.phi(i, of_truth)) @ w
         for y in made.corners[i]]  # fmt: skip
    return np.array(h), np.array([made.loss(i, mixture(0.0, y)) for y in made.corners[i]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("full", [False, True], ids=["and", "full"])
def test_every_search_against_the_polygon(new_rng, kind, full):
    rng, n_mixed, n_missed, n_queries = new_rng(3), 0, 0, []
    for trial in range(40):
        made = mixed(make(rng, kind, 1 + trial % 3, full=full, uniform=trial % 2 == 0), rng, 0)
        problems = {
            search: SlackProblem(made.problem, search)
            for search in ("product", "angular", "bisecting", "binary")
        }
        w, padded = random_weights(rng, made)
        margin = rng.choice([1.0, 0.25, 10.0])
        for i in range(made.problem.n_blocks):
            h, g = points(made, i, w, margin)
            best = best_of_polygon(h, g)[0]
            for search, problem in problems.items():
                code, value, bound, exact, queries = access.search(problem, i, padded, margin)
                problem.check_code(i, code)
                share, *_ = parts_of(code)
                of_code = made.phi(i, code) - made.phi(i, problem.true_code(i))
                found = made.loss(i, code) * (margin + of_code @ w)
                assert value == pytest.approx(found, rel=1e-10, abs=1e-10)
                assert value <= best * (1 + 1e-10) + 1e-12
                assert bound >= best * (1 - 1e-10)
                if search in ("product", "angular"):
                    assert exact
                    assert value == pytest.approx(best, rel=1e-9, abs=1e-12)
                    n_mixed += share > 0
                else:
                    # These searches return corners.
                    assert share == 0
                    assert value <= (h * g)[h > 0].max(initial=0) * (1 + 1e-10) + 1e-12
                    n_missed += value < best * (1 - 1e-6)
                if search == "angular":
                    n_queries.append(queries)
    assert n_mixed > 30
    assert n_missed > 30
    assert np.mean(n_queries) <= 6
    assert max(n_queries) <= 20


@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("below", [False, True])
def test_constrained_oracle(new_rng, above, below):
    rng, n_found = new_rng(4), 0
    for trial in range(150):
        made = mixed(make(rng, "relaxed", 1 + trial % 3, n=1), rng, 0)
        w, padded = random_weights(rng, made)
        h, g = points(made, 0, w, 1.0)
        slopes = np.r_[0.0, np.inf, g[h > 0] / h[h > 0], rng.random(2)]
        lower, upper = np.sort(rng.choice(slopes, 2))
        lam = rng.choice([0.25, 1.0, 5.0])
        found = access.maximize_between(
            made.problem, 0, padded, lam, 1.0, (lower, upper, above, below)
        )
        most = max(1e6 * g.max(), 2 * lower) if np.isinf(upper) else upper  # as documented
        best = best_of_polygon(h, g, lower, most, lam)
        if lower == upper and (above or below):
            assert found is None
        elif best is None:
            assert found is None or found[1] <= 1e-6
        elif found is None:
            # The angle contains only points of its border, which rounding may exclude, or with a
            # value of 0; or its slopes are below that of the best product; or it is a ray.
            inner = lower * (1 + 1e-9), most * (1 - 1e-9)
            best = best_of_polygon(h, g, *inner, lam)
            empty = best is None or best[0] <= 1e-6 or (above and g.max() == 0)
            _, a, b, share = best_of_polygon(h, g)
            top_h, top_g = ((1 - share) * x[a] + share * x[b] for x in (h, g))
            is_flat = above and upper * top_h < top_g
            assert empty or is_flat or lower == upper
        else:
            n_found += 1
            code, value, work, exact = found
            truth = made.problem.true_code(0)
            at = 1 + (made.phi(0, code) - made.phi(0, truth)) @ w, made.loss(0, code)
            assert at[0] > 0
            assert value == pytest.approx(at[0] + lam * at[1], rel=1e-9)
            if above:
                # The bound of the angle is tightened, but never excludes the best product.
                _, a, b, share = best_of_polygon(h, g)
                slope = at[1] / at[0]
                if value < best[0] * (1 - 1e-9):
                    top = [(1 - share) * x[a] + share * x[b] for x in (h, g)]
                    assert slope <= top[1] / top[0]
                best = best_of_polygon(h, g, min(slope, most) * (1 - 1e-9), most, lam)
            assert value == pytest.approx(best[0], rel=1e-6, abs=1e-6)
            unit = 1e-12 * (1 + abs(h).max())  # tolerance of h
            assert lower * (at[0] - unit) - 1e-12 <= at[1] <= most * (at[0] + unit) + 1e-12
            if above:
                assert at[1] > 0
            assert exact
            assert work > 0
    assert n_found > 50


def test_more_labels_agree_between_searches(new_rng):
    # Half-integral labelings are too many to enumerate. The two exact searches share only the cut.
    rng = new_rng(5)
    made = make_many(rng)
    direct, angular = (SlackProblem(made, search) for search in ("product", "angular"))
    n_queries = []
    for scale in (0.02, 0.1, 0.5):
        w = scale * rng.standard_normal(made.n_weights)
        for i in range(made.n_blocks):
            _, value, bound, exact, _ = access.search(direct, i, w)
            _, other, other_bound, also, queries = access.search(angular, i, w)
            assert exact
            assert also
            assert other == pytest.approx(value, rel=1e-9)
            assert min(bound, other_bound) >= max(value, other) * (1 - 1e-9)
            n_queries.append(queries)
    assert np.mean(n_queries) <= 8


def make_many(rng, n=6, K=40):
    edges = np.column_stack(np.triu_indices(K, 1))
    Y = rng.random((n, K)) < 0.2
    labels = np.r_[0, np.cumsum(Y.sum(axis=1))], np.flatnonzero(Y) % K
    problem = MultilabelProblem(
        rng.standard_normal((n, 5)), labels, LabelRelaxation(K, edges), cost=np.full((2, K), 1 / K)
    )
    return MixtureProblem(problem)


def test_codes_are_checked(rng):
    made = mixed(make(rng, "relaxed", 3), rng, 0)
    problem, corners = made.problem, sorted(made.corners[0])
    one, two = corners[0], corners[1]
    problem.check_code(0, np.array(mixture(0.5, one, two), dtype=np.int32))
    wrong = tuple([5, *one[1:]])
    for y, message in [
        (mixture(1.0, one, two), "share of a mixture is 1.0"),
        (mixture(-0.1, one, two), "share of a mixture is -0.1"),
        (mixture(np.nan, one, two), "share of a mixture is nan"),
        (mixture(-0.0, one), "share of a mixture is -0.0"),
        (mixture(0.5, two, one), "not sorted"),
        (mixture(0.0, one, two), "not sorted"),
        (mixture(0.5, one), "with itself has share 0.5"),
        (mixture(0.5, one, wrong), "block 0: label 0 has the code 5"),
        (mixture(0.5, wrong, two), "block 0: label 0 has the code 5"),
        (mixture(0.0, one)[:-1], "expected"),
    ]:
        with pytest.raises(ValueError, match=message):
            problem.check_code(0, np.array(y, dtype=np.int32))
    with pytest.raises(IndexError):
        problem.check_code(9, np.array(mixture(0.0, one), dtype=np.int32))


def test_invalid_mixture_problems(rng):
    with pytest.raises(ValueError, match="mixtures require a relaxed decoder"):
        MixtureProblem(make(rng, "forest", 3).problem)
    problem = mixed(make(rng, "relaxed", 2), rng, 0).problem
    w = np.zeros(problem.n_weights)
    with pytest.raises(ValueError, match="margin of slack rescaling must be positive"):
        access.maximize_product(problem, 0, w, 0.0)
    with pytest.raises(ValueError, match="margin of slack rescaling must be positive"):
        access.maximize_between(problem, 0, w, 1.0, 0.0, (0.0, 1.0))
