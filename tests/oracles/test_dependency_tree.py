"""Test decoders of dependency trees against enumeration of all trees."""

import itertools

import numpy as np
import pytest

from sstruct.inference import dependency_tree
from tests.reference import dependency_trees

MODES = list(itertools.product([False, True], repeat=2))


def total(scores, heads):
    return sum(scores[d, h] for d, h in enumerate(heads))


@pytest.mark.parametrize(("projective", "single_root"), MODES)
def test_equals_enumeration(rng, projective, single_root):
    """Compare 1,000 cases with ties, forbidden arcs and labels, and high scores of roots."""
    n_impossible = n_unique = 0
    for case in range(1000):
        n = int(rng.integers(1, 6))
        scores = rng.normal(size=(n, n + 1))
        if case % 2:
            scores = rng.integers(-3, 4, (n, n + 1)).astype(float)
        if case % 3 == 0:  # trees with high scores have several roots
            scores[:, 0] += 4
        scores[rng.random(scores.shape) < rng.choice([0, 0.2, 0.5])] = -np.inf
        trees = dependency_trees.every(n, projective, single_root)
        values = np.array([total(scores, heads) for heads in trees])
        best = values.max()
        given = {"projective": projective, "single_root": single_root}
        if best == -np.inf:
            kind = "projective tree" if projective else "tree"
            with pytest.raises(ValueError, match=f"scores forbid every {kind}"):
                dependency_tree(scores, **given)
            n_impossible += 1
            continue
        heads, value = dependency_tree(scores, **given)
        assert tuple(heads.tolist()) in trees
        assert value == pytest.approx(best, abs=1e-12)
        assert value == pytest.approx(total(scores, heads), abs=1e-12)
        if (values >= best - 1e-9).sum() == 1:
            assert tuple(heads.tolist()) == trees[values.argmax()]
            n_unique += 1
        labeled = np.where(rng.random((n, n + 1, 3)) < 0.7, -np.inf, 0.0) + scores[:, :, np.newaxis]
        tokens = np.arange(n)
        labeled[tokens, heads, rng.integers(3, size=n)] = scores[tokens, heads]
        (same, labels), same_value = dependency_tree(labeled, **given)
        assert same_value == value
        np.testing.assert_array_equal(labeled[tokens, same, labels], scores[tokens, same])
    assert n_impossible > 20
    assert n_unique > 300


@pytest.mark.parametrize("projective", [False, True])
def test_a_single_root_loses_no_digits(rng, projective):
    """Compare scores that differ by a few rounding errors, if any token may be the root."""
    small = 2.0**-49
    for _ in range(200):
        scores = 1 + small * rng.integers(0, 4, (4, 5))
        scores[:, 0] += 3  # sums of four scores are below 8, so exact
        heads, value = dependency_tree(scores, projective=projective)
        best = max(total(scores, tree) for tree in dependency_trees.every(4, projective))
        assert value == total(scores, heads) == best


@pytest.mark.parametrize("projective", [False, True])
@pytest.mark.parametrize("n", [40, 150])
def test_long_sentences_have_trees(rng, n, projective):
    """Compare decoders, which agree if the best tree is projective; otherwise, check bounds."""
    scores = rng.normal(size=(n, n + 1))
    heads, value = dependency_tree(scores, projective=projective)
    assert dependency_trees.is_tree(heads)
    assert heads.tolist().count(0) == 1
    free, most = dependency_tree(scores, projective=projective, single_root=False)
    assert value <= most + 1e-9
    assert dependency_trees.is_tree(free)
    if projective:
        assert dependency_trees.is_projective(heads)
        assert value <= dependency_tree(scores)[1] + 1e-9
        likely = scores + 100 * np.eye(n + 1)[heads]
        for each in (True, False):
            np.testing.assert_array_equal(dependency_tree(likely, projective=each)[0], heads)


def test_nested_cycles(rng):
    """Decode pairs of tokens, and pairs of pairs, that prefer each other as heads."""
    for _ in range(200):
        n = 5
        scores = rng.integers(0, 3, (n, n + 1)).astype(float)
        for a, b in ((0, 1), (2, 3)):
            scores[a, b + 1] = scores[b, a + 1] = 20
        scores[0, 3] = scores[2, 1] = 10 + rng.integers(3)
        best = max(total(scores, heads) for heads in dependency_trees.every(n))
        assert dependency_tree(scores)[1] == best


def test_empty_and_invalid():
    heads, value = dependency_tree(np.empty((0, 1)))
    assert heads.shape == (0,)
    assert value == 0
    (heads, labels), value = dependency_tree(np.empty((0, 1, 2)))
    assert heads.shape == labels.shape == (0,)
    for scores, message in [
        (np.zeros((2, 2)), "must have shape"),
        (np.zeros(3), "must have shape"),
        (np.zeros((2, 3, 0)), "must have shape"),
        ([[np.nan, 0]], "must be at most"),
        ([[np.inf, 0]], "must be at most"),
        ([[1e300, 0]], "must be at most"),
        ([[-np.inf, 0]], "forbid every tree with a single child of the root"),
    ]:
        with pytest.raises(ValueError, match=message):
            dependency_tree(scores)
    assert dependency_tree([[1.0, np.nan]])[1] == 1.0  # a token's arc from itself is ignored
    with pytest.raises((TypeError, ValueError), match="projective"):
        dependency_tree([[1.0, 0]], projective="yes")
