"""Test DependencySSVM against enumeration and the optimum over enumerated trees."""

import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from sstruct import DependencySSVM, LatentSSVM, PathCV, ssvm_path
from sstruct.datasets import make_dependency_trees
from sstruct.inference import dependency_tree
from sstruct.metrics import labeled_attachment_score, unlabeled_attachment_score
from sstruct.solvers import MPBCFW
from tests.reference import brute_force, dependency_trees, dual_qp

TIGHT = {"tol": 1e-8, "max_iter": 100_000, "solver": MPBCFW(average=False), "random_state": 0}
NAMES = np.array(["obj", "root"])


def sentence(rng, tree, *, listed=False, others=False, stored=False):
    """Return the features of a sentence with a tree, in one of the formats of X."""
    n = len(tree)
    x = {"features": rng.standard_normal((n, n + 1, 3))}
    if others:
        x["label_features"] = rng.standard_normal((n, n + 1, 2))
    if listed:
        kept = rng.random((n, n + 1)) < 0.6
        kept[np.arange(n), np.arange(1, n + 1)] = False
        kept[np.arange(n), tree] = True
        dependent, head = np.nonzero(kept)
        order = rng.permutation(len(head))
        arcs = np.column_stack([head, dependent + 1])[order]
        x = {key: table[arcs[:, 1] - 1, arcs[:, 0]] for key, table in x.items()}
        if stored:
            x = {key: sparse.csr_array(np.round(table)) for key, table in x.items()}
        x["arcs"] = arcs
    return x if len(x) > 1 else x["features"]


def make(rng, n=8, *, labeled=False, projective=False, single_root=True, most=4, **form):
    """Return sentences with random trees, and labels of their arcs if `labeled`."""
    X, y = [], []
    for _ in range(n):
        size = int(rng.integers(1, 3 if labeled else most + 1))
        trees = dependency_trees.every(size, projective, single_root)
        tree = np.array(trees[rng.integers(len(trees))])
        X.append(sentence(rng, tree, **form))
        y.append((tree, NAMES[rng.integers(2, size=size)]) if labeled else tree)
    if labeled:
        y[0] = y[0][0], np.resize(NAMES, len(y[0][0]))
        y[1] = y[1][0], np.resize(NAMES[::-1], len(y[1][0]))
    return X, y


def blocks(X, y, weights, labeled=False, **given):
    terms = []
    for i, (x, truth, weight) in enumerate(zip(X, y, weights, strict=True)):
        heads, labels = truth if labeled else (truth, None)
        labels = np.searchsorted(NAMES, labels) if labeled else None
        terms.append(
            dependency_trees.block(i, x, heads, weight, labels, 2 if labeled else 0, **given)
        )
    return terms


FORMS = {
    "arrays": {},
    "listed": {"listed": True},
    "sparse": {"listed": True, "stored": True},
    "label features": {"others": True},
    "all": {"listed": True, "others": True, "stored": True},
}


@pytest.mark.parametrize(
    ("projective", "single_root"), list(itertools.product([False, True], repeat=2))
)
@pytest.mark.parametrize("labeled", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_reaches_the_optimum(rng, form, labeled, projective, single_root):
    kind = {"projective": projective, "single_root": single_root}
    X, y = make(rng, labeled=labeled, **kind, **FORMS[form])
    weights = rng.choice([0.5, 1.0, 3.0], len(X))
    hamming = bool(rng.integers(2))
    model = DependencySSVM(
        lam=0.1, labeled=labeled, loss="hamming" if hamming else "hamming-count", **kind, **TIGHT
    ).fit(X, y, weights)
    terms = blocks(X, y, weights / weights.sum(), labeled, hamming=hamming, **kind)
    if not labeled and FORMS[form].get("others"):  # label features have no weights
        assert model.w_.shape == (3,)
    dual_qp.check_optimum(model, terms)
    decoder = "Eisner" if projective else "maximum spanning tree"
    assert model.inference_ == f"{decoder} (exact)"
    for block, found in zip(terms, model.predict(X), strict=True):
        heads, labels = found if labeled else (found, None)
        names = np.searchsorted(NAMES, labels) if labeled else np.zeros(len(heads), int)
        scores = block.phi @ model.w_
        at = block.labelings.index((tuple(heads.tolist()), tuple(names.tolist())))
        assert scores[at] == pytest.approx(scores.max(), abs=1e-9)


def test_bounds_and_priors_reach_the_optimum(rng):
    X, y = make(rng, labeled=True, others=True)
    terms = blocks(X, y, np.full(8, 1 / 8), True)
    box = np.array([np.full(7, -np.inf), np.full(7, np.inf)])
    box[1, :2], box[0, -1] = 0.0, 0.1
    model = DependencySSVM(labeled=True, lam=0.1, bounds=box, **TIGHT).fit(X, y)
    dual_qp.check_optimum(model, terms, box)
    assert (model.coef_[:2] <= 0).all()
    assert model.label_coef_[1, 1] >= 0.1
    prior = DependencySSVM(labeled=True, lam=1.0, **TIGHT)
    prior.fit(*make(rng, labeled=True, others=True))
    adapted = DependencySSVM(labeled=True, lam=0.1, prior=prior, **TIGHT).fit(X, y)
    dual_qp.check_optimum(adapted, terms, prior=prior.w_)


@pytest.mark.parametrize("labeled", [False, True])
def test_scores_are_attachment_scores(labeled):
    X, y = make_dependency_trees(80, n_labels=3 * labeled, noise=1.0, random_state=0)
    model = DependencySSVM(labeled=labeled, random_state=0).fit(X[:60], y[:60])
    found = model.predict(X[60:])
    metric = labeled_attachment_score if labeled else unlabeled_attachment_score
    assert model.score(X[60:], y[60:]) == pytest.approx(metric(y[60:], found))
    weights = np.arange(20)
    assert model.score(X[60:], y[60:], weights) == pytest.approx(
        metric(y[60:], found, sample_weight=weights)
    )
    heads = [truth[0] for truth in y] if labeled else y
    predicted = [each[0] for each in found] if labeled else found
    right = np.concatenate([a == b for a, b in zip(predicted, heads[60:], strict=True)])
    assert unlabeled_attachment_score(y[60:], found) == pytest.approx(right.mean())
    for scores, own in zip(model.decision_function(X[60:]), predicted, strict=True):
        np.testing.assert_array_equal(dependency_tree(scores)[0], own)


@pytest.mark.parametrize("tree", [pd.DataFrame({"head": [0, 1]}), {0: 0, 1: 1}])
def test_scores_of_other_objects_than_trees_raise(tree):
    with pytest.raises(ValueError, match=r"y_pred\[0\] must be a pair \(heads, labels\)"):
        labeled_attachment_score([([0, 1], ["a", "b"])], [tree])
    with pytest.raises((ValueError, TypeError), match=r"y_pred\[0\] has shape"):
        unlabeled_attachment_score([[0, 1]], [tree])
    with pytest.raises(ValueError, match=r"y_true\[1\] has 1 tokens, but y_pred\[1\] 2"):
        unlabeled_attachment_score([[0], [0]], [[0], [0, 1]])
    with pytest.raises(TypeError, match=r"y_true\[0\] must contain heads, found int"):
        unlabeled_attachment_score([0], [[0]])


def test_learns_to_parse():
    X, y = make_dependency_trees(300, n_labels=3, noise=0.0, projective=True, random_state=0)
    model = DependencySSVM(labeled=True, projective=True, random_state=0).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.8
    heads = [truth[0] for truth in y]
    search = PathCV(DependencySSVM(random_state=0), cv=3).fit(X[:60], heads[:60])
    assert search.score(X[200:], heads[200:]) > 0.55  # 0.50 for w = 0
    path = ssvm_path(DependencySSVM(random_state=0), X[:20], heads[:20], lam_min=0.01)
    assert path.guarantee_ == "certified"


def test_listed_arcs_are_the_same_as_an_array(rng):
    X, y = make(rng)
    lists = []
    for x in X:
        n = len(x)
        arcs = [(h, d) for h in range(n + 1) for d in range(1, n + 1) if h != d]
        arcs = rng.permutation(arcs)
        lists.append({"features": x[arcs[:, 1] - 1, arcs[:, 0]], "arcs": arcs})
    one, other = (DependencySSVM(random_state=0).fit(samples, y) for samples in (X, lists))
    np.testing.assert_array_equal(one.w_, other.w_)
    stored = [{**x, "features": sparse.coo_array(x["features"])} for x in lists]
    np.testing.assert_allclose(DependencySSVM(random_state=0).fit(stored, y).w_, one.w_, rtol=1e-9)
    for x, a, b in zip(X, one.decision_function(X), other.decision_function(lists), strict=True):
        np.testing.assert_allclose(a, b)
        assert np.isneginf(a[np.arange(len(x)), np.arange(1, len(x) + 1)]).all()


def test_without_labels_there_are_no_weights_of_labels(rng):
    X, y = make(rng)
    model = DependencySSVM(lam=0.1, random_state=0).fit(X, y)
    assert model.label_coef_.shape == (0, 0)
    assert model.to_frame().kind.unique().tolist() == ["coef"]
    assert all(hasattr(model, name) for name in dir(model) if name.endswith("_coef_"))
    # A number in a damaged file, which must not determine the size of the frame.
    model.__setstate__(model.__getstate__() | {"_label_features": 2**22})
    tracemalloc.start()
    try:
        assert len(model.to_frame()) == len(model.w_)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("labeled", [False, True])
def test_known_heads_are_kept(rng, labeled):
    X, y = make(rng, labeled=labeled, listed=True)
    model = DependencySSVM(lam=0.1, labeled=labeled, random_state=0).fit(X, y)
    for truth, marked in ((y, False), (y, True)):
        known = []
        for own in truth:
            heads, labels = own if labeled else (own, None)
            hidden = rng.random(len(heads)) < 0.5
            heads = np.where(hidden, -1 if marked else None, heads)
            known.append((heads.tolist(), labels) if labeled else heads)
        found = model.predict(X, known)
        for block, given, tree in zip(blocks(X, y, np.ones(8), labeled), known, found, strict=True):
            heads, labels = given if labeled else (given, None)
            names = np.searchsorted(NAMES, labels) if labeled else np.zeros(len(heads), int)
            known_codes = [
                None if h in (None, -1) else (h, k) for h, k in zip(heads, names.tolist())
            ]
            right = [
                all(c is None or c == own for c, own in zip(known_codes, zip(*labeling)))
                for labeling in block.labelings
            ]
            scores = np.where(right, block.phi @ model.w_, -np.inf)
            own, names = tree if labeled else (tree, np.resize(NAMES[:1], len(tree)))
            code = tuple(own.tolist()), tuple(np.searchsorted(NAMES, names).tolist())
            assert scores[block.labelings.index(code)] == pytest.approx(scores.max(), abs=1e-12)


def test_sentences_with_unknown_heads_are_removed(rng):
    X, y = make(rng, n=12)
    partly = [truth.copy() for truth in y]
    for truth in partly[::2]:
        truth[rng.integers(len(truth))] = -1
    model = DependencySSVM(lam=0.1, ignore_label=-1, **TIGHT).fit(X, partly)
    dual_qp.check_optimum(model, blocks(X[1::2], y[1::2], np.full(6, 1 / 6)))
    missing = [np.where(truth == -1, np.nan, truth) for truth in partly]
    again = DependencySSVM(lam=0.1, ignore_label=-1, **TIGHT).fit(X, missing)
    np.testing.assert_array_equal(again.w_, model.w_)
    right = [(a == b)[b != -1] for a, b in zip(model.predict(X), partly, strict=True)]
    assert model.score(X, partly) == pytest.approx(np.concatenate(right).mean())
    with pytest.raises(ValueError, match="LatentSSVM completes unknown heads"):
        DependencySSVM(ignore_label=-1).fit(X[::2], partly[::2])


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("labeled", [False, True])
def test_completions_of_unknown_heads(rng, labeled, whole):
    X, y = make(rng, n=10, labeled=labeled)
    partly, in_loss = [], []
    for i, truth in enumerate(y):
        heads = (truth[0] if labeled else truth).copy()
        if i % 2 or not whole:
            heads[rng.integers(len(heads))] = -1
        if not (heads >= 0).any():
            heads = (truth[0] if labeled else truth).copy()
        in_loss.append(heads != -1)
        partly.append((heads, truth[1]) if labeled else heads)
    inner = DependencySSVM(lam=0.1, ignore_label=-1, labeled=labeled, **TIGHT)
    latent = LatentSSVM(inner, tol=0, random_state=0).fit(X, partly)
    best = latent.estimator_
    completed = best.predict(X, partly)
    terms = [
        blocks([x], [truth], [1 / 10], labeled, in_loss=counts)[0]
        for x, truth, counts in zip(X, completed, in_loss, strict=True)
    ]
    assert latent.objective_ == pytest.approx(brute_force.primal(best.w_, 0.1, terms), rel=1e-6)
    assert latent.n_hidden_ == sum(len(own) - own.sum() for own in in_loss)


@pytest.mark.filterwarnings("ignore:X has .* without nodes")
def test_completions_without_a_whole_tree(rng):
    y = [dependency_trees.every(3, False, True)[k] for k in rng.integers(9, size=6)]
    X, partly = [sentence(rng, tree) for tree in y], [np.r_[-1, tree[1:]] for tree in y]
    latent = LatentSSVM(DependencySSVM(lam=0.1, ignore_label=-1, random_state=0)).fit(X, partly)
    again = clone(latent).fit([*X, np.empty((0, 1, 3))], [*partly, []])
    np.testing.assert_array_equal(again.estimator_.w_, latent.estimator_.w_)
    X[4], partly[4] = rng.standard_normal((3, 4, 3)), np.array([2, 1, -1])
    with pytest.raises(ValueError, match=r"arcs of X\[4\] contain no tree .* has the known heads"):
        clone(latent).fit(X, partly)


@pytest.mark.filterwarnings("ignore:X has .* without nodes")
def test_empty_sentences_and_weights_of_zero(rng):
    X, y = make(rng, n=6)
    model = DependencySSVM(lam=0.1, random_state=0).fit(X, y)
    more = [*X, np.empty((0, 1, 3)), rng.standard_normal((2, 3, 3))]
    again = DependencySSVM(lam=0.1, random_state=0).fit(
        more, [*y, [], [2, 0]], [1.0] * 6 + [1.0, 0.0]
    )
    np.testing.assert_array_equal(again.w_, model.w_)
    assert [len(heads) for heads in again.predict(more)[-2:]] == [0, 2]
    assert [table.shape for table in again.decision_function(more)[-2:]] == [(0, 1), (2, 3)]
    assert model.predict([]).shape == (0,)
    with pytest.raises(ValueError, match="no token with a known head"):
        DependencySSVM().fit([np.empty((0, 1, 3))], [[]])
    no_arcs = {"features": np.empty((0, 3)), "arcs": []}
    assert model.predict([no_arcs, X[0]])[0].shape == (0,)


def test_duplicate_entries_of_sparse_features_are_added():
    arcs, features = [[0, 1], [2, 1], [0, 2], [1, 2]], ([1.0, 2.0, 3.0], [0, 0, 1], [0, 0, 2, 3, 3])
    table = sparse.csr_array(features, shape=(4, 2))
    fits = [
        DependencySSVM(lam=0.1, random_state=0).fit([{"features": x, "arcs": arcs}], [[0, 1]])
        for x in (table, sparse.csr_array(table.toarray()))
    ]
    np.testing.assert_array_equal(fits[0].w_, fits[1].w_)
    assert fits[0].w_.any()


def test_new_labels_are_errors(rng):
    X, y = make(rng, labeled=True)
    model = DependencySSVM(labeled=True, lam=0.1, random_state=0).fit(X, y)
    other = [(heads, ["new"] * len(heads)) for heads, _ in y]
    assert model.score(X, other) == 0
    with pytest.raises(ValueError, match=r"y_partial\[0\] has the label .*new.*, expected one of"):
        model.predict(X, other)


def test_warm_starts_continue(rng):
    X, y = make(rng, n=10, labeled=True)
    model = DependencySSVM(labeled=True, lam=0.1, warm_start=True, **TIGHT).fit(X[:8], y[:8])
    model.fit(X, y)
    dual_qp.check_optimum(model, blocks(X, y, np.full(10, 1 / 10), True))
    with pytest.raises(ValueError, match=r"'new'.* Use data with all labels .* in the first fit"):
        model.fit([*X, X[0]], [*y, (y[0][0], ["new"] * len(y[0][0]))])
    model.single_root = False
    with pytest.raises(ValueError, match="warm_start continues"):
        model.fit(X, y)


def test_weights_have_names(rng):
    X, y = make(rng, labeled=True, others=True)
    frame = DependencySSVM(labeled=True, lam=0.1, random_state=0).fit(X, y).to_frame()
    assert frame.kind.tolist() == ["coef"] * 3 + ["label_coef"] * 4
    assert frame.label.tolist()[3:] == ["obj", "obj", "root", "root"]
    assert frame.feature.tolist() == ["x0", "x1", "x2", "x0", "x1", "x0", "x1"]


ONE = np.ones((1, 2, 2))
TWO = np.ones((2, 3, 2))
ARCS = {"features": np.ones((2, 2)), "arcs": [[0, 1], [1, 2]]}
INVALID = {
    "not a list": (ONE[0, 0, 0], [[0]], {}, "X must be a list"),
    "shape": ([np.ones((2, 2, 1))], [[0, 1]], {}, r"X\[0\] has shape \(2, 2, 1\), expected \(tok"),
    "no features": ([np.ones((1, 2, 0))], [[0]], {}, "at least one feature"),
    "key": ([ONE, {"edges": 1, "features": ONE}], [[0]] * 2, {}, r"X\[1\] has unknown keys"),
    "no key": ([{"arcs": []}], [[0]], {}, r"X\[0\] has no 'features'"),
    "nan": ([ONE, np.nan * ONE], [[0]] * 2, {}, r"'features' of X\[1\] contains NaN"),
    "widths": ([ONE, np.ones((1, 2, 3))], [[0]] * 2, {}, r"'features' of X\[1\] has 3 features"),
    "label widths": (
        [{"features": ONE, "label_features": ONE}, ONE], [[0]] * 2, {},
        r"'label_features' of X\[1\] has 0 features",
    ),
    "label rows": (
        [{**ARCS, "label_features": np.ones((3, 1))}], [[0, 1]], {}, "has 3 rows, expected 2",
    ),
    "rows": ([{**ARCS, "arcs": [[0, 1]]}], [[0]], {}, r"shape \(1, 2\), expected \(2, 2\)"),
    "loop": ([{**ARCS, "arcs": [[0, 1], [2, 2]]}], [[0, 1]], {}, r"has \[2, 2\] at 1, expected a"),
    "negative": ([{**ARCS, "arcs": [[0, 1], [-1, 2]]}], [[0, 1]], {}, r"has \[-1, 2\] at 1"),
    "root": ([{**ARCS, "arcs": [[0, 1], [1, 0]]}], [[0, 1]], {}, r"has \[1, 0\] at 1"),
    "fraction": ([{**ARCS, "arcs": [[0, 1], [0.5, 2]]}], [[0, 1]], {}, "must contain integers"),
    "head": ([{**ARCS, "arcs": [[0, 1], [2, 1]]}], [[0]], {}, "head 2, but the sentence has 1"),
    "no arc": (
        [{"features": np.ones((3, 2)), "arcs": [[0, 1], [1, 3], [0, 3]]}], [[0, 1, 1]], {},
        "no arc to token 2",
    ),
    "long": (
        [{"features": np.ones((9000, 1)), "arcs": np.arange(9000)[:, None] + [0, 1]}], [[0]], {},
        r"X\[0\] has 9000 tokens, expected at most 8192",
    ),
    "twice": ([{**ARCS, "arcs": [[0, 1], [0, 1]]}], [[0]], {}, r"contains \[0, 1\] twice"),
    "mixed": (
        [ARCS, {**ARCS, "features": sparse.csr_array(np.ones((2, 2)))}], [[0, 1]] * 2, {},
        r"of X\[1\] is sparse, but that of X\[0\] is dense",
    ),
    "data frame": (
        [TWO], [pd.DataFrame([[0, "root"], [1, "obj"]])], {"labeled": True},
        r"y\[0\] must be a pair \(heads, labels\), since labeled=True, found",
    ),
    "tokens": ([TWO], [[0]], {}, r"y\[0\] has shape \(1,\), expected \(2,\)"),
    "outside": ([TWO], [[0, 3]], {}, r"y\[0\] has the head 3 of token 2, expected another token"),
    "itself": ([TWO], [[0, 2]], {}, r"y\[0\] has the head 2 of token 2"),
    "ignored": ([TWO], [[0, -1]], {}, r"y\[0\] has the head -1 of token 2"),
    "missing": ([TWO], [[0, None]], {}, "The head of a child of the root is 0. Set ignore_label"),
    "cycle": ([TWO, TWO], [[0, 1], [2, 1]], {}, r"y\[1\] has a cycle of heads, from token 1 on"),
    "roots": ([TWO], [[0, 0]], {}, r"y\[0\] has 2 children of the root, but single_root=True"),
    "crossing": (
        [np.ones((4, 5, 1))], [[3, 4, 4, 0]], {"projective": True}, r"y\[0\] is not projective",
    ),
    "forbidden": ([ARCS], [[2, 0]], {}, r"head 2 of token 1, which is not among the arcs"),
    "samples": ([ONE], [[0], [0]], {}, "X has 1 samples but y has 2"),
    "text": ([ONE], [["a"]], {}, r"y\[0\] has dtype"),
    "no pair": ([ONE], [[0]], {"labeled": True}, r"y\[0\] must be a pair \(heads, labels\)"),
    "heads only": (
        [TWO], [[0, 1]], {"labeled": True},
        r"y\[0\]\[0\] has shape \(\), .* with labeled=True, y\[0\] is a pair \(heads, labels\)",
    ),
    "pair per token": (
        [TWO], [[(0, "root"), (1, "obj")]], {"labeled": True},
        r"y\[0\]\[0\] has dtype <U\d+, expected integers: heads, .* is a pair \(heads, labels\)",
    ),
    "labels": (
        [TWO], [([0, 1], ["a"])], {"labeled": True}, r"y\[0\] has 1 labels, expected 2",
    ),
    "label table": (
        [TWO], [([0, 1], np.eye(2))], {"labeled": True}, r"of y\[0\] have shape \(2, 2\), expected",
    ),
    "no label": ([ONE], [([0], [None])], {"labeled": True}, "labels of y.0. at token 1 is None"),
}  # fmt: skip


@pytest.mark.parametrize("case", INVALID)
def test_errors_name_invalid_samples(case):
    X, y, given, message = INVALID[case]
    with pytest.raises((ValueError, TypeError), match=message):
        DependencySSVM(**given).fit(X, y)


def test_error_for_arcs_without_tree(rng):
    X, y = make(rng)
    model = DependencySSVM(lam=0.1, random_state=0).fit(X, y)
    cycle = {"features": np.ones((3, 3)), "arcs": [[2, 1], [1, 2], [0, 3]]}
    with pytest.raises(ValueError, match=r"the arcs of X\[1\] contain no tree with one child of"):
        model.predict([X[0], cycle])
    roots = {"features": np.ones((2, 3)), "arcs": [[0, 1], [0, 2]]}
    with pytest.raises(ValueError, match=r"the arcs of X\[0\] contain no tree"):
        model.predict([roots])
    with pytest.raises(ValueError, match=r"the arcs of X\[0\] contain no tree .*known heads"):
        model.predict([np.ones((2, 3, 3))], [[2, 1]])
    several = DependencySSVM(single_root=False, lam=0.1, random_state=0).fit(X, y)
    assert several.predict([roots])[0].tolist() == [0, 0]
