"""Test sample weights, warm starts, stopping and pickles of ChainSSVM."""

import os
import pickle
import signal
import threading
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    cross_validate,
)

from sstruct import MulticlassSSVM, PathCV, ssvm_path
from sstruct._estimators.chain.chain_training import MIN_GDMM_LABELS
from sstruct._estimators.core.fit import chosen_options
from sstruct._solvers.core import solver
from sstruct._solvers.frank_wolfe import block_coordinate as frank_wolfe
from sstruct.chain import ChainSSVM
from sstruct.solvers import GDMM, MPBCFW, Subgradient
from tests.reference import brute_force
from tests.solvers.small import Small


def test_warning_if_one_series_is_read_as_rows(rng):
    X, y = rng.standard_normal((20, 2)), np.arange(20) % 2
    model = ChainSSVM(lam=0.1, random_state=0)
    advice = r"^ChainSSVM learns no transitions: X is 2-D.* call fit\(\[X\], \[y\]\)\."
    for rows in (X, X.tolist(), sparse.csr_array(X), pd.DataFrame(X, columns=["a", "b"])):
        with pytest.warns(UserWarning, match=advice) as caught:
            clone(model).fit(rows, y)
        assert len(caught) == 1
        assert caught[0].filename == __file__
    advice = r"each sequence in X has one node.* call fit\(\[X\], \[y\]\)"
    for items in (X[:, np.newaxis], list(X[:, np.newaxis])):
        with pytest.warns(UserWarning, match=advice):
            clone(model).fit(items, [[k] for k in y])
    for refit in (True, False):
        search = PathCV(clone(model), cv=2, eps=0.5, lam_min=0.1, refit=refit)
        with pytest.warns(UserWarning, match="X is 2-D") as caught:
            search.fit(X, y)
        assert sum("no transitions" in str(warning.message) for warning in caught) == 1
    with pytest.warns(UserWarning, match="X is 2-D"):
        ssvm_path(model, X, y, eps=0.5, lam_min=0.1)
    with pytest.warns(UserWarning, match="X is 2-D"):
        clone(model).set_params(solver=MPBCFW(early_stopping=True)).fit(X, y)


@pytest.mark.filterwarnings("error:.* learns no transitions:UserWarning")
def test_no_warning_for_sequences_and_independent_rows(rng):
    X, y = rng.standard_normal((20, 2)), np.arange(20) % 2
    model = ChainSSVM(lam=0.1, random_state=0)
    found = clone(model).fit([X], [y])
    assert found.score([X], [y]) > 0
    clone(model).fit([X[:2], *X[2:, np.newaxis]], [y[:2], *y[2:, np.newaxis]])
    clone(model).fit(X[:1], y[:1])
    rows = clone(model).set_params(transitions=False).fit(X, y)
    rows.score(X, y)
    rows.predict(X)
    MulticlassSSVM(lam=0.1, random_state=0).fit(X, y)
    # Later calls of partial_fit may have longer sequences.
    ChainSSVM(solver="perceptron").partial_fit(X[:, np.newaxis], y[:, np.newaxis], classes=[0, 1])


HISTORY = [
    "seconds", "certificate_seconds", "passes", "oracle_calls", "approximate_passes", "primal",
    "gap", "dual", "working_set_size",
]  # fmt: skip


def long_chains(rng, n=300, K=6):
    """Return data for which a fit with tol=0 takes a long time."""
    X = [rng.standard_normal((20, 20)) for _ in range(n)]
    return X, [rng.integers(0, K, 20) for _ in range(n)]


def test_a_label_of_weight_zero_is_not_a_class(tiny_chains):
    X, y = tiny_chains
    model = ChainSSVM(lam=0.1).fit([*X, X[0]], [*y, [9]], [1] * len(X) + [0])
    assert model.classes_.tolist() == [0, 1, 2]


def test_history(tiny_chains):
    X, y = tiny_chains
    for every in (1, 3):
        model = ChainSSVM(
            lam=0.01,
            tol=1e-4,
            solver=MPBCFW(certificate_every=every),
            max_iter=20_000,
            random_state=0,
        ).fit(X, y)
        history = model.history_
        assert list(history) == HISTORY
        assert {len(column) for column in history.values()} == {model.n_iter_}
        assert history["passes"].tolist() == list(range(1, model.n_iter_ + 1))
        assert (history["oracle_calls"] == history["passes"] * len(X)).all()
        assert history["oracle_calls"][-1] == model.n_oracle_calls_
        for name in ("seconds", "certificate_seconds", "approximate_passes"):
            assert (np.diff(history[name]) >= 0).all()
        assert (history["certificate_seconds"] <= history["seconds"]).all()
        certified = np.isfinite(history["primal"])
        np.testing.assert_array_equal(certified, np.isfinite(history["gap"]))
        assert certified[every - 1 :: every].all()
        assert certified.all() == (every == 1)
        assert history["primal"][-1] == model.objective_
        assert history["dual"][-1] == model.dual_objective_
        assert history["gap"][-1] == model.dual_gap_ <= 1e-4 * model.objective_
        assert (history["working_set_size"] >= 1).all()
        dual = history["dual"][certified]
        assert (np.diff(dual) >= -1e-12 * model.objective_).all()


@pytest.mark.parametrize("sampling", ["permutation", "uniform"])
@pytest.mark.parametrize("key", range(4))
def test_tol_zero_stops_at_rounding_error(key, sampling):
    rng = np.random.default_rng(key)
    X = [rng.standard_normal((2, 3)) for _ in range(3)]
    y = [[0, 1], [2, 0], rng.integers(0, 3, 2)]
    model = ChainSSVM(
        lam=0.3, tol=0, max_iter=10_000, solver=MPBCFW(sampling=sampling), random_state=0
    ).fit(X, y)
    assert (model.status_, model.converged_) == ("STALLED", False)
    assert 0 < model.dual_gap_ <= 1e-12 * model.objective_


UNCERTIFIED = MPBCFW(certificate_every=10**7)


@pytest.mark.parametrize(
    "solver, send",
    [
        pytest.param(
            UNCERTIFIED,
            "kill",
            marks=pytest.mark.skipif(os.name == "nt", reason="os.kill ends the process"),
        ),
        (UNCERTIFIED, "raise_signal"),
        ("fw", "raise_signal"),
        (Subgradient(certificate_every=10**7), "raise_signal"),
        ("cutting-plane", "raise_signal"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("sigint")
def test_control_c(rng, solver, send):
    X, y = long_chains(rng, n=20, K=3)
    X, y = [x[:4] for x in X] * 40, [labels[:4] for labels in y] * 40
    model = ChainSSVM(
        pairwise_scale=1, lam=1e-5, tol=0, max_iter=10**7, solver=solver,
        warm_start=solver is UNCERTIFIED, random_state=0,
    )  # fmt: skip
    deliver = {
        "raise_signal": lambda: signal.raise_signal(signal.SIGINT),
        "kill": lambda: os.kill(os.getpid(), signal.SIGINT),
    }[send]
    timer = threading.Timer(0.5, deliver)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    assert (model.status_, model.converged_) == ("INTERRUPTED", False)
    assert model.history_["seconds"][-1] < 5
    assert {len(column) for column in model.history_.values()} == {len(model.history_["dual"])}
    assert len(model.history_["passes"]) == model.n_iter_ >= 1
    terms = brute_force.blocks(X[:20], y[:20], brute_force.Model(3))
    terms = [replace(block, weight=block.weight / 40) for block in terms] * 40
    assert model.objective_ == pytest.approx(brute_force.primal(model.w_, 1e-5, terms), rel=1e-9)
    if model.warm_start:
        alphas = brute_force.read_working_sets(model._warm_state, terms)
        dual = brute_force.dual(alphas, 1e-5, terms)
        assert model.dual_objective_ == pytest.approx(dual, rel=1e-9)
    elif model.solver_ != "ssg":
        assert 0 <= model.dual_objective_ <= model.objective_
    assert len(model.predict(X)) == len(X)


def test_warm_start_continues(tiny_chains):
    X, y = tiny_chains
    parameters = dict(lam=0.02, tol=1e-7, max_iter=20_000, random_state=0)
    cold = ChainSSVM(**parameters).fit(X, y)
    for warm_start in (True, "dual"):
        model = ChainSSVM(**parameters, warm_start=warm_start).fit(X, y)
        assert model.n_iter_ == cold.n_iter_
        assert model.fit(X, y).n_iter_ <= cold.n_iter_ / 10
        changed = {"lam": 0.019, "loss": "hamming-count"}
        model.set_params(**changed).fit(X, y)
        fresh = ChainSSVM(**parameters | changed).fit(X, y)
        assert model.n_iter_ < fresh.n_iter_
        assert model.objective_ == pytest.approx(fresh.objective_, rel=2e-7)
    # A fit that reached max_iter is continued.
    model = ChainSSVM(**{**parameters, "max_iter": 5}, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        dual = model.fit(X, y).dual_objective_
    assert model.set_params(max_iter=20_000).fit(X, y).history_["dual"][0] >= dual * (1 - 1e-12)


@pytest.mark.parametrize("change", ["features", "labels", "fewer", "classes", "mask"])
def test_warm_start_with_other_data_raises(tiny_chains, change):
    X, y = tiny_chains
    names = ["a", "b", "c"]
    y = [[names[label] for label in labels] for labels in y]
    model = ChainSSVM(lam=0.1, warm_start=True).fit(X, y)
    before = model.w_.copy()
    if change == "features":
        X = [*X[:-1], X[-1] + 1e-9]
    elif change == "labels":
        y = [["b"], *y[1:]]
    elif change == "fewer":
        X, y = X[:-1], y[:-1]
    elif change == "classes":
        model.set_params(classes=["c", "b", "a"])
    else:
        model.set_params(transition_mask=np.ones((3, 3), dtype=bool))
    with pytest.raises(ValueError, match="the last fit and requires its samples"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.w_, before)
    model.set_params(warm_start=False).fit(X, y)
    assert not hasattr(model, "_warm_state")


@pytest.mark.parametrize("warm_start", [False, True])
def test_pickles_do_not_contain_the_data(rng, tmp_path, warm_start):
    X = [rng.standard_normal((50, 8)) for _ in range(200)]
    y = [(x[:, 0] > 0).astype(int) for x in X]
    model = ChainSSVM(lam=0.1, warm_start=warm_start, random_state=0).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        again = copy.fit(X, y).n_iter_
        assert again < model.n_iter_ if warm_start else again == model.n_iter_
    size = len(pickle.dumps(model))
    if warm_start:
        return
    assert size < 6000 + 80 * model.n_iter_  # the data take 640,000 bytes
    model.set_params(warm_start=True)
    model.fit(X, y)
    assert len(pickle.dumps(model)) > size
    assert len(pickle.dumps(model.set_params(warm_start=False))) < 6000 + 80 * model.n_iter_


def test_pickles_of_another_format(tiny_chains):
    model = ChainSSVM(lam=0.1).fit(*tiny_chains)
    state = model.__getstate__()
    assert state["_sstruct_format"] == 1
    for version in (2, None):
        with pytest.raises(ValueError, match=f"pickled in format {version}; .* reads format 1"):
            ChainSSVM().__setstate__({**state, "_sstruct_format": version})


def test_metadata_routing_of_weights(tiny_chains):
    X, y = tiny_chains
    weights = np.arange(1.0, len(X) + 1)
    with config_context(enable_metadata_routing=True):
        model = ChainSSVM(lam=0.1, classes=[0, 1, 2], random_state=0)
        routed = model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_validate(
            routed, X, y, cv=2, params={"sample_weight": weights}, return_estimator=True
        )
    first = ChainSSVM(lam=0.1, classes=[0, 1, 2], random_state=0).fit(X[7:], y[7:], weights[7:])
    np.testing.assert_array_equal(found["estimator"][0].w_, first.w_)
    assert found["test_score"][0] == first.score(X[:7], y[:7], weights[:7])


def test_second_interruption_skips_only_the_certificate(monkeypatch, rng):
    def interrupted(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(frank_wolfe, "approximate_pass", interrupted)
    monkeypatch.setattr(solver, "full_pass", interrupted)
    X, y = [rng.standard_normal((3, 2)) for _ in range(5)], [[0, 1, 0]] * 5
    model = ChainSSVM(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.status_ == "INTERRUPTED"
    assert model.dual_gap_ == np.inf
    assert model.history_["passes"].tolist() == [1]
    assert len(model.predict(X)) == 5


@pytest.mark.parametrize(
    "average, kept", [("auto", (False, True)), (True, (True, False)), (False, (False, False))]
)
def test_average_selects_the_averaged_iterates(rng, average, kept):
    options = chosen_options(ChainSSVM()._structure(), MPBCFW(average=average), Small(rng).problem)
    assert (options.average, options.pass_average) == kept


@pytest.mark.parametrize(
    ("options", "solver"),
    [
        ({}, "gdmm"),
        ({"solver": GDMM(rho=2.0)}, "gdmm"),
        ({"classes": range(599)}, "mp-bcfw"),
        ({"solver": "mp-bcfw"}, "mp-bcfw"),
        ({"solver": MPBCFW(sampling="gap")}, "mp-bcfw"),
        ({"warm_start": True}, "mp-bcfw"),
        ({"bounds": np.repeat([[-9.0], [9.0]], 363_000, axis=1)}, "mp-bcfw"),
        ({"rescaling": "slack"}, "mp-bcfw"),
        ({"transitions": False}, "mp-bcfw"),
        ({"transitions": np.zeros((600, 600), dtype=int)}, "mp-bcfw"),
        ({"transition_mask": np.ones((600, 600), dtype=bool)}, "mp-bcfw"),
    ],
)
def test_auto_is_gdmm_for_many_labels(options, solver):
    X = [sparse.csr_matrix([[1.0, 0.0], [2.0, -1.0], [0.5, 1.0]])]
    options = {"classes": range(600), "max_iter": 1, "tol": 1.0, **options}
    assert ChainSSVM(**options).fit(X, [[0, 7, 3]]).solver_ == solver


@pytest.mark.parametrize(
    ("options", "advised"),
    [({}, True), ({"classes": range(20)}, False), ({"solver": "bcfw"}, True),
     ({"warm_start": True}, False), ({"solver": "gdmm"}, False)],
)  # fmt: skip
def test_a_limit_with_many_labels_names_gdmm(rng, options, advised):
    X = [rng.standard_normal((6, 2)) for _ in range(10)]
    y = [rng.integers(20, size=6) for _ in X]
    model = ChainSSVM(**{"classes": range(200), "max_iter": 1, "tol": 1e-9, **options})
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    advice = "Increase max_iter, or tol, or use solver='gdmm'."
    assert (advice in str(caught[0].message)) == advised


@pytest.mark.parametrize(
    ("n_labels", "stored", "expected"),
    [(599, "some", "mp-bcfw"), (600, "some", "gdmm"), (600, "all", "mp-bcfw"),
     (600, "dense", "mp-bcfw"), (1499, "dense", "mp-bcfw"), (1500, "dense", "gdmm")],
)  # fmt: skip
def test_auto_depends_on_number_of_labels_and_sparsity(rng, n_labels, stored, expected):
    X = rng.standard_normal((6, 2))
    if stored == "some":
        X[0] = 0
    if stored != "dense":
        X = sparse.csr_matrix(X)
    model = ChainSSVM(classes=range(n_labels), lam=1.0)
    training = model._structure().train([X], [rng.integers(n_labels, size=6)], None)
    assert training.auto_solver == expected


def test_progress_names_the_solver_chosen_by_auto(monkeypatch, rng, caplog):
    monkeypatch.setitem(MIN_GDMM_LABELS, "dense", 3)
    X = [rng.standard_normal((3, 2))]
    for y, expected in (([0, 1, 0], "mp-bcfw"), ([0, 1, 2], "gdmm")):
        caplog.clear()
        ChainSSVM(max_iter=1, tol=1.0, verbose=2).fit(X, [y])
        assert caplog.messages[0].startswith(f"{expected}, pass 1: ")
