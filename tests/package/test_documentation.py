"""Docstrings of estimators, beyond numpydoc's rules: shared texts, and the values they list."""

import ast
import re

import pytest
from sklearn.base import BaseEstimator

import sstruct
from sstruct import LatentSSVM, PathCV, StructuredSVM, TreeSSVM
from sstruct._estimators.core.documentation import shares_documentation

NumpyDocString = pytest.importorskip("numpydoc.docscrape").NumpyDocString

PUBLIC = [getattr(sstruct, name) for name in sstruct.__all__]
ESTIMATORS = [
    value
    for value in PUBLIC
    if isinstance(value, type)
    and issubclass(value, BaseEstimator)
    and value not in (LatentSSVM, PathCV)
]
# Of a structure that the package knows.
OF_STRUCTURES = {"coef_", "intercept_", "classes_", "n_features_in_"}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_attributes_of_all_estimators_are_documented(estimator):
    # No entry is left to be filled in.
    assert "<" not in re.sub(r"<[ =]|>>>|\\langle", "", estimator.__doc__).replace("<w_, phi", "")
    documented = [entry.name for entry in NumpyDocString(estimator.__doc__)["Attributes"]]
    names = {name for entry in documented for name in entry.split(", ")}
    common = {"w_", "coef_", "intercept_", "classes_", "n_features_in_", "lam_", "solver_",
              "n_iter_", "n_oracle_calls_", "objective_", "dual_objective_", "dual_gap_",
              "status_", "converged_", "inference_", "history_"}  # fmt: skip
    missing = {TreeSSVM: {"classes_"}, StructuredSVM: OF_STRUCTURES}.get(estimator, set())
    assert common - missing <= names


def test_entries_are_taken_whole_and_from_the_source_alone():
    class Source:
        """One line.

        Parameters
        ----------
        a : int
            First
            and second line.

            And a paragraph.
        b, c : float
        """

    @shares_documentation(Source)
    class Target:
        """Another.

        Parameters
        ----------
        <c>
        own : str
        <a>
        """

    assert Target.__doc__.split("----------\n")[1] == (
        "b, c : float\nown : str\n"
        "a : int\n    First\n    and second line.\n\n    And a paragraph.\n"
    )
    with pytest.raises(KeyError):

        @shares_documentation(Source)
        class Other:
            """Nothing

            <d>
            """


class Nothing:
    """An oracle that nobody asks."""

    joint_feature = loss = argmax = print


def choices(estimator):
    """Values that the docstring lists in braces, by parameter."""
    found = re.findall(r"^(\w+) : {(.*?)}", estimator.__doc__, re.MULTILINE)
    return {name: ast.literal_eval(f"[{values}]") for name, values in found}


ALL_CHOICES = [(name, value) for e in ESTIMATORS for name, values in choices(e).items()
               for value in values]  # fmt: skip


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_listed_values_are_accepted_and_no_others(estimator):
    pytest.importorskip("clarabel")
    required = {TreeSSVM: {"parents": [-1, 0]}, StructuredSVM: {"oracle": Nothing()}}
    listed = choices(estimator)
    assert listed["solver"] == ["auto", *estimator._solvers]
    for name, value in ALL_CHOICES:
        if name not in listed:
            assert name not in estimator._get_param_names()
            continue
        model = estimator(**required.get(estimator, {})).set_params(**{name: value})
        if name == "search":
            model.set_params(rescaling="slack")
        if value == "given":  # of some solvers alone
            model.set_params(solver="perceptron")
        if any(value is known or value == known for known in listed[name]):
            model._check_parameters()
        else:
            with pytest.raises(ValueError, match=name):
                model._check_parameters()


def test_a_refused_search_leaves_no_trace(tiny_chains):
    model = sstruct.ChainSSVM(rescaling="slack", search="angular")
    with pytest.raises(ValueError, match="ChainSSVM does not have"):
        model.fit(*tiny_chains)
    assert not hasattr(model, "w_")
