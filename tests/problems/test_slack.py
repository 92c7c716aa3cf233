"""Test slack rescaling of any problem, and its searches, against enumeration."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._problems.custom._callable import CallableProblem
from sstruct._problems.custom.oracle_calls import OracleCalls
from sstruct._problems.slack._slack_problem import SlackProblem
from sstruct._testing import _problem_access as access
from sstruct._testing._enumerated import EnumeratedProblem
from tests.estimators.custom.choices import ConstrainedChoice
from tests.problems import test_multiclass
from tests.problems.flat import chain_problem
from tests.problems.test_contract import (
    check_against_definition,
    make_chains,
    make_enumerated,
    make_graphs,
)
from tests.problems.trees import FORESTS, make_trees

KEYS = st.integers(0, 2**32 - 1)
SEARCHES = ("angular", "bisecting", "binary")


def rescaled(made, search="auto"):
    """Return the parts under slack rescaling: phi(y) becomes L(y) (phi(y) - phi(truth))."""
    problem = SlackProblem(made.problem, search)
    truths = [tuple(problem.true_code(i).tolist()) for i in range(problem.n_blocks)]

    def phi(i, y):
        return made.loss(i, y) * (made.phi(i, y) - made.phi(i, truths[i]))

    return SimpleNamespace(
        problem=problem, phi=phi, loss=made.loss, w=made.w, padded=made.padded, public=made.public,
        allowed=made.allowed,
    )  # fmt: skip


@pytest.mark.parametrize("masked", [False, True], ids=["free", "masked"])
@pytest.mark.parametrize("switches", list(product([True, False], repeat=3)), ids=str)
def test_contract_of_chains(rng, switches, masked):
    for K, lengths in [(1, (2, 1)), (3, (4, 1, 3)), (5, (1, 3)), (9, (3, 1))]:
        for G in (0, 2):
            made = make_chains(rng, K, lengths, switches=switches, masked=masked, G=G)
            made.problem.prepare_product()
            assert made.problem.has_product
            check_against_definition(rescaled(made), rng)


@pytest.mark.parametrize("K", [1, 2, 5, 17, 64])
def test_contract_of_classes(rng, K):
    check_against_definition(rescaled(test_multiclass.make(rng, K, n=5)), rng)


@pytest.mark.parametrize("n_weights", [1, 7, 40])
def test_contract_of_planes(rng, n_weights):
    check_against_definition(rescaled(make_enumerated(rng, (1, 5, 2, 17), n_weights)), rng)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("n_types", [1, 2])
@pytest.mark.parametrize("parents", FORESTS, ids=str)
def test_contract_of_trees(rng, parents, n_types, pairs):
    storage = "csr" if pairs else "dense"
    made = make_trees(rng, parents, n_types=n_types, pairs=pairs, loss="hamming", storage=storage)
    assert made.problem.has_product
    check_against_definition(rescaled(made), rng)


def test_problems_without_maximize_product(rng):
    assert not make_trees(rng, [-1, 0], loss="distance").problem.has_product
    assert not make_trees(rng, [-1, 0], "maps", loss="hamming").problem.has_product
    made = make_chains(rng, 3, (4, 2))
    real = chain_problem(**{**made.arguments, "cost": 0.3 * (1 - np.eye(3))})
    unlabeled = chain_problem(**{**made.arguments, "labels": None, "cost": None})
    long = ChainProblem(np.zeros((300, 1)), ChainRanges([0], [300]), ChainModel(2), np.zeros(300))
    for problem in (real, unlabeled, long):
        problem.prepare_product()
        assert not problem.has_product
    with pytest.raises(ValueError, match="requires an oracle that ChainProblem does not have"):
        SlackProblem(real, "angular")
    with pytest.raises(ValueError, match="requires an oracle that ChainProblem does not have"):
        SlackProblem(real, "product")
    assert SlackProblem(real).search == "bisecting"
    with pytest.raises(ValueError, match="search must be one of"):
        SlackProblem(real, "golden")


def points(made, i, w, margin):
    """Return h and g of every labeling of a block."""
    of_truth = made.phi(i, tuple(made.problem.true_code(i).tolist()))
    h = [margin + (made.phi(i, y) - of_truth) @ w for y in made.allowed[i]]
    return np.array(h), np.array([made.loss(i, y) for y in made.allowed[i]])


def check_search(made, search, i, w, margin):
    """Compare a search with enumeration; return its number of queries, and if it found the best."""
    problem = SlackProblem(made.problem, search)
    code, value, bound, exact, queries = access.search(problem, i, w, margin)
    h, g = points(made, i, getattr(made, "public", np.asarray)(w), margin)
    best = max(0.0, (h * g)[h > 0].max(initial=0.0))
    unit = 1e-12 * max(1.0, abs(h * g).max())
    at = made.allowed[i].index(tuple(code.tolist()))
    assert value == pytest.approx(max(h[at] * g[at], 0.0), rel=1e-12, abs=unit)
    assert value <= best + unit
    assert bound >= best - unit
    if exact:
        assert value == pytest.approx(best, rel=2e-10, abs=unit)
    return queries, value >= best * (1 - 2e-10) - unit


def make_planes(rng, M, kind):
    """Return a block of M labelings, with losses that are integers, real or of very different size.

    kind : "whole", "real" or "steep"
    """
    planes = rng.standard_normal((M, 3))
    losses = rng.integers(0, 5, M).astype(float) if kind == "whole" else rng.random(M)
    if kind == "steep":
        losses = 10.0 ** rng.uniform(-4, 4, M)
    planes[0], losses[0] = 0, 0
    return SimpleNamespace(
        problem=EnumeratedProblem(planes, losses, [0, M]),
        phi=lambda i, y: -planes[y[0]],
        loss=lambda i, y: losses[y[0]],
        allowed=[[(y,) for y in range(M)]],
    )


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("kind", ["whole", "real", "steep"])
def test_thousands_of_planes(new_rng, kind, search):
    rng, n_queries, n_missed = new_rng(5), [], 0
    for _ in range(2000):
        M = int(rng.integers(1, 21))
        made = make_planes(rng, M, kind)
        w = rng.standard_normal(3) * rng.choice([0, 0.1, 1, 10])
        margin = rng.choice([1.0, 0.3, 20.0])
        queries, found = check_search(made, search, 0, w, margin)
        n_queries.append(queries)
        n_missed += not found
        if search == "angular":
            assert found
            assert queries <= 2 * M + 1
    if search == "angular":
        assert np.mean(n_queries) <= 6
    else:
        assert 0 < n_missed < 200  # the convex hull hides few maxima


@pytest.mark.parametrize("search", ["bisecting", "binary"])
@pytest.mark.parametrize("pairwise", ["potts", "contrast"])
def test_searches_by_cuts(new_rng, pairwise, search):
    rng, n_missed = new_rng(7), 0
    for _ in range(60):
        made = make_graphs(rng, pairwise, 2, (6, 1, 4), decoder=GraphDecoder("cut", 0))
        w = rng.choice([0.05, 0.3, 1.0]) * made.padded
        edge = made.problem.layout.views(w)["edge"]
        edge[...] = -abs(edge)  # attractive
        for i in range(3):
            _, found = check_search(made, search, i, w, rng.choice([0.3, 1.0, 20.0]))
            n_missed += not found
    assert 0 < n_missed < 60  # of 180


@pytest.mark.parametrize(
    "structure, search",
    [
        *product(["classes"], ["product", *SEARCHES]),
        *product(["chain", "tree"], ["product", "bisecting", "binary"]),
        *product(["chain, real costs", "tree, distances", "maps"], ["bisecting", "binary"]),
    ],
)
@pytest.mark.parametrize("seed", [7, pytest.param(8, marks=pytest.mark.slow)])
def test_thousands_of_structures(new_rng, structure, search, seed):
    rng, n_queries, n_missed = new_rng(seed), [], 0
    for _ in range(175):
        if structure == "classes":
            made = test_multiclass.make(rng, int(rng.integers(2, 12)))
        elif "chain" in structure:
            made = make_chains(rng, 3, (4, 2, 3), masked=rng.random() < 0.3)
        else:
            loss = "hamming" if structure == "tree" else "distance"
            form = "maps" if structure == "maps" else "candidates"
            made = make_trees(rng, FORESTS[rng.integers(len(FORESTS))], form, loss=loss)
        if structure == "chain, real costs":
            made = with_real_costs(rng, made)
        w = rng.standard_normal(len(made.w)) * rng.choice([0.05, 0.3, 3])
        if structure in ("tree", "tree, distances", "maps"):  # distance transforms require it
            made.model.layout.views(w)["edge"][..., [0, 2]] **= 2
        for i in range(made.problem.n_blocks):
            queries, found = check_search(made, search, i, made.problem.layout.padded(w), 1.0)
            n_queries.append(queries)
            n_missed += not found
    if structure == "classes":
        most = {"product": 1, "binary": 12}.get(search, 6)
        assert np.mean(n_queries) <= most
    # The chains have at most 81 labelings, all of which a bisecting search may visit by rank.
    ranked = "chain" in structure and search == "bisecting"
    assert (n_missed == 0) == (ranked or search in ("product", "angular"))


def test_bisecting_searches_of_long_chains(new_rng):
    rng, n_exact = new_rng(9), 0
    for _ in range(25):
        made = with_real_costs(rng, make_chains(rng, 3, (7, 1)))
        w = made.problem.layout.padded(
            rng.standard_normal(len(made.w)) * rng.choice([0.05, 0.3, 3])
        )
        check_search(made, "bisecting", 0, w, 1.0)
        n_exact += access.search(SlackProblem(made.problem, "bisecting"), 0, w)[3]
    assert n_exact > 15


def with_real_costs(rng, made):
    """Return the same chains with other node costs."""
    arguments = made.arguments
    cost = rng.random((3, 3)) * (1 - np.eye(3))
    start, length = arguments["start"], arguments["length"]

    def loss(i, y):
        truth = arguments["labels"][start[i] : start[i] + length[i]]
        return arguments["loss_scale"][i] * cost[truth, y].sum()

    problem = chain_problem(**{**arguments, "cost": cost})
    return SimpleNamespace(**{**vars(made), "problem": problem, "loss": loss})


@settings(max_examples=200)
@given(st.floats(0.5, 100), st.floats(0.01, 100), st.floats(0.3, 0.7), st.floats(1e-9, 1e-2), KEYS)
def test_labels_that_hide_another(new_rng, max_h, max_g, share, short, key):
    # As in Theorem 1 of [C15], the best labeling is slightly below the line between two others.
    h = np.array([1.0, max_h, 1e-6 * max_h, (1 - short) * (1 - share) * max_h])
    g = np.array([0.0, 1e-6 * max_g, max_g, (1 - short) * share * max_g])
    others = 1 + new_rng(key).permutation(3)
    h[1:], g[1:] = h[others], g[others]
    problem = EnumeratedProblem((1 - h)[:, np.newaxis], g, [0, 4])
    best = 1 + np.flatnonzero(others == 3)[0]
    visible = h[0] > max_h  # the truth, of loss 0, may be a corner too
    for search in SEARCHES:
        code, value, bound, exact, _ = access.search(SlackProblem(problem, search), 0, np.ones(1))
        assert bound >= h[best] * g[best] * (1 - 1e-12)
        if search == "angular":
            assert exact
            assert code[0] == best
        elif not visible:
            assert code[0] != best
            assert not exact
            assert value < 1e-4 * bound


@settings(max_examples=300)
@given(KEYS, st.sampled_from(["classes", "planes"]), st.booleans(), st.booleans())
def test_constrained_oracle(new_rng, key, kind, above, below):
    rng = new_rng(key)
    made = test_multiclass.make(rng, 6, n=1) if kind == "classes" else make_enumerated(rng, (7,), 3)
    h, g = points(made, 0, made.w, 2.0)
    slopes = np.r_[0.0, np.inf, g[h > 0] / h[h > 0], rng.random(2)]
    lower, upper = np.sort(rng.choice(slopes, 2))
    lam = rng.choice([0.25, 1.0, 2.0])
    with np.errstate(invalid="ignore"):
        inside = (h > 0) & (g > lower * h if above else g >= lower * h)
        inside &= g < upper * h if below else g <= upper * h
    found = access.maximize_between(
        made.problem, 0, made.padded, lam, 2.0, (lower, upper, above, below)
    )
    if not inside.any():
        assert found is None
        return
    code, value, work, exact = found
    assert inside[code[0]]
    assert value == (h + lam * g)[inside].max() == h[code[0]] + lam * g[code[0]]
    assert exact
    assert work > 0


def test_searches_are_warm_started(rng):
    # A few searches take more queries from the best labeling than from the truth.
    queries = np.zeros(2, dtype=int)
    for _ in range(100):
        made = make_planes(rng, 60, "real")
        problem = SlackProblem(made.problem, "angular")
        w = rng.standard_normal(3)
        first = access.search(problem, 0, w)
        again = access.search(problem.fork(), 0, w)
        assert again[:2] == first[:2]
        assert problem.counts() == {"queries": first[4] + again[4]}
        queries += first[4], again[4]
    assert queries[1] < 0.7 * queries[0]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("score", [1e-16, 1e-12, 1e-8], ids=str)
def test_a_search_after_a_tiny_score(score, search):
    planes, losses = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    problem = SlackProblem(EnumeratedProblem(planes, losses, [0, 2]), search)
    _, value, *_ = access.search(problem, 0, np.array([1 - score]))
    assert 0 < value < 2 * score
    _, value, bound, *_ = access.search(problem, 0, np.zeros(1))
    assert value == 1
    assert bound == pytest.approx(1, rel=1e-2)  # the precision of binary search


def test_remember_false_leaves_the_memory_unchanged(rng):
    made = make_planes(rng, 60, "real")
    problem = SlackProblem(made.problem, "bisecting")
    before = problem.memory()
    problem.remember(False)
    for other in (problem, problem.fork()):
        access.search(other, 0, np.ones(3))
        for name, array in problem.memory().items():
            np.testing.assert_array_equal(array, before[name])
    problem.remember(True)
    code, *_, queries = access.search(problem, 0, np.ones(3))
    assert problem.memory()["search_code"] == code
    assert problem.memory()["search_queries"] == queries > 0


def test_a_memory_is_validated_before_it_is_restored(rng):
    problem = SlackProblem(make_chains(rng, 3, (4, 2)).problem, "bisecting")
    kept = problem.memory()
    problem.restore_memory(kept)
    with pytest.raises(ValueError, match="block 1: label 3"):
        problem.restore_memory(
            {**kept, "search_code": np.r_[kept["search_code"][:-1], 3].astype(np.int32)}
        )
    with pytest.raises(ValueError, match="search_code: expected 6 entries, found 5"):
        problem.restore_memory({**kept, "search_code": kept["search_code"][:-1]})
    with pytest.raises(ValueError, match="search_lam: expected 2 entries, found 3"):
        problem.restore_memory({**kept, "search_lam": np.ones(3)})


def test_scores_require_a_previous_oracle_call(rng):
    problem = SlackProblem(make_chains(rng, 3, (4, 2)).problem, "bisecting")
    with pytest.raises(ValueError, match="no previous oracle call"):
        access.scores(problem, 0, None, [[0, 1, 2, 0]])


def test_the_oracle_does_not_change_with_the_unit_of_scores(rng):
    # As in the subgradient solver, weights and margin are multiplied by t.
    made = test_multiclass.make(rng, 7, n=5)
    for search in ("product", *SEARCHES):
        for i in range(5):
            codes = set()
            for t in (1.0, 64.0):
                code, value, *_ = access.search(
                    SlackProblem(made.problem, search), i, t * made.padded, t
                )
                codes.add((int(code[0]), value / t))
            assert len(codes) == 1


class Rounds(ConstrainedChoice):
    """A problem whose scores in searches are larger by rounding errors."""

    def constrained_argmax(self, x, w, y_true, *, margin, **keywords):
        with np.errstate(invalid="ignore"):  # 0 times infinity
            return super().constrained_argmax(x, w, y_true, margin=margin + 3e-16, **keywords)


@pytest.mark.parametrize("other", [-2.0, -0.999, -0.9])
def test_rounding_errors_are_not_a_gain(other):
    # h is 1 - 1 = 0 for the second candidate, and below, just above or above 0 for the others.
    X = [np.array([[0.0], [-1.0], [other], [other]])]
    problem = SlackProblem(CallableProblem(OracleCalls(Rounds(), X, [0], [0])), "angular")
    _, value, bound, exact, queries = access.search(problem, 0, np.ones(1))
    assert exact
    assert queries < 20
    assert value == bound == pytest.approx(max(1 + other, 0))
