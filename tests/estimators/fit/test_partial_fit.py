"""Test partial_fit against a single fit, states of files, and invalid input."""

import pickle
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from sstruct import ChainSSVM, MulticlassSSVM, MultilabelSSVM, StructuredSVM
from sstruct.datasets import make_sequences
from sstruct.solvers import SOLVER_OF_NAME
from tests.estimators.custom.choices import Choice, ChoiceByScores, make_choices
from tests.estimators.state.test_fitted_state import changed, put
from tests.registry import TRAINED, chains

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SOLVERS = {"perceptron": {}, "pa": {}, "ssg": {"lam": 0.05}}
N, PARTS = 40, 10


def sequences(rng):
    X, y = make_sequences(n_samples=N, random_state=0)
    return ChainSSVM(pairwise_scale=1), X, y, range(4)


def sparse_chains(rng, n):
    X, y = chains(rng, n)
    return [sparse.csr_matrix(x) for x in X], y


CASES = TRAINED | {
    "sparse chain": replace(TRAINED["chain"], make=sparse_chains),
    "tied chain": replace(TRAINED["chain"], required={"transitions": [[0, 1], [1, 0]]}),
}
# The first batch determines the symbols, the labels of arcs, and the pairs of types.
OF_FIRST = ("alignments", "featured alignments", "labeled arcs", "typed graph")
CASES = {name: case for name, case in CASES.items() if name not in OF_FIRST}
# The first batch determines these, too.
FIXED = {"pairwise_scale": 1, "duration_bins": None}


def made(name, **parameters):
    """Return an estimator of the registry, X, y and its classes or None."""
    X, y = CASES[name].samples(N)
    model = CASES[name].unfitted(lam="auto", **parameters)
    model.set_params(**{key: FIXED[key] for key in FIXED.keys() & model.get_params().keys()})
    has_classes = "classes" in model.get_params() and not isinstance(model, MultilabelSSVM)
    return model, X, y, clone(model).fit(X, y).classes_ if has_classes else None


@pytest.fixture(params=CASES)
def case(request):
    return made(request.param)


def parts(X, y, n_parts=PARTS):
    """Divide samples into consecutive batches."""
    ends = np.linspace(0, len(y), n_parts + 1).astype(int)
    for a, b in pairwise(ends):
        yield X[a:b], y[a:b]


def learned(model, X, y, classes, n_parts=PARTS):
    """Return a model after partial_fit with each part."""
    given = {} if classes is None else {"classes": classes}
    for X_part, y_part in parts(X, y, n_parts):
        assert model.partial_fit(X_part, y_part, **given) is model
        given = {}
    return model


def assert_same_state(a, b):
    assert a._steps.keys() == b._steps.keys()
    for name, value in a._steps.items():
        np.testing.assert_array_equal(b._steps[name], value)


@pytest.mark.parametrize("solver", SOLVERS)
def test_batches_equal_one_fit_in_the_given_order(case, solver):
    made, X, y, classes = case
    made.set_params(solver=solver, **SOLVERS[solver])
    in_parts = learned(clone(made), X, y, classes)
    at_once = learned(clone(made), X, y, classes, 1)
    one_by_one = learned(clone(made), X[:5], y[:5], classes, 5)
    one_by_one = learned(one_by_one, X[5:], y[5:], None, 1)
    whole = clone(made).set_params(solver=SOLVER_OF_NAME[solver](sampling="given"), max_iter=1)
    if classes is not None:
        whole.set_params(classes=classes)
    whole.fit(X, y)
    for model in (at_once, one_by_one, whole):
        assert_same_state(model, in_parts)
        assert model.n_oracle_calls_ == in_parts.n_oracle_calls_ == N
    np.testing.assert_array_equal(at_once.w_, in_parts.w_)
    np.testing.assert_array_equal(one_by_one.w_, in_parts.w_)
    if solver != "ssg":  # fit may return the last iterate
        np.testing.assert_array_equal(whole.w_, in_parts.w_)
    assert np.any(in_parts.w_)
    assert np.isnan([in_parts.objective_, in_parts.dual_objective_, in_parts.dual_gap_]).all()
    assert (in_parts.status_, in_parts.n_iter_, in_parts.solver_) == ("MAX_ITER", 1, solver)
    assert len(in_parts.predict(X)) == N


@pytest.mark.parametrize("solver", SOLVERS)
def test_continues_after_fit_and_after_unpickling(case, solver):
    made, X, y, classes = case
    made.set_params(solver=solver, max_iter=3, **SOLVERS[solver])
    if classes is not None:
        made.set_params(classes=classes)
    X_first, X_last, y_first, y_last = X[:30], X[30:], y[:30], y[30:]
    model = made.fit(X_first, y_first)
    before, again = model.n_oracle_calls_, pickle.loads(pickle.dumps(model))
    model.partial_fit(X_last, y_last)
    again.partial_fit(X_last[:5], y_last[:5])
    again = pickle.loads(pickle.dumps(again)).partial_fit(X_last[5:], y_last[5:])
    assert_same_state(again, model)
    np.testing.assert_array_equal(again.w_, model.w_)
    assert model.n_oracle_calls_ == before + 10


@pytest.mark.parametrize("solver", SOLVERS)
def test_sample_weights_of_parts(rng, solver):
    _, X, y, classes = sequences(rng)
    weights = rng.choice([0.0, 0.5, 2.0, 3.0], N)
    model = ChainSSVM(pairwise_scale=1, solver=solver, classes=classes, **SOLVERS[solver])
    whole = clone(model).partial_fit(X, y, sample_weight=weights)
    for a in range(0, N, 8):
        part = slice(a, a + 8)
        model.partial_fit(X[part], y[part], sample_weight=weights[part])
    assert_same_state(model, whole)
    doubled = clone(model).partial_fit(X, y, sample_weight=2 * weights)
    if solver == "perceptron":
        np.testing.assert_array_equal(doubled.w_, 2 * whole.w_)
    else:
        assert (doubled.w_ != whole.w_).any()


def test_solvers_with_a_certificate_have_no_partial_fit(rng):
    _, X, y, classes = sequences(rng)
    for solver in ("auto", "mp-bcfw", "gdmm", "no such", None, []):
        model = ChainSSVM(solver=solver)
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError, match="partial_fit"):
            model.partial_fit(X, y, classes=classes)
    with pytest.raises(AttributeError, match="partial_fit"):
        ChainSSVM.partial_fit(ChainSSVM(), X, y, classes=classes)
    for solver in SOLVERS:
        assert hasattr(ChainSSVM(solver=solver), "partial_fit")
    assert ChainSSVM.partial_fit(ChainSSVM(solver="pa"), X, y, classes=classes).w_.any()


def test_the_first_call_requires_classes(rng):
    one_label = MultilabelSSVM(), rng.standard_normal((N, 3)), np.arange(N) % 3, range(3)
    for model, X, y, classes in (*map(made, ("chain", "graph", "grid", "rows")), one_label):
        model.set_params(solver="perceptron")
        with pytest.raises(ValueError, match="classes must be passed on the first call"):
            model.partial_fit(X, y)
        assert not hasattr(model, "w_")
        first = clone(model).partial_fit(X, y, classes=classes)
        second = clone(model).set_params(classes=list(classes)).partial_fit(X, y)
        np.testing.assert_array_equal(first.w_, second.w_)
        # Classes that do not occur in the first batch have weights, too.
        more = clone(model).partial_fit(X, y, [*classes, 9])
        assert more.classes_.tolist() == [*classes, 9]
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        MulticlassSSVM(solver="pa").partial_fit(one_label[1], np.arange(N)[:, np.newaxis] % 2)


def test_changed_classes_raise(rng):
    _, X, y, classes = sequences(rng)
    model = ChainSSVM(solver="perceptron").partial_fit(X[:5], y[:5], classes=classes)
    before = model.w_, model._steps
    model.partial_fit(X[5:9], y[5:9], classes=classes)
    with pytest.raises(ValueError, match="differs from the classes of the last call"):
        model.partial_fit(X, y, classes=range(5))
    with pytest.raises(ValueError, match=r"y\[0\] contains 7, which is not in classes"):
        model.partial_fit(X[:1], [[7] * len(y[0])])
    with pytest.raises(ValueError, match="no duplicates"):
        clone(model).partial_fit(X, y, classes=[0, 0, 1, 2, 3])
    with pytest.raises(TypeError, match="classes must be a list"):
        clone(model).partial_fit(X, y, classes="abcd")
    with pytest.raises(ValueError, match="differs from the parameter classes of the estimator"):
        clone(model).set_params(classes=range(4)).partial_fit(X, y, classes=range(3))
    assert (before[0] != model.w_).any()
    for name in ("candidates", "choices"):
        other, X, y, _ = made(name)
        with pytest.raises(ValueError, match="does not support classes"):
            other.set_params(solver="perceptron").partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize("weight", [1.6e305, 1e306])  # the average overflows, or a single step
@pytest.mark.parametrize("bounded", [False, True])
def test_steps_beyond_float64_raise(rng, bounded, weight):
    model, X, y, classes = sequences(rng)
    model.set_params(solver="ssg", lam=0.001)
    if bounded:
        model.set_params(bounds=np.repeat([[-np.inf], [np.inf]], 68, axis=1))
    model.partial_fit(X[:3], y[:3], classes)
    w = model.w_
    with pytest.raises(ValueError, match="weights exceed the range of float64"):
        model.partial_fit(X[3:4], y[3:4], sample_weight=[weight])
    np.testing.assert_array_equal(model.w_, w)


def narrower(value):
    """Return samples whose tables of numbers have one column less."""
    if isinstance(value, np.ndarray) and value.dtype == float and value.ndim > 1:
        return value[..., :-1]
    if sparse.issparse(value):
        return value[:, :-1]
    if isinstance(value, dict):
        return {key: narrower(item) for key, item in value.items()}
    return type(value)(map(narrower, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("solver", SOLVERS)
def test_invalid_batch_does_not_change_the_model(case, solver):
    made, X, y, classes = case
    model = made.set_params(solver=solver, **SOLVERS[solver])
    model = learned(model, X[:20], y[:20], classes, 2)
    w, steps = model.w_, model._steps
    rejected = [((X[:5], y[:4]), {}), ((X[:5], y[:5]), {"sample_weight": [1.0, -1, 1, 1, 1]})]
    rejected.append(((narrower(X[:5]), y[:5]), {}))
    for given, more in rejected:
        with pytest.raises(ValueError) as error:
            model.partial_fit(*given, **more)
        assert not re.search(r"setting an array element|broadcast", str(error.value))
        np.testing.assert_array_equal(model.w_, w)
        assert model._steps is steps
    model.partial_fit(X[20:], y[20:])


def test_parameters_that_require_all_samples_raise(rng):
    _, X, y, classes = sequences(rng)
    with pytest.raises(ValueError, match="lam='auto' is not supported by partial_fit"):
        ChainSSVM(solver="ssg").partial_fit(X, y, classes=classes)
    for parameters in ({"loss": "balanced"}, {"class_weight": "balanced"}):
        with pytest.raises(
            ValueError, match=f"{next(iter(parameters))}=.balanced. is not supported"
        ):
            ChainSSVM(solver="pa", **parameters).partial_fit(X, y, classes=classes)


def test_error_if_parameters_changed(rng):
    _, X, y, classes = sequences(rng)
    model = ChainSSVM(max_iter=3, tol=0.5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"solver='pa' cannot continue .* solver='mp-bcfw'"):
        model.set_params(solver="pa", lam="auto").partial_fit(X, y)
    model = ChainSSVM(solver="ssg", lam=0.1).partial_fit(X, y, classes=classes)
    with pytest.raises(ValueError, match=r"lam=0\.2 cannot continue from steps with lam=0\.1"):
        model.set_params(lam=0.2).partial_fit(X, y)
    box = np.tile([[-1.0], [1.0]], len(model.w_))
    with pytest.raises(ValueError, match="bounds were added or removed"):
        model.set_params(lam=0.1, bounds=box).partial_fit(X, y)
    model.set_params(bounds=None).partial_fit(X, y)
    for change, name in (
        ({"transitions": False}, "transitions"),
        ({"boundaries": False}, "boundaries"),
        ({"fit_intercept": False}, "bias"),
    ):
        message = f"the model differs from earlier calls of partial_fit: {name} is False, was True"
        with pytest.raises(ValueError, match=message):
            clone(model).partial_fit(X, y, classes=classes).set_params(**change).partial_fit(X, y)
    # A fit with another solver removes the state.
    model.set_params(solver="auto", max_iter=1000, tol=0.9).fit(X, y)
    assert "_steps" not in vars(model)


def test_error_if_the_model_changed(rng):
    model, X, y, classes = made("graph", pairwise=0.5, solver="pa")
    model.partial_fit(X, y, classes=classes)
    with pytest.raises(ValueError, match=r"model differs .* strength is 2\.0, was 0\.5"):
        model.set_params(pairwise=2.0).partial_fit(X, y)
    model, X, y, _ = made("label sets", solver="pa", edges=None)
    model.partial_fit(X, y)
    with pytest.raises(ValueError, match="partial_fit: K is None, was 3"):
        model.partial_fit(X, rng.permutation(np.arange(N) % 3))
    model, X, y, _ = made("candidates", solver="pa")
    model.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"parents_ is .*, but earlier calls"):
        model.set_params(parents=[1, -1, 1]).partial_fit(X, y)
    model, X, y, _ = made("choices", solver="pa")
    model.partial_fit(X, y)
    with pytest.raises(ValueError, match="the data require 3 weights, but the model has 4"):
        model.partial_fit([x[:, :3] for x in X], y)


def test_callbacks_are_called_for_each_batch(rng):
    _, X, y, classes = sequences(rng)
    seen = []
    model = ChainSSVM(solver="pa").set_callbacks(lambda info: seen.append(info["oracle_calls"]))
    learned(model, X, y, classes, 4)
    assert seen == [10, 20, 30, 40]


def test_attractive_neighbors_stay_attractive(rng):
    directed = {"pairwise": "directed", "bounds": "submodular"}
    for name, parameters in (("graph", {}), ("featured graph", directed)):
        model, X, y, classes = made(name, **parameters)
        for solver in SOLVERS:
            twin = clone(model).set_params(solver=solver, **SOLVERS[solver])
            learned(twin, X, y, classes)
            edge = twin.edge_coef_
            if name == "graph":
                assert (edge <= 0).all()
            else:
                off = ~np.eye(2, dtype=bool)
                assert (edge[:, off] <= 0).all()
                assert (edge[:, ~off] >= 0).all()


@pytest.mark.parametrize("edges, repeats", [("tree", 1), ("auto", 1), ("auto", 8)])
def test_tree_of_labels_is_chosen_by_the_first_batch(edges, repeats, rng):
    _, X, y, _ = made("label sets")
    y = np.tile(y, repeats) ^ (rng.random((len(y), repeats * y.shape[1])) < 0.2)
    model = MultilabelSSVM(edges=edges, solver="pa").partial_fit(X[:20], y[:20])
    found = model.edges_
    model.partial_fit(X[20:], 1 - y[20:])
    np.testing.assert_array_equal(model.edges_, found)
    assert model.edges == edges


def test_names_of_features(rng):
    _, X, y, classes = made("rows")
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = MulticlassSSVM(solver="pa").partial_fit(frame[:20], y[:20], classes=classes)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frame.rename(columns={"a": "x"}), y)
    assert model.partial_fit(frame[20:], y[20:]).feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "key, value",
    [
        ("weights", None), ("weights", np.zeros(3)), ("moment", "x"), ("n_steps", -1),
        ("n_steps", 1.5), ("n_steps", 2**60), ("solver", 3), ("bounded", 1), ("bounded", None),
    ],
    ids=str,
)  # fmt: skip
def test_damaged_states(rng, solver, key, value):
    _, X, y, classes = sequences(rng)
    model = ChainSSVM(solver=solver, **SOLVERS[solver]).partial_fit(X, y, classes=classes)
    with pytest.raises(ValueError, match=f"invalid fitted state of ChainSSVM: _steps.*{key}"):
        changed(model, _steps=put(model._steps, key, value))
    model._steps = put(model._steps, key, value)
    with pytest.raises(ValueError, match=key):
        model.partial_fit(X, y)


def test_states_with_nan(rng):
    _, X, y, classes = sequences(rng)
    model = ChainSSVM(solver="pa").partial_fit(X, y, classes=classes)
    wrong = model._steps["moment"].copy()
    wrong[0] = np.nan
    with pytest.raises(ValueError, match="moment"):
        changed(model, _steps=put(model._steps, "moment", wrong))
    with pytest.raises(ValueError, match="_steps"):
        changed(model, _steps=3)
    lost = changed(model, _steps=...)
    with pytest.raises(ValueError, match="cannot continue"):
        lost.partial_fit(X, y)


@pytest.mark.parametrize("solver", ["perceptron", "ssg"])
def test_a_failing_oracle_keeps_the_steps_before(rng, solver):
    class Fails(Choice):
        left = 25

        def argmax(self, *given, **named):
            type(self).left -= 1
            if type(self).left < 0:
                raise RuntimeError("no answer")
            return super().argmax(*given, **named)

    X, y = make_choices(rng, N)
    lam = 0.1 if solver == "ssg" else "auto"
    model = StructuredSVM(Fails(), solver=solver, lam=lam)
    with pytest.raises(RuntimeError, match="no answer"):
        model.partial_fit(X, y)
    whole = StructuredSVM(Choice(), solver=solver, lam=lam).partial_fit(X[:25], y[:25])
    assert model.status_ == "INTERRUPTED"
    np.testing.assert_array_equal(model.w_, whole.w_)
    assert_same_state(model, whole)


def test_oracles_with_potentials(rng):
    X, y = make_choices(rng, 30)
    model = StructuredSVM(ChoiceByScores(), solver="pa")
    whole = clone(model).partial_fit(X, y)
    assert_same_state(learned(model, X, y, None, 6), whole)
