"""Test optima, options and scikit-learn's conventions of StructuredSVM."""

import pickle
import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from sstruct import StructuredSVM, ssvm_path
from sstruct._estimators.custom.custom_structure import CustomStructure
from sstruct._problems.custom.oracle_calls import OracleCalls
from sstruct.solvers import BCFW, MPBCFW
from tests.estimators.custom.choices import Choice, ConstrainedChoice, make_choices, terms
from tests.reference import brute_force
from tests.reference.dual_qp import check_bounds, optimum

LAM = 0.05


def fit(X, y, oracle=None, **parameters):
    defaults = {"lam": LAM, "tol": 1e-7, "random_state": 0}
    return StructuredSVM(oracle or Choice(), **{**defaults, **parameters}).fit(X, y)


def check_certificate(model, blocks, tol, box=None):
    """Compare the objective with enumeration, and with the optimum of the QP."""
    _, primal = check_bounds(model, blocks, box)
    assert model.objective_ == pytest.approx(primal, rel=1e-12)
    assert model.status_ == "CONVERGED"
    assert model.dual_gap_ <= tol * model.objective_
    assert model.history_["suboptimal"].tolist() == [0] * len(model.history_["passes"])


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"solver": BCFW(step="pairwise", sampling="uniform")},
        {"solver": BCFW(step="away", sampling="permutation", average=True)},
        {"solver": MPBCFW(step="corrective", sampling="gap", cache=True)},
        {"solver": MPBCFW(step="pairwise", sampling="gap", cache=True, average=False)},
        {"solver": BCFW(step="fw", cache=False), "tol": 1e-2},
        {"solver": MPBCFW(step="fw", sampling="uniform", cache=True), "tol": 1e-2},
        {"solver": MPBCFW(schedule="clock")},
        {"solver": "fw", "tol": 2e-2},
        {"solver": "cutting-plane"},
    ],
    ids=lambda p: "-".join(map(str, p.values())) or "default",
)
def test_every_solver_reaches_the_optimum(rng, parameters, as_sparse):
    X, y = make_choices(rng)
    if parameters.get("solver") == "cutting-plane":
        pytest.importorskip("clarabel")
    model = fit(X, y, Choice(as_sparse), **parameters)
    check_certificate(model, terms(X, y), parameters.get("tol", 1e-7))
    assert model.inference_ == "oracle (exact)"


@pytest.mark.parametrize("first", [False, True], ids=["dense first", "sparse first"])
def test_vectors_may_be_dense_and_sparse(rng, first):
    class Both(Choice):
        def joint_feature(self, x, y):
            self.as_sparse = not self.as_sparse
            return super().joint_feature(x, y)

    X, y = make_choices(rng)
    model = fit(X, y, Both(not first))
    np.testing.assert_array_equal(model.w_, fit(X, y, Choice(first)).w_)


@pytest.mark.parametrize("solver", ["mp-bcfw", "bcfw", "cutting-plane"])
def test_boxes(rng, solver):
    X, y = make_choices(rng)
    box = np.array([[-0.2, -np.inf, 0.1, -np.inf], [0.2, 0.0, np.inf, np.inf]])
    model = fit(X, y, solver=solver, bounds=box, tol=1e-6)
    check_certificate(model, terms(X, y), 1e-6, box=box)
    assert (box[0] <= model.w_).all()
    assert (model.w_ <= box[1]).all()


@pytest.mark.parametrize("solver", ["mp-bcfw", "bcfw"])
@pytest.mark.parametrize("search", ["auto", "angular", "bisecting", "binary"])
def test_slack_rescaling(rng, search, solver):
    X, y = make_choices(rng, n=16)
    oracle = ConstrainedChoice()
    tol = 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # searches by hulls may stall
        model = fit(X, y, oracle, rescaling="slack", search=search, solver=solver, tol=tol)
    blocks = terms(X, y, slack=True)
    # If the search is not exact, objective_ is an upper bound.
    best, primal = check_bounds(model, blocks)
    assert model.history_["queries"][-1] > 0
    if search in ("auto", "angular"):
        assert model.inference_ == "oracle, angular search (exact)"
        check_certificate(model, blocks, tol)
    else:
        assert model.inference_ == f"oracle, {search} search (bounded)"
        assert primal <= 1.05 * best


def test_angular_search_needs_the_constrained_oracle(rng):
    X, y = make_choices(rng, n=4)
    with pytest.raises(ValueError, match="oracle with the method constrained_argmax; use search="):
        fit(X, y, rescaling="slack", search="angular")
    assert "bisecting" in fit(X, y, rescaling="slack", solver="ssg", max_iter=1).inference_


@pytest.mark.parametrize("way", ["dual", "primal"])
def test_warm_starts_need_the_same_oracle(rng, way):
    X, y = make_choices(rng)
    model = fit(X, y, Choice(as_sparse=True), warm_start=way)
    model.set_params(oracle=Choice(as_sparse=True)).fit(X, y)
    with pytest.raises(ValueError, match="warm_start continues from the last fit"):
        model.set_params(oracle=Choice()).fit(X, y)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_paths_are_certified(rng, rescaling):
    X, y = make_choices(rng)
    estimator = StructuredSVM(ConstrainedChoice(), rescaling=rescaling, random_state=0)
    path = ssvm_path(estimator, X, y, eps=0.05)
    assert path.certified_
    blocks = terms(X, y, slack=rescaling == "slack")
    for lam in np.geomspace(path.lams_[0] * 2, max(path.lam_end_, 1e-4), 7):
        best, _ = optimum(blocks, lam)
        assert brute_force.primal(path.w(lam), lam, blocks) <= best + 0.05 * (1 + 1e-9)
    model = path.estimator(path.lams_[-1])
    assert model.predict(X).shape == (len(X),)
    assert not any(isinstance(value, OracleCalls) for value in vars(model).values())


class Words(BaseEstimator):
    """An oracle for samples that are not arrays: x and y are words of two letters, of length 3."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def joint_feature(self, x, y):
        return [self.factor * sum(a == b for a, b in zip(x, y))]

    def loss(self, y_true, y):
        return sum(a != b for a, b in zip(y_true, y)) / 3

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        out = []
        for k, letter in enumerate(x):
            scores = {v: self.factor * w[0] * (v == letter) for v in "ab"}
            if y_true is not None:
                for v in scores:
                    scores[v] += loss_weight * (v != y_true[k]) / 3
            out.append(max(scores, key=scores.get))
        return tuple(out)


def test_labelings_of_any_kind_and_parameters_of_the_oracle(rng):
    X = [tuple("ab"[v] for v in row) for row in rng.integers(0, 2, (20, 3))]
    model = StructuredSVM(Words(), random_state=0).fit(X, X)
    assert model.predict(X).tolist() == X
    assert model.score(X, X) == 1
    grid = GridSearchCV(model, {"oracle__factor": [0.5, 2.0]}, cv=2).fit(X, X)
    assert grid.best_params_["oracle__factor"] in (0.5, 2.0)


def test_samples_come_in_any_container(rng):
    X, y = make_choices(rng, n=8)
    X = [x[:2] for x in X]
    y = [min(label, 1) for label in y]
    expected = fit(X, y).w_
    stacked = np.array(X)
    as_objects = np.empty(8, dtype=object)
    as_objects[:] = X
    for samples, labels in ((stacked, np.array(y)), (tuple(X), tuple(y)), (as_objects, y)):
        np.testing.assert_array_equal(fit(samples, labels).w_, expected)

    class Rows(Choice):
        def joint_feature(self, x, y):
            return (x if y else -x).toarray().ravel()

        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            score = (x @ w).item()
            scores = np.array([-score, score])
            if y_true is not None:
                scores[1 - y_true] += loss_weight / 2
            return int(np.argmax(scores))

    rows = sparse.csr_matrix(rng.standard_normal((8, 3)))
    assert fit(rows, y, Rows(), tol=1e-3).w_.shape == (3,)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": range(8)}, index=range(100, 108))
    series = pandas.Series([("ab"[v],) for v in y], index=frame.index)

    class Frame(Words):
        def joint_feature(self, x, y):
            return [float(x["x"]) * (y == ("a",)), 1.0]

        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            return max(
                [("a",), ("b",)],
                key=lambda v: (
                    w @ self.joint_feature(x, v)
                    + (0 if y_true is None else loss_weight * self.loss(y_true, v))
                ),
            )

    assert fit(frame, series, Frame(), tol=0.1).predict(frame).shape == (8,)


def test_the_score_is_one_minus_the_mean_loss(rng):
    X, y = make_choices(rng)
    model = StructuredSVM(Choice(), lam=LAM, random_state=0).fit(X, y)
    assert model.score(X, y) == pytest.approx(
        1 - np.mean([Choice().loss(a, b) for a, b in zip(y, model.predict(X))])
    )
    weights = rng.random(len(X))
    assert model.score(X, y, weights) == pytest.approx(
        1 - np.average([Choice().loss(a, b) for a, b in zip(y, model.predict(X))], weights=weights)
    )


class Pair(Choice):
    """An oracle of two independent binary choices; the loss is `cost` times the wrong ones."""

    def __init__(self, cost=1.0):
        self.cost = cost

    def joint_feature(self, x, y):
        return (2 * np.asarray(y) - 1) @ x

    def loss(self, y_true, y):
        return self.cost * float(np.sum(np.asarray(y_true) != y))

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        score = 2 * (x @ w)
        if y_true is not None:
            score += loss_weight * self.cost * (1 - 2 * np.asarray(y_true))
        return (score > 0).astype(int)


@pytest.mark.parametrize("cost, n_jobs", [(0.5, None), (1.0, None), (7.0, 2)])
def test_the_score_is_an_accuracy_for_counted_losses(rng, cost, n_jobs):
    X = [rng.standard_normal((2, 3)) for _ in range(40)]
    y = [(x[:, 0] + rng.standard_normal(2) > 0).astype(int) for x in X]
    model = fit(X, y, Pair(cost), tol=0.1, n_jobs=n_jobs)
    weights = rng.random(40)
    right = [np.mean(found == true) for found, true in zip(model.predict(X), y, strict=True)]
    for weight in (None, weights):
        expected = np.average(right, weights=weight)
        assert model.score(X, y, weight) == pytest.approx(expected, rel=1e-12)
    wrong = [1 - labels for labels in model.predict(X)]
    assert model.score(X, wrong) == pytest.approx(0, abs=1e-12)
    assert model.score(X, model.predict(X)) == 1


class Forgetful(Pair):
    """An approximate oracle: it returns the truth if the loss is added to the score."""

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        return super().argmax(x, w) if y_true is None else y_true


def test_the_score_of_an_approximate_oracle_is_not_negative(rng):
    X = [rng.standard_normal((2, 3)) for _ in range(4)]
    model = fit(X, [(x[:, 0] > 0).astype(int) for x in X], Pair(3.0))
    model.oracle = Forgetful(3.0)
    assert model.score(X, [1 - labels for labels in model.predict(X)]) == 0


def test_pickle_does_not_contain_training_data(rng):
    X, y = make_choices(rng, n=200)
    model = fit(X, y, tol=0.1)
    pickled = pickle.dumps(model)
    assert len(pickled) < 8000 < len(pickle.dumps(X))
    loaded = pickle.loads(pickled)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_unused_planes_are_removed(rng, monkeypatch):
    # A labeling of 2,000 weights takes 16 kB; each pass finds new ones.
    X = [rng.standard_normal((30, 2000)) for _ in range(12)]
    y = rng.integers(0, 30, 12).tolist()
    kept = []

    def watched(structure, training, solution):
        problem = training.problem
        kept[:] = 1 + np.bincount(problem.planes()["plane_block"], minlength=problem.n_blocks)
        return solution

    monkeypatch.setattr(CustomStructure, "_conclude", watched)
    for solver in (BCFW(step="fw"), "ssg", "fw"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = StructuredSVM(
                Choice(), lam=1e-4, tol=1e-9, max_iter=40, random_state=0, solver=solver
            )
            model.fit(X, y)
        if model.solver_ == "bcfw":
            # The number of kept labelings is the size of the working sets in the history.
            assert sum(kept) / 12 == model.history_["working_set_size"][-1]
        else:
            assert kept == [1] * 12


def test_callbacks_see_passes_and_stop_a_fit(rng):
    X, y = make_choices(rng)
    seen = []
    model = StructuredSVM(Choice(), lam=LAM, tol=1e-9, random_state=0)
    model.set_callbacks(lambda info: seen.append(info["suboptimal"]) or len(seen) == 2)
    assert model.fit(X, y).status_ == "STOPPED_BY_CALLBACK"
    assert seen == [0, 0]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"oracle": Choice}, "must be an instance, found the class Choice"),
        ({"oracle": object()}, "oracle has no method 'joint_feature'"),
        ({"lam": -1}, "lam"),
        ({"solver": "gdmm"}, "solver"),
        ({"X": []}, "X has 0 samples"),
        ({"X": "abc"}, "X must be a list with one item per sample, found str"),
        ({"X": {0: 1}}, "found dict"),
        ({"X": iter([1])}, "found list_iterator"),
        ({"y": [0]}, "X has 3 samples but y has 1"),
        ({"sample_weight": [0, 0, 0]}, "weight"),
        ({"sample_weight": [1, -1, 1]}, "sample_weight"),
        ({"bounds": [[0], [1]]}, r"bounds has shape \(2, 1\), expected \(2, 4\)"),
    ],
    ids=lambda v: v if isinstance(v, str) else next(iter(v)),
)
def test_invalid_input_raises_before_the_fit(rng, change, message):
    X, y = make_choices(rng, n=3)
    data = {"X": X, "y": y, "sample_weight": None}
    data.update({name: change.pop(name) for name in list(change) if name in data})
    model = StructuredSVM(Choice()).set_params(**change)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(**data)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize(
    "vector", [1.0, np.ones(0), np.ones((1, 4)), sparse.csr_array((1, 0)), sparse.csr_array((2, 4))]
)
def test_the_first_joint_feature_must_be_a_vector(rng, vector):
    oracle = Choice()
    oracle.joint_feature = lambda x, y: vector
    message = rf"X\[0\]: joint_feature returned shape {re.escape(str(np.shape(vector)))}, expected"
    with pytest.raises(ValueError, match=message):
        StructuredSVM(oracle).fit(*make_choices(rng, n=3))


def test_work_of_the_oracle_must_be_a_number(rng):
    X, y = make_choices(rng, n=3)
    oracle = Choice()
    oracle.work = -1
    with pytest.raises(ValueError, match="work of the oracle"):
        StructuredSVM(oracle).fit(X, y)
