"""Test the regularization path against enumeration and the independent QP."""

import warnings
from dataclasses import replace
from fractions import Fraction

import joblib
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

import sstruct._solvers.path.path_solver
from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    LatentSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    RegularizationPath,
    TypedGraphCRFSSVM,
    ssvm_path,
)
from sstruct._estimators.graph import graph_structure
from sstruct._estimators.path.along_lambda import Sweep
from sstruct._solvers.path.path_solver import PathSolver
from sstruct.datasets import make_grids, make_sequences
from sstruct.solvers import BCFW, MPBCFW
from tests.estimators.typed_graph import test_typed_graph
from tests.reference import boxed_qp, brute_force, graphs, label_sets, typed_graphs
from tests.reference.brute_force import slack_terms
from tests.solvers.small import make_bounds

EPS = 0.1


class Case:
    """An estimator, its data, and its objective by enumeration.

    Parameters
    ----------
    estimator : BaseSSVM
    X, y : training data
    terms : list of brute_force.Block
    bounds : ndarray of shape (2, d), optional
        Bounds of the weights, in the order of the estimator and of the reference.
    weights : ndarray, optional
        Sample weights in `terms`.
    """

    def __init__(self, estimator, X, y, terms, bounds=None, weights=None):
        self.estimator, self.X, self.y, self.terms = estimator, X, y, terms
        free = np.full((2, terms[0].phi.shape[1]), [[-np.inf], [np.inf]])
        self.bounds = free if bounds is None else bounds
        self.weights = weights

    def path(self, **keywords):
        return ssvm_path(
            self.estimator,
            self.X,
            self.y,
            **{"eps": EPS, "sample_weight": self.weights, **keywords},
        )

    def suboptimality(self, w, lam):
        """Return P(w) minus the optimum, by enumeration and the QP."""
        assert (w >= self.bounds[0]).all()
        assert (w <= self.bounds[1]).all()
        best, _ = boxed_qp.optimum(self.terms, lam, self.bounds)
        return brute_force.primal(w, lam, self.terms) - best


def chains(rng, weights=None, box=None, **parameters):
    K = 3
    lengths = rng.integers(1, 5, 10)
    X = [2 * rng.standard_normal((length, 2)) for length in lengths]
    y = [rng.integers(0, K, length) for length in lengths]
    y[0] = np.arange(K)
    X[0] = rng.standard_normal((K, 2))
    terms = brute_force.blocks(X, y, brute_force.Model(K), "hamming", weights)
    bounds = None if box is None else make_bounds(rng, box, terms[0].phi.shape[1])
    return Case(
        ChainSSVM(loss="hamming", pairwise_scale=1, random_state=0, bounds=bounds, **parameters),
        X,
        y,
        terms,
        bounds,
        weights,
    )


def weighted_chains(rng, **parameters):
    weights = rng.integers(0, 4, 10).astype(float)
    weights[0] = 2
    return chains(rng, weights, **parameters)


def classes(rng, **parameters):
    X, y = rng.standard_normal((25, 3)), np.r_[:3, rng.integers(0, 3, 22)]
    X[np.arange(25), y] += 1  # otherwise w = 0 may be optimal for every lambda
    model = brute_force.Model(3, True, False, False)
    terms = brute_force.blocks([row[np.newaxis] for row in X], [[c] for c in y], model)
    return Case(MulticlassSSVM(random_state=0, **parameters), X, y, terms)


def cycles(rng, **parameters):
    X, y = [], []
    for _ in range(10):
        V = rng.integers(3, 6)
        edges = np.array([(v, (v + 1) % V) for v in range(V)])
        y.append(np.r_[0, 1, rng.integers(0, 2, V - 2)])
        X.append((rng.standard_normal((V, 2)) + y[-1][:, np.newaxis], edges, None, None))
    terms = graphs.blocks(X, y, "potts", 2, divided=True)
    d = terms[0].phi.shape[1]
    bounds = np.full((2, d), [[-np.inf], [np.inf]])
    bounds[1, -1] = 0
    return Case(GraphCRFSSVM(loss="hamming", random_state=0, **parameters), X, y, terms, bounds)


def forests(rng, **parameters):
    X, y = [], []
    for i in range(9):
        V = rng.integers(2, 5) if i else 3
        edges = np.array([(v, rng.integers(v)) for v in range(1, V)])
        y.append(rng.integers(0, 3, V) if i else np.arange(3))
        # Features depend on the labels, otherwise w = 0 may be optimal for every lambda.
        X.append((rng.standard_normal((V, 2)) + y[-1][:, np.newaxis], edges, None, None))
    terms = graphs.blocks(X, y, "full", 3, divided=True)
    return Case(
        GraphCRFSSVM(pairwise="full", loss="hamming", random_state=0, **parameters), X, y, terms
    )


def typed(rng, **parameters):
    X, y = test_typed_graph.make(rng)
    terms = typed_graphs.blocks(
        X, y, test_typed_graph.SIZES, test_typed_graph.PAIRS, test_typed_graph.ones()
    )
    terms = [replace(block, labelings=[sum(y, ()) for y in block.labelings]) for block in terms]
    return Case(TypedGraphCRFSSVM(random_state=0, **parameters), X, y, terms)


def sets(rng, **parameters):
    X, Y = rng.standard_normal((16, 3)), rng.integers(0, 2, (16, 3))
    edges = np.array([(0, 1), (0, 2), (1, 2)])
    terms = label_sets.blocks(X, Y, edges, "and", True, np.full((2, 3), 1 / 3))
    return Case(MultilabelSSVM(loss="hamming", random_state=0, **parameters), X, Y, terms)


def slack(case):
    """Change a case to slack rescaling."""
    case.estimator.set_params(rescaling="slack")
    case.terms = slack_terms(case.terms)
    return case


CASES = {
    "chains": chains,
    "chains-gap-cache": lambda rng: chains(
        rng, solver=MPBCFW(sampling="gap", cache=True, step="corrective")
    ),
    "chains-bcfw": lambda rng: chains(rng, solver=BCFW(sampling="uniform")),
    "chains-count": lambda rng: weighted_chains(rng),
    "chains-nonnegative": lambda rng: chains(rng, box="nonnegative"),
    "chains-mixed-box": lambda rng: weighted_chains(rng, box="mixed"),
    "multiclass": classes,
    "graphs-cut": cycles,
    "graphs-forest": forests,
    "graphs-typed": typed,
    "label-sets": sets,
    "chains-slack": lambda rng: slack(weighted_chains(rng, box="mixed")),
    "label-sets-slack": lambda rng: slack(sets(rng)),
}


@pytest.fixture(params=CASES)
def case(request, rng):
    return CASES[request.param](rng)


@pytest.mark.parametrize("eps, number", [(0.1, 60), (0.02, 40)])
def test_every_lambda_is_eps_optimal(case, rng, eps, number):
    path = case.path(eps=eps, lam_min=1e-3)
    assert path.certified_
    first, end = path.lams_[0], max(path.lam_end_, 1e-4)
    inside = np.exp(rng.uniform(np.log(end), np.log(first), number * 3 // 4))
    above = first * np.exp(rng.uniform(0, np.log(1e4), number // 4))
    found = np.array([case.suboptimality(path.w(lam), lam) for lam in (*inside, *above)])
    assert (found <= eps).all()
    assert found.max() > 0.01 * eps  # weights between breakpoints are not optimal
    bound = np.array([path.gap(lam) for lam in (*inside, *above)])
    assert (found <= bound + 1e-9).all()
    assert (bound <= eps).all()


@pytest.fixture
def certified(monkeypatch):
    """Return the dual weights of the last certificate for each lambda."""
    kept = {}
    original = sstruct._solvers.path.path_solver.exact_pass

    def exact_pass(state, *arguments):
        if arguments[-1] is not None:
            kept[state.lam] = state.export()
        return original(state, *arguments)

    best = PathSolver._best

    def newest(solver):
        kept[solver.lam] = solver.state.export()
        return best(solver)

    # The first breakpoint uses the weights before its pass, the others the latest ones.
    monkeypatch.setattr(sstruct._solvers.path.path_solver, "exact_pass", exact_pass)
    monkeypatch.setattr(PathSolver, "_best", newest)
    # Keep the codes of labelings, which explicit planes would replace.
    monkeypatch.setattr(graph_structure, "explicit_where_cheaper", lambda problem: problem)
    return kept


def test_gaps_between_breakpoints(case, rng, certified):
    eps = 0.01
    path = case.path(eps=eps, lam_min=1e-3)
    assert len(path.lams_) > 3
    lower, upper = case.bounds
    whole = not np.isin(case.bounds, [0, np.inf, -np.inf]).all()

    def rescaled(alphas, share):
        """Return dual weights in which those of wrong labelings are multiplied by `share`."""
        out = []
        for of_block, block in zip(alphas, case.terms, strict=True):
            other = {labeling: share * alpha for labeling, alpha in of_block.items()}
            truth = block.labelings[block.truth]
            other[truth] = 1 - (sum(other.values()) - other.get(truth, 0))
            out.append(other)
        return out

    def gap(row, alphas, lam):
        """Return P(w) - D(sigma alpha); D ignores bounds other than 0.

        Below the breakpoint, sigma is the best one; at the breakpoint, the path keeps sigma = 1.
        """
        ratio = lam / path.lams_[row]

        def dual(share):
            return boxed_qp.dual(rescaled(alphas, share), lam, case.terms, case.bounds)

        z = lam * brute_force.weights_of(alphas, lam, case.terms)
        if row == 0:
            v = brute_force.weights_of(rescaled(alphas, ratio), lam, case.terms)
            np.testing.assert_allclose(np.clip(v, lower, upper), path.ws_[0], rtol=0, atol=1e-9)
        z[((z < 0) & (lower == 0)) | ((z > 0) & (upper == 0))] = 0
        linear = brute_force.linear_part(alphas, case.terms)
        share = min(1, lam * linear / (z @ z))
        kept = share * linear - share**2 * (z @ z) / (2 * lam)
        assert kept <= dual(share) + 1e-12
        if not whole:
            assert kept == pytest.approx(dual(share), rel=1e-9, abs=1e-12)
            assert max(map(dual, (ratio, *rng.random(3)))) <= kept + 1e-12
        primal = brute_force.primal(path.ws_[row], lam, case.terms)
        return primal - (dual(1) if ratio == 1 else max(kept, dual(ratio)))

    ends = [*path.lams_[1:], path.lam_end_]
    rows = rng.permutation(len(ends))[:30]
    for row in {0, len(ends) - 1, *rows.tolist()}:
        lam, end = path.lams_[row], ends[row]
        exported = certified[lam]
        if isinstance(case.estimator, MultilabelSSVM):  # codes are twice labels
            exported = {**exported, "code": exported["code"] // 2}
        alphas = brute_force.read_working_sets(exported, case.terms)
        for at in (lam, rng.uniform(end, lam), end):
            found = gap(row, alphas, max(at, 1e-9))
            assert found <= eps
            if at > end:
                assert found == pytest.approx(path.gap(at), rel=1e-9, abs=1e-12)
            if at == lam:
                assert found == pytest.approx(path.gaps_[row], rel=1e-9, abs=1e-12)
                assert found <= 0.9 * eps
        # Below the next breakpoint, the gap of these weights is too large.
        if end > 1e-3:
            assert gap(row, alphas, end * (1 - 1e-6)) > eps


def test_segments(case):
    path = case.path(eps=0.01)
    lams = path.lams_
    assert (np.diff(lams) < 0).all()
    for row in (0, 1, len(lams) - 1):
        np.testing.assert_array_equal(path.w(lams[row]), path.ws_[row])
    np.testing.assert_array_equal(path.w((lams[0] + lams[1]) / 2), path.ws_[0])
    np.testing.assert_array_equal(path.w(np.nextafter(lams[1], 1e9)), path.ws_[0])
    np.testing.assert_allclose(path.w(4 * lams[0]), path.ws_[0] / 4, rtol=1e-15)
    np.testing.assert_array_equal(path.gaps_, [path.gap(lam) for lam in lams])


def test_estimators_are_fitted(case):
    path = case.path(eps=0.01, lam_min=1e-2)
    # A path may consist of one segment.
    for lam in (3 * path.lams_[0], path.lams_[:2][-1], 0.02):
        model = path.estimator(lam)
        assert model.lam == model.lam_ == lam
        assert model.converged_
        np.testing.assert_array_equal(model.w_, path.w(lam))
        primal = brute_force.primal(model.w_, lam, case.terms)
        # Above the first breakpoint, objective_ is an upper bound.
        assert model.objective_ >= primal * (1 - 1e-12)
        if lam <= path.lams_[0]:
            assert model.objective_ == pytest.approx(primal, rel=1e-12)
        best, _ = boxed_qp.optimum(case.terms, lam, case.bounds)
        assert model.dual_objective_ <= best * (1 + 1e-9)
        assert model.dual_gap_ == pytest.approx(path.gap(lam), abs=1e-12)
        predicted = model.predict(case.X)
        assert len(predicted) == len(case.X)
        for one, other in zip(predicted, path.predict(case.X, lam), strict=True):
            np.testing.assert_equal(one, other)
        assert model.n_iter_ >= 1
        assert {len(column) for column in model.history_.values()} == {
            int((path.lams_ >= lam).sum()) or 1
        }
    with pytest.raises(NotFittedError):
        case.estimator.predict(case.X)


def test_save_and_load(rng, tmp_path):
    case = chains(rng)
    path = case.path()
    path.save(tmp_path / "path.joblib")
    again = RegularizationPath.load(tmp_path / "path.joblib")
    assert repr(again) == repr(path)
    for lam in (0.03, 50.0):
        np.testing.assert_array_equal(again.estimator(lam).w_, path.w(lam))
    state = path.__getstate__()
    assert not any(word in repr(state) for word in ("Problem", "DualState"))
    with pytest.raises(ValueError, match="in format 0; this version of sstruct reads"):
        again.__setstate__({**state, "_sstruct_format": 0})
    joblib.dump([path], tmp_path / "list.joblib")
    with pytest.raises(ValueError, match="contains a list, expected a RegularizationPath"):
        RegularizationPath.load(tmp_path / "list.joblib")


def test_below_the_end(rng):
    case = chains(rng)
    path = case.path(eps=0.02, lam_min=0.05)
    assert path.lam_end_ == 0.05
    assert len(path.w(0.05)) == case.terms[0].phi.shape[1]
    for ask in (path.w, path.estimator, path.gap):
        with pytest.raises(ValueError, match=r"lam=0\.04 is below the end of the path, 0\.05"):
            ask(Fraction(1, 25))
    for lam in (0, -1, np.nan, "auto"):
        with pytest.raises((ValueError, TypeError), match="lam must be"):
            path.w(lam)


def test_default_end_is_a_ten_thousandth_of_the_first_breakpoint(rng):
    # The hinge loss cannot vanish, since equal rows have two labels.
    X, y = np.ones((4, 1)), [0, 1, 0, 0]
    path = ssvm_path(MulticlassSSVM(random_state=0), X, y, eps=0.05)
    assert path.lam_end_ == pytest.approx(1e-4 * path.lams_[0])


def test_the_default_end_is_below_auto(rng):
    # Features with a large mean and a small variance, on which only "auto" depends.
    X, y = 20 + 0.05 * rng.standard_normal((40, 2)), np.arange(40) % 4 == 0
    auto = MulticlassSSVM(random_state=0, tol=0.5).fit(X, y).lam_
    path = ssvm_path(MulticlassSSVM(random_state=0), X, y, eps=0.3)
    assert path.lam_end_ == pytest.approx(0.1 * auto)
    assert path.lam_end_ < 0.5e-4 * path.lams_[0]
    path = ssvm_path(MulticlassSSVM(random_state=0, lam=auto), X, y, eps=0.3)
    assert path.lam_end_ == pytest.approx(1e-4 * path.lams_[0])


def test_path_ends_at_zero_if_the_hinge_loss_vanishes(rng):
    X, y = make_sequences(n_samples=20, noise=0.1, random_state=0)
    path = ssvm_path(ChainSSVM(random_state=0), X, y)
    assert path.lam_end_ == 0
    assert "to all smaller lam" in repr(path)
    assert path.history_["hinge"][-1] <= 0.1 < path.history_["hinge"][-2]
    assert path.gap(1e-300) <= 0.1
    np.testing.assert_array_equal(path.w(1e-300), path.ws_[-1])


def test_a_large_eps_needs_one_vector(rng):
    case = chains(rng)
    path = case.path(eps=2.0)
    assert path.lam_end_ == 0
    for lam in (1e-3, 1.0, 1e3):
        assert case.suboptimality(path.w(lam), lam) <= 2.0


def test_features_of_zero():
    # w = 0 is optimal for every lambda.
    path = ssvm_path(MulticlassSSVM(fit_intercept=False), np.zeros((4, 2)), [0, 1, 0, 1])
    assert path.lam_end_ == 0
    for lam in (1e-9, 1.0, 1e9):
        np.testing.assert_array_equal(path.w(lam), np.zeros(4))


def test_bounds_that_keep_weights_at_zero():
    # Without the bounds, weights would be proportional to [-1, 1].
    X, y, bounds = [[1.0], [2.0]], [0, 1], [[0.0, -np.inf], [np.inf, 0.0]]
    model = MulticlassSSVM(fit_intercept=False, bounds=bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = ssvm_path(model, X, y)
    assert path.status_ == "CONVERGED"
    assert path.lam_end_ == 0
    for lam in (1e-14, 1.0):
        np.testing.assert_array_equal(path.w(lam), [0, 0])
        assert path.gap(lam) == 0


def test_bounds_must_contain_zero(rng):
    case = chains(rng)
    bounds = case.bounds.copy()
    bounds[0, 5] = 0.25
    case.estimator.set_params(bounds=bounds)
    with pytest.raises(ValueError, match=r"bounds of weight 5 are 0\.25 and inf, but a path"):
        case.path()


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"solver": "fw"}, "solver='fw' has no dual weights"),
        ({"solver": "ssg"}, "solver='ssg' has no dual weights"),
        (
            {"solver": MPBCFW(checkpoint="here")},
            "checkpoint of the solver is not supported by paths",
        ),
        ({"tol": -1}, "tol"),
    ],
)
def test_unsupported_parameters_of_estimators(rng, parameters, message):
    case = chains(rng)
    case.estimator.set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        case.path()


@pytest.mark.parametrize("keywords", [{"eps": 0}, {"kappa": 1.0}, {"kappa": 0}, {"lam_min": 0}])
def test_parameters_are_checked(rng, keywords):
    with pytest.raises((ValueError, TypeError), match=next(iter(keywords))):
        chains(rng).path(**keywords)


def test_invalid_estimator(rng):
    with pytest.raises(TypeError, match="expected an estimator of this package"):
        ssvm_path("chain", [], [])
    message = r"LatentSSVM is not supported by paths.*GridSearchCV\(LatentSSVM\(.*estimator__lam"
    with pytest.raises(TypeError, match=message):
        ssvm_path(LatentSSVM(ChainSSVM()), [], [])
    with pytest.raises(TypeError, match="fit the GridSearchCV first, and pass its best_estimator_"):
        ssvm_path(GridSearchCV(ChainSSVM(), {"lam": [0.1]}), [], [])


def test_early_ends_keep_the_guarantee(rng):
    case = chains(rng, max_iter=1, solver="bcfw")
    with pytest.warns(
        ConvergenceWarning, match=r"the path, at lam=.*max_iter=1 passes at one"
    ) as caught:
        path = case.path(eps=0.001)
    assert path.status_ == "MAX_ITER"
    assert "max_time" not in str(caught[0].message)
    assert path.certified_
    for lam in np.geomspace(path.lam_end_, 100 * path.lams_[0], 20):
        assert case.suboptimality(path.w(lam), lam) <= 0.001
    with pytest.raises(ValueError, match="below the end of the path"):
        path.w(0.99 * path.lam_end_)
    case.estimator.set_params(max_iter=1000, max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"\(TIME_LIMIT\): the time limit max_time=1e-09"):
        path = case.path(eps=0.001)
    assert case.suboptimality(path.w(path.lam_end_), path.lam_end_) <= 0.001
    case.X = [x * [1e4, *np.ones(x.shape[1] - 1)] for x in case.X]
    with pytest.warns(ConvergenceWarning, match=r"was reached; scale the features: feature 0 has"):
        case.path(eps=0.001)


def test_paths_of_approximate_decoders_are_not_certified():
    X, y = make_grids(n_samples=6, shape=(4, 4), n_labels=3, random_state=0)
    path = ssvm_path(GridCRFSSVM(random_state=0), X, y, lam_min=0.1)
    assert (path.guarantee_, path.certified_) == ("approximate", False)
    assert path.estimator(1.0).inference_ == "alpha-expansion (approximate)"


def test_same_random_state_same_bits_whatever_n_jobs(rng):
    case = chains(rng)
    paths = []
    for n_jobs in (1, 2):
        case.estimator.set_params(n_jobs=n_jobs, random_state=3)
        paths.append(case.path())
    one, two = paths
    assert one.lams_.tobytes() == two.lams_.tobytes()
    for a, b in zip(one.ws_, two.ws_, strict=True):
        assert a.tobytes() == b.tobytes()


def test_estimator_is_unchanged(rng):
    case = chains(rng)
    before = {**vars(case.estimator)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        case.path()
    assert vars(case.estimator) == before


def test_a_path_with_an_approximate_decoder_that_ends_early_recommends_lams():
    X, y = make_grids(n_samples=6, n_labels=3, random_state=0)
    model = GridCRFSSVM(pairwise="potts", max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"decoder is not exact.*choose lam by PathCV"):
        path = ssvm_path(model, X, y, eps=0.01)
    assert path.guarantee_ == "approximate"


@pytest.mark.parametrize("make", [chains, classes, cycles, sets])
@pytest.mark.parametrize("tol", [0.3, 0.03])
def test_gaps_relative_to_the_objective(make, tol):
    rng = np.random.default_rng(7)
    case = make(rng)
    sweep = Sweep(case.estimator, case.X, case.y, None)
    path = RegularizationPath(sweep, tol, 0.9, None, relative=True)
    objectives = path.history_["primal"]
    objectives[0] = path._hinge_at_zero  # also above the first breakpoint
    assert (path.gaps_ <= 0.9 * tol * objectives * (1 + 1e-9)).all()
    if make is cycles:
        assert objectives[-1] < 0.5 * objectives[0]
    for lam in path.lams_[0] * np.r_[10, 1, np.geomspace(1, path.lam_end_ / path.lams_[0], 9)]:
        lam = max(lam, path.lam_end_)
        most = tol * objectives[max((path.lams_ >= lam).sum() - 1, 0)]
        assert path.gap(lam) <= most * (1 + 1e-9)
        assert case.suboptimality(path.w(lam), lam) <= most * (1 + 1e-6)
