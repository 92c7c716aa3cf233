"""Examples run, and so do those in the docstrings of compiled functions."""

import doctest
import runpy
from pathlib import Path

import pytest

from sstruct import inference

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("plot_*.py")), ids=lambda path: path.name)
def test_gallery_script_runs(path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.extend(plt.get_fignums()))
    runpy.run_path(str(path))
    assert shown, "the script shows no figure"
    plt.close("all")


def test_demo_prints_the_certificate_and_writes_two_pictures(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    demo = runpy.run_path(str(EXAMPLES / "demo.py"))
    demo["main"].__globals__["OUTPUT"] = tmp_path
    demo["main"]()
    printed = capsys.readouterr().out
    assert "CONVERGED" in printed
    assert "relative gap" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["convergence.png", "dates.png"]


@pytest.mark.slow
def test_a_fit_on_a_cluster_from_partitions_has_the_bits_of_that_from_lists(capsys):
    pytest.importorskip("distributed")
    runpy.run_path(str(EXAMPLES / "distributed_fit.py"))["main"]()
    assert "same bits: True" in capsys.readouterr().out


@pytest.mark.parametrize("name", inference.__all__)
def test_docstring_of_compiled_function(name):
    function = getattr(inference, name)
    parser = doctest.DocTestParser()
    test = parser.get_doctest(function.__doc__, {}, name, None, 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.failures == 0
