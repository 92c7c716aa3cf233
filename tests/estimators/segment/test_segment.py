"""Test SegmentSSVM against the optimum over enumerated segmentations, and its other methods."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChainSSVM, LatentSSVM, SegmentSSVM
from sstruct.calibration import CalibratedSSVM
from sstruct.solvers import MPBCFW
from tests.estimators.segment import small
from tests.estimators.segment.test_optimum import TIGHT
from tests.reference import brute_force, segments


def make(rng, n=8, lengths=(5, 3, 4, 2), least=(1, 1, 1), most=(9, 9, 9)):
    """Return noisy sequences whose runs have allowed durations."""
    return small.make(rng, n, lengths, (least, most), splits=False)[:2]


@pytest.mark.parametrize("lam", ["auto", 0.05])
def test_a_model_without_durations_equals_a_chain(rng, lam):
    X, y = make(rng, n=12)
    chain = ChainSSVM(lam=lam, **TIGHT).fit(X, y)
    model = SegmentSSVM(lam=lam, duration_bins=None, **TIGHT).fit(X, y)
    assert model.lam_ == chain.lam_
    assert model.objective_ == pytest.approx(chain.objective_, rel=1e-7)
    np.testing.assert_allclose(model.w_, chain.w_, atol=1e-3)
    # Labels may tie at an optimum, so scores are compared.
    scores = model.decision_function(X)
    for found, own, other in zip(model.predict(X), scores, chain.decision_function(X), strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=1e-5)
        np.testing.assert_array_equal(found, own.argmax(axis=1))


def test_slack_rescaling_bounds_the_optimum(rng):
    X, y = make(rng, n=5, least=(2, 2, 2))
    model = SegmentSSVM(
        rescaling="slack", duration_bins=[1, 2], min_duration=2, lam=0.1, max_iter=50,
        pairwise_scale=1, random_state=0, solver=MPBCFW(certificate_every=1), tol=0.3,
        classes=[0, 1, 2],
    )  # fmt: skip
    with warnings.catch_warnings():  # the search is not exact, and may stop before tol
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.inference_ == "segment viterbi, bisecting search (bounded)"
    terms = segments.blocks(X, y, brute_force.Model(3), (1, 2), (2,) * 3, (99,) * 3)
    hinges = [np.max(each.loss * (1 - each.psi @ model.w_)) for each in terms]
    objective = 0.05 * model.w_ @ model.w_ + np.mean(hinges)
    assert model.dual_objective_ <= objective <= model.objective_ + 1e-12


def test_spans_as_labels():
    X = [np.arange(6.0).reshape(-1, 1), np.zeros((3, 1)), np.empty((0, 1))]
    y = [["a", "a", "b", "b", "b", "a"], ["b", "b", "b"], []]
    spans = [[(0, 2, "a"), (2, 5, "b"), (5, 6, "a")], [(0, 3, "b")], []]
    fits = []
    for target in (y, spans, np.array(spans, dtype=object)):
        with pytest.warns(UserWarning, match="without nodes"):
            fits.append(SegmentSSVM(random_state=0).fit(X, target))
        np.testing.assert_array_equal(fits[0].w_, fits[-1].w_)
    assert fits[0].score(X, spans) == fits[0].score(X, y)


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(0, 2, "a"), (3, 5, "b")], r"y\[0\] has the span \(3, .*after node 2.*; for a gap, add"),
        ([(0, 4, "a"), (4, 4, "b")], r"y\[0\] has the span \(4, 4, 'b'\) after node 4"),
        ([(0, 2, "a"), (2, 4, "a")], r"y\[0\] has two adjacent spans with label 'a' at node 2"),
        ([(0, 3, "a"), (2, 3, "b")], r"y\[0\] has the span \(2, 3, 'b'\) after node 3"),
        ([(0, 2, "a"), (2, 3, "b")], r"X\[0\] has 4 nodes, but the spans of y\[0\] stop at 3"),
        ([(1, 4, "a")], r"y\[0\] is \[\(1, 4, 'a'\)\], expected 4 labels, or spans: tuples"),
        ([(0.0, 4.0, "a")], r"y\[0\] is .* expected 4 labels, or spans"),
        ([[0, 2, "a"], [2, 4, "b"]], r"y\[0\] is .* expected 4 labels, or spans"),
        (np.array([[0, 2, 0], [2, 4, 1]]), r"y\[0\] is array[^e]* expected 4 labels, or spans"),
        ([(0, 2, "a"), (2, 10**12, "b")], r"X\[0\] has 4 nodes, but the spans of"),
    ],
)
def test_invalid_spans(spans, message):
    X = [np.zeros((4, 1)), np.zeros((2, 1))]
    with pytest.raises(ValueError, match=message):
        SegmentSSVM().fit(X, [spans, [(0, 2, "b")]])
    with pytest.raises(ValueError, match=r"y\[1\] has no spans"):
        SegmentSSVM().fit(X, [[(0, 4, "a")], ["a", "b"]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_duration": 3}, r"y\[1\] has 2 nodes with label 'b' from node 0 on, but min_"),
        ({"max_duration": {"a": 2}}, r"y\[0\] has 3 nodes with label 'a' from node 0 on, but max"),
        ({"min_duration": {"c": 2}}, "min_duration has label 'c', which is not one of"),
        ({"min_duration": [1, 2, 3]}, "min_duration must have 2 entries, found 3"),
        ({"min_duration": 0}, "min_duration must be at least 1"),
        ({"min_duration": {"a": 3}, "max_duration": {"a": 2}}, "max_duration is 2 for label 'a'"),
        ({"duration_bins": [2]}, "duration_bins must be the smallest duration of each bin"),
        ({"duration_bins": []}, "duration_bins must be"),
    ],
)
def test_invalid_durations(parameters, message):
    X, y = [np.zeros((5, 1)), np.zeros((5, 1))], [list("aaabb"), list("bbaaa")]
    if "min_duration" in parameters and parameters["min_duration"] == 3:
        y[0] = list("aaaaa")
    error = TypeError if parameters.get("duration_bins") == [] else ValueError
    with pytest.raises(error, match=message):
        SegmentSSVM(**parameters).fit(X, y)


def test_edge_features_are_not_supported(rng):
    x = rng.standard_normal((3, 2))
    with pytest.raises(ValueError, match="edge features are not supported by SegmentSSVM"):
        SegmentSSVM().fit([(x, np.ones((2, 1)))], [[0, 1, 1]])


def test_error_without_allowed_segmentation(rng):
    X, y = [rng.standard_normal((6, 2))] * 2, [[0, 0, 0, 1, 1, 1]] * 2
    model = SegmentSSVM(min_duration=3, random_state=0).fit(X, y)
    short = [X[0], np.empty((0, 2)), X[0][:2]]
    with pytest.raises(ValueError, match=r"every segmentation of X\[2\], which has 2 nodes"):
        model.predict(short)
    with pytest.warns(UserWarning, match="is uncertain"):
        calibrated = CalibratedSSVM(model, cv=2).fit(X, y)
    with pytest.raises(ValueError, match=r"every segmentation of X\[2\], which has 2 nodes"):
        calibrated.predict_proba(short)
    known = [None, [None] * 2 + [0, 1, 0, None]]
    with pytest.raises(ValueError, match=r"X\[1\].* nodes, with its known labels$"):
        model.predict(X, known)
    assert set(model.predict(X, [[1] + [None] * 5, None])[0][:3].tolist()) == {1}


def test_known_labels_agree_with_enumeration(rng):
    X, y = make(rng, n=10, least=(2, 1, 1))
    model = SegmentSSVM(
        min_duration=[2, 1, 1], pairwise_scale=1, duration_bins=[1, 2], classes=[0, 1, 2],
        random_state=0,
    ).fit(X, y)  # fmt: skip
    for x in X:
        known = [None] * len(x)
        known[rng.integers(len(x))] = 2
        found = model.predict([x], [known])[0]
        best = max(
            (
                np.r_[
                    brute_force.joint_feature(x, z, brute_force.Model(3)),
                    segments.durations_of(z, True, True, (1, 2), 3),
                ]
                @ model.w_
                for z in brute_force.labelings(len(x), brute_force.Model(3))
                if segments.is_within(z, True, True, (2, 1, 1), (99,) * 3)
                and all(k is None or k == label for k, label in zip(known, z, strict=True))
            ),
        )
        joint = brute_force.joint_feature(x, found, brute_force.Model(3))
        count = segments.durations_of(found, True, True, (1, 2), 3)
        assert np.r_[joint, count] @ model.w_ == pytest.approx(best, abs=1e-9)


def test_weights_and_frame(rng):
    X, y = make(rng, n=10)
    names = {0: "rest", 1: "run", 2: "walk"}
    y = [[names[label] for label in labels] for labels in y]
    model = SegmentSSVM(duration_bins=[1, 3], random_state=0).fit(X, y)
    assert model.duration_coef_.shape == (3, 2)
    assert model.duration_bins_.tolist() == [1, 3]
    frame = model.to_frame()
    rows = frame[frame.kind == "duration"]
    assert rows.label.tolist() == ["rest", "rest", "run", "run", "walk", "walk"]
    assert rows.duration.tolist() == [1, 3] * 3
    assert rows.weight.tolist() == model.duration_coef_.ravel().tolist()
    assert len(model.w_) == len(frame)
    auto = SegmentSSVM(random_state=0).fit(X, y)
    assert auto.duration_bins_.tolist() == [2**k for k in range(11)]
    without = SegmentSSVM(duration_bins=None, random_state=0).fit(X, y)
    assert not hasattr(without, "duration_bins_")
    assert without.duration_coef_.shape == (3, 0)


def test_durations_are_learned():
    """Segments of one label are short and those of the other long; features are noisy."""
    rng = np.random.default_rng(0)
    y = [np.repeat([0, 1] * 6, np.tile([2, 6], 6)) for _ in range(20)]
    X = [labels[:, np.newaxis] + 1.2 * rng.standard_normal((len(labels), 1)) for labels in y]
    model = SegmentSSVM(duration_bins=[1, 2, 3, 6, 7], random_state=0).fit(X[:15], y[:15])
    chain = ChainSSVM(random_state=0).fit(X[:15], y[:15])
    assert model.score(X[15:], y[15:]) > chain.score(X[15:], y[15:]) + 0.1


def test_priors_and_partial_fit_require_the_same_duration_bins(rng):
    X, y = make(rng)
    prior = SegmentSSVM(duration_bins=[1, 2], random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="duration_bins is"):
        SegmentSSVM(duration_bins=[1, 3], prior=prior).fit(X, y)
    online = SegmentSSVM(duration_bins=[1, 2], solver="perceptron").partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match="duration_bins is"):
        online.set_params(duration_bins=[1, 3]).partial_fit(X, y)


def test_warm_start_needs_the_same_durations(rng):
    X, y = make(rng)
    model = SegmentSSVM(duration_bins=[1, 2], lam=0.1, warm_start=True, random_state=0).fit(X, y)
    for change in ({"duration_bins": [1, 3]}, {"max_duration": 6}):
        with pytest.raises(ValueError, match="warm_start"):
            model.set_params(**change).fit(X, y)
        model.set_params(duration_bins=[1, 2], max_duration=None)


@pytest.mark.parametrize("states", [1, 2])
def test_hidden_labels_keep_the_limits(rng, states):
    X, y = make(rng, n=10, least=(2, 2, 2), lengths=(4, 6, 5))
    model = SegmentSSVM(min_duration=2, classes=[0, 1, 2], ignore_label=-1, random_state=0)
    hidden = [labels.copy() for labels in y]
    for labels in hidden[::2]:
        labels[1] = -1
    if states == 2:
        model.set_params(min_duration=1)
    latent = LatentSSVM(model, states_per_label=states, random_state=0).fit(X, hidden)
    least = (2,) * 3 if states == 1 else (1,) * 3
    for labels in latent.predict(X):
        assert segments.is_within(labels, True, True, least, (99,) * 3)
