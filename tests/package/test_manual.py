"""Extensions of the manual for docstrings and the changelog."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

import sstruct
import sstruct.inference

FOLDER = Path(__file__).parents[2] / "doc" / "extensions"

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the manual is not in the source tree")


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
        "max_iter",
        "max_time",
        "warm_start",
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
    found = to_mathml(r"\Bigl( w_1, \ldots, w_J \Bigr)", as_block=True)
    assert found.startswith("<math")
    assert 'display="block"' in found
    assert found.count("<msub>") == 2


def test_the_gallery_is_in_order_and_names_estimators():
    order = extension("gallery_order")
    scripts = sorted((FOLDER.parents[1] / "examples" / "gallery").glob("plot_*.py"))
    names = [path.stem.removeprefix("plot_") for path in sorted(scripts, key=order.TaskOrder(""))]
    assert names == order.ORDER, "list each script in ORDER of doc/extensions/gallery_order.py"
    for path in scripts:
        title = path.read_text(encoding="utf-8").splitlines()[2]
        name = re.search(r"\((\w+)\)$", title)
        assert name, f'{path.name}: the title "{title}" does not end with (name of an estimator)'
        assert hasattr(sstruct, name[1]) or name[1] in sstruct.inference.__all__


def test_the_version_switcher_lists_this_version():
    versions = json.loads((FOLDER.parent / "_static" / "switcher.json").read_text("utf-8"))
    assert sstruct.__version__ in {each["version"] for each in versions}
    assert [each["preferred"] for each in versions if "preferred" in each] == [True]


WORDS = (
    *("GPU", "PyTorch", "BERT", "embedding", "ONNX", "named entity recognition"),
    *("activity recognition", "GroupKFold", "threshold", "license", "cite", "hyperparameter"),
    *("semi-Markov", "error analysis", "probability"),
)


def sources():
    """Return the texts of the manual and of the examples by path."""
    doc = FOLDER.parent
    pages = [*doc.glob("*.rst"), *doc.glob("how_to/*.rst"), *doc.glob("explanation/*.rst")]
    pages += (doc.parent / "examples").glob("*/plot_*.py")
    return {path: path.read_text(encoding="utf-8") for path in pages}


@pytest.mark.parametrize("word", WORDS)
def test_words_that_visitors_search_for_are_main_index_entries(word):
    # The built-in search ranks these first.
    entry = re.compile(rf"^\.\. index::.*! {re.escape(word)}(,|$)", re.MULTILINE)
    assert any(entry.search(text) for text in sources().values())


def test_pictures_of_the_manual_are_drawn_small_and_described():
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("pictures", FOLDER.parent / "pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    paths = {path.name: path for path in module.PICTURES.iterdir()}
    assert set(paths) == {f"{draw.__name__}.svg" for draw in module.DRAWINGS}
    index = (FOLDER.parent / "index.rst").read_text(encoding="utf-8")
    for name in re.findall(r":img-top: _static/pictures/(.*)", index):
        assert paths[name].stat().st_size < 40_000
    assert index.count(":img-top:") == index.count(":img-alt:") == len(paths) - 1
    assert (FOLDER.parent / "_static" / "dates.png").stat().st_size < 40_000
    # This drawing requires no fit, so it is drawn again.
    assert paths["which_estimator.svg"].read_text(encoding="utf-8") == module.which_estimator()


def test_the_decision_chart_names_existing_classes():
    chart = (FOLDER.parent / "_static" / "pictures" / "which_estimator.svg").read_text("utf-8")
    names = re.findall(r'href="generated/(sstruct\.[\w.]+)\.html"', chart)
    estimators = {f"sstruct.{name}" for name in sstruct.__all__ if name.endswith("SSVM")}
    missing = estimators - {"sstruct.MulticlassSSVM"} - set(names)
    assert not missing, "add these to ROWS in doc/pictures.py, and run it"
    api = (FOLDER.parent / "api.rst").read_text(encoding="utf-8").split()
    assert set(names) <= set(api), "add these to doc/api.rst"
