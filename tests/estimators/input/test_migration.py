"""Errors for code written for other packages; the message names the equivalent in sstruct."""

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sstruct
from sstruct import ChainSSVM, GraphCRFSSVM, LatentSSVM, PathCV, Sequences, StructuredSVM, TreeSSVM
from sstruct._checks.arguments import OTHER_NAMES
from sstruct._input.per_sample import PerSample
from sstruct.datasets import make_grids, make_sequences, make_stick_figures
from sstruct.metrics import flat_accuracy_score
from sstruct.preprocessing import PerNode

ESTIMATORS = [
    value
    for value in map(vars(sstruct).__getitem__, sstruct.__all__)
    if inspect.isclass(value) and hasattr(value, "_structure_class")
]


# Required arguments of constructors, as in the hint of the error message.
NEEDED = {StructuredSVM: "oracle, ", TreeSSVM: "parents=..., "}


def make(estimator, *more, **parameters):
    if estimator is TreeSSVM:
        parameters["parents"] = [-1, 0]
    return estimator(*[object()] * (estimator is StructuredSVM), *more, **parameters)


def test_estimators_are_found():
    assert {ChainSSVM, GraphCRFSSVM, StructuredSVM, TreeSSVM} < set(ESTIMATORS)
    assert len(ESTIMATORS) == 13


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_are_keyword_only(estimator):
    call = f"{estimator.__name__}\\({NEEDED.get(estimator, '')}lam=0.1\\)"
    others = r" \(except oracle\)" * (estimator is StructuredSVM)
    with pytest.raises(TypeError, match=f"keyword arguments only{others}, got 0.1; use {call}$"):
        make(estimator, 0.1)
    with pytest.raises(TypeError, match=r"got a list; .*pass X and y to fit"):
        make(estimator, [[1.0]], [0])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_c_is_called_lam(estimator):
    name = estimator.__name__
    message = rf"^{name} has no parameter C; use lam \(C=0.5 is lam=1 / \(0.5 \* n\), where n is"
    with pytest.raises(TypeError, match=message):
        make(estimator, C=0.5)
    model = make(estimator, lam=2.0)
    before = model.get_params()
    with pytest.raises(ValueError, match=message):
        model.set_params(tol=0.5, C=0.5)
    assert model.get_params() == before


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    "name, here", [("alpha", "lam"), ("max_epochs", "max_iter"), ("c2", "lam"), ("epsilon", "tol")]
)
def test_names_of_other_packages_are_translated(estimator, name, here):
    message = rf"^{estimator.__name__} has no parameter {name}; use {here} \("
    with pytest.raises(TypeError, match=message):
        make(estimator, **{name: 1})
    with pytest.raises(ValueError, match=message):
        make(estimator).set_params(**{name: 1})


def test_translations_name_parameters():
    fields = {field.name for estimator in ESTIMATORS for field in dataclasses.fields(estimator)}
    assert {here for here, _ in OTHER_NAMES.values()} <= fields
    assert not OTHER_NAMES.keys() & fields
    # The hint is given only if the estimator has the parameter.
    with pytest.raises(TypeError, match="has no parameter inference_method; it has"):
        ChainSSVM(inference_method="qpbo")


META = {"latent": LatentSSVM(ChainSSVM()), "cv": PathCV(ChainSSVM())}


@pytest.mark.parametrize("kind", [*ESTIMATORS, *META], ids=str)
@pytest.mark.parametrize("name", ["predict_proba", "predict_log_proba"])
def test_missing_predict_proba_is_explained(kind, name):
    model = META[kind] if kind in META else make(kind)
    for owner in (model, type(model), make_pipeline(model)):
        assert not hasattr(owner, name)
        with pytest.raises(AttributeError):
            getattr(owner, name)
    with pytest.raises(AttributeError, match=f"has no {name}: .* does not estimate") as caught:
        getattr(model, name)
    named = "decision_function" in str(caught.value) and "how_to/confidence" in str(caught.value)
    assert named == hasattr(type(model), "decision_function")


@pytest.mark.parametrize("kind", [*ESTIMATORS, *META], ids=str)
def test_partial_fit_names_its_solvers(kind):
    model = META[kind] if kind in META else make(kind)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match='solver="perceptron"'):
        _ = model.partial_fit
    if kind not in META:
        with pytest.raises(AttributeError, match='solver="perceptron"'):
            type(model).partial_fit(model, [[1.0]], [0])
        assert hasattr(model.set_params(solver="perceptron"), "partial_fit")


def test_grid_search_over_c_raises_the_same_error():
    X, y = make_sequences(n_samples=6, random_state=0)
    with pytest.raises(ValueError, match=r"C=10 is lam=1 / \(10 \* n\)"):
        GridSearchCV(ChainSSVM(), {"C": [10, 1]}, cv=2).fit(X, y)


@pytest.mark.parametrize(
    "name, message",
    [
        ("maxiter", r"no parameter maxiter; did you mean max_iter\?$"),
        ("lambda_", r"did you mean lam"),
        ("zzzz", "no parameter zzzz; it has boundaries, .*, window_size$"),
    ],
)
def test_unknown_parameters(name, message):
    with pytest.raises(TypeError, match=message):
        ChainSSVM(**{name: 1})


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_signatures_of_constructors_are_preserved(estimator):
    parameters = inspect.signature(estimator).parameters
    assert set(parameters) == set(estimator._get_param_names())
    assert parameters.keys() == inspect.signature(estimator.__init__).parameters.keys() - {"self"}
    kinds = {name: parameter.kind for name, parameter in parameters.items()}
    assert kinds.pop("oracle", None) in (None, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    assert set(kinds.values()) == {inspect.Parameter.KEYWORD_ONLY}


def test_subclasses_may_define_translated_parameters():
    class Plain(ChainSSVM):
        pass

    class Inverse(ChainSSVM):
        def __init__(self, C=1.0):
            super().__init__(lam=1 / C)
            self.C = C

    @dataclasses.dataclass(kw_only=True, eq=False, repr=False)
    class Field(ChainSSVM):
        C: float = 1.0

    assert inspect.signature(Plain) == inspect.signature(ChainSSVM)
    assert clone(Inverse(4.0)).set_params(C=2.0).C == 2
    assert clone(Field(C=4.0)).set_params(C=2.0).get_params()["C"] == 2
    assert isinstance(clone(Plain(lam=3.0)), Plain)


ADVICE = r"scoring=None.*flat_accuracy_scorer"


@pytest.fixture(scope="module")
def chains():
    return make_sequences(n_samples=24, random_state=0)


@pytest.fixture(scope="module")
def model(chains):
    return ChainSSVM(lam=0.1, random_state=0).fit(*chains)


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "recall_micro"])
@pytest.mark.parametrize("form", ["list", "equal lengths", "Sequences"])
def test_scikit_learn_scorers_raise_an_error_with_advice(chains, form, scoring):
    X, y = chains
    if form == "equal lengths":
        X, y = [x[:2] for x in X], [labels[:2] for labels in y]
    y = Sequences.from_list(y) if form == "Sequences" else [list(labels) for labels in y]
    model = ChainSSVM(lam=0.1, random_state=0)
    with pytest.raises(TypeError, match=ADVICE):
        cross_val_score(model, X, y, scoring=scoring, cv=2, error_score="raise")


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_a_search_warns_with_the_advice(chains):
    search = GridSearchCV(ChainSSVM(random_state=0), {"lam": [0.1]}, scoring="accuracy", cv=2)
    with pytest.warns(UserWarning, match=ADVICE):
        search.fit(chains[0], [list(labels) for labels in chains[1]])


@pytest.mark.parametrize("structure", ["chain", "grid", "tree"])
def test_predictions_behave_like_arrays(chains, structure):
    if structure == "chain":
        X, y, model = *chains, ChainSSVM(lam=0.1, random_state=0)
    elif structure == "grid":
        X, y = map(list, make_grids(n_samples=3, random_state=0))
        model = sstruct.GridCRFSSVM(lam=1e3, random_state=0)
    else:
        figures = make_stick_figures(n_samples=4, random_state=0)
        X, y, model = figures.data, figures.target, TreeSSVM(parents=figures.parents, lam=0.1)
    found = model.fit(X, y).predict(X)
    plain = np.asarray(found)
    assert isinstance(found, np.ndarray)
    assert (found.shape, found.dtype) == ((len(X),), object)
    assert type(plain) is np.ndarray
    assert repr(found) == repr(plain)
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), found[::-1][::-1]):
        assert all(map(np.array_equal, again, found))
    assert type(pickle.loads(pickle.dumps(found))) is np.ndarray
    with pytest.raises(TypeError, match=ADVICE):
        accuracy_score([labels.tolist() for labels in y], found)


def test_cross_val_predict_concatenates_predictions(chains, model):
    X, y = chains
    found = cross_val_predict(model, X, y, cv=3)
    assert [len(labels) for labels in found] == [len(labels) for labels in y]
    assert 0.5 < flat_accuracy_score(y, found) <= 1
    assert np.concatenate([found, found]).shape == (2 * len(X),)


def test_arrays_computed_from_predictions_are_accepted():
    found = PerSample.from_items([np.array([1, 2]), np.array([3])])
    lengths = np.frompyfunc(len, 1, 1)(found).astype(int)
    assert np.unique(lengths).tolist() == [1, 2]


def test_arithmetic_with_predictions():
    found = PerSample.from_items([np.array([1, 2]), np.array([3, 4])])
    assert found.sum().tolist() == [4, 6]
    assert [labels.tolist() for labels in found + 1] == [[2, 3], [4, 5]]


def test_the_error_for_a_scaler_recommends_per_node(chains):
    X, y = Sequences.from_list(chains[0]), chains[1]
    model = ChainSSVM(lam=0.1, random_state=0)
    with pytest.raises(TypeError, match=r"an array of dtype float64.*PerNode\(transformer\)"):
        make_pipeline(StandardScaler(), model).fit(X, y)
    assert make_pipeline(PerNode(StandardScaler()), model).fit(X, y).score(X, y) > 0.5


def test_the_error_for_concatenated_sequences_recommends_per_node(chains):
    X, y = np.concatenate(chains[0]), chains[1]
    with pytest.raises(ValueError, match=r"y contains sequences.*Sequences.from_lengths.*PerNode"):
        make_pipeline(StandardScaler(), ChainSSVM()).fit(X, y)
