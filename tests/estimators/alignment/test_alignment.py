"""Test AlignmentSSVM against enumeration and the optimum over enumerated alignments."""

import numpy as np
import pytest
from scipy import sparse

from sstruct import AlignmentSSVM, LatentSSVM, PathCV, ssvm_path
from sstruct.datasets import make_alignments
from sstruct.inference import align
from sstruct.solvers import MPBCFW
from tests.estimators.equal import equal
from tests.reference import alignments, brute_force, dual_qp

TIGHT = {"tol": 1e-8, "max_iter": 100_000, "solver": MPBCFW(average=False), "random_state": 0}
SYMBOLS = ["a", "b", "c"]


def sample(rng, form, least=0):
    """Return a sample of at most 4 positions per sequence, in one of the forms of X."""
    pair = tuple("".join(rng.choice(SYMBOLS, size)) for size in rng.integers(least, 5, 2))
    features = rng.standard_normal((*map(len, pair), 2))
    if form == "sequences":
        return pair
    return features if form == "features" else {"sequences": pair, "features": features}


def make(rng, form="sequences", n=10, least=0):
    """Return samples with random true alignments; all symbols occur in the first sample."""
    X, y = [], []
    for i in range(n):
        x = sample(rng, form, least)
        if i == 0:
            X0 = {"sequences": ("abc", "cba"), "features": rng.standard_normal((3, 3, 2))}
            x = {"sequences": X0["sequences"], "features": X0["features"], "both": X0}[form]
        found = list(alignments.every(*alignments.parts_of(x)[0].shape[:2]))
        X.append(x)
        y.append(np.array(found[rng.integers(len(found))], dtype=int))
    return X, y


def form_of(model, form):
    """Return the arguments of the definition for the parameters of a model."""
    return {
        "symbols": None if form == "features" else SYMBOLS,
        "symmetric": model.symmetric,
        "bias": form == "features" and model.fit_intercept,
        "local": model.method == "local",
    }


def box_of(model):
    """Return the bounds: weights of gaps are not positive."""
    box = np.array([np.full(len(model.w_), -np.inf), np.full(len(model.w_), np.inf)])
    box[1, -2 if model.symmetric else -4 :] = 0
    return box


def definition(model, form, X, y, weights=None, **options):
    weights = np.full(len(X), 1 / len(X)) if weights is None else weights / weights.sum()
    given = form_of(model, form) | options
    return [
        alignments.block(i, x, truth, weight, **given)
        for i, (x, truth, weight) in enumerate(zip(X, y, weights, strict=True))
        if len(truth)
    ]


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("method", ["global", "local"])
@pytest.mark.parametrize("form", ["sequences", "features", "both"])
def test_reaches_the_optimum(rng, form, method, symmetric):
    X, y = make(rng, form, least=1)
    weights = rng.choice([0.5, 1.0, 3.0], len(X))
    hamming = bool(rng.integers(2))
    model = AlignmentSSVM(
        lam=0.1, method=method, symmetric=symmetric,
        loss="hamming" if hamming else "hamming-count", **TIGHT,
    ).fit(X, y, weights)  # fmt: skip
    terms = definition(model, form, X, y, weights, hamming=hamming)
    dual_qp.check_optimum(model, terms, box_of(model))
    assert (model.gap_open_coef_ <= 0).all()
    assert (model.gap_extend_coef_ <= 0).all()
    name = {"global": "Needleman-Wunsch", "local": "Smith-Waterman"}[method]
    assert model.inference_ == f"{name} (exact)"
    for block, found in zip(terms, model.predict(X), strict=True):
        scores = block.phi @ model.w_
        assert scores[block.labelings.index(tuple(found))] == pytest.approx(scores.max(), abs=1e-9)


def test_gap_weights_reach_their_bound(rng):
    """Unaligned rows would make the weights of gaps positive without the bounds."""
    X, y = [("ab", "ab")] * 4, [[-1, -1]] * 4
    model = AlignmentSSVM(lam=0.01, **TIGHT).fit(X, y)
    assert model.gap_open_coef_.tolist() == model.gap_extend_coef_.tolist() == [0, 0]
    assert model.predict(X)[0].tolist() == [-1, -1]
    assert (model.substitution_coef_[[0, 1], [0, 1]] < 0).all()


def test_bounds_and_priors_reach_the_optimum(rng):
    X, y = make(rng, "both", least=1)
    free = AlignmentSSVM(lam=0.1, **TIGHT).fit(X, y)
    box = box_of(free)
    box[0, -2:], box[1, 0], box[1, -1] = -0.05, 0.02, 5.0
    model = AlignmentSSVM(lam=0.1, bounds=box, **TIGHT).fit(X, y)
    box[1, -1] = 0
    dual_qp.check_optimum(model, definition(model, "both", X, y), box)
    prior = AlignmentSSVM(lam=1.0, **TIGHT).fit(*make(rng, "both", least=1))
    adapted = AlignmentSSVM(lam=0.1, prior=prior, **TIGHT).fit(X, y)
    terms = definition(adapted, "both", X, y)
    dual_qp.check_optimum(adapted, terms, box_of(model), prior=prior.w_)


def test_symbols_of_the_prior_are_kept():
    X, y = [("abcd", "abcd")] * 3, [[0, 1, 2, 3]] * 3
    prior = AlignmentSSVM(lam=0.1, random_state=0).fit(X, y)
    adapted = AlignmentSSVM(lam=10.0, prior=prior, random_state=0).fit([("ab", "ab")], [[1, -1]])
    assert adapted.symbols_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(
        adapted.substitution_coef_[2:, 2:], prior.substitution_coef_[2:, 2:]
    )
    assert adapted.substitution_coef_[0, 0] < prior.substitution_coef_[0, 0]
    with pytest.raises(ValueError, match="but the prior was fitted with method='global'"):
        AlignmentSSVM(method="local", prior=prior).fit(X, y)


@pytest.mark.parametrize("method", ["global", "local"])
def test_completions_of_unknown_rows(rng, method):
    X, y = make(rng, n=12, least=2)
    partly = [truth.copy() for truth in y]
    for truth in partly[::2]:
        truth[rng.integers(len(truth))] = -2
    inner = AlignmentSSVM(lam=0.1, ignore_label=-2, method=method, **TIGHT)
    with pytest.raises(ValueError, match=r"y\[0\] has no column of row .*, which LatentSSVM"):
        inner.fit(X, partly)
    latent = LatentSSVM(inner, tol=0, random_state=0).fit(X, partly)
    best = latent.estimator_
    # The last fit takes the completions as true labels; unknown rows have no loss.
    completed = best.predict(X, partly)
    terms = []
    for i, (x, truth, labels) in enumerate(zip(X, completed, partly, strict=True)):
        assert (labels == truth)[labels != -2].all()
        given = form_of(best, "sequences")
        terms.append(alignments.block(i, x, truth, 1 / 12, in_loss=labels != -2, **given))
    assert latent.objective_ == pytest.approx(brute_force.primal(best.w_, 0.1, terms), rel=1e-6)
    right = [(a == b)[b != -2] for a, b in zip(best.predict(X), partly, strict=True)]
    assert best.score(X, partly) == pytest.approx(np.concatenate(right).mean())


@pytest.mark.filterwarnings("ignore:X has .* without nodes")
@pytest.mark.parametrize("method", ["global", "local"])
def test_known_columns_are_kept(rng, method):
    X, y = make(rng, "both", n=8)
    model = AlignmentSSVM(lam=0.1, random_state=0, method=method).fit(X, y)
    known = [np.where(rng.random(len(truth)) < 0.5, truth, -2) for truth in y]
    found = model.predict(X, known)
    given = form_of(model, "both")
    for x, partial, columns in zip(X, known, found, strict=True):
        n, m, _ = x["features"].shape
        scores = {
            each: alignments.joint_feature(x, each, **given) @ model.w_
            for each in alignments.every(n, m)
            if ((partial == -2) | (partial == each)).all()
        }
        assert scores[tuple(columns)] == pytest.approx(max(scores.values()), abs=1e-12)
    objects = [[None if c == -2 else c for c in partial] for partial in known]
    assert equal(model.predict(X, objects), found)


@pytest.mark.filterwarnings("ignore:X has .* without nodes")
def test_forms_of_sequences_and_alignments_are_equivalent(rng):
    X, y = make(rng, n=12)
    model = AlignmentSSVM(lam=0.1, random_state=0).fit(X, y)
    codes = [tuple(np.array([*own], dtype="U1").view(np.uint32) for own in pair) for pair in X]
    pairs = [np.stack([np.flatnonzero(c >= 0), c[c >= 0]], axis=1) for c in y]
    for samples, truths in [
        (codes, pairs),
        ([{"sequences": [[*a], [*b]]} for a, b in X], [p.tolist() for p in pairs]),
        (np.array(X), y),
        ([[*pair] for pair in X], [c.astype(float) for c in y]),
    ]:
        same = AlignmentSSVM(lam=0.1, random_state=0).fit(samples, truths)
        np.testing.assert_array_equal(same.w_, model.w_)
        assert same.score(samples, truths) == model.score(X, y)


def test_lam_auto_matches_one_hot_features(rng):
    """Symbols have the scale of features that indicate pairs of symbols."""
    X, y = make(rng, n=12, least=1)
    indicators = []
    for a, b in X:
        table = np.zeros((len(a), len(b), 9))
        for r, first in enumerate(a):
            for c, second in enumerate(b):
                table[r, c, 3 * SYMBOLS.index(first) + SYMBOLS.index(second)] = 1
        indicators.append(table)
    weights = rng.choice([0.0, 1.0, 2.0], 12)
    weights[0] = 1
    given = {"symmetric": False, "fit_intercept": False, "random_state": 0}
    one = AlignmentSSVM(**given).fit(X, y, weights)
    other = AlignmentSSVM(**given).fit(indicators, y, weights)
    both = [{"sequences": x, "features": f} for x, f in zip(X, indicators, strict=True)]
    assert one.lam_ == pytest.approx(other.lam_, rel=1e-12)
    assert AlignmentSSVM(**given).fit(both, y, weights).lam_ > 1.5 * one.lam_


@pytest.mark.filterwarnings("ignore:X has .* without nodes")
def test_empty_sequences(rng):
    X, y = make(rng, n=4)
    X += [("", "abc"), ("ab", ""), ("", "")]
    y += [[], [-1, -1], []]
    model = AlignmentSSVM(lam=0.1, random_state=0).fit(X, y)
    found = model.predict(X)
    assert [len(columns) for columns in found[-3:]] == [0, 2, 0]
    assert found[-2].tolist() == [-1, -1]
    assert model.predict([]).shape == (0,)
    with pytest.raises(ValueError, match="no row with a known column"):
        AlignmentSSVM().fit([("", "ab")], [[]])
    alone = AlignmentSSVM().fit([("ab", "")], [[-1, -1]])
    assert alone.predict([("ab", "")])[0].tolist() == [-1, -1]


def test_unknown_symbols_have_no_weight(rng):
    X, y = [("abab", "abab"), ("bb", "b")], [[0, 1, 2, 3], [0, -1]]
    model = AlignmentSSVM(lam=0.1, random_state=0).fit(X, y)
    assert model.symbols_.tolist() == ["a", "b"]
    found = model.predict([("azb", "ab"), ("zz", "zzz")])
    of_pair = np.pad(model.substitution_coef_, (0, 1))
    gaps = model.gap_open_coef_, model.gap_extend_coef_
    np.testing.assert_array_equal(found[0], align(of_pair[[0, 2, 1]][:, :2], *gaps)[0])
    np.testing.assert_array_equal(found[1], align(np.zeros((2, 3)), *gaps)[0])
    # Symbols of samples of weight 0 are unknown, too.
    same = AlignmentSSVM(lam=0.1, random_state=0).fit([*X, ("zz", "az")], [*y, [0, 1]], [1, 1, 0])
    np.testing.assert_array_equal(same.w_, model.w_)


def test_learns_to_align():
    for method, n_flanking in [("global", 0), ("local", 8)]:
        X, y = make_alignments(120, n_flanking=n_flanking, random_state=0)
        model = AlignmentSSVM(method=method, random_state=0).fit(X[:60], y[:60])
        assert model.score(X[60:], y[60:]) > 0.85
        same = model.substitution_coef_.diagonal().mean()
        assert same > model.substitution_coef_.mean() + 1
    search = PathCV(AlignmentSSVM(random_state=0), cv=3).fit(X[:30], y[:30])
    assert search.score(X[60:], y[60:]) > 0.6
    path = ssvm_path(AlignmentSSVM(random_state=0), X[:8], y[:8], lam_min=0.1)
    assert path.guarantee_ == "certified"


@pytest.mark.parametrize("method", ["global", "local"])
def test_scores_of_pairs_determine_the_alignment(method):
    X, y = make_alignments(30, random_state=0)
    model = AlignmentSSVM(method=method, random_state=0).fit(X[:20], y[:20])
    gaps = tuple(model.gap_open_coef_), tuple(model.gap_extend_coef_)
    for scores, columns in zip(model.decision_function(X[20:]), model.predict(X[20:]), strict=True):
        np.testing.assert_array_equal(align(scores, *gaps, method=method)[0], columns)


def test_partial_fit_in_two_calls_equals_one_call(rng):
    X, y = make(rng, n=12, least=1)
    one = AlignmentSSVM(solver="perceptron").partial_fit(X, y)
    two = AlignmentSSVM(solver="perceptron").partial_fit(X[:6], y[:6]).partial_fit(X[6:], y[6:])
    np.testing.assert_array_equal(one.w_, two.w_)


@pytest.mark.filterwarnings("ignore:X has .* without nodes")
def test_weights_have_names(rng):
    X, y = make(rng, "both")
    model = AlignmentSSVM(lam=0.1, symmetric=False, random_state=0).fit(X, y)
    frame = model.to_frame(["near", "alike"])
    assert frame.kind.tolist() == [
        *["coef"] * 2, *["substitution"] * 9, *["gap_open"] * 2, *["gap_extend"] * 2,
    ]  # fmt: skip
    assert frame.feature.tolist()[:2] == ["near", "alike"]
    assert frame["first"].tolist()[2:11] == [*"aaabbbccc"]
    assert frame["second"].tolist()[2:11] == [*"abcabcabc"]
    assert frame.sequence.tolist()[11:] == ["first", "second"] * 2
    np.testing.assert_array_equal(frame.weight, model.w_)
    np.testing.assert_array_equal(model.substitution_coef_.ravel(), model.w_[2:11])
    np.testing.assert_array_equal(model.gap_extend_coef_, model.w_[-2:])
    tied = AlignmentSSVM(lam=0.1, random_state=0).fit(X, y)
    frame = tied.to_frame()
    assert ("".join(frame["first"][2:8]), "".join(frame["second"][2:8])) == ("aaabbc", "abcbcc")
    table = tied.substitution_coef_
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(table[np.triu_indices(3)], tied.w_[2:8])
    gaps = tied.gap_open_coef_
    np.testing.assert_array_equal(tied.set_params(symmetric=False).gap_open_coef_, gaps)
    without = AlignmentSSVM(lam=0.1).fit(*make(rng, "features", least=1))
    assert not hasattr(without, "symbols_")
    assert without.substitution_coef_.shape == (0, 0)
    assert len(without.w_) == 5


ONE = np.ones((1, 1, 2))
INVALID = {
    "large": ([("ab", "ab")], [[[2**31, 0]]], r"y\[0\] contains 2147483648, expected integers"),
    "not a list": ("a", [[0]], "X must be a list"),
    "one sample": (("ab", "ab"), [[0]], r"X\[0\]"),
    "one pair": (np.ones((2, 2, 2)), [[0]] * 2, r"X\[0\] has features of shape \(2, 2\)"),
    "no features": ([np.ones((1, 1, 0))], [[0]], "at least one feature"),
    "three": ([("a", "b", "c")], [[0]], r"'sequences' of X\[0\] has 3 sequences, expected two"),
    "number": ([("a", 3)], [[0]], r"X\[0\]\[1\] must be a sequence"),
    "numbers": ([([0.5], [1.0])], [[0]], r"X\[0\]\[0\] must be a sequence of symbols"),
    "missing": ([(["a", None], "b")], [[0, -1]], r"X\[0\]\[0\] at position 1 is None"),
    "nested": ([([["a"]], "b")], [[0]], r"X\[0\]\[0\]"),
    "set": ([({"a"}, "b")], [[0]], r"X\[0\]\[0\] must be a sequence of labels"),
    "key": ([{"sequence": ("a", "b")}], [[0]], r"X\[0\] has unknown keys \['sequence'\]"),
    "no key": ([{}], [[0]], r"X\[0\] has none of sequences, features"),
    "string": ([{"sequences": "ab"}], [[0]], r"must be two sequences, found str"),
    "nan": ([ONE, np.nan * ONE], [[0]] * 2, r"'features' of X\[1\] contains NaN"),
    "strings": (["ab", "ab"], [[0, 1]] * 2, r"X\[0\] is a string, .* X = \[\(first, second\)\]"),
    "sparse": ([sparse.csr_array(np.ones((2, 2)))], [[0, 1]], r"'features' of X\[0\]"),
    "widths": ([ONE, np.ones((1, 1, 3))], [[0]] * 2, r"X\[1\] has 3 features per pair, expected 2"),
    "kinds": ([("a", "b"), ONE], [[0]] * 2, r"X\[1\] has no sequences of symbols, expected seq"),
    "lengths": (
        [{"sequences": ("ab", "a"), "features": ONE}], [[0, -1]], r"expected \(2, 1, 'n_features'\)"
    ),
    "column": ([ONE], [[1]], r"y\[0\] aligns row 0 to column 1, .* 0 to 0, -1 if the row is unal"),
    "ignored": ([ONE], [[-2]], r"y\[0\] aligns row 0 to column -2"),
    "crossing": ([("ab", "ab")], [[1, 0]], "row 0 to column 1 and row 1 to column 0, expected inc"),
    "twice": ([("ab", "ab")], [[1, 1]], "row 0 to column 1 and row 1 to column 1"),
    "crossing pairs": ([("ab", "ab")], [[[0, 1], [1, 0]]], r"pairs \[0, 1\] and \[1, 0\], exp"),
    "far pair": ([("ab", "ab")], [[[0, 0], [2, 1]]], r"pair \[2, 1\], but .* 2 and 2 positions"),
    "negative pair": ([("ab", "ab")], [[[-1, 0]]], "negative position"),
    "triples": ([("ab", "ab")], [[[0, 0, 0]]], r"shape \(1, 3\), expected \(n_pairs, 2\)"),
    "length": ([ONE], [[0, 1]], r"y\[0\] has shape \(2,\), expected \(1,\)"),
    "unknown": ([ONE], [[None]], "An unaligned row is -1. LatentSSVM"),
    "samples": ([ONE], [[0], [0]], "X has 1 samples but y has 2"),
    "text": ([ONE], [["a"]], r"y\[0\] has dtype"),
}  # fmt: skip


@pytest.mark.parametrize("case", INVALID)
def test_errors_name_invalid_samples(case):
    X, y, message = INVALID[case]
    with pytest.raises((ValueError, TypeError), match=message):
        AlignmentSSVM().fit(X, y)


def test_models_require_the_same_form(rng):
    model = AlignmentSSVM(lam=0.1).fit(*make(rng, least=1))
    with pytest.raises(ValueError, match=r"X\[0\] has no sequences of symbols"):
        model.predict([ONE])
    with pytest.raises(ValueError, match=r"X\[0\] has 2 features per pair, expected 0"):
        model.predict([{"sequences": ("a", "b"), "features": ONE}])
    long = np.broadcast_to(np.int8(0), 2**16)
    with pytest.raises(ValueError, match=r"X\[1\] has 65536 x 65536 pairs of positions"):
        model.predict([("a", "b"), (long, long)])
    with pytest.raises(ValueError, match="range of float64"):
        AlignmentSSVM(lam=1e-300, solver="ssg", max_iter=5).fit([1e50 * ONE], [[-1]])


def test_partial_alignments_are_not_pairs():
    """Pairs cannot distinguish unaligned rows from unknown ones."""
    model = AlignmentSSVM(lam=1.0).fit([("ab", "ab")], [[0, 1]])
    with pytest.raises(ValueError, match=r"y_partial\[0\] has shape \(1, 2\), expected \(3,\)"):
        model.predict([("aab", "aab")], [[(0, 0)]])


def test_the_number_of_symbols_is_limited():
    words = [f"w{k}" for k in range(2**14 + 1)]
    with pytest.raises(ValueError, match="16385 distinct symbols, expected at most 16384"):
        AlignmentSSVM(lam=1.0).fit([(words, words[:1])], [[0] + [-1] * 2**14])
