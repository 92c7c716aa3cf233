"""Docstrings of estimators contain the shared texts, and list the valid values."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import sstruct
from sstruct import (
    AlignmentSSVM,
    ChangePointSSVM,
    DependencySSVM,
    LatentSSVM,
    MatchingSSVM,
    PathCV,
    StructuredSVM,
    TreeSSVM,
    TypedGraphCRFSSVM,
)
from sstruct._estimators.core.fit import check_given
from sstruct.solvers import SOLVER_OF_NAME

NumpyDocString = pytest.importorskip("numpydoc.docscrape").NumpyDocString

PUBLIC = [getattr(sstruct, name) for name in sstruct.__all__]
ESTIMATORS = [
    value
    for value in PUBLIC
    if isinstance(value, type)
    and issubclass(value, BaseEstimator)
    and value not in (LatentSSVM, PathCV)
]
# Arguments of functions of sstruct.constraints that are described.
ARGUMENTS = {TypedGraphCRFSSVM: ("edges",)}
# Attributes of the structures of the package.
OF_STRUCTURES = {"coef_", "intercept_", "classes_", "n_features_in_"}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_attributes_of_all_estimators_are_documented(estimator):
    placeholders = re.findall(r"^ *<\w+>$", estimator.__doc__, re.MULTILINE)
    assert not placeholders, "add the class to TARGETS in tools/expand_docstrings.py and run it"
    documented = [entry.name for entry in NumpyDocString(estimator.__doc__)["Attributes"]]
    names = {name for entry in documented for name in entry.split(", ")}
    common = {"w_", "coef_", "intercept_", "classes_", "n_features_in_", "lam_", "solver_",
              "n_iter_", "n_oracle_calls_", "objective_", "dual_objective_", "dual_gap_",
              "status_", "converged_", "inference_", "history_"}  # fmt: skip
    missing = {
        ChangePointSSVM: {"classes_", "intercept_"},
        AlignmentSSVM: {"classes_"},
        DependencySSVM: {"intercept_"},
        MatchingSSVM: {"classes_"},
        StructuredSVM: OF_STRUCTURES,
        TreeSSVM: {"classes_"},
    }.get(estimator, set())
    undocumented = common - missing - names
    assert not undocumented, "document these attributes, or list them in `missing`"


@pytest.mark.skipif(sys.flags.optimize > 1, reason="there are no docstrings")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_descriptions_of_parameters_do_not_mention_parameters_of_others(estimator):
    others = {name for each in ESTIMATORS for name in each._get_param_names()}
    others -= {*estimator._get_param_names(), *ARGUMENTS.get(estimator, ())}
    entries = NumpyDocString(estimator.__doc__)["Parameters"]
    text = "\n".join(line for entry in entries for line in entry.desc)
    assert not others & set(re.findall(r"(?<!`)`(\w+)`(?!`)", text))


def tool():
    """Return the module of tools/expand_docstrings.py."""
    path = Path(__file__).parents[2] / "tools" / "expand_docstrings.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SHARED = """Parameters
----------
a : int
    First
    and second line.

    And a paragraph.
b, c : float

References
----------
.. [1] A paper.
"""


def test_shared_entries_replace_whole_entries():
    expand = tool()
    shared = expand.entries_of(SHARED)
    begin = "Another.\n\nParameters\n----------\n"
    complete = begin + (
        "b, c : float\nown : str\n"
        "a : int\n    First\n    and second line.\n\n    And a paragraph.\n\n"
        "References\n----------\n.. [1] A paper.\n.. [2] Its own.\n"
    )
    new = begin + "<c>\nown : str\n<a>\n\n<References>\n.. [2] Its own.\n"
    stale = complete.replace("second", "third").replace("A paper", "Paper").replace("float", "int")
    for text in (new, stale, complete):
        assert expand.expanded(text, shared) == complete
    assert expand.expanded(stale, shared, own=("a",)) == complete.replace("second", "third")
    message = re.escape("<d> has no shared text, expected one of <a>, <b>, <c>, <References>")
    with pytest.raises(ValueError, match=message):
        expand.expanded("<d>\n", shared)


def test_unknown_shared_entries_are_reported_with_the_file(tmp_path, monkeypatch):
    expand = tool()
    (tmp_path / "sstruct").mkdir()
    (tmp_path / "sstruct" / "a.py").write_text('class A:\n    """One.\n\n    <d>\n    """\n')
    monkeypatch.setattr(expand, "ROOT", tmp_path)
    monkeypatch.setattr(expand, "TARGETS", {("a.py", "A"): ([expand.Common], [])})
    with pytest.raises(
        ValueError, match=r"a\.py, A: <d> has no shared text, expected one of <lam>"
    ):
        expand.rewritten("a.py")


@pytest.mark.skipif(sys.flags.optimize > 1, reason="there are no docstrings")
def test_shared_docstrings_are_up_to_date():
    expand = tool()
    for path in {path for path, _ in expand.TARGETS}:
        before, after = expand.rewritten(path)
        assert before == after, "run python tools/expand_docstrings.py"


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_solvers_of_an_estimator_are_documented(estimator):
    entry = tool().entries_of(estimator.__doc__)["solver"]
    named = set(re.findall(r'``"([a-z-]+)"``', entry))
    assert named == {"auto", *estimator._structure_class.solvers}


class Nothing:
    """An oracle that is never called."""

    joint_feature = loss = argmax = print


def choices(estimator):
    """Return the values that the docstring lists in braces, by parameter."""
    found = re.findall(r"^(\w+) : {(.*?)}", estimator.__doc__, re.MULTILINE)
    return {name: ast.literal_eval(f"[{values}]") for name, values in found}


ALL_CHOICES = [(name, value) for e in ESTIMATORS for name, values in choices(e).items()
               for value in values]  # fmt: skip
ALL_CHOICES += [("solver", name) for name in ("auto", *SOLVER_OF_NAME)]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_listed_values_are_accepted_and_no_others(estimator):
    pytest.importorskip("clarabel")
    required = {TreeSSVM: {"parents": [-1, 0]}, StructuredSVM: {"oracle": Nothing()}}
    listed = choices(estimator)
    listed["solver"] = ["auto", *estimator._structure_class.solvers]
    for name, value in ALL_CHOICES:
        if name not in listed:
            assert name not in estimator._get_param_names()
            continue
        model = estimator(**required.get(estimator, {})).set_params(**{name: value})
        if name == "search":
            model.set_params(rescaling="slack")
        if any(value is known or value == known for known in listed[name]):
            check_given(model._structure())
        else:
            with pytest.raises(ValueError, match=name):
                check_given(model._structure())


def test_unsupported_search_leaves_estimator_unfitted(tiny_chains):
    model = sstruct.ChainSSVM(rescaling="slack", search="angular")
    with pytest.raises(ValueError, match="ChainSSVM does not have"):
        model.fit(*tiny_chains)
    assert not hasattr(model, "w_")
