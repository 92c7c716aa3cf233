"""Test features of whole segments and losses of segments against enumeration."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from sstruct import LatentSSVM, SegmentSSVM
from sstruct._problems.segment._segment_problem import NoSegmentationError
from sstruct.metrics import boundary_f1_score, segment_f1_score
from tests.estimators.segment.test_optimum import number, spread
from tests.estimators.segment.test_segment import make
from tests.reference import segments
from tests.reference.segmentations import Segmentations
from tests.reference.segments import KINDS


@pytest.mark.parametrize("seed", range(34))
def test_decoder_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        made = Segmentations.random(rng)
        for i, scores in enumerate(made.scores):
            if len(scores) == 0:
                with pytest.raises(NoSegmentationError):
                    made.problem.best_code(i, made.w, 0.0)
                continue
            code, value, _, _ = made.problem.best_code(i, made.w, 0.0)
            assert value == pytest.approx(scores.max(), abs=1e-12)
            at = made.labelings[i].tolist().index(code.tolist())
            assert scores[at] == pytest.approx(value, abs=1e-12)


def test_losses_agree_with_scores(rng):
    """The loss is (1 - F1) times the number of true and found segments, or of boundaries."""
    for _ in range(50):
        truth, found = (np.repeat(rng.integers(0, 3, 6), rng.integers(1, 6, 6)) for _ in range(2))
        found = np.resize(found, len(truth))
        n = len(segments.runs(truth)) + len(segments.runs(found))
        f1 = segment_f1_score([truth], [found], iou=0.5 + 1e-9)
        assert segments.segment_loss(truth, found) == pytest.approx(n * (1 - f1))
        # Windows end in the middle of two changes, so the matching may be worse than the best one.
        a, b = (np.flatnonzero(np.diff(z)) + 1 for z in (truth, found))
        f1 = boundary_f1_score([a], [b], tolerance=1)
        n = len(a) + len(b)
        assert segments.boundary_loss(truth, found, 1) >= n * (1 - f1) - 1e-9


def test_weights_have_names(rng):
    X, y = make(rng, n=10)
    model = SegmentSSVM(
        segment_features=["last", spread, "mean"], duration_bins=None, random_state=0
    ).fit(X, y)
    assert model.mean_coef_.shape == model.last_coef_.shape == (3, 2)
    assert model.segment_coef_.shape == (3, 2)
    assert not model.contrast_coef_.any()
    assert not model.first_coef_.any()
    frame = model.to_frame()
    assert len(frame) == len(model.w_)
    for kind, weights in [("mean", model.mean_coef_), ("last", model.last_coef_)]:
        rows = frame[frame.kind == kind]
        assert rows.weight.tolist() == weights.ravel().tolist()
        assert rows.feature.tolist() == ["x0", "x1"] * 3
    rows = frame[frame.kind == "segment"]
    assert rows.weight.tolist() == model.segment_coef_.ravel().tolist()
    assert rows.segment_feature.tolist() == [0, 1] * 3


def test_scale_of_the_features_does_not_matter(rng):
    X, y = make(rng, n=12)
    fits = [
        SegmentSSVM(segment_features=["mean", "contrast"], random_state=0).fit(
            [t * x for x in X], y
        )
        for t in (1, 8)
    ]
    np.testing.assert_allclose(fits[0].mean_coef_, 8 * fits[1].mean_coef_, rtol=1e-9)
    np.testing.assert_allclose(fits[0].edge_coef_, fits[1].edge_coef_, rtol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_functions_of_saved_models_and_sparse_samples(rng, form):
    X, y = make(rng, n=10)
    X = [form(x) for x in X]
    model = SegmentSSVM(segment_features=["mean", spread], max_duration=4, random_state=0)
    y = [labels if len(labels) < 5 else np.array([0, 1, 1, 2, 2]) for labels in y]
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    for a, b in zip(model.predict(X), again.predict(X), strict=True):
        assert a.tolist() == b.tolist()
    # The weights of the fit keep their meaning.
    model.set_params(segment_features=spread)
    assert [z.tolist() for z in model.predict(X)] == [z.tolist() for z in again.predict(X)]
    with pytest.raises(ValueError, match="function in segment_features, which is None now"):
        model.set_params(segment_features=None).predict(X)
    with pytest.raises(ValueError, match="has 1 columns, but 2 are expected"):
        model.set_params(segment_features=number).predict(X)


def test_empty_sequences_and_top_k(rng):
    X, y = make(rng, n=6)
    X.insert(2, np.empty((0, 2)))
    y.insert(2, [])
    with pytest.warns(UserWarning, match="without nodes"):
        model = SegmentSSVM(segment_features=KINDS + (number,), random_state=0).fit(X, y)
    labels, scores = model.predict_top_k(X, 3)
    for i, found in enumerate(model.predict(X)):
        assert labels[i][0].tolist() == found.tolist()
        assert (np.diff(scores[i]) <= 0).all()
    for i, best in enumerate(model.decision_function(X)):
        if len(best):
            np.testing.assert_allclose(best.max(axis=1), scores[i][0], rtol=1e-9)


def test_warm_start_needs_the_same_features(rng):
    X, y = make(rng)
    model = SegmentSSVM(segment_features=["mean", number], lam=0.1, warm_start=True, random_state=0)
    model.fit(X, y)
    for change in ("mean", ["mean", spread], ["first", number]):
        with pytest.raises(ValueError, match="warm_start"):
            model.set_params(segment_features=change).fit(X, y)


def test_functions_of_segments_are_learned():
    """Segments of one label have a larger level, of any sign, which single nodes hardly show."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(30):
        durations = rng.integers(4, 11, 6)
        levels = rng.choice([-1, 1], 6) * np.resize([0, 2], 6)
        x = np.repeat(levels, durations) + 2 * rng.standard_normal(durations.sum())
        X.append(np.column_stack([x, x**2]))
        y.append(np.repeat(np.resize([0, 1], 6), durations))

    def square(x, start, stop):
        total = np.r_[0, np.cumsum(x[:, 0])]
        return ((total[stop] - total[start]) / (stop - start)) ** 2

    scores = [
        SegmentSSVM(segment_features=each, max_duration=10, random_state=0)
        .fit(X[:20], y[:20])
        .score(X[20:], y[20:])
        for each in (None, square)
    ]
    assert scores[1] > scores[0] + 0.05


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        ("median", ValueError, "segment_features must be one of .* found 'median'"),
        (["mean", "mean"], ValueError, "different names and at most one function"),
        ([number, spread], ValueError, "different names and at most one function"),
        (3, TypeError, "segment_features must be"),
        (["mean", 3], TypeError, "segment_features must be .* found 3"),
        (lambda x, a, b: np.zeros(3), ValueError, r"for X\[0\] has shape \(3, 1\), expected \(15,"),
        (lambda x, a, b: np.full(len(a), np.nan), ValueError, "contains nan in row 0"),
        (lambda x, a, b: np.full(len(a), "a"), TypeError, "expected numbers"),
        (lambda x, a, b: np.zeros((len(a), 0)), ValueError, "a row for each segment"),
        (lambda x, a, b: np.zeros((len(a), len(x))), ValueError, r"X\[1\] has 3 columns, but 5"),
    ],
)
def test_invalid_features(rng, features, error, message):
    X, y = make(rng)
    with pytest.raises(error, match=message):
        SegmentSSVM(segment_features=features).fit(X, y)


def test_functions_need_a_bounded_number_of_segments():
    X, y = [np.zeros((20_000, 1))], [[0, 1] * 10_000]
    with pytest.raises(ValueError, match=r"200010000 segments.* reduce max_duration"):
        SegmentSSVM(segment_features=number).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "segment"}, "loss must be one of .*'segments', 'boundaries'"),
        ({"loss": "segments", "class_weight": {0: 2}}, "class_weight is not supported by loss='"),
        ({"loss": "boundaries", "tolerance": -1}, "tolerance must be at least 0"),
    ],
)
def test_invalid_losses(rng, parameters, message):
    X, y = make(rng)
    with pytest.raises(ValueError, match=message):
        SegmentSSVM(**parameters).fit(X, y)


def test_losses_of_segments_need_labels_without_weights(rng):
    X, y = make(rng)
    weights = [np.ones(len(x)) + (i == 1) for i, x in enumerate(X)]
    with pytest.raises(ValueError, match="loss='segments' does not support node weights"):
        SegmentSSVM(loss="segments").fit(X, y, weights)
    y[0][1] = -1
    latent = LatentSSVM(SegmentSSVM(loss="segments", ignore_label=-1, classes=[0, 1, 2]))
    with pytest.raises(ValueError, match="loss='segments' does not support LatentSSVM"):
        latent.fit(X, y)
