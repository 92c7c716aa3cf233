"""Test MatchingSSVM against enumeration and the optimum over enumerated matchings."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from sstruct import LatentSSVM, MatchingSSVM, PathCV, ssvm_path
from sstruct._estimators.matching.matching_oracle import best_columns
from sstruct.datasets import make_matchings
from sstruct.solvers import MPBCFW
from tests.estimators.equal import equal
from tests.reference import brute_force, dual_qp, matchings

TIGHT = {"tol": 1e-8, "max_iter": 100_000, "solver": MPBCFW(average=False), "random_state": 0}


def sample(rng, *, most=4, listed=False, sides=False, least=0):
    """Return features of at most `most` rows and columns, in one of the formats of X."""
    shape = tuple(rng.integers(least, most + 1, 2).tolist())
    x = {"features": rng.standard_normal((*shape, 2))}
    if listed:
        allowed = rng.random(shape) < 0.6
        x |= {"features": x["features"][allowed], "pairs": np.argwhere(allowed), "shape": shape}
        order = rng.permutation(len(x["pairs"]))
        x["features"], x["pairs"] = x["features"][order], x["pairs"][order]
    if sides:
        x["unmatched_rows"] = rng.standard_normal((shape[0], 1))
        x["unmatched_columns"] = rng.standard_normal((shape[1], 2))
    return x if len(x) > 1 else x["features"]


def make(rng, n=10, *, allow_unmatched=True, **form):
    """Return samples with random true matchings."""
    X, y = [], []
    while len(X) < n:
        x = sample(rng, **form)
        found = list(matchings.all_matchings(matchings.parts_of(x)[1], allow_unmatched))
        if found and len(found[0]):
            X.append(x)
            y.append(np.array(found[rng.integers(len(found))]))
    return X, y


@pytest.mark.parametrize("allow_unmatched", [True, False])
def test_the_decoder_equals_enumeration(rng, allow_unmatched):
    """Among 1,000 cases there are ties, forbidden pairs, empty sides and known matches."""
    n_solved = n_impossible = 0
    for case in range(1000):
        shape = rng.integers(0, 5, 2)
        gain = rng.integers(-2, 4, shape).astype(float) if case % 2 else rng.normal(size=shape)
        allowed = rng.random(shape) < rng.choice([0.5, 0.8, 1.0])
        gain[~allowed] = -np.inf
        known = np.full(shape[0], -2)
        if case % 3 == 0 and shape.all():
            truth = list(matchings.all_matchings(allowed))
            truth = np.array(truth[rng.integers(len(truth))])
            known = np.where(rng.random(shape[0]) < 0.5, truth, -2)
        values = [
            sum(gain[r, c] for r, c in enumerate(columns) if c >= 0)
            for columns in matchings.all_matchings(allowed, allow_unmatched)
            if ((known == -2) | (known == columns)).all()
        ]
        if not values:
            with pytest.raises(ValueError, match=f"no matching of {min(shape)} pairs"):
                best_columns(gain, allow_unmatched, known)
            n_impossible += 1
            continue
        found = best_columns(gain, allow_unmatched, None if (known == -2).all() else known)
        assert ((known == -2) | (known == found)).all()
        assert tuple(found.tolist()) in set(matchings.all_matchings(allowed, allow_unmatched))
        value = sum(gain[r, c] for r, c in enumerate(found) if c >= 0)
        assert value == pytest.approx(max(values), abs=1e-12)
        n_solved += 1
    assert n_solved > 600
    assert (n_impossible > 50) != allow_unmatched


FORMS = {
    "arrays": {},
    "forbidden pairs": {"listed": True},
    "unmatched features": {"sides": True},
    "all": {"listed": True, "sides": True},
}


@pytest.mark.parametrize("allow_unmatched", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_reaches_the_optimum(rng, form, allow_unmatched):
    X, y = make(rng, allow_unmatched=allow_unmatched, **FORMS[form])
    weights = rng.choice([0.5, 1.0, 3.0], len(X))
    hamming = bool(rng.integers(2))
    model = MatchingSSVM(
        lam=0.1, allow_unmatched=allow_unmatched, loss="hamming" if hamming else "hamming-count",
        **TIGHT,
    ).fit(X, y, weights)  # fmt: skip
    terms = [
        matchings.block(
            i, x, truth, w, allow_unmatched=allow_unmatched, bias=allow_unmatched, hamming=hamming
        )
        for i, (x, truth, w) in enumerate(zip(X, y, weights / weights.sum(), strict=True))
    ]
    dual_qp.check_optimum(model, terms)
    assert model.inference_ == "linear assignment (exact)"
    for block, found in zip(terms, model.predict(X), strict=True):
        scores = block.phi @ model.w_
        assert scores[block.labelings.index(tuple(found))] == pytest.approx(scores.max(), abs=1e-9)


def test_ignored_rows_are_removed(rng):
    X, y = make(rng, n=12, sides=True, least=2)
    for truth in y[::2]:
        truth[rng.integers(len(truth))] = -2
    model = MatchingSSVM(lam=0.1, ignore_label=-2, loss="hamming", **TIGHT).fit(X, y)
    terms = [matchings.block(i, x, t, 1 / 12, hamming=True) for i, (x, t) in enumerate(zip(X, y))]
    dual_qp.check_optimum(model, terms)
    masked = [np.ma.masked_equal(truth, -2) for truth in y]
    missing = [np.where(truth == -2, np.nan, truth) for truth in y]
    for same in (masked, missing):
        again = MatchingSSVM(lam=0.1, ignore_label=-2, loss="hamming", **TIGHT).fit(X, same)
        np.testing.assert_array_equal(again.w_, model.w_)
        assert again.score(X, same) == model.score(X, y)
    right = [(a == b)[b != -2] for a, b in zip(model.predict(X), y, strict=True)]
    assert model.score(X, y) == pytest.approx(np.concatenate(right).mean())


def test_bounds_and_priors_reach_the_optimum(rng):
    X, y = make(rng, sides=True)
    terms = [matchings.block(i, x, truth, 0.1) for i, (x, truth) in enumerate(zip(X, y))]
    d = terms[0].phi.shape[1]
    box = np.array([np.full(d, -np.inf), np.full(d, np.inf)])
    box[1, :2], box[0, -1] = 0.0, 0.1
    model = MatchingSSVM(lam=0.1, bounds=box, **TIGHT).fit(X, y)
    dual_qp.check_optimum(model, terms, box)
    assert (model.coef_ <= 0).all()
    assert model.intercept_[0] >= 0.1
    prior = MatchingSSVM(lam=1.0, **TIGHT).fit(*make(rng, sides=True))
    adapted = MatchingSSVM(lam=0.1, prior=prior, **TIGHT).fit(X, y)
    dual_qp.check_optimum(adapted, terms, prior=prior.w_)


@pytest.mark.parametrize("allow_unmatched", [True, False])
def test_completions_of_unknown_rows(rng, allow_unmatched):
    X, y = make(rng, n=12, least=2, allow_unmatched=allow_unmatched)
    partly = [truth.copy() for truth in y]
    for truth in partly[::2]:
        truth[rng.integers(len(truth))] = -2
    inner = MatchingSSVM(lam=0.1, ignore_label=-2, allow_unmatched=allow_unmatched, **TIGHT)
    if not allow_unmatched:  # samples with more rows than columns have no unknown row
        is_tall = [len(x) > x.shape[1] for x in X]
        partly = [a if tall else b for a, b, tall in zip(y, partly, is_tall, strict=True)]
    latent = LatentSSVM(inner, tol=0, random_state=0).fit(X, partly)
    best = latent.estimator_
    # The last fit takes the completions as true labels; unknown rows have no loss.
    completed = best.predict(X, partly)
    terms = []
    for i, (x, truth, labels) in enumerate(zip(X, completed, partly, strict=True)):
        assert (labels == truth)[labels != -2].all()
        terms.append(
            matchings.block(
                i, x, truth, 1 / 12, allow_unmatched=allow_unmatched, bias=allow_unmatched,
                in_loss=labels != -2,
            )
        )  # fmt: skip
    assert latent.objective_ == pytest.approx(brute_force.primal(best.w_, 0.1, terms), rel=1e-6)
    assert latent.n_hidden_ == sum((labels == -2).sum() for labels in partly)


@pytest.mark.parametrize("init", [{}, {"allow_unmatched": True}], ids=["same", "unmatched"])
def test_completions_by_other_estimators_get_enough_pairs(init):
    X, y = make_matchings(20, missing=0, random_state=0)
    partly = [np.where(np.arange(len(truth)) % 2, truth, -2) for truth in y]
    given = {"ignore_label": -2, "random_state": 0, "allow_unmatched": False}
    model = LatentSSVM(MatchingSSVM(**given), init=MatchingSSVM(**given | init, lam=10.0))
    assert model.fit(X, partly).score(X, y) > 0.95
    partly[3][1] = -1
    with pytest.raises(ValueError, match=r"y\[3\] has . pairs, but allow_unmatched=False requires"):
        model.fit(X, partly)


def test_known_matches_are_kept(rng):
    X, y = make(rng, n=8, listed=True, sides=True)
    model = MatchingSSVM(lam=0.1, random_state=0).fit(X, y)
    known = [np.where(rng.random(len(truth)) < 0.5, truth, -2) for truth in y]
    found = model.predict(X, known)
    for x, given, columns in zip(X, known, found, strict=True):
        parts = matchings.parts_of(x)
        scores = {
            each: matchings.joint_feature(parts, each, True) @ model.w_
            for each in matchings.all_matchings(parts[1])
            if ((given == -2) | (given == each)).all()
        }
        assert scores[tuple(columns)] == pytest.approx(max(scores.values()), abs=1e-12)
    objects = [[None if c == -2 else c for c in given] for given in known]
    assert equal(model.predict(X, objects), found)


def test_listed_pairs_are_the_same_as_an_array(rng):
    X, y = make(rng, sides=False, least=1)
    lists = []
    for x in X:
        pairs = rng.permutation(np.argwhere(np.ones(x.shape[:2])))
        lists.append({"features": x[tuple(pairs.T)], "pairs": pairs, "shape": x.shape[:2]})
    one, other = (MatchingSSVM(random_state=0).fit(samples, y) for samples in (X, lists))
    np.testing.assert_array_equal(one.w_, other.w_)
    assert equal(one.predict(X), other.predict(lists))


@pytest.mark.filterwarnings("ignore:X has .* without nodes")
def test_empty_samples(rng):
    X, y = make(rng, n=4)
    model = MatchingSSVM(lam=0.1, random_state=0).fit(X, y)
    X += [np.empty((0, 3, 2)), np.empty((2, 0, 2)), np.empty((0, 0, 2))]
    y += [[], [-1, -1], []]
    again = MatchingSSVM(lam=0.1, random_state=0).fit(X, y)
    found = again.predict(X)
    assert [len(columns) for columns in found[-3:]] == [0, 2, 0]
    assert found[-2].tolist() == [-1, -1]
    assert model.predict([]).shape == (0,)
    alone = MatchingSSVM().fit([np.empty((2, 0, 2))], [[-1, -1]])  # with lam="auto"
    assert alone.predict(X[:1])[0].shape == y[0].shape
    with pytest.raises(ValueError, match="no row with a known column"):
        MatchingSSVM().fit([np.empty((0, 3, 2))], [[]])


def test_the_bias_decides_which_rows_are_unmatched():
    X, y = [np.array([[[0.0], [3.0]], [[3.0], [2.0]]])] * 2, [[0, -1]] * 2
    model = MatchingSSVM(lam=1e-4, random_state=0).fit(X, y)
    assert model.predict(X)[0].tolist() == [0, -1]
    assert model.coef_[0] < 0
    assert -3 * abs(model.coef_[0]) < model.intercept_[0] < 0
    without = MatchingSSVM(fit_intercept=False, lam=1e-4, random_state=0).fit(X, y)
    assert len(without.w_) == 1
    assert without.intercept_.tolist() == [0.0]


def test_learns_to_match():
    X, y = make_matchings(120, random_state=0)
    model = MatchingSSVM(random_state=0).fit(X[:60], y[:60])
    assert model.score(X[60:], y[60:]) > 0.95
    assert (model.coef_ < 0).all()
    search = PathCV(MatchingSSVM(random_state=0), cv=3).fit(X[:60], y[:60])
    assert search.score(X[60:], y[60:]) > 0.95
    path = ssvm_path(MatchingSSVM(random_state=0), X[:20], y[:20], lam_min=0.01)
    assert path.guarantee_ == "certified"


@pytest.mark.parametrize("max_distance", [None, 0.3])
def test_scores_of_pairs_determine_the_matching(max_distance):
    X, y = make_matchings(40, max_distance=max_distance, random_state=0)
    model = MatchingSSVM(random_state=0).fit(X[:20], y[:20])
    found = model.decision_function(X[20:])
    for x, gain, columns in zip(X[20:], found, model.predict(X[20:]), strict=True):
        rows, best = linear_sum_assignment(np.maximum(gain, 0), maximize=True)
        matched = gain[rows, best] > 0
        expected = np.full(len(gain), -1)
        expected[rows[matched]] = best[matched]
        np.testing.assert_array_equal(columns, expected)
        if max_distance is None:
            np.testing.assert_allclose(gain, x @ model.coef_ - model.intercept_)
        else:
            assert np.isfinite(gain).sum() == len(x["pairs"])


def test_methods_that_are_missing_name_alternatives():
    with pytest.raises(AttributeError, match=r"MatchingSSVM has no predict_top_k: .* ChainSSVM"):
        MatchingSSVM().predict_top_k([], 2)
    with pytest.raises(AttributeError, match=r"decision_function returns scores"):
        MatchingSSVM().predict_proba([])
    assert not hasattr(MatchingSSVM(), "predict_top_k")


def test_weights_have_names(rng):
    model = MatchingSSVM(lam=0.1, random_state=0).fit(*make(rng, sides=True))
    frame = model.to_frame(["near", "alike"])
    assert frame.kind.tolist() == [
        *["coef"] * 2, "unmatched_row", *["unmatched_column"] * 2, "intercept",
    ]  # fmt: skip
    assert frame.feature.tolist()[:5] == ["near", "alike", "row0", "column0", "column1"]
    np.testing.assert_array_equal(frame.weight, model.w_)
    assert model.unmatched_row_coef_.shape == (1,)
    assert model.unmatched_column_coef_.shape == (2,)


PAIR = {"features": np.ones((1, 2)), "pairs": [[0, 0]], "shape": (1, 1)}
ONE = np.ones((1, 1, 2))
INVALID = {
    "not a list": (ONE[0, 0, 0], [[0]], "X must be a list"),
    "one sample": (ONE, [[0]], r"X\[0\] has features of shape \(1, 2\)"),
    "no features": ([np.ones((1, 1, 0))], [[0]], "at least one feature"),
    "sparse": ([sparse.csr_array(np.ones((2, 2)))], [[0, 1]], r"'features' of X\[0\]"),
    "key": ([PAIR, {"edges": 1, **PAIR}], [[0]] * 2, r"X\[1\] has unknown keys \['edges'\]"),
    "no key": ([{"pairs": []}], [[0]], r"X\[0\] has no 'features'"),
    "no shape": ([{**PAIR, "shape": None}], [[0]], r"X\[0\] has 'pairs' but no 'shape'"),
    "bad shape": ([{**PAIR, "shape": (1, -1)}], [[0]], "'shape' of X.0. must be two integers"),
    "other shape": ([{"features": ONE, "shape": (2, 1)}], [[0]], r"differs from \(1, 1\)"),
    "outside": ([{**PAIR, "pairs": [[0, 1]]}], [[0]], r"has \[0, 1\] at 0, but .* 1 rows"),
    "twice": (
        [{"features": np.ones((2, 2)), "pairs": [[0, 0]] * 2, "shape": (1, 1)}], [[0]],
        r"contains \[0, 0\] twice",
    ),
    "fraction": ([{**PAIR, "pairs": [[0, 0.5]]}], [[0]], "'pairs' of X.0. must contain integers"),
    "too many pairs": ([{**PAIR, "pairs": [[0, 0]] * 2}], [[0]], r"expected \(1, 2\)"),
    "nan": ([ONE, np.nan * ONE], [[0]] * 2, r"'features' of X\[1\] contains NaN"),
    "widths": ([ONE, np.ones((1, 1, 3))], [[0]] * 2, r"'features' of X\[1\] has 3 features"),
    "side": (
        [{"features": ONE, "unmatched_rows": np.ones((2, 1))}], [[0]], r"expected \(1, n_features\)"
    ),
    "sides": (
        [{"features": ONE, "unmatched_columns": np.ones((1, 1))}, ONE], [[0]] * 2,
        r"'unmatched_columns' of X\[1\] has 0 features per item, expected 1",
    ),
    "column": ([ONE], [[1]], r"y\[0\] matches row 0 to column 1, expected 0 to 0"),
    "ignored": ([ONE], [[-2]], r"y\[0\] matches row 0 to column -2"),
    "one column": ([np.ones((2, 1, 2))], [[0, 0]], "both row 0 and row 1 to column 0"),
    "forbidden": (
        [{**PAIR, "shape": (1, 2)}], [[1]], "row 0 to column 1, which is not among the pairs"
    ),
    "length": ([ONE], [[0, 1]], r"y\[0\] has shape \(2,\), expected \(1,\)"),
    "missing": ([ONE], [[None]], "An unmatched row is -1. Set ignore_label"),
    "samples": ([ONE], [[0], [0]], "X has 1 samples but y has 2"),
    "text": ([ONE], [["a"]], r"y\[0\] has dtype"),
}  # fmt: skip


@pytest.mark.parametrize("case", INVALID)
def test_errors_name_invalid_samples(case):
    X, y, message = INVALID[case]
    with pytest.raises((ValueError, TypeError), match=message):
        MatchingSSVM().fit(X, y)


def test_sizes_that_are_required(rng):
    with pytest.raises(
        ValueError, match=r"y\[0\] has 0 pairs, but allow_unmatched=False requires 1"
    ):
        MatchingSSVM(allow_unmatched=False).fit([ONE], [[-1]])
    model = MatchingSSVM(allow_unmatched=False, lam=0.1).fit([ONE], [[0]])
    impossible = {"features": np.ones((2, 2)), "pairs": [[0, 0], [1, 0]], "shape": (2, 2)}
    with pytest.raises(ValueError, match=r"X\[1\]: the pairs allow no matching of 2 pairs"):
        model.predict([ONE, impossible])
    with pytest.raises(
        ValueError, match=r"'features' of X\[0\] has 1 features per item, expected 2"
    ):
        model.predict([np.ones((1, 1, 1))])
    model._w = model._w * 0 + 1e308
    with pytest.raises(
        ValueError, match=r"X\[0\]: the scores of pairs exceed the range of float64"
    ):
        model.predict([[100 * ONE[0]]])
    with pytest.raises(ValueError, match="range of float64"):
        MatchingSSVM(lam=1e-300, solver="ssg", max_iter=5).fit([1e50 * ONE], [[-1]])
