"""Test score maps, max-marginals and invalid arguments of trees of parts."""

import numpy as np
import pytest

from sstruct._problems.tree._tree_problem import TreeProblem, max_marginals
from sstruct._problems.tree.tree_arguments import TreeStates
from tests.problems.flat import tree_problem
from tests.problems.test_contract import check_distances
from tests.problems.trees import FORESTS, make_trees


@pytest.mark.parametrize("n_types", [1, 3])
def test_maps_equal_candidates_at_every_position(rng, n_types):
    parents, shape = [2, 2, -1, 0], np.array([[7, 9], [1, 6], [5, 1]])
    P, sizes = len(parents), n_types * shape.prod(axis=1)
    ends = np.cumsum(np.repeat(sizes, P)).reshape(3, P)
    start = np.column_stack([np.r_[0, ends[:-1, -1]], ends])
    X = rng.standard_normal((start[-1, -1], 4))
    positions = np.concatenate([
        np.tile(np.indices(s).reshape(2, -1)[::-1].T, (n_types * P, 1)) for s in shape
    ])  # fmt: skip
    labels = np.array([rng.integers(0, size, P) for size in sizes])
    labels[0, 2] = labels[1, 0] = -1
    for given in (labels, None):
        both = dict(X=X, start=start, parents=parents, labels=given, n_types=n_types,
                    unit=[3.0, 2.0, 1.0], by_distance=True)  # fmt: skip
        maps = tree_problem(shape=shape, **both)
        listed = tree_problem(positions=positions, **both)
        for scale in (0.01, 1.0):
            w = scale * rng.standard_normal(maps.n_weights)
            edge = maps.model.layout.views(w)["edge"][..., [0, 2]]
            maps.model.layout.views(w)["edge"][..., [0, 2]] = np.abs(edge)
            for i in range(3):
                weight = 0.0 if given is None else 1.0
                code, value, *_ = maps.best_code(i, w, weight)
                expected, best, *_ = listed.best_code(i, w, weight)
                assert value == pytest.approx(best, rel=1e-12)
                np.testing.assert_array_equal(code, expected)
            if given is None:
                np.testing.assert_allclose(
                    max_marginals(maps, w), max_marginals(listed, w), rtol=0, atol=1e-11
                )


@pytest.mark.parametrize("form, pairs", [("maps", False), ("candidates", True)])
@pytest.mark.parametrize("n_types", [1, 2])
@pytest.mark.parametrize("parents", FORESTS, ids=str)
def test_max_marginals_equal_enumeration(rng, parents, n_types, form, pairs):
    trees = make_trees(rng, parents, form, n_types=n_types, pairs=pairs, labeled=False)
    expected = []
    for i, allowed in enumerate(trees.allowed):
        through = [np.full(len(rows), -np.inf) for rows in trees.x[i]]
        for y in allowed:
            value = trees.phi(i, y) @ trees.w
            for p, s in enumerate(y):
                through[p][s] = max(through[p][s], value)
        expected += through
    np.testing.assert_array_equal(max_marginals(trees.problem, trees.w), np.concatenate(expected))


def test_distances_of_real_features(rng):
    trees = make_trees(rng, [-1, 0, 0, 1], n_types=2, missing=0, n_blocks=1)
    X = rng.standard_normal(trees.arguments["X"].shape)
    codes = rng.permutation(np.array(trees.allowed[0], dtype=np.int32))[:10]
    check_distances(tree_problem(**{**trees.arguments, "X": X}), codes)


def test_max_marginals_require_a_problem_without_labels(rng):
    trees = make_trees(rng, [-1, 0])
    with pytest.raises(ValueError, match="a problem without labels"):
        max_marginals(trees.problem, trees.w)


def test_a_part_that_rewards_distance_has_no_transform(rng):
    trees = make_trees(rng, [-1, 0], "maps", missing=0)
    trees.model.layout.views(trees.w)["edge"][1, 2] = -1e-3
    with pytest.raises(
        ValueError, match="part 1: distance transforms require nonnegative quadratic weights"
    ):
        trees.problem.best_code(0, trees.w)


def test_access_functions_validate_arguments():
    states = TreeStates([[0, 2, 5]], positions=np.zeros((5, 2)))
    problem = TreeProblem(np.ones((5, 2)), states, [-1, 0], [[1, -1]])
    assert problem.code_loss(0, np.array([1, -1], dtype=np.int32)) == 0
    for wrong, expected in (
        ([2, -1], "part 0 has state 2, expected 0 to 1"),
        ([-1, -1], "part 0 has state -1, expected 0 to 1"),
        ([0, 0], "part 1 has state 0, expected -1, since the part is not included"),
        ([0, 1], "part 1 has state 1, expected -1"),
    ):
        with pytest.raises(ValueError, match=f"block 0: {expected}"):
            problem.code_loss(0, np.array(wrong, dtype=np.int32))
    with pytest.raises(ValueError, match="code of 1 entries, expected 2"):
        problem.code_loss(0, np.zeros(1, dtype=np.int32))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"start": [[0, 2]]}, r"start must have shape \(n_blocks, 3\)"),
        ({"start": [[0, 2, 7]]}, "must be rows of X"),
        ({"start": [[-1, 2, 6]]}, "must be rows of X"),
        ({"start": [[0, 0, 6]]}, "at least one state"),
        ({"start": np.zeros((0, 3))}, r"start must have shape"),
        ({"parents": [1, 0]}, "cycle"),
        ({"labels": [[0, 4]]}, "part 1 of block 0 has label 4, expected a state from 0 to 3"),
        ({"labels": [[-2, 0]]}, "part 0 of block 0 has label -2"),
        ({"labels": [[-1, -1]]}, "no annotated part"),
        ({"labels": [0, 0]}, "labels has shape"),
        ({"positions": np.zeros((5, 2))}, "positions has shape"),
        ({"positions": None}, "either the shape of maps or the positions"),
        ({"shape": [[1, 3]]}, "either the shape of maps or the positions"),
        ({"positions": None, "shape": [[1, 3]]}, "as many states as its maps have positions"),
        ({"positions": None, "shape": [[0, 3]]}, "height and width"),
        ({"n_types": 0}, "n_types must be at least 1"),
        ({"n_types": 3}, "n_types=3"),
        ({"pair_scores": np.zeros(7), "pair_start": [[0, 0]]}, "has positions outside"),
        ({"pair_scores": np.zeros(8), "pair_start": [[0, 1]]}, "has positions outside"),
        ({"pair_scores": np.zeros(8), "pair_start": [[0, -1]]}, "has positions outside"),
        ({"pair_scores": np.zeros(8), "pair_start": [0, 0]}, "pair_start have shape"),
        ({"loss_scale": [1.0, 1.0]}, r"expected \(1,\)"),
        ({"unit": [1.0, 1.0]}, r"expected \(1,\)"),
        ({"unit": [0.0]}, "unit must be positive"),
    ],
)
def test_invalid_arguments(change, message):
    arguments = dict(
        X=np.ones((6, 2)), start=[[0, 2, 6]], parents=[-1, 0], labels=[[0, 3]],
        positions=np.zeros((6, 2)), pair_scores=np.zeros(8), pair_start=[[0, 0]],
    )  # fmt: skip
    tree_problem(**arguments)
    if "shape" in change:
        arguments |= {"pair_scores": None, "pair_start": None}
    with pytest.raises(ValueError, match=message):
        tree_problem(**{**arguments, **change})
