"""Run the examples, and the docstrings of compiled functions."""

import doctest
import os
import re
import runpy
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

from sstruct import inference

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


# Statements of the text of an example about its figure, in terms of the script's variables.
SAYS = {
    "plot_activities.py": "scores['chain'][1] + 0.1 < scores['segments'][1]"
    " and 4 * errors[1] < errors[0] and right[0] + 0.02 < right[1]",
    "plot_activity.py": "scores['single seconds', 'GroupKFold'] + 0.03"
    " < scores['chain', 'GroupKFold'] < scores['chain', 'KFold'] - 0.03",
    "plot_choose_lambda.py": "abs(there.score(X_test, y_test) - grid.score(X_test, y_test)) < 0.01",
    "plot_early_stopping.py": "(errors['early stopping'] < errors['to the optimum'])[:6].all()",
    "plot_entities.py": "scores['single words'] + 0.02 < scores['chain']",
    "plot_graph_matching.py": "n_right == 10 and result.gap <= 1e-6",
    "plot_hidden_snakes.py": "3 * errors['cells and pictures'][0] < errors['independent'][0]",
    "plot_label_sets.py": "scores[0] + 4 < scores[1] and broken.sum() == 0",
    "plot_large_data.py": "errors == sorted(errors, reverse=True)",
    "plot_learn_penalty.py": "simple.score(X[test], y[test]) + 0.1 < model.score(X[test], y[test])"
    " and scores['four costs'][0] > 0.8 and scores['cost \"normal\"'][0] > 0.8",
    "plot_match_detections.py": "scores['nearest'] + 0.2 < scores['learned']"
    " and (model.w_ < 0).all() and after + n_corrected < before",
    "plot_multilabel_text.py": "scores['independent'][1] + 0.05 < scores['pairs'][1]",
    "plot_own_structure.py": "scores[3] > 1 - noise - 0.01",
    "plot_read_dates.py": "2 * errors['chain'].sum() < errors['single images'].sum()",
    "plot_segment_photographs.py": (
        "(predictions['with neighbors'] == join(masks[4:])).mean() > 0.97"
    ),
    # 40 to 43 passes of 200 calls: rounding depends on the instructions of the processor.
    "plot_solvers.py": "6.5 < 60000 / fits[name].n_oracle_calls_ < 8",
    "plot_superpixels.py": "scores['single superpixels'] + 0.05 < scores['graph']",
    "plot_tag_text.py": "chunk_f1_score(y_test, alone.predict(X_test)) < 0.82 < f1",
    "plot_tomography.py": "(results[6].labels == phantom).all() and results[2].energy < 394",
}


# These take seconds, and are run whenever the manual is built.
LONG = {
    "plot_early_stopping.py", "plot_hidden_snakes.py", "plot_learn_penalty.py", "plot_pose.py",
    "plot_slack_vs_margin.py",
}  # fmt: skip
SCRIPTS = [
    pytest.param(path, id=path.name, marks=[pytest.mark.slow] if path.name in LONG else [])
    for path in sorted(EXAMPLES.rglob("plot_*.py"))
]


def test_listed_scripts_exist():
    assert SAYS.keys() | LONG <= {path.name for path in EXAMPLES.rglob("plot_*.py")}


@pytest.mark.parametrize("path", SCRIPTS)
def test_gallery_script_runs(path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.extend(plt.get_fignums()))
    names = runpy.run_path(str(path))
    assert shown, "the script shows no figure"
    assert eval(SAYS.get(path.name, "True"), names)
    plt.close("all")


def test_code_of_the_readme_runs_and_its_comments_are_true():
    code = (ROOT / "README.md").read_text(encoding="utf-8").split("```python\n")[1]
    code = code.split("```")[0]
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    promised = re.search(r"accuracy: ([0-9.]+)", code)[1]
    assert f"{names['model'].score(names['X_new'], names['y_new']):.2f}" == promised


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


@pytest.mark.slow
def test_chains_in_partitions_converge(capsys):
    pytest.importorskip("distributed")
    runpy.run_path(str(EXAMPLES / "distributed_chains.py"))["main"]()
    assert "CONVERGED" in capsys.readouterr().out


@pytest.mark.slow
def test_results_on_embeddings_match_the_manual(capsys):
    vectors = Path(os.environ.get("SSTRUCT_DATA") or "no-such-folder", "word_vectors_256.npz")
    if not vectors.exists():
        pytest.skip(f"{vectors.name} not found in $SSTRUCT_DATA")
    page = (ROOT / "doc/how_to/embeddings.rst").read_text(encoding="utf-8")
    line = r"(\w.+?)  +accuracy (.+), chunk F1 (.+)"
    promised = re.findall(line, page)
    runpy.run_path(str(EXAMPLES / "embeddings.py"))["main"](vectors)
    found = re.findall(line, capsys.readouterr().out)
    assert [row[0] for row in found] == [row[0] for row in promised] != []
    # Other machines round differently.
    assert_allclose(
        [[float(value) for value in row[1:]] for row in found],
        [[float(value) for value in row[1:]] for row in promised],
        atol=0.01,
    )


@pytest.mark.parametrize("name", inference.__all__)
def test_docstring_of_compiled_function(name):
    function = getattr(inference, name)
    parser = doctest.DocTestParser()
    test = parser.get_doctest(function.__doc__, {}, name, None, 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.failures == 0
