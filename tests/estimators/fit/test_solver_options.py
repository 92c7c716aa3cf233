"""Test names, types, ranges and effects of the options of solvers."""

import ast
import math
import pickle
import re
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sstruct import ChainSSVM, LatentSSVM, MulticlassSSVM, PathCV, StructuredSVM
from sstruct._estimators.core.fit import chosen_options, prepare_training
from sstruct._estimators.core.structure import CHAIN_SOLVERS
from sstruct._estimators.core.training import Samples
from sstruct._solvers.core._state import DualState
from sstruct._solvers.frank_wolfe import block_coordinate
from sstruct._solvers.frank_wolfe.constants import Constants
from sstruct._solvers.rounds.distributed_fit import DistributedFit
from sstruct.datasets import make_sequences
from sstruct.solvers import (
    BCFW,
    GDMM,
    MPBCFW,
    SOLVER_OF_NAME,
    PassiveAggressive,
    Perceptron,
    Subgradient,
)
from tests.estimators.custom.choices import Choice, make_choices
from tests.estimators.same_bits import assert_same_bits
from tests.solvers.test_distributed_fit import Partitioned

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    return make_sequences(n_samples=120, noise=1.5, random_state=0)


def fitted(data, options=None, solver="mp-bcfw", **parameters):
    given = {"lam": 1e-3, "tol": 1e-9, "max_iter": 12, "random_state": 0} | parameters
    return ChainSSVM(solver=SOLVER_OF_NAME[solver](**(options or {})), **given).fit(*data)


@pytest.mark.skipif(sys.flags.optimize > 1, reason="there are no docstrings")
@pytest.mark.parametrize("kind", SOLVER_OF_NAME.values())
def test_documented_defaults(kind):
    found = {}
    for names, values in re.findall(
        r"^ *([a-z_, ]+) : .*default=(.*)$", kind.__doc__, re.MULTILINE
    ):
        found |= zip(names.split(", "), values.split(" and "), strict=True)
    assert {name: ast.literal_eval(value) for name, value in found.items()} == kind().get_params()


def test_the_default_solver_is_mpbcfw(data):
    assert_same_bits(
        fitted(data), ChainSSVM(lam=1e-3, tol=1e-9, max_iter=12, random_state=0).fit(*data)
    )


@pytest.mark.parametrize(
    "solver, error, message",
    [
        (
            3,
            ValueError,
            r"solver must be \"auto\", one of .*, or an object of sstruct.solvers, found 3",
        ),
        (MPBCFW, ValueError, "or an object of sstruct.solvers"),
        ("MPBCFW", ValueError, "or an object of sstruct.solvers"),
        (MPBCFW(step="newton"), ValueError, "^step of MPBCFW must be one of"),
        (MPBCFW(sampling="given"), ValueError, "^sampling of MPBCFW must be one of"),
        (BCFW(cache=1), ValueError, "^cache of BCFW must be one of"),
        (BCFW(average="yes"), ValueError, "^average of BCFW must be one of"),
        (MPBCFW(schedule="time"), ValueError, "^schedule of MPBCFW must be one of"),
        (MPBCFW(cache_lifetime=-1), ValueError, "^cache_lifetime of MPBCFW must be at least 0"),
        (MPBCFW(cache_lifetime=1.5), TypeError, "must be an integer, found 1.5"),
        (MPBCFW(max_working_set=1), ValueError, "must be at least 2, found 1"),
        (MPBCFW(max_approximate_passes="all"), TypeError, "must be an integer"),
        (MPBCFW(full_pass_every=0), ValueError, "must be at least 1, found 0"),
        (MPBCFW(cache_gap_share=-0.1), ValueError, "must be at least 0"),
        (MPBCFW(cache_mean_gap_share=math.inf), ValueError, "must be finite"),
        (MPBCFW(gap_refresh_every=0), ValueError, "must be at least 1"),
        (MPBCFW(sequential_visits=2), ValueError, "^sequential_visits of MPBCFW must be one of"),
        (Subgradient(sampling="gap"), ValueError, "^sampling of Subgradient must be one of"),
        (Perceptron(sampling="uniform"), ValueError, "^sampling of Perceptron must be one of"),
        (PassiveAggressive(aggressiveness=0), ValueError, "^aggressiveness of PassiveAggressive"),
        (GDMM(rho=0), ValueError, "^rho of GDMM must be finite and above 0"),
        (GDMM(rho="large"), ValueError, "^rho of GDMM must be a number or 'auto'"),
        (GDMM(parts=0), ValueError, "^parts of GDMM must be at least 1"),
        (BCFW(certificate_every=0), ValueError, "^certificate_every of BCFW must be at least 1"),
        (MPBCFW(certificate_every=1.5), TypeError, "^certificate_every of MPBCFW must be an int"),
        (Subgradient(certificate_every=0), ValueError, "^certificate_every of Subgradient must"),
        (GDMM(certificate_every="x"), TypeError, "^certificate_every of GDMM must be an integer"),
        (Perceptron(early_stopping=1), ValueError, "^early_stopping of Perceptron must be one of"),
        (BCFW(checkpoint=3), TypeError, "^checkpoint of BCFW must be a path or None, found 3"),
    ],
)
def test_invalid_options(data, solver, error, message):
    model = ChainSSVM(solver=solver)
    with pytest.raises(error, match=message):
        model.fit(*data)
    assert not hasattr(model, "status_")


def test_a_solver_that_an_estimator_does_not_support(rng):
    X, y = rng.standard_normal((9, 2)), np.arange(9) % 3
    with pytest.raises(ValueError, match=r"solver is a GDMM, .* expected one of MPBCFW, BCFW, "):
        MulticlassSSVM(solver=GDMM()).fit(X, y)
    with pytest.raises(ValueError, match="MulticlassSSVM, which does not split samples into"):
        MulticlassSSVM(solver=MPBCFW(couple_windows=True)).fit(X, y)


@pytest.mark.parametrize("name", SOLVER_OF_NAME)
def test_a_name_equals_the_object_with_default_options(data, name):
    given = {"lam": "auto" if name in ("perceptron", "pa") else 0.1, "max_iter": 3}
    by_name, by_object = (
        ChainSSVM(solver=solver, random_state=0, **given).fit(*data)
        for solver in (name, SOLVER_OF_NAME[name]())
    )
    assert by_name.solver_ == by_object.solver_ == name
    np.testing.assert_array_equal(by_name.w_, by_object.w_)
    np.testing.assert_array_equal(by_name.history_["dual"], by_object.history_["dual"])


def test_options_are_searched_and_cloned(data):
    model = ChainSSVM(solver=MPBCFW(cache_lifetime=3), max_iter=5)
    assert clone(model).get_params()["solver__cache_lifetime"] == 3
    assert clone(model).solver is not model.solver
    grid = {"solver__step": ["away", "pairwise"], "solver__sampling": ["gap"]}
    search = GridSearchCV(model, grid, cv=2).fit(*data)
    assert search.best_estimator_.solver.sampling == "gap"
    assert "MPBCFW(cache_lifetime=3)" in repr(model)
    assert "MPBCFW" in model._repr_html_()


def test_a_fitted_model_keeps_its_solver_in_a_pickle(data):
    model = fitted(data, {"step": "away", "max_working_set": 7})
    again = pickle.loads(pickle.dumps(model))
    assert again.solver.get_params() == model.solver.get_params()
    assert_same_bits(again.fit(*data), model)


@pytest.mark.parametrize(
    "option",
    ["step", "solver_options", "gdmm_rho", "pa_aggressiveness", "early_stopping", "checkpoint"],
)
def test_options_given_to_the_estimator_name_the_solver_object(option):
    expected = rf"ChainSSVM has no parameter '{option}'; use solver=\w+\(.*\.\.\.\)"
    with pytest.raises(TypeError, match=expected):
        ChainSSVM(**{option: 1})
    with pytest.raises(ValueError, match=expected):
        ChainSSVM().set_params(**{option: 1})


def test_options_cannot_be_set_on_a_solver_name():
    with pytest.raises(ValueError, match=r"solver='bcfw' is a name .* solver=BCFW\(step=\.\.\.\)"):
        ChainSSVM(solver="bcfw").set_params(solver__step="fw")
    model = ChainSSVM(solver="bcfw").set_params(solver=BCFW(), solver__step="fw")
    assert model.solver.step == "fw"


@pytest.mark.parametrize("name", ["fw", "cutting-plane", "ssg", "perceptron", "pa", "gdmm"])
def test_other_solvers_have_no_options_of_caches(name):
    with pytest.raises(TypeError, match=f"{SOLVER_OF_NAME[name].__name__} has no parameter"):
        SOLVER_OF_NAME[name](cache_lifetime=10)


@pytest.mark.parametrize("name", SOLVER_OF_NAME)
def test_solvers_have_the_options_that_they_support(name):
    run = CHAIN_SOLVERS[name]
    options = SOLVER_OF_NAME[name]().get_params()
    assert ("checkpoint" in options) == run.has_dual_weights == (name in ("mp-bcfw", "bcfw"))
    for option in ("early_stopping", "validation_fraction", "n_iter_no_change"):
        assert (option in options) == (run.supports_partial_fit or run.has_dual_weights)
    certified = name in ("mp-bcfw", "bcfw", "ssg", "gdmm")
    assert ("certificate_every" in options) == certified


def test_options_of_early_stopping_are_searched(data):
    model = ChainSSVM(solver=MPBCFW(), max_iter=5, random_state=0)
    grid = {"solver__early_stopping": [True], "solver__n_iter_no_change": [1, 2]}
    search = GridSearchCV(model, grid, cv=2).fit(*data)
    assert search.best_estimator_.solver.early_stopping
    assert "validation_score" in search.best_estimator_.history_
    with pytest.raises(ValueError, match=r"use solver=MPBCFW\(early_stopping=\.\.\.\)"):
        GridSearchCV(model, {"early_stopping": [True]}, cv=2).fit(*data)


@pytest.mark.parametrize("name", ["max_approximate_passes", "full_pass_every", "schedule"])
def test_bcfw_has_no_approximate_passes(name):
    with pytest.raises(TypeError, match=f"BCFW has no parameter {name}"):
        BCFW(**{name: 3})


GAP_SHARES = ("cache_gap_share", "cache_mean_gap_share")


@pytest.mark.parametrize(
    "solver, names, advice",
    [
        (MPBCFW(cache=False), GAP_SHARES, "cache=True$"),
        (MPBCFW(cache=np.False_, sampling="gap"), GAP_SHARES, "cache=True$"),
        (
            MPBCFW(cache=False, sampling="permutation"),
            ["gap_refresh_every"],
            "cache=True or sampling='gap'",
        ),
        (
            BCFW(cache=False, sampling="uniform"),
            ["gap_refresh_every"],
            "cache=True or sampling='gap'",
        ),
        (
            BCFW(cache=False),
            ["cache_lifetime", "max_working_set"],
            "cache=True or solver='mp-bcfw'",
        ),
    ],
)
def test_options_without_effect_raise(data, solver, names, advice):
    for name in names:
        message = rf"^{name} of M?P?BCFW has no effect with .*cache=False.*or set {advice}"
        with pytest.raises(ValueError, match=message):
            ChainSSVM(solver=clone(solver).set_params(**{name: 5})).fit(*data)


def test_full_pass_every_requires_two_approximate_passes(data):
    for most in (0, 1):
        options = {"max_approximate_passes": most, "full_pass_every": 3}
        with pytest.raises(ValueError, match=r"full_pass_every .*has no effect.*to 2 or more"):
            fitted(data, options)
    fitted(data, options | {"max_approximate_passes": 2})


# Values other than the defaults, so that they have an effect.
OTHER = {
    "cache_lifetime": 7,
    "max_working_set": 2,
    "max_approximate_passes": 1,
    "full_pass_every": 1,
    "cache_gap_share": 5.0,
    "cache_mean_gap_share": 5.0,
    "gap_refresh_every": 3,
    "sequential_visits": True,
}


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("sampling", ["auto", "permutation", "gap", "uniform"])
@pytest.mark.parametrize("solver", ["mp-bcfw", "bcfw"])
def test_only_options_without_effect_raise(data, monkeypatch, solver, sampling, cache):
    options = {"sampling": sampling, "cache": cache, "step": "away"}
    kind, rejected = SOLVER_OF_NAME[solver], []
    names = [name for name in OTHER if name in kind().get_params()]
    for name in names:
        try:
            fitted(data, options | {name: OTHER[name]}, solver, max_iter=7)
        except ValueError:
            rejected.append(name)
    monkeypatch.setattr(kind, "_without_effect", lambda *_: (None, None))
    expected = fitted(data, options, solver, max_iter=7)
    for name in rejected:
        found = fitted(data, options | {name: OTHER[name]}, solver, max_iter=7)
        assert_same_bits(found, expected)


def test_auto_may_make_an_option_effective(data):
    for solver in (
        MPBCFW(cache_gap_share=1.0, gap_refresh_every=3),
        BCFW(cache=False, gap_refresh_every=3),
        BCFW(cache_lifetime=3),
    ):
        ChainSSVM(solver=solver, max_iter=2, tol=1.0).fit(*data)


@pytest.mark.parametrize("name", [*GAP_SHARES, "gap_refresh_every"])
def test_partitions_have_no_block_gaps(name):
    dask = pytest.importorskip("dask")
    model = ChainSSVM(solver=MPBCFW(**{name: 3}))
    with pytest.raises(ValueError, match=rf"{name}=3 of MPBCFW is not supported for partitions"):
        model.fit([dask.delayed([])], [dask.delayed([])])


def test_integers_of_any_size(data):
    problem = prepare_training(ChainSSVM()._structure(), Samples(*data)).problem

    def constants(**options):
        return MPBCFW(**options)._options(problem)["constants"]

    assert constants(max_working_set=10**30).max_working_set == sys.maxsize
    found = constants(max_working_set=np.int64(5), sequential_visits=np.True_)
    assert found == Constants(max_working_set=5, sequential_visits=True)


def test_lifetime_of_cached_labelings(data):
    none, two, four, endless = (
        fitted(data, {"cache_lifetime": passes}).history_["working_set_size"]
        for passes in (0, 2, 4, 10**30)
    )
    assert none[-1] < two[-1] < four[-1] < endless[-1]
    assert (np.diff(endless) >= 0).all()


@pytest.mark.parametrize("most", [2, 3, 5])
def test_size_of_working_sets(data, most):
    options = {"cache_lifetime": 100}
    free = fitted(data, options, warm_start=True)._warm_state["size"]
    kept = fitted(data, options | {"max_working_set": most}, warm_start=True)._warm_state
    first = np.r_[0, np.cumsum(kept["size"])[:-1]]
    active = np.add.reduceat((kept["alpha"] > 0).astype(int), first)
    assert (free > most).mean() > 0.3
    # A new labeling, and all that have dual weight, are always kept.
    assert (kept["size"] > np.maximum(most, active + 2)).mean() < 0.02
    assert kept["size"].max() < free.max()


@pytest.mark.parametrize("most", [0, 1, 3])
def test_number_of_approximate_passes(data, most):
    counts = fitted(data, {"max_approximate_passes": most}).history_["approximate_passes"]
    assert (np.diff(counts, prepend=0) <= most).all()
    assert np.diff(fitted(data).history_["approximate_passes"]).max() > most


@pytest.mark.parametrize("every", [1, 3])
def test_approximate_passes_over_all_samples(data, monkeypatch, every):
    whole = []

    def watched(state, plan, of_all, *more):
        whole.append(of_all)
        return approximate_pass(state, plan, of_all, *more)

    approximate_pass = block_coordinate.approximate_pass
    monkeypatch.setattr(block_coordinate, "approximate_pass", watched)
    fitted(data, {"full_pass_every": every, "max_approximate_passes": 6}, max_iter=1)
    assert whole == [k % every == 0 for k in range(len(whole))]
    assert len(whole) > every


def calls_of_passes(model):
    return np.diff(model.history_["oracle_calls"], prepend=0)


def test_gaps_of_cache_hits(data):
    n = len(data[0])
    usual = calls_of_passes(fitted(data, {"cache": True}))
    assert (usual[1:] < n).all()
    # Except at samples whose last gap was 0.
    strict = calls_of_passes(fitted(data, {"cache_gap_share": 1e9, "cache": True}))
    assert (strict > 0.95 * n).all()
    assert strict[1:].mean() > usual[1:].mean()
    any_gap = {"cache_gap_share": 0, "cache_mean_gap_share": 0}
    assert calls_of_passes(fitted(data, any_gap | {"cache": True}))[1:6].sum() < usual[1:6].sum()
    # The mean gap is known after the first certificate.
    options = {"cache_mean_gap_share": 1e9, "gap_refresh_every": 2}
    assert (calls_of_passes(fitted(data, options | {"cache": True}))[2:] == n).all()


@pytest.mark.parametrize("options", [{"sampling": "gap"}, {"cache": True}])
def test_refreshed_gaps(data, options):
    options = options | {"gap_refresh_every": 3}
    model = fitted(data, options | {"certificate_every": 100}, max_iter=9)
    refreshed = np.flatnonzero(np.isfinite(model.history_["primal"])) + 1
    assert {3, 6, 9} <= set(refreshed.tolist())
    assert (refreshed[:-1] % 3 == 0).all()


def one_pass(X, y, lam, order):
    """Make Frank-Wolfe steps over samples in an order, each at the current weights ([LJ13])."""
    n, K = len(X), y.max() + 1
    w, own, losses = np.zeros((K, X.shape[1])), np.zeros((n, K, X.shape[1])), np.zeros(n)
    for i in order:
        loss = (np.arange(K) != y[i]).astype(float)
        worst = int(np.argmax(loss + w @ X[i]))
        plane = np.zeros_like(w)
        plane[y[i]] += X[i] / (lam * n)
        plane[worst] -= X[i] / (lam * n)
        move = own[i] - plane
        gap = lam * (move * w).sum() - losses[i] + loss[worst] / n
        step = np.clip(gap / (lam * (move**2).sum()), 0, 1) if (move**2).sum() > 0 else 0.0
        own[i] -= step * move
        w -= step * move
        losses[i] += step * (loss[worst] / n - losses[i])
    return w


def test_sequential_visits_match_definition(rng, monkeypatch):
    monkeypatch.setattr(block_coordinate, "MIN_WORK", 0.0)  # allow concurrent visits
    lam, X, y = 0.01, rng.standard_normal((150, 20)), rng.integers(0, 5, 150)
    model = MulticlassSSVM(
        lam=lam, fit_intercept=False, loss="hamming", max_iter=1, random_state=0,
        solver=BCFW(step="fw", sampling="permutation", cache=False, average=False,
                    sequential_visits=True),
    ).fit(X, y)  # fmt: skip
    at_once = clone(model).set_params(solver__sequential_visits=False).fit(X, y)
    training = prepare_training(model._structure(), Samples(X, y))
    problem = training.problem
    options = chosen_options(model._structure(), model.solver, problem)
    state = DualState(problem, lam, training.block_weight, options.seed)
    w = one_pass(X, y, lam, state.permutation(len(X)))
    np.testing.assert_allclose(model.coef_, w, rtol=0, atol=1e-10 * abs(w).max())
    assert abs(at_once.coef_ - w).max() > 1e-3 * abs(w).max()
    # Additional threads do not change the result.
    assert_same_bits(clone(model).set_params(n_jobs=2).fit(X, y), model)


def test_sequential_visits_call_one_oracle_at_a_time(rng):
    X, y = make_choices(rng, n=40)
    model = StructuredSVM(Choice(), solver=MPBCFW(sequential_visits=True), random_state=0)
    one = clone(model).set_params(solver="auto", batch_size=1).fit(X, y)
    many = clone(model).set_params(solver="auto", batch_size=8).fit(X, y)
    model.fit(X, y)
    assert_same_bits(model, one)
    assert not np.array_equal(model.w_, many.w_)
    with pytest.raises(ValueError, match="calls the oracle for one sample at a time"):
        clone(model).set_params(batch_size=8).fit(X, y)


def test_options_reach_paths_searches_and_latent_fits(data):
    X, y = data
    model = ChainSSVM(random_state=0, solver=MPBCFW(max_approximate_passes=0))
    search = PathCV(model, cv=2, lams=[1.0, 0.1]).fit(X, y)
    assert search.best_estimator_.history_["approximate_passes"][-1] == 0
    latent = LatentSSVM(clone(model).set_params(ignore_label=-1), max_rounds=1).fit(X, y)
    assert latent.estimator_.history_["approximate_passes"][-1] == 0


def test_options_apply_to_partitions(rng):
    parted = Partitioned(rng, 2, "free")
    limits = {"tol": 0.0, "max_iter": 4, "certificate_every": 100}
    free, bounded = (
        DistributedFit(parted.setup(constants=constants, **limits))
        .solve()
        .history["approximate_passes"]
        for constants in (Constants(), Constants(max_approximate_passes=1))
    )
    assert bounded[-1] <= 4 < free[-1]
