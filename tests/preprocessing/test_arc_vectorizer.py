"""Test ArcVectorizer against its templates, computed for one arc at a time."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from sstruct import DependencySSVM
from sstruct.preprocessing import ArcVectorizer
from sstruct.preprocessing import _arc_vectorizer as module

SENTENCES = [
    [("the", "DET"), ("old", "ADJ"), ("dog", "NOUN"), ("barked", "VERB")],
    [("dogs", "NOUN"), ("the", "DET"), ("old", "ADJ")],
    [("dog", "NOUN")],
    [],
]
TREES = [[3, 3, 4, 0], [0, 3, 1], [0], []]


def made(n=30, size=12, seed=0):
    """Return sentences of random words, and trees in which each token follows its head."""
    rng = np.random.default_rng(seed)
    X = [
        [(f"w{rng.integers(9)}", f"t{rng.integers(4)}") for _ in range(rng.integers(1, size))]
        for _ in range(n)
    ]
    return X, [np.arange(len(x)) for x in X]


def values_of(x, h, d):
    """Return the attributes of an arc by their characters in the templates."""
    tags = ["root", *(tag for _, tag in x)]
    words = ["root", *(word for word, _ in x)]

    def tag(k):
        return tags[k] if 0 <= k < len(tags) else None

    distance = int(np.searchsorted([1, 2, 3, 4, 5, 10], abs(h - d), side="right"))
    return {
        "H": words[h], "h": tags[h], "a": tag(h - 1), "b": tag(h + 1) if h else None,
        "D": words[d], "d": tags[d], "x": tag(d - 1), "y": tag(d + 1),
        "+": (distance, h > d) if h else None,
    }  # fmt: skip


@pytest.mark.parametrize("labeled", [False, True])
def test_columns_are_functions_of_the_attributes(labeled):
    """Check that arcs share a column of a template if and only if they share its attributes."""
    X, _ = made()
    vectorizer = ArcVectorizer(n_buckets=2**24, n_label_buckets=2**24, labeled=labeled, min_count=1)
    key = "label_features" if labeled else "features"
    templates = module.LABEL_TEMPLATES if labeled else module.TEMPLATES
    columns, names = {}, {}
    for x, sample in zip(X, vectorizer.fit_transform(X), strict=True):
        n = len(x)
        arcs = [(h, d) for d in range(1, n + 1) for h in range(n + 1) if h != d]
        assert sample["arcs"].tolist() == [list(arc) for arc in arcs]
        rows = sample[key]
        assert rows.shape == (len(arcs), (len(templates) + (not labeled)) * 2**24)
        assert (rows.data == 1).all()
        for r, (h, d) in enumerate(arcs):
            own = rows.indices[rows.indptr[r] : rows.indptr[r + 1]]
            assert (np.diff(own) > 0).all()
            at = values_of(x, h, d)
            tags = {x[t - 1][1] for t in range(min(h, d) + 1, max(h, d))}
            expected = [(k, tuple(at[c] for c in t)) for k, t in enumerate(templates)]
            extra = [] if labeled else [(at["h"], tag, at["d"], h > d) for tag in tags]
            assert len(own) == len(expected) + len(extra)
            for column, name in zip(own.tolist(), expected):
                assert columns.setdefault(name, column) == column
                assert names.setdefault(column, name) == name
            assert (own[len(expected) :] // 2**24 == len(templates)).all()
            between = frozenset(own[len(expected) :].tolist())
            assert columns.setdefault(frozenset(extra), between) == between
            assert names.setdefault(between, frozenset(extra)) == frozenset(extra)


def test_candidates_have_pairs_of_tags_of_the_trees():
    vectorizer = ArcVectorizer().fit(SENTENCES, TREES)
    arcs = [sample["arcs"].tolist() for sample in vectorizer.transform(SENTENCES)]
    # Among arcs that are neither from the root nor to a neighbor, DET <- NOUN is in a tree.
    far = [[h, d] for h, d in arcs[0] if h and abs(h - d) > 1]
    assert far == [[3, 1]]
    assert [[h, d] for h, d in arcs[1] if h and abs(h - d) > 1] == [[1, 3]]
    assert arcs[2:] == [[[0, 1]], []]
    for labels in ([(tree, ["x"] * len(tree)) for tree in TREES], TREES):
        again = ArcVectorizer().fit(SENTENCES, labels).transform(SENTENCES)
        assert [sample["arcs"].tolist() for sample in again] == arcs
    for other in (ArcVectorizer(prune=False).fit(SENTENCES, TREES), ArcVectorizer().fit(SENTENCES)):
        assert len(other.transform(SENTENCES)[0]["arcs"]) == 16
    # Arcs of unknown tags are kept.
    new = [[("a", "X"), ("b", "DET"), ("c", "X")]]
    assert len(vectorizer.transform(new)[0]["arcs"]) == 9


def test_samples_do_not_depend_on_others(monkeypatch):
    X, y = made(40)
    vectorizer = ArcVectorizer(labeled=True, n_buckets=64).fit(X, y)
    whole = vectorizer.transform(X)
    monkeypatch.setattr(module, "AT_ONCE", 100)
    parts = [*vectorizer.transform(X[:7]), *vectorizer.transform(X[7:])]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one["arcs"], other["arcs"])
        for key in ("features", "label_features"):
            assert (one[key] != other[key]).nnz == 0
            one[key].check_format()


def test_rare_words_are_unknown():
    vectorizer = ArcVectorizer(min_count=2).fit(SENTENCES)
    rare, other, known = ([[(word, "NOUN")]] for word in ("dogs", "new", "dog"))
    samples = [vectorizer.transform(x)[0]["features"] for x in (rare, other, known)]
    assert (samples[0] != samples[1]).nnz == 0
    assert (samples[0] != samples[2]).nnz > 0
    assert vectorizer.words_.tolist() == ["dog", "old", "the"]
    assert vectorizer.tags_.tolist() == ["ADJ", "DET", "NOUN", "VERB"]


def test_learns_with_an_estimator():
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(60):
        tags = rng.choice(["N", "D"], rng.integers(1, 7)).tolist() + ["V"]
        heads = [len(tags)] * len(tags)
        heads[-1] = 0
        for t, (tag, after) in enumerate(pairwise(tags)):
            if tag == "D" and after == "N":
                heads[t] = t + 2
        X.append([(tag.lower(), tag) for tag in tags])
        y.append((heads, ["root" if h == 0 else tags[h - 1] for h in heads]))
    vectorizer = ArcVectorizer(n_buckets=256, n_label_buckets=64, labeled=True)
    arcs = vectorizer.fit_transform(X[:40], y[:40])
    model = DependencySSVM(labeled=True, projective=True, random_state=0).fit(arcs, y[:40])
    assert model.score(vectorizer.transform(X[40:]), y[40:]) > 0.95


@pytest.mark.parametrize(
    ("X", "y", "given", "message"),
    [
        ([], None, {}, "X is empty"),
        ([["ab"]], None, {}, r"X\[0\]\[0\] must be a pair \(word, tag\) of str, found 'ab'"),
        ([[("a", 1)]], None, {}, r"X\[0\]\[0\] must be a pair"),
        ([[("a", "b", "c")]], None, {}, r"X\[0\]\[0\] must be a pair"),
        ([[{"form": "a", "upos": "b"}]], None, {}, r"X\[0\]\[0\] must be a pair"),
        ([[{"a", "b"}]], None, {}, r"X\[0\]\[0\] must be a pair"),
        ([3], None, {}, r"X\[0\]"),
        ([[("a", "b")]], [[0], [0]], {}, "X has 1 samples but y has 2"),
        ([[("a", "b")]], [[1]], {}, r"y\[0\] has the head 1 of token 1"),
        ([[("a", "b")]], [[0, 1]], {}, r"y\[0\] has shape \(2,\)"),
        ([[("a", "b")] * 2], [pd.DataFrame({"head": [0, 1]})], {}, r"y\[0\] has shape \(2, 1\)"),
        ([[("a", "b")]], None, {"n_buckets": 0}, "n_buckets"),
        ([[("a", "b")]], None, {"n_buckets": 2**25}, "n_buckets must be at most"),
        ([[("a", "b")]], None, {"labeled": 3}, "labeled"),
        ([[("a", "b")]], None, {"min_count": 1.5}, "min_count"),
    ],
)
def test_invalid_arguments(X, y, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ArcVectorizer(**given).fit(X, y)
