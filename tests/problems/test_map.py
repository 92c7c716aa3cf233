"""Test trees of models as a block problem against enumeration.

Costs and multipliers are multiples of 1/8 and numbers of copies are powers of two, so sums are
exact in any order and results must agree to the bit; with three copies they agree to rounding.
"""

from itertools import product

import numpy as np
import pytest

from sstruct._problems.map._map_problem import MapProblem
from sstruct._problems.map._ray_sums import RayTerms
from sstruct._problems.map.map_arguments import disagreement, project
from sstruct._testing import _problem_access as access
from sstruct.inference import MRF
from sstruct.inference._model.tree_cover import TreeCover, tree_cover
from tests.reference import mrf as reference


class Terms:
    """The trees of a model by their definition: allowed labelings, f_t and phi_t.

    sums : required sums of labels, of the blocks after the trees
    """

    def __init__(self, plain, problem, sums=()):
        cover = problem.cover
        copies = np.bincount(cover.node, minlength=len(plain.node))
        self.at, n = {}, 0  # place of each multiplier: by node, label and tree
        for v, costs in enumerate(plain.node):
            trees = [
                t for t in range(cover.n_trees)
                if v in cover.node[cover.start[t] : cover.start[t + 1]]
            ]  # fmt: skip
            for label in range(len(costs) if copies[v] > 1 else 0):
                for t in trees:
                    self.at[v, label, t] = n
                    n += 1
        self.n, self.copies = n, copies
        self.allowed, self.free, self.indicator = [], [], []
        for t in range(cover.n_trees):
            places = slice(cover.start[t], cover.start[t + 1])
            node, edges = cover.node[places], cover.edge[places]
            edges = edges[edges >= 0]
            labelings, free, indicators = [], [], []
            for y in product(*(range(len(plain.node[v])) for v in node)):
                label = dict(zip(node.tolist(), y, strict=True))
                total = sum(plain.node[v][label[v]] / copies[v] for v in label)
                for e in edges:
                    u, v = plain.edges[e].tolist()
                    total += plain.weights[e] * plain.tables[e][label[u], label[v]]
                has_sum = t < problem.n_trees or sum(y) == sums[t - problem.n_trees]
                if total < np.inf and has_sum:
                    one = np.zeros(max(n, 1))
                    for v in label:
                        if copies[v] > 1:
                            one[self.at[v, label[v], t]] = 1
                    labelings.append(y)
                    free.append(total)
                    indicators.append(one)
            self.allowed.append(labelings)
            self.free.append(np.array(free))
            self.indicator.append(np.array(indicators))

    def project(self, x):
        """Subtract the mean over copies."""
        x = x.copy()
        for v, copies in enumerate(self.copies):
            for label in range(100) if copies > 1 else ():
                at = [p for (u, k, _), p in self.at.items() if (u, k) == (v, label)]
                x[at] -= x[at].mean() if at else 0
        return x


def eighths(rng, shape, forbidding=False):
    costs = rng.integers(-16, 17, shape) / 8
    if forbidding:
        costs[rng.random(shape) < 0.15] = np.inf
    return costs


def make(rng, edges, n_nodes, *, cover=None, forbidding=False, published=False, form=None):
    """Return a model of 2 to 3 labels that allows a labeling, its problem and its terms."""
    sizes = rng.integers(2, 4, n_nodes)
    node = [eighths(rng, int(size), forbidding) for size in sizes]
    tables = [eighths(rng, tuple(sizes[list(pair)].tolist()), forbidding) for pair in edges]
    if form is not None:
        node = [eighths(rng, 3) for _ in range(n_nodes)]
        tables = [np.round(8 * reference.random_form(rng, 3, form)) / 8] * len(edges)
    hidden = [rng.integers(len(costs)) for costs in node]
    for v, costs in enumerate(node):
        costs[hidden[v]] = 0.5
    for (u, v), table in zip(edges, tables, strict=True):
        table[hidden[u], hidden[v]] = 0.25 if form is None else table[hidden[u], hidden[v]]
    edges = np.array(edges, dtype=np.int32)
    plain = reference.Model(node, edges, tables, np.ones(len(edges)))
    model = MRF(*plain.arguments())
    cover = tree_cover(n_nodes, edges) if cover is None else cover
    problem = MapProblem(model, cover, published=published)
    return plain, problem, Terms(plain, problem)


SQUARE = [(0, 1), (1, 3), (2, 3), (2, 0)]
# A square whose nodes are in two paths each, a pendant path in one tree, and an isolated node.
PENDANT = [*SQUARE, (3, 4), (4, 5)]


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("forbidding", [False, True])
@pytest.mark.parametrize("edges, n_nodes", [(SQUARE, 4), (PENDANT, 7), ([(0, 1), (2, 1)], 3)])
def test_every_method_equals_the_definition(rng, edges, n_nodes, forbidding, published):
    for _ in range(5):
        _, problem, terms = make(rng, edges, n_nodes, forbidding=forbidding, published=published)
        check_against_definition(problem, terms, rng)


@pytest.mark.parametrize("form", ["potts", "linear", "quadratic"])
def test_implicit_tables_equal_the_definition(rng, form):
    _, problem, terms = make(rng, SQUARE, 4, form=form)
    check_against_definition(problem, terms, rng)


@pytest.mark.parametrize("edges", [SQUARE, []], ids=["square", "no edges"])
def test_sums_equal_the_definition(rng, edges):
    # Every node is in two or four blocks.
    edges = np.array(edges, dtype=np.int32).reshape(-1, 2)
    start, node = np.array([0, 4, 6, 8]), np.array([3, 0, 2, 1, 0, 1, 3, 2], dtype=np.int32)
    for sums in ([4, 2, 1], [0, 4, 3], [8, 0, 2]):
        tables = [eighths(rng, (3, 3)) for _ in edges]
        plain = reference.Model(
            [eighths(rng, 3) for _ in range(4)], edges, tables, np.ones(len(edges))
        )
        model = MRF(*plain.arguments())
        rays = RayTerms(start, node, np.array(sums), 3)
        problem = MapProblem(model, tree_cover(4, edges), terms=rays)
        check_against_definition(problem, Terms(plain, problem, sums), rng)
        labels = rng.integers(0, 3, 4).astype(np.int32)
        kept = [labels[node[start[t] : start[t + 1]]].sum() == sums[t] for t in range(3)]
        assert rays.total(labels) == (0 if all(kept) else np.inf)


def check_against_definition(problem, terms, rng):
    n = problem.n_weights
    assert problem.n_multipliers == terms.n
    truths = [problem.true_code(t) for t in range(problem.n_blocks)]
    for t, truth in enumerate(truths):
        # The true code has the least cost at multipliers of 0.
        y = tuple(truth[:-2].tolist())
        assert terms.free[t][terms.allowed[t].index(y)] == terms.free[t].min()
    center = terms.project(rng.integers(-8, 9, n) / 8.0)
    problem.recenter(center)
    w = terms.project(rng.integers(-8, 9, n) / 8.0)
    before, fork = w.copy(), problem.fork()
    for t, allowed in enumerate(terms.allowed):
        truth = allowed.index(tuple(truths[t][:-2].tolist()))
        costs = terms.free[t] + terms.indicator[t] @ center
        losses = costs[truth] - costs
        features = -terms.indicator[t] @ w
        assert problem.code_loss(t, truths[t]) == 0
        pick = rng.permutation(len(allowed))[:12]
        some = [access.code_of(problem, t, allowed[p]) for p in pick]
        for weight in (1.0, 0.25, 2.0):
            # Scores are defined up to a constant of the block, the cost of the truth.
            scores = features + weight * (losses - costs[truth])
            code, value, work, exact = problem.best_code(t, w, weight)
            assert value == scores.max()
            assert scores[allowed.index(tuple(code[:-2].tolist()))] == value
            assert work > 0
            assert exact is True
            absolute = access.scores(problem, t, None, np.vstack([code, some]), weight)
            np.testing.assert_array_equal(absolute, np.r_[value, scores[pick]])
            lazy = access.scores(problem, t, w, some, weight)
            np.testing.assert_array_equal(lazy - lazy[0], scores[pick] - scores[pick[0]])
            again, same, cost, _ = fork.best_code(t, w, weight)
            np.testing.assert_array_equal(again, code)
            assert (same, cost) == (value, work)
        for p, code in zip(pick, some, strict=True):
            assert problem.code_loss(t, code) == fork.code_loss(t, code) == losses[p]
            q = pick[0]
            move = terms.project(terms.indicator[t][q] - terms.indicator[t][p])
            plain = terms.indicator[t][q] - terms.indicator[t][p]
            distance = access.squared_distance(problem, t, code, some[0])
            assert distance == (plain @ plain if problem.published else move @ move)
            out = np.zeros(n)
            access.scatter(problem, t, [code, some[0]], [0.5, -0.5], out)
            np.testing.assert_array_equal(out, 0.5 * move)
    np.testing.assert_array_equal(w, before)
    multipliers = terms.project(center + w)
    expected = problem.constant + sum(
        (free + indicator @ multipliers).min()
        for free, indicator in zip(terms.free, terms.indicator, strict=True)
    )
    assert problem.bound(multipliers) == expected
    np.testing.assert_array_equal(project(problem.copy_start, multipliers.copy()), multipliers)


def test_three_copies(rng):
    star = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    each = TreeCover(
        3,
        np.arange(0, 14, 2),
        np.array(star, dtype=np.int32).ravel(),
        np.tile(np.array([-1, 0], dtype=np.int32), 6),
        np.stack([np.full(6, -1), np.arange(6)], axis=1).ravel().astype(np.int32),
    )
    _, problem, terms = make(rng, star, 4, cover=each)
    w = terms.project(rng.standard_normal(problem.n_weights))
    np.testing.assert_allclose(project(problem.copy_start, w.copy()), w, atol=1e-15)
    for t, allowed in enumerate(terms.allowed):
        codes = [access.code_of(problem, t, y) for y in allowed]
        scores = access.scores(problem, t, w, codes)
        expected = -terms.indicator[t] @ w - terms.free[t]
        np.testing.assert_allclose(scores, expected, atol=1e-14)
        coefficient = rng.standard_normal(len(codes))
        coefficient -= coefficient.mean()
        out = np.zeros(problem.n_weights)
        access.scatter(problem, t, codes, coefficient, out)
        np.testing.assert_allclose(
            out, -terms.project(coefficient @ terms.indicator[t]), atol=1e-13
        )
        move = terms.project(terms.indicator[t][0] - terms.indicator[t][-1])
        assert access.squared_distance(problem, t, codes[0], codes[-1]) == pytest.approx(
            move @ move
        )


def test_mean_planes_and_disagreement(rng):
    _, problem, terms = make(rng, PENDANT, 7)
    sizes, alphas, codes, y, free = [], [], [], np.zeros(problem.n_weights), problem.constant
    for t, allowed in enumerate(terms.allowed):
        pick = rng.permutation(len(allowed))[:3]
        alpha = rng.dirichlet(np.ones(len(pick)))
        sizes.append(len(pick))
        alphas += alpha.tolist()
        codes += [access.code_of(problem, t, allowed[p]) for p in pick]
        y += alpha @ terms.indicator[t][pick]
        free += alpha @ terms.free[t][pick]
    exported = {
        "size": np.array(sizes), "alpha": np.array(alphas), "code": np.concatenate(codes)
    }  # fmt: skip
    found, total = problem.mean_planes(exported)
    np.testing.assert_allclose(found, y, atol=1e-15)
    assert total == pytest.approx(free, rel=1e-14)
    expected = sum(
        np.ptp([y[p] for (u, k, _), p in terms.at.items() if (u, k) == which])
        for which in {(u, k) for u, k, _ in terms.at}
    )
    assert disagreement(problem.copy_start, y) == pytest.approx(expected)


def test_forbidden_labels_without_a_labeling():
    node = [[0.0, np.inf], [np.inf, 0.0], [0.0, 0.0]]
    table = np.array([[0.0, np.inf], [0.0, 0.0]])
    model = MRF(node, [[0, 1]], [table])
    with pytest.raises(ValueError, match="block 0: the tree of node 0 has no labeling"):
        MapProblem(model, tree_cover(3, model.edges))
    node[1], node[2] = [0.0, 0.0], [np.inf, np.inf]
    model = MRF(node, [[0, 1]], [table])
    with pytest.raises(ValueError, match="all labels of node 2, which has no edges, have infinite"):
        MapProblem(model, tree_cover(3, model.edges))


def test_access_functions_validate_arguments(rng):
    _, problem, _ = make(rng, SQUARE, 4)
    code = problem.true_code(0)
    with pytest.raises(ValueError, match=r"labeling code of 3 entries, expected 4"):
        problem.code_loss(0, code[:-1])
    wrong = code.copy()
    wrong[1] = 3
    with pytest.raises(ValueError, match="block 0: label 3 at position 1, expected 0 to"):
        problem.code_loss(0, wrong)
    wrong = code.copy()
    wrong[-1] ^= 1 << 20
    with pytest.raises(ValueError, match=r"free term .* does not match its labels"):
        problem.code_loss(0, wrong)
    with pytest.raises(ValueError, match="a positive loss_weight, found 0"):
        problem.best_code(0, np.zeros(problem.n_weights), 0.0)
    with pytest.raises(ValueError, match="weights, expected"):
        problem.recenter(np.zeros(problem.n_weights + 1))
