"""A small model of segments, with and without self-transitions."""

import numpy as np
import pytest

from sstruct import SegmentSSVM
from tests.estimators.segment.small import K, make

LIMITS = (2, 1, 1), (99, 99, 3)


@pytest.fixture(scope="module", params=[False, True], ids=["runs", "self-transitions"])
def fitted(request):
    """Return a model, and the arguments of `make` and `codes_of` for its segmentations."""
    allowed = {"splits": request.param, "limits": LIMITS}
    X, _, spans = make(np.random.default_rng(0), 40, **allowed)
    model = SegmentSSVM(
        self_transitions=request.param, duration_bins=(1, 2, 4), lam=0.05, ignore_label=-1,
        min_duration=[2, 1, 1], max_duration=[None, None, 3], classes=range(K), random_state=0,
    )  # fmt: skip
    return model.fit(X, spans), allowed
