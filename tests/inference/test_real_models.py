"""Test bounds of TRW-S on published models against reference values.

The references in reference.json have six digits after the decimal point.
"""

import functools
import json
import os
from pathlib import Path

import numpy as np
import pytest

from sstruct.inference import MRF, map_mrf, read_dd, read_uai
from sstruct.inference._applications.matching_model import matching_model

FOLDER = Path(os.environ.get("SSTRUCT_DATA", "")) / "mrf"
ENTRIES = FOLDER / "reference.json"
NAMES = sorted(json.loads(ENTRIES.read_text())) if ENTRIES.is_file() else []
# Solved by TRW-S in well under a second each.
TIGHT = ("sidechain2008", "segmentation", "imagealign")
LARGE = ("segmentation_11", "segmentation_15")


def parameters(prefixes, slow=()):
    return [
        pytest.param(name, marks=pytest.mark.slow) if name.startswith(slow) else name
        for name in NAMES
        if name.startswith(prefixes)
    ]


def reference_energy(name):
    entry = json.loads(ENTRIES.read_text())[name]
    return entry.get("cost", -entry.get("log_score", np.nan)), entry.get("status") == "optimal"


@pytest.mark.parametrize("method", ["auto", "fwmap"])
@pytest.mark.parametrize("name", parameters(TIGHT, LARGE))
def test_tight_models_are_solved(name, method):
    energy, is_minimum = reference_energy(name)
    assert is_minimum
    result = map_mrf(read_uai(FOLDER / name), method)
    assert result.status == "PROVEN"
    assert result.energy == pytest.approx(energy, rel=1e-6, abs=1e-6)
    assert result.lower_bound <= energy + 1e-6
    assert result.gap <= 1e-6 * (1 + abs(result.energy))


@pytest.mark.slow
@pytest.mark.parametrize("name", parameters(("ising", "objdetect", "sidechain2012", "protein")))
def test_bounds_of_hard_models_are_below_the_references(name):
    energy, is_minimum = reference_energy(name)
    model = read_uai(FOLDER / name)
    result = map_mrf(model, "trws", max_time=5)
    assert result.energy == model.energy(result.labels)
    assert result.lower_bound <= min(energy, result.energy) + 1e-6
    if is_minimum:
        assert result.energy >= energy - 1e-6 * (1 + abs(energy))


@pytest.mark.slow
@pytest.mark.parametrize("name", parameters("eurlex"))
def test_label_sets_are_solved(name):
    energy, _ = reference_energy(name)
    result = map_mrf(read_uai(FOLDER / name))
    assert result.energy == pytest.approx(energy, abs=2e-6)
    assert result.gap <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("name", parameters("stereo"))
def test_an_image_pair_is_solved(name):
    arrays = np.load(FOLDER / name)
    model = MRF(arrays["unary_cost"], arrays["edges"], arrays["pair_cost"])
    assert model.table_form.tolist() == [2]
    assert map_mrf(model).gap <= 1e-6 * 10720


@pytest.fixture(scope="module")
def read_once():
    return functools.cache(read_dd)


HOUSE = "mgm_house_1_n10_g8.txt.gz gm "


@pytest.mark.parametrize(
    "name",
    parameters(("mgm", "gm_opengm1"), ("gm", *(f"{HOUSE}{first} " for first in range(1, 8)))),
)
def test_matchings_have_valid_bounds_and_costs(name, read_once):
    energy, is_minimum = reference_energy(name)
    assert is_minimum
    file, *pair = name.split()
    problem = read_once(FOLDER / file)
    problem = problem[tuple(map(int, pair[1:]))] if pair else problem
    model = matching_model(*problem)
    result = map_mrf(model.mrf, "trws", max_time=20)
    matching = model.matching(result.labels)
    taken = matching[matching >= 0]
    assert len(set(taken.tolist())) == len(taken)
    assert result.lower_bound <= energy + 1e-6
    assert result.energy >= energy - 1e-6
    places = np.flatnonzero(matching >= 0) * problem.unary.shape[1] + taken
    cost = problem.unary.ravel()[places].sum() + problem.pairwise[places][:, places].sum()
    assert result.energy == pytest.approx(cost)
