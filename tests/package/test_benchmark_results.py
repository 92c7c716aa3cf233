"""CSV files used in the manual contain the conditions of their measurements."""

import csv
import re
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "benchmarks" / "results").glob("*.csv"))
PAGE = ROOT / "doc" / "benchmarks.rst"
CLAIMS = ROOT / "doc" / "explanation" / "claims_table.inc"
# Figures that the manual cites without drawing them.
NOT_DRAWN = (
    *("held_out_error", "costly_choices", "void_labels", "windows", "label_sets"),
    *("embeddings", "confidence", "change_points", "dependency", "tracking", "map_proofs"),
    "exact_training",
)
# defaults.csv is not committed: benchmarks/defaults.py stores unfinished measurements in it.
FILES = [file for file in FILES if file.name != "defaults.csv"]

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the manual is not in the source tree")


def test_files_are_found():
    assert len(FILES) > 8


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_figure_names_command_commit_date_and_machine(file):
    with open(file, newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert rows
    for row in rows:
        program, script, *_ = row["command"].split()
        assert program == "python"
        assert (ROOT / script).is_file()
        assert re.fullmatch(r"[0-9a-f]{7}", row["commit"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"])
        assert "cores" in row["machine"]
        assert row["load"] in ("quiet", "busy", "not recorded")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_manual_gives_the_commands_of_its_figures(file):
    page, claims = PAGE.read_text(), CLAIMS.read_text()
    with open(file, newline="") as lines:
        for row in csv.DictReader(lines):
            if file.stem in NOT_DRAWN:
                assert file.name in page
            elif row["command"].removeprefix("python benchmarks/") in claims:
                assert row["commit"] in claims
            else:
                assert file.name in page
                assert f"python {row['command'].split()[1]}" in page
                assert row["commit"] in page


def rows_of(name):
    """Return the rows of a file."""
    with open(ROOT / "benchmarks" / "results" / f"{name}.csv", newline="") as lines:
        return list(csv.DictReader(lines))


def ratios(name, ours, theirs):
    """Return the quotients of two columns of a file, sorted."""
    return sorted(float(row[ours]) / float(row[theirs]) for row in rows_of(name))


def test_ranges_of_cuts_and_moves_are_those_of_the_rows():
    page = " ".join(PAGE.read_text().split())
    for text, *columns in (
        ("``graph_cut`` takes {} of PyMaxflow's", "cuts", "graph_cut_ms", "pymaxflow_ms"),
        ("decoder of ``GridCRFSSVM`` {}.", "cuts", "grid_ms", "pymaxflow_ms"),
        ("It takes {} of gco's time", "expansion", "sstruct_ms", "gco_ms"),
    ):
        found = ratios(*columns)
        assert text.format(f"{found[0]:.2f} to {found[-1]:.2f}") in page


def test_figures_of_the_readme_are_those_of_the_rows():
    cuts = ratios("cuts", "graph_cut_ms", "pymaxflow_ms")
    moves = ratios("expansion", "sstruct_ms", "gco_ms")
    no_higher = sum(float(row["gco_energy_pct"]) >= 0 for row in rows_of("expansion"))
    chain, _, crf, *_ = rows_of("chunking")
    usps = rows_of("multiclass")[0]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for row in (
        f"Minimum cuts of {len(cuts)} grids and images | {median(cuts):.2f} of the time (median)",
        f"Alpha-expansion on {len(moves)} problems | {median(moves):.2f} of the time (median), "
        f"energy no higher on {no_higher} |",
        f"| F1 {chain['chunk_f1']} in {chain['seconds_from_dicts']} s |",
        f"{crf['chunk_f1']} in {float(crf['seconds_from_dicts']):.0f} s |",
        f"| {float(usps['sstruct_seconds']):.2f} s | LIBLINEAR: {usps['liblinear_seconds']} s |",
    ):
        assert row in text


def test_the_page_is_read_in_five_minutes():
    assert len(PAGE.read_text().split()) < 1200
