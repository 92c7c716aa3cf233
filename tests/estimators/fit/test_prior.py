"""Test optima and certificates with priors, and errors for priors that do not match X."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_html_repr

import sstruct._estimators.graph.graph_structure as graph_structure
from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    LatentSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    TreeSSVM,
    ssvm_path,
)
from sstruct.datasets import make_sequences
from sstruct.solvers import BCFW, GDMM, MPBCFW
from tests.estimators.tree.test_tree import maps
from tests.path.test_path import CASES, chains, classes, sets
from tests.reference import brute_force, dual_qp, trees

SOLVERS = {
    "last": MPBCFW(average=False),
    "average": MPBCFW(average=True, step="fw"),
    "gap-cache": MPBCFW(sampling="gap", cache=True, step="corrective", average=False),
    "bcfw": BCFW(step="away", average=False),
}
FAMILIES = {"chains": chains, "classes": classes, "sets": sets}


@pytest.fixture(params=[name for name in CASES if name.count("-") < 2 or "mixed" in name])
def case(request, rng):
    return CASES[request.param](rng)


def random_prior(rng, case, size=0.7):
    return size * rng.standard_normal(case.terms[0].phi.shape[1])


def fitted(case, lam=0.1, **parameters):
    parameters = {"tol": 1e-8, "max_iter": 100_000, **parameters}
    model = clone(case.estimator).set_params(lam=lam, **parameters)
    return model.fit(case.X, case.y, sample_weight=case.weights)


def test_fits_reach_the_optimum_of_the_qp(rng, case):
    prior = random_prior(rng, case)
    box = case.bounds
    model = fitted(case, prior=prior)
    dual_qp.check_optimum(model, case.terms, box, prior)
    assert ((box[0] <= model.w_) & (model.w_ <= box[1])).all()
    assert model.objective_ != pytest.approx(fitted(case).objective_, rel=1e-3)


@pytest.mark.parametrize("key", range(3))
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_step_reaches_the_optimum(new_rng, family, solver, key):
    rng = new_rng(key)
    case = FAMILIES[family](rng)
    prior = random_prior(rng, case)
    tol = 1e-4 if solver in ("average", "bcfw") else 1e-8
    model = fitted(case, prior=prior, solver=SOLVERS[solver], tol=tol, max_iter=20_000)
    best, _ = dual_qp.optimum(case.terms, 0.1, prior=prior)
    assert model.converged_
    assert model.objective_ == pytest.approx(
        brute_force.primal(model.w_, 0.1, case.terms, prior), rel=1e-9
    )
    assert model.dual_objective_ <= best * (1 + 1e-8)
    assert best <= model.objective_ * (1 + 1e-8)
    assert model.dual_gap_ <= tol * model.objective_


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("solver", ["fw", "ssg", "cutting-plane"])
def test_baselines(rng, solver, bounded):
    case = chains(rng, box="mixed" if bounded else None)
    prior = random_prior(rng, case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fitted(case, prior=prior, solver=solver, tol=1e-6, max_iter=2000)
    best, _ = dual_qp.optimum(case.terms, 0.1, case.bounds, prior)
    assert model.objective_ == pytest.approx(
        brute_force.primal(model.w_, 0.1, case.terms, prior), rel=1e-9
    )
    assert best * (1 - 1e-8) <= model.objective_ <= best * 1.05
    if solver != "ssg":
        assert best * 0.95 <= model.dual_objective_ <= best * (1 + 1e-8)
    if solver == "cutting-plane":
        assert model.converged_


@pytest.mark.parametrize("key", range(3))
@pytest.mark.parametrize("family", ["chains", "sets"])
def test_gdmm(new_rng, family, key):
    rng = new_rng(key)
    case = FAMILIES[family](rng)
    if family == "sets":  # a tree, whose relaxation is exact
        case.estimator.set_params(inference="relaxed")
    prior = random_prior(rng, case)
    tol = 1e-4
    model = fitted(case, prior=prior, solver=GDMM(), tol=tol, max_iter=20_000)
    exact = fitted(case, prior=prior)
    assert model.converged_
    assert model.dual_objective_ <= exact.objective_ * (1 + 1e-8)
    assert exact.dual_objective_ <= model.objective_ * (1 + 1e-8)
    if family == "chains":
        assert model.objective_ == pytest.approx(
            brute_force.primal(model.w_, 0.1, case.terms, prior), rel=1e-9
        )


@pytest.mark.parametrize("lower", [False, True])
def test_gdmm_with_forbidden_transitions(rng, lower):
    mask = np.tri(3, dtype=bool) | np.eye(3, dtype=bool)
    mask = mask if lower else mask.T
    X = [rng.standard_normal((4, 2)) for _ in range(12)]
    y = [np.sort(rng.integers(0, 3, 4))[:: -1 if lower else 1] for _ in X]
    y[0] = np.array([2, 1, 1, 0])[:: 1 if lower else -1]
    parameters = {"lam": 0.1, "transition_mask": mask, "pairwise_scale": 1, "random_state": 0}
    prior = rng.standard_normal(len(ChainSSVM(**parameters).fit(X, y).w_))
    model = ChainSSVM(**parameters, prior=prior, solver="gdmm", tol=2e-2).fit(X, y)
    exact = ChainSSVM(**parameters, prior=prior, tol=1e-6).fit(X, y)
    assert exact.dual_objective_ <= model.objective_ * (1 + 1e-9)
    assert model.dual_objective_ <= exact.objective_ * (1 + 1e-9)
    # Forbidden transitions keep the weights of the prior.
    forbidden = ~mask
    start = prior[-9:].reshape(3, 3)
    np.testing.assert_array_equal(model.edge_coef_[forbidden], start[forbidden])
    np.testing.assert_array_equal(exact.edge_coef_[forbidden], start[forbidden])


def test_certificate_equals_its_definition(rng, monkeypatch):
    monkeypatch.setattr(graph_structure, "explicit_where_cheaper", lambda problem: problem)
    for name in ("chains", "chains-mixed-box", "multiclass", "graphs-forest", "label-sets"):
        case = CASES[name](rng)
        prior = random_prior(rng, case)
        solver = MPBCFW(average=False)
        model = fitted(case, prior=prior, solver=solver, tol=1e-3, warm_start=True)
        alphas = brute_force.read_working_sets(model._warm_state, case.terms)
        if name == "label-sets":  # a label that is on has the code 2
            alphas = [{tuple(k // 2 for k in y): a for y, a in each.items()} for each in alphas]
        move = brute_force.weights_of(alphas, 0.1, case.terms)
        w = np.clip(prior + move, *case.bounds)
        np.testing.assert_allclose(model.w_, w, rtol=0, atol=1e-11)
        linear = brute_force.linear_part(alphas, case.terms)
        dual = linear - 0.1 * (w @ move) + 0.05 * ((w - prior) @ (w - prior))
        primal = brute_force.primal(w, 0.1, case.terms, prior)
        assert model.dual_objective_ == pytest.approx(dual, rel=1e-9)
        assert model.objective_ == pytest.approx(primal, rel=1e-9)
        assert model.dual_gap_ == pytest.approx(primal - dual, abs=1e-9 * primal)


@pytest.mark.parametrize("solver", ["mp-bcfw", "fw", "ssg", "gdmm", "perceptron"])
def test_a_prior_of_zeros_does_not_change_the_fit(rng, solver):
    case = chains(rng)
    parameters = {"solver": solver, "tol": 1e-3, "max_iter": 20}
    parameters["lam"] = "auto" if solver == "perceptron" else 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = fitted(case, **parameters)
        zeros = fitted(case, prior=np.zeros_like(plain.w_), **parameters)
    assert plain.w_.tobytes() == zeros.w_.tobytes()
    assert plain.history_["dual"].tobytes() == zeros.history_["dual"].tobytes()
    assert plain.history_["primal"].tobytes() == zeros.history_["primal"].tobytes()


@pytest.mark.parametrize("lam", [1e3, 1e8, 1e15])
def test_a_large_lam_returns_the_prior(case, rng, lam):
    lower, upper = case.bounds
    prior = np.clip(random_prior(rng, case), lower, upper)
    model = fitted(case, lam, prior=prior, tol=1e-6)
    assert model.converged_
    np.testing.assert_allclose(model.w_, prior, rtol=0, atol=100 / lam + 1e-14)
    # The hinge losses remain: the objective is that of the prior.
    at_prior = brute_force.primal(prior, lam, case.terms, prior)
    assert model.objective_ == pytest.approx(at_prior, rel=100 / lam + 1e-12)


@pytest.mark.parametrize("scale", [1, 0.3, "auto"])
def test_priors_are_in_the_units_of_X(rng, scale):
    X, y = make_sequences(n_samples=40, random_state=0)
    old = ChainSSVM(pairwise_scale=scale, random_state=0).fit(X[:20], y[:20])
    new = ChainSSVM(pairwise_scale=scale, prior=old, random_state=0, lam=1e12).fit(X[20:], y[20:])
    np.testing.assert_allclose(new.w_, old.w_, atol=1e-9)
    # Models of other pairwise scales have weights in the same units.
    other = ChainSSVM(pairwise_scale=2.5, prior=old, random_state=0, lam=1e12).fit(X[20:], y[20:])
    np.testing.assert_allclose(other.w_, old.w_, atol=1e-9)
    if scale != 1:
        r, lam = new.pairwise_scale_, 0.2
        model = ChainSSVM(pairwise_scale=r, prior=old, random_state=0, lam=lam).fit(X, y)
        n = old.coef_.size
        move = model.w_ - old.w_
        hinge = ChainSSVM(pairwise_scale=r, prior=model, lam=1e12, max_iter=1).fit(X, y).objective_
        square = move[:n] @ move[:n] + move[n:] @ move[n:] / r**2
        assert model.objective_ == pytest.approx(0.5 * lam * square + hinge, rel=1e-6)


@pytest.mark.parametrize(
    "name",
    ["chains", "chains-nonnegative", "multiclass", "graphs-cut", "label-sets", "label-sets-slack"],
)
def test_paths(rng, name):
    case = CASES[name](rng)
    prior = np.clip(random_prior(rng, case), *case.bounds)
    case.estimator.set_params(prior=prior)
    path = case.path(eps=0.05, lam_min=1e-2)
    assert path.certified_
    first = path.lams_[0]
    for lam in (1e4 * first, 3 * first, first, *np.geomspace(path.lam_end_, first, 12)):
        best, _ = dual_qp.optimum(case.terms, lam, case.bounds, prior)
        excess = brute_force.primal(path.w(lam), lam, case.terms, prior) - best
        assert -1e-8 * best <= excess <= path.gap(lam) + 1e-9
        assert path.gap(lam) <= 0.05
    np.testing.assert_allclose(path.w(1e12), prior, rtol=0, atol=1e-6)
    model = path.estimator(first / 2)
    np.testing.assert_array_equal(model.prior, prior)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(path)).w(2 * first), path.w(2 * first))


def test_a_path_starts_within_the_bounds(rng):
    case = chains(rng, box="nonnegative")
    case.estimator.set_params(prior=np.full(case.bounds.shape[1], -1.0))
    with pytest.raises(ValueError, match="starts at the prior, so its weights must be within"):
        case.path()


@pytest.fixture
def old_and_new():
    X, y = make_sequences(n_samples=60, random_state=0)
    old = ChainSSVM(lam=0.05, random_state=0).fit(X[:40], y[:40])
    return old, X[40:], y[40:]


def test_path_cv(old_and_new):
    old, X, y = old_and_new
    cv = PathCV(ChainSSVM(prior=old, random_state=0), eps=0.2, cv=2).fit(X, y)
    assert cv.best_estimator_.prior is old
    plain = ChainSSVM(lam=cv.best_lam_, random_state=0).fit(X, y)
    assert cv.best_estimator_.objective_ < plain.objective_ - 0.2


def test_a_model_and_its_weights_are_the_same_prior(old_and_new):
    old, X, y = old_and_new
    before = pickle.dumps(old)
    one = ChainSSVM(lam=0.1, prior=old, random_state=0).fit(X, y)
    other = ChainSSVM(lam=0.1, prior=old.w_, random_state=0).fit(X, y)
    frozen = ChainSSVM(lam=0.1, prior=FrozenEstimator(old), random_state=0).fit(X, y)
    assert one.w_.tobytes() == other.w_.tobytes() == frozen.w_.tobytes()
    assert pickle.dumps(old) == before


def test_the_classes_of_the_prior_are_kept(old_and_new):
    old, X, y = old_and_new
    some = [labels for labels in y if not (labels == 3).any()]
    X = [x for x, labels in zip(X, y) if not (labels == 3).any()]
    assert len(some) >= 2
    model = ChainSSVM(lam=0.1, prior=old, random_state=0).fit(X, some)
    np.testing.assert_array_equal(model.classes_, old.classes_)
    explicit = ChainSSVM(lam=0.1, prior=old, classes=old.classes_, random_state=0).fit(X, some)
    assert model.w_.tobytes() == explicit.w_.tobytes()


def test_clones_share_the_prior(old_and_new):
    old, X, y = old_and_new
    model = ChainSSVM(prior=old, random_state=0)
    for copy in (clone(model), clone(make_pipeline(FunctionTransformer(), model))[-1]):
        assert copy.prior is old
    assert set(model.get_params()) == set(ChainSSVM().get_params())
    with pytest.raises(ValueError, match="prior__lam is a parameter of the prior, a fitted"):
        model.set_params(prior__lam=3)
    assert "ChainSSVM" in estimator_html_repr(model)
    assert "prior=ChainSSVM" in repr(model)
    restored = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(restored.w_, model.w_)
    np.testing.assert_array_equal(restored.prior.w_, old.w_)
    assert restored.fit(X, y).w_.tobytes() == model.w_.tobytes()


def test_searches(old_and_new):
    old, X, y = old_and_new
    search = GridSearchCV(ChainSSVM(prior=old, random_state=0), {"lam": [0.1, 10]}, cv=2)
    assert search.fit(X, y).best_estimator_.prior is old
    grid = {"prior": [None, FrozenEstimator(old)]}
    search = GridSearchCV(ChainSSVM(lam=1, random_state=0), grid, cv=2, error_score="raise")
    search.fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert scores[1] > scores[0]
    search.set_params(param_grid={"prior": [old]})
    with pytest.raises(ValueError, match=r"not fitted.*wrap a fitted prior in sklearn.frozen"):
        search.fit(X, y)


@pytest.mark.parametrize("warm_start", ["dual", "primal"])
def test_warm_starts(old_and_new, warm_start):
    old, X, y = old_and_new
    parameters = {"lam": 0.1, "tol": 1e-6, "random_state": 0}
    model = ChainSSVM(**parameters, warm_start=warm_start).fit(X, y)
    model.set_params(prior=old, lam=0.05).fit(X, y)
    cold = ChainSSVM(**parameters | {"lam": 0.05}, prior=old).fit(X, y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=2e-6)
    assert model.set_params(warm_start=True).fit(X, y).n_iter_ <= cold.n_iter_ / 2


@pytest.mark.parametrize("solver, lam", [("perceptron", "auto"), ("pa", "auto"), ("ssg", 0.1)])
def test_partial_fit_continues_from_the_prior(old_and_new, solver, lam):
    old, X, y = old_and_new
    model = ChainSSVM(solver=solver, lam=lam, prior=old, pairwise_scale=1)
    whole = clone(model).partial_fit(X, y)
    model.partial_fit(X[:7], y[:7]).partial_fit(X[7:], y[7:])
    assert model.w_.tobytes() == whole.w_.tobytes()
    plain = ChainSSVM(solver=solver, lam=lam, pairwise_scale=1).partial_fit(
        X, y, classes=old.classes_
    )
    assert not np.allclose(model.w_, plain.w_)
    with pytest.raises(ValueError, match="prior has changed since the last call"):
        model.set_params(prior=None).partial_fit(X, y)


def test_the_perceptron_keeps_a_prior_without_mistakes(old_and_new):
    old, X, _ = old_and_new
    model = ChainSSVM(solver="perceptron", prior=old).fit(X, old.predict(X))
    np.testing.assert_allclose(model.w_, old.w_, rtol=1e-12)


def test_partial_labels_and_windows(rng, old_and_new):
    old, X, y = old_and_new
    y = [np.where(rng.random(len(labels)) < 0.3, -1, labels) for labels in y]
    model = ChainSSVM(lam=0.1, prior=old, ignore_label=-1, tol=1e-5, random_state=0).fit(X, y)
    scaled = ChainSSVM(
        lam=0.1, prior=old, ignore_label=-1, tol=1e-7, pairwise_scale=1, random_state=0
    )
    few = [x[:4] for x in X[:6]], [labels[:4] for labels in y[:6]]
    terms = brute_force.blocks(*few, brute_force.Model(4))
    scaled.fit(*few)
    assert model.converged_
    dual_qp.check_optimum(scaled, terms, prior=old.w_)
    whole = ChainSSVM(lam=0.1, prior=old, window_size=None, tol=1e-3, random_state=0)
    best = whole.fit(X, old_and_new[2]).dual_objective_
    for couple in (False, True):
        windows = ChainSSVM(
            lam=0.1, prior=old, window_size=3, tol=1e-3, random_state=0,
            solver=MPBCFW(couple_windows=couple),
        ).fit(X, old_and_new[2])  # fmt: skip
        assert windows.whole_objective_ >= best
        if couple:
            assert windows.whole_objective_ <= best * 1.01


def test_early_stopping(old_and_new):
    old, X, y = old_and_new
    model = ChainSSVM(lam=1e4, prior=old, solver=MPBCFW(early_stopping=True), random_state=0)
    np.testing.assert_allclose(model.fit(X, y).w_, old.w_, rtol=0, atol=1e-3)


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_trees(rng, scale):
    parents = np.array([-1, 0, 0])
    X, y = maps(rng, 3, 1)
    old = TreeSSVM(parents=parents, lam=0.05, random_state=0).fit(X, y)
    prior = scale * rng.standard_normal(len(old.w_))
    model = TreeSSVM(
        parents=parents, prior=prior, lam=0.05, loss="hamming", tol=1e-7, max_iter=20_000
    ).fit(X, y)
    bounds = np.full((2, len(model.w_)), [[-np.inf], [np.inf]])
    model._model_of_fit().layout.views(bounds[0])["edge"][..., [0, 2]] = 0
    terms = trees.blocks(model, X, y, "hamming", np.ones(len(X)))
    value, _ = dual_qp.optimum(terms, 0.05, bounds, prior)
    assert model.objective_ == pytest.approx(value, rel=2e-7)
    assert model.dual_objective_ <= value * (1 + 1e-9)
    new = TreeSSVM(parents=parents, prior=old, lam=1e9, random_state=0).fit(X[:5], y[:5])
    np.testing.assert_allclose(new.w_, old.w_, atol=1e-5)


def test_priors_that_do_not_fit(old_and_new):
    old, X, y = old_and_new

    def error(kind=ValueError, prior=old, X=X, y=y, **parameters):
        with pytest.raises(kind) as found:
            ChainSSVM(prior=prior, **parameters).fit(X, y)
        return str(found.value)

    n = len(old.w_)
    assert f"prior has {n - 1} weights, but ChainSSVM has {n}" in error(prior=old.w_[1:])
    assert f"prior has shape (1, {n}), expected (n_weights,)" in error(prior=old.w_[np.newaxis])
    assert "prior[0] is nan, expected finite weights" in error(prior=np.full(n, np.nan))
    assert "prior" in error(prior="old")
    assert "prior is a ChainSSVM that is not fitted" in error(prior=ChainSSVM())
    other = MulticlassSSVM().fit(np.vstack(X), np.concatenate(y))
    assert "prior is a MulticlassSSVM, expected a fitted ChainSSVM" in error(TypeError, prior=other)
    pipeline = make_pipeline(FunctionTransformer(), old)
    assert "pass its last step" in error(TypeError, prior=pipeline)
    assert "set boundaries=True" in error(boundaries=False)
    assert "differs from those of the prior" in error(classes=[0, 1, 2, 3, 4])
    found = error(X=[x[:, :-1] for x in X])
    F = X[0].shape[1]
    assert f"X[0] has {F - 1} features" in found
    assert str(F) in found
    assert "'new'" in error(y=[np.full(len(labels), "new") for labels in y])


def test_feature_names_must_agree():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": [0.0, 1, 2, 3], "b": [1.0, 0, 1, 0]})
    old = MulticlassSSVM().fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="feature names"):
        MulticlassSSVM(prior=old).fit(X.rename(columns={"b": "c"}), [0, 1, 0, 1])
    old = ChainSSVM(solver="pa").fit(X.rename(columns={"b": "c"}), [0, 1, 0, 1])
    model = ChainSSVM(solver="pa").partial_fit(X, [0, 1, 0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match=r"names of X are \['a', 'b'\], .* with \['a', 'c'\]"):
        model.set_params(prior=old).partial_fit(X, [0, 1, 0, 1])


def test_other_pairs_and_kinds_of_edges(rng):
    case = CASES["graphs-forest"](rng)
    old = fitted(case, tol=1e-2)
    with pytest.raises(ValueError, match="pairwise='potts', but the prior was fitted with"):
        GraphCRFSSVM(prior=old).fit(case.X, case.y)
    case = sets(rng)
    old = fitted(case, tol=1e-2)
    model = MultilabelSSVM(prior=old, random_state=0).fit(case.X, case.y)
    np.testing.assert_array_equal(model.edges_, old.edges_)


def test_latent_models_have_no_prior(old_and_new):
    old, X, y = old_and_new
    with pytest.raises(ValueError, match="prior is not supported by LatentSSVM"):
        LatentSSVM(ChainSSVM(prior=old)).fit(X, y)


def test_path_from_a_fitted_model(old_and_new):
    old, X, y = old_and_new
    path = ssvm_path(ChainSSVM(prior=old, random_state=0), X, y, eps=0.1)
    with pytest.raises(ValueError, match="prior is a ChainSSVM that is not fitted"):
        ssvm_path(ChainSSVM(prior=ChainSSVM()), X, y)
    np.testing.assert_allclose(path.w(1e10), old.w_, atol=1e-6)
