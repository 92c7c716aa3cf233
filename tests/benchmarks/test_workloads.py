"""Test the methods, the summary and the chart of the benchmark of workloads."""

import importlib.util

import numpy as np
import pytest

from tests.benchmarks.conftest import ROOT


@pytest.fixture
def modules(script):
    return [*map(script, ("workloads", "workload_data", "workload_summary"))]


def small_tasks(modules):
    """Yield a tiny task of each kind, from the generators of the workloads."""
    _, data, _ = modules
    chains = data.sequences(0, 20, 8, 8, 3, 4, noise=1.0)
    yield chains, {"Gaussian HMM", "CRFsuite", "logistic + Viterbi"}
    yield data.made_text(0, 3, [6] * 40, 10, 50), {"logistic + Viterbi"}
    yield data.classes(0, 80, 5, 3, noise=1.0), set()
    yield data.sparse_classes(0, 60, 300, 3), set()
    yield data.images(0, 4, 8, 2), {"logistic + cut"}
    yield data.images(0, 4, 8, 3), {"logistic + cut"}
    yield data.void_borders(0), {"logistic + cut"}
    X = np.random.default_rng(0).normal(size=(60, 4))
    Y = (X[:, :3] + X[:, 1:] > 0).astype(int)

    def fetch(subset, return_X_y):
        return X, Y

    yield data.label_sets(0, fetch), {"ClassifierChain"}


def test_methods_for_every_kind_of_workload(modules):
    workloads, *_ = modules
    for task, more in small_tasks(modules):
        methods = workloads.methods_of(task)
        assert set(methods) == {"default", "LogisticRegression", "LinearSVC", *more}
        for method, make in methods.items():
            if method == "CRFsuite" and importlib.util.find_spec("sklearn_crfsuite") is None:
                continue
            values, costs = workloads.fitted(method, make, task, 20)
            assert set(values) == set(task.metrics)
            assert all(0 <= value <= 1 for value in values.values())
            assert float(costs["cpu_seconds"]) > 0
            assert (costs["gap"] != "") == (method == "default")


def test_the_smallest_workload_from_the_command_line(modules, run, capsys):
    for _ in range(2):  # a second run replaces the rows of the first
        rows = run(modules[0], "--workloads", "iris", "--seeds", "0", "1", "--path-cv")
    methods = ["default", "PathCV", "LogisticRegression", "LinearSVC"]
    assert [(row["seed"], row["method"]) for row in rows] == [(s, m) for s in "01" for m in methods]
    assert all(row["command"].startswith("python benchmarks/workloads.py") for row in rows)
    assert "first or within one standard error" in capsys.readouterr().out


def test_a_fit_beyond_the_limit_has_no_value(modules):
    workloads, data, _ = modules

    class Endless:
        def fit(self, X, y):
            while True:
                pass

    assert workloads.in_child("endless", Endless, data.classes(0, 8, 2, 2, 1.0), 0.1) is None


def row(workload, method, seed, metric, value, seconds=1.0, converged=True):
    return {
        "workload": workload, "method": method, "seed": str(seed), "metric": metric,
        "value": str(value), "cpu_seconds": str(seconds), "converged": str(converged),
    }  # fmt: skip


def test_the_summary_equals_values_computed_by_hand(modules):
    _, _, summary = modules
    rows = []
    for seed, (ours, theirs) in enumerate([(0.11, 0.1), (0.13, 0.1), (0.12, 0.11)]):
        rows.append(row("a", "default", seed, "error", ours, 6.0))
        rows.append(row("a", "PathCV", seed, "error", 0.0))
        rows.append(row("a", "LinearSVC", seed, "error", theirs, 2.0))
        rows.append(row("a", "slow", seed, "error", "", ""))
        rows.append(row("b", "default", seed, "micro F1", 0.5 + 0.01 * seed, 1.0, seed < 2))
        rows.append(row("b", "default", seed, "macro F1", 0.2))
        rows.append(row("b", "LinearSVC", seed, "micro F1", 0.5, 4.0))
        rows.append(row("b", "LinearSVC", seed, "macro F1", 0.25))
        rows.append(row("b", "LinearSVC", seed, "Hamming loss", 0.1))
    a, micro, macro = summary.compare(rows)
    assert (a.baseline, a.first, a.faster, a.times) == ("LinearSVC", False, "LinearSVC", 3)
    assert a.loss == pytest.approx(0.2)
    assert (micro.first, micro.converged, micro.faster) == (True, False, "")
    assert micro.loss == pytest.approx(-0.02)
    assert (macro.first, macro.loss) == (False, pytest.approx(0.2))
    # The differences are 0.01, 0.03 and -0.03: the mean is below its standard error.
    near = [row("c", method, seed, "error", 0.1 + more)
            for seed, apart in enumerate([0.01, 0.03, -0.03])
            for method, more in (("default", apart), ("LinearSVC", 0.0))]  # fmt: skip
    (c,) = summary.compare(near)
    assert c.first


def test_a_workload_without_finished_baselines(modules, capsys):
    *_, summary = modules
    rows = [row("a", "default", 0, "error", 0.1), row("a", "LinearSVC", 0, "error", "", "")]
    (a,) = summary.compare(rows)
    assert (a.first, a.baseline, a.faster, np.isnan(a.loss)) == (True, "", "", True)
    rows += [row("b", "default", 0, "error", 0.2), row("b", "LinearSVC", 0, "error", 0.1)]
    summary.print_summary(rows)
    assert "worst loss 100.0 % (b, error)" in capsys.readouterr().out


def test_summary_of_default_fits_only(modules, capsys):
    *_, summary = modules
    summary.print_summary([row("a", "default", 0, "error", 0.1)])
    assert capsys.readouterr().out.startswith("no workload")


def test_summary_and_chart_show_all_rows_of_the_file(modules, monkeypatch, capsys):
    _, data, summary = modules
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    monkeypatch.syspath_prepend(str(ROOT / "doc"))
    import charts

    rows = summary.read()
    found = summary.compare(rows)
    assert {c.workload for c in found} == {row["workload"] for row in rows} <= set(data.WORKLOADS)
    assert len({c.workload for c in found}) >= 24
    summary.print_summary(rows)
    printed = capsys.readouterr().out.splitlines()
    assert [line[:40].split() for line in printed[1 : len(found) + 1]] == [
        f"{c.workload} {c.metric}".split() for c in found
    ]
    charts.workloads()
    left, right = plt.gcf().axes
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names == [f"{c.workload}: {c.metric}" for c in found]
    behind = [bar.get_facecolor() for bar in left.patches]
    assert len(set(behind)) == len({c.first for c in found})
    for c, bar in zip(found, left.patches, strict=True):
        assert bar.get_width() == pytest.approx(np.clip(100 * c.loss, -60, 60), nan_ok=True)
    seconds = right.collections[1].get_offsets()[:, 0]
    np.testing.assert_allclose(seconds, [c.seconds for c in found])
    plt.close()
