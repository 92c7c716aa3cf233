"""Test `init`, a model that completes hidden labels before the first round."""

import pickle
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    LatentSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    StructuredSVM,
    TreeSSVM,
)
from sstruct.preprocessing import PerNode
from tests.estimators.tree.test_tree import candidates
from tests.latent.test_conventions import hidden
from tests.latent.test_latent import chain, quietly
from tests.latent.test_objective import HIDDEN, chain_labelings, check_rounds


def kernel(model, **parameters):
    """Return a pipeline of kernel features of the nodes and a model."""
    map = Nystroem(**{"gamma": 0.5, "n_components": 20, "random_state": 0} | parameters)
    return make_pipeline(PerNode(map), model)


def bound_of(model, X, y, completed):
    """Return the objective of a fit to completed labels, in which hidden ones have no loss."""
    # Nodes of weight 0 have no loss; sequences without a known label are left out.
    some = [i for i, labels in enumerate(y) if (labels != HIDDEN).any()]
    weights = [(y[i] != HIDDEN).astype(float) for i in some]
    plain = quietly(clone(model).fit, [X[i] for i in some], [completed[i] for i in some], weights)
    return plain.objective_


TIGHT = chain(tol=1e-8, max_iter=100_000)


@pytest.mark.parametrize(
    "init",
    [
        chain(lam=0.1),
        chain(lam="auto", solver="perceptron"),
        chain(lam=0.1, classes=[0, 1, 2, 3, 9]),
        LatentSSVM(chain(), states_per_label=2, tol=0.1, random_state=0),
        LatentSSVM(chain(), init=chain(lam=0.1), tol=0.1),
        kernel(chain(lam=0.001)),
        make_pipeline(PerNode(StandardScaler()), kernel(LatentSSVM(chain(), tol=0.1))),
        make_pipeline(chain(lam=0.1)),
    ],
    ids=["chain", "perceptron", "classes", "states", "init", "kernel", "pipelines", "one step"],
)
def test_the_first_round_is_a_fit_to_its_completion(data, init):
    X, y = hidden(data)
    latent = quietly(LatentSSVM(TIGHT, init=init, max_rounds=1).fit, X, y)
    completed = quietly(clone(init).fit, X, y).predict(X, y_partial=y)
    bound = latent.history_["bound"][0]
    assert bound == pytest.approx(bound_of(TIGHT, X, y, completed), rel=1e-6)
    other = quietly(LatentSSVM(TIGHT, max_rounds=1).fit, X, y)
    assert abs(other.history_["bound"][0] / bound - 1) > 1e-4


def test_the_objective_equals_enumeration_and_never_increases(rng):
    X = [rng.normal(size=(rng.integers(2, 5), 2)) for _ in range(12)]
    full = [(x[:, 0] * x[:, 1] > 0).astype(int) for x in X]  # not linearly separable
    y = [np.where(rng.random(len(labels)) < 0.5, HIDDEN, labels) for labels in full]
    model = chain(lam=0.05, pairwise_scale=1, tol=1e-4, max_iter=10_000)

    def labelings(model, i):
        return chain_labelings(model, X[i], y[i], 1 - np.eye(2))

    latent = LatentSSVM(model, init=kernel(chain(lam=0.001)), tol=1e-4)
    check_rounds(latent, X, y, labelings, [i for i in range(12) if (y[i] != HIDDEN).any()])


def test_init_is_not_modified(data):
    init = kernel(chain())
    latent = LatentSSVM(chain(), init=init, tol=0.1).fit(*hidden(data))
    assert latent.init is init
    assert not hasattr(init[-1], "w_")
    assert latent.get_params()["init__chainssvm__lam"] == 0.01
    again = pickle.loads(pickle.dumps(latent))
    assert all(map(np.array_equal, latent.predict(data[0]), again.predict(data[0])))


def test_seeds(data):
    latent = LatentSSVM(chain(), tol=0.1, random_state=3)
    latent.set_params(init=kernel(chain(random_state=None), random_state=None))
    a, b = (clone(latent).fit(*hidden(data)).estimator_.w_ for _ in range(2))
    assert np.array_equal(a, b)
    c = latent.set_params(random_state=4).fit(*hidden(data)).estimator_.w_
    assert not np.array_equal(a, c)
    assert latent.init.get_params()["chainssvm__random_state"] is None


def test_samples_of_weight_zero_are_left_out(data):
    X, y = hidden(data)
    weights = np.arange(len(X)) % 2
    latent = LatentSSVM(chain(), init=chain(lam=0.1), tol=0.01)
    some = quietly(latent.fit, X, y, weights).estimator_.w_
    rest = quietly(clone(latent).fit, X[1::2], y[1::2]).estimator_.w_
    np.testing.assert_allclose(some, rest, atol=1e-9)  # up to rounding


def test_init_with_several_states_per_label(data):
    latent = LatentSSVM(chain(), states_per_label=2, max_rounds=1, random_state=0)
    own = quietly(latent.fit, *hidden(data)).history_["bound"][0]
    latent.set_params(init=kernel(chain(lam=0.001)))
    assert quietly(latent.fit, *hidden(data)).history_["bound"][0] != own
    assert latent.classes_.tolist() == [0, 1, 2, 3]


class Spy(ChainSSVM):
    """A ChainSSVM that stores the sample weights of its fits."""

    given: ClassVar = []

    def fit(self, X, y, sample_weight=None):
        self.given.append(sample_weight)
        return super().fit(X, y, sample_weight)


def test_starts_and_weights(data):
    X, y = hidden(data)
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    Spy.given.clear()
    spy = Spy(lam=0.1, ignore_label=HIDDEN, random_state=0)
    latent = LatentSSVM(chain(), init=spy, n_init=3, tol=0.01, random_state=0)
    quietly(latent.fit, X, y, weights)
    first, *others = Spy.given
    assert np.array_equal(first, weights)
    assert len(others) == 2
    assert not any(np.allclose(each / weights, (each / weights)[0]) for each in others)


def test_init_completes_labels_of_the_estimator():
    X = [np.array([[1.0], [-50.0], [0.9]]), *[np.array([[1.0], [1.1], [0.9]])] * 5]
    y = [[0, -1, 0], [1, 0, 1], *[[0, 1, 0], [1, 0, 1]] * 2]
    alone = {"transitions": False, "boundaries": False, "fit_intercept": False}
    other = ChainSSVM(classes=[0, 1, 7], ignore_label=-1, **alone)
    latent = LatentSSVM(ChainSSVM(classes=[0, 1], ignore_label=-1), init=other)
    with pytest.raises(ValueError, match="init: a hidden label was completed as 7, which is not a"):
        latent.fit(X, y)


def test_init_is_not_used_without_hidden_labels(data):
    X, y, _ = data
    latent = LatentSSVM(chain(), init=kernel(chain(), n_components=10**9)).fit(X, y)
    assert np.array_equal(latent.estimator_.w_, chain().fit(X, y).w_)


def squares(X):
    """Return trees whose features are followed by their squares."""
    return [dict(x, features=[np.hstack([f, f**2]) for f in x["features"]]) for x in X]


def negatives(X):
    """Return trees in which each candidate is followed by its negative."""
    signs = {"features": -1, "positions": 1}
    return [
        x | {k: [np.concatenate([p, s * p]) for p in x[k]] for k, s in signs.items()} for x in X
    ]


def test_other_structures(rng):
    X, y = candidates(rng, [-1, 0, 0], n=24)
    y = [np.where(rng.random(len(states)) < 0.4, HIDDEN, states) for states in y]
    tree = TreeSSVM(parents=[-1, 0, 0], lam=0.1, random_state=0)
    own = quietly(LatentSSVM(tree, max_rounds=1).fit, X, y)
    latent = LatentSSVM(tree, init=make_pipeline(FunctionTransformer(squares), tree), max_rounds=1)
    assert quietly(latent.fit, X, y).history_["bound"][0] != own.history_["bound"][0]
    # init completes parts with candidates that the estimator does not have.
    with pytest.raises(ValueError, match=r"is invalid for estimator: part \d of block \d+ has "):
        LatentSSVM(tree, init=make_pipeline(FunctionTransformer(negatives), tree)).fit(X, y)
    rows = rng.normal(size=(60, 2))
    sets = np.column_stack([rows[:, 0] > 0, rows[:, 0] * rows[:, 1] > 0]).astype(float)
    partly = np.where(rng.random(sets.shape) < 0.4, np.nan, sets)
    latent = LatentSSVM(MultilabelSSVM(lam=0.001, random_state=0), max_rounds=1)
    own = quietly(latent.fit, rows, partly).history_["bound"][0]
    init = make_pipeline(Nystroem(gamma=1, n_components=30, random_state=0), clone(latent))
    completed = quietly(clone(init).fit, rows, partly).predict(rows)
    assert (completed == sets).mean() > (latent.predict(rows) == sets).mean()
    given = quietly(latent.set_params(init=init).fit, rows, partly)
    assert given.history_["bound"][0] != own
    images = np.eye(2)[rng.integers(2, size=(4, 6, 6))] + 1.5 * rng.normal(size=(4, 6, 6, 2))
    labels = np.where(rng.random((4, 6, 6)) < 0.5, HIDDEN, images.argmax(axis=3))
    grid = GridCRFSSVM(lam=0.1, ignore_label=HIDDEN, random_state=0)
    bounds = [
        quietly(LatentSSVM(grid, init=init, max_rounds=1).fit, images, labels).history_["bound"][0]
        for init in (None, kernel(clone(grid).set_params(lam=0.001)))
    ]
    assert bounds[0] != bounds[1]


MASK = np.ones((4, 4), dtype=bool)
MASK[0, 3] = False


def never(X):
    raise AssertionError("X was transformed before the validation ended")


def unfittable(model):
    """Return a pipeline whose fit fails, for errors that are raised before init is fitted."""
    return make_pipeline(FunctionTransformer(never), model)


@pytest.mark.parametrize(
    ("estimator", "init", "error", "message"),
    [
        (chain(), "kernel", TypeError, "init must be an estimator of this package, or a pipeline"),
        (chain(), StandardScaler(), TypeError, "init must be an estimator of this package"),
        (chain(), make_pipeline(StandardScaler()), TypeError, "init must be an estimator"),
        (chain(), ChainSSVM, TypeError, "init must be an estimator"),
        (chain(), Pipeline([]), TypeError, "init must be an estimator"),
        (chain(), chain(lam=-1), ValueError, "init: lam must be finite and above 0"),
        (chain(), unfittable(chain(lam=-1)), ValueError, "init: lam must be finite"),
        (chain(), LatentSSVM(chain(), tol=-1), ValueError, "init: tol must be at least 0"),
        (chain(), LatentSSVM(chain(), init=3), TypeError, "init: init must be an estimator"),
        (chain(), LatentSSVM(chain(), init=chain(lam=-1)), ValueError, "init: init: lam must be"),
        (chain(), MulticlassSSVM(), TypeError, "init: LatentSSVM does not support Multi"),
        (chain(), ChainSSVM(), ValueError, "ChainSSVM has 0 hidden labels .* ignore_label"),
        (chain(), GraphCRFSSVM(ignore_label=-1), ValueError, "init: X must be a list of graphs"),
        (chain(loss=np.ones((9, 9))), unfittable(chain()), ValueError, r"^loss has shape \(9, 9\)"),
        (chain(), StructuredSVM(None), TypeError, "StructuredSVM does not support init and"),
        (
            chain(),
            LatentSSVM(StructuredSVM(None)),
            TypeError,
            "StructuredSVM does not support init",
        ),
        (StructuredSVM(None), chain(), TypeError, "StructuredSVM does not support init"),
    ],
)
def test_invalid_input(data, estimator, init, error, message):
    latent = LatentSSVM(estimator, init=init)
    with pytest.raises(error, match=message):
        latent.fit(*hidden(data))
    assert not hasattr(latent, "estimator_")


def test_labelings_that_the_estimator_forbids(data):
    X, y, _ = data
    partly = [np.where(np.arange(len(labels)) % 2, HIDDEN, labels) for labels in y]
    latent = LatentSSVM(chain(transition_mask=MASK), init=chain())
    message = r"the completion by init is invalid for estimator: y\[\d+\] goes from 0 to 3"
    with pytest.raises(ValueError, match=message):
        latent.fit(X, partly)


def test_labels_of_another_structure(rng):
    X, y = rng.normal(size=(8, 3, 2)), np.tile([0, 1, HIDDEN], (8, 1))
    rows = FunctionTransformer(lambda X: X.reshape(8, 6))
    latent = LatentSSVM(chain(), init=make_pipeline(rows, MultilabelSSVM(edges=None)))
    with pytest.raises(
        ValueError, match=r"init: MultilabelSSVM has labels of shape \(8, 3\), .* \(24,\)"
    ):
        latent.fit(X, y)
