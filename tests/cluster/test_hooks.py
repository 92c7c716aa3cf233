"""Test the optional methods of oracles on a cluster."""

import joblib
import numpy as np
import pytest

from sstruct import StructuredSVM
from tests.estimators.custom.choices import make_choices
from tests.estimators.custom.test_custom_hooks import ByScores, Named, names

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at relative duality gap")


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("oracle", [ByScores, Named])
def test_fits_with_optional_methods_equal_local_fits(client, rng, oracle, rescaling):
    X, y = make_choices(rng)
    y = names(y) if oracle is Named else y
    options = {"lam": 0.05, "max_iter": 2, "rescaling": rescaling, "random_state": 0}
    local = StructuredSVM(oracle(), **options).fit(X, y)
    with joblib.parallel_config(backend="dask"):
        remote = StructuredSVM(oracle(), **options).fit(X, y)
    np.testing.assert_array_equal(remote.w_, local.w_)
    assert remote.predict(X).tolist() == local.predict(X).tolist()
