"""SegmentSSVM reaches the optimum over enumerated segmentations."""

import numpy as np
import pytest
from scipy import sparse

from sstruct import SegmentSSVM
from sstruct.solvers import MPBCFW
from tests.estimators.segment.small import K, make, spans_of
from tests.reference import brute_force, dual_qp, segments
from tests.reference.segments import KINDS

TIGHT = {"tol": 1e-8, "max_iter": 100_000, "solver": MPBCFW(average=False), "random_state": 0}


def spread(x, start, stop):
    """Return the logarithm of the duration, and the range of the first feature."""
    x = np.asarray(x.todense() if sparse.issparse(x) else x)
    ranges = [np.ptp(x[a:b, 0]) for a, b in zip(start, stop, strict=True)]
    return np.column_stack([np.log(stop - start), ranges])


def number(x, start, stop):
    return 1.0 / (stop - start)


LIMITED = {"max_duration": [3, None, 2]}
CASES = {
    "bins": {"duration_bins": [1, 2, 4]},
    "one bin": {"duration_bins": [1]},
    "no bins": {"duration_bins": None},
    "no bins, minimum": {"duration_bins": None, "min_duration": 2},
    "minimum": {"duration_bins": [1, 3], "min_duration": [2, 1, 1]},
    "limits": {"min_duration": [1, 2, 1], **LIMITED},
    "balanced": {"loss": "balanced"},
    "costs": {"loss": np.array([[0, 1, 3], [2, 0, 0.5], [1, 1, 0]])},
    "no boundaries": {"boundaries": False, "fit_intercept": False},
    "no transitions": {"transitions": False},
    "groups": {"transitions": [[0, 1, 1], [1, 0, 1], [-1, 1, 2]]},
    "mean": {"segment_features": "mean", **LIMITED},
    "contrast": {"segment_features": ["contrast"], **LIMITED},
    "ends": {"segment_features": ("last", "first"), **LIMITED},
    "all": {"segment_features": KINDS, **LIMITED},
    "function": {"segment_features": number, **LIMITED},
    "mean and function": {"segment_features": ["mean", spread], **LIMITED},
    "loss of segments": {"loss": "segments"},
    "loss of boundaries": {"loss": "boundaries", "tolerance": 1},
    "segments, mean": {"loss": "segments", "segment_features": "mean"},
    "boundaries, mean": {"loss": "boundaries", "tolerance": 1, "segment_features": "mean"},
}


def terms_of(X, codes, parameters, limits, **options):
    """Return the terms of the objective, by enumeration."""
    given = parameters.get("segment_features") or []
    given = [given] if isinstance(given, str) or callable(given) else given
    transitions = parameters.get("transitions", True)
    model = brute_force.Model(
        K, parameters.get("fit_intercept", True), parameters.get("boundaries", True),
        transitions is not False,
        groups=None if isinstance(transitions, bool) else np.array(transitions),
    )  # fmt: skip
    return segments.blocks(
        X, codes, model, parameters["duration_bins"] or (), *limits,
        kinds=[kind for kind in given if isinstance(kind, str)],
        function=next((each for each in given if callable(each)), None),
        loss=parameters.get("loss"), tolerance=parameters.get("tolerance"), **options,
    )  # fmt: skip


@pytest.mark.parametrize("splits", [False, True], ids=["runs", "self-transitions"])
@pytest.mark.parametrize("ignored", [False, True], ids=["labeled", "ignored"])
@pytest.mark.parametrize("case", CASES)
def test_reaches_the_optimum(rng, case, ignored, splits):
    parameters = {"duration_bins": [1, 2], **CASES[case]}
    least = np.broadcast_to(parameters.get("min_duration", 1), K)
    most = [99 if each is None else each for each in parameters.get("max_duration") or [99] * K]
    X, codes, _ = make(rng, limits=(least, most), splits=splits, hidden=ignored)
    weights = rng.choice([0.5, 1.0, 3.0], len(X))
    model = SegmentSSVM(
        self_transitions=splits, pairwise_scale=1, lam=0.1, ignore_label=-1, classes=[0, 1, 2],
        **TIGHT, **parameters,
    ).fit(X, [spans_of(code) for code in codes] if splits else codes, weights)  # fmt: skip
    terms = terms_of(X, codes, parameters, (least, most), weights=weights, splits=splits)
    dual_qp.check_optimum(model, terms)
    assert model.self_transition_coef_.any() == (splits and case != "no transitions")
    for labels, own in zip(model.predict(X), model.predict_spans(X), strict=True):
        assert np.concatenate([[k] * (b - a) for a, b, k in own]).tolist() == labels.tolist()
        assert splits or own == segments.runs(labels.tolist())
        assert all(b - a <= most[k] and b - a >= least[k] for a, b, k in own)
