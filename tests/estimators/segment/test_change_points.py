"""Test ChangePointSSVM against the optimum over enumerated change points, and its other methods."""

import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChangePointSSVM, LatentSSVM, Sequences
from sstruct.datasets import make_change_points
from sstruct.metrics import boundary_f1_score
from sstruct.solvers import MPBCFW
from tests.reference import changes, dual_qp

TIGHT = {"tol": 1e-8, "max_iter": 100_000, "random_state": 0}
ALL_COSTS = ("mean", "variance", "normal", "trend")


def make(rng, n=8, F=1, lengths=(7, 4, 9, 6, 1), least=1, most=None):
    """Return signals with changes of the mean, after segments of allowed durations."""
    X, y = [], []
    for i in range(n):
        length = max(lengths[i % len(lengths)], least)
        allowed = changes.labelings(length, least, most)
        places = changes.changes_of(allowed[rng.integers(len(allowed))])
        level = np.repeat(rng.normal(0, 3, len(places) + 1), np.diff([0, *places, length]))
        X.append(level[:, np.newaxis] + rng.standard_normal((length, F)))
        y.append(places)
    return X, y


CASES = {
    "all": {"costs": ALL_COSTS, "duration_bins": [1, 2, 4]},
    "mean": {"costs": "mean", "duration_bins": None, "tolerance": 0},
    "variance": {"costs": ["variance"], "duration_bins": None, "scale": None},
    "normal, limits": {
        "costs": "normal", "duration_bins": [1, 3], "min_duration": 2, "max_duration": 4
    },
    "trend": {"costs": ["trend", "mean"], "duration_bins": [1], "min_duration": 3, "scale": None},
}  # fmt: skip


@pytest.mark.parametrize("solver", ["cutting-plane", "mp-bcfw"])
@pytest.mark.parametrize("F", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_reaches_the_optimum(rng, case, F, solver):
    parameters = {"tolerance": 1, **CASES[case]}
    least, most = parameters.get("min_duration", 1), parameters.get("max_duration")
    X, y = make(rng, F=F, least=least, most=most)
    weights = rng.choice([0.5, 1.0, 3.0], len(X))
    chosen = MPBCFW(average=False) if solver == "mp-bcfw" else "auto"
    model = ChangePointSSVM(lam=0.1, solver=chosen, **TIGHT, **parameters).fit(X, y, weights)
    assert model.solver_ == solver
    costs = [parameters["costs"]] if isinstance(parameters["costs"], str) else parameters["costs"]
    terms = changes.blocks(
        X,
        y,
        costs,
        parameters["duration_bins"] or (),
        tolerance=parameters["tolerance"],
        least=least,
        most=most,
        scale=parameters.get("scale", "noise"),
        weights=weights,
    )
    box = np.full((2, len(model.w_)), [[-np.inf], [np.inf]])
    box[0, : len(costs) * F] = 0
    dual_qp.check_optimum(model, terms, box)
    for block, found in zip(terms, model.predict(X), strict=True):
        scores = block.phi @ model.w_
        code = tuple(int(t in found) for t in range(len(block.labelings[0])))
        assert scores[block.labelings.index(code)] == pytest.approx(scores.max(), abs=1e-7)


@pytest.mark.parametrize("kind", ["mean", "variance", "trend"])
def test_changes_are_detected(kind):
    X, y = make_change_points(60, kind=kind, random_state=0)
    model = ChangePointSSVM().fit(X[:40], y[:40])
    costs = {"mean": ["mean"], "variance": ["variance", "normal"], "trend": ["trend"]}
    used = model.to_frame().query("kind == 'coef' and weight > 0.05").cost.tolist()
    assert set(used) <= set(costs[kind])
    assert used
    best = 0.65 if kind == "variance" else 0.8
    assert model.score(X[40:], y[40:]) > best
    found = model.predict(X[40:])
    assert model.score(X[40:], y[40:]) == boundary_f1_score(y[40:], found, tolerance=5)


def test_predictions_do_not_depend_on_the_unit():
    X, y = make_change_points(20, random_state=0)
    model = ChangePointSSVM().fit(X, y)
    other = ChangePointSSVM().fit([1024 * x for x in X], y)
    assert other.w_.tolist() == model.w_.tolist()
    for x in X:
        assert model.predict([x])[0].tolist() == model.predict([7 - x / 3])[0].tolist()
    absolute = ChangePointSSVM(scale=None, costs="mean").fit(X, y)
    scaled = ChangePointSSVM(scale=None, costs="mean").fit([2 * x for x in X], y)
    assert not np.allclose(absolute.coef_, scaled.coef_)


def test_forms_of_signals():
    X, y = make_change_points(10, random_state=0)
    model = ChangePointSSVM(costs="mean").fit(X, y)
    for other in (
        [x[:, np.newaxis] for x in X],
        [x.tolist() for x in X],
        [pd.Series(x) for x in X],
        [pd.DataFrame({"a": x}) for x in X],
        Sequences.from_list([x[:, np.newaxis] for x in X]),
        tuple(X),
    ):
        again = ChangePointSSVM(costs="mean").fit(other, [list(places) for places in y])
        assert again.w_.tolist() == model.w_.tolist()
        for a, b in zip(model.predict(other), model.predict(X), strict=True):
            assert a.tolist() == b.tolist()
    stacked = np.stack([x[:20] for x in X])
    assert len(model.predict(stacked)) == len(model.predict(stacked[:, :, np.newaxis])) == 10
    named = ChangePointSSVM(costs="mean").fit([pd.DataFrame({"a": x}) for x in X], y)
    assert named.feature_names_in_.tolist() == ["a"]
    with pytest.raises(ValueError, match="seen in fit"):
        named.predict([pd.DataFrame({"b": x}) for x in X])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"costs": "trend"}, "costs is"),
        ({"duration_bins": [1, 3]}, "duration_bins is"),
        ({"scale": None}, "scaled is"),
    ],
)
def test_priors_and_partial_fit_require_the_same_weights(change, message):
    X, y = make_change_points(6, random_state=0)
    options = {"costs": "mean", "duration_bins": [1, 2]}
    prior = ChangePointSSVM(**options).fit(X, y)
    with pytest.raises(ValueError, match=message):
        ChangePointSSVM(prior=prior, **options | change).fit(X, y)
    online = ChangePointSSVM(solver="perceptron", **options).partial_fit(X, y)
    with pytest.raises(ValueError, match=message):
        online.set_params(**change).partial_fit(X, y)
    again = ChangePointSSVM(prior=prior, min_duration=2, tolerance=3, **options).fit(X, y)
    assert again.w_.shape == prior.w_.shape


def test_any_tolerance():
    X, y = make(np.random.default_rng(0), n=4)
    models = [ChangePointSSVM(tolerance=tolerance).fit(X, y) for tolerance in (9, 2**64)]
    assert models[0].w_.tolist() == models[1].w_.tolist()
    assert models[0].score(X, y) == models[1].score(X, y)


def test_empty_signals():
    X, y = make_change_points(10, random_state=0)
    with pytest.warns(UserWarning, match=r"X\[1\]|empty"):
        model = ChangePointSSVM().fit([X[0], [], *X[1:]], [y[0], [], *y[1:]])
    assert model.w_.tolist() == ChangePointSSVM().fit(X, y).w_.tolist()
    found = model.predict([[], X[0], []])
    assert [len(places) for places in found[::2]] == [0, 0]
    assert found[1].tolist() == model.predict(X[:1])[0].tolist()
    assert model.predict([]).shape == (0,)


def test_weights_frame_and_bounds():
    X, y = make(np.random.default_rng(0), F=2)
    model = ChangePointSSVM(costs=["trend", "mean"], duration_bins=[1, 3], lam=0.1).fit(X, y)
    assert model.coef_.shape == (2, 2)
    assert model.duration_coef_.shape == (2,)
    assert model.duration_bins_.tolist() == [1, 3]
    parts = [model.coef_.ravel(), model.duration_coef_, [model.penalty_]]
    assert model.w_.tolist() == np.concatenate(parts).tolist()
    frame = model.to_frame()
    assert frame.kind.tolist() == ["coef"] * 4 + ["duration"] * 2 + ["penalty"]
    assert frame.cost.tolist()[:4] == ["trend", "trend", "mean", "mean"]
    assert frame.weight.tolist() == model.w_.tolist()
    assert not hasattr(ChangePointSSVM(duration_bins=None).fit(X, y), "duration_bins_")
    bounds = np.full((2, 7), [[-1.0], [0.01]])
    bounded = ChangePointSSVM(costs=["trend", "mean"], duration_bins=[1, 3], bounds=bounds)
    w = bounded.fit(X, y).w_
    assert (w <= 0.01).all()
    assert (w[:4] >= 0).all()


def test_automatic_bins_are_quantiles_of_durations(rng):
    X, y = make_change_points(12, random_state=0)
    durations = [np.diff([0, *places, len(x)]) for x, places in zip(X, y, strict=True)]
    options = {"costs": "mean", "lam": 0.1, "max_iter": 1}
    ignored = pytest.warns(ConvergenceWarning)
    with ignored:
        model = ChangePointSSVM(**options).fit(X, y)
    expected = np.quantile(np.concatenate(durations), [0, 0.1, 0.25, 0.5], method="inverted_cdf")
    assert model.duration_bins_.tolist() == np.unique([1, *expected]).tolist()

    weights = rng.integers(0, 4, len(X))
    copies = np.repeat(np.arange(len(X)), weights)
    with ignored:
        weighted = ChangePointSSVM(**options).fit(X, y, weights)
        copied = ChangePointSSVM(**options).fit([X[i] for i in copies], [y[i] for i in copies])
    assert weighted.duration_bins_.tolist() == copied.duration_bins_.tolist()

    # A continued fit has the bins of its weights, and a fit with a prior those of the prior.
    online = ChangePointSSVM(costs="mean", solver="perceptron").partial_fit(X, y)
    online.partial_fit([x[:9] for x in X], [[4]] * len(X))
    assert online.duration_bins_.tolist() == model.duration_bins_.tolist()
    with ignored:
        adapted = ChangePointSSVM(prior=model, **options).fit([x[:9] for x in X], [[4]] * len(X))
    assert adapted.duration_bins_.tolist() == model.duration_bins_.tolist()


def test_default_solver_without_clarabel(rng, monkeypatch):
    pytest.importorskip("clarabel")
    X, y = make(rng)
    options = {"costs": "mean", "lam": 0.1, "tol": 1e-4, "random_state": 0}
    planes = ChangePointSSVM(**options).fit(X, y)
    monkeypatch.setitem(sys.modules, "clarabel", None)
    model = ChangePointSSVM(**options).fit(X, y)
    assert (planes.solver_, model.solver_) == ("cutting-plane", "mp-bcfw")
    assert model.objective_ == pytest.approx(planes.objective_, rel=2e-4)


def test_warm_starts_and_checkpoints_use_mp_bcfw(rng, tmp_path):
    X, y = make(rng)
    options = {"costs": "mean", "lam": 0.1, "random_state": 0}
    model = ChangePointSSVM(warm_start=True, **options).fit(X, y)
    for change in ({"tolerance": 1}, {"duration_bins": None}, {"scale": None}):
        with pytest.raises(ValueError, match="warm_start"):
            model.set_params(**change).fit(X, y)
        model.set_params(tolerance=5, duration_bins="auto", scale="noise")
    kept, stopped = (
        ChangePointSSVM(solver=solver, **options).fit(X, y)
        for solver in (MPBCFW(checkpoint=tmp_path / "a"), MPBCFW(early_stopping=True))
    )
    assert model.solver_ == kept.solver_ == stopped.solver_ == "mp-bcfw"


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([np.zeros(5)], [[5]], r"y\[0\] has the change point 5, but X\[0\] has 5 nodes.*leave out"),
        ([np.zeros(5)], [[0]], r"y\[0\] has the change point 0, but X\[0\] has 5 nodes"),
        ([np.zeros(5)], [[3, 2]], r"y\[0\] is \[3, 2\], expected increasing integers"),
        ([np.zeros(5)], [[2, 2]], "expected increasing integers"),
        ([np.zeros(5)], [[1], [2]], "X has 1 signals, but y has 2 entries"),
        ([np.zeros(5)], [[[1]]], r"y\[0\] is \[\[1\]\], expected integers, or pairs"),
        ([np.zeros(5)], [[1.5]], r"y\[0\] has dtype float64, expected integers"),
        ([np.zeros(5)], None, "requires y to be passed"),
        ([np.zeros(5)], 3, "y must be a list with the change points of each signal, found int"),
        ([[0.0, np.nan, 1.0]], [[1]], "NaN or infinity"),
        ([np.zeros(5), np.zeros((5, 2))], [[1], [1]], "features"),
        (np.zeros(5), [[1]], "X must be a list of signals, but is a single signal"),
        ([0.0, 1.0], [[1]], "X must be a list of signals, but is a single signal"),
        (sparse.csr_array(np.eye(3)), [[1]], "X must be a list of signals, found a matrix"),
        ([[0, 1e-30, 0, 1e-30, 0, 1e30]], [[1]], r"X\[0\] at node . differs by .* times its noise"),
    ],
)
def test_invalid_data(X, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ChangePointSSVM().fit(X, y)


def test_a_fit_needs_a_node_of_positive_weight():
    with pytest.raises(ValueError, match="X has no nodes in any sample with positive weight"):
        ChangePointSSVM().fit([np.zeros((0, 1)), np.zeros((5, 1))], [[], [2]], [1.0, 0.0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"costs": "median"}, "costs must be one of"),
        ({"costs": []}, "costs must be one or several different costs"),
        ({"costs": ["mean", "mean"]}, "costs must be one or several different costs"),
        ({"costs": None}, "costs must be"),
        ({"costs": 3}, "costs must be"),
        ({"tolerance": -1}, "tolerance must be at least 0"),
        ({"tolerance": 1.5}, "tolerance must be an integer"),
        ({"scale": "std"}, "scale must be"),
        ({"min_duration": 0}, "min_duration must be at least 1"),
        ({"min_duration": [1, 2]}, "min_duration must be an integer"),
        ({"min_duration": 3, "max_duration": 2}, "min_duration is 3 but max_duration is 2"),
        ({"min_duration": 3}, r"y\[0\] has a segment of 2 nodes from node 0 on, but min_duration"),
        ({"max_duration": 3}, r"y\[0\] has a segment of 4 nodes from node 2 on, but max_duration"),
        ({"duration_bins": [2, 3]}, "duration_bins must be the smallest duration of each bin"),
        ({"duration_bins": [1, 2**30]}, "duration_bins must be at most 1048576"),
        ({"lam": 0}, "lam must be finite and above 0"),
    ],
)
def test_invalid_parameters(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ChangePointSSVM(**parameters).fit([np.zeros(6), np.arange(5.0)], [[2], []])


def test_polars_series():
    polars = pytest.importorskip("polars")
    X, y = make_change_points(6, random_state=0)
    model = ChangePointSSVM(costs="mean").fit(X, y)
    found = model.predict([polars.Series(x) for x in X])
    assert [a.tolist() for a in found] == [a.tolist() for a in model.predict(X)]


def test_signals_without_allowed_segments():
    X, y = make_change_points(10, random_state=0)
    model = ChangePointSSVM(min_duration=4, max_duration=100).fit(X, y)
    with pytest.raises(ValueError, match=r"forbid every segmentation of X\[1\], .* 3 nodes"):
        model.predict([X[0], [1.0, 2.0, 3.0]])


def with_intervals(rng, X, y):
    """Return intervals that contain the changes."""
    out = []
    for x, places in zip(X, y, strict=True):
        bounds = np.r_[0, places, len(x)]
        first = [rng.integers(max(t - 2, before + 1), t + 1) for before, t in pairwise(bounds[:-1])]
        last = [rng.integers(t, min(t + 3, after)) for t, after in pairwise(bounds[1:])]
        out.append([(int(a), int(b)) for a, b in zip(first, last, strict=True)])
        for i in range(1, len(places)):  # intervals must not overlap
            out[-1][i] = (max(out[-1][i][0], out[-1][i - 1][1] + 1), out[-1][i][1])
    return out


@pytest.mark.parametrize("tolerance", [0, 1])
def test_fit_to_intervals_reaches_the_optimum(rng, tolerance):
    X, y = make(rng)
    y = with_intervals(rng, X, y)
    options = {"costs": ["mean", "trend"], "duration_bins": [1, 2], "tolerance": tolerance}
    model = ChangePointSSVM(lam=0.1, **TIGHT, **options).fit(X, y)
    terms = changes.blocks(X, y, options["costs"], (1, 2), tolerance=tolerance)
    box = np.full((2, len(model.w_)), [[-np.inf], [np.inf]])
    box[0, :2] = 0
    dual_qp.check_optimum(model, terms, box)


def test_latent_objective_of_intervals(rng):
    X, y = make(rng, n=10)
    y = with_intervals(rng, X, y)
    inner = ChangePointSSVM(costs="mean", duration_bins=None, tolerance=0, lam=0.05, **TIGHT)
    latent = LatentSSVM(inner, tol=1e-9).fit(X, y)
    terms = changes.blocks(X, y, ["mean"], (), tolerance=0)
    w = latent.estimator_.w_
    objective = 0.025 * w @ w
    for block, intervals in zip(terms, y, strict=True):
        scores = block.phi @ w
        some = [changes.agrees(z, intervals) for z in block.labelings]
        assert not block.loss[some].any()
        objective += block.weight * (np.max(block.loss + scores) - scores[some].max())
    assert latent.objective_ == pytest.approx(objective, rel=1e-6)
    assert (np.diff(latent.history_["objective"]) <= 1e-9).all()
    # The fit to the middles is the first bound of the latent objective.
    assert latent.objective_ <= inner.fit(X, y).objective_ + 1e-9
    assert latent.n_hidden_ == sum(a < b for places in y for a, b in places)
    assert latent.score(X, y) == latent.estimator_.score(X, y)


def test_intervals_recover_the_weights():
    """With intervals instead of changes, predictions are almost as good."""
    rng = np.random.default_rng(0)
    X, y = make_change_points(40, random_state=3)
    loose = []
    for x, places in zip(X, y, strict=True):
        bounds = np.r_[0, places, len(x)]
        room = np.minimum(np.diff(bounds)[:-1], np.diff(bounds)[1:]) // 2 - 1
        left, right = (rng.integers(0, np.clip(room, 0, 25) + 1) for _ in range(2))
        loose.append(np.column_stack([places - left, places + right]))
    scores = [
        model.fit(X[:25], target[:25]).score(X[25:], y[25:])
        for model, target in (
            (ChangePointSSVM(), y),
            (LatentSSVM(ChangePointSSVM()), loose),
            (ChangePointSSVM(), loose),
        )
    ]  # fmt: skip
    assert scores[1] > scores[0] - 0.05
    assert scores[1] >= scores[2] - 0.02


def test_known_changes_and_intervals_agree():
    X, y = make_change_points(8, random_state=0)
    a = ChangePointSSVM(costs="mean").fit(X, y)
    for same in (
        [np.column_stack([places, places]) for places in y],
        [[(t, t) if i % 2 else t for i, t in enumerate(places.tolist())] for places in y],
    ):
        b = ChangePointSSVM(costs="mean").fit(X, same)
        np.testing.assert_array_equal(a.w_, b.w_)
        assert a.score(X, same) == a.score(X, y)
    latent = LatentSSVM(ChangePointSSVM(costs="mean")).fit(X, y)
    assert latent.n_hidden_ == 0
    np.testing.assert_array_equal(latent.estimator_.w_, a.w_)
    # A predicted change within an interval is correct.
    wide = [np.column_stack([np.maximum(t - 9, 1), t + 3])[:1] for t in a.predict(X)]
    n_found = sum(map(len, a.predict(X)))
    expected = 2 * sum(map(len, wide)) / (n_found + sum(map(len, wide)))
    assert a.set_params(tolerance=0).score(X, wide) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([(2, 1)], r"y\[0\] has the intervals \[\[2, 1\]\], expected increasing intervals"),
        ([(1, 3), (3, 4)], "do not overlap"),
        ([(1, 3), 2], "expected increasing integers|do not overlap"),
        ([(1, 2, 3)], r"y\[0\] is \[\(1, 2, 3\)\], expected integers, or pairs"),
        ([(0, 2)], "has the change point 0"),
        ([(1, 9)], "has the change point 9, but"),
        ([(1.5, 2)], "dtype float64"),
        ([("a", "b")], "y"),
    ],
)
def test_invalid_intervals(places, message):
    for model in (ChangePointSSVM(), LatentSSVM(ChangePointSSVM())):
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit([np.arange(6.0)], [places])
