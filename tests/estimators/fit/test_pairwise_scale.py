"""Test the scale of transitions, starts, ends and biases relative to node features."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from sstruct import ChainSSVM, LatentSSVM, PathCV, Sequences, ssvm_path
from sstruct.solvers import BCFW, MPBCFW
from tests.estimators.equal import equal
from tests.reference import brute_force
from tests.reference.dual_qp import optimum


@pytest.fixture
def chains(rng):
    """Return ten chains of three labels."""
    X = [3 * rng.standard_normal((n, 4)) for n in rng.integers(1, 6, 10)]
    y = [rng.integers(0, 3, len(x)) for x in X]
    return X, y


def model(scale=1.0, lam=0.5, **parameters):
    return ChainSSVM(pairwise_scale=scale, lam=lam, **{"random_state": 0, "tol": 1e-4} | parameters)


def in_units(weights, fitted, scale):
    """Return the weights of an equal model whose node features are divided by `scale`."""
    weights = weights.copy()
    weights[: fitted.coef_.size] *= scale
    return weights


def check_same_as_scaled(fitted, other, scale):
    """Check that a fit with a scale equals, to the bit, one with divided features and lam."""
    np.testing.assert_array_equal(in_units(fitted.w_, fitted, scale), other.w_)
    assert fitted.lam_ == scale**2 * other.lam_
    assert fitted.objective_ == other.objective_ or np.isnan(fitted.objective_)
    assert fitted.dual_gap_ == other.dual_gap_ or np.isnan(fitted.dual_gap_)
    assert fitted.status_ == other.status_
    for name in ("primal", "dual", "passes"):
        if name in fitted.history_:
            np.testing.assert_array_equal(fitted.history_[name], other.history_[name])


SOLVERS = [
    {"solver": "mp-bcfw"},
    {"solver": MPBCFW(average=True)},
    {"solver": BCFW(step="fw", sampling="gap")},
    {"solver": "fw", "max_iter": 20},
    {"solver": "ssg", "max_iter": 20},
    {"solver": "perceptron", "lam": "auto"},
    {"solver": "pa", "lam": "auto"},
    {"solver": "gdmm", "max_iter": 20},
    {"rescaling": "slack"},
    {"rescaling": "slack", "search": "bisecting", "loss": "hamming"},
    {"transition_mask": lambda a, b: a != 1 or b != 1},
    {"fit_intercept": False, "boundaries": False},
    {"transitions": False},
    {"solver": MPBCFW(early_stopping=True, validation_fraction=0.3)},
    {"n_jobs": 2},
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix, np.float32])
@pytest.mark.parametrize("parameters", SOLVERS)
def test_scale_is_division_of_node_features(chains, parameters, storage):
    X, y = chains
    if "transition_mask" in parameters:
        y = [np.where((v == 1) & (np.r_[0, v[:-1]] == 1), 2, v) for v in y]
    given = {"lam": 0.5, **parameters}
    fitted = model(4.0, **given).fit([storage(x) for x in X], y)
    if given["lam"] != "auto":
        given["lam"] = 0.5 / 16
    other = model(1.0, **given).fit([storage(x / 4) for x in X], y)
    check_same_as_scaled(fitted, other, 4)
    assert equal(fitted.predict(X), other.predict([x / 4 for x in X]))


def test_indicators_are_scaled(rng):
    X = [sparse.csr_matrix((rng.random((n, 9)) < 0.4).astype(float)) for n in (3, 5, 2, 4)]
    y = [rng.integers(0, 3, x.shape[0]) for x in X]
    other = model(1.0, lam=0.5 / 16).fit([x / 4 for x in X], y)
    check_same_as_scaled(model(4.0).fit(X, y), other, 4)


def test_edge_features_are_pairwise(rng):
    X = [(rng.standard_normal((n, 3)), rng.standard_normal((n - 1, 2))) for n in (3, 5, 2, 4)]
    y = [rng.integers(0, 3, len(x)) for x, _ in X]
    other = model(1.0, lam=0.5 / 16).fit([(x / 4, edges) for x, edges in X], y)
    check_same_as_scaled(model(4.0).fit(X, y), other, 4)


@pytest.mark.parametrize(("scale", "lam"), [*product([0.3, 7.0], [0.5, 2.0])])
def test_certificate_matches_qp(chains, scale, lam):
    X, y = chains
    fitted = model(scale, lam, tol=1e-6, max_iter=20_000).fit(X, y)
    reference = brute_force.Model(3)
    terms = brute_force.blocks([x / scale for x in X], y, reference)
    w = in_units(fitted.w_, fitted, scale)
    assert brute_force.primal(w, lam / scale**2, terms) == pytest.approx(fitted.objective_)
    least = optimum(terms, lam / scale**2)[0]
    assert fitted.dual_objective_ - 1e-9 <= least <= fitted.objective_ + 1e-9
    # The same in the units of X: the regularizer and the hinge losses.
    rest = fitted.w_[fitted.coef_.size :]
    penalty = lam / 2 * (np.sum(fitted.coef_**2) + rest @ rest / scale**2)
    own = brute_force.blocks(X, y, reference)
    hinges = brute_force.primal(fitted.w_, 0, own)
    assert penalty + hinges == pytest.approx(fitted.objective_)


def test_bounds_are_in_the_units_of_the_user(chains):
    X, y = chains
    n = model().fit(X, y).w_.size
    bounds = np.stack([np.full(n, -0.01), np.full(n, 0.013)])
    fitted = model(3.0, 0.01, bounds=bounds, tol=0.02).fit(X, y)
    assert fitted.w_.min() == -0.01
    assert fitted.w_.max() == 0.013
    assert np.isin(fitted.coef_, bounds).any()
    assert np.isin(fitted.edge_coef_, bounds).any()
    other = bounds.copy()
    other[:, : fitted.coef_.size] *= 4
    scaled = model(1.0, 0.01 / 16, bounds=other, tol=0.02).fit([x / 4 for x in X], y)
    check_same_as_scaled(model(4.0, 0.01, bounds=bounds, tol=0.02).fit(X, y), scaled, 4)


@pytest.mark.parametrize("kind", [True, "primal"])
def test_warm_start_keeps_units(chains, kind):
    X, y = chains
    fitted, other = model(4.0, warm_start=kind), model(1.0, 0.5 / 16, warm_start=kind)
    for n in (7, 10):
        fitted.fit(X[:n], y[:n])
        other.fit([x / 4 for x in X[:n]], y[:n])
        check_same_as_scaled(fitted, other, 4)
    fitted.set_params(pairwise_scale=2.0, tol=1e-6).fit(X, y)
    cold = model(2.0, tol=1e-6).fit(X, y)
    assert fitted.objective_ == pytest.approx(cold.objective_, rel=1e-5)


@pytest.mark.parametrize("solver", ["perceptron", "pa", "ssg"])
def test_partial_fit_keeps_the_scale(chains, solver):
    X, y = chains
    parameters = {"solver": solver, "lam": 0.5 if solver == "ssg" else "auto"}
    one = model(3.0, **parameters).partial_fit(X, y, classes=range(3))
    parts = model(3.0, **parameters)
    parts.partial_fit(X[:4], y[:4], classes=range(3)).partial_fit(X[4:], y[4:])
    np.testing.assert_array_equal(parts.w_, one.w_)
    with pytest.raises(ValueError, match=r"pairwise_scale is 2.0, was 3.0"):
        parts.set_params(pairwise_scale=2.0).partial_fit(X, y)


def test_path_is_in_the_units_of_the_user(chains):
    X, y = chains
    path = ssvm_path(model(4.0), X, y, eps=0.05, lam_min=0.003)
    other = ssvm_path(model(1.0), [x / 4 for x in X], y, eps=0.05, lam_min=0.003 / 16)
    np.testing.assert_array_equal(path.lams_, 16 * other.lams_)
    np.testing.assert_array_equal(path.gaps_, other.gaps_)
    assert path.lam_end_ == 0.003
    for lam in (path.lams_[0] * 2, path.lams_[0], path.lams_[-1] * 1.1, 0.004, 0.003):
        fitted, scaled = path.estimator(lam), other.estimator(lam / 16)
        assert fitted.pairwise_scale_ == 4
        assert path.gap(lam) == other.gap(lam / 16)
        check_same_as_scaled(fitted, scaled, 4)


def test_path_ends_at_lam_min(chains):
    X, y = chains
    path = ssvm_path(model(0.3), X, y, eps=0.05, lam_min=0.7)
    assert path.lam_end_ == 0.7
    fitted = path.estimator(0.7)
    terms = brute_force.blocks([x / 0.3 for x in X], y, brute_force.Model(3))
    least = optimum(terms, 0.7 / 0.3**2)[0]
    w = in_units(fitted.w_, fitted, 0.3)
    assert brute_force.primal(w, 0.7 / 0.3**2, terms) <= least + 0.05


@pytest.mark.parametrize("warm_start", ["primal", "dual", False])
def test_grid_has_the_lams_that_were_given(chains, warm_start):
    X, y = chains
    lams = [0.7, 0.1, 0.03]
    search = PathCV(model(0.3, tol=0.05), lams=lams, cv=2, warm_start=warm_start).fit(X, y)
    assert search.best_lam_ in lams
    assert set(search.cv_results_["param_lam"].tolist()) == set(lams)


def test_latent_objective_matches_scaled_features(chains):
    X, y = chains
    hidden = [np.where(np.arange(len(v)) == 1, -1, v) for v in y]
    made = []
    for scale, lam, factor in ((4.0, 0.5, 1), (1.0, 0.5 / 16, 4)):
        base = model(scale, lam, ignore_label=-1)
        latent = LatentSSVM(base, random_state=0)
        made.append(latent.fit([x / factor for x in X], hidden))
    one, other = made
    np.testing.assert_array_equal(one.history_["objective"], other.history_["objective"])
    check_same_as_scaled(one.estimator_, other.estimator_, 4)


@pytest.mark.parametrize("scale", [0, -1.0, np.inf, np.nan, "large", None, True, [1.0]])
def test_invalid_scales(chains, scale):
    with pytest.raises((ValueError, TypeError), match="pairwise_scale"):
        model(scale).fit(*chains)


def test_scales_beyond_floating_point(chains):
    with pytest.raises(ValueError, match=r"lam / pairwise_scale\^2 is out of the range"):
        model(1e-170).fit(*chains)


def test_sequences_are_not_copied(chains):
    X, y = chains
    packed = Sequences.from_list(X)
    before = packed.flat.copy()
    model(4.0).fit(packed, y)
    np.testing.assert_array_equal(packed.flat, before)


def automatic(**parameters):
    return model("auto", "auto", **parameters)


def root_mean_square_norm(X):
    return np.sqrt(np.mean(np.sum(np.vstack(X) ** 2, axis=1)))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_auto_follows_the_norm_of_node_features(chains, storage):
    X, y = chains
    fitted = model("auto").fit([storage(x + 1) for x in X], y)
    expected = 0.5 * root_mean_square_norm([x + 1 for x in X])
    assert fitted.pairwise_scale_ == pytest.approx(expected, rel=1e-12)
    given = model(fitted.pairwise_scale_).fit([storage(x + 1) for x in X], y)
    np.testing.assert_array_equal(fitted.w_, given.w_)


@pytest.mark.parametrize("factor", [2.0**-9, 4.0, 2.0**12])
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_auto_compensates_the_scale_of_features(chains, factor, offset):
    X, y = [x + offset for x in chains[0]], chains[1]
    one = model("auto", 0.5, tol=0.01).fit(X, y)
    other = model("auto", 0.5 * factor**2, tol=0.01).fit([factor * x for x in X], y)
    assert other.pairwise_scale_ == factor * one.pairwise_scale_
    lams = [automatic(tol=0.5).fit(some, y).lam_ for some in (X, [factor * x for x in X])]
    assert lams[1] == pytest.approx(factor**2 * lams[0], rel=1e-12)
    np.testing.assert_array_equal(other.w_, in_units(one.w_, one, 1 / factor))
    assert other.objective_ == one.objective_


def test_auto_ignores_unlabeled_nodes(chains):
    X, y = chains
    y = [np.where(np.arange(len(v)) == 1, -1, v) for v in y]
    known = [x[v >= 0] for x, v in zip(X, y, strict=True)]
    fitted = automatic(ignore_label=-1).fit(X, y)
    assert fitted.pairwise_scale_ == pytest.approx(0.5 * root_mean_square_norm(known))


def test_auto_is_one_for_features_of_zeros(chains):
    X, y = chains
    fitted = automatic().fit([np.zeros_like(x) for x in X], y)
    assert fitted.pairwise_scale_ == 1


@pytest.mark.parametrize("solver", ["perceptron", "pa"])
def test_auto_is_one_for_perceptrons(chains, solver):
    X, y = chains
    fitted = automatic(solver=solver).fit(X, y)
    assert fitted.pairwise_scale_ == 1
    np.testing.assert_array_equal(fitted.w_, model(1.0, "auto", solver=solver).fit(X, y).w_)


def test_partial_fit_takes_the_scale_of_its_first_samples(chains):
    X, y = chains
    fitted = model("auto", solver="ssg").partial_fit(X[:2], y[:2], classes=range(3))
    assert fitted.pairwise_scale_ == pytest.approx(0.5 * root_mean_square_norm(X[:2]))
    fitted = model("auto", solver="ssg", tol=0.1).fit(X, y)
    size = fitted.pairwise_scale_
    fitted.partial_fit([100 * x for x in X], y)
    assert fitted.pairwise_scale_ == size
    given = model(size, solver="ssg", tol=0.1).fit(X, y).partial_fit([100 * x for x in X], y)
    np.testing.assert_array_equal(fitted.w_, given.w_)


def test_auto_for_paths_and_early_stopping(chains):
    X, y = chains
    size = 0.5 * root_mean_square_norm(X)
    path = ssvm_path(automatic(), X, y, eps=0.05, lam_min=0.1)
    assert path.estimator(0.1).pairwise_scale_ == pytest.approx(size)
    early = automatic(solver=MPBCFW(early_stopping=True)).fit(X, y, X_val=X, y_val=y)
    assert early.pairwise_scale_ == pytest.approx(size)


def test_no_warning_for_scaled_features(chains, recwarn):
    X, y = chains
    automatic(tol=0.1).fit([255 * x for x in X], y)
    automatic(tol=0.1).fit([x / 1e4 for x in X], y)
    assert not recwarn.list


@pytest.mark.parametrize("size", [1e200, 10**200])
@pytest.mark.parametrize("lam", [0.1, "auto"])
def test_sizes_whose_square_overflows_raise(tiny_chains, size, lam):
    with pytest.raises(ValueError, match="out of the range of floating point"):
        ChainSSVM(lam=lam, pairwise_scale=size).fit(*tiny_chains)
