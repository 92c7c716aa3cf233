"""Pickles and skops files contain only public types, so that internal modules can be moved.

This file tests options and objects that are not estimators; test_states.py tests all estimators.
"""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from sstruct import (
    ChainSSVM,
    GapMonitor,
    GraphCRFSSVM,
    MultilabelSSVM,
    PathCV,
    Sequences,
    metrics,
    ssvm_path,
)
from sstruct.inference import MRF, map_mrf
from sstruct.masks import bio_transitions
from sstruct.preprocessing import PerNode, SequenceVectorizer
from tests.estimators.state.test_states import from_pickle, from_skops

ROWS = np.random.default_rng(0).standard_normal((20, 3))
CHAINS = [ROWS[:5], ROWS[5:10], ROWS[10:20]]
LABELS = [np.arange(5) % 2, np.arange(5) % 2, np.arange(10) % 2]
EDGES = np.array([[0, 1], [1, 2], [2, 0]])


def never(info):
    return False


def graphs():
    return GraphCRFSSVM(pairwise="full", inference="fwmap", lam=1.0, max_iter=3).fit(
        [(x[:3], EDGES) for x in CHAINS], [y[:3] for y in LABELS]
    )


def with_callbacks():
    model = ChainSSVM(max_iter=3).set_callbacks(GapMonitor(), never)
    return model.fit(CHAINS, LABELS)


def searched():
    scorer = metrics.make_flat_scorer(metrics.flat_f1_score, average="macro")
    search = PathCV(ChainSSVM(random_state=0), cv=2, scoring=scorer, lam_min=0.1)
    return search.fit(CHAINS, LABELS)


OBJECTS = {
    "slack": lambda: ChainSSVM(rescaling="slack", max_iter=3).fit(CHAINS, LABELS),
    "gdmm": lambda: ChainSSVM(solver="gdmm", max_iter=3).fit(CHAINS, LABELS),
    "mask": lambda: ChainSSVM(transition_mask=bio_transitions),
    "callbacks": with_callbacks,
    "relaxed": lambda: MultilabelSSVM(inference="relaxed", max_iter=3).fit(ROWS, ROWS > 0),
    "graph": graphs,
    "path": lambda: ssvm_path(ChainSSVM(random_state=0), CHAINS, LABELS, lam_min=0.1),
    "sequences": lambda: Sequences.from_lengths(ROWS, [5, 5, 10]),
    "scaler": lambda: PerNode(StandardScaler()).fit(CHAINS),
    "vectorizer": lambda: SequenceVectorizer().fit([[{"a": 1}], [{"b": "c"}]]),
    "model": lambda: MRF(ROWS[:3], EDGES, np.eye(3)),
    "result": lambda: map_mrf(MRF(ROWS[:3], EDGES, np.eye(3))),
    "monitor": lambda: GapMonitor(),
    "search": searched,
}


@pytest.fixture(scope="module", params=OBJECTS)
def made(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return request.param, OBJECTS[request.param]()


def test_private_types_are_detected():
    from sstruct._estimators.core.training import Quality

    with pytest.raises(AssertionError):
        from_pickle(Quality.EXACT)


def test_pickles_name_public_types(made):
    assert type(from_pickle(made[1])) is type(made[1])


def test_skops_files_name_public_types(made):
    name, value = made
    if name == "sequences":
        pytest.skip("skops does not store them")
    assert type(from_skops(value)) is type(value)


@pytest.mark.parametrize("name", sorted(set(metrics.__all__) - {"make_flat_scorer"}))
def test_pickled_metrics_and_scorers_name_the_public_module(name):
    from_pickle(getattr(metrics, name))
