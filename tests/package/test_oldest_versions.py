"""Test that `make test-oldest` installs the lower bounds of pyproject.toml."""

import re
import tomllib

import pytest

from tests.oldest_versions import PROJECT, oldest_versions

TEXT = """
[build-system]
requires = ["builder>=1"]
[project]
dependencies = ["array-lib>=1.26"]
[project.optional-dependencies]
test = ["cluster[distributed]>=2024.8", "array-lib>=1.26"]
lint = ["linter"]
"""


def test_bounds_become_pins():
    assert oldest_versions(TEXT) == ["builder==1", "array-lib==1.26", "cluster==2024.8"]


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('"builder>=1"', '"builder"', "'builder' in pyproject.toml is not of the form"),
        ('"builder>=1"', '"builder>=1,<3"', "not of the form"),
        ('26"]\nlint', '27"]\nlint', "two lower bounds of array-lib: 1.26, 1.27"),
    ],
)
def test_error_for_bounds_that_cannot_be_pinned(old, new, message):
    with pytest.raises(ValueError, match=message):
        oldest_versions(TEXT.replace(old, new))


def test_build_requirements_agree():
    required = tomllib.loads(PROJECT.read_text())["build-system"]["requires"]
    root = PROJECT.parent
    for path in (root / "Makefile", *(root / ".github" / "workflows").glob("*.yml")):
        found = re.findall(r'"((?:setuptools|Cython)\b[^"]*)"', path.read_text())
        assert set(found) <= set(required), path.name
        if path.name in ("Makefile", "tests.yml", "sanitizers.yml"):
            assert found, path.name


def test_every_dependency_of_users_is_pinned():
    pins = oldest_versions(PROJECT.read_text())
    names = {pin.partition("==")[0] for pin in pins}
    assert {"numpy", "scipy", "scikit-learn", "joblib", "dask", "skops", "pandas"} <= names
