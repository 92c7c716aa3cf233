"""Docstrings of public objects follow the rules of numpydoc.

pyproject.toml lists the rules that are not followed, each with its reason.
"""

import inspect
import re
import tomllib
from pathlib import Path

import pytest

import sstruct
from sstruct._estimators.core.base import BaseSSVM
from tests.package.public_objects import OBJECTS
from tests.package.test_manual import extension

validate = pytest.importorskip("numpydoc.validate").validate

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
RULES = tomllib.loads(PYPROJECT.read_text())["tool"]["numpydoc_validation"]["checks"]
LEFT_OUT = set(RULES) - {"all"}
ESTIMATORS = [
    estimator
    for name in sstruct.__all__
    if isinstance(estimator := getattr(sstruct, name), type) and issubclass(estimator, BaseSSVM)
]


def is_member(name):
    return name.split(".")[-2][0].isupper()


def test_public_objects_are_found():
    assert "sstruct.ChainSSVM" in OBJECTS
    assert "sstruct.MulticlassSSVM.predict" in OBJECTS
    assert "sstruct.datasets.fetch_scene" in OBJECTS
    assert "sstruct.metrics.flat_accuracy_score" in OBJECTS
    assert len(OBJECTS) > 150


def test_docstrings_follow_numpydoc():
    errors = [
        f"{name}: {code}: {text}"
        for name in OBJECTS
        for code, text in validate(name)["errors"]
        # Functions and classes have an example.
        if code not in LEFT_OUT or (code == "EX01" and not is_member(name))
    ]
    assert not errors, "\n".join(errors)


def test_every_citation_has_a_reference_and_every_reference_is_cited():
    for name, value in OBJECTS.items():
        text, _, section = (inspect.getdoc(value) or "").partition("References\n----------\n")
        entries = re.findall(r"^\.\. \[(\d+)\] ", section, re.MULTILINE)
        assert entries == [str(k + 1) for k in range(len(entries))], name
        assert set(re.findall(r"\[(\d+)\]_", text)) == set(entries), name


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_of_estimators_come_group_by_group(estimator):
    """Check the order of the parameters, since the manual inserts a title before each group.

    The signature has the order of the docstring.
    """
    groups = extension("reference_pages").GROUPS
    group_of = {name: title for title, names in groups.items() for name in names}
    names = list(inspect.signature(estimator).parameters)
    assert len(names) > 10
    where = "GROUPS in doc/extensions/reference_pages.py"
    assert set(names) <= set(group_of), f"add new names to {where}"
    ordered = sorted(names, key=lambda name: list(groups).index(group_of[name]))
    assert names == ordered, f"document the parameters in the order of {where}"
