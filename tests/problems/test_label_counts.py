"""Test graphs whose nodes have different label sets against enumeration."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from sstruct._estimators.graph.fwmap_decoder import TreeSearch
from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._problems.core._decode import decode
from sstruct._problems.graph._graph_problem import GraphProblem
from sstruct._problems.graph._pairwise import PairwiseModel
from sstruct._problems.graph.graph_arguments import GraphRanges
from sstruct.inference._methods._exact_decoder import ExactDecoder
from sstruct.inference._methods._tree_decoder import TreeDecoder
from tests.reference import graphs


def make(rng, method, K, size, pairwise="directed", scale=1.0, **more):
    """Return the problem of one graph whose nodes have 1 to K labels, and its definition."""
    counts = rng.integers(1, K + 1, size).astype(np.int32)
    counts[rng.integers(size)] = K
    labels = (rng.integers(0, 2**30, size) % counts).astype(np.int32)
    edges = graphs.random_edges(rng, size)
    if method == "max-sum":
        edges = np.array([(v, rng.integers(v)) for v in range(1, size)], dtype=np.int32)
    features = rng.integers(-2, 3, (len(edges), 2)).astype(float)
    x = rng.integers(-3, 4, (size, 3)).astype(float)
    node_weight = rng.choice([0.5, 1.0, 2.0], size)
    others = {"fwmap": lambda: TreeDecoder(TreeSearch(3, 100), 3), "exact": lambda: ExactDecoder(3)}
    decoder = others[method]() if method in others else GraphDecoder(method, 3)
    problem = GraphProblem(
        x,
        GraphRanges([0], [size], edges, [0], [len(edges)]),
        PairwiseModel(pairwise, K, features if pairwise == "directed" else None),
        decoder,
        labels,
        node_weight=node_weight,
        label_counts=counts,
        **more,
    )
    w = rng.integers(-4, 5, problem.n_weights) * scale
    public = problem.layout.public(w)
    edge_features = features if pairwise == "directed" else None

    def value(y, loss_weight):
        score = graphs.joint_feature(x, y, edges, edge_features, pairwise, K) @ public
        return score + loss_weight * node_weight @ (labels != np.array(y))

    return SimpleNamespace(
        problem=problem,
        w=problem.layout.padded(public),
        value=value,
        counts=counts,
        labels=labels,
        allowed=list(product(*[range(n) for n in counts])),
    )


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e9])
@pytest.mark.parametrize("method", ["max-sum", "expansion", "fwmap", "exact"])
@pytest.mark.parametrize("pairwise", ["directed", "full", "potts"])
def test_oracle_finds_labels_that_nodes_may_have(rng, method, pairwise, scale):
    n_best = 0
    for round_ in range(20):
        K, size = 2 + round_ % 4, 2 + round_ % 3
        case = make(rng, method, K, size, pairwise, scale)
        for loss_weight in (0.0, 1.0):
            best = max(case.value(y, loss_weight) for y in case.allowed)
            code, found, _, exact = case.problem.best_code(0, case.w, loss_weight)
            assert (code < case.counts).all()
            assert found == pytest.approx(case.value(code, loss_weight), rel=1e-9, abs=1e-9)
            assert found <= best + 1e-6 * (1 + abs(best))
            n_best += found == pytest.approx(best, rel=1e-9, abs=1e-9)
            if exact or method in ("max-sum", "exact"):
                assert exact
                assert found == pytest.approx(best, rel=1e-9, abs=1e-9)
        codes = decode(case.problem, case.w)
        assert (codes < case.counts).all()
    assert n_best >= 36  # of 40: heuristics find most of the optimal labelings


@pytest.mark.parametrize("method", ["max-sum", "expansion"])
def test_full_label_counts_do_not_change_results(rng, method):
    x, pairwise = rng.standard_normal((4, 2)), PairwiseModel("full", 3)
    graph = GraphRanges([0], [4], [(0, 1), (1, 2), (2, 3)], [0], [3])
    plain, counted = (
        GraphProblem(x, graph, pairwise, GraphDecoder(method, 0), label_counts=counts)
        for counts in (None, np.full(4, 3))
    )
    w = rng.standard_normal(plain.n_weights)
    np.testing.assert_array_equal(decode(plain, w), decode(counted, w))


def test_invalid_codes(rng):
    case = make(rng, "expansion", 4, 5)
    code = case.labels.copy()
    case.problem.check_code(0, code)
    v = int(case.counts.argmin())
    if case.counts[v] == 4:
        pytest.skip("every node has all labels")
    code[v] = case.counts[v]
    with pytest.raises(ValueError, match=f"label {code[v]} at node {v}, expected one of the first"):
        case.problem.check_code(0, code)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([3, 2], "label_counts must have 3 entries from 1 to 3"),
        ([3, 0, 3], "from 1 to 3"),
        ([3, 4, 3], "from 1 to 3"),
        ([3, 2, 3], "row 1 has label 2, expected 0 to 1"),
    ],
)
def test_invalid_counts(counts, message):
    with pytest.raises(ValueError, match=message):
        GraphProblem(
            np.ones((3, 1)), GraphRanges([0], [3], np.zeros((0, 2)), [0], [0]),
            PairwiseModel("full", 3), GraphDecoder("expansion", 0), [0, 2, 1], label_counts=counts,
        )  # fmt: skip
