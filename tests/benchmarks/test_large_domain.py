"""Test the tables, JSON and figure of the benchmark of large label domains on tiny data."""

import json
import sys

import pytest

SMALL = ["--limit", "0.3", "--every", "1", "--methods", "gdmm", "mp-bcfw"]


@pytest.fixture
def run(script, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    large_domain = script("large_domain")

    def run(name, *arguments):
        figure = tmp_path / "figure.png"
        where = ["--output", str(tmp_path), "--figure", str(figure)]
        monkeypatch.setattr(sys, "argv", ["large_domain.py", *SMALL, *arguments, *where])
        large_domain.main()
        assert figure.read_bytes().startswith(b"\x89PNG")

        def fail(constant):
            raise AssertionError(f"{constant} is not JSON")

        text = (tmp_path / f"{name}.json").read_text()
        return json.loads(text, parse_constant=fail)["report"]

    return run


def test_panels_bracket_one_optimum(run):
    report = run("large_domain", "--panels", "characters", "--samples", "6", "--labels", "5")
    curves = report["characters"]
    assert set(curves) == {"gdmm", "mp-bcfw"}
    rows = [row for curve in curves.values() for row in curve]
    lowest = min(row["primal"] for row in rows)
    assert all(row["dual"] is None or row["dual"] <= lowest * (1 + 1e-9) for row in rows)
    assert all(0 <= row["error"] <= 1 for row in rows)


def test_both_methods_reach_the_compared_level(run):
    limits = "--limit", "0.2", "0.1", "--factor-limit", "0.1"
    report = run("large_domain_labels", "--domain", "4", "6", "--tokens", "60", *limits)
    assert set(report) == {"4", "6"}
    for found in report.values():
        (meeting,) = found["meetings"]
        curves = [found["curves"][method] for method in meeting["methods"]]
        assert meeting["dual"] <= found["dual"]
        assert meeting["error"] >= found["error"]
        both = zip(curves, meeting["seconds_to_dual"], meeting["seconds_to_error"], strict=True)
        for rows, to_dual, to_error in both:
            early = [row for row in rows if row["seconds"] < to_dual]
            assert all(row["dual"] is None or row["dual"] < meeting["dual"] for row in early)
            assert any(
                row["seconds"] == to_error and row["error"] <= meeting["error"] for row in rows
            )
