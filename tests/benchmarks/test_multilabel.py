"""Test the comparison of rules in the benchmark of label sets."""

import pytest
from sklearn.datasets import make_multilabel_classification

from sstruct._estimators.core import lam_from_scale
from sstruct._input import losses


@pytest.fixture
def benchmark(script, monkeypatch):
    multilabel = script("multilabel")

    def fetch(subset, return_X_y):
        return make_multilabel_classification(90, 12, n_classes=4, random_state=0)

    monkeypatch.setitem(multilabel.FETCH, "yeast", fetch)
    for module, name in [
        (lam_from_scale, "LABEL_SET_STRENGTH"),
        (lam_from_scale, "SAMPLES_POWER"),
        (losses, "MISSED"),
    ]:
        monkeypatch.setattr(module, name, getattr(module, name))  # restores values that rules set
    return multilabel


@pytest.mark.parametrize("test", [False, True])
def test_rules(benchmark, run, capsys, test):
    rules = ["default", "asymmetric", "independent:0.3:0:3", "full:0.6:0.3333333333333333:2"]
    given = ["--data", "yeast", "--rules", *rules, "--seeds", "0", "1"]
    table = run(benchmark, *given, *(["--test"] if test else []), table="label_sets")
    rows = {(row["rule"], row["seed"]): row for row in table}
    assert len(rows) == 5 * 2
    assert {row["part"] for row in rows.values()} == {"test" if test else "3 folds"}
    assert {row["converged"] for row in rows.values()} == {"True"}
    scores = [rows["asymmetric", "0"][name] for name in benchmark.COLUMNS[:3]]
    same = rows[rules[-1], "0"]
    assert scores == [same[name] for name in benchmark.COLUMNS[:3]]
    assert scores != [rows["default", "0"][name] for name in benchmark.COLUMNS[:3]]
    printed = capsys.readouterr().out
    assert all(f"\n{rule}: micro F1" in printed for rule in rules)


def test_printed_shortfalls(benchmark, capsys):
    values = {"LinearSVC": [0.5, 0.4, 0.1], "default": [0.4, 0.5, 0.1], "other": [0.5, 0.4, 0.206]}
    rows = [
        {"rule": rule, "data": "yeast", "seed": seed, **dict(zip(benchmark.COLUMNS, found))}
        for rule, found in values.items()
        for seed in range(2)
    ]
    benchmark.print_rules(rows)
    printed = capsys.readouterr().out
    assert "-20.0    25.0     0.0   shortfall 0.2231" in printed  # log(5 / 4)
    assert "0.0     0.0   106.0   shortfall 0.6927" in printed  # log(2.06) - 0.03


def test_tuned_rules_share_their_fits(benchmark, run, monkeypatch, capsys):
    counts = []

    def fit_rows(*given, fit=benchmark.fit_rows):
        counts.append(1)
        return fit(*given)

    monkeypatch.setattr(benchmark, "fit_rows", fit_rows)
    monkeypatch.setattr(benchmark._held_out, "_fit_rows", fit_rows)
    rules = ["default", "default+f1_micro", "default+f1_macro", "asymmetric+f1_samples"]
    table = run(benchmark, "--data", "yeast", "--rules", *rules, "--test", table="label_sets")
    assert len(counts) == 10
    rows = {row["rule"]: row for row in table}
    assert list(rows) == ["LinearSVC", *rules]
    assert float(rows["default+f1_micro"]["micro F1"]) >= float(rows["default"]["micro F1"])
    assert "yeast, default: micro F1" in capsys.readouterr().out
