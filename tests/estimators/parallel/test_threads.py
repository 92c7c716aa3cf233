"""Results do not depend on n_jobs, and concurrent fits do not interfere."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification

from sstruct import (
    AlignmentSSVM,
    ChainSSVM,
    GraphCRFSSVM,
    MatchingSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
)
from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._solvers.frank_wolfe.block_coordinate import STEPS
from sstruct.datasets import make_sequences
from sstruct.solvers import MPBCFW
from tests.estimators.equal import equal
from tests.estimators.same_bits import assert_same_bits
from tests.registry import TRAINED

pytestmark = pytest.mark.usefixtures("small_fits_at_once")


@pytest.fixture(scope="module")
def chains():
    # Long sequences and many labels, so that the oracle is called in batches.
    return make_sequences(
        n_samples=130, n_labels=60, min_length=150, max_length=190, random_state=0
    )


def batch_size_of(X, y):
    K = len({label for labels in y for label in labels})
    lengths = np.array([len(x) for x in X])
    return ChainProblem(
        np.vstack(X), ChainRanges(np.cumsum(lengths) - lengths, lengths), ChainModel(K)
    ).batch_size


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": MPBCFW(certificate_every=2)},
        {"solver": MPBCFW(sampling="gap", cache=True, average=True, certificate_every=2)},
        {"solver": "fw"},
        {"solver": MPBCFW(step="fw", certificate_every=2)},
    ],
    ids=["default", "gap", "batch", "fw"],
)
def test_n_jobs_does_not_change_the_fit(chains, parameters):
    X, y = chains
    assert batch_size_of(X, y) > 1
    one = ChainSSVM(lam=0.01, max_iter=5, random_state=0, **parameters)
    models = [clone(one).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3, -1)]
    for model in models[1:]:
        assert_same_bits(model, models[0])
        assert equal(model.predict(X), models[0].predict(X))


# Python oracles are called in processes; test_custom_jobs.py tests these.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "parameters",
    [{"solver": MPBCFW(step=step), "warm_start": "dual"} for step in STEPS]
    + [{"solver": "bcfw", "warm_start": "dual"}]
    + [{"solver": solver} for solver in ("fw", "ssg")],
    ids=str,
)
@pytest.mark.parametrize(
    "name",
    [
        n
        for n, e in TRAINED.items()
        if "oracle" not in e.required and e.estimator not in (AlignmentSSVM, MatchingSSVM)
    ],
)
def test_n_jobs_does_not_change_the_fit_of_any_estimator(name, parameters):
    # A pass uses each thread for at least eight visits. Other numbers: test_pass_threads.py.
    X, y = TRAINED[name].samples(64)
    models = [
        TRAINED[name].unfitted(n_jobs=n_jobs, max_iter=6, **parameters).fit(X, y)
        for n_jobs in (1, 3)
    ]
    assert_same_bits(*models)
    if "warm_start" in parameters:  # which keeps the dual weights
        one, other = (model._warm_state for model in models)
        for name in ("size", "alpha", "code"):
            np.testing.assert_array_equal(other[name], one[name], err_msg=name)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_in_several_threads_at_once(chains, rng):
    X, y = chains
    rows, labels = rng.standard_normal((200, 6)), rng.integers(0, 4, 200)
    fits = [
        (ChainSSVM(lam=0.1, max_iter=4 + k, n_jobs=1 + k % 2, random_state=k), X, y)
        for k in range(4)
    ] + [(MulticlassSSVM(lam=0.01 * (k + 1), random_state=k), rows, labels) for k in range(4)]
    sequential = [clone(model).fit(X, y) for model, X, y in fits]
    with ThreadPoolExecutor(8) as pool:
        at_once = list(pool.map(lambda fit: fit[0].fit(*fit[1:]), fits))
    for a, b in zip(at_once, sequential, strict=True):
        assert_same_bits(a, b)


def test_n_jobs_is_checked(chains):
    X, y = chains
    for n_jobs in (0, 1.5, "2"):
        with pytest.raises((ValueError, TypeError), match="n_jobs"):
            ChainSSVM(n_jobs=n_jobs).fit(X, y)


def test_an_oracle_that_raises_in_a_thread(rng):
    # The max-oracle finds that the mask forbids every labeling; any thread raises the same error.
    from sstruct._problems.core._decode import decode

    n, K = 64, 2
    mask = np.array([[False, True], [False, False]])
    lengths = np.full(n, 2)
    lengths[50] = 5
    X = rng.standard_normal((lengths.sum(), 3))
    problem = ChainProblem(
        X, ChainRanges(np.cumsum(lengths) - lengths, lengths), ChainModel(K, edge_mask=mask)
    )
    for n_threads in (1, 2, 4):
        with pytest.raises(
            ValueError, match="block 50: the masks and known labels forbid every labeling"
        ):
            decode(problem, np.zeros(problem.n_weights), n_threads)


def edge_chains():
    """Return sequences with features of transitions."""
    X, y = make_sequences(130, n_labels=50, min_length=80, max_length=100, random_state=0)
    rng = np.random.default_rng(1)
    return [(x, rng.standard_normal((len(x) - 1, 2))) for x in X], y


def label_sets():
    X, Y = make_multilabel_classification(200, 20, n_classes=18, random_state=0)
    return X / 10, Y


def graphs():
    rng = np.random.default_rng(2)
    edges = np.array([(u, v) for v in range(15) for u in range(v)])
    X = [(rng.standard_normal((15, 3)), edges) for _ in range(130)]
    return X, [rng.integers(0, 3, 15) for _ in X]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("make", "estimator"),
    [
        (edge_chains, ChainSSVM(rescaling="slack")),
        (label_sets, MultilabelSSVM(edges="full")),
        (graphs, GraphCRFSSVM(pairwise="full")),
        (graphs, GraphCRFSSVM(inference="fwmap")),
        (graphs, GraphCRFSSVM(inference="exact")),
    ],
    ids=["slack", "label sets", "graphs", "fwmap", "exact"],
)
def test_batches_in_threads_do_not_change_the_fit(make, estimator):
    X, y = make()
    one = clone(estimator).set_params(lam=0.01, max_iter=2, tol=0, random_state=0)
    assert one._structure().train(X, y, None).problem.batch_size > 1
    models = [clone(one).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3)]
    for model in models[1:]:
        assert_same_bits(model, models[0])
