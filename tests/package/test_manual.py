"""What the manual's own extensions make of docstrings and of the changelog."""

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "doc" / "extensions"

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the manual is not here")


def extension(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_markdown_of_the_changelog_becomes_rst():
    text = "# Changelog\n\n## 0.1\n\n* `fit` is *fast*, see [a page](https://example.org/x).\n"
    assert extension("changelog").to_rst(text) == (
        "Changelog\n=========\n\n0.1\n---\n\n"
        "* ``fit`` is *fast*, see `a page <https://example.org/x>`__.\n"
    )


def docstring(names):
    parameters = [line for name in names for line in (f"    **{name}** : int", "        Text.")]
    return [
        *("Summary.", "", ":Parameters:", "", *parameters, ""),
        *(".. rubric:: Notes", "", "A note.", "", ".. rubric:: Examples", "", ">>> 1", "1"),
    ]


def test_examples_come_before_parameters():
    lines = extension("reference_pages").examples_first(docstring(["lam"]))
    assert lines[:6] == ["Summary.", "", ".. rubric:: Examples", "", ">>> 1", "1"]
    assert sorted(filter(None, lines)) == sorted(filter(None, docstring(["lam"])))


def test_long_lists_of_parameters_get_titles():
    pages = extension("reference_pages")
    names = [
        "pairwise",
        "lam",
        "loss",
        "solver",
        "tol",
        "certificate_every",
        "max_iter",
        "max_time",
        "n_jobs",
        "verbose",
    ]
    lines = pages.grouped(docstring(names))
    titles = [line.split(":: ")[1] for line in lines if line.startswith("    .. rubric::")]
    assert titles == ["Model", "Objective", "Solver", "Stopping", "Running"]
    assert lines.index("    .. rubric:: Stopping") < lines.index("    **tol** : int")


def test_short_lists_and_other_parameters_stay_as_they_are():
    pages = extension("reference_pages")
    for names in (["lam", "loss"], [f"other_{k}" for k in range(12)]):
        assert pages.grouped(docstring(names)) == docstring(names)


def test_formulas_become_mathml():
    to_mathml = pytest.importorskip("sphinx") and extension("mathml").to_mathml
    found = to_mathml(r"\Big( w_1, \dots, w_J \Big)", as_block=True)
    assert found.startswith("<math") and 'display="block"' in found
    assert found.count("<msub>") == 2
