"""Sums over the labelings of the blocks of a chain problem, for fitted models."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chisquare

from sstruct import ChainSSVM
from sstruct._problems.chain._chain_sums import sum_blocks
from sstruct.spans import spans_of

SCALE = 0.7


def label_sequences(n, labels):
    """Random label sequences of one to four nodes that start with the first label."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 4, n)
    return [np.array([labels[0], *rng.choice(labels, length)]) for length in lengths]


def fitted(kind, labels=("A", "B", "C"), n=8):
    """A structure, its model, packed samples and the samples."""
    rng = np.random.default_rng(3)
    y = label_sequences(n, labels)
    X = [rng.standard_normal((len(each), 3)) for each in y]
    if kind == "edge features":
        X = [(x, rng.standard_normal((len(x) - 1, 2))) for x in X]
    options = {}
    if kind == "mask":
        options["transition_mask"] = lambda a, b: (a, b) not in (("C", "A"), (None, "C"))
        y = [np.where(each == "C", "B", each) for each in y]
        options["classes"] = list(labels)
    if kind == "groups":
        options["transitions"] = lambda a, b: a == b
    if kind == "no transitions":
        options["transitions"] = False
    model = ChainSSVM(lam=0.1, random_state=0, **options).fit(X, y)
    structure, found = model._fitted()
    return model, structure, found, structure.pack(X, found), X


KINDS = ["plain", "edge features", "mask", "groups", "no transitions"]


def distribution(model, x):
    """All labelings of a sample and their probabilities, from the scores of predict_top_k."""
    labels, scores = model.predict_top_k([x], 10**6)
    scaled = SCALE * scores[0]
    return labels[0], np.exp(scaled - logsumexp(scaled)), logsumexp(scaled)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_equal_enumeration(kind):
    model, structure, found, nodes, X = fitted(kind)
    problem = structure._decoder(found, nodes)
    value, marginals = sum_blocks(problem, found._w, SCALE, marginals=True)
    for i, x in enumerate(X):
        labels, p, expected = distribution(model, x)
        assert value[i] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        here = (labels[:, :, None] == model.classes_) * p[:, None, None]
        want = here.sum(axis=0)
        at = slice(nodes.offsets[i], nodes.offsets[i + 1])
        np.testing.assert_allclose(marginals[at], want, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_known_labels_clamp_the_sum(kind):
    model, structure, found, nodes, X = fitted(kind)
    known = np.full(nodes.offsets[-1], -1, dtype=np.int32)
    known[nodes.offsets[:-1]] = 0
    clamped, _ = sum_blocks(structure._decoder(found, nodes, known), found._w, SCALE)
    free, _ = sum_blocks(structure._decoder(found, nodes), found._w, SCALE)
    for i, x in enumerate(X):
        labels, p, _ = distribution(model, x)
        share = p[labels[:, 0] == model.classes_[0]].sum()
        assert np.exp(clamped[i] - free[i]) == pytest.approx(share, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_results_do_not_depend_on_the_number_of_threads(kind):
    _, structure, found, nodes, _ = fitted(kind, n=300)
    problem, n = structure._decoder(found, nodes), len(nodes)
    seeds = np.arange(n, dtype=np.uint64)
    for request in ({"marginals": True}, {"n_draws": 3, "seeds": seeds}):
        one = sum_blocks(problem, found._w, SCALE, 1, **request)
        for threads in (2, 4):
            other = sum_blocks(problem, found._w, SCALE, threads, **request)
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_follow_the_distribution(kind):
    model, structure, found, nodes, X = fitted(kind)
    problem, n_draws = structure._decoder(found, nodes), 20_000
    seeds = np.arange(len(X), dtype=np.uint64)
    _, codes = sum_blocks(problem, found._w, SCALE, n_draws=n_draws, seeds=seeds)
    for i, x in enumerate(X):
        L = int(nodes.lengths[i])
        first = int(nodes.offsets[i]) * n_draws
        drawn = codes[first : first + n_draws * L].reshape(n_draws, L)
        labels, p, _ = distribution(model, x)
        K = len(model.classes_)
        number = K ** np.arange(L)
        every = np.searchsorted(model.classes_, labels) @ number
        counts = np.bincount(drawn @ number, minlength=K**L)
        assert counts.sum() == counts[every].sum()  # masked labelings are never drawn
        many = p * n_draws >= 5
        rest = n_draws - counts[every][many].sum(), n_draws * (1 - p[many].sum())
        seen, expected = counts[every][many], p[many] * n_draws
        if rest[1] > 1:
            seen, expected = np.append(seen, rest[0]), np.append(expected, rest[1])
        if len(seen) > 1:
            assert chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-4


@pytest.mark.parametrize("scale", [SCALE, 2000.0])
def test_probabilities_of_spans_equal_enumeration(scale):
    labels = ("B-x", "I-x", "B-y", "I-y", "O")
    model, structure, found, nodes, X = fitted("plain", labels)
    classes = model.classes_.tolist()
    parts = [("O", "") if c == "O" else tuple(c.split("-")) for c in classes]
    kinds = ["x", "y"]
    inside = [[part[1] == kind for part in parts] for kind in kinds]
    continues = [[b[0] == "I" and a[0] in "BI" and a[1] == b[1] for b in parts] for a in parts]
    rows, expected = [], []
    for i, x in enumerate(X):
        every, scores = model.predict_top_k([x], 10**6)
        p = np.exp(scale * scores[0] - logsumexp(scale * scores[0]))
        spans = [spans_of(each.tolist()) for each in every[0]]
        L = every[0].shape[1]
        for start, stop in itertools.combinations(range(L + 1), 2):
            for t, kind in enumerate(kinds):
                rows.append((i, start, stop, t))
                expected.append(sum(q for q, s in zip(p, spans) if (start, stop, kind) in s))
    problem = structure._decoder(found, nodes)
    _, got = sum_blocks(problem, found._w, scale, spans=(rows, inside, continues))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)


def test_invalid_spans_raise():
    _, structure, found, nodes, _ = fitted("plain")
    problem, K = structure._decoder(found, nodes), 3
    flags = np.ones((1, K)), np.zeros((K, K))
    for row in ((0, 0, 0, 0), (0, 0, 99, 0), (0, -1, 1, 0), (0, 0, 1, 1), (99, 0, 1, 0)):
        with pytest.raises(ValueError, match="spans must be rows"):
            sum_blocks(problem, found._w, 1.0, spans=([row], *flags))
    with pytest.raises(ValueError, match="flags of spans"):
        sum_blocks(problem, found._w, 1.0, spans=([(0, 0, 1, 0)], np.ones((1, 2)), flags[1]))
