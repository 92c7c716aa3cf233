"""Test that the public interface agrees with the snapshot, and that versions are equal."""

import re
import tomllib
from pathlib import Path

import pytest

import sstruct
from tests.package.public_api import SNAPSHOT, interface

ROOT = Path(__file__).parents[2]


def test_public_interface_agrees_with_the_snapshot():
    """Compare names, parameters, defaults, attributes and formats with public_api.txt.

    If this fails, check doc/deprecation.rst: added names are fine, while removed or renamed names
    and changed defaults require a deprecation, and new formats a way to read the old ones. If the
    change is intended, run ``python -m tests.package.public_api`` and commit the new list.
    """
    found, expected = interface().splitlines(), SNAPSHOT.read_text(encoding="utf-8").splitlines()
    removed, added = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    hint = "see doc/deprecation.rst; then run python -m tests.package.public_api"
    assert (removed, added) == ([], []), hint
    assert found == expected, hint


def test_the_snapshot_contains_each_kind_of_line():
    lines = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    assert any(re.match(r"sstruct.ChainSSVM\(\*, .*lam='auto'", line) for line in lines)
    assert {"    .coef_", "    .dual_gap_", "format of pickles: 1"} <= set(lines)
    assert any(line.startswith("    .predict(X") for line in lines)
    assert any(line.startswith("sstruct.inference.viterbi(") for line in lines)
    # Addresses differ between processes.
    assert not [line for line in lines if " at 0x" in line]


def test_versions_are_equal():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == sstruct.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {sstruct.__version__}\n" in citation
    recipe = ROOT / "recipe" / "recipe.yaml"
    if not recipe.exists():
        pytest.skip("the source distribution has no recipe")
    assert f'version: "{sstruct.__version__}"' in recipe.read_text(encoding="utf-8")


def test_owner_placeholder_is_only_in_pyproject():
    texts = {path: path.read_text(encoding="utf-8") for path in ROOT.glob("*.*") if path.is_file()}
    found = {path.name for path, text in texts.items() if re.search("(com/|//)OWNER", text)}
    assert found <= {"pyproject.toml"}
