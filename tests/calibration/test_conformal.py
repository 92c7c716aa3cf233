"""Test sets and coverage of ConformalSSVM, and scikit-learn's conventions."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline

from sstruct import (
    AlignmentSSVM,
    ChainSSVM,
    DependencySSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    LatentSSVM,
    MatchingSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    SegmentSSVM,
    StructuredSVM,
    TreeSSVM,
    TypedGraphCRFSSVM,
)
from sstruct._input.ragged import NoNodesError
from sstruct.calibration import ConformalSSVM
from sstruct.spans import spans_of
from tests.calibration.test_calibrated import chain, pick
from tests.registry import EXAMPLES

TAGS = np.array(["O", "B-a", "I-a", "B-b", "I-b"])


def sequences(rng, n, noise=0.8, lengths=(1, 5)):
    """Draw noisy sequences of three labels that tend to repeat."""
    X, y = [], []
    for length in rng.integers(*lengths, n):
        labels = rng.integers(0, 3, length)
        repeat = rng.random(length) < 0.5
        for i in range(1, length):
            labels[i] = labels[i - 1] if repeat[i] else labels[i]
        X.append(np.eye(3)[labels] + noise * rng.standard_normal((length, 3)))
        y.append(labels)
    return X, y


@pytest.fixture(scope="module")
def data():
    return sequences(np.random.default_rng(0), 60)


@pytest.fixture(scope="module")
def fitted(data):
    """Return a model fitted to half of the samples, and the other samples."""
    X, y = data
    return chain().fit(X[:20], y[:20]), X[20:], y[20:]


def split(estimator, X, y, *weights, **options):
    return ConformalSSVM(FrozenEstimator(estimator), **options).fit(X, y, *weights)


def definition(losses_at, thresholds, level, n):
    """Return the smallest threshold by the formula of conformal risk control."""
    fine = [t for t in sorted(thresholds) if (losses_at(t) + 1) / (n + 1) <= 1 - level + 1e-12]
    return fine[0] if fine else np.inf


def every(estimator, x):
    """Return all labelings of a sequence and their scores."""
    labels, scores = estimator.predict_top_k([x], 10**6)
    return labels[0], scores[0]


def gaps_of(scores):
    """Return the best score of other labels, or labelings, minus each score, for each row."""
    others = [np.delete(scores, k, axis=-1).max(axis=-1, initial=-np.inf)
              for k in range(scores.shape[-1])]  # fmt: skip
    return np.stack(others, axis=-1) - scores


@pytest.mark.parametrize("allow_empty", [False, True])
@pytest.mark.parametrize("level", [0.15, 0.3, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("k", [1, 2, 10**6])
def test_labelings_equal_enumeration(fitted, level, allow_empty, k):
    estimator, X, y = fitted
    model = split(estimator, X, y, k=k)
    gaps = []
    for x, labels in zip(X, y, strict=True):
        rows, scores = every(estimator, x)
        gaps.append(gaps_of(scores)[(rows == labels).all(axis=1)].item())
    np.testing.assert_allclose(model.conformity_scores_, np.sort(gaps), atol=1e-12)
    gaps = model.conformity_scores_
    t = definition(lambda t: sum(gaps > t), gaps if allow_empty else [0, *gaps], level, len(gaps))
    t = t if allow_empty else max(t, 0)
    sets, is_complete = model.predict_set(X, confidence_level=level, allow_empty=allow_empty)
    for x, found in zip(X, sets, strict=True):
        rows, scores = every(estimator, x)
        expected = rows[gaps_of(scores) <= t + 1e-12]
        np.testing.assert_array_equal(found, expected[:k])
    if k < 10**6:
        return
    assert is_complete.all()
    covered = [(found == labels).all(axis=1).any() for found, labels in zip(sets, y, strict=True)]
    rank = np.ceil(level * (len(X) + 1))
    assert sum(covered) == (rank if allow_empty else max(rank, sum(gaps <= 0)))


def test_more_labelings_than_k(fitted):
    estimator, X, y = fitted
    whole, _ = split(estimator, X, y, k=10**6).predict_set(X, confidence_level=0.95)
    sizes = np.array([len(rows) for rows in whole])
    assert sizes.min() < 5 < sizes.max()
    for k in (1, 4, 5, 20):
        sets, is_complete = split(estimator, X, y, k=k).predict_set(X, confidence_level=0.95)
        for found, rows in zip(sets, whole, strict=True):
            np.testing.assert_array_equal(found, rows[:k])
        # With as many labelings as k, it is not known that there are no others.
        assert is_complete[sizes < k].all()
        assert not is_complete[sizes > k].any()


def test_the_set_of_all_labelings_is_complete(fitted):
    estimator, X, y = fitted
    model = split(estimator, X, y, k=4)
    model._publish({"conformity_scores_": np.sort(model.conformity_scores_) + 1000})
    sets, is_complete = model.predict_set([x[:1] for x in X])
    assert {len(rows) for rows in sets} == {3}
    assert is_complete.all()


@pytest.mark.parametrize("allow_empty", [False, True])
@pytest.mark.parametrize("level", [0.3, 0.6, 0.9])
def test_nodes_equal_the_definition(fitted, level, allow_empty):
    estimator, X, y = fitted
    model = split(estimator, X, y, target="nodes")
    scores = estimator.decision_function(X)
    gaps = [covers(gaps_of(s), labels) for s, labels in zip(scores, y, strict=True)]
    np.testing.assert_array_equal(model.conformity_scores_, np.sort(np.concatenate(gaps)))

    def losses(t):
        return sum((own > t).mean() for own in gaps)

    t = definition(losses, np.concatenate(gaps), level, len(X))
    t = t if allow_empty else max(t, 0)
    sets, is_complete = model.predict_set(X, confidence_level=level, allow_empty=allow_empty)
    for s, found in zip(scores, sets, strict=True):
        np.testing.assert_array_equal(found, gaps_of(s) <= t)
    assert is_complete.all()
    if level == 0.3:
        assert (~np.concatenate(sets).any(axis=1)).any() == allow_empty


@pytest.mark.parametrize("k", [3, 10**6])
def test_spans_equal_the_definition(k):
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, 5, length) for length in rng.integers(1, 5, 80)]
    X = [np.eye(5)[c] + 0.6 * rng.standard_normal((len(c), 5)) for c in codes]
    y = [TAGS[c].tolist() for c in codes]
    estimator = chain().fit(X[:30], y[:30])
    model = split(estimator, X[30:], y[30:], target="spans", k=k, confidence_level=0.5)

    def gaps_of_spans(x):
        found = {}
        rows, scores = estimator.predict_top_k([x], k)
        for labels, score in zip(rows[0], scores[0], strict=True):
            for span in spans_of(labels.tolist()):
                found.setdefault(span, scores[0][0] - score)
        return found

    gaps = [
        [gaps_of_spans(x).get(span, np.inf) for span in spans_of(labels)]
        for x, labels in zip(X[30:], y[30:], strict=True)
    ]

    def losses(t):
        return sum(np.mean([g > t for g in own]) for own in gaps if own)

    flat = [g for own in gaps for g in own]
    assert [] in gaps
    np.testing.assert_array_equal(model.conformity_scores_, np.sort(flat))
    for level in (0.5, 0.7, 0.9):
        t = definition(losses, [0, *flat], level, len(gaps))
        sets, is_complete = model.predict_set(X[:30], confidence_level=level)
        for x, found in zip(X[:30], sets, strict=True):
            assert found == sorted(span for span, gap in gaps_of_spans(x).items() if gap <= t)
        assert is_complete.all() == (t < np.inf)
    empty = model.predict_set([X[0], np.empty((0, 5))])[0]
    assert empty[1] == []
    with pytest.raises(ValueError, match="allow_empty=True is not supported for target='spans'"):
        model.predict_set(X, allow_empty=True)


def test_segments_of_empty_sequences():
    X, y = [np.eye(3)] * 9, [["a", "b", "b"]] * 9
    model = ConformalSSVM(SegmentSSVM(random_state=0), cv=3, target="spans").fit(X, y)
    sets, is_complete = model.predict_set([np.empty((0, 3))])
    assert list(sets) == [[]]
    assert is_complete.all()


def test_cross_conformal_scores_come_from_the_models_of_the_splits(data):
    X, y = data
    model = ConformalSSVM(chain(), cv=4).fit(X, y)
    scores = []
    for train, test in KFold(4).split(X):
        part = chain().fit(pick(X, train), pick(y, train))
        scores.append(split(part, pick(X, test), pick(y, test)).conformity_scores_)
    np.testing.assert_array_equal(model.conformity_scores_, np.sort(np.concatenate(scores)))
    np.testing.assert_array_equal(model.estimator_.w_, chain().fit(X, y).w_)
    of_nodes = ConformalSSVM(chain(), target="nodes", cv=4).fit(X, y)
    shares = np.concatenate([np.full(len(labels), 1 / len(labels)) for labels in y])
    np.testing.assert_allclose(np.sort(of_nodes._shares), np.sort(shares))


@pytest.mark.parametrize("noise", [0.8, 0.3])
@pytest.mark.parametrize("target", ["labelings", "nodes"])
def test_the_coverage_of_simulated_samples(target, noise):
    # For labelings without ties, the coverage given the held-out samples follows Beta(k, n + 1 - k)
    # with k = ceil(0.9 (n + 1)), so the number of covered samples is beta-binomial.
    # With little noise, most predictions are correct, and the coverage requires empty sets.
    rng = np.random.default_rng(0)
    draw = partial(sequences, rng, noise=noise, lengths=(3, 6))
    estimator = chain().fit(*draw(60))
    n, m, repetitions = 49, 50, 60
    risks = []
    for _ in range(repetitions):
        model = split(estimator, *draw(n), target=target)
        X, y = draw(m)
        sets, _ = model.predict_set(X, allow_empty=noise < 0.5)
        if target == "labelings":
            missed = [not (s == labels).all(axis=1).any() for s, labels in zip(sets, y)]
        else:
            missed = [1 - s[np.arange(len(s)), labels].mean() for s, labels in zip(sets, y)]
        risks.append(np.mean(missed))
    k = 45
    variance = k * (n + 1 - k) / ((n + 1) ** 2 * (n + 2))  # variance of the beta distribution

    error = np.sqrt((variance + 0.09 / m) / repetitions)
    assert np.mean(risks) < 0.1 + 3 * error
    if target == "labelings":
        assert np.mean(risks) > 0.1 - 3 * error

    else:
        assert np.mean(risks) > 0.05


def test_each_new_sample_is_covered_with_the_confidence_level():
    rng = np.random.default_rng(1)
    estimator = chain().fit(*sequences(rng, 60, lengths=(3, 6)))
    covered = 0
    for _ in range(300):
        X, y = sequences(rng, 20, lengths=(3, 6))
        sets, _ = split(estimator, X[:19], y[:19]).predict_set(X[19:], confidence_level=0.8)
        covered += (sets[0] == y[19]).all(axis=1).any()
    low, high = binom(300, 0.8).interval(1 - 1e-4)
    assert low <= covered <= high


def leaves(value):
    """Yield the arrays of nested lists and object arrays."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield value
    else:
        for each in value:
            yield from leaves(each)


NODES = {
    name: each
    for name, each in EXAMPLES.items()
    if issubclass(
        each.estimator,
        ChainSSVM | GraphCRFSSVM | GridCRFSSVM | MulticlassSSVM | MultilabelSSVM | TreeSSVM
        | TypedGraphCRFSSVM,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", NODES)
def test_nodes_of_every_structure(name):
    example = NODES[name]
    X, y = example.make(np.random.default_rng(0), 12)
    estimator = example.estimator(**example.required).fit(X, y)
    model = split(estimator, X, y, target="nodes")
    small, large = (model.predict_set(X, confidence_level=c)[0] for c in (0.05, 0.9))
    for a, b in zip(leaves(small), leaves(large), strict=True):
        assert a.dtype == bool
        assert a.any(axis=-1).all()
        assert (a <= b).all()
    # One score for each node.
    sizes = [len(table.reshape(-1, table.shape[-1])) for table in leaves(large)]
    assert len(model.conformity_scores_) == sum(sizes)
    # An infinite threshold adds all labels to the sets.
    model._publish({"_n_conformity_samples": 1})
    sets, is_complete = model.predict_set(X)
    assert all(table.all() for table in leaves(sets))
    assert not is_complete.any()


def covers(sets, y):
    """Return the entries of the true labels, given by their codes, for each row."""
    return sets[np.arange(len(y)), y]


def test_sets_of_rows_equal_the_definition():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = np.c_[y, 1 - y] + rng.standard_normal((300, 2))
    estimator = MulticlassSSVM(random_state=0).fit(X[:100], y[:100])
    model = split(estimator, X[100:200], y[100:200], target="nodes")
    sets, _ = model.predict_set(X[200:])
    assert sets.shape == (100, 2)
    gaps = np.sort((np.where(y == 1, -1, 1) * estimator.decision_function(X))[100:200])
    np.testing.assert_allclose(model.conformity_scores_, gaps, atol=1e-12)
    assert covers(sets, y[200:]).mean() > 0.8
    crossed = ConformalSSVM(MulticlassSSVM(random_state=0), target="nodes").fit(X, y)
    assert len(crossed.conformity_scores_) == 300


def test_sets_of_label_sets_equal_the_definition():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, (200, 4))
    X = y + 0.8 * rng.standard_normal((200, 4))
    estimator = MultilabelSSVM(edges="tree", random_state=0).fit(X[:80], y[:80])
    model = split(estimator, X[80:140], y[80:140], target="nodes")
    sets, _ = model.predict_set(X[140:])
    assert sets.shape == (60, 4, 2)
    d = estimator.decision_function(X)
    gaps = np.maximum(0, np.where(y == 1, -d, d))[80:140]
    t = definition(lambda t: (gaps > t).mean(axis=1).sum(), [0, *gaps.flat], 0.9, 60)
    expected = np.stack([d[140:] <= t, d[140:] >= -t], axis=-1)
    np.testing.assert_array_equal(sets, expected)
    sets, _ = model.predict_set(X[140:], confidence_level=0.3, allow_empty=True)
    gaps = np.where(y == 1, -d, d)[80:140]
    t = definition(lambda t: (gaps > t).mean(axis=1).sum(), gaps.flat, 0.3, 60)
    assert t < 0
    np.testing.assert_array_equal(sets, np.stack([d[140:] <= t, d[140:] >= -t], axis=-1))


def test_poses_and_types_of_nodes_equal_their_max_marginals():
    for example in NODES.values():
        if not issubclass(example.estimator, TreeSSVM | TypedGraphCRFSSVM):
            continue
        X, y = example.make(np.random.default_rng(1), 8)
        estimator = example.estimator(**example.required).fit(X, y)
        gaps = []
        for tables, labels in zip(estimator.decision_function(X), y, strict=True):
            for t, (table, own) in enumerate(zip(tables, labels, strict=True)):
                rows = table.reshape(-1, table.shape[-1])
                if issubclass(example.estimator, TypedGraphCRFSSVM):
                    own = np.searchsorted(estimator.classes_[t], own)
                codes = np.ravel(own)
                gaps += covers(gaps_of(rows), codes).tolist()
        model = split(estimator, X, y, target="nodes", confidence_level=0.5)
        np.testing.assert_array_equal(model.conformity_scores_, np.sort(gaps))


def test_the_warning_of_missing_spans_says_what_to_do():
    rng = np.random.default_rng(0)
    y = [TAGS[rng.integers(0, 5, 8)] for _ in range(50)]
    estimator = chain().fit([np.zeros((8, 1))] * 50, y)
    with pytest.warns(UserWarning, match=r"true spans .* shorter sequences or a larger k$"):
        split(estimator, [np.zeros((8, 1))] * 50, y, target="spans", k=1)


def test_masks_and_unseen_labels_have_infinite_scores(data):
    X, y = data
    straight = chain(transition_mask=lambda a, b: a is None or b is None or a == b)
    model = straight.fit(X, [np.full(len(labels), labels[0]) for labels in y])
    for target in ("labelings", "nodes"):
        own = [labels.copy() for labels in y]
        own[3][0] = 7
        fitted = split(model, X, own, target=target, confidence_level=0.1)
        changes = [bool((labels != labels[0]).any()) for labels in own]
        changes[3] = True
        expected = sum(changes) if target == "labelings" else 1
        assert (fitted.conformity_scores_ == np.inf).sum() == expected
    with pytest.warns(UserWarning, match=f"{sum(changes)} of 60 true labelings .* lower level"):
        many = split(model, X, own)
    sets, is_complete = many.predict_set(X, confidence_level=0.99)
    assert not is_complete.any()
    assert [len(rows) for rows in sets] == [3] * len(X)


def test_unknown_labels_agree_with_every_label(fitted):
    estimator, X, y = fitted
    estimator = clone(estimator).set_params(ignore_label=-1).fit(X, y)
    hidden = [np.where(np.arange(len(labels)) == 1, -1, labels) for labels in y]
    hidden[0] = np.full(len(hidden[0]), -1)
    model = split(estimator, X, hidden)
    gaps = []
    for x, labels in zip(X[1:], hidden[1:], strict=True):
        rows, scores = every(estimator, x)
        agree = ((rows == labels) | (labels == -1)).all(axis=1)
        gaps.append(gaps_of(scores)[agree].min())
    np.testing.assert_allclose(model.conformity_scores_, np.sort(gaps), atol=1e-12)
    of_nodes = split(estimator, X, hidden, target="nodes")
    assert len(of_nodes.conformity_scores_) == sum((labels >= 0).sum() for labels in hidden)
    assert of_nodes._n_conformity_samples == len(X) - 1


def test_empty_samples_are_ignored(fitted):
    estimator, X, y = fitted
    expected = split(estimator, X, y)
    model = split(estimator, [np.empty((0, 3)), *X], [[], *y])
    assert model._n_conformity_samples == len(X)
    np.testing.assert_array_equal(model.conformity_scores_, expected.conformity_scores_)
    sets, is_complete = model.predict_set([np.empty((0, 3)), X[0]])
    assert sets[0].shape == (1, 0)
    assert is_complete.all()
    of_nodes = split(estimator, X, y, target="nodes")
    assert of_nodes.predict_set([np.empty((0, 3)), X[0]])[0][0].shape == (0, 3)


def test_a_sequence_without_an_allowed_labeling_is_ignored():
    X = [np.ones((2, 2)), np.zeros((2, 2)), np.ones((1, 2))]
    mask = {(None, 0), (0, 1), (1, None)}
    estimator = chain(transition_mask=lambda a, b: (a, b) in mask, classes=[0, 1])
    estimator.fit(X[:2], [[0, 1], [0, 1]])
    for target in ("labelings", "nodes"):
        model = split(estimator, X, [[0, 1], [0, 1], [0]], target=target, confidence_level=0.5)
        assert model._n_conformity_samples == 2
        assert (model.conformity_scores_ == -np.inf).all()  # there is no other labeling
    for allow_empty in (False, True):
        sets, _ = model.predict_set(X, allow_empty=allow_empty)
        assert [rows.sum() for rows in sets] == [2, 2, 0]


def test_unknown_labels_of_label_sets_are_ignored():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, (40, 3))
    X = y + rng.standard_normal((40, 3))
    estimator = MultilabelSSVM(random_state=0).fit(X, y)
    hidden = np.where(rng.random(y.shape) < 0.3, np.nan, y)
    model = split(estimator, X, hidden, target="nodes")
    gaps = np.where(y == 1, -1, 1) * estimator.decision_function(X)
    np.testing.assert_array_equal(model.conformity_scores_, np.sort(gaps[~np.isnan(hidden)]))


def test_weights(fitted):
    estimator, X, y = fitted
    weights = np.arange(len(X)) % 3.0
    model = split(estimator, X, y, weights)
    plain = split(estimator, X, y)
    used = weights > 0
    assert model._n_conformity_samples == used.sum()
    again = split(estimator, X, y, weights * 1e9)
    doubled = split(estimator, X, y, np.full(len(X), 2.0))
    for level in (0.5, 0.9):
        a, b = (m.predict_set(X, confidence_level=level)[0] for m in (model, again))
        assert [len(s) for s in a] == [len(s) for s in b]
        a, b = (m.predict_set(X, confidence_level=level)[0] for m in (plain, doubled))
        assert [len(s) for s in a] == [len(s) for s in b]
    dropped = split(estimator, X, y, used.astype(float))
    some = split(estimator, pick(X, np.flatnonzero(used)), pick(y, np.flatnonzero(used)))
    np.testing.assert_array_equal(dropped.conformity_scores_, some.conformity_scores_)
    nodes = [np.ones(len(labels)) for labels in y]
    of_nodes = split(estimator, X, y, nodes)
    np.testing.assert_array_equal(of_nodes.conformity_scores_, plain.conformity_scores_)


def test_too_few_samples(fitted):
    estimator, X, y = fitted
    with pytest.warns(UserWarning, match="requires at least 9 held-out samples, found 8"):
        model = split(estimator, X[:8], y[:8], k=5)
    sets, is_complete = model.predict_set(X[:3])
    assert [len(rows) for rows in sets] == [min(5, 3 ** len(x)) for x in X[:3]]
    assert not is_complete.any()
    assert split(estimator, X[:8], y[:8], confidence_level=0.8).predict_set(X[:3])[1].all()


def test_sets_grow_with_the_level_and_contain_the_prediction(fitted):
    estimator, X, y = fitted
    model = split(estimator, X, y)
    before = [0] * len(X)
    for level in (1e-9, 0.3, 0.6, 0.9, 0.97):
        sets, _ = model.predict_set(X, confidence_level=level)
        for found, labels in zip(sets, estimator.predict(X), strict=True):
            np.testing.assert_array_equal(found[0], labels)
        sizes = [len(found) for found in sets]
        assert all(map(int.__le__, before, sizes))
        before = sizes


def test_other_forms_of_input(data):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = np.c_[y, 1 - y] + rng.standard_normal((60, 2))
    rows = ConformalSSVM(chain(transitions=False)).fit(X, y)
    sets, _ = rows.predict_set(X)
    assert {each.ndim for each in sets} == {1}
    assert all(set(each) <= {0, 1} for each in sets)
    of_nodes = ConformalSSVM(chain(transitions=False), target="nodes").fit(X, y)
    assert of_nodes.predict_set(X)[0].shape == (60, 2)
    X, y = X.reshape(20, 3, 2), y.reshape(20, 3)
    assert ConformalSSVM(chain()).fit(X, y).predict_set(X)[0][0].shape[1] == 3
    of_nodes = ConformalSSVM(chain(), target="nodes").fit(X, y)
    assert of_nodes.predict_set(X)[0].shape == (20, 3, 2)


def test_predict_equals_predict_of_the_estimator():
    rows, labels = np.eye(2), [0, 1]
    inner = MulticlassSSVM().fit(rows, labels)
    model = split(inner, rows, labels, target="nodes", confidence_level=0.5)
    assert model.predict(rows).tolist() == labels


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"conformity_scores_": np.array([2.0, 1.0])}, "ascending numbers"),
        ({"conformity_scores_": np.array([0.0, np.nan])}, "ascending numbers"),
        ({"conformity_scores_": np.zeros(3)}, "_shares"),
        ({"_shares": np.array([1.0, np.inf])}, "_shares"),
        ({"_n_conformity_samples": 0}, "_n_conformity_samples is 0"),
        ({"estimator_": None}, "estimator_"),
    ],
)
def test_damaged_states(fitted, changes, message):
    estimator, X, y = fitted
    model = split(estimator, X[:2], y[:2], confidence_level=0.5)
    with pytest.raises(ValueError, match=message):
        ConformalSSVM(chain()).__setstate__(model.__getstate__() | changes)


@pytest.mark.parametrize(
    "estimator, options, kind, message",
    [
        (
            MulticlassSSVM(),
            {},
            ValueError,
            "must be a ChainSSVM or SegmentSSVM for target='labelings'",
        ),
        (
            GridCRFSSVM(),
            {"target": "spans"},
            ValueError,
            "must be a ChainSSVM or SegmentSSVM for target='spans'",
        ),
        (StructuredSVM(None), {"target": "nodes"}, ValueError, "TreeSSVM for target='nodes'"),
        (LatentSSVM(chain()), {"target": "nodes"}, ValueError, "TreeSSVM for target='nodes'"),
        # Their decision_function returns scores of single pairs, not max-marginals.
        (MatchingSSVM(), {"target": "nodes"}, ValueError, "must be one of .*found MatchingSSVM"),
        (AlignmentSSVM(), {"target": "nodes"}, ValueError, "must be one of .*found AlignmentSSVM"),
        (
            FrozenEstimator(DependencySSVM()),
            {"target": "nodes"},
            ValueError,
            "must be one of .*found DependencySSVM",
        ),
        (PathCV(chain()), {}, ValueError, "must be a ChainSSVM"),
        (PathCV(chain()), {}, ValueError, "fit the PathCV first, and pass its best_estimator_"),
        (FrozenEstimator(MulticlassSSVM()), {}, ValueError, "must be a ChainSSVM"),
        (MulticlassSSVM(), {}, ValueError, "target='nodes' supports one of ChainSSVM"),
        (
            FrozenEstimator(make_pipeline(chain())),
            {},
            TypeError,
            r"ConformalSSVM\(FrozenEstimator\(pipeline\[-1\]\)\), and pipeline\[:-1\]",
        ),
        (None, {"target": "nodes"}, TypeError, "must be one of ChainSSVM"),
        (chain(), {"target": "node"}, ValueError, "target must be one of"),
        (chain(), {"confidence_level": 1}, ValueError, "confidence_level must be below 1"),
        (chain(), {"confidence_level": 0.0}, ValueError, "confidence_level must be"),
        (chain(), {"k": 0}, ValueError, "k must be at least 1"),
        (chain(), {"k": 2.0}, TypeError, "k must be an integer"),
        (chain(), {"scheme": "x"}, ValueError, "scheme must be one of"),
        (chain(), {"suffix": 1}, ValueError, "suffix must be one of"),
        (chain(), {"cv": StratifiedKFold()}, ValueError, "found several; use KFold"),
        (chain(), {"target": "spans"}, ValueError, r"classes_\[0\] is 0"),
    ],
)
def test_invalid_parameters(data, estimator, options, kind, message):
    model = ConformalSSVM(estimator, **options)
    with pytest.raises(kind, match=message):
        model.fit(*data)
    assert not hasattr(model, "conformity_scores_")


def test_invalid_data(fitted):
    estimator, X, y = fitted
    model = split(estimator, X, y)
    with pytest.raises(NotFittedError):
        split(chain(), X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, y, np.ones(3))
    with pytest.raises(ValueError, match="confidence_level must be below 1"):
        model.predict_set(X, confidence_level=90)
    with pytest.raises(TypeError, match="confidence_level must be a number"):
        model.predict_set(X, confidence_level="0.9")
    hidden = chain(ignore_label=-1).fit(X, y)
    for target in ("labelings", "nodes"):
        with pytest.raises(NoNodesError, match="no held-out sample"):
            split(hidden, X, [np.full(len(labels), -1) for labels in y], target=target)
    partly = [np.full(len(y[0]), -1), *y[1:]]
    with pytest.raises(NoNodesError, match="no held-out sample"):
        split(hidden, X, partly, np.eye(len(X))[0])
