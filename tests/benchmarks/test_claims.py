"""The table of claims in the manual agrees with the CSV files of the benchmarks."""

import sys

import pytest


@pytest.fixture
def claims(script):
    return script("claims")


def test_the_table_is_up_to_date(claims):
    assert claims.TARGET.read_text() == claims.table()


def test_every_claim_rests_on_rows(claims):
    # For their commands, see tests/package/test_benchmark_results.py.
    assert all(each.evaluate().rows for each in claims.CLAIMS)


def test_verdicts_follow_the_figures(claims, monkeypatch):
    rows = [
        {"labels": "45", "solver": "gdmm", "seconds_to_95": "1"},
        {"labels": "450", "solver": "gdmm", "seconds_to_95": "11"},
    ]
    monkeypatch.setattr(claims, "read", lambda name, **wanted: rows)
    assert claims.gdmm_grows_sublinearly().time == "no"
    rows[1]["seconds_to_95"] = "9"
    assert claims.gdmm_grows_sublinearly().time == "yes"


def test_error_for_missing_row(claims):
    with pytest.raises(ValueError, match=r"labels\.csv has no row with .*'none'"):
        claims.read("labels", solver="none")


@pytest.mark.parametrize("case", ["no git", "no repository"])
def test_rows_without_a_clone(script, monkeypatch, tmp_path, case):
    reports = script("reports")
    if case == "no git":
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        monkeypatch.setattr(reports, "__file__", str(tmp_path / "reports.py"))
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(sys, "argv", ["benchmarks/x.py"])
    row = reports.origin(reports.command(), "idle")
    assert row["commit"] == "unknown"
    assert row["machine"]
