"""Test the contract and invalid arguments of MultilabelProblem.

As in test_contract, features, weights and costs are small integers: results agree to the bit.
"""

from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from sstruct._oracles.label_set._cut import LabelCut
from sstruct._oracles.label_set._forest_decoder import LabelForest
from sstruct._oracles.label_set._gray_enumeration import GrayEnumeration
from sstruct._oracles.label_set._relaxation import LabelRelaxation
from sstruct._problems.core._decode import decode
from sstruct._problems.label_set._multilabel import MultilabelProblem, label_marginals
from sstruct._testing import _problem_access as access
from sstruct._testing._half_enumeration import HalfEnumeration
from tests.problems.test_contract import STORAGES, check_against_definition, code, stored
from tests.reference import label_sets
from tests.reference.class_scores import embedding

DECODERS = ("enumeration", "forest", "independent", "hierarchy", "cut", "halves", "relaxed")


def make_decoder(rng, kind, K):
    """Return a decoder and its parents, or None if all sets are allowed."""
    if kind == "forest":
        return LabelForest(K, label_sets.random_forest(rng, K)), None
    if kind == "independent":
        return LabelForest(K), None
    if kind == "hierarchy":
        parents = label_sets.random_parents(rng, K)
        return LabelForest(K, parents=parents), parents
    of_edges = {
        "enumeration": GrayEnumeration,
        "cut": LabelCut,
        "halves": HalfEnumeration,
        "relaxed": LabelRelaxation,
    }
    return of_edges[kind](K, label_sets.random_edges(rng, K)), None


def half_codes(K, edges):
    """Yield all half-integral codes: twice the labels, then the bits of edges of two halves."""
    words = (len(edges) + 31) // 32
    for y in product((0, 1, 2), repeat=K):
        free = [e for e, (u, v) in enumerate(edges) if y[u] == y[v] == 1]
        for bits in product((0, 1), repeat=len(free)):
            word = [0] * words
            for e, bit in zip(free, bits, strict=True):
                word[e // 32] |= bit << (e % 32)
            yield (*y, *word)


def masses_of(y, edges, K):
    """Yield the masses of the four outcomes of each edge, by the definition of a code."""
    for e, (u, v) in enumerate(edges):
        if y[u] == y[v] == 1:
            both = 0.5 * (y[K + e // 32] >> (e % 32) & 1)
        else:
            both = max(0, y[u] / 2 + y[v] / 2 - 1)
        yield np.array([[1 - y[u] / 2 - y[v] / 2 + both, y[v] / 2 - both],
                        [y[u] / 2 - both, both]])  # fmt: skip


def make(rng, kind, K, *, n=3, F=4, full=False, storage="dense", dtype=np.float64, bias=True,
         uniform=False, scored=False):  # fmt: skip
    """Return a problem and its parts in the format of `check_against_definition`.

    scored : whether there are scores of the labels in addition to F features
    """
    F += K * scored
    X = 2 * rng.integers(-3, 4, (n, F)) * (rng.random((n, F)) < 0.7)
    decoder, parents = make_decoder(rng, kind, K)
    edges = decoder.edge_list
    sets = label_sets.label_sets(K, parents)
    Y = np.array([sets[rng.integers(len(sets))] for _ in range(n)])
    cost = 2.0 * rng.integers(1 if uniform else 0, 4, (2, K))
    if uniform:
        cost[:] = 0.25
    columns = rng.permutation(F)[:K] if scored else None
    problem = MultilabelProblem(
        stored(X, storage, dtype, columns),
        (np.r_[0, np.cumsum(Y.sum(axis=1))], np.flatnonzero(Y) % K),
        decoder,
        full=full,
        cost=cost,
        bias=bias,
    )
    size = K * (F - K) + 1 + bias * K if scored else K * F + bias * K
    w = 2.0 * rng.integers(-4, 5, size + len(edges) * (4 if full else 1))
    if kind == "cut":
        w[size:] = abs(w[size:])

    embedded = cache(lambda size: embedding(size, F, columns))

    @cache
    def pairs(y):
        return [mass.ravel() if full else mass[1, 1:] for mass in masses_of(y, edges, K)]

    def phi(i, y):
        labels = np.array(y[:K]) / 2
        parts = [np.outer(labels, X[i]).ravel()]
        parts += [labels] if bias else []
        phi = np.concatenate([*parts, *pairs(tuple(y))])
        return phi @ embedded(len(phi)) if scored else phi

    def loss(i, y):
        return sum(cost[Y[i, k], k] * abs(y[k] / 2 - Y[i, k]) for k in range(K))

    if decoder.relaxed:
        allowed = list(half_codes(K, edges))
    else:
        allowed = [tuple(2 * v for v in y) for y in sets]
    return SimpleNamespace(
        problem=problem,
        decoder=decoder,
        phi=phi,
        loss=loss,
        w=w,
        padded=problem.layout.padded(w),
        public=lambda w: problem.layout.public(w),
        allowed=[allowed] * n,
        X=X,
        Y=Y,
        parents=parents,
    )


@pytest.mark.parametrize("storage, dtype", STORAGES, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("full", [False, True], ids=["and", "full"])
@pytest.mark.parametrize("kind", DECODERS)
def test_every_decoder_and_storage(rng, kind, full, storage, dtype):
    if kind == "cut" and full:
        return  # four outcomes of any signs are not attractive
    for K in (1, 2, 4) if kind in ("halves", "relaxed") else (1, 2, 5, 9):
        for bias in (True, False):
            made = make(rng, kind, K, full=full, storage=storage, dtype=dtype, bias=bias)
            check_against_definition(made, rng)
            options = {"full": full, "storage": storage, "dtype": dtype, "scored": True}
            options |= {"bias": bias, "n": 1 if K > 5 else 3}
            check_against_definition(make(rng, kind, K, F=0, **options), rng)
            check_against_definition(make(rng, kind, K, **options), rng)


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("full", [False, True], ids=["and", "full"])
@pytest.mark.parametrize("kind", DECODERS)
def test_oracles_of_slack_rescaling_equal_enumeration(rng, kind, full, uniform):
    if kind == "cut" and full:
        return
    made = make(
        rng, kind, 3 if kind in ("halves", "relaxed") else 7, full=full, uniform=uniform, n=8
    )
    problem = made.problem
    assert problem.has_product == (
        kind == "enumeration" or (kind in ("forest", "hierarchy", "independent") and uniform)
    )
    assert problem.has_between == (kind == "enumeration")
    for i, allowed in enumerate(made.allowed):
        truth = problem.true_code(i).tolist()
        losses = np.array([made.loss(i, y) for y in allowed])
        moves = np.array([made.phi(i, y) - made.phi(i, truth) for y in allowed])
        margins = 2.0 + moves @ made.w
        if problem.has_product:
            y, value, work, exact = access.maximize_product(problem, i, made.padded, 2.0)
            assert value == max((losses * margins).max(), 0)
            at = allowed.index(tuple(y.tolist()))
            assert losses[at] * margins[at] == value
            assert work > 0
            assert exact
            fork = access.maximize_product(problem.fork(), i, made.padded, 2.0)
            np.testing.assert_array_equal(fork[0], y)
        if problem.has_between:
            inside = (margins > 0) & (losses > 0) & (losses <= 3 * margins)
            answer = access.maximize_between(problem, i, made.padded, 0.5, 2.0, (0.0, 3.0, True))
            assert (answer is not None) == inside.any()
            if answer is not None:
                assert answer[1] == (margins + 0.5 * losses)[inside].max()
                assert inside[allowed.index(tuple(answer[0].tolist()))]


@pytest.mark.parametrize("kind", ["enumeration", "forest", "independent", "hierarchy", "cut"])
def test_marginals_equal_enumeration(rng, kind):
    made = make(rng, kind, 6, n=5)
    found = label_marginals(made.problem, made.padded)
    on = np.array(made.allowed[0], dtype=bool)
    for i, allowed in enumerate(made.allowed):
        scores = np.array([made.phi(i, y) @ made.w for y in allowed])
        expected = [scores[on[:, k]].max() - scores[~on[:, k]].max() for k in range(6)]
        np.testing.assert_array_equal(found[i], expected)
    predicted = decode(made.problem, made.padded).reshape(5, 6)
    assert ((found > 0) <= (predicted == 2)).all()
    assert ((found < 0) <= (predicted == 0)).all()


@pytest.mark.parametrize("K", [17, 33, 150])
def test_many_labels(rng, K):
    """Compare scores, distances and scattered planes of many labels with dense planes."""
    edges = label_sets.random_edges(rng, K, 0.2)
    for full in (False, True):
        X = sparse.random(4, 30, 0.3, format="csr", random_state=1)
        truth = np.sort(rng.permutation(K)[:5])
        problem = MultilabelProblem(
            X, (np.array([0, 5, 5, 5, 5]), truth), LabelCut(K, edges), full=full
        )
        w = rng.standard_normal(problem.n_weights)
        # The padding has no weights.
        public = problem.layout.public(w)
        w = problem.layout.padded(public)
        codes = 2 * (rng.random((6, K)) < 0.3).astype(np.int32)
        codes[1] = codes[0]
        codes[1, :3] = 2 - codes[1, :3]  # few differ
        planes = np.array([
            label_sets.joint_feature(
                X[[2]].toarray()[0], y // 2, edges, "full" if full else "and"
            )
            for y in codes
        ])  # fmt: skip
        for some in ([0, 1], [0, 2, 3, 4, 5]):
            found = access.scores(problem, 2, w, codes[some], 0.5)
            expected = planes[some] @ public + 0.5 * codes[some].sum(axis=1) / 2
            np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-10)
            out = np.zeros(problem.n_weights)
            c = rng.standard_normal(len(some))
            c -= c.mean()
            access.scatter(problem, 2, codes[some], c, out)
            np.testing.assert_allclose(problem.layout.public(out), c @ planes[some], atol=1e-12)
        for a, b in ((0, 1), (2, 5)):
            move = planes[a] - planes[b]
            distance = access.squared_distance(problem, 2, codes[a], codes[b])
            assert distance == pytest.approx(move @ move, rel=1e-12)
            assert access.squared_distance(problem, 2, codes[b], codes[a]) == distance


@pytest.mark.parametrize(
    "change, message",
    [
        ({"X": np.ones((0, 3)), "labels": ([0], [])}, "0 rows"),
        ({"labels": ([0, 1, 2, 3], [0, 1, 3])}, "labels must be between 0 and 2"),
        ({"labels": ([0, 1, 2, 3], [0, 1, -1])}, "labels must be between 0 and 2"),
        ({"labels": ([0, 1, 3], [0, 1, 2])}, "label lists have shapes"),
        ({"labels": ([0, 2, 1, 3], [0, 1, 2])}, "do not divide 3 labels"),
        ({"labels": ([1, 2, 2, 3], [0, 1, 2])}, "do not divide 3 labels"),
        ({"labels": ([0, 1, 2, 4], [0, 1, 2])}, "do not divide 3 labels"),
        ({"labels": ([0, 1, 3, 3], [0, 1, 1])}, "labels of row 1 are not ascending"),
        ({"labels": ([0, 0, 0, 3], [0, 2, 1])}, "labels of row 2 are not ascending"),
        ({"cost": np.ones((2, 4))}, r"cost has shape \(2, 4\), expected \(2, 3\)"),
        ({"cost": -np.ones((2, 3))}, "finite and nonnegative"),
        ({"decoder": LabelForest(3, parents=[-1, 0, -1])}, "block 1: labeling code has label 1"),
    ],
    ids=lambda v: v if isinstance(v, str) else next(iter(v)),
)
def test_invalid_arguments(change, message):
    arguments = dict(X=np.ones((3, 2)), labels=([0, 1, 2, 3], [0, 1, 2]), decoder=LabelForest(3))
    MultilabelProblem(**arguments)
    with pytest.raises(ValueError, match=message):
        MultilabelProblem(**{**arguments, **change})


def test_access_functions_validate_arguments():
    edges = [[0, 1], [1, 2]]
    problem = MultilabelProblem(np.ones((2, 3)), None, GrayEnumeration(3, edges))
    w = np.zeros(problem.n_weights)
    for wrong, message in (
        ([0, 0], "code of 2 entries"),
        ([0, 1, 0], "label 1 has the code 1"),
        ([0, 0, 4], "label 2 has the code 4"),
        ([-2, 0, 0], "label 0 has the code -2"),
    ):
        with pytest.raises(ValueError, match=f"block 0: .*{message}"):
            access.scores(problem, 0, w, code([wrong]), 0.0)
    for call in (lambda: problem.true_code(0), lambda: problem.best_code(0, w, 1.0)):
        with pytest.raises(ValueError, match="without labels has no truth"):
            call()
    assert problem.best_code(0, w, 0.0)[0].tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="weights"):
        label_marginals(problem, w[1:])
    halves = MultilabelProblem(np.ones((2, 3)), None, HalfEnumeration(3, edges))
    good = code([[1, 1, 0, 1]])
    access.scores(halves, 0, w, good, 0.0)
    for wrong, message in (
        ([1, 1, 0, 2], "bit of edge 1"),
        ([1, 2, 0, 1], "bit of edge 0"),
        ([1, 1, 1, 4], "bit of edge 2"),
        ([1, 1, 1, -1], "bit of edge 2"),
        ([1, 3, 1, 0], "label 1 has the code 3"),
        ([1, 1, 1], "code of 3 entries"),
    ):
        with pytest.raises(ValueError, match=f"block 0: .*{message}"):
            access.scores(halves, 0, w, code([wrong]), 0.0)
