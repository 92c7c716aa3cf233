"""`init`: hidden labels that another model completes for the first round."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
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
from tests.estimators.test_tree import candidates
from tests.latent.test_habits import hidden
from tests.latent.test_latent import chain, quietly
from tests.latent.test_objective import HIDDEN, chain_labelings, latent_objective, rounds


def kernel(model, **parameters):
    """Return a pipeline of kernel features of the nodes and a model."""
    map = Nystroem(**{"gamma": 0.5, "n_components": 20, "random_state": 0} | parameters)
    return make_pipeline(PerNode(map), model)


@pytest.mark.parametrize(
    "init", [chain(lam=0.1), kernel(chain(lam=0.001))], ids=["chain", "kernel"]
)
def test_the_first_round_is_a_fit_of_its_completion(data, init):
    X, y = hidden(data)
    model = chain(tol=1e-8, max_iter=100_000)
    latent = quietly(LatentSSVM(model, init=init, max_rounds=1).fit, X, y)
    completed = clone(init).fit(X, y).predict(X, y_partial=y)
    # A node of weight 0 counts in no loss, as a hidden one. One sequence has no label.
    some = [i for i, labels in enumerate(y) if (labels != HIDDEN).any()]
    weights = [(y[i] != HIDDEN).astype(float) for i in some]
    plain = model.fit([X[i] for i in some], [completed[i] for i in some], weights)
    assert latent.history_["bound"][0] == pytest.approx(plain.objective_, rel=1e-6)
    np.testing.assert_allclose(latent.estimator_.w_, plain.w_, atol=1e-3)
    other = quietly(LatentSSVM(model, max_rounds=1).fit, X, y)
    assert abs(other.history_["bound"][0] / plain.objective_ - 1) > 1e-3


def test_the_objective_is_that_of_enumeration_and_never_rises(rng):
    X = [rng.normal(size=(rng.integers(2, 5), 2)) for _ in range(12)]
    full = [(x[:, 0] * x[:, 1] > 0).astype(int) for x in X]  # a kernel's labels, no linear model's
    y = [np.where(rng.random(len(labels)) < 0.5, HIDDEN, labels) for labels in full]
    model = chain(lam=0.05, tol=1e-4, max_iter=10_000)
    last = np.inf
    for fit in rounds(LatentSSVM(model, init=kernel(chain(lam=0.001)), tol=1e-4), X, y):
        samples = [
            [*chain_labelings(fit.estimator_, x, labels, 1 - np.eye(2))]
            for x, labels in zip(X, y) if (labels != HIDDEN).any()
        ]  # fmt: skip
        expected = latent_objective(fit.estimator_, samples, None, 0.05)
        assert fit.objective_ == pytest.approx(expected, rel=1e-9)
        assert fit.objective_ <= last
        last = fit.objective_


def test_it_stays_as_it_was(data):
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
    latent.fit(*hidden(data))
    assert latent.init.get_params()["chainssvm__random_state"] is None


def test_samples_of_weight_zero_are_left_out(data):
    X, y = hidden(data)
    weights = np.arange(len(X)) % 2
    latent = LatentSSVM(chain(), init=chain(lam=0.1), tol=0.01)
    some = quietly(latent.fit, X, y, weights).estimator_.w_
    rest = quietly(clone(latent).fit, X[1::2], y[1::2]).estimator_.w_
    np.testing.assert_allclose(some, rest, atol=1e-9)


@pytest.mark.parametrize(
    "init",
    [
        chain(lam="auto", solver="perceptron"),
        chain(classes=[0, 1, 2, 3, 9]),
        LatentSSVM(chain(), states_per_label=2, tol=0.1, random_state=0),
        LatentSSVM(chain(), init=chain(lam=0.1), tol=0.1),
        make_pipeline(PerNode(StandardScaler()), kernel(LatentSSVM(chain(), tol=0.1))),
        make_pipeline(chain()),
    ],
    ids=["perceptron", "classes", "states", "init", "pipelines", "one step"],
)
@pytest.mark.parametrize("n_states", [1, 2])
def test_models_to_begin_with(data, init, n_states):
    latent = LatentSSVM(chain(), states_per_label=n_states, init=init, tol=0.1, random_state=0)
    quietly(latent.fit, *hidden(data))
    assert latent.score(data[0], data[1]) > 0.6
    assert latent.classes_.tolist() == [0, 1, 2, 3]


def test_starts_and_weights(data):
    one = LatentSSVM(chain(), init=kernel(chain()), tol=0.01, random_state=0).fit(*hidden(data))
    more = quietly(clone(one).set_params(n_init=3).fit, *hidden(data))
    assert more.objective_ <= one.objective_
    weighted = [np.ones(len(x)) for x in data[0][:30]]
    assert np.array_equal(clone(one).fit(*hidden(data), weighted).estimator_.w_, one.estimator_.w_)


def test_it_is_not_used_where_nothing_is_hidden(data):
    X, y, _ = data
    latent = LatentSSVM(chain(), init=kernel(chain(), n_components=10**9)).fit(X, y)
    assert np.array_equal(latent.estimator_.w_, chain().fit(X, y).w_)


def squares(X):
    """Features of trees' candidates, and their squares."""
    return [dict(x, features=[np.hstack([f, f**2]) for f in x["features"]]) for x in X]


def negatives(X):
    """Trees with the opposite of each candidate behind them."""
    signs = {"features": -1, "positions": 1}
    return [
        x | {k: [np.concatenate([p, s * p]) for p in x[k]] for k, s in signs.items()} for x in X
    ]


def test_other_structures(rng):
    X, y = candidates(rng, [-1, 0, 0], n=12)
    y = [np.where(rng.random(len(states)) < 0.4, HIDDEN, states) for states in y]
    tree = TreeSSVM(parents=[-1, 0, 0], lam=0.1, random_state=0)
    LatentSSVM(tree, init=make_pipeline(FunctionTransformer(squares), tree)).fit(X, y)
    # It completes parts with candidates that the estimator does not have.
    with pytest.raises(ValueError, match="estimator refuses what init completes: labels must be"):
        LatentSSVM(tree, init=make_pipeline(FunctionTransformer(negatives), tree)).fit(X, y)
    rows = rng.normal(size=(60, 2))
    sets = np.column_stack([rows[:, 0] > 0, rows[:, 0] * rows[:, 1] > 0]).astype(float)
    partly = np.where(rng.random(sets.shape) < 0.4, np.nan, sets)
    latent = LatentSSVM(MultilabelSSVM(lam=0.01, random_state=0), max_rounds=2)
    latent.set_params(init=make_pipeline(Nystroem(n_components=20, random_state=0), clone(latent)))
    assert quietly(latent.fit, rows, partly).n_rounds_ >= 1
    images = np.eye(2)[rng.integers(2, size=(4, 3, 3))] + 0.5 * rng.normal(size=(4, 3, 3, 2))
    labels = np.where(rng.random((4, 3, 3)) < 0.5, HIDDEN, images.argmax(axis=3))
    grid = GridCRFSSVM(lam=0.1, ignore_label=HIDDEN, random_state=0)
    assert quietly(LatentSSVM(grid, init=kernel(grid), tol=0.1).fit, images, labels).n_hidden_ > 0


class Oracle:
    """Labels of one node each, hidden where None."""

    def joint_feature(self, x, y):
        return np.concatenate([x * (y == k) for k in (0, 1)])

    def loss(self, y, y_hat):
        return float(y is not None and y != y_hat)

    def argmax(self, x, y, w):
        return int(np.argmax([w @ self.joint_feature(x, k) for k in (0, 1)]))

    def complete(self, x, y, w):
        return 0 if y is None else y


MASK = np.ones((4, 4), dtype=bool)
MASK[0, 3] = False


@pytest.mark.parametrize(
    ("estimator", "init", "error", "message"),
    [
        (chain(), "kernel", TypeError, "init must be an estimator of this package, or a pipeline"),
        (chain(), StandardScaler(), TypeError, "init must be an estimator of this package"),
        (chain(), make_pipeline(StandardScaler()), TypeError, "init must be an estimator"),
        (chain(), ChainSSVM, TypeError, "init must be an estimator"),
        (chain(), chain(lam=-1), ValueError, "lam must be finite and above 0"),
        (chain(), kernel(chain(lam=-1), n_components=10**9), ValueError, "lam must be finite"),
        (chain(), LatentSSVM(chain(), tol=-1), ValueError, "tol must be at least 0"),
        (chain(), LatentSSVM(chain(), init=3), TypeError, "init must be an estimator"),
        (chain(), MulticlassSSVM(), TypeError, "no hidden labels for MulticlassSSVM"),
        (chain(), ChainSSVM(), ValueError, "init found the label -1, which estimator does not"),
        (chain(), GraphCRFSSVM(ignore_label=-1), ValueError, "X must be a list of graphs"),
    ],
)
def test_what_is_refused(data, estimator, init, error, message):
    latent = LatentSSVM(estimator, init=init)
    with pytest.raises(error, match=message):
        latent.fit(*hidden(data))
    assert not hasattr(latent, "estimator_")


def test_labelings_that_the_estimator_forbids(data):
    X, y, _ = data
    partly = [np.where(np.arange(len(labels)) % 2, HIDDEN, labels) for labels in y]
    latent = LatentSSVM(chain(transition_mask=MASK), init=chain())
    refused = r"estimator refuses what init completes: y\[\d+\] goes from 0 to 3"
    with pytest.raises(ValueError, match=refused):
        latent.fit(X, partly)


def test_labels_of_another_structure(rng):
    X, y = rng.normal(size=(8, 3, 2)), np.tile([0, 1, HIDDEN], (8, 1))
    rows = FunctionTransformer(np.reshape, kw_args={"shape": (8, 6)})
    latent = LatentSSVM(chain(), init=make_pipeline(rows, MultilabelSSVM(edges=None)))
    with pytest.raises(
        ValueError, match=r"init must label the same .* as estimator, \(24,\) labels"
    ):
        latent.fit(X, y)


def test_oracles_begin_by_themselves(rng):
    rows, y = rng.normal(size=(8, 2)), np.arange(8) % 2
    oracle = StructuredSVM(Oracle())
    with pytest.raises(TypeError, match="init is not for StructuredSVM"):
        LatentSSVM(oracle, init=oracle).fit(list(rows), [None, *y[1:].tolist()])
