"""Test arguments of callbacks, stopping a fit, and the state of the estimator afterwards."""

import gc
import math
import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_is_fitted

from sstruct import ChainSSVM, GapMonitor, LatentSSVM, PathCV, ssvm_path
from sstruct._solvers.core.history import COLUMNS
from sstruct._solvers.core.status import Status
from sstruct.metrics import flat_accuracy_score, make_flat_scorer
from sstruct.solvers import BCFW
from tests.estimators.equal import equal
from tests.options import solver_with
from tests.reference import brute_force

PROTOCOL = parse_version(sklearn.__version__) >= parse_version("1.9")
needs_protocol = pytest.mark.skipif(not PROTOCOL, reason="callbacks of scikit-learn 1.9")


class Recorder:
    """A callback of scikit-learn's protocol that records every call."""

    def __init__(self, stop_after=math.inf):
        self.calls, self.stop_after = [], stop_after

    def setup(self, estimator, context):
        self.calls.append(("setup", context.task_name, context.task_id))

    def on_fit_task_begin(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.calls.append(("begin", context.task_name, context.task_id))
        self.begun = X, y, metadata, fitted_estimator

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.calls.append(("end", context.task_name, context.task_id))
        self.ended = X, y, metadata, fitted_estimator
        self.info = context.info
        return context.task_name == "pass" and context.task_id + 1 >= self.stop_after

    def teardown(self, estimator, context):
        self.calls.append(("teardown", context.task_name, context.task_id))


def certify(model, X, y):
    """Check the objective by its definition, and the gap."""
    terms = brute_force.blocks(X, y, brute_force.Model(3))
    assert model.objective_ == pytest.approx(brute_force.primal(model.w_, model.lam_, terms))
    assert model.dual_gap_ == model.objective_ - model.dual_objective_ >= 0
    history = model.history_
    assert history["primal"][-1] == model.objective_
    assert history["dual"][-1] == model.dual_objective_
    assert history["passes"].tolist() == list(range(1, model.n_iter_ + 1))


def tight(solver="auto", certificate_every=10, **parameters):
    solver = solver_with(solver, certificate_every=certificate_every)
    return ChainSSVM(
        pairwise_scale=1, lam=0.1, tol=1e-4, solver=solver, random_state=0, **parameters
    )


@pytest.mark.parametrize("every", [1, 3, 10])
def test_a_function_is_called_after_every_pass(tiny_chains, every):
    rows = []
    model = tight(certificate_every=every)
    assert model.set_callbacks(rows.append) is model
    model.fit(*tiny_chains)
    assert len(rows) == model.n_iter_ > 10
    for name in COLUMNS:
        column = np.array([row[name] for row in rows])
        np.testing.assert_array_equal(column, model.history_[name])
    certified = [not math.isnan(row["primal"]) for row in rows]
    assert all(certified[every - 1 :: every])
    assert all(certified) == (every == 1)
    assert [row["status"] for row in rows] == [None] * (len(rows) - 1) + ["CONVERGED"]
    # The first pass calls the oracle once per block, and thus finds an upper bound of the gap.
    assert rows[0]["relative_gap_estimate"] > 0
    assert rows[-1]["relative_gap_estimate"] < 1e-3


@pytest.mark.parametrize("verbose", [0, 2])
def test_callbacks_do_not_change_the_model(tiny_chains, verbose, caplog):
    plain = tight(certificate_every=7).fit(*tiny_chains)
    watched = tight(certificate_every=7, verbose=verbose)
    watched.set_callbacks(Recorder(), GapMonitor(), lambda info: False).fit(*tiny_chains)
    np.testing.assert_array_equal(plain.w_, watched.w_)
    for name in set(COLUMNS) - {"seconds", "certificate_seconds"}:
        np.testing.assert_array_equal(plain.history_[name], watched.history_[name])


@pytest.mark.parametrize("last", [1, 2, 5, 6])
@pytest.mark.parametrize("hooks", [False, True], ids=["function", "object"])
def test_true_stops_with_a_certificate(tiny_chains, hooks, last, recwarn):
    X, y = tiny_chains
    callback = Recorder(last) if hooks else lambda info: info["passes"] == last
    model = tight(certificate_every=5).set_callbacks(callback).fit(X, y)
    assert model.status_ == "STOPPED_BY_CALLBACK" == Status.STOPPED_BY_CALLBACK
    assert not model.converged_
    assert model.n_iter_ == last
    certify(model, X, y)
    assert not recwarn.list  # no ConvergenceWarning, since the user stopped the fit
    if hooks:
        assert callback.info["status"] == "STOPPED_BY_CALLBACK"
        assert callback.info["gap"] == model.dual_gap_


def test_a_pass_that_ends_the_fit_keeps_its_status(tiny_chains):
    model = tight().set_callbacks(lambda info: info["status"] is not None)
    assert model.fit(*tiny_chains).status_ == "CONVERGED"


def test_passes_of_cache_hits_may_be_more_than_max_iter(tiny_chains):
    rows = []
    model = ChainSSVM(lam=0.02, tol=0, max_iter=20, solver=BCFW(cache=True), random_state=0)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        model.set_callbacks(rows.append).fit(*tiny_chains)
    assert len(rows) == len(model.history_["passes"]) > 20 == model.n_iter_


def test_every_callback_is_called_and_one_suffices_to_stop(tiny_chains):
    calls = []

    def first(info):
        calls.append("first")
        return info["passes"] == 2

    def second(info):
        calls.append("second")

    tight().set_callbacks(first, second).fit(*tiny_chains)
    assert calls == ["first", "second"] * 2


def test_order_of_hooks(tiny_chains):
    recorder = Recorder(stop_after=3)
    model = tight(max_iter=17).set_callbacks(recorder).fit(*tiny_chains)
    passes = [(kind, "pass", k) for k in range(3) for kind in ("begin", "end")]
    assert recorder.calls == [
        ("setup", "fit", 0),
        ("begin", "fit", 0),
        *passes,
        ("end", "fit", 0),
        ("teardown", "fit", 0),
    ]
    assert recorder.ended[3].w_ is not None
    assert not {name for name in vars(model) if "ctx" in name or "teardown" in name}


def test_hooks_get_data_and_a_fitted_estimator(tiny_chains):
    X, y = tiny_chains
    weights = np.arange(1.0, len(X) + 1)
    snapshots = []

    class Snapshot(Recorder):
        def on_fit_task_begin(self, estimator, context, *, fitted_estimator=None):
            if context.task_name == "fit" or context.task_id == 0:
                assert fitted_estimator is None
            else:
                np.testing.assert_array_equal(fitted_estimator.w_, snapshots[-1][1].w_)

        def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
            assert X is given[0]
            assert y is given[1]
            assert (metadata["sample_weight"] is weights) if weighted else metadata is None
            assert fitted_estimator is not estimator
            snapshots.append((dict(context.info), fitted_estimator))

    given = X, y
    for weighted in (True, False):
        snapshots.clear()
        model = tight(max_iter=4, certificate_every=2).set_callbacks(Snapshot())
        with pytest.warns(sklearn.exceptions.ConvergenceWarning) as caught:
            model.fit(X, y, weights if weighted else None)
        assert caught[0].filename == __file__  # the warning refers to the line of the user
        assert len(snapshots) == 5
        for number, (info, fitted) in enumerate(snapshots[:4], 1):
            # The snapshot is as if the fit had stopped there.
            assert fitted.n_iter_ == number == len(fitted.history_["dual"])
            assert fitted.dual_objective_ == info["dual"]
            np.testing.assert_equal(fitted.objective_, info["primal"])
            terms = brute_force.blocks(X, y, brute_force.Model(3), "hamming-count", weights)
            if weighted and number % 2 == 0:
                primal = brute_force.primal(fitted.w_, model.lam_, terms)
                assert primal == pytest.approx(info["primal"])
            fitted.predict(X)
        assert snapshots[3][1].status_ == "MAX_ITER"
        assert snapshots[2][1].status_ == "STOPPED_BY_CALLBACK"
        np.testing.assert_array_equal(snapshots[4][1].w_, model.w_)
        assert not np.array_equal(snapshots[1][1].w_, model.w_)


class Broken(Recorder):
    def __init__(self, error, hook):
        super().__init__()
        self.error, self.hook = error, hook

    def raise_at(self, hook, context):
        if hook == self.hook and context.task_name == "pass" and context.task_id == 2:
            raise self.error

    def on_fit_task_begin(self, estimator, context):
        self.raise_at("begin", context)

    def on_fit_task_end(self, estimator, context):
        self.raise_at("end", context)


@pytest.mark.parametrize("hook", ["begin", "end"])
@pytest.mark.parametrize("error", [ZeroDivisionError("here"), KeyboardInterrupt("here")])
def test_an_exception_is_raised_and_leaves_a_model(tiny_chains, error, hook):
    X, y = tiny_chains
    broken = Broken(error, hook)
    model = tight().set_callbacks(broken)
    with pytest.raises(type(error), match="here"):
        model.fit(X, y)
    certify(model, X, y)
    assert model.n_iter_ == (3 if hook == "end" else 2)
    stopped = isinstance(error, ZeroDivisionError)
    assert model.status_ == ("STOPPED_BY_CALLBACK" if stopped else "INTERRUPTED")
    assert [call[0] for call in broken.calls] == ["setup", "teardown"]
    model.set_callbacks()
    assert model.fit(X, y).status_ == "CONVERGED"


def test_an_exception_before_the_first_pass_leaves_the_estimator_unfitted(tiny_chains):
    class RaisesAtBegin(Recorder):
        def on_fit_task_begin(self, estimator, context):
            raise ZeroDivisionError

    recorder = RaisesAtBegin()
    model = tight().set_callbacks(recorder)
    with pytest.raises(ZeroDivisionError):
        model.fit(*tiny_chains)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert recorder.calls == [("setup", "fit", 0), ("teardown", "fit", 0)]


def test_data_are_validated_before_callbacks_are_called(tiny_chains):
    recorder = Recorder()
    X, y = tiny_chains
    with pytest.raises(ValueError, match="13"):
        tight().set_callbacks(recorder).fit(X[:-1], y)
    assert recorder.calls == []


def test_all_callbacks_are_torn_down_when_two_fail(tiny_chains):
    class Fails(Recorder):
        def teardown(self, estimator, context):
            super().teardown(estimator, context)
            raise ZeroDivisionError

    first, second = Fails(), Fails()
    with pytest.raises(ZeroDivisionError):
        tight().set_callbacks(first).fit(*tiny_chains)
    with pytest.raises(ExceptionGroup):
        tight().set_callbacks(first, second).fit(*tiny_chains)
    assert second.calls[-1][0] == "teardown"


@pytest.mark.parametrize("wrong", [None, 3, "gap", Recorder, object()])
def test_objects_that_are_not_callbacks_are_rejected(wrong):
    with pytest.raises(TypeError, match="callbacks must be"):
        ChainSSVM().set_callbacks(print, wrong)


def test_hooks_with_unknown_required_arguments_are_rejected(tiny_chains):
    class Asks(Recorder):
        def on_fit_task_begin(self, estimator, context, *, gap):
            """Never called."""

    with pytest.raises(TypeError, match="gap"):
        tight().set_callbacks(Asks()).fit(*tiny_chains)


def test_set_callbacks_replaces(tiny_chains):
    first, second = [], []
    model = tight().set_callbacks(first.append).set_callbacks(second.append)
    model.fit(*tiny_chains)
    assert not first
    assert second
    n = len(second)
    model.set_callbacks().fit(*tiny_chains)
    assert len(second) == n


def test_monitor_records_the_certificates(tiny_chains):
    monitor = GapMonitor()
    with pytest.raises(ValueError, match="has not recorded a fit"):
        _ = monitor.history
    models = [
        tight(certificate_every=every).set_callbacks(monitor).fit(*tiny_chains) for every in (1, 4)
    ]
    assert len(monitor.histories) == 2
    for model, history in zip(models, monitor.histories):
        certified = np.isfinite(model.history_["primal"])
        for name, column in history.items():
            np.testing.assert_array_equal(column, model.history_[name][certified])
            assert column.dtype == model.history_[name].dtype
    np.testing.assert_equal(monitor.history, monitor.histories[1])
    assert len(monitor.history["gap"]) < models[1].n_iter_


def test_monitor_takes_the_certificate_that_ends_the_fit(tiny_chains):
    monitor = GapMonitor()
    model = tight(certificate_every=50).set_callbacks(monitor, lambda info: info["passes"] == 3)
    model.fit(*tiny_chains)
    assert monitor.history["passes"].tolist() == [3]
    assert monitor.history["gap"].tolist() == [model.dual_gap_]


def test_monitor_stops(tiny_chains):
    monitor = GapMonitor(stop_at=0.05)
    model = tight(certificate_every=1).set_callbacks(monitor).fit(*tiny_chains)
    assert model.status_ == "STOPPED_BY_CALLBACK"
    relative = model.history_["gap"] / model.history_["primal"]
    assert relative[-1] <= 0.05
    assert (relative[:-1] > 0.05).all()
    assert len(relative) > 1
    assert repr(monitor) == "GapMonitor(stop_at=0.05)"
    for wrong in (-1, "no", math.nan):
        with pytest.raises((ValueError, TypeError), match="stop_at"):
            GapMonitor(stop_at=wrong)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_grid_search(tiny_chains, backend):
    X, y = tiny_chains
    monitor = GapMonitor(stop_at=0.05)
    model = tight(certificate_every=1, classes=[0, 1, 2]).set_callbacks(monitor)
    search = GridSearchCV(model, {"lam": [0.02, 0.2]}, cv=2, n_jobs=2)
    with joblib.parallel_backend(backend):
        search.fit(X, y)
    assert search.best_estimator_.status_ == "STOPPED_BY_CALLBACK"
    histories = monitor.histories
    assert len(histories) == (5 if backend == "threading" else 1)
    for history in histories:
        relative = history["gap"] / history["primal"]
        assert relative[-1] <= 0.05
        assert (relative[:-1] > 0.05).all()
    assert histories[-1]["gap"][-1] == search.best_estimator_.dual_gap_


def remember(info):
    return False


def recorded():
    seen = []
    return lambda info: seen.append(info)


@pytest.mark.parametrize(
    "callback",
    [lambda info: False, recorded(), remember, GapMonitor(), Recorder()],
    ids=["lambda", "closure", "function", "callback", "callback of a test"],
)
def test_callbacks_are_not_part_of_a_fitted_model(tiny_chains, callback, tmp_path):
    model = tight().set_callbacks(callback).fit(*tiny_chains)
    joblib.dump(model, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(again.w_, model.w_)
        assert "callback" not in repr(vars(again))
        again.fit(*tiny_chains)
    # The model itself and its clones keep them.
    assert model._skl_callbacks == clone(model)._skl_callbacks
    assert "callback" in repr(vars(model))


@pytest.mark.parametrize("kind", ["latent", "cv", "path"])
def test_callbacks_are_not_part_of_models_of_models(tiny_chains, kind):
    inner = tight(classes=[0, 1, 2]).set_callbacks(lambda info: False)
    model = {
        "latent": lambda: LatentSSVM(inner).fit(*tiny_chains),
        "cv": lambda: PathCV(inner, cv=2, lams=[0.1]).fit(*tiny_chains),
        "path": lambda: ssvm_path(inner, *tiny_chains, eps=0.5),
    }[kind]()
    data = pickle.dumps(model)
    assert b"callback" not in data
    X = tiny_chains[0]
    again = pickle.loads(data)
    found, expected = (
        (each if kind != "path" else each.estimator(0.1)).predict(X) for each in (again, model)
    )
    assert equal(found, expected)


def test_an_unfitted_estimator_keeps_its_callbacks(tiny_chains):
    model = tight(certificate_every=1).set_callbacks(GapMonitor(stop_at=0.05))
    again = pickle.loads(pickle.dumps(model))
    assert again.fit(*tiny_chains).status_ == "STOPPED_BY_CALLBACK"


@needs_protocol
def test_progress_bar_of_scikit_learn(tiny_chains, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    tight(max_iter=500).set_callbacks(ProgressBar()).fit(*tiny_chains)
    assert "ChainSSVM - fit" in capsys.readouterr().out
    model = tight(classes=[0, 1, 2])
    search = GridSearchCV(model, {"lam": [0.02, 0.2]}, cv=2)
    search.set_callbacks(ProgressBar(max_propagation_depth=None)).fit(*tiny_chains)
    assert "ChainSSVM - fit" in capsys.readouterr().out


@needs_protocol
@pytest.mark.parametrize("weighted", [False, True])
def test_scoring_monitor_of_scikit_learn(tiny_chains, weighted):
    from sklearn.callback import ScoringMonitor

    X, y = tiny_chains
    weights = np.arange(1.0, len(X) + 1) if weighted else None

    monitor = ScoringMonitor(scoring={"score": make_flat_scorer(flat_accuracy_score)})
    model = tight().set_callbacks(monitor).fit(X, y, weights)
    log = monitor.get_logs().data
    assert len(log) == model.n_iter_ + 1
    scores = {row["task_id_path"]: row["score"] for row in log}
    assert scores[(0,)] == model.score(X, y, weights)
    assert scores[(0, model.n_iter_ - 1)] == model.score(X, y, weights)


@needs_protocol
def test_the_fit_is_part_of_a_search_of_scikit_learn(tiny_chains):
    class Propagated(Recorder):
        max_propagation_depth = None

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.calls.append(("end", context.task_name, context.source_estimator_name))

    recorder = Propagated()
    model = tight(classes=[0, 1, 2])
    search = GridSearchCV(model, {"lam": [0.02]}, cv=2).set_callbacks(recorder)
    search.fit(*tiny_chains)
    assert recorder.calls.count(("end", "fit", "GridSearchCV")) == 3
    assert sum(name == "pass" for _, name, _ in recorder.calls) > 10


def test_the_info_of_callbacks_has_all_keys_and_is_a_copy(tiny_chains):
    seen, monitor = [], GapMonitor()

    class ClearsInfo(Recorder):
        def on_fit_task_begin(self, estimator, context):
            seen.append(dict(context.info))
            context.info.clear()

        def on_fit_task_end(self, estimator, context):
            seen.append(dict(context.info))
            context.info.clear()

    model = tight(certificate_every=3)
    model.set_callbacks(lambda info: info.clear(), ClearsInfo(), monitor).fit(*tiny_chains)
    assert model.status_ == "CONVERGED"
    assert len(seen) == 2 * model.n_iter_ + 2
    for info in seen:
        assert info.keys() == {*COLUMNS, "relative_gap_estimate", "status"}
    assert math.isnan(seen[0]["primal"])
    assert seen[0]["status"] is None
    assert seen[-1]["status"] == "CONVERGED"
    stopped = tight(certificate_every=9)
    stopped.set_callbacks(lambda info: info.clear() or True).fit(*tiny_chains)
    assert stopped.status_ == "STOPPED_BY_CALLBACK"
    assert stopped.dual_gap_ >= 0


def test_return_values_without_a_truth_value_are_rejected(tiny_chains):
    model = tight().set_callbacks(lambda info: np.zeros(2))
    with pytest.raises(TypeError, match="a callback returned a ndarray, which has no truth value"):
        model.fit(*tiny_chains)
    assert model.status_ == "STOPPED_BY_CALLBACK"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
def test_a_fit_that_raises_releases_its_memory(tiny_chains, error):
    """Memory is freed without the garbage collector, since many fits may fail in a loop."""

    def states():
        return sum(
            type(each).__name__ in ("DualState", "ChainProblem") for each in gc.get_objects()
        )

    def raises(info):
        raise error

    gc.collect()
    before = states()
    gc.disable()
    try:
        for _ in range(3):
            with pytest.raises(error):
                tight().set_callbacks(raises).fit(*tiny_chains)
        assert states() == before
    finally:
        gc.enable()
