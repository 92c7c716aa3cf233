"""Test seeds and invalid arguments of all data generators."""

import numpy as np
import pytest

from sstruct import datasets
from tests.estimators.equal import equal

# Invalid arguments in addition to n_samples=0.
INVALID = {
    "make_alignments": [
        ({"length": 0}, "length must be at least 1"),
        ({"n_flanking": -1}, "n_flanking must be at least 0"),
        ({"substitution": 1.5}, "substitution must be at most 1"),
        ({"gap_extend": 1}, "gap_extend must be at most 0.99"),
    ],
    "make_change_points": [
        ({"kind": "level"}, "kind must be one of"),
        ({"max_segments": 0}, "max_segments must be at least 1"),
        ({"min_length": 9, "max_length": 8}, "max_length=8 is below min_length=9"),
    ],
    "make_grids": [
        ({"shape": (3, 0)}, r"shape\[1\] must be at least 1"),
        ({"shape": (3, 4, 5)}, "shape must be a pair"),
        ({"n_labels": 2.0}, "n_labels must be an integer"),
        ({"noise": -1}, "noise must be at least 0"),
    ],
    "make_large_domain_sequences": [
        ({"n_labels": 0}, "n_labels must be at least 1"),
        ({"n_successors": 1.5}, "n_successors must be an integer"),
        ({"min_length": 9, "max_length": 8}, "max_length=8 is below min_length=9"),
        ({"structure": 1.1}, "structure must be at most 1"),
        ({"exponent": -1}, "exponent must be at least 0"),
        ({"noise": np.nan}, "noise must be finite"),
    ],
    "make_multilabel_pairwise": [
        ({"n_labels": 2.0}, "n_labels must be an integer"),
        ({"n_labels": 3, "n_pairs": 4}, "n_pairs must be at most 3, the pairs of 3 labels"),
        ({"n_pairs": -1}, "n_pairs must be at least 0"),
        ({"strength": -1.0}, "strength must be at least 0"),
        ({"informativeness": np.inf}, "informativeness must be finite"),
    ],
    "make_sequences": [
        ({"n_labels": 2.0}, "n_labels must be an integer"),
        ({"min_length": 0}, "min_length must be at least 1"),
        ({"min_length": 9, "max_length": 8}, "below min_length"),
        ({"noise": -1}, "noise must be at least 0"),
    ],
    "make_stick_figures": [
        ({"size": 8}, "size must be at least 16"),
        ({"n_distractors": -1}, "n_distractors must be"),
        ({"noise": -0.5}, "noise must be at least 0"),
        ({"noise": np.nan}, "noise must be finite"),
    ],
    "load_digit_dates": [
        ({"subset": "both"}, "subset must be"),
        ({"n_train": 0}, "n_train must be at least 1"),
        ({"n_test": 2.5}, "n_test must be an integer"),
        ({"years": 1998}, "years must be two years"),
        ({"years": (1998, 10000)}, "years must be two years"),
        ({"years": (1999, 1998)}, "first <= last"),
        ({"random_state": None}, "random_state must be an integer"),
    ],
}
MAKERS = [name for name in datasets.__all__ if name.startswith("make_")]
FEW = [(name, ({"n_samples": 0}, "n_samples must be at least 1")) for name in MAKERS]


@pytest.mark.parametrize(
    "name, case", [*FEW, *((name, case) for name, cases in INVALID.items() for case in cases)]
)
def test_invalid_arguments(name, case):
    arguments, message = case
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(datasets, name)(**arguments)


@pytest.mark.parametrize("name", MAKERS)
def test_data_depend_only_on_the_seed(name):
    make, more = getattr(datasets, name), {}
    if name == "make_stick_figures":
        more = {"return_X_y": True}
    first, again, other = (make(3, random_state=seed, **more) for seed in (1, 1, 2))
    assert equal(first, again)
    assert not equal(first[0], other[0])
