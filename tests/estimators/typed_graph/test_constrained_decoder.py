"""Test decoding of typed graphs with constraints against enumeration."""

from itertools import product

import numpy as np
import pytest

from sstruct._estimators.graph.constraint_terms import hard_terms
from sstruct._estimators.graph.typed_constraints import typed_constraint_rows, violations
from sstruct._estimators.graph.typed_samples import pack_typed
from sstruct._estimators.graph.typed_training import TypedGraphProblem, typed_graphs
from sstruct._oracles.core._hard_terms import GraphConstraints
from sstruct._problems.graph._graph_problem import max_marginals
from sstruct._problems.graph.typed_model import TypedModel
from sstruct.constraints import at_least, at_most, exactly_one, excludes, implies
from sstruct.inference._methods._constrained_decoder import ConstrainedDecoder
from tests.estimators.typed_graph.random_constraints import random_constraint
from tests.estimators.typed_graph.test_typed_graph import PAIRS, SIZES, make
from tests.reference import typed_constraints
from tests.reference import typed_graphs as reference

CLASSES = [np.arange(K) for K, _ in SIZES]


class Model:
    """The problem of one graph with constraints, and its labelings.

    like : another Model, whose graph is used; None for a random graph
    """

    def __init__(self, rng, constraints, forests=False, first=False, like=None, **limits):
        X, y = make(rng, 2, forests=forests)
        self.graph, self.truth = (X[0], y[0]) if first else (X[1], y[1])
        if like is not None:
            self.graph, self.truth = like.graph, like.truth
        self.typed = typed = pack_typed(
            [self.graph],
            tuple(F for _, F in SIZES),
            tuple((t, u, G) for (t, u), G in PAIRS.items()),
        )
        sizes = TypedModel(typed.n_features, tuple(K for K, _ in SIZES), typed.pairs, True)
        self.rows = typed_constraint_rows(constraints, CLASSES, typed.pairs)
        graphs = typed_graphs(typed, sizes)
        self.terms = hard_terms(self.rows, graphs, typed.types, [17])
        self.decoder = ConstrainedDecoder(self.terms, 0, **limits)
        self.problem = TypedGraphProblem.from_graphs(graphs, sizes, self.decoder)
        self.problem.begin_fit()  # later calls start from earlier ones
        self.every = reference.labelings([len(own) for own in self.truth], SIZES)
        self.phi = (
            like.phi
            if like is not None
            else np.array(
                [reference.joint_feature(self.graph, z, SIZES, PAIRS) for z in self.every]
            )
        )
        self.allowed = np.array(
            [
                all(typed_constraints.satisfies(each, self.graph, z) for each in constraints)
                for z in self.every
            ]
        )

    def scores(self, w):
        """Return the score of each labeling; -inf if it is not allowed."""
        return np.where(self.allowed, self.phi @ w, -np.inf)

    def code(self, w):
        return self.problem.best_code(0, self.problem.layout.padded(w), 0.0)

    def index(self, code):
        (parts,) = self.typed.by_type(np.asarray(code))
        return self.every.index(tuple(tuple(part.tolist()) for part in parts))


def test_a_thousand_random_models_equal_enumeration(rng):
    n_impossible = n_active = 0
    model = None
    for round_ in range(1000):
        constraints = [random_constraint(rng) for _ in range(rng.integers(1, 5))]
        like = model if round_ % 4 else None
        model = Model(rng, constraints, first=rng.random() < 0.3, like=like)
        for k in rng.integers(len(model.every), size=12):
            z, is_allowed = model.every[k], model.allowed[k]
            codes = np.concatenate([np.array(own, dtype=int) for own in z])
            wrong = violations(model.rows, model.typed, codes, np.ones(len(codes), dtype=bool))
            assert wrong.any() != is_allowed
            edges = model.typed.graphs.edges
            assert model.terms.satisfied([edges], codes) == [is_allowed]
        w = rng.standard_normal(model.phi.shape[1])
        if not model.allowed.any():
            n_impossible += 1
            with pytest.raises(ValueError, match=r"no labeling of X\[17\] satisfies"):
                model.code(w)
            continue
        for _ in range(3):  # from the labels and multipliers of the previous call
            w = w + 0.3 * rng.standard_normal(len(w))
            code, value, _, is_exact = model.code(w)
            assert is_exact
            best = model.scores(w).max()
            assert value == pytest.approx(best, rel=1e-9, abs=1e-9)
            assert model.scores(w)[model.index(code)] == pytest.approx(best, rel=1e-9, abs=1e-9)
            n_active += best < (model.phi @ w).max() - 1e-9
    assert n_impossible > 20
    assert n_active > 500


@pytest.mark.parametrize("forests", [True, False])
def test_max_marginals_equal_enumeration(rng, forests):
    n_infinite = 0
    for _ in range(60):
        model = Model(rng, [random_constraint(rng) for _ in range(2)], forests)
        if not model.allowed.any():
            continue
        w = rng.standard_normal(model.phi.shape[1])
        marginals = max_marginals(model.problem, model.problem.layout.padded(w), [forests])
        scores = model.scores(w)
        flat = np.array([[label for own in z for label in own] for z in model.every])
        for v, own in enumerate(marginals):
            for k, value in enumerate(own):
                best = scores[flat[:, v] == k].max(initial=-np.inf)
                n_infinite += np.isinf(best)
                assert value == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert n_infinite > 50


@pytest.mark.parametrize(
    "limits", [{"max_time": 0}, {"max_work": 300.0}, {"max_entries": 0.0}, {"keeps": False}]
)
def test_limits_give_allowed_labels_and_valid_bounds(rng, limits):
    n_open, errors = 0, []
    for _ in range(150):
        constraints = [random_constraint(rng) for _ in range(3)]
        model = Model(rng, constraints, first=True, **limits)
        if not model.allowed.any():
            continue
        w = rng.standard_normal(model.phi.shape[1])
        try:
            code, value, _, is_exact = model.code(w)
        except ValueError as error:
            errors.append(str(error))
            continue
        scores = model.scores(w)
        assert value == pytest.approx(scores[model.index(code)], rel=1e-9, abs=1e-9)
        if is_exact:
            assert value == pytest.approx(scores.max(), rel=1e-9, abs=1e-9)
        n_open += not is_exact
    assert (n_open > 0) == ("keeps" not in limits)
    assert all("found within the limits of the search" in message for message in errors)
    assert len(errors) == 0 or "max_time" not in limits


def test_bounds_on_the_number_of_nodes_with_a_label(rng):
    # Without edges, the best labeling with a given number of nodes with label 1 is known.
    for _ in range(100):
        n, least = int(rng.integers(2, 30)), int(rng.integers(4))
        most = least + int(rng.integers(n))
        graph = ([rng.standard_normal((n, 1))], {})
        typed = pack_typed([graph])
        sizes = TypedModel(typed.n_features, (2,), typed.pairs, True)
        constraints = [at_least(min(least, n), [1], nodes=0), at_most(most, [1], nodes=0)]
        rows = typed_constraint_rows(constraints, [np.arange(2)], typed.pairs)
        graphs = typed_graphs(typed, sizes)
        decoder = ConstrainedDecoder(hard_terms(rows, graphs, typed.types, [0]), 0)
        problem = TypedGraphProblem.from_graphs(graphs, sizes, decoder)
        w = rng.standard_normal(4)
        code, value, _, is_exact = problem.best_code(0, problem.layout.padded(w), 0.0)
        scores = graph[0][0] @ w[:2][np.newaxis] + w[2:]
        gains = np.sort(scores[:, 1] - scores[:, 0])[::-1]
        totals = scores[:, 0].sum() + np.append(0, np.cumsum(gains))
        assert is_exact
        assert min(least, n) <= code.sum() <= most
        assert value == pytest.approx(totals[min(least, n) : min(most, n) + 1].max())


class Grid:
    """A grid of three labels: exactly one label 0, and label 1 for at least half of the nodes."""

    def __init__(self, rng, height, width, **limits):
        self.shape, n = (height, width), height * width
        cells = np.arange(n).reshape(self.shape)
        pairs = (cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])
        edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
        self.features, self.coef = rng.standard_normal((n, 3)), np.eye(3)
        self.table = 0.3 * rng.standard_normal((3, 3))
        typed = pack_typed([([self.features], {(0, 0): edges})])
        sizes = TypedModel(typed.n_features, (3,), typed.pairs, False)
        constraints = [exactly_one([0], nodes=0), at_least(n // 2, [1], nodes=0)]
        rows = typed_constraint_rows(constraints, [np.arange(3)], typed.pairs)
        graphs = typed_graphs(typed, sizes)
        decoder = ConstrainedDecoder(hard_terms(rows, graphs, typed.types, [0]), 0, **limits)
        self.problem = TypedGraphProblem.from_graphs(graphs, sizes, decoder)
        self.problem.begin_fit()

    def decode(self):
        w = np.concatenate([self.coef.ravel(), self.table.ravel()])
        code, value, _, is_exact = self.problem.best_code(0, self.problem.layout.padded(w), 0.0)
        n_zero, n_one = np.bincount(code, minlength=3)[:2]
        assert n_zero == 1
        assert n_one >= len(code) // 2
        return value, is_exact

    def optimum(self):
        """Return the best score, by dynamic programming over rows and numbers of labels."""
        height, width = self.shape
        rows = np.array(list(product(range(3), repeat=width)))
        scores = (self.features @ self.coef.T).reshape(height, width, 3)
        within = self.table[rows[:, :-1], rows[:, 1:]].sum(axis=1)
        n_zero, n_one = (rows == 0).sum(axis=1), (rows == 1).sum(axis=1)
        best = None
        for at, own in enumerate(scores):
            new = np.full((len(rows), 2, height * width + 1), -np.inf)
            for r, row in enumerate(rows):
                if n_zero[r] > 1:
                    continue
                if at == 0:
                    new[r, n_zero[r], n_one[r]] = 0
                else:
                    steps = self.table[rows, row].sum(axis=1)[:, np.newaxis, np.newaxis]
                    before = (best + steps).max(axis=0)
                    size = before.shape[1] - n_one[r]
                    new[r, n_zero[r] :, n_one[r] :] = before[: 2 - n_zero[r], :size]
                new[r] += own[np.arange(width), row].sum() + within[r]
            best = new
        return best[:, 1, height * width // 2 :].max()


def test_bounds_on_numbers_of_nodes_of_grids_against_dynamic_programming(rng):
    for _ in range(30):
        grid = Grid(rng, int(rng.integers(2, 9)), 3)
        for _ in range(3):  # from the labels, multipliers and prices of the previous call
            value, is_exact = grid.decode()
            assert is_exact
            assert value == pytest.approx(grid.optimum(), rel=1e-9)
            grid.coef += 0.3 * rng.standard_normal((3, 3))
            grid.table += 0.1 * rng.standard_normal((3, 3))


def test_prices_prove_optima_with_little_work(rng):
    # Within this work, 9 of 10 searches end, but none of 20 searches without prices, which need ten
    # times as much. If each ends with probability 0.89, fewer than 4 of 10 do for 2 of 10^5 seeds.
    assert sum(Grid(rng, 7, 7, max_work=2.0**22).decode()[1] for _ in range(10)) >= 4


def test_work_of_large_graphs_is_limited(rng):
    # Almost all labels of the best labeling without constraints violate the bound.
    n = 10_000
    cells = np.arange(n).reshape(100, 100)
    pairs = (cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    features = rng.standard_normal((n, 2)) + [0, 3]
    typed = pack_typed([([features], {(0, 0): edges})])
    sizes = TypedModel(typed.n_features, (2,), typed.pairs, False)
    rows = typed_constraint_rows([at_most(2, [1], nodes=0)], [np.arange(2)], typed.pairs)
    graphs = typed_graphs(typed, sizes)
    decoder = ConstrainedDecoder(hard_terms(rows, graphs, typed.types, [0]), 0, max_time=0)
    problem = TypedGraphProblem.from_graphs(graphs, sizes, decoder)
    w = np.concatenate([np.eye(2).ravel(), 0.1 * rng.standard_normal(4)])
    code, _, work, is_exact = problem.best_code(0, problem.layout.padded(w), 0.0)
    assert code.sum() <= 2
    assert not is_exact
    assert work < 1e8  # 6e8 if labels were changed one at a time


VALID = {
    "is_forbidden": np.zeros((2, 2), dtype=bool),
    "edge_table": [-1],
    "n_states": [2, 3],
    "ends": [(0, 2), (1, 2), (2, 3)],
    "link_table": [0, 0, 1],
    "tables": [np.zeros((2, 2), dtype=bool), np.zeros((2, 3), dtype=bool)],
    "sizes": [(2, 1, 2, 3)],
    "samples": [0],
}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"sizes": [(2, 1, 2, 2)]}, "constraints have arrays of"),
        ({"sizes": [(0, 1, 2, 3), (2, 0, 0, 0)], "samples": [0, 1]}, "have arrays of"),
        ({"sizes": [(2, -1, 2, 3)]}, "constraints have arrays of"),
        ({"samples": []}, "constraints have arrays of"),
        ({"ends": [(0, 2), (1, 2), (3, 3)]}, "must join an auxiliary node to an earlier node"),
        ({"ends": [(0, 2), (1, 2), (2, 4)]}, "must join an auxiliary node"),
        ({"ends": [(0, 1), (1, 2), (2, 3)]}, "must join an auxiliary node"),
        ({"ends": [(-1, 2), (1, 2), (2, 3)]}, "must join an auxiliary node"),
        ({"ends": [(0, 2), (2, 3), (1, 2)], "link_table": [0, 1, 0]}, "must be sorted"),
        ({"link_table": [0, 0, 2]}, "invalid table"),
        ({"link_table": [0, 0, -1]}, "invalid table"),
        ({"edge_table": [-2]}, "invalid table"),
        ({"edge_table": [1]}, "the shape of a table"),
        ({"link_table": [0, 0, 0]}, "the shape of a table"),
        ({"n_states": [2, 0]}, "invalid table or number of states"),
        ({"allowed_labels": [0]}, "allowed_labels must have 2 entries"),
        ({"counters": [(1, 0, 2, 0, 1)], "wanted": [(0, 1)]}, "have an invalid counter"),
        ({"counters": [(-1, 0, 2, 0, 1)], "wanted": [(0, 1)]}, "have an invalid counter"),
        ({"counters": [(0, 2, 2, 0, 1)], "wanted": [(0, 1)]}, "have an invalid counter"),
        ({"counters": [(0, -1, 2, 0, 1)], "wanted": [(0, 1)]}, "have an invalid counter"),
        ({"counters": [(0, 0, 1, 0, 1)], "wanted": [(0, 1)]}, "have an invalid counter"),
        ({"counters": [(0, 0, 2, 2, 1)], "wanted": [(0, 1)]}, "have an invalid counter"),
        ({"counters": [(0, 0, 2, 0, 3)], "wanted": [(0, 1)]}, "have an invalid counter"),
        ({"counters": [(0, 0, 2, 0, 1)]}, "have an invalid counter"),
        ({"counters": [(0, 1, 2, 0, 1)], "wanted": [(0, 1)]}, "links of a counter must join"),
    ],
)
def test_invalid_terms(change, message):
    assert GraphConstraints(**VALID).n_multipliers().tolist() == [4 + 4 + 4 + 5]
    counted = {**VALID, "counters": [(0, 0, 2, 0, 1)], "wanted": [(0, 1)]}
    assert GraphConstraints(**counted).n_multipliers().tolist() == [4 + 4 + 4 + 5 + 1]
    with pytest.raises(ValueError, match=message):
        GraphConstraints(**{**VALID, **change})


def test_links_restrict_states():
    terms = {**VALID, "tables": [np.eye(2, dtype=bool), np.zeros((2, 3), dtype=bool)]}
    constraints = GraphConstraints(**terms)
    for labels in product(range(2), repeat=2):  # the first auxiliary node differs from both
        assert constraints.satisfied([[(0, 1)]], labels) == [labels[0] == labels[1]]
    with pytest.raises(ValueError, match="labels must be between 0 and 1"):
        constraints.satisfied([[(0, 1)]], [0, 2])
    with pytest.raises(ValueError, match="expected 1 edges of graph 0"):
        constraints.satisfied([[(0, 2)]], [0, 1])


def test_memory_is_validated(rng):
    model = Model(rng, [excludes(0, 1, nodes=0), implies(2, 0, nodes=(0, 1))], first=True)
    w = rng.standard_normal(model.phi.shape[1])
    while not model.problem.memory()["is_searched"][0]:
        w = rng.standard_normal(len(w))
        model.code(w)
    kept = model.problem.memory()
    model.problem.restore_memory(kept)
    wrong = model.every[int((~model.allowed).argmax())]
    kept["search_labels"] = np.concatenate([np.array(own, dtype=np.int32) for own in wrong])
    with pytest.raises(ValueError, match="search_labels of block 0 violate the constraints"):
        model.problem.restore_memory(kept)
    kept["search_multipliers"] = kept["search_multipliers"][:-1]
    with pytest.raises(ValueError, match="search_multipliers"):
        model.problem.restore_memory(kept)
