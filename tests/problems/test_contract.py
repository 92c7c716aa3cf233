"""Test every method of BlockProblem against its definition by enumeration.

The problems are chains, trees of parts, graphs with every pairwise model and enumerated planes;
some are wrapped in a costly oracle.

Features, weights and costs are small integers, so sums are exact in any order, also in single
precision, and results must agree to the bit.
"""

from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._problems.chain._chain_problem import ChainProblem, max_marginals
from sstruct._problems.chain._edge_features import EdgeFeatureChainProblem
from sstruct._problems.chain.chain_arguments import (
    ChainModel,
    ChainRanges,
    EdgeFeatureRows,
    check_edge_rows,
)
from sstruct._problems.core._decode import decode
from sstruct._problems.core._rows import scored_rows
from sstruct._problems.coupled._coupled_problem import CoupledProblem
from sstruct._problems.graph._graph_problem import GraphProblem
from sstruct._problems.graph._pairwise import PairwiseModel
from sstruct._problems.graph.graph_arguments import PAIRWISE, GraphRanges
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct._testing import _problem_access as access
from sstruct._testing._costly import CostlyProblem
from sstruct._testing._enumerated import EnumeratedProblem
from sstruct._testing._graph_enumeration import graph_enumeration
from tests.problems.flat import chain_problem, graph_problem
from tests.problems.trees import FORESTS, make_trees
from tests.reference import brute_force, graphs
from tests.reference.class_scores import embedding

SWITCHES = list(product([True, False], repeat=3))
STORAGES = list(product(["dense", "csr"], [np.float32, np.float64]))
# (K, lengths of the chains): all padded widths, enumerable.
SIZES = [
    (1, (3, 1)),
    (2, (5, 1, 6)),
    (3, (1, 4, 5)),
    (4, (4, 2, 1)),
    (5, (3, 4, 1)),
    (9, (3, 1, 2)),
    (17, (2, 1)),
    (33, (2, 1)),
    (41, (1, 2)),
]


def stored(X, storage, dtype, columns=None):
    """Return features of a storage and dtype; columns: scores of the labels, or None."""
    X = X.astype(dtype)
    return scored_rows(sparse.csr_matrix(X) if storage == "csr" else X, columns)


def some_groups(rng, K, n_groups):
    """Return random groups of K x K transitions, some of which have none."""
    groups = rng.integers(-1, n_groups, (K, K))
    return np.unique(np.append(-1, groups), return_inverse=True)[1][1:].reshape(K, K) - 1


def make_chains(rng, K, lengths, *, storage="dense", dtype=np.float64, masked=False, switches=None,
                F=4, cuts=True, weighted=False, G=0, windows=False, scored=False,
                tied=0):  # fmt: skip
    """Return a problem and its parts in the format of the reference.

    windows : whether some blocks end with a copy of the node after them
    scored : whether there are scores of the labels in addition to F features
    tied : number of groups of transitions, if it is positive
    """
    F += K * scored
    bias, boundaries, transitions = switches or (True, True, True)
    n_rows = sum(lengths) + 2  # the first and the last row belong to no block
    X = rng.integers(-3, 4, (n_rows, F)) * (rng.random((n_rows, F)) < 0.7)
    start = 1 + np.concatenate([[0], np.cumsum(lengths)[:-1]])
    edge_mask = boundary_mask = None
    if masked:
        edge_mask = rng.random((K, K)) < 0.7
        edge_mask[np.arange(K), (np.arange(K) + 1) % K] = True  # a cycle through all labels
        boundary_mask = rng.random((2, K)) < 0.8
        boundary_mask[:, rng.integers(K)] = True
    groups = some_groups(rng, K, tied) if tied else None
    model = brute_force.Model(K, bias, boundaries, transitions, edge_mask, boundary_mask, groups)
    starts = rng.random(len(lengths)) < (0.5 if cuts else 1)
    ends = rng.random(len(lengths)) < (0.5 if cuts else 1)
    copies = np.zeros(len(lengths), dtype=bool)
    if windows:
        copies = (np.array(lengths) > 1) & (rng.random(len(lengths)) < 0.7)
        ends &= ~copies
    labels = np.full(n_rows, -1, dtype=np.int32)
    choices = []
    for first, length, s, e in zip(start, lengths, starts, ends, strict=True):
        allowed = brute_force.labelings(length, model, s, e) if K**length < 1e5 else None
        truth = (
            allowed[rng.integers(len(allowed))] if allowed else tuple(rng.integers(0, K, length))
        )
        labels[first : first + length] = truth
        choices.append(allowed)
    cost = rng.integers(0, 4, (K, K)) * (1.0 - np.eye(K))
    scale = rng.choice([0.25, 0.5, 1.0, 2.0], len(lengths))
    node_weight = rng.choice([0.0, 0.5, 1.0, 3.0], n_rows) if weighted else np.ones(n_rows)
    columns = rng.permutation(F)[:K] if scored else None
    arguments = dict(
        X=stored(X, storage, dtype, columns),
        node_weight=node_weight if weighted else None,
        start=start,
        length=np.array(lengths),
        n_labels=K,
        labels=labels,
        cost=cost,
        loss_scale=scale,
        starts_here=starts,
        ends_here=ends,
        copies_end=copies if windows else None,
        bias=bias,
        boundaries=boundaries,
        transitions=transitions,
        edge_mask=edge_mask,
        boundary_mask=boundary_mask,
        groups=groups,
    )
    edge_start = 1 + np.cumsum(np.array(lengths) - 1) - (np.array(lengths) - 1)
    if G:
        f = rng.integers(-3, 4, (sum(lengths) - len(lengths) + 2, G)) * (rng.random() < 0.9)
        rows = sparse.csr_matrix(f.astype(dtype)) if storage == "csr" else f.astype(dtype)
        arguments["edges"] = EdgeFeatureRows(rows, edge_start)
    problem = chain_problem(**arguments)
    n_pairs = groups.max() + 1 if tied else K * K
    size = K * F + bias * K + boundaries * 2 * K + transitions * n_pairs + G * K * K
    small = embedding(size, F, columns) if scored else np.eye(size)

    def phi(i, y):
        own = f[edge_start[i] : edge_start[i] + lengths[i] - 1] if G else None
        rows = X[start[i] : start[i] + lengths[i]]
        phi = brute_force.joint_feature(rows, y, model, starts[i], ends[i], own, copies[i])
        return phi @ small if scored else phi

    def loss(i, y):
        rows = slice(start[i], start[i] + lengths[i] - copies[i])
        costs = zip(node_weight[rows], labels[rows], y, strict=not copies[i])
        return scale[i] * sum(f * cost[a, b] for f, a, b in costs)

    w = rng.integers(-4, 5, small.shape[1]).astype(float)
    return SimpleNamespace(
        problem=problem,
        arguments=arguments,
        model=model,
        phi=phi,
        phis=phi,
        loss=loss,
        w=w,
        padded=problem.layout.padded(w),
        public=lambda w: problem.layout.public(w),
        allowed=choices,
        lengths=lengths,
    )


def make_enumerated(rng, sizes, n_weights, **options):
    """Return a problem of random planes, and its parts in the format of the reference."""
    offsets = np.r_[0, np.cumsum(sizes)]
    planes = rng.integers(-3, 4, (offsets[-1], n_weights)).astype(float)
    losses = rng.integers(0, 5, offsets[-1]).astype(float)
    planes[offsets[:-1]], losses[offsets[:-1]] = 0, 0
    w = rng.integers(-4, 5, n_weights).astype(float)
    return SimpleNamespace(
        problem=EnumeratedProblem(planes, losses, offsets, **options),
        planes=planes,
        phi=lambda i, y: -planes[offsets[i] + y[0]],
        loss=lambda i, y: losses[offsets[i] + y[0]],
        w=w,
        padded=w,
        public=lambda w: w,
        allowed=[[(y,) for y in range(size)] for size in sizes],
    )


def make_graphs(rng, pairwise, K, sizes, *, storage="dense", dtype=np.float64, bias=True, F=4,
                decoder=None, copies=False, scored=False):  # fmt: skip
    """Return a problem and its parts in the format of the reference; weights are not attractive.

    copies : whether some edges, the last ones of a block, end at copies of other rows; if it is
        "of others", of rows of other blocks
    scored : whether there are scores of the labels in addition to F features
    """
    F += K * scored
    n_rows = sum(sizes) + 2  # the first and the last row belong to no block
    X = rng.integers(-3, 4, (n_rows, F)) * (rng.random((n_rows, F)) < 0.7)
    start = 1 + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    edges = [graphs.random_edges(rng, size) for size in sizes]
    n_copies = rng.integers(0, 3, len(sizes)) if copies else np.zeros(len(sizes), dtype=int)
    for i, (size, count) in enumerate(zip(sizes, n_copies, strict=True)):
        ends = np.column_stack([rng.integers(0, size, count), size + np.arange(count)])
        edges[i] = np.concatenate([edges[i], ends]).astype(np.int32)
    n_edges = np.array([len(e) for e in edges])
    strength = 2.0 if pairwise == "fixed" else 0.0
    G = 3 if pairwise in ("contrast", "directed") else 1
    lowest = -3 if pairwise == "directed" else 0
    features = rng.integers(lowest, 4, (n_edges.sum(), G)).astype(float)
    model = PairwiseModel(pairwise, K, features, strength)
    labels = rng.integers(0, K, n_rows).astype(np.int32)
    cost = rng.integers(0, 4, (K, K)) * (1.0 - np.eye(K))
    node_weight = rng.choice([0.25, 0.5, 1.0, 2.0], n_rows)
    copied = rng.integers(1, n_rows - 1, n_copies.sum())
    if copies == "of others":
        inside = np.arange(1, n_rows - 1)
        of_block = np.repeat(np.arange(len(sizes)), sizes)
        copied = [rng.choice(inside[of_block != i], count) for i, count in enumerate(n_copies)]
        copied = np.concatenate(copied)
    columns = rng.permutation(F)[:K] if scored else None
    problem = GraphProblem(
        stored(X, storage, dtype, columns),
        GraphRanges(
            start,
            sizes,
            np.concatenate(edges),
            np.cumsum(n_edges) - n_edges,
            n_edges,
            n_copies=n_copies if copies else None,
            copies=copied if copies else None,
        ),
        model,
        graph_enumeration() if decoder is None else decoder,
        labels,
        cost=cost,
        node_weight=node_weight,
        bias=bias,
    )
    of_edges = np.split(features, np.cumsum(n_edges)[:-1])
    embedded = cache(lambda size: embedding(size, F, columns))

    def rows(i):
        return slice(start[i], start[i] + sizes[i])

    def whole(i, y):
        none = np.zeros((n_copies[i], F))
        out = graphs.joint_feature(
            np.concatenate([X[rows(i)], none]), y, edges[i], of_edges[i], pairwise, K, bias
        )
        for label in y[sizes[i] :] if bias else ():  # copies have no bias
            out[K * F + label] -= 1
        return out

    def phis(i, every):
        found = np.array([whole(i, y) for y in every])
        return found @ embedded(found.shape[1]) if scored else found

    def loss(i, y):
        own = zip(node_weight[rows(i)], labels[rows(i)], y, strict=not copies)
        return sum(s * cost[a, b] for s, a, b in own)

    def constant(i, y):
        return -strength * sum(y[u] != y[v] for u, v in edges[i])

    w = rng.integers(-4, 5, problem.n_weights).astype(float)
    w = problem.layout.public(w)
    return SimpleNamespace(
        problem=problem,
        phi=lambda i, y: phis(i, [y])[0],
        phis=phis,
        loss=loss,
        constant=constant,
        w=w,
        padded=problem.layout.padded(w),
        public=lambda w: problem.layout.public(w),
        allowed=[list(product(range(K), repeat=size)) for size in sizes + n_copies],
    )


def coupled(made, rng):
    """Return the problem with multipliers for shared nodes, in the format of `made`."""
    shared = made.problem.shared_nodes()
    K, n = made.problem.n_labels, len(shared.cost)
    scale = rng.integers(1, 4, n).astype(float)
    problem = CoupledProblem(made.problem, scale)
    center = rng.integers(-3, 4, (n, K)).astype(float)
    problem.restore_planes({"center": center.ravel()})
    of_other = getattr(made, "constant", lambda i, y: 0.0)

    def ends(i, y):
        for c in range(n):
            for sign, block, position in zip((1, -1), shared.block[c], shared.position[c]):
                if block == i:
                    yield sign, c, y[position]

    def phi(i, y):
        own = np.zeros((n, K))
        for sign, c, label in ends(i, y):
            own[c, label] += sign * scale[c]
        return np.r_[made.phi(i, y), own.ravel()]

    def constant(i, y):
        return of_other(i, y) + sum(sign * center[c, label] for sign, c, label in ends(i, y))

    w = np.r_[made.w, rng.integers(-4, 5, n * K).astype(float)]
    np.testing.assert_array_equal(
        problem.multipliers(problem.layout.padded(w)),
        center + scale[:, np.newaxis] * w[len(made.w) :].reshape(n, K),
    )
    return SimpleNamespace(
        problem=problem,
        phi=phi,
        loss=made.loss,
        constant=constant,
        w=w,
        padded=problem.layout.padded(w),
        public=problem.layout.public,
        allowed=made.allowed,
    )


def code(y):
    return np.array(y, dtype=np.int32)


def check_against_definition(chains, rng):
    """Compare every method with its definition on every block."""
    problem, w, padded = chains.problem, chains.w, chains.padded
    # A constant that is added to every score <w, phi>; planes contain it in their losses.
    constant = getattr(chains, "constant", lambda i, y: 0.0)
    of_all = getattr(chains, "phis", lambda i, every: np.array([chains.phi(i, y) for y in every]))
    before = padded.copy()
    fork = problem.fork()
    for i, allowed in enumerate(chains.allowed):
        truth = problem.true_code(i)
        assert problem.code_loss(i, truth) == 0
        assert chains.loss(i, truth.tolist()) == 0
        phi = of_all(i, allowed)
        features = phi @ w + np.array([constant(i, y) for y in allowed])
        losses = np.array([chains.loss(i, y) for y in allowed])
        pick = rng.permutation(len(allowed))[:6]
        some = np.array([allowed[p] for p in pick], dtype=np.int32)
        for weight in (1.0, 0.0, 0.25, 2.0):
            scores = features + weight * losses
            y, value, work, exact = problem.best_code(i, padded, weight)
            assert value == scores.max()
            assert scores[allowed.index(tuple(y.tolist()))] == value
            assert work > 0
            assert exact is True
            absolute = access.scores(problem, i, None, np.vstack([y, some]), weight)
            np.testing.assert_array_equal(absolute, np.r_[value, scores[pick]])
            lazy = access.scores(problem, i, padded, some, weight)
            np.testing.assert_array_equal(lazy - lazy[0], scores[pick] - scores[pick[0]])
            for other in (problem, fork):
                again, same, cost, _ = other.best_code(i, padded, weight)
                np.testing.assert_array_equal(again, y)
                assert (same, cost) == (value, work)
            np.testing.assert_array_equal(access.scores(fork, i, padded, some, weight), lazy)
        # The lambda-oracle of slack rescaling, with a factor that is not a binary fraction.
        y, value, _, _ = problem.best_code(i, padded, 0.3)
        best = (features + 0.3 * losses).max()
        assert value == pytest.approx(best, rel=1e-13, abs=1e-13)
        at = allowed.index(tuple(y.tolist()))
        assert features[at] + 0.3 * losses[at] == pytest.approx(best, rel=1e-13, abs=1e-13)
        for p in pick:
            of_plane = losses[p] + constant(i, allowed[p]) - constant(i, truth.tolist())
            assert problem.code_loss(i, code(allowed[p])) == of_plane
        for p, q in zip(pick, np.roll(pick, 1), strict=True):
            a, b = code(allowed[p]), code(allowed[q])
            move = phi[p] - phi[q]
            assert access.squared_distance(problem, i, a, b) == move @ move
            out = np.zeros(problem.n_weights)
            access.scatter(problem, i, [a, b], [1.0, -1.0], out)
            assert np.array_equal(chains.public(out), move)
            assert np.count_nonzero(out) == np.count_nonzero(move)  # the padding does not change
            access.scatter(problem, i, [b, a], [1.0, -1.0], out)
            assert not out.any()
            access.scatter(problem, i, [a, b], [-0.5, 0.5], out)
            assert np.array_equal(chains.public(out), -0.5 * move)
    np.testing.assert_array_equal(padded, before)
    decoded = decode(problem, padded)
    np.testing.assert_array_equal(
        decoded,
        np.concatenate([problem.best_code(i, padded, 0.0)[0] for i in range(problem.n_blocks)]),
    )


@pytest.mark.parametrize("n_weights", [1, 7, 8, 9, 40])
def test_enumerated_planes(rng, n_weights):
    check_against_definition(make_enumerated(rng, (1, 5, 2, 17), n_weights), rng)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("storage, dtype", STORAGES, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("K, sizes", [(1, (3,)), (2, (5, 1, 6)), (3, (4, 2, 1)), (5, (3, 1, 4))],
                         ids=lambda v: str(v).replace(" ", ""))  # fmt: skip
@pytest.mark.parametrize("pairwise", PAIRWISE)
def test_graphs(rng, pairwise, K, sizes, storage, dtype, bias):
    made = make_graphs(rng, pairwise, K, sizes, storage=storage, dtype=dtype, bias=bias)
    check_against_definition(made, rng)


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("K, sizes", [(1, (3, 1)), (2, (5, 1, 4)), (3, (3, 2, 1)), (5, (2, 1, 1))],
                         ids=lambda v: str(v).replace(" ", ""))  # fmt: skip
@pytest.mark.parametrize("pairwise", PAIRWISE)
def test_graphs_with_copies(rng, pairwise, K, sizes, bias, storage):
    for _ in range(3):
        made = make_graphs(rng, pairwise, K, sizes, storage=storage, bias=bias, copies=True)
        check_against_definition(made, rng)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n_copies": [3]}, "n_copies must be between 0 and the number of edges"),
        ({"n_copies": [-1]}, "n_copies must be between 0 and the number of edges"),
        ({"n_copies": [2], "edges": [(0, 2), (1, 3)]}, "copies must have 2 entries"),
        ({"copies": [4]}, "copies must have 1 entries from 0 to 3"),
        ({"copies": [-1]}, "copies must have 1 entries"),
        ({"copies": [3]}, "labels of nodes with copies must be between 0 and 1"),
        ({"edges": [(0, 1), (2, 3)]}, "join its nodes to its copies"),
        ({"edges": [(0, 1), (0, 1)]}, "join its nodes to its copies"),
        ({"edges": [(0, 2), (0, 2)]}, "block 0: an edge has an end outside of its 2 nodes"),
        ({"labels": None}, "only with labels"),
        ({"label_counts": [2, 2, 2, 2]}, "without label_counts"),
    ],
)
def test_invalid_copies_of_nodes(change, message):
    given = {
        "X": np.ones((4, 1)), "start": [0], "length": [2], "edges": [(0, 1), (0, 2)],
        "edge_start": [0], "n_edges": [2], "n_copies": [1], "copies": [2],
        "pairwise": PairwiseModel("potts", 2), "decoder": GraphDecoder("cut", 0),
        "labels": [0, 1, 1, -1],
    }  # fmt: skip
    assert graph_problem(**given).true_code(0).tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match=message):
        graph_problem(**{**given, **change})


@pytest.mark.parametrize("pairwise", PAIRWISE)
def test_answers_of_moves_are_no_worse_than_the_truth(rng, pairwise):
    # The weights have any sign, so moves often end at local optima.
    made = make_graphs(rng, pairwise, 3, (6, 5) * 6, decoder=GraphDecoder("expansion", 0))
    problem, n_worse = made.problem, 0
    for weight in (1.0, 0.0):
        for i, allowed in enumerate(made.allowed):
            y, value, work, exact = problem.best_code(i, made.padded, weight)
            truth = problem.true_code(i)
            score = access.scores(problem, i, None, np.array([y, truth, *allowed[:60]]), weight)
            assert value == score[0]
            assert value >= score[1]
            best = max(
                made.phi(i, z) @ made.w + made.constant(i, z) + weight * made.loss(i, z)
                for z in allowed
            )
            assert value <= best
            assert not exact or value == best
            assert work > 0
            n_worse += value < best
    assert n_worse < len(made.allowed)


def graph_arguments(**change):
    """Return the arguments of two graphs, a path of three nodes and a grid of 2 x 2."""
    return {
        "X": np.ones((7, 2)),
        "start": [0, 3],
        "length": [3, 4],
        "labels": [0, 1, 0, 1, 1, 0, 0],
        "edges": np.r_[[[0, 1], [1, 2]], grid_edges(2, 2)],
        "edge_start": [0, 2],
        "n_edges": [2, 4],
        "pairwise": PairwiseModel("contrast", 2, np.ones((6, 1))),
        "decoder": graph_enumeration(),
        "grids": [[0, 0, 0], [2, 2, 4]],
        **change,
    }


@pytest.mark.parametrize(
    "change, message",
    [
        ({"edges": np.r_[[[0, 3], [1, 2]], grid_edges(2, 2)]}, "block 0: an edge has an end"),
        ({"edges": np.r_[[[0, -1], [1, 2]], grid_edges(2, 2)]}, "two different nodes with"),
        ({"edges": np.r_[[[0, 1], [2, 2]], grid_edges(2, 2)]}, "two different nodes with"),
        ({"edges": np.zeros((2, 3))}, r"edges has shape \(2, 3\)"),
        ({"edge_start": [0, 3]}, "the edges of a block are not among the 6"),
        ({"edge_start": [-1, 2]}, "the edges of a block are not among the 6"),
        ({"n_edges": [2, 2**62]}, "the edges of a block are not among the 6"),
        ({"n_edges": [2]}, r"per block, \(2,\)"),
        ({"edge_start": [2, 2]}, "block 0: an edge has an end outside of its 3 nodes"),
        ({"feature_start": [0, 3]}, "the edge features of a block are not among the 6"),
        ({"grids": [[0, 0, 0], [2, 2, 8]]}, "block 1: the edges are not those of a grid"),
        ({"grids": [[0, 0, 0], [2, 3, 4]]}, "block 1 is not a grid"),
        ({"grids": [[0, 0, 0], [2, 2, 5]]}, "block 1 is not a grid"),
        ({"grids": [[1, 3, 4], [2, 2, 4]], "edges": np.r_[[[0, 2], [1, 2]], grid_edges(2, 2)]},
         "block 0: the edges are not those"),
        ({"grids": [[0, 0, 0]]}, r"grids has shape \(1, 3\)"),
        ({"pairwise": PairwiseModel("directed", 2, np.ones((5, 1)))}, "among the 5 rows"),
        ({"labels": [0, 1, 2, 1, 1, 0, 0]}, "labels must lie between 0 and 1"),
        ({"node_weight": np.ones(6)}, r"node_weight has shape \(6,\), expected \(7,\)"),
        ({"node_weight": -np.ones(7)}, "node_weight must be finite and nonnegative, found -1"),
        ({"cost": np.zeros((3, 3))}, r"cost must have shape \(2, 2\)"),
        ({"length": [3, 5]}, "among the 7 rows of X"),
    ],
    ids=lambda v: v if isinstance(v, str) else next(iter(v)),
)  # fmt: skip
def test_invalid_graphs(change, message):
    assert graph_problem(**graph_arguments()).n_blocks == 2
    with pytest.raises(ValueError, match=message):
        graph_problem(**graph_arguments(**change))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("ising", 2), "pairwise must be one of"),
        (("contrast", 2), "requires edge features"),
        (("contrast", 2, [[-1.0]]), "nonnegative for pairwise="),
        (("directed", 2, [[np.nan]]), "must be finite"),
        (("directed", 2, [1.0]), r"edge features have shape \(1,\)"),
        (("fixed", 2, None, -1.0), "strength must be finite and nonnegative"),
        (("potts", 0), "n_labels must be at least 1"),
    ],
)
def test_invalid_pairwise_models(arguments, message):
    with pytest.raises(ValueError, match=message):
        PairwiseModel(*arguments)


def test_blocks_may_share_edges(rng):
    # Two images of the same size share their edges.
    X = rng.integers(-3, 4, (8, 2)).astype(float)
    arguments = graph_arguments(X=X, start=[0, 4], length=[4, 4], labels=np.zeros(8, dtype=int),
                                grids=[[2, 2, 4]] * 2)  # fmt: skip
    shared = {"edges": grid_edges(2, 2), "edge_start": [0, 0], "n_edges": [4, 4],
              "feature_start": [0, 4]}  # fmt: skip
    own = {"edges": np.r_[grid_edges(2, 2), grid_edges(2, 2)], "edge_start": [0, 4],
           "n_edges": [4, 4]}  # fmt: skip
    pairwise = PairwiseModel("contrast", 2, rng.random((8, 1)))
    one = graph_problem(**{**arguments, **shared, "pairwise": pairwise})
    other = graph_problem(**{**arguments, **own, "pairwise": pairwise})
    w = rng.standard_normal(one.n_weights)
    for i in range(2):
        for a, b in zip(one.best_code(i, w), other.best_code(i, w), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("loss", ["distance", "hamming"])
@pytest.mark.parametrize("storage, dtype", STORAGES, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize(
    "form, pairs", [("maps", False), ("candidates", False), ("candidates", True)]
)
@pytest.mark.parametrize("n_types", [1, 2])
@pytest.mark.parametrize("parents", FORESTS, ids=str)
def test_trees(rng, parents, n_types, form, pairs, storage, dtype, loss):
    P = len(parents)
    for bias in (True, False) if n_types > 1 and P < 4 else (True,):
        trees = make_trees(
            rng, parents, form, n_types=n_types, pairs=pairs, loss=loss, bias=bias, storage=storage,
            dtype=dtype, missing=0.3 if P > 3 else rng.choice([0, 0.5]),
        )  # fmt: skip
        check_against_definition(trees, rng)


@pytest.mark.parametrize("make", [make_chains, make_enumerated])
def test_costly_oracle_does_not_change_results(rng, make):
    made = make(rng, 3, (4, 1, 3)) if make is make_chains else make(rng, (4, 1, 3), 6)
    made.problem = CostlyProblem(made.problem, 1e-7)
    check_against_definition(made, rng)


@pytest.mark.parametrize("masked", [False, True], ids=["free", "masked"])
@pytest.mark.parametrize("storage, dtype", STORAGES, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("K, lengths", SIZES, ids=lambda v: str(v).replace(" ", ""))
def test_every_size_and_storage(rng, K, lengths, storage, dtype, masked):
    options = {"storage": storage, "dtype": dtype, "masked": masked}
    for G, tied in ((0, 0), (1, 0), (3, 0), (0, K * K)):
        check_against_definition(make_chains(rng, K, lengths, G=G, tied=tied, **options), rng)


@pytest.mark.parametrize("windows", [False, True], ids=["whole", "windows"])
@pytest.mark.parametrize("masked", [False, True], ids=["free", "masked"])
@pytest.mark.parametrize("switches", SWITCHES, ids=lambda s: "".join("-+"[v] for v in s))
def test_every_switch(rng, switches, masked, windows):
    storage = "csr" if masked else "dense"  # test_every_size_and_storage has all combinations
    for K, lengths in [(1, (2, 1)), (2, (5, 2)), (3, (4, 1, 3)), (5, (1, 3)), (9, (2, 1))]:
        for G, weighted in ((0, False), (0, True), (2, True)):
            chains = make_chains(
                rng, K, lengths, storage=storage, masked=masked, switches=switches, G=G,
                weighted=weighted, windows=windows,
            )  # fmt: skip
            check_against_definition(chains, rng)


@pytest.mark.parametrize("storage, dtype", STORAGES, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("F", [0, 3, 64])
@pytest.mark.parametrize("G", [0, 2])
def test_scores_of_labels(rng, storage, dtype, F, G):
    for K, lengths in [(1, (2, 1)), (2, (5, 2)), (3, (4, 1, 3)), (9, (2, 1))]:
        options = dict(storage=storage, dtype=dtype, F=F, scored=True)
        for switches in SWITCHES:
            windows = bool(rng.integers(2))
            chains = make_chains(
                rng, K, lengths, G=G, windows=windows, switches=switches, **options
            )
            check_against_definition(chains, rng)
        for pairwise in PAIRWISE if G == 0 else ():
            check_against_definition(make_graphs(rng, pairwise, K, (3, 1), **options), rng)


def test_scores_with_wrong_number_of_labels():
    rows = scored_rows(np.ones((3, 4)), np.array([0, 1]))
    for columns in ([0, 4], [-1, 0]):
        with pytest.raises(ValueError, match="X has 4 features"):
            scored_rows(np.ones((3, 4)), np.array(columns))
    with pytest.raises(ValueError, match="found scores of 2 labels, expected 3"):
        ChainProblem(rows, ChainRanges([0], [3]), ChainModel(3))


@pytest.mark.parametrize("windows", [False, True], ids=["whole", "windows"])
@pytest.mark.parametrize("masked", [False, True], ids=["free", "masked"])
@pytest.mark.parametrize("switches", SWITCHES, ids=lambda s: "".join("-+"[v] for v in s))
def test_tied_transitions(rng, switches, masked, windows):
    storage = "csr" if masked else "dense"  # test_every_size_and_storage has all combinations
    for K, lengths in [(1, (2, 1)), (2, (5, 2)), (3, (4, 1, 3)), (5, (1, 3)), (9, (2, 1))]:
        for G, tied in ((0, 1), (0, 3), (0, K * K), (2, 4)):
            chains = make_chains(
                rng, K, lengths, storage=storage, masked=masked, switches=switches, G=G,
                windows=windows, tied=tied,
            )  # fmt: skip
            check_against_definition(chains, rng)
            if windows:
                check_against_definition(coupled(chains, rng), rng)


@pytest.mark.parametrize(
    "groups", [np.zeros((2, 3), int), np.full((3, 3), -2), np.full((3, 3), 9), np.zeros(9, int)]
)
def test_invalid_groups(rng, groups):
    chains = make_chains(rng, 3, (4, 2))
    with pytest.raises(
        ValueError, match="groups must have shape \\(3, 3\\) and entries from -1 to 8"
    ):
        chain_problem(**chains.arguments | {"groups": groups})


@pytest.mark.parametrize("masked", [False, True], ids=["free", "masked"])
@pytest.mark.parametrize("G", [0, 2])
def test_coupled_windows(rng, G, masked):
    for K, lengths in [(1, (2, 1)), (2, (5, 2, 4)), (3, (4, 1, 3)), (9, (2, 2, 3))]:
        made = make_chains(rng, K, lengths, masked=masked, G=G, weighted=G > 0, windows=True)
        check_against_definition(coupled(made, rng), rng)


@pytest.mark.parametrize("K, sizes", [(2, (5, 1, 4)), (3, (3, 2, 1))])
@pytest.mark.parametrize("pairwise", PAIRWISE)
def test_coupled_tiles(rng, pairwise, K, sizes):
    made = make_graphs(rng, pairwise, K, sizes, copies="of others")
    check_against_definition(coupled(made, rng), rng)


@pytest.mark.parametrize("kind", ["windows", "tiles"])
def test_multipliers_leave_the_wrapped_problem_unchanged(rng, kind):
    if kind == "windows":
        made = make_chains(rng, 3, (4, 1, 3), windows=True)
    else:
        made = make_graphs(rng, "full", 3, (3, 2, 1), copies="of others")
    with_multipliers, padded = coupled(made, rng), made.problem.layout.padded(made.w)
    expected = [made.problem.best_code(i, padded) for i in range(made.problem.n_blocks)]
    for i in range(made.problem.n_blocks):
        with_multipliers.problem.best_code(i, with_multipliers.padded)
        for other, (code, value, *_) in enumerate(expected):
            found = made.problem.best_code(other, padded)
            np.testing.assert_array_equal(found[0], code)
            assert found[1] == value


def test_invalid_center(rng):
    made = make_chains(rng, 3, (4, 4, 4), windows=True)
    problem = coupled(made, rng).problem
    for center in (np.zeros(12), np.zeros(2), np.full(3, np.nan), [0.0] * 3):
        with pytest.raises(ValueError, match="center: "):
            problem.restore_planes({"center": center})
    with pytest.raises(ValueError, match="scale has"):
        CoupledProblem(made.problem, np.ones(7))


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize("G", [0, 2])
@pytest.mark.parametrize("storage, dtype", STORAGES, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("switches", SWITCHES, ids=lambda s: "".join("-+"[v] for v in s))
def test_distance_of_long_chains_that_differ_everywhere(
    rng, switches, scored, storage, dtype, G, windows
):
    # With more than 64 differing positions, planes are summed in an accumulator, which must be zero
    # afterwards: each distance is computed twice, alternating with those of few differences.
    chains = make_chains(
        rng, 3, (65, 100, 64, 7), storage=storage, dtype=dtype, switches=switches, F=5, G=G,
        windows=windows, scored=scored, tied=4 if storage == "csr" else 0,
    )  # fmt: skip
    problem = chains.problem
    for _ in range(2):
        for i, length in enumerate(chains.lengths):
            a = rng.integers(0, 3, length)
            b = (a + rng.integers(1, 3, length)) % 3
            few = a.copy()
            few[: min(length, 5)] = b[: min(length, 5)]
            for other in (b, few, b, a, few):
                move = chains.phi(i, a) - chains.phi(i, other)
                assert access.squared_distance(problem, i, code(a), code(other)) == move @ move
                assert access.squared_distance(problem, i, code(other), code(a)) == move @ move


def check_distances(problem, codes):
    """Compare all distances of labelings of the first block with scattered planes."""
    for a, b in product(codes, codes):
        plane = np.zeros(problem.n_weights)
        access.scatter(problem, 0, [a, b], [1.0, -1.0], plane)
        distance = access.squared_distance(problem, 0, a, b)
        assert distance == pytest.approx(plane @ plane, rel=1e-12)
        # Bitwise equal, since a fit resumed from a checkpoint swaps the arguments.
        assert access.squared_distance(problem, 0, b, a) == distance


def real_chain(rng, G=0):
    given = rng.standard_normal((80, 6)), ChainRanges([0], [80]), ChainModel(4)
    if G == 0:
        return ChainProblem(*given)
    edges = EdgeFeatureRows(rng.standard_normal((79, G)), [0])
    return EdgeFeatureChainProblem(*given, edges=edges)


def real_graph(rng, pairwise, storage):
    X, edges = rng.standard_normal((80, 5)), graphs.random_edges(rng, 80, 0.1)
    model = PairwiseModel(pairwise, 4, rng.random((len(edges), 2)), 0.0)
    ranges = GraphRanges([0], [80], edges, [0], [len(edges)])
    return GraphProblem(stored(X * (X > 0), storage, float), ranges, model, graph_enumeration())


@pytest.mark.parametrize(
    "make, options",
    [
        (real_chain, ()),
        (real_chain, (3,)),
        *((real_graph, each) for each in product(PAIRWISE, ["dense", "csr"])),
    ],
)
def test_distances_of_real_features(rng, make, options):
    problem = make(rng, *options)
    codes = [rng.integers(0, 4, 80).astype(np.int32)]
    for differing in (1, 10, 63, 64, 65, 66, 79, 80):  # on both sides of a switch
        where = rng.permutation(80)[:differing]
        codes.append(codes[0].copy())
        codes[-1][where] = (codes[0][where] + rng.integers(1, 4, differing)) % 4
    check_distances(problem, codes)


@pytest.mark.parametrize("G", [0, 2])
@pytest.mark.parametrize("masked", [False, True], ids=["free", "masked"])
@pytest.mark.parametrize("switches", SWITCHES, ids=lambda s: "".join("-+"[v] for v in s))
def test_max_marginals_equal_enumeration(rng, switches, masked, G):
    chains = make_chains(rng, 3, (4, 1, 5), masked=masked, switches=switches, G=G, tied=G)
    expected = []
    for i, allowed in enumerate(chains.allowed):
        through = np.full((chains.lengths[i], 3), -np.inf)
        for y in allowed:
            value = chains.phi(i, y) @ chains.w
            for position, label in enumerate(y):
                through[position, label] = max(through[position, label], value)
        expected.append(through)
    np.testing.assert_array_equal(max_marginals(chains.problem, chains.padded), np.vstack(expected))


def test_features_that_need_no_copy_are_not_copied(rng):
    X = rng.standard_normal((4, 3))
    problem = ChainProblem(X, ChainRanges([0], [4]), ChainModel(2))
    before = decode(problem, problem.layout.padded(np.r_[1.0, np.zeros(15)]))
    X[:] = -X  # seen by the problem
    after = decode(problem, problem.layout.padded(np.r_[1.0, np.zeros(15)]))
    np.testing.assert_array_equal(after, 1 - before)


@pytest.mark.parametrize(
    "start, rows, message",
    [
        ([0, 4], np.ones((6, 2)), r"the transitions of a block are not among the 6 rows"),
        ([-1, 3], np.ones((6, 2)), "the transitions of a block"),
        ([0, 2**62], np.ones((6, 2)), "the transitions of a block"),
        ([0], np.ones((6, 2)), r"start has shape \(1,\), expected \(2,\)"),
        ([0, 3], np.ones((6, 0)), "transitions have 0 features"),
    ],
)
def test_invalid_edge_rows(start, rows, message):
    arguments = np.ones((8, 1)), ChainRanges([0, 4], [4, 4]), ChainModel(2)
    assert (
        EdgeFeatureChainProblem(*arguments, edges=EdgeFeatureRows(np.ones((6, 2)), [0, 3])).n_blocks
        == 2
    )
    with pytest.raises(ValueError, match=message):
        EdgeFeatureChainProblem(*arguments, edges=EdgeFeatureRows(rows, start))
    with pytest.raises(ValueError, match="50000 labels, too many for features of transitions"):
        check_edge_rows([0], [1], 1, 1, 50_000)


def test_masks_that_forbid_everything_raise():
    problem = ChainProblem(
        np.ones((3, 1)),
        ChainRanges([0, 1], [1, 2]),
        ChainModel(2, edge_mask=np.zeros((2, 2), dtype=bool)),
    )
    w = np.zeros(problem.n_weights)
    assert problem.best_code(0, w, 0.0)[1] == 0
    with pytest.raises(
        ValueError, match=r"block 1: the masks and known labels forbid every labeling of 2"
    ):
        problem.best_code(1, w, 0.0)
    with pytest.raises(ValueError, match=r"block 1"):
        decode(problem, w)


def unlabeled_chain(rng):
    return ChainProblem(rng.standard_normal((3, 2)), ChainRanges([0], [3]), ChainModel(2))


def unlabeled_tree(rng):
    return make_trees(rng, [-1, 0], labeled=False).problem


@pytest.mark.parametrize("make", [unlabeled_chain, unlabeled_tree])
def test_a_problem_without_labels_only_decodes(rng, make):
    problem = make(rng)
    w = np.zeros(problem.n_weights)
    y = problem.best_code(0, w, 0.0)[0]
    for call in (
        lambda: problem.best_code(0, w, 1.0),
        lambda: problem.code_loss(0, y),
        lambda: problem.true_code(0),
        lambda: access.scores(problem, 0, w, np.array([y, y]), 1.0),
    ):
        with pytest.raises(ValueError, match="a problem without labels has no"):
            call()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"labels": [0, 1, 2, 0]}, "labels must lie between 0 and 1"),
        ({"labels": [0, -1, 1, 0]}, "labels must lie between 0 and 1"),
        ({"labels": [0, 1, 0]}, "labels has shape .3,., expected .4,."),
        ({"labels": [[0, 1, 0, 1]]}, "labels has shape .1, 4., expected .4,."),
        ({"start": [0, 3], "length": [2, 2]}, "among the 4 rows of X"),
        ({"start": [-1, 2], "length": [2, 2]}, "among the 4 rows of X"),
        ({"start": [0, 2], "length": [2, 0]}, "expected at least one"),
        ({"start": [0, 2], "length": [2, -1]}, "expected at least one"),
        ({"start": [0, 2], "length": [4]}, "one entry per block"),
        ({"start": [], "length": []}, "at least one block"),
        ({"start": [0, 2], "length": [2, 2**63 - 1]}, "rows of X"),
        ({"n_labels": 0}, "n_labels must be at least 1"),
        ({"cost": np.zeros((3, 3))}, r"cost must have shape \(2, 2\)"),
        ({"loss_scale": [1.0]}, r"expected \(2,\)"),
        ({"node_weight": -np.ones(4)}, "node_weight must be finite and nonnegative, found -1"),
        ({"starts_here": [True]}, r"expected \(2,\)"),
        ({"ends_here": [True] * 3}, r"expected \(2,\)"),
        ({"edge_mask": np.ones((3, 3), dtype=bool)}, r"edge_mask must have shape \(2, 2\)"),
        ({"boundary_mask": np.ones((2, 3), dtype=bool)}, r"boundary_mask must have shape"),
        ({"copies_end": [True, False]}, "at least 2 rows and no end term"),
        (
            {
                "copies_end": [True, False],
                "start": [0, 1],
                "length": [1, 3],
                "ends_here": [False, True],
            },
            "at least 2 rows and no end term",
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else next(iter(v)),
)
def test_invalid_arguments(change, message):
    arguments = dict(X=np.ones((4, 3)), start=[0, 2], length=[2, 2], n_labels=2, labels=[0] * 4)
    chain_problem(**arguments)
    with pytest.raises(ValueError, match=message):
        chain_problem(**{**arguments, **change})


@pytest.mark.parametrize(
    "corrupt, message",
    [
        (lambda X: X.indices.__setitem__(1, 3), "column outside X"),
        (lambda X: X.indices.__setitem__(0, -1), "column outside X"),
        (lambda X: X.indptr.__setitem__(1, 9), "does not describe the rows"),
        (lambda X: X.indptr.__setitem__(-1, 99), "does not describe the rows"),
        (lambda X: X.indptr.__setitem__(0, 1), "does not describe the rows"),
        (lambda X: X.indptr.__setitem__(1, -1), "does not describe the rows"),
        (lambda X: setattr(X, "indptr", X.indptr[:-1]), "does not describe the rows"),
        (lambda X: setattr(X, "data", X.data[:-1]), "does not describe the rows"),
    ],
)
def test_corrupt_csr(corrupt, message):
    X = sparse.csr_matrix(np.ones((4, 3)))
    ChainProblem(X, ChainRanges([0], [4]), ChainModel(2))
    corrupt(X)
    with pytest.raises(ValueError, match=message):
        ChainProblem(X, ChainRanges([0], [4]), ChainModel(2))


def test_empty_csr_rows_and_no_nonzeros():
    X = sparse.csr_matrix((4, 3))
    problem = ChainProblem(X, ChainRanges([0, 2], [2, 2]), ChainModel(2), [0, 1, 0, 1])
    w = problem.layout.padded(np.r_[np.full(6, 9.0), [0.0, 5.0], np.zeros(8)])
    assert decode(problem, w).tolist() == [1, 1, 1, 1]
    assert access.squared_distance(problem, 0, code([0, 0]), code([1, 0])) == 2 + 2 + 2


def check_access(problem, good, wrong, w):
    """Check that each method with a code raises for codes of a wrong length or with a bad label.

    wrong : list of (code, message)
    """
    good = code(good)
    calls = [
        lambda c: problem.code_loss(0, c),
        lambda c: access.squared_distance(problem, 0, c, good),
        lambda c: access.squared_distance(problem, 0, good, c),
        lambda c: access.scatter(problem, 0, [c, good], [1.0, -1.0], w.copy()),
        lambda c: access.scatter(problem, 0, [good, c], [1.0, -1.0], w.copy()),
        lambda c: access.scores(problem, 0, w, c[np.newaxis]),
    ]
    for call in calls:
        call(good)
        for y, message in [
            (good[:-1], "labeling code of . entries"),
            (np.r_[good, 0], "labeling code of . entries"),
            *wrong,
        ]:
            with pytest.raises(ValueError, match=f"block 0: {message}"):
                call(code(y))
    for i in (-1, problem.n_blocks):
        for call in (
            lambda i=i: problem.true_code(i),
            lambda i=i: problem.best_code(i, w),
            lambda i=i: problem.code_loss(i, good),
        ):
            with pytest.raises(IndexError, match=f"block {i} is out of range for a problem with "):
                call()
    for call in (
        lambda v: problem.best_code(0, v),
        lambda v: decode(problem, v),
        lambda v: access.scores(problem, 0, v, good[np.newaxis]),
        lambda v: access.scatter(problem, 0, [good, good], [1.0, -1.0], v),
    ):
        with pytest.raises(ValueError, match="weights, expected"):
            call(w[:-1])


def test_access_functions_validate_arguments(rng):
    problem = make_chains(rng, 3, (4, 2), cuts=False).problem
    w = np.zeros(problem.n_weights)
    wrong = [([0, 1, 3, 0], "label 3 at position 2"), ([-1, 0, 0, 0], "label -1 at position 0")]
    check_access(problem, [0, 1, 2, 0], wrong, w)
    with pytest.raises(ValueError, match="weights, expected"):
        max_marginals(problem, w[:-1])
    for count in (0, 65):
        with pytest.raises(ValueError, match="expected 1 to 64"):
            access.scores(problem, 0, w, np.zeros((count, 4), dtype=np.int32))


def test_common_columns_of_rows_of_ones(rng):
    """Compare rows of ones, by vector instructions or by merging, depending on their sizes."""
    sizes = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 70]
    rows = np.zeros((len(sizes) ** 2 * 2, 90))
    for row, size in zip(rows, np.ravel(list(product(sizes, sizes))), strict=True):
        row[rng.permutation(90)[:size]] = 1
    terms = {"bias": False, "boundaries": False, "transitions": False}
    start, length = np.arange(0, len(rows), 2), np.full(len(rows) // 2, 2)
    problem = ChainProblem(
        sparse.csr_matrix(rows), ChainRanges(start, length), ChainModel(2, **terms)
    )
    for i, (first, second) in enumerate(rows.reshape(-1, 2, 90)):
        distance = access.squared_distance(problem, i, code([0, 0]), code([1, 1]))
        assert distance == 2 * ((first + second) ** 2).sum()
