"""Docstrings of estimators: every parameter and attribute is there, shared or not."""

import re

import pytest
from sklearn.base import BaseEstimator

import sstruct
from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    StructuredSVM,
    TreeSSVM,
)
from sstruct._documentation import shares_documentation

ESTIMATORS = [
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    StructuredSVM,
    TreeSSVM,
]
# Of a structure that the package knows.
OF_STRUCTURES = {"coef_", "intercept_", "classes_", "n_features_in_"}


def entries(estimator):
    """Names of the entries of the docstring's sections."""
    found = re.findall(r"^ *(\w[\w, ]*) : ", estimator.__doc__, re.MULTILINE)
    return {name for line in found for name in line.split(", ")}


def test_all_estimators_are_looked_at():
    public = [getattr(sstruct, name) for name in sstruct.__all__]
    assert {c for c in public if isinstance(c, type) and issubclass(c, BaseEstimator)} == set(
        [*ESTIMATORS, PathCV]
    )


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_and_attribute_is_documented(estimator):
    names = entries(estimator)
    assert set(estimator._get_param_names()) <= names
    assert "<" not in re.sub(r"<[ =]|>>>|\\langle", "", estimator.__doc__).replace("<w_, phi", "")
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


def test_the_search_is_documented():
    assert set(PathCV._get_param_names()) <= entries(PathCV)
