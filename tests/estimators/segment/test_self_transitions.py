"""SegmentSSVM whose adjacent segments may have the same label, against enumerated segmentations."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator

from sstruct import LatentSSVM, SegmentSSVM, ssvm_path
from sstruct.calibration import CalibratedSSVM, ConformalSSVM
from sstruct.solvers import MPBCFW
from tests.options import solver_with
from tests.reference import brute_force, dual_qp, segments

TIGHT = {"tol": 1e-8, "max_iter": 100_000, "solver": MPBCFW(average=False), "random_state": 0}
K = 3


def codes_of(length, least=(1,) * K, most=(99,) * K):
    """The codes of all allowed segmentations."""
    return [
        code
        for labels in brute_force.labelings(length, brute_force.Model(K))
        for code in segments.with_splits(labels, K)
        if segments.is_within(code, True, True, least, most)
    ]


def make(rng, n=8, lengths=(4, 3, 5, 2), limits=()):
    """Noisy sequences, codes of segmentations, and their spans."""
    X, codes = [], []
    for i in range(n):
        found = codes_of(lengths[i % len(lengths)], *limits)
        code = np.array(found[rng.integers(len(found))])
        X.append(rng.standard_normal((len(code), 2)) + 0.5 * (code % K)[:, np.newaxis])
        codes.append(code)
    if not any((code >= K).any() for code in codes):
        return make(rng, n, lengths, limits)
    return X, codes, [spans_of(code) for code in codes]


def spans_of(code):
    """The spans of a code; -1 is a span of one node."""
    out, first = [], 0
    for stop in [*np.flatnonzero(np.array(code) < 0).tolist(), len(code)]:
        known = segments.runs([int(k) for k in code[first:stop]], K)
        out += [(first + a, first + b, k) for a, b, k in known]
        if stop < len(code):
            out.append((stop, stop + 1, -1))
        first = stop + 1
    return out


def score_of(model, x, code):
    """The score of a segmentation, from the definition of its features."""
    chain = brute_force.joint_feature(x, segments.labels_of(code, K), brute_force.Model(K))
    chain = segments.with_split_counts(chain, code, brute_force.Model(K))
    bins = model.duration_bins_
    return np.r_[chain, segments.durations_of(code, True, True, bins, K)] @ model.w_


def enumerated(model, x, least=(1,) * K, most=(99,) * K):
    codes = codes_of(len(x), least, most)
    return codes, np.array([score_of(model, x, code) for code in codes])


CASES = {
    "bins": {"duration_bins": [1, 2, 4]},
    "no weights": {"duration_bins": None},
    "minimum": {"duration_bins": [1, 3], "min_duration": [2, 1, 1]},
    "limits": {"duration_bins": [1, 2], "min_duration": [1, 2, 1], "max_duration": [3, None, 2]},
    "no transitions": {"duration_bins": [1, 2], "transitions": False},
    "groups": {"duration_bins": [1, 2], "transitions": [[0, 1, 1], [1, 0, 1], [-1, 1, 2]]},
    "features": {"duration_bins": [1, 2], "segment_features": ["mean", "last"]},
    "segments": {"duration_bins": [1, 2], "loss": "segments"},
    "boundaries": {"duration_bins": None, "loss": "boundaries", "tolerance": 1},
    "balanced": {"duration_bins": [1, 2], "loss": "balanced"},
}


@pytest.mark.parametrize("ignored", [False, True], ids=["labeled", "ignored"])
@pytest.mark.parametrize("case", CASES)
def test_reaches_the_optimum(rng, case, ignored):
    parameters = CASES[case]
    least = np.broadcast_to(parameters.get("min_duration", 1), K)
    most = [99 if each is None else each for each in parameters.get("max_duration") or [99] * K]
    X, codes, spans = make(rng, limits=(least, most))
    if ignored:
        for i, l in ((0, 2), (2, 1), (4, 0)):
            after = l + 1
            if after < len(codes[i]) and codes[i][after] >= K:  # a segment after an unknown label
                codes[i][after] -= K
            codes[i][l] = -1
            spans[i] = spans_of(codes[i])
    weights = rng.choice([0.5, 1.0, 3.0], len(X))
    model = SegmentSSVM(
        self_transitions=True, pairwise_scale=1, lam=0.1, ignore_label=-1, classes=[0, 1, 2],
        **TIGHT, **parameters,
    ).fit(X, spans, weights)  # fmt: skip
    transitions = parameters.get("transitions", True)
    groups = None if isinstance(transitions, bool) else np.array(transitions)
    reference = brute_force.Model(K, transitions=transitions is not False, groups=groups)
    kinds = parameters.get("segment_features", ())
    terms = segments.blocks(
        X, codes, reference, parameters["duration_bins"] or (), least, most, weights=weights,
        kinds=kinds, loss=parameters.get("loss"), tolerance=parameters.get("tolerance"),
        splits=True,
    )  # fmt: skip
    dual_qp.check_optimum(model, terms)
    assert model.self_transition_coef_.shape == (K,)
    assert transitions is False or model.self_transition_coef_.any()
    for labels, own in zip(model.predict(X), model.predict_spans(X), strict=True):
        assert np.concatenate([[k] * (b - a) for a, b, k in own]).tolist() == labels.tolist()


@pytest.fixture(scope="module")
def fitted():
    limits = {"min_duration": [2, 1, 1], "max_duration": [None, None, 3]}
    X, _, spans = make(np.random.default_rng(0), 30, limits=((2, 1, 1), (99, 99, 3)))
    model = SegmentSSVM(
        self_transitions=True, duration_bins=[1, 2, 4], lam=0.05, ignore_label=-1, random_state=0,
        **limits,
    )  # fmt: skip
    return model.fit(X, spans)


def test_predictions_equal_enumeration(fitted):
    X, _, _ = make(np.random.default_rng(1), 12, limits=((2, 1, 1), (99, 99, 3)))
    found, scores = fitted.predict_top_k(X, 10**6, spans=True)
    labels, _ = fitted.predict_top_k(X, 10**6)
    n_split = 0
    for x, own, values, rows, spans, marginals in zip(
        X, found, scores, labels, fitted.predict_spans(X), fitted.decision_function(X), strict=True
    ):
        codes, expected = enumerated(fitted, x, (2, 1, 1), (99, 99, 3))
        score = {tuple(segments.runs(c, K)): v for c, v in zip(codes, expected, strict=True)}
        assert score[tuple(spans)] == pytest.approx(expected.max(), abs=1e-9)
        np.testing.assert_allclose([score[tuple(each)] for each in own], values, atol=1e-9)
        for each, row in zip(own, rows.tolist(), strict=True):
            assert row == [k for a, b, k in each for _ in range(a, b)]
        n_split += any(a[2] == b[2] for a, b in pairwise(spans))
        np.testing.assert_allclose(values, np.sort(expected)[::-1], atol=1e-9)
        assert len({tuple(each) for each in own}) == len(codes) == len(own)
        for l, k in np.ndindex(marginals.shape):
            here = [v for code, v in zip(codes, expected, strict=True) if code[l] % K == k]
            assert marginals[l, k] == pytest.approx(max(here, default=-np.inf), abs=1e-9)
        known = [None] * len(x)
        known[1] = int(np.argmin(marginals[1]))
        if np.isfinite(marginals[1].min()):
            best = max(v for c, v in zip(codes, expected, strict=True) if c[1] % K == known[1])
            given = fitted.predict([x], [known])[0]
            of_labels = [
                v
                for code, v in zip(codes, expected, strict=True)
                if segments.labels_of(code, K) == tuple(given.tolist())
            ]
            assert max(of_labels) == pytest.approx(best, abs=1e-9)
    assert n_split > 0


def test_probabilities_equal_enumeration(fitted):
    limits = (2, 1, 1), (99, 99, 3)
    X, codes, spans = make(np.random.default_rng(2), 30, limits=limits)
    model = CalibratedSSVM(FrozenEstimator(fitted)).fit(X[:20], spans[:20])

    def loss(temperature):
        total = 0
        for x, code in zip(X[:20], codes[:20], strict=True):
            every, values = enumerated(fitted, x, *limits)
            total += logsumexp(values / temperature)
            total -= values[every.index(tuple(code.tolist()))] / temperature
        return total

    T = model.temperature_
    assert loss(T) < min(loss(1.05 * T), loss(0.95 * T))
    p, found = model.predict_proba(X), model.predict_spans(X)
    log_p = model.log_proba(X, spans)
    labels = [(code % K).tolist() for code in codes]
    of_runs = model.log_proba(X, labels)
    partial = [[-1, *own[1:]] for own in labels]
    of_partial = model.log_proba(X, partial)
    for i, x in enumerate(X):
        every, values = enumerated(fitted, x, *limits)
        values = values / T - logsumexp(values / T)
        at = every.index(tuple(codes[i].tolist()))
        assert log_p[i] == pytest.approx(values[at])
        # In y without spans, segments are runs of equal labels.
        runs = tuple(labels[i])
        expected = values[every.index(runs)] if runs in every else -np.inf
        assert of_runs[i] == pytest.approx(expected)
        # The boundary next to an unknown label is free, but no other one.
        agree = [c[1] % K == runs[1] and c[2:] == runs[2:] for c in every]
        assert of_partial[i] == pytest.approx(logsumexp(values[agree]) if any(agree) else -np.inf)
        for l, k in np.ndindex(p[i].shape):
            has = [c[l] % K == k for c in every]
            assert p[i][l, k] == pytest.approx(np.exp(values[has]).sum(), abs=1e-12)
        for *span, probability in found[i]:
            has = [tuple(span) in segments.runs(c, K) for c in every]
            assert probability == pytest.approx(np.exp(values[has]).sum())


def test_prediction_sets_contain_the_truth(fitted):
    limits = (2, 1, 1), (99, 99, 3)
    X, codes, spans = make(np.random.default_rng(3), 400, limits=limits)
    frozen, n = FrozenEstimator(fitted), 200
    sets = ConformalSSVM(frozen, confidence_level=0.8, k=1000).fit(X[:n], spans[:n])
    gaps = []
    for x, code in zip(X[:n], codes[:n], strict=True):
        every, values = enumerated(fitted, x, *limits)
        at = every.index(tuple(code.tolist()))
        gaps.append(np.delete(values, at).max() - values[at])
    np.testing.assert_allclose(sets.conformity_scores_, np.sort(gaps), atol=1e-9)
    found, complete = sets.predict_set(X[n:])
    assert complete.all()
    hits = [own in each for each, own in zip(found, spans[n:], strict=True)]
    # The standard deviation of the coverage is 0.04.
    assert abs(np.mean(hits) - 0.8) < 0.12
    nodes, _ = ConformalSSVM(frozen, target="nodes").fit(X[:n], spans[:n]).predict_set(X[n:])
    misses = [
        1 - own[np.arange(len(code)), code % K].mean()
        for own, code in zip(nodes, codes[n:], strict=True)
    ]
    assert np.mean(misses) < 0.18


def test_without_equal_neighbors_in_y(rng):
    """Labels of nodes are runs, so that only the rivals of the truth have splits."""
    X, codes, _ = make(rng)
    y = [code % K for code in codes]
    options = {"self_transitions": True, "duration_bins": [1, 2], "random_state": 0}
    model = SegmentSSVM(**options).fit(X, y)
    spans = [segments.runs(labels.tolist()) for labels in y]
    np.testing.assert_array_equal(SegmentSSVM(**options).fit(X, spans).w_, model.w_)
    assert (model.self_transition_coef_ <= 1e-12).all()


def test_masks_forbid_equal_neighbors(rng):
    mask = np.ones((K, K), dtype=bool)
    mask[1, 1] = False
    X, codes, spans = make(rng, 20)
    labels = [code % K for code in codes]
    keep = [i for i, y in enumerate(labels) if not ((y[1:] == 1) & (y[:-1] == 1)).any()]
    assert len(keep) < 20
    model = SegmentSSVM(
        self_transitions=True, transition_mask=mask, random_state=0, classes=range(K)
    ).fit([X[i] for i in keep], [spans[i] for i in keep])
    found, _ = model.predict_top_k(X[:4], 10**5)
    for rows in found:
        assert not ((rows[:, 1:] == 1) & (rows[:, :-1] == 1)).any()
    with pytest.raises(ValueError, match="which transition_mask forbids"):
        model.fit(X, spans)


def test_warm_start_path_clone_and_state(rng, tmp_path):
    X, codes, spans = make(rng)
    options = {"self_transitions": True, "duration_bins": [1, 2], "pairwise_scale": 1}
    model = SegmentSSVM(lam=0.1, warm_start=True, random_state=0, **options).fit(X, spans)
    first = model.objective_
    model.set_params(tol=1e-6).fit(X, spans)
    assert model.objective_ <= first
    runs = [segments.runs([int(k) % K for k in code]) for code in codes]
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X, runs)
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(self_transitions=False).fit(X, runs)
    model.set_params(self_transitions=True)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict_spans(X) == model.predict_spans(X)
    # The parameter does not change a fitted model.
    again.set_params(self_transitions=False)
    assert again.predict_spans(X) == model.predict_spans(X)
    path = ssvm_path(SegmentSSVM(random_state=0, **options), X, spans, eps=0.01, lam_min=0.5)
    limits = (1,) * K, (99,) * K
    terms = segments.blocks(X, codes, brute_force.Model(K), (1, 2), *limits, splits=True)
    best, _ = dual_qp.optimum(terms, 0.5)
    assert best <= brute_force.primal(path.w(0.5), 0.5, terms) <= 1.02 * best
    frame = model.to_frame()
    rows = frame[frame.kind == "self_transition"]
    assert rows.weight.tolist() == model.self_transition_coef_.tolist()
    file = tmp_path / "fit"
    solver = solver_with(model.solver, checkpoint=file)
    part = clone(model).set_params(solver=solver, max_iter=2, tol=1e-9, warm_start=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        part.fit(X, spans)
    with pytest.raises(ValueError, match="checkpoint"):
        clone(part).fit(X, runs)
    resumed = part.set_params(max_iter=100_000).fit(X, spans)
    whole = clone(part).set_params(solver__checkpoint=None).fit(X, spans)
    np.testing.assert_array_equal(resumed.w_, whole.w_)


def test_prior_and_partial_fit_keep_self_transitions(rng):
    X, _, spans = make(rng)
    prior = SegmentSSVM(self_transitions=True, random_state=0).fit(X, spans)
    y = [code % K for code in make(rng)[1]]
    with pytest.raises(ValueError, match="self_transitions"):
        SegmentSSVM(prior=prior).fit(X, y)
    SegmentSSVM(self_transitions=True, prior=prior, random_state=0).fit(X, spans)
    online = SegmentSSVM(solver="ssg", lam=0.1, self_transitions=True, random_state=0)
    online.partial_fit(X, spans, range(K)).partial_fit(X, spans)
    assert online.self_transition_coef_.any()
    with pytest.raises(ValueError, match="self_transitions"):
        online.set_params(self_transitions=False).partial_fit(X, y)


@pytest.mark.parametrize("solver", ["ssg", "fw", "cutting-plane", "bcfw", "perceptron", "pa"])
def test_other_solvers(rng, solver):
    X, _, spans = make(rng)
    lam = "auto" if solver in ("perceptron", "pa") else 0.1
    model = SegmentSSVM(
        self_transitions=True, solver=solver, lam=lam, loss="boundaries", tolerance=0,
        max_iter=30, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, spans)
    assert model.self_transition_coef_.any()


def test_slack_rescaling_and_early_stopping(rng):
    X, codes, spans = make(rng, n=5)
    model = SegmentSSVM(
        self_transitions=True, rescaling="slack", duration_bins=[1, 2], lam=0.1, max_iter=50,
        pairwise_scale=1, random_state=0, solver=MPBCFW(certificate_every=1), tol=0.3,
        classes=range(K),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, spans)
    limits = (1,) * K, (99,) * K
    terms = segments.blocks(X, codes, brute_force.Model(K), (1, 2), *limits, splits=True)
    hinges = [np.max(each.loss * (1 - each.psi @ model.w_)) for each in terms]
    objective = 0.05 * model.w_ @ model.w_ + np.mean(hinges)
    assert model.dual_objective_ <= objective <= model.objective_ + 1e-12
    stopped = SegmentSSVM(
        self_transitions=True, solver=MPBCFW(early_stopping=True), random_state=0, max_iter=20
    )
    assert 0 <= stopped.fit(X, spans, X_val=X, y_val=spans).score(X, spans) <= 1


def test_unsupported(rng):
    X, _, spans = make(rng)
    with pytest.raises(ValueError, match="self_transitions=True is not supported by LatentSSVM"):
        LatentSSVM(SegmentSSVM(self_transitions=True, ignore_label=-1)).fit(X, spans)
    with pytest.raises(ValueError, match="or set self_transitions=True if they are two segments"):
        SegmentSSVM().fit(X, spans)
    with pytest.raises((TypeError, ValueError), match="self_transitions"):
        SegmentSSVM(self_transitions="yes").fit(X, spans)
    with pytest.raises(ValueError, match=r"y\[0\] has 1 nodes with label 0 from node 2 on"):
        SegmentSSVM(self_transitions=True, min_duration=2).fit(
            [np.zeros((3, 2))], [[(0, 2, 0), (2, 3, 0)]]
        )
