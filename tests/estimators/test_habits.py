"""What users of other packages write: refused, and the message says what to write here."""

import inspect
from dataclasses import dataclass

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import sstruct
from sstruct import ChainSSVM, GraphCRFSSVM, StructuredSVM, TreeSSVM
from sstruct.datasets import make_sequences

ESTIMATORS = [
    value
    for value in map(vars(sstruct).__getitem__, sstruct.__all__)
    if inspect.isclass(value) and hasattr(value, "_training")
]


# What constructors need, as it is written.
NEEDED = {StructuredSVM: "oracle, ", TreeSSVM: "parents=..., "}


def make(estimator, *more, **parameters):
    if estimator is TreeSSVM:
        parameters["parents"] = [-1, 0]
    return estimator(*[object()] * (estimator is StructuredSVM), *more, **parameters)


# Constructors


def test_all_estimators_are_found():
    assert {ChainSSVM, GraphCRFSSVM, StructuredSVM, TreeSSVM} < set(ESTIMATORS)
    assert len(ESTIMATORS) == 7


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_have_names(estimator):
    call = f"{estimator.__name__}\\({NEEDED.get(estimator, '')}lam=0.1\\)"
    with pytest.raises(TypeError, match=f"by name, found 0.1 without one: write {call}$"):
        make(estimator, 0.1)
    with pytest.raises(TypeError, match=r"found a list without one.*X and y go to fit"):
        make(estimator, [[1.0]], [0])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_c_is_called_lam(estimator):
    name = estimator.__name__
    message = rf"^{name} has no parameter C, it has lam: C=0.5 is lam=1 / \(0.5 \* n\)"
    with pytest.raises(TypeError, match=message):
        make(estimator, C=0.5)
    model = make(estimator, lam=2.0)
    before = model.get_params()
    with pytest.raises(ValueError, match=message):
        model.set_params(tol=0.5, C=0.5)
    assert model.get_params() == before


def test_a_search_over_c_says_so_too():
    X, y = make_sequences(n_samples=6, random_state=0)
    with pytest.raises(ValueError, match=r"C=10 is lam=1 / \(10 \* n\)"):
        GridSearchCV(ChainSSVM(), {"C": [10, 1]}, cv=2).fit(X, y)


@pytest.mark.parametrize(
    "name, message",
    [
        ("maxiter", r"no parameter maxiter; did you mean max_iter\?$"),
        ("lambda_", r"did you mean lam"),
        ("zzzz", "no parameter zzzz; it has average, .*, warm_start$"),
    ],
)
def test_unknown_parameters(name, message):
    with pytest.raises(TypeError, match=message):
        ChainSSVM(**{name: 1})


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_constructor_is_still_known_by_its_signature(estimator):
    parameters = inspect.signature(estimator).parameters
    assert set(parameters) == set(estimator._get_param_names())
    assert parameters.keys() == inspect.signature(estimator.__init__).parameters.keys() - {"self"}
    kinds = {name: parameter.kind for name, parameter in parameters.items()}
    assert kinds.pop("oracle", None) in (None, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    assert set(kinds.values()) == {inspect.Parameter.KEYWORD_ONLY}


def test_subclasses_may_have_such_parameters():
    class Plain(ChainSSVM):
        pass

    class Inverse(ChainSSVM):
        def __init__(self, C=1.0):
            super().__init__(lam=1 / C)
            self.C = C

    @dataclass(kw_only=True, eq=False, repr=False)
    class Field(ChainSSVM):
        C: float = 1.0

    assert inspect.signature(Plain) == inspect.signature(ChainSSVM)
    assert clone(Inverse(4.0)).set_params(C=2.0).C == 2
    assert clone(Field(C=4.0)).set_params(C=2.0).get_params()["C"] == 2
    assert isinstance(clone(Plain(lam=3.0)), Plain)
