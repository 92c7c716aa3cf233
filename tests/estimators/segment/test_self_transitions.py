"""Test SegmentSSVM with self-transitions against enumerated segmentations."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sstruct import LatentSSVM, SegmentSSVM
from sstruct.solvers import MPBCFW
from tests.estimators.segment.small import FREE, K, make
from tests.reference import brute_force, segments


def test_without_equal_neighbors_in_y(rng):
    """If y has labels of nodes, only wrong segmentations have splits."""
    X, codes, _ = make(rng)
    y = [code % K for code in codes]
    options = {"self_transitions": True, "duration_bins": [1, 2], "random_state": 0}
    model = SegmentSSVM(**options).fit(X, y)
    spans = [segments.runs(labels.tolist()) for labels in y]
    np.testing.assert_array_equal(SegmentSSVM(**options).fit(X, spans).w_, model.w_)
    assert (model.self_transition_coef_ <= 1e-12).all()


def test_masks_forbid_equal_neighbors(rng):
    mask = np.ones((K, K), dtype=bool)
    mask[1, 1] = False
    X, codes, spans = make(rng, 20)
    labels = [code % K for code in codes]
    keep = [i for i, y in enumerate(labels) if not ((y[1:] == 1) & (y[:-1] == 1)).any()]
    assert len(keep) < 20
    model = SegmentSSVM(
        self_transitions=True, transition_mask=mask, random_state=0, classes=range(K)
    ).fit([X[i] for i in keep], [spans[i] for i in keep])
    found, _ = model.predict_top_k(X[:4], 10**5)
    for rows in found:
        assert not ((rows[:, 1:] == 1) & (rows[:, :-1] == 1)).any()
    with pytest.raises(ValueError, match="which transition_mask forbids"):
        model.fit(X, spans)


def test_warm_starts_and_checkpoints_need_the_same_segments(rng, tmp_path):
    X, codes, spans = make(rng)
    model = SegmentSSVM(self_transitions=True, lam=0.1, warm_start=True, random_state=0)
    model.fit(X, spans)
    frame = model.to_frame()
    rows = frame[frame.kind == "self_transition"]
    assert rows.weight.tolist() == model.self_transition_coef_.tolist()
    runs = [segments.runs([int(k) % K for k in code]) for code in codes]
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X, runs)
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(self_transitions=False).fit(X, runs)
    solver = MPBCFW(checkpoint=tmp_path / "fit")
    part = SegmentSSVM(self_transitions=True, lam=0.1, solver=solver, max_iter=2, tol=1e-9)
    with pytest.warns(ConvergenceWarning):
        part.fit(X, spans)
    with pytest.raises(ValueError, match="checkpoint"):
        clone(part).fit(X, runs)


def test_prior_and_partial_fit_keep_self_transitions(rng):
    X, _, spans = make(rng)
    prior = SegmentSSVM(self_transitions=True, random_state=0).fit(X, spans)
    y = [code % K for code in make(rng)[1]]
    with pytest.raises(ValueError, match="self_transitions"):
        SegmentSSVM(prior=prior).fit(X, y)
    SegmentSSVM(self_transitions=True, prior=prior, random_state=0).fit(X, spans)
    online = SegmentSSVM(solver="ssg", lam=0.1, self_transitions=True, random_state=0)
    online.partial_fit(X, spans, range(K)).partial_fit(X, spans)
    assert online.self_transition_coef_.any()
    with pytest.raises(ValueError, match="self_transitions"):
        online.set_params(self_transitions=False).partial_fit(X, y)


def test_slack_rescaling(rng):
    X, codes, spans = make(rng, n=5)
    model = SegmentSSVM(
        self_transitions=True, rescaling="slack", duration_bins=[1, 2], lam=0.1, max_iter=50,
        pairwise_scale=1, random_state=0, solver=MPBCFW(certificate_every=1), tol=0.3,
        classes=range(K),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, spans)
    terms = segments.blocks(X, codes, brute_force.Model(K), (1, 2), *FREE, splits=True)
    hinges = [np.max(each.loss * (1 - each.psi @ model.w_)) for each in terms]
    objective = 0.05 * model.w_ @ model.w_ + np.mean(hinges)
    assert model.dual_objective_ <= objective <= model.objective_ + 1e-12


def test_unsupported_fits_and_invalid_spans(rng):
    X, _, spans = make(rng)
    with pytest.raises(ValueError, match="self_transitions=True is not supported by LatentSSVM"):
        LatentSSVM(SegmentSSVM(self_transitions=True, ignore_label=-1)).fit(X, spans)
    with pytest.raises(ValueError, match="or set self_transitions=True if they are two segments"):
        SegmentSSVM().fit(X, spans)
    with pytest.raises((TypeError, ValueError), match="self_transitions"):
        SegmentSSVM(self_transitions="yes").fit(X, spans)
    with pytest.raises(ValueError, match=r"y\[0\] has 1 nodes with label 0 from node 2 on"):
        SegmentSSVM(self_transitions=True, min_duration=2).fit(
            [np.zeros((3, 2))], [[(0, 2, 0), (2, 3, 0)]]
        )
