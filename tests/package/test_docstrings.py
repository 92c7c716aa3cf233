"""Docstrings of everything public, by numpydoc's rules.

The rules that we do not follow stand in pyproject.toml, each with its reason.
"""

import tomllib
from pathlib import Path

import pytest

from tests.package.public_objects import OBJECTS

validate = pytest.importorskip("numpydoc.validate").validate

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
RULES = tomllib.loads(PYPROJECT.read_text())["tool"]["numpydoc_validation"]["checks"]
LEFT_OUT = set(RULES) - {"all"}


def is_member(name):
    return name.split(".")[-2][0].isupper()


def test_public_objects_are_found():
    assert "sstruct.ChainSSVM" in OBJECTS
    assert "sstruct.MulticlassSSVM.predict" in OBJECTS
    assert "sstruct.datasets.fetch_scene" in OBJECTS
    assert "sstruct.metrics.flat_accuracy_score" in OBJECTS
    assert len(OBJECTS) > 150


@pytest.mark.parametrize("name", OBJECTS)
def test_docstrings_follow_numpydoc(name):
    errors = [f"{code}: {text}" for code, text in validate(name)["errors"] if code not in LEFT_OUT]
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize("name", [name for name in OBJECTS if not is_member(name)])
def test_functions_and_classes_have_an_example(name):
    assert "EX01" not in dict(validate(name)["errors"])
