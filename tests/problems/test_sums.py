"""Test sums over the labelings of chains, graphs, label sets and parts against enumeration."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._oracles.label_set._cut import LabelCut
from sstruct._oracles.label_set._forest_decoder import LabelForest
from sstruct._oracles.label_set._gray_enumeration import GrayEnumeration
from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain._chain_sums import ChainLabelings
from sstruct._problems.core._sums import sum_blocks
from sstruct._problems.graph._graph_problem import GraphProblem
from sstruct._problems.graph._pairwise import PairwiseModel
from sstruct._problems.graph.graph_arguments import PAIRWISE, GraphRanges
from sstruct._problems.label_set._multilabel import MultilabelProblem
from tests.problems.draws import check_draws
from tests.problems.flat import chain_problem
from tests.problems.test_contract import SWITCHES, make_chains
from tests.problems.trees import FORESTS, make_trees
from tests.reference import graphs, label_sets

F = 2


class Case:
    """A problem with weights, and all labelings of its blocks with their scores.

    labelings : for each block, an array (n_labelings, n_nodes)
    phi : callable, the joint feature map of a block and a labeling, in the order of public weights
    fixed : callable, the part of a score without weights
    values : callable, the marginals of a block, given the probabilities of its labelings
    """

    def __init__(self, rng, problem, labelings, phi, values, fixed=None, positive=()):
        self.problem, self.labelings, self.phi, self.values = problem, labelings, phi, values
        self.fixed = fixed or (lambda i, y: 0.0)
        size = rng.choice([0.1, 1.0, 10.0, 300.0])
        self.public = size * rng.standard_normal(len(phi(0, labelings[0][0])))
        self.w = problem.layout.padded(self.public)
        self.scale = float(rng.choice([0.01, 0.5, 1.0, 3.0]))

    def scores(self, i):
        """Return the scaled score of each labeling of a block."""
        return self.scale * np.array(
            [self.phi(i, y) @ self.public + self.fixed(i, y) for y in self.labelings[i]]
        )

    def sums(self, n_threads=1, **wanted):
        return sum_blocks(self.problem, self.w, self.scale, n_threads, **wanted)

    def known(self, rng):
        """Return some labels of a random labeling of each block, and -1 for the others."""
        of_blocks = [each[rng.integers(len(each))] for each in self.labelings]
        return [np.where(rng.random(len(y)) < 0.4, y, -1) for y in of_blocks]


def random_forest(rng, n_nodes):
    names = rng.permutation(n_nodes)
    edges = [(names[rng.integers(k)], names[k]) for k in range(1, n_nodes) if rng.random() < 0.8]
    return [pair if rng.random() < 0.5 else pair[::-1] for pair in edges]


def graph(rng, seed):
    pairwise, K = PAIRWISE[seed % 5], int(rng.integers(1, 5))
    length = rng.integers(1, 5, 3)
    edges = [random_forest(rng, n) for n in length]
    n_edges = np.array([len(each) for each in edges])
    flat = np.array([pair for each in edges for pair in each], dtype=np.int32).reshape(-1, 2)
    x, features = rng.standard_normal((length.sum(), F)), rng.standard_normal((len(flat), 2))
    features[rng.random(features.shape) < 0.3] = 0
    features = {"contrast": abs(features), "directed": features}.get(pairwise)
    strength = 0.7 if pairwise == "fixed" else 0.0
    start, first = np.cumsum(length) - length, np.cumsum(n_edges) - n_edges
    problem = GraphProblem(
        x,
        GraphRanges(start, length, flat, first, n_edges),
        PairwiseModel(pairwise, K, features, strength),
        GraphDecoder("expansion", 0),
    )

    def phi(i, y):
        own = slice(first[i], first[i] + n_edges[i])
        of_edges = None if features is None else features[own]
        return graphs.joint_feature(x[start[i] :][: length[i]], y, flat[own], of_edges, pairwise, K)

    def values(i, p):
        labels = np.array(labelings[i])
        return (p[:, None, None] * (labels[:, :, None] == np.arange(K))).sum(axis=0).ravel()

    def fixed(i, y):
        return -strength * graphs.disagreements(y, flat[first[i] : first[i] + n_edges[i]])

    labelings = [np.array(list(product(range(K), repeat=n))) for n in length]
    return Case(rng, problem, labelings, phi, values, fixed)


def label_set(rng, seed):
    K, n, kind = int(rng.integers(1, 6)), 3, seed % 4
    parents, full = None, bool(rng.random() < 0.5)
    if kind == 0:
        parents, full = label_sets.random_parents(rng, K), False
        decoder = LabelForest(K, parents=parents)
    elif kind == 1:
        decoder = LabelForest(K, label_sets.random_forest(rng, K))
    elif kind == 2:
        decoder = LabelForest(K)
    else:
        decoder = GrayEnumeration(K, label_sets.random_edges(rng, K))
    x = rng.standard_normal((n, F))
    problem = MultilabelProblem(x, None, decoder, full=full)
    sets = np.array(label_sets.label_sets(K, parents))
    edges, pairwise = decoder.edge_list, "full" if full else "and"
    return Case(
        rng,
        problem,
        [sets] * n,
        lambda i, y: label_sets.joint_feature(x[i], y, edges, pairwise),
        lambda i, p: p @ sets,
    )


def parts(rng, seed):
    case = make_trees(
        rng,
        FORESTS[seed % 5],
        n_types=1 + seed % 2,
        pairs=seed % 3 == 0,
        bias=seed % 7 != 0,
        storage="csr" if seed % 4 == 0 else "dense",
        labeled=False,
        F=F,
    )
    sizes = np.diff(case.arguments["start"], axis=1)

    def values(i, p):
        labels = np.array(case.allowed[i])
        return np.concatenate(
            [np.bincount(of, weights=p, minlength=n) for of, n in zip(labels.T, sizes[i])]
        )

    labelings = [np.array(each) for each in case.allowed]
    return Case(rng, case.problem, labelings, case.phi, values)


def chain(rng, seed):
    """Return chains with masks, features of transitions, or transitions that share weights."""
    made = make_chains(
        rng, int(rng.integers(1, 4)), rng.integers(1, 4, 2), masked=seed % 3 == 0, cuts=False,
        switches=SWITCHES[seed % 8], G=2 * (seed % 4 == 1), tied=3 * (seed % 5 == 2),
    )  # fmt: skip
    if not all(made.allowed):
        return chain(rng, seed)
    labelings = [np.array(each) for each in made.allowed]

    def values(i, p):
        here = labelings[i][:, :, None] == np.arange(made.problem.n_labels)
        return (p[:, None, None] * here).sum(axis=0).ravel()

    case = ChainCase(rng, made.problem, labelings, made.phi, values)
    case.arguments = made.arguments
    return case


class ChainCase(Case):
    """A case of chains, for which known labels are an argument of the problem."""

    def sums(self, n_threads=1, known=None, **wanted):
        rows = None if known is None else np.pad(known, 1, constant_values=-1).astype(np.int32)
        problem = ChainLabelings(unlabeled_chains(self.arguments, known=rows))
        value, found = sum_blocks(problem, self.w, self.scale, n_threads, **wanted)
        return value, np.ravel(found)


def unlabeled_chains(arguments, **more):
    return chain_problem(**arguments | {"labels": None, "cost": None, "loss_scale": None}, **more)


STRUCTURES = {"chain": chain, "graph": graph, "label set": label_set, "parts": parts}
OF_ALL = pytest.mark.parametrize("structure", STRUCTURES)


def make(structure, seed):
    rng = np.random.default_rng(seed)
    return rng, STRUCTURES[structure](rng, seed)


@OF_ALL
@pytest.mark.parametrize("first", range(0, 300, 60))
def test_sums_equal_enumeration(structure, first):
    for seed in range(first, first + 60):
        check_sums(*make(structure, seed))


def check_sums(rng, case):
    value, marginals = case.sums(marginals=True)
    expected = []
    for i in range(len(case.labelings)):
        scores = case.scores(i)
        total = logsumexp(scores)
        assert value[i] == pytest.approx(total, rel=1e-12, abs=1e-10)
        expected.append(case.values(i, np.exp(scores - total)))
    np.testing.assert_allclose(marginals, np.concatenate(expected), rtol=0, atol=1e-10)
    known = case.known(rng)
    value, marginals = case.sums(marginals=True, known=np.concatenate(known))
    expected = []
    for i, labels in enumerate(known):
        agrees = ((labels < 0) | (case.labelings[i] == labels)).all(axis=1)
        scores = np.where(agrees, case.scores(i), -np.inf)
        total = logsumexp(scores)
        assert value[i] == pytest.approx(total, rel=1e-12, abs=1e-10)
        expected.append(case.values(i, np.exp(scores - total)))
    np.testing.assert_allclose(marginals, np.concatenate(expected), rtol=0, atol=1e-10)


@OF_ALL
@pytest.mark.parametrize("seed", range(10))
def test_the_gradient_of_the_log_partition_is_the_expected_feature(structure, seed):
    rng, case = make(structure, seed)
    case.public = case.public / np.abs(case.public).max()
    case.scale, step = 0.8, 1e-4
    largest = max(np.abs(case.phi(i, y)).max() for i, e in enumerate(case.labelings) for y in e)
    direction = rng.standard_normal(len(case.public)) / max(largest, 1)

    def value(t):
        case.w = case.problem.layout.padded(case.public + t * direction)
        return case.sums()[0]

    slope = (value(step) - value(-step)) / (2 * step)
    for i, labelings in enumerate(case.labelings):
        scores = case.scores(i)
        p = np.exp(scores - logsumexp(scores))
        mean = sum(q * case.phi(i, y) for q, y in zip(p, labelings))
        assert slope[i] == pytest.approx(case.scale * mean @ direction, abs=1e-7)


@OF_ALL
@pytest.mark.parametrize("seed", range(12))
def test_samples_follow_the_distribution(structure, seed):
    _, case = make(structure, seed)
    case.scale /= max(np.ptp(case.scores(0)) / 3, 1e-9)
    n_draws, at = 5000, 0
    seeds = np.arange(len(case.labelings), dtype=np.uint64)
    _, codes = case.sums(n_draws=n_draws, seeds=seeds)
    for i, labelings in enumerate(case.labelings):
        size = n_draws * labelings.shape[1]
        check_draws(codes[at : at + size].reshape(n_draws, -1), labelings, case.scores(i))
        at += size


@OF_ALL
@pytest.mark.parametrize("seed", range(5))
def test_labels_drawn_agree_with_known_ones(structure, seed):
    rng, case = make(structure, seed)
    known = np.concatenate(case.known(rng))
    seeds = np.arange(len(case.labelings), dtype=np.uint64)
    _, codes = case.sums(n_draws=1, seeds=seeds, known=known)
    np.testing.assert_array_equal(codes[known >= 0], known[known >= 0])
    again, first = case.sums(n_draws=3, seeds=seeds, known=known), len(case.labelings[0][0])
    np.testing.assert_array_equal(again[1][:first], codes[:first])


def many_graphs(rng, n):
    length = rng.integers(1, 6, n)
    edges = [random_forest(rng, size) for size in length]
    n_edges = np.array([len(each) for each in edges])
    flat = np.array([pair for each in edges for pair in each], dtype=np.int32)
    starts = np.cumsum(length) - length, np.cumsum(n_edges) - n_edges
    ranges = GraphRanges(starts[0], length, flat, starts[1], n_edges)
    x = rng.standard_normal((length.sum(), F))
    return GraphProblem(x, ranges, PairwiseModel("full", 3), GraphDecoder("expansion", 0))


@pytest.mark.parametrize(
    "kind", ["chain", "edge features", "groups", "graph", "label set", "parts"]
)
def test_results_do_not_depend_on_the_number_of_threads(kind):
    rng, n = np.random.default_rng(0), 300
    if kind in ("chain", "edge features", "groups"):
        options = {"G": 2 * (kind == "edge features"), "tied": 3 * (kind == "groups")}
        problem = unlabeled_chains(
            make_chains(
                rng, 3, rng.integers(1, 5, n), masked=kind == "chain", cuts=False, **options
            ).arguments
        )
    elif kind == "graph":
        problem = many_graphs(rng, n)
    elif kind == "label set":
        problem = MultilabelProblem(
            rng.standard_normal((n, F)), None, GrayEnumeration(4, [[0, 1], [1, 2], [0, 2]])
        )
    else:
        problem = make_trees(rng, [-1, 0, 0], labeled=False, n_blocks=n).problem
    w = problem.without_padding(rng.standard_normal(problem.n_weights))
    seeds = np.arange(n, dtype=np.uint64)
    if isinstance(problem, ChainProblem):
        problem = ChainLabelings(problem)
    for request in ({"marginals": True}, {"n_draws": 3, "seeds": seeds}):
        one = sum_blocks(problem, w, 0.7, 1, **request)
        for threads in (2, 4):
            other = sum_blocks(problem, w, 0.7, threads, **request)
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)


def large_graph(shape, n, K, pairwise="full"):
    """Return a path, a star, or a random tree of n nodes."""
    rng = np.random.default_rng(0)
    child = np.arange(1, n)
    parent = {
        "path": child - 1,
        "star": np.zeros(n - 1, dtype=int),
        "tree": (rng.random(n - 1) * child).astype(int),
    }[shape]
    edges = np.column_stack([parent, child]).astype(np.int32)
    model = PairwiseModel(pairwise, K)
    x = rng.standard_normal((n, F))
    ranges = GraphRanges([0], [n], edges, [0], [n - 1])
    problem = GraphProblem(x, ranges, model, GraphDecoder("expansion", 0))
    return problem, problem.without_padding(rng.standard_normal(problem.n_weights)), parent, x


@pytest.mark.parametrize("shape", ["path", "star", "tree"])
def test_large_graphs(shape):
    n, K = 200_000, 2  # too deep for recursion
    problem, w, parent, x = large_graph(shape, n, K)
    (value,), marginals = sum_blocks(problem, w, 1.0, marginals=True)
    marginals = marginals.reshape(n, K)
    np.testing.assert_allclose(marginals.sum(axis=1), 1, rtol=0, atol=1e-12)
    # Reference for two states: odds, from the leaves to the root and back.
    views = problem.layout.views(w)
    theta = x @ views["coef"].T + views["intercept"]
    scores = ((views["edge"] + views["edge"].T) / 2).ravel().tolist()
    gain, total = theta[:, 1] - theta[:, 0], theta[:, 0].sum()

    def sent(odds, both=np.logaddexp):
        """Return the log of sums over the states of a child, for both states of the parent."""
        off = both(scores[0], scores[1] + odds)
        return off, both(scores[2], scores[3] + odds)

    def both(a, b):
        return max(a, b) + math.log1p(math.exp(-abs(a - b)))

    if shape == "star":
        off, on = sent(gain[1:])
        total += off.sum() + np.logaddexp(0, gain[0] + (on - off).sum())
        assert value == pytest.approx(total, rel=1e-12)
        root = expit(gain[0] + (on - off).sum())
        assert marginals[0, 1] == pytest.approx(root, abs=1e-9)
        return
    below, parent, up = gain.tolist(), parent.tolist(), [0.0] * n
    for v in range(n - 1, 0, -1):
        off, on = sent(below[v], both)
        total, up[v] = total + off, on - off
        below[parent[v - 1]] += up[v]
    total += np.logaddexp(0, below[0])
    assert value == pytest.approx(total, rel=1e-12)
    odds = np.zeros(n)
    odds[0] = below[0]
    for v in range(1, 2000):
        off, on = sent(odds[parent[v - 1]] - up[v], both)
        odds[v] = below[v] + on - off
    expected = 1 / (1 + np.exp(-odds[:2000]))
    np.testing.assert_allclose(marginals[:2000, 1], expected, rtol=0, atol=1e-9)


def test_a_million_nodes_are_sampled():
    problem, w, *_ = large_graph("path", 1_000_000, 3, "potts")
    seeds = np.zeros(1, dtype=np.uint64)
    _, marginals = sum_blocks(problem, w, 1.0, marginals=True)
    _, codes = sum_blocks(problem, w, 1.0, n_draws=1, seeds=seeds)
    shares = np.bincount(codes, minlength=3) / len(codes)
    np.testing.assert_allclose(shares, marginals.reshape(-1, 3).mean(axis=0), atol=5e-3)


@pytest.mark.parametrize("pairwise", ["potts", "full"])
@pytest.mark.parametrize("K", [2, 3, 4, 5, 8, 9, 17])
def test_any_number_of_labels(K, pairwise):
    problem, w, *_ = large_graph("tree", 4, K, pairwise)
    (value,), marginals = sum_blocks(problem, w, 1.0, marginals=True)
    for v in range(4):
        known = np.full(4, -1)
        for k in range(K):
            known[v] = k
            (part,), _ = sum_blocks(problem, w, 1.0, known=known)
            assert np.exp(part - value) == pytest.approx(marginals[v * K + k], abs=1e-12)


def test_large_scores_do_not_overflow():
    problem, w, *_ = large_graph("tree", 50, 4)
    (value,), marginals = sum_blocks(problem, w, 1e7, marginals=True)
    code, best, *_ = problem.best_code(0, w, 0.0)
    assert value / 1e7 == pytest.approx(best, rel=1e-12)
    np.testing.assert_array_equal(marginals.reshape(-1, 4), np.eye(4)[code])


def test_no_set_of_a_hierarchy_agrees_with_known_labels():
    decoder = LabelForest(3, parents=[-1, 0, 1])
    problem = MultilabelProblem(np.ones((2, F)), None, decoder)
    known = [0, -1, 1, 1, 1, 1]
    value, _ = sum_blocks(problem, np.ones(problem.n_weights), 1.0, known=known)
    assert value[0] == -np.inf
    assert np.isfinite(value[1])


def test_sums_of_unsupported_problems_raise():
    x = np.ones((3, F))
    triangle = GraphRanges([0], [3], [[0, 1], [1, 2], [2, 0]], [0], [3])
    model = PairwiseModel("full", 2)
    cyclic = GraphProblem(x, triangle, model, GraphDecoder("expansion", 0))
    w = np.zeros(cyclic.n_weights)
    with pytest.raises(ValueError, match="requires a graph without cycles"):
        sum_blocks(cyclic, w, 1.0)
    labeled = GraphProblem(
        x, triangle, model, GraphDecoder("expansion", 0), labels=np.zeros(3, dtype=np.int32)
    )
    with pytest.raises(ValueError, match="without labels"):
        sum_blocks(labeled, w, 1.0)
    sets = MultilabelProblem(x, None, LabelCut(2, [[0, 1]]))
    with pytest.raises(NotImplementedError, match=r"LabelCut\.log_partition"):
        sum_blocks(sets, np.zeros(sets.n_weights), 1.0)
    maps = make_trees(np.random.default_rng(0), [-1, 0], "maps", labeled=False).problem
    with pytest.raises(NotImplementedError, match="score maps"):
        sum_blocks(maps, np.zeros(maps.n_weights), 1.0)
    sets = MultilabelProblem(x, None, LabelForest(2))
    w = np.zeros(sets.n_weights)
    with pytest.raises(ValueError, match="known has 2 entries, expected 6"):
        sum_blocks(sets, w, 1.0, known=[0, 1])
    with pytest.raises(ValueError, match="expected 3 seeds"):
        sum_blocks(sets, w, 1.0, n_draws=1, seeds=np.zeros(2, dtype=np.uint64))
