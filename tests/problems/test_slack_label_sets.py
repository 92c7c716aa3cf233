"""Test slack rescaling searches over label sets against enumeration, with every exact decoder."""

from types import SimpleNamespace

import numpy as np
import pytest

from sstruct._oracles.label_set._gray_enumeration import GrayEnumeration
from sstruct._oracles.label_set._relaxation import LabelRelaxation
from sstruct._problems.label_set._multilabel import MultilabelProblem
from sstruct._problems.slack._slack_problem import SlackProblem
from sstruct._testing import _problem_access as access
from tests.problems.test_contract import check_against_definition
from tests.problems.test_multilabel import make
from tests.problems.test_slack import check_search, points, rescaled

SEARCHES = {
    "enumeration": ("product", "angular", "bisecting", "binary"),
    "forest": ("product", "bisecting", "binary"),
    "independent": ("product", "bisecting", "binary"),
    "hierarchy": ("product", "bisecting", "binary"),
    "cut": ("bisecting", "binary"),
}
CASES = [(kind, search) for kind, searches in SEARCHES.items() for search in searches]


@pytest.mark.parametrize("full", [False, True], ids=["and", "full"])
@pytest.mark.parametrize("kind", ["enumeration", "forest", "independent", "hierarchy"])
def test_contract(rng, kind, full):
    for K in (1, 3, 6):
        made = make(rng, kind, K, full=full, uniform=True, storage="csr" if full else "dense")
        assert SlackProblem(made.problem).search == "product"
        check_against_definition(rescaled(made), rng)


def random_weights(rng, made, kind):
    """Return the parts with real weights, which are attractive for the cut."""
    w = rng.standard_normal(len(made.w)) * rng.choice([0.01, 0.05, 0.3, 3.0])
    if kind == "cut" and made.decoder.n_edges:
        w[-made.decoder.n_edges :] = abs(w[-made.decoder.n_edges :])
    return SimpleNamespace(**vars(made), real=w, laid_out=made.problem.layout.padded(w))


@pytest.mark.parametrize("kind, search", CASES)
@pytest.mark.parametrize("seed", [8, pytest.param(9, marks=pytest.mark.slow)])
def test_thousands_of_label_sets(new_rng, kind, search, seed):
    rng, n_queries, n_missed = new_rng(seed), [], 0
    # The convex hull hides some maxima, but hardly any of labels without interactions.
    misses = search not in ("product", "angular") and kind != "independent"
    for trial in range(2000):
        if trial >= 175 and (n_missed > 0 or not misses):
            break
        K = int(rng.integers(1, 7)) if kind != "enumeration" or trial % 2 else 4
        uniform = search == "product" or bool(trial % 2)
        full = bool(rng.random() < 0.5) and kind != "cut"
        made = random_weights(rng, make(rng, kind, K, full=full, uniform=uniform), kind)
        margin = rng.choice([1.0, 0.3, 20.0])
        for i in range(made.problem.n_blocks):
            queries, found = check_search(made, search, i, made.laid_out, margin)
            n_queries.append(queries)
            n_missed += not found
            if search == "angular":
                h, g = points(made, i, made.real, margin)
                M = len(np.unique(np.round([h, g], 9), axis=1).T)
                assert M > 20 or queries <= 2 * M + 1
    assert len(n_queries) >= 500
    assert np.mean(n_queries) <= {"product": 1, "binary": 13}.get(search, 6)
    if search in ("product", "angular"):
        assert n_missed == 0
    else:
        assert n_missed < 0.2 * len(n_queries)
        assert n_missed > 0 or not misses


def test_the_table_agrees_with_enumeration(new_rng):
    # Decode the same forest by its table and by enumeration of all sets.
    rng = new_rng(9)
    for _ in range(60):
        made = random_weights(rng, make(rng, "forest", 8, uniform=True), "forest")
        labels = np.r_[0, np.cumsum(made.Y.sum(axis=1))], np.flatnonzero(made.Y) % 8
        enumeration = GrayEnumeration(8, made.decoder.edge_list)
        other = MultilabelProblem(
            made.X.astype(float), labels, enumeration, cost=np.full((2, 8), 0.25)
        )
        for i in range(other.n_blocks):
            found = [
                access.search(SlackProblem(problem, search), i, made.laid_out)
                for problem, search in (
                    (made.problem, "product"), (other, "product"), (other, "angular")
                )
            ]  # fmt: skip
            for _, value, bound, exact, _ in found:
                assert exact
                assert value == pytest.approx(found[0][1], rel=1e-10, abs=1e-12)
                assert bound == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_sets_completed_from_halves_are_bounded(new_rng):
    # There are more undecided labels than a completion enumerates, so results are not exact.
    rng, n_inexact = new_rng(10), 0
    K, n = 20, 12
    edges = np.column_stack(np.triu_indices(K, 1))
    X, Y = rng.standard_normal((n, 3)), rng.random((n, K)) < 0.3
    labels = np.r_[0, np.cumsum(Y.sum(axis=1))], np.flatnonzero(Y) % K
    exact, completed = (
        MultilabelProblem(X, labels, decoder, cost=np.full((2, K), 1 / K))
        for decoder in (GrayEnumeration(K, edges), LabelRelaxation(K, edges, whole=True))
    )
    search = SlackProblem(completed, "bisecting")
    w = rng.standard_normal(completed.n_weights)
    for i in range(n):
        n_inexact += not completed.best_code(i, w)[3]
        best = access.maximize_product(exact, i, w)[1]
        _, value, bound, _, _ = access.search(search, i, w)
        assert value <= best * (1 + 1e-12)
        assert bound >= best * (1 - 1e-12)
    assert n_inexact > n / 2
