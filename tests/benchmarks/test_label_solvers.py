"""Test that the benchmark of solvers for label sets gives all of them the same problem."""

import pytest


@pytest.fixture
def benchmark(script):
    return script("label_solvers")


def test_both_solvers_bracket_one_optimum(benchmark, run, monkeypatch, capsys):
    arguments = ["--data", "made-5", "--samples", "30", "--losses", "hamming-count", "--lams", "1"]
    fits = []

    def keep(*arguments, measure=benchmark.certificates):
        fits.append(measure(*arguments))
        return fits[-1]

    monkeypatch.setattr(benchmark, "certificates", keep)
    table = run(benchmark, *arguments, "--limit", "20")
    rows = [row for fit in fits for row in fit]
    assert max(row["dual"] for row in rows) <= min(row["primal"] for row in rows) * (1 + 1e-9)
    for fit in fits:
        seconds = benchmark.reach(fit, 0.01)
        assert all(row["gap"] > 0.01 for row in fit if row["seconds"] < seconds)
        assert benchmark.reach(fit, -1) is None
    assert [row["solver"] for row in table] == ["mp-bcfw", "gdmm"]
    for row in table:
        assert (row["rows"], row["labels"]) == ("30", "5")
        assert float(row["gap"]) <= 0.01
        assert row["command"].startswith("python benchmarks/label_solvers.py --data made-5")
        assert "--output" not in row["command"]
    printed = capsys.readouterr().out.splitlines()
    assert [row.split()[5] for row in printed[1:]] == ["mp-bcfw", "gdmm"]


def test_a_limit_ends_a_fit(benchmark):
    X, Y = benchmark.label_sets("made-30", 40)
    assert X.shape == (40, 50)
    assert Y.shape == (40, 30)
    for solver in benchmark.METHODS:
        rows = benchmark.certificates(solver, X, Y, "hamming", 1e-3, 0.0)
        # The fit stops after the first pass, with the final certificate only.
        assert len(rows) == 1
        assert rows[-1]["gap"] > 0.01
