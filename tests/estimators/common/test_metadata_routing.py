"""Test that meta-estimators pass sample weights to estimators that request them."""

from functools import partial

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_validate

from sstruct import ChainSSVM, LatentSSVM, MultilabelSSVM, PathCV
from sstruct.calibration import CalibratedSSVM, ConformalSSVM, TunedThresholdSSVM
from tests.calibration.test_tuned_thresholds import rare_labels


def chains(rng):
    y = [rng.integers(0, 2, 4) for _ in range(30)]
    return [labels[:, np.newaxis] + rng.normal(0, 0.7, (4, 2)) for labels in y], y


META = {
    "calibrated": partial(CalibratedSSVM, cv=2),
    "conformal": partial(ConformalSSVM, target="nodes", cv=2),
    "latent": LatentSSVM,
    "path": partial(PathCV, lams=[0.1], cv=2),
    "thresholds": partial(TunedThresholdSSVM, cv=2),
}


def estimator_and_data(name, rng):
    if name == "thresholds":
        return MultilabelSSVM(lam=0.1, random_state=0), *rare_labels(0, 60)
    return ChainSSVM(lam=0.1, random_state=0), *chains(rng)


def weights_of(meta):
    return getattr(meta, meta._fitted_name).w_


@pytest.mark.parametrize("name", META)
def test_fits_get_weights_if_the_estimator_requests_them(name, rng):
    inner, X, y = estimator_and_data(name, rng)
    weights = rng.uniform(0.1, 5, len(X))
    weighted, plain = inner.fit(X, y, weights).w_, inner.fit(X, y).w_
    assert not np.allclose(weighted, plain)
    np.testing.assert_array_equal(weights_of(META[name](inner).fit(X, y, weights)), weighted)
    with config_context(enable_metadata_routing=True):
        np.testing.assert_array_equal(weights_of(META[name](inner).fit(X, y)), plain)
        with pytest.raises(UnsetMetadataPassedError, match="set_fit_request"):
            META[name](inner).fit(X, y, weights)
        inner.set_fit_request(sample_weight=False)
        np.testing.assert_array_equal(weights_of(META[name](inner).fit(X, y, weights)), plain)
        inner.set_fit_request(sample_weight=True)
        np.testing.assert_array_equal(weights_of(META[name](inner).fit(X, y, weights)), weighted)
        routed = META[name](inner).set_fit_request(sample_weight=True)
        found = cross_validate(
            routed,
            X,
            y,
            cv=[(range(len(X)), [0])],
            scoring=lambda *_: 0.0,
            params={"sample_weight": weights},
            return_estimator=True,
            error_score="raise",
        )
    np.testing.assert_array_equal(weights_of(found["estimator"][0]), weighted)


def test_weights_of_held_out_samples_count_without_a_request(rng):
    inner, X, y = estimator_and_data("calibrated", rng)
    weights = rng.uniform(0.1, 5, len(X))
    frozen = FrozenEstimator(inner.fit(X[:15], y[:15]))
    expected = CalibratedSSVM(frozen).fit(X, y, weights).temperature_
    assert expected != CalibratedSSVM(frozen).fit(X, y).temperature_
    with config_context(enable_metadata_routing=True):
        assert CalibratedSSVM(frozen).fit(X, y, weights).temperature_ == expected
