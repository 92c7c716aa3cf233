"""The benchmark of solvers of label sets on tiny data: what it compares is one problem."""

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import label_solvers

    return label_solvers


def test_both_solvers_bracket_one_optimum(benchmark, monkeypatch, tmp_path, capsys):
    arguments = ["--data", "made-5", "--samples", "30", "--losses", "hamming-count", "--lams", "1"]
    monkeypatch.setattr(
        sys, "argv", ["label_solvers.py", *arguments, "--limit", "20", "--output", str(tmp_path)]
    )
    benchmark.main()
    lines = (tmp_path / "label_solvers.jsonl").read_text().splitlines()
    fits = [json.loads(line) for line in lines]
    assert [fit["solver"] for fit in fits] == ["mp-bcfw", "gdmm"]
    rows = [row for fit in fits for row in fit["rows"]]
    assert max(row["dual"] for row in rows) <= min(row["primal"] for row in rows) * (1 + 1e-9)
    for fit in fits:
        assert (fit["n"], fit["K"]) == (30, 5)
        assert fit["rows"][-1]["gap"] <= 0.01
        seconds = benchmark.reach(fit["rows"], 0.01)
        assert all(row["gap"] > 0.01 for row in fit["rows"] if row["seconds"] < seconds)
        assert benchmark.reach(fit["rows"], -1) is None
    table = capsys.readouterr().out.splitlines()
    assert [row.split()[5] for row in table[1:]] == ["mp-bcfw", "gdmm"]


def test_a_limit_ends_a_fit(benchmark):
    X, Y = benchmark.label_sets("made-30", 40)
    assert X.shape == (40, 50)
    assert Y.shape == (40, 30)
    for solver in benchmark.METHODS:
        rows = benchmark.certificates(solver, X, Y, "hamming", 1e-3, 0.0)
        # The first pass is over then, and has no certificate but that of the end.
        assert len(rows) == 1
        assert rows[-1]["gap"] > 0.01
