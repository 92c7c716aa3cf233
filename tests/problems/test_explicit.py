"""Problems with explicit planes agree with those with compact labelings."""

import numpy as np
import pytest

from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._problems.core._explicit import ExplicitProblem, explicit_where_cheaper
from sstruct._testing import _problem_access as access
from tests.problems.test_contract import code, make_chains, make_enumerated


def plane_of(made, i, y):
    """Return phi(x_i, y) - phi(x_i, y_i) and L_i(y), by the definition."""
    truth = tuple(made.problem.true_code(i).tolist())
    return np.r_[made.phi(i, y) - made.phi(i, truth), made.loss(i, y)]


@pytest.mark.parametrize("make", [make_chains, make_enumerated])
def test_every_method_against_the_definition(rng, make):
    made = make(rng, 3, (4, 1, 3)) if make is make_chains else make(rng, (4, 1, 3), 6)
    explicit = ExplicitProblem(made.problem)
    fork = explicit.fork()
    for i, allowed in enumerate(made.allowed):
        truth = explicit.true_code(i)
        assert not truth.any()
        planes = np.array([plane_of(made, i, y) for y in allowed])
        for weight in (1.0, 0.0, 0.25):
            scores = planes @ np.r_[made.w, weight]
            found, value, work, exact = explicit.best_code(i, made.padded, weight)
            assert value == scores.max()
            assert exact
            assert work > 0
            plane = np.r_[made.public(found.view(np.float64)[:-1]), found.view(np.float64)[-1]]
            assert (planes == plane).all(axis=1).any()
            assert plane @ np.r_[made.w, weight] == value
            np.testing.assert_array_equal(fork.best_code(i, made.padded, weight)[0], found)
            both = np.vstack([found, truth])
            np.testing.assert_array_equal(
                access.scores(explicit, i, None, both, weight), [value, 0]
            )
            np.testing.assert_array_equal(
                access.scores(explicit, i, made.padded, both, weight), [value, 0]
            )
            assert explicit.code_loss(i, found) == plane[-1]
            assert access.squared_distance(explicit, i, found, truth) == plane[:-1] @ plane[:-1]
            out = np.zeros(explicit.n_weights)
            access.scatter(explicit, i, [found, truth], [0.5, -0.5], out)
            np.testing.assert_array_equal(made.public(out), 0.5 * plane[:-1])


def test_labelings_with_the_same_plane_have_the_same_code():
    # The two nodes have equal features, so an error at either of them has the same plane.
    X, labels = np.ones((2, 1)), np.zeros(2, dtype=np.int32)
    problem = ChainProblem(
        X, ChainRanges([0], [2]), ChainModel(2, boundaries=False, transitions=False), labels
    )
    explicit, found = ExplicitProblem(problem), set()
    for w in ([0.0, 0.0, 0.0, 5.0], [0.0, -1.0, 0.0, 5.0], [-0.0, 2.0, -0.0, 2.0]):
        found.add(explicit.best_code(0, problem.layout.padded(w))[0].tobytes())
    assert len(found) == 1


def test_planes_with_nan(rng):
    explicit = ExplicitProblem(make_enumerated(rng, (3, 2), 2).problem)
    bad = np.array([0.0, np.nan, 1.0]).view(np.int32)
    with pytest.raises(ValueError, match="block 1: entry 1 of a plane is nan"):
        explicit.code_loss(1, bad)
    with pytest.raises(ValueError, match="block 1: labeling code of 1 entries, expected 6"):
        explicit.code_loss(1, code([1]))


def test_explicit_planes_for_long_labelings(rng):
    X, labels = rng.standard_normal((100, 30)), np.zeros(100, dtype=np.int32)
    long = ChainProblem(X, ChainRanges([0], [100]), ChainModel(2), labels)
    assert isinstance(explicit_where_cheaper(long), ExplicitProblem)
    short = ChainProblem(
        X, ChainRanges(np.arange(0, 100, 4), np.full(25, 4)), ChainModel(2), labels
    )
    assert explicit_where_cheaper(short) is short
