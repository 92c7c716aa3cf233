"""Test max-marginals of graphs by cuts, forests and changes of one labeling."""

import signal
import threading
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._problems.graph._graph_problem import GraphProblem, max_marginals
from sstruct._problems.graph._pairwise import PairwiseModel
from sstruct._problems.graph.graph_arguments import GraphRanges
from sstruct._problems.graph.grid_edges import grid_edges
from tests.reference import graphs

F = 2


class Case:
    """One graph with the weights of a pairwise model, and all its labelings."""

    def __init__(self, rng, n_nodes, edges, pairwise, K, grid=None, whole=False):
        self.edges, self.pairwise, self.K = edges, pairwise, K
        E = len(edges)

        def draw(*shape):
            return rng.integers(-3, 4, shape) * 1.0 if whole else rng.standard_normal(shape)

        self.x = draw(n_nodes, F)
        self.features = None
        if pairwise in ("contrast", "directed"):
            features = draw(E, 2)
            self.features = abs(features) if pairwise == "contrast" else features
        model = PairwiseModel(pairwise, K, self.features)
        nodes = draw(K, F)
        edge = draw(*model.shape)
        if pairwise in ("potts", "contrast"):
            edge = -abs(edge)
        ranges = GraphRanges([0], [n_nodes], edges, [0], [E], grids=grid)
        decoder = GraphDecoder("expansion", 0)
        self.problem = GraphProblem(self.x, ranges, model, decoder)
        self.w = np.zeros(self.problem.n_weights)
        views = self.problem.layout.views(self.w)
        views["coef"][...], views["edge"][...] = nodes, edge
        views["intercept"][...] = draw(K)
        self.public = np.concatenate([view.ravel() for view in views.values()])

    def enumerated(self):
        """Return the best scores of labelings with label k at node v, (V, K)."""
        V, K = len(self.x), self.K
        best = np.full((V, K), -np.inf)
        for y in product(range(K), repeat=V):
            phi = graphs.joint_feature(self.x, y, self.edges, self.features, self.pairwise, K)
            at = np.arange(V), np.array(y)
            best[at] = np.maximum(best[at], phi @ self.public)
        return best

    def found(self, is_forest=False, n_threads=1):
        return max_marginals(self.problem, self.w, [is_forest], n_threads)


def test_cuts_equal_enumeration(rng):
    for k in range(200):
        edges = graphs.random_edges(rng, int(rng.integers(1, 8)), rng.uniform(0.2, 1))
        n_nodes = int(edges.max()) + 1 if len(edges) else 3
        case = Case(rng, n_nodes, edges, ("potts", "contrast")[k % 2], 2, whole=k % 3 == 0)
        np.testing.assert_allclose(case.found(), case.enumerated(), rtol=0, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    connectivity=st.sampled_from([4, 8]),
)
def test_cuts_of_grids_equal_enumeration(seed, shape, connectivity):
    rng = np.random.default_rng(seed)
    edges = grid_edges(*shape, connectivity)
    case = Case(rng, shape[0] * shape[1], edges, "potts", 2, grid=[(*shape, connectivity)])
    np.testing.assert_allclose(case.found(), case.enumerated(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("pairwise", ["full", "directed"])
def test_free_weights_that_happen_to_attract_are_cut(rng, pairwise):
    exact = 0
    for _ in range(200):
        case = Case(rng, 4, np.array([[0, 1], [1, 2], [2, 0], [3, 1]], np.int32), pairwise, 2)
        found, best = case.found(), case.enumerated()
        assert (found <= best + 1e-9).all()
        tables = case.problem.layout.views(case.w)["edge"].reshape(-1, 2, 2)
        if pairwise == "directed":
            tables = np.tensordot(case.features, tables, 1)
        if (tables[:, 0, 0] + tables[:, 1, 1] >= tables[:, 0, 1] + tables[:, 1, 0]).all():
            exact += 1
            np.testing.assert_allclose(found, best, rtol=0, atol=1e-9)
    assert exact > 1


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_nodes=st.integers(1, 6),
    K=st.integers(1, 3),
    pairwise=st.sampled_from(["potts", "contrast", "full", "directed"]),
)
def test_forests_equal_enumeration(seed, n_nodes, K, pairwise):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_nodes)
    edges = [(order[v], order[rng.integers(v)]) for v in range(1, n_nodes) if rng.random() < 0.8]
    edges = np.array([pair[:: rng.choice([-1, 1])] for pair in edges], np.int32).reshape(-1, 2)
    case = Case(rng, n_nodes, edges, pairwise, K)
    np.testing.assert_allclose(case.found(is_forest=True), case.enumerated(), rtol=0, atol=1e-9)


def test_cycles_of_many_labels_are_bounded_by_changes_of_the_labeling(rng):
    edges = np.array([[0, 1], [1, 2], [2, 0], [3, 0]], np.int32)
    for pairwise in ["potts", "full", "directed"] * 8:
        case = Case(rng, 4, edges, pairwise, 3)
        found, best = case.found(), case.enumerated()
        assert (found <= best + 1e-9).all()
        code, value, _, _ = case.problem.best_code(0, case.w, 0.0)
        np.testing.assert_allclose(found[np.arange(4), code], value, rtol=0, atol=1e-9)
        for v, k in product(range(4), range(3)):
            changed = code.copy()
            changed[v] = k
            phi = graphs.joint_feature(case.x, changed, edges, case.features, pairwise, 3)
            np.testing.assert_allclose(found[v, k], phi @ case.public, rtol=0, atol=1e-9)


def test_cuts_of_larger_graphs_equal_cuts_with_a_label_forced(rng):
    """Compare large graphs with a separate decoding in which each label is forced."""
    shape = 9, 11
    edges = grid_edges(*shape, 4)
    case = Case(rng, 99, edges, "potts", 2, grid=[(*shape, 4)])
    case.problem.layout.views(case.w)["edge"][...] = -1.5
    found = case.found()
    scores = np.zeros((99, 2))
    ranges = GraphRanges([0], [99], edges, [0], [len(edges)])
    for v, k in [(int(v), k) for v in rng.choice(99, 12, replace=False) for k in range(2)]:
        forced = scores.copy()
        forced[v, 1 - k] = -1000.0
        problem = GraphProblem(
            case.x, ranges, PairwiseModel("potts", 2), GraphDecoder("cut", 0), node_scores=forced
        )
        code, value, _, exact = problem.best_code(0, case.w, 0.0)
        assert exact
        assert code[v] == k
        np.testing.assert_allclose(found[v, k], value, rtol=0, atol=1e-9)


def test_threads_and_earlier_graphs_do_not_change_bits(rng):
    shapes = [(int(rng.integers(1, 6)), int(rng.integers(1, 6))) for _ in range(90)]
    edges = [grid_edges(*shape, 4) for shape in shapes]
    length, count = np.array([a * b for a, b in shapes]), np.array([len(own) for own in edges])
    ranges = GraphRanges(
        np.cumsum(length) - length, length, np.concatenate(edges), np.cumsum(count) - count, count
    )
    x = rng.standard_normal((length.sum(), 2))
    problem = GraphProblem(x, ranges, PairwiseModel("potts", 2), GraphDecoder("cut", 0))
    w = rng.standard_normal(problem.n_weights)
    problem.layout.views(w)["edge"][...] = -1
    one = max_marginals(problem, w, np.zeros(90), 1)
    np.testing.assert_array_equal(one, max_marginals(problem, w, np.zeros(90), 4))
    np.testing.assert_array_equal(one, max_marginals(problem, w, np.zeros(90), 1))


@pytest.mark.usefixtures("sigint")
def test_ctrl_c_ends_a_long_computation(rng):
    """Interrupt max-marginals of an image with strong edges, which take minutes."""
    edges = grid_edges(300, 300, 4)
    x = rng.standard_normal((90000, 1))
    ranges = GraphRanges([0], [90000], edges, [0], [len(edges)], grids=[(300, 300, 4)])
    problem = GraphProblem(x, ranges, PairwiseModel("potts", 2), GraphDecoder("cut", 0))
    w = np.zeros(problem.n_weights)
    views = problem.layout.views(w)
    views["coef"][1, 0], views["edge"][...] = 1, -1e4
    timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        max_marginals(problem, w, [False])
    timer.join()


def test_unsupported_models(rng):
    case = Case(rng, 3, np.array([[0, 1], [1, 2], [2, 0]], np.int32), "potts", 3)
    with pytest.raises(ValueError, match="cycle"):
        case.found(is_forest=True)
    with pytest.raises(ValueError, match="2 entries, expected 1"):
        max_marginals(case.problem, case.w, [True, False])
    with pytest.raises(ValueError, match="weights, expected"):
        max_marginals(case.problem, case.w[1:], [False])
    ranges = GraphRanges([0], [3], case.edges, [0], [3])
    decoder, model = GraphDecoder("expansion", 0), PairwiseModel("potts", 3)
    labeled = GraphProblem(case.x, ranges, model, decoder, [0, 1, 2])
    with pytest.raises(ValueError, match="without labels"):
        max_marginals(labeled, case.w, [False])
    for scores in (np.zeros((3, 2)), np.zeros((2, 3)), np.full((3, 3), np.inf)):
        with pytest.raises(ValueError, match=r"node_scores must be finite and have shape \(3, 3\)"):
            GraphProblem(case.x, ranges, model, decoder, node_scores=scores)
