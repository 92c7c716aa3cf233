"""LatentSSVM with a user-defined oracle that completes hidden labels."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from sstruct import ChainSSVM, LatentSSVM, StructuredSVM
from tests.latent.test_objective import HIDDEN, latent_objective, partly_labeled_chains, rounds


class Chains:
    """An oracle of chains with two labels; a labeling is (labels, known labels)."""

    def __init__(self, form=np.ravel):
        self.form = form

    def joint_feature(self, x, y):
        labels = y[0]
        coef, edge = np.zeros((2, x.shape[1])), np.zeros((2, 2))
        np.add.at(coef, labels, x)
        np.add.at(edge, (labels[:-1], labels[1:]), 1)
        return self.form(np.concatenate([coef.ravel(), edge.ravel()])[np.newaxis])

    def loss(self, y_true, y):
        return float((y_true[1] != y[0])[y_true[1] != HIDDEN].sum())

    def labelings(self, x):
        for labels in itertools.product((0, 1), repeat=len(x)):
            yield np.array(labels), None

    def score(self, x, w, y):
        return float(np.squeeze(self.joint_feature(x, y) @ w))

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        def value(y):
            return self.score(x, w, y) + (
                0 if y_true is None else loss_weight * self.loss(y_true, y)
            )

        return max(self.labelings(x), key=value)

    def complete(self, x, y, w):
        fitting = [y_ for y_ in self.labelings(x) if self.loss(y, y_) == 0]
        found = fitting[0] if w is None else max(fitting, key=lambda y_: self.score(x, w, y_))
        return found[0], y[1]


class Wrong(Chains):
    """An oracle that completes hidden labels by the labeling with the lowest score."""

    def complete(self, x, y, w):
        return super().complete(x, y, None if w is None else -w)


def data(seed=3):
    X, y = partly_labeled_chains(seed)
    return X, [(None, labels) for labels in y]


def model(oracle, **parameters):
    return StructuredSVM(oracle, **{"lam": 0.1, "tol": 1e-3, "random_state": 0} | parameters)


@pytest.mark.parametrize("form", [np.ravel, sparse.csr_array], ids=["dense", "sparse"])
def test_the_objective_equals_enumeration(form):
    (X, y), oracle, last = data(), Chains(form), np.inf
    for fit in rounds(LatentSSVM(model(oracle)), X, y, most=4):
        w, samples = fit.estimator_.w_, []
        for x, truth in zip(X, y):
            losses = [oracle.loss(truth, labeling) for labeling in oracle.labelings(x)]
            scores = [oracle.score(x, w, labeling) for labeling in oracle.labelings(x)]
            samples.append([(s, loss, loss == 0) for s, loss in zip(scores, losses)])
        assert fit.objective_ == pytest.approx(
            latent_objective(fit.estimator_, samples, None, 0.1), rel=1e-9
        )
        assert fit.objective_ <= last
        last = fit.objective_
    assert fit.n_rounds_ > 1


def test_results_agree_with_chains():
    X, y = data()
    plain = ChainSSVM(lam=0.1, tol=1e-6, fit_intercept=False, boundaries=False, ignore_label=HIDDEN)
    plain.set_params(classes=[0, 1], random_state=0, max_iter=10_000)
    labels = [labels for _, labels in y]
    known = [i for i in range(len(X)) if (labels[i] != HIDDEN).any()]
    X, y, labels = ([each[i] for i in known] for each in (X, y, labels))
    own = LatentSSVM(model(Chains(), tol=1e-6, max_iter=10_000), tol=1e-6).fit(X, y)
    chain = LatentSSVM(plain, tol=1e-6).fit(X, labels)
    found = [labels for labels, _ in own.predict(X)]
    # Both fits end at local minima, from different starts.
    assert own.objective_ == pytest.approx(chain.objective_, rel=0.1)
    assert np.mean(np.concatenate(found) == np.concatenate(list(chain.predict(X)))) > 0.8


def test_without_hidden_labels_it_is_the_plain_fit():
    X, y = data()
    y = [(np.abs(labels), np.abs(labels)) for _, labels in y]
    latent = LatentSSVM(model(Chains())).fit(X, y)
    assert latent.n_rounds_ == 1
    assert np.array_equal(latent.estimator_.w_, clone(model(Chains())).fit(X, y).w_)


def test_samples_of_weight_zero_are_not_completed():
    X, y = data()
    weights = np.ones(len(X))
    weights[2] = 0
    latent = LatentSSVM(model(Chains())).fit(X, [*y[:2], "nothing", *y[3:]], weights)
    others = [i for i in range(len(X)) if i != 2]
    alone = LatentSSVM(model(Chains())).fit([X[i] for i in others], [y[i] for i in others])
    assert np.array_equal(latent.estimator_.w_, alone.estimator_.w_)
    assert latent.n_hidden_ == len(X) - 1


def test_wrong_completions_are_found():
    with pytest.raises(ValueError, match="a completion was not the labeling of highest score"):
        LatentSSVM(model(Wrong())).fit(*data())


def test_oracles_without_completions():
    class Plain(Chains):
        complete = None

    with pytest.raises(TypeError, match=r"requires .* complete\(x, y, w\); the oracle has no"):
        LatentSSVM(model(Plain())).fit(*data())
