"""Test validation samples, selected weights and certificates of early stopping."""

import pickle
import signal
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import SGDClassifier

from sstruct import (
    ChainSSVM,
    LatentSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    Sequences,
    ssvm_path,
)
from sstruct._estimators.chain.chain_structure import ChainStructure
from sstruct._estimators.core import held_out
from sstruct._estimators.core.structure import NodeStructure
from sstruct._estimators.label_set.label_set_structure import ClassStructure
from sstruct._solvers.core.best_weights import BestWeights
from sstruct.datasets import make_sequences
from sstruct.mapped import open_mapped
from sstruct.solvers import BCFW, MPBCFW
from tests.estimators.same_bits import assert_same_bits, check_resuming
from tests.estimators.state.test_states import from_skops
from tests.options import solver_with
from tests.reference import brute_force

# Solvers that make one step per sample, and lam.
ONE_BY_ONE = (("perceptron", "auto"), ("pa", "auto"), ("ssg", 0.01))
limited = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def chains():
    return make_sequences(80, n_labels=3, min_length=2, max_length=4, noise=1.5, random_state=0)


def parts(chains):
    X, y = chains
    return (X[:60], y[:60]), {"X_val": X[60:], "y_val": y[60:]}


def model(solver="auto", options=None, **parameters):
    """Return a model with early stopping; options of the solver may override it."""
    solver = solver_with(solver, **{"early_stopping": True, **(options or {})})
    return ChainSSVM(pairwise_scale=1, solver=solver, **{"random_state": 0, **parameters})


def each_pass(estimator, data, **keywords):
    """Fit; return the model, and its weights and validation score after each pass."""
    found = []

    class Watch:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...
        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            if context.task_name == "pass":
                found.append((fitted_estimator.w_, fitted_estimator.score(*held)))

    held = keywords["X_val"], keywords["y_val"]
    return estimator.set_callbacks(Watch()).fit(*data, **keywords), found


@pytest.mark.parametrize(
    "solver",
    ["mp-bcfw", MPBCFW(average=False), "bcfw", BCFW(average=False), "ssg", "perceptron", "pa"],
    ids=str,
)
def test_the_weights_of_the_best_pass_are_selected_and_certified(chains, solver):
    data, held = parts(chains)
    fitted, found = each_pass(model(solver=solver, tol=0), data, **held)
    history = fitted.history_
    scores = history["validation_score"]
    assert fitted.status_ == "EARLY_STOPPED"
    assert not fitted.converged_
    # In callbacks, the fitted estimator has the best weights so far.
    np.testing.assert_array_equal([score for _, score in found], np.maximum.accumulate(scores))
    best = int(np.argmax(scores))
    assert fitted.w_.tobytes() == found[best][0].tobytes() == found[-1][0].tobytes()
    assert len(scores) == fitted.n_iter_
    if solver == "pa":  # stops after a pass without a mistake
        assert history["mistakes"][-1] == 0 < history["mistakes"][-2]
    else:
        assert len(scores) == best + 1 + fitted.solver.n_iter_no_change
    assert fitted.score(held["X_val"], held["y_val"]) == scores.max()
    if not fitted._structure().solvers[fitted.solver_].has_objective:
        assert np.isnan([fitted.objective_, fitted.dual_gap_]).all()
        return
    # Check the certificate by enumeration. It is computed for the training samples only.
    terms = brute_force.blocks(*data, brute_force.Model(3))
    assert fitted.objective_ == pytest.approx(brute_force.primal(fitted.w_, fitted.lam_, terms))
    assert history["primal"][-1] == fitted.objective_
    if solver == "ssg":
        assert np.isnan(fitted.dual_objective_)
    else:
        assert fitted.dual_gap_ == fitted.objective_ - fitted.dual_objective_
        exact = ChainSSVM(pairwise_scale=1, lam=fitted.lam_, tol=1e-6).fit(*data)
        assert fitted.dual_objective_ <= exact.objective_
        assert history["dual"][-1] == fitted.dual_objective_ == history["dual"].max()


def test_validation_samples_are_not_used_in_training(chains):
    X, y = chains
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    for fraction in (0.1, 0.3):
        drawn = model(options={"validation_fraction": fraction}, loss="balanced").fit(X, y, weights)
        train, held = next(held_out.ShuffleSplit(1, test_size=fraction, random_state=0).split(X))
        train, held = np.sort(train), np.sort(held)
        given = model(loss="balanced").fit(
            [X[i] for i in train],
            [y[i] for i in train],
            weights[train],
            X_val=[X[i] for i in held],
            y_val=[y[i] for i in held],
            sample_weight_val=weights[held],
        )
        assert given.lam_ == drawn.lam_
        np.testing.assert_array_equal(
            given.history_["validation_score"][0], drawn.history_["validation_score"][0]
        )
        assert_same_bits(drawn, given)


def test_lam_auto_depends_only_on_training_samples(chains):
    data, held = parts(chains)
    assert model().fit(*data, **held).lam_ == ChainSSVM(pairwise_scale=1).fit(*data).lam_


def test_the_split_is_stratified_as_in_scikit_learn(rng, monkeypatch):
    y = np.repeat(["rare", "often"], [20, 180])
    X = rng.standard_normal((200, 3)) + (y == "rare")[:, np.newaxis]
    seen = []

    def spy(structure, model, samples, y, sample_weight):
        seen.append(y)
        return NodeStructure.truth(structure, model, samples, y, sample_weight)

    monkeypatch.setattr(ClassStructure, "truth", spy)
    early = MulticlassSSVM(
        solver=MPBCFW(early_stopping=True, validation_fraction=0.2), random_state=0
    )
    early.fit(X, y)
    assert sorted(seen[0]) == ["often"] * 36 + ["rare"] * 4
    for form in (y[:, np.newaxis].tolist(), (y == "rare")[:, np.newaxis], pd.DataFrame(y)):
        with pytest.warns(DataConversionWarning):
            np.testing.assert_array_equal(clone(early).fit(X, form).w_, early.w_)
    alone = np.append(y[:-1], "alone")
    message = "early_stopping=True with validation_fraction=0.1 cannot split 200 samples"
    with pytest.raises(ValueError, match=message):
        MulticlassSSVM(solver=MPBCFW(early_stopping=True)).fit(X, alone)
    with pytest.raises(ValueError, match="populated class"):  # scikit-learn agrees
        SGDClassifier(early_stopping=True).fit(X, alone)


@limited
@pytest.mark.parametrize("average", ["auto", False])
def test_a_fit_can_resume_after_any_pass(chains, tmp_path, monkeypatch, average):
    estimator = model(MPBCFW(average=average), {"n_iter_no_change": 8}, lam=1e-3, tol=1e-9)
    check_resuming(estimator, *chains, tmp_path / "fit.npz", monkeypatch, least=5)
    assert list(tmp_path.iterdir()) == []  # the checkpoint is removed at the end


@limited
def test_checkpoints_with_different_validation_samples_raise_an_error(chains, tmp_path):
    (X, y), held = parts(chains)
    estimator = model(options={"checkpoint": tmp_path / "fit.npz"}, max_iter=2, tol=0)
    estimator.fit(X, y, **held)
    for other in (
        {"X_val": held["X_val"][:-1], "y_val": held["y_val"][:-1]},
        held | {"sample_weight_val": np.arange(1, 21)},
        held | {"y_val": [labels[::-1] for labels in held["y_val"]]},
    ):
        with pytest.raises(ValueError, match="other data or parameters"):
            estimator.fit(X, y, **other)
    with pytest.raises(ValueError, match="other data or parameters"):
        clone(estimator).set_params(solver__early_stopping=False, solver__average=True).fit(X, y)


@limited
def test_a_warm_start_continues_from_the_last_dual_weights(chains):
    data, held = parts(chains)
    estimator = model(warm_start=True, lam=0.01).fit(*data, **held)
    dual = estimator.dual_objective_
    estimator.fit(*data, **held)
    assert estimator.history_["dual"][0] >= dual
    # With an integer random_state, each fit sets aside the same samples.
    estimator = model(warm_start=True, lam=0.01).fit(*chains)
    estimator.set_params(lam=0.005).fit(*chains)
    assert pickle.loads(pickle.dumps(estimator)).set_params(lam=0.002).fit(*chains).lam_ == 0.002


def test_a_warm_start_can_add_the_validation_samples(chains):
    (X, y), held = parts(chains)
    estimator = model(warm_start=True, lam=0.01).fit(X, y, **held)
    estimator.set_params(solver__early_stopping=False)
    everything = [*X, *held["X_val"]], [*y, *held["y_val"]]
    estimator.fit(*everything)
    assert estimator.status_ == "CONVERGED"
    terms = brute_force.blocks(*everything, brute_force.Model(3))
    assert estimator.objective_ == pytest.approx(brute_force.primal(estimator.w_, 0.01, terms))
    alone = model(options={"early_stopping": False}, lam=0.01, tol=1e-6).fit(*everything)
    allowed = estimator.dual_gap_ + alone.dual_gap_
    assert 0 <= estimator.objective_ - alone.dual_objective_ <= allowed + 1e-12


@limited
@pytest.mark.usefixtures("sigint")
@pytest.mark.parametrize("status", ["INTERRUPTED", "STOPPED_BY_CALLBACK"])
def test_ctrl_c_and_callbacks_keep_the_best_weights(chains, status):
    data, held = parts(chains)
    estimator = model(options={"n_iter_no_change": 500}, lam=1e-3, tol=0)

    def end(info):
        if info["passes"] == 4 and status == "INTERRUPTED":
            signal.raise_signal(signal.SIGINT)
        return info["passes"] == 4

    raises = pytest.raises(KeyboardInterrupt) if status == "INTERRUPTED" else nullcontext()
    with raises:
        estimator.set_callbacks(end).fit(*data, **held)
    assert estimator.status_ == status
    scores = estimator.history_["validation_score"]
    assert estimator.score(held["X_val"], held["y_val"]) == np.nanmax(scores)
    terms = brute_force.blocks(*data, brute_force.Model(3))
    primal = brute_force.primal(estimator.w_, estimator.lam_, terms)
    assert estimator.objective_ == pytest.approx(primal)


def test_early_stopping_does_not_warn(chains, recwarn):
    model(tol=0).fit(*chains)
    assert not recwarn


INVALID = [
    ({"options": {"early_stopping": "yes"}}, "early_stopping of MPBCFW must be"),
    (
        {"options": {"validation_fraction": 0}},
        "validation_fraction of MPBCFW must be finite and above 0",
    ),
    ({"options": {"validation_fraction": 1.0}}, "validation_fraction of MPBCFW must be below 1"),
    ({"options": {"n_iter_no_change": 0}}, "n_iter_no_change of MPBCFW must be at least 1"),
    ({"options": {"validation_fraction": 0.999}}, "cannot split 80 samples"),
    ({"warm_start": True, "random_state": None}, "set random_state to an integer"),
]


@pytest.mark.parametrize(("parameters", "message"), INVALID)
def test_errors_name_invalid_parameters(chains, parameters, message):
    estimator = model(**parameters)
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(*chains)
    assert not hasattr(estimator, "status_")


def test_at_least_one_sample_is_set_aside(chains):
    fitted = model(options={"validation_fraction": 1e-9, "n_iter_no_change": 1}).fit(*chains)
    assert np.isfinite(fitted.history_["validation_score"]).all()


def test_errors_name_invalid_samples(chains):
    (X, y), held = parts(chains)
    with pytest.raises(ValueError, match="X_val and y_val require early_stopping=True"):
        ChainSSVM().fit(X, y, **held)
    with pytest.raises(ValueError, match="pass both, or neither"):
        model().fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="pass both, or neither"):
        model().fit(X, y, sample_weight_val=np.ones(3))
    with pytest.raises(ValueError, match=r"validation samples \(X_val, y_val\): .*features"):
        model().fit(X, y, X_val=[x[:, :1] for x in held["X_val"]], y_val=held["y_val"])
    with pytest.raises(ValueError, match=r"validation samples .*: X has 20 samples but y has 19"):
        model().fit(X, y, X_val=held["X_val"], y_val=held["y_val"][1:])
    with pytest.raises(
        ValueError, match=r"validation samples .* sample_weight is zero for every sample"
    ):
        model().fit(X, y, **held, sample_weight_val=np.zeros(20))
    # Errors have the index of the sample in X, whichever samples are set aside.
    for i in range(0, 60, 7):
        bad = [x.copy() for x in X]
        bad[i][0, 0] = np.nan
        with pytest.raises(ValueError, match=rf"X\[{i}\]"):
            model().fit(bad, y)
    with pytest.raises(ValueError, match="X has 60"):
        model().fit(X, y[:-1])


def test_mapped_data_cannot_be_split(rng, tmp_path):
    X, y = rng.standard_normal((40, 3)), rng.integers(0, 2, 40)
    np.save(tmp_path / "X.npy", X)
    mapped = open_mapped(tmp_path / "X.npy")
    for data in (mapped, Sequences(mapped, np.arange(41))):
        with pytest.raises(ValueError, match="mapped from a file"):
            ChainSSVM(solver=MPBCFW(early_stopping=True)).fit(
                data, y if data is mapped else y[:, np.newaxis]
            )
    early = MulticlassSSVM(solver=MPBCFW(early_stopping=True), random_state=0)
    fitted = early.fit(mapped[:30], y[:30], X_val=mapped[30:], y_val=y[30:])
    assert fitted.history_["validation_score"].max() == fitted.score(X[30:], y[30:])


@pytest.mark.parametrize("search", [ssvm_path, lambda m, X, y: PathCV(m).fit(X, y)])
def test_paths_do_not_support_early_stopping(chains, search):
    with pytest.raises(ValueError, match="supported only by fit of ChainSSVM"):
        search(model(), *chains)


def test_latent_and_partial_fits_do_not_support_early_stopping(chains):
    X, y = chains
    with pytest.raises(
        ValueError, match="early_stopping=True of the solver is not supported by LatentSSVM"
    ):
        LatentSSVM(model()).fit(X, y)
    with pytest.raises(ValueError, match="supported only by fit of ChainSSVM"):
        model(solver="pa").partial_fit(X, y, classes=range(3))


@limited
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize(("solver", "lam"), ONE_BY_ONE)
def test_partial_fit_continues_from_the_selected_weights(chains, solver, lam, bounded):
    (X, y), held = parts(chains)
    bounds = np.tile([[-0.1], [0.1]], ChainSSVM(lam=1).fit(X, y).w_.size) if bounded else None
    early = model(solver=solver, lam=lam, bounds=bounds).fit(X, y, **held)
    best = int(early.history_["validation_score"].argmax())
    assert best + 1 < early.n_iter_
    stopped = clone(early).set_params(solver__early_stopping=False, max_iter=best + 1, tol=0)
    stopped.fit(X, y)
    for each in (early, stopped):
        each.set_params(solver__early_stopping=False).partial_fit(*held.values())
    assert early.n_oracle_calls_ == stopped.n_oracle_calls_ == 60 * (best + 1) + 20
    assert_same_bits(early, stopped)


@pytest.mark.parametrize(("solver", "lam"), ONE_BY_ONE)
def test_partial_fit_continues_without_a_validation_score(chains, solver, lam, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    early = model(solver=solver, lam=lam)
    with monkeypatch.context() as patch:
        patch.setattr(BestWeights, "update", interrupt)
        with pytest.raises(KeyboardInterrupt):
            early.fit(*chains)
    n_steps = early.n_oracle_calls_
    early.set_params(solver__early_stopping=False).partial_fit(*chains)
    assert early.n_oracle_calls_ == n_steps + 80


def test_skops_files_preserve_the_model(chains):
    fitted = model().fit(*chains)
    again = from_skops(fitted)
    assert again.status_ == "EARLY_STOPPED"
    assert_same_bits(again, fitted)


def test_labels_may_be_tuples(chains):
    X, y = chains
    named = [[("label", int(k)) for k in labels] for labels in y]
    assert_same_bits(model().fit(X, named), model().fit(X, y))


def test_classes_include_labels_of_validation_samples(chains):
    X, y = chains
    labels = [np.minimum(each, 1) for each in y]
    for i in (3, 40, 70):  # some of these are validation samples
        rare = [each.copy() for each in labels]
        rare[i][0] = 2
        costs = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
        fitted = model(options={"validation_fraction": 0.5}, loss=costs).fit(X, rare)
        assert fitted.classes_.tolist() == [0, 1, 2]
        assert fitted.classes is None


@pytest.mark.parametrize("kind", [sparse.csc_array, sparse.coo_array, sparse.coo_matrix])
def test_sparse_matrices_of_all_formats_can_be_split(rng, kind):
    X, Y = rng.standard_normal((40, 3)), rng.integers(0, 2, (40, 2))
    early = MultilabelSSVM(solver=MPBCFW(early_stopping=True), lam=0.1, random_state=0)
    assert_same_bits(early.fit(kind(X), kind(Y)), clone(early).fit(sparse.csr_array(X), Y))


def test_data_are_validated_before_the_split(rng):
    X = sparse.csr_array(rng.standard_normal((40, 3)))
    X.indptr[5] = 10**9
    with pytest.raises(ValueError, match="indptr"):
        MulticlassSSVM(solver=MPBCFW(early_stopping=True)).fit(X, rng.integers(0, 2, 40))
    dates = np.zeros((40, 2, 3), dtype="M8[s]")
    with pytest.raises(TypeError, match="datetime64"):
        ChainSSVM(solver=MPBCFW(early_stopping=True)).fit(dates, np.zeros((40, 2), dtype=int))


def test_sample_weight_may_be_a_scalar(rng):
    data = rng.standard_normal((40, 3)), rng.integers(0, 2, 40)
    early = MulticlassSSVM(solver=MPBCFW(early_stopping=True), lam=0.1, random_state=0)
    for weight in (2.0, np.array(2.0)):
        assert_same_bits(clone(early).fit(*data, sample_weight=weight), clone(early).fit(*data))


def test_errors_of_any_type_mention_validation_samples(chains, monkeypatch):
    monkeypatch.setattr(ChainStructure, "score", lambda *_: b"\xff".decode())
    with pytest.raises(ValueError, match=r"validation samples .*utf-8"):
        ChainSSVM(solver=MPBCFW(early_stopping=True)).fit(*chains)


def test_labels_not_seen_in_training_count_as_errors(rng):
    X = rng.standard_normal((40, 2))
    y = (X[:, 0] > 0).astype(int)
    fitted = MulticlassSSVM(solver=MPBCFW(early_stopping=True), random_state=0).fit(
        X, y, X_val=X[:10], y_val=np.full(10, 7)
    )
    assert fitted.classes_.tolist() == [0, 1]
    assert (fitted.history_["validation_score"] == 0).all()
    # No pass was better than the first one, so the fit stopped after n_iter_no_change more.
    assert fitted.n_iter_ == 6
