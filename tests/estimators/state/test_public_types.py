"""Pickles and skops files name public types only: a file outlives a rearranged package."""

import pickle
import pickletools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from sstruct import (
    ChainSSVM,
    GapMonitor,
    GraphCRFSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    Sequences,
    StructuredSVM,
    TreeSSVM,
    ssvm_path,
)
from sstruct.datasets import make_stick_figures
from sstruct.inference import MRF, map_mrf
from sstruct.masks import bio_transitions
from sstruct.preprocessing import PerNode, SequenceVectorizer
from tests.estimators.custom.choices import Sign

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


def trees():
    figures = make_stick_figures(4, random_state=0)
    return TreeSSVM(parents=figures.parents, max_iter=3).fit(figures.data, figures.target)


def with_callbacks():
    model = ChainSSVM(max_iter=3).set_callbacks(GapMonitor(), never)
    return model.fit(CHAINS, LABELS)


OBJECTS = {
    "chain": lambda: ChainSSVM(warm_start=True, max_iter=3).fit(CHAINS, LABELS),
    "slack": lambda: ChainSSVM(rescaling="slack", max_iter=3).fit(CHAINS, LABELS),
    "gdmm": lambda: ChainSSVM(solver="gdmm", max_iter=3).fit(CHAINS, LABELS),
    "mask": lambda: ChainSSVM(transition_mask=bio_transitions),
    "callbacks": with_callbacks,
    "multiclass": lambda: MulticlassSSVM(max_iter=3).fit(ROWS, np.arange(20) % 3),
    "label sets": lambda: MultilabelSSVM(max_iter=3).fit(ROWS, ROWS > 0),
    "relaxed": lambda: MultilabelSSVM(inference="relaxed", max_iter=3).fit(ROWS, ROWS > 0),
    "graph": graphs,
    "grid": lambda: GridCRFSSVM(max_iter=3).fit(
        ROWS[:18].reshape(2, 3, 3, 3), np.arange(18).reshape(2, 3, 3) % 2
    ),
    "tree": trees,
    "custom": lambda: StructuredSVM(Sign(), max_iter=3).fit(list(ROWS), [1, -1] * 10),
    "path": lambda: ssvm_path(ChainSSVM(random_state=0), CHAINS, LABELS, lam_min=0.1),
    "search": lambda: PathCV(ChainSSVM(max_iter=50), cv=2, lams=[0.1, 1.0]).fit(CHAINS, LABELS),
    "sequences": lambda: Sequences.from_lengths(ROWS, [5, 5, 10]),
    "scaler": lambda: PerNode(StandardScaler()).fit(CHAINS),
    "vectorizer": lambda: SequenceVectorizer().fit([[{"a": 1}], [{"b": "c"}]]),
    "model": lambda: MRF(ROWS[:3], EDGES, np.eye(3)),
    "result": lambda: map_mrf(MRF(ROWS[:3], EDGES, np.eye(3))),
    "monitor": lambda: GapMonitor(),
}


@pytest.fixture(scope="module", params=OBJECTS)
def made(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return request.param, OBJECTS[request.param]()


def globals_of(data):
    """Modules and names that a pickle refers to."""
    strings, found = [], []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "STACK_GLOBAL":
            found.append(f"{strings[-2]}.{strings[-1]}")
        elif opcode.name == "GLOBAL":
            found.append(argument.replace(" ", "."))
        elif isinstance(argument, str):
            strings.append(argument)
    return found


def assert_public(names):
    own = [name for name in names if name.split(".")[0] == "sstruct"]
    assert not [name for name in own if "._" in name]


def test_the_reader_sees_private_types():
    from sstruct._estimators.core.training import Quality

    names = globals_of(pickle.dumps(Quality.EXACT, protocol=2))
    assert names == globals_of(pickle.dumps(Quality.EXACT, protocol=4))[:1]
    with pytest.raises(AssertionError):
        assert_public(names)


def test_pickles_name_public_types(made):
    # Protocol 2 writes names where they are used; later ones refer to strings seen before.
    data = pickle.dumps(made[1], protocol=2)
    assert_public(globals_of(data))
    assert type(pickle.loads(data)) is type(made[1])


def test_skops_files_name_public_types(made):
    io = pytest.importorskip("skops.io")
    name, value = made
    if name == "sequences":
        pytest.skip("skops does not store them")
    assert_public(io.get_untrusted_types(data=io.dumps(value)))
