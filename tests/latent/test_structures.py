"""Test hidden labels of each structure, with masks, hierarchies, states and decoders."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChainSSVM, GridCRFSSVM, LatentSSVM, MultilabelSSVM
from tests.latent.test_latent import chain, quietly


def two_modes(n, rng):
    """Return chains of two labels, each of which has two modes with opposite features."""
    centers = np.array([[2.0, 0.0], [0.0, 2.0]])
    X, y = [], []
    for _ in range(n):
        labels = rng.integers(2, size=rng.integers(3, 7))
        X.append(centers[labels] * rng.choice([-1, 1], size=(len(labels), 1)))
        X[-1] += 0.5 * rng.normal(size=X[-1].shape)
        y.append(labels)
    return X, y


def test_states_find_two_modes(rng):
    X, y = two_modes(60, rng)
    one, two = (
        LatentSSVM(ChainSSVM(lam=0.01, random_state=0), states_per_label=k, random_state=0)
        for k in (1, 2)
    )
    assert one.fit(X[:40], y[:40]).score(X[40:], y[40:]) < 0.85
    assert two.fit(X[:40], y[:40]).score(X[40:], y[40:]) > 0.95
    assert two.estimator_.classes_.tolist() == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert two.decision_function(X[:1])[0].shape == (len(X[0]), 2)
    best = [scores.argmax(axis=1) for scores in two.decision_function(X)]
    assert all(map(np.array_equal, best, two.predict(X)))


@pytest.mark.parametrize("n_states", [1, 2])
def test_known_labels_of_predictions_are_kept(data, n_states):
    X, _, partly = data
    latent = LatentSSVM(chain(), states_per_label=n_states, tol=0.1, random_state=0)
    found = quietly(latent.fit, X[:20], partly[:20]).predict(X, partly)
    for labels, known in zip(found, partly, strict=True):
        assert (labels == known)[known >= 0].all()


@pytest.mark.parametrize("n_states", [1, 2])
def test_masks_hold_for_completions(data, n_states):
    X, _, partly = data
    mask = np.ones((4, 4), dtype=bool)
    mask[0, 3] = False
    partly = [labels.copy() for labels in partly[:20]]
    for labels in partly:
        labels[1:][(labels[:-1] == 0) & (labels[1:] == 3)] = -1
    model = chain(transition_mask=mask)
    latent = LatentSSVM(model, states_per_label=n_states, tol=0.1, random_state=0)
    for labels in quietly(latent.fit, X[:20], partly).predict(X):
        assert not ((labels[:-1] == 0) & (labels[1:] == 3)).any()
    impossible = [np.array([0, 3]), *partly[1:]]
    with pytest.raises(ValueError, match=r"y\[0\] goes from 0 to 3 at node 1"):
        latent.fit([X[0][:2], *X[1:20]], impossible)


@pytest.mark.parametrize("solver", ["bcfw", "gdmm", "fw", "ssg", "cutting-plane"])
def test_no_solver_increases_the_objective(data, solver):
    X, _, partly = data
    latent = LatentSSVM(chain(lam=0.1, solver=solver, max_iter=20), max_rounds=3)
    quietly(latent.fit, X[:20], partly[:20])
    assert (np.diff(latent.history_["objective"]) <= 0).all()
    assert latent.score(X, data[1]) > 0.6


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("edges", ["full", "tree", [-1, 0, 1, -1]], ids=str)
def test_forms_of_label_sets(rng, edges, rescaling):
    X = rng.normal(size=(40, 3))
    Y = (X @ rng.normal(size=(3, 4)) > 0).astype(float)
    Y[:, 1] *= Y[:, 0]
    Y[:, 2] *= Y[:, 1]
    hidden = rng.random(Y.shape) < 0.4
    model = MultilabelSSVM(lam=0.05, edges=edges, rescaling=rescaling, random_state=0)
    latent, found = LatentSSVM(model, max_rounds=3), []
    for form in (
        np.where(hidden, np.nan, Y),
        np.where(hidden, -1, Y).astype(int),
        np.ma.array(Y, mask=hidden),
        pd.DataFrame(np.where(hidden, np.nan, Y), columns=list("abcd")),
        pd.DataFrame(np.where(hidden, np.nan, Y)).astype("Int64"),
        [[None if h else int(v) for h, v in zip(*row)] for row in zip(hidden, Y)],
    ):
        found.append(np.asarray(quietly(latent.fit, X, form).predict(X)))
        if isinstance(edges, str):  # in a hierarchy, other labels imply some hidden ones
            assert latent.n_hidden_ == hidden[~hidden.all(axis=1)].sum()
        assert np.array_equal(found[0], found[-1])
    assert np.array_equal(
        latent.fit(sparse.csr_array(X), Y).predict(X), latent.fit(X, Y).predict(X)
    )


@pytest.mark.parametrize("n_states", [1, 2])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"pairwise": "full"},
        {"pairwise": "directed"},
        {"inference": "fwmap"},
        {"inference": "exact"},
    ],
    ids=str,
)
def test_images_with_inexact_decoders(rng, parameters, n_states):
    y = rng.integers(3, size=(5, 4, 4))
    X = np.eye(3)[y] + 0.5 * rng.normal(size=(5, 4, 4, 3))
    partly = np.where(rng.random(y.shape) < 0.5, -1, y)
    grid = GridCRFSSVM(lam=0.1, max_iter=30, random_state=0, **parameters)
    latent = LatentSSVM(grid, states_per_label=n_states, max_rounds=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        latent.fit(X, partly)
    assert (np.diff(latent.history_["objective"]) <= 0).all()
    found = latent.predict(X, partly)
    assert (found == partly)[partly >= 0].all()
    assert latent.score(X, y) > 0.6


@pytest.mark.parametrize("edges", ["full", "tree", None], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_which_nothing_is_known_do_not_train(rng, edges, weighted):
    X = rng.normal(size=(40, 3))
    Y = (X @ rng.normal(size=(3, 3)) > 0).astype(float)
    partly, rest = Y.copy(), np.arange(40) >= 5
    partly[~rest] = np.nan
    model = MultilabelSSVM(lam=0.05, edges=edges, random_state=0)
    latent = LatentSSVM(model).fit(X, partly, *[np.ones(40)] * weighted)
    assert latent.n_hidden_ == 0
    assert latent.converged_
    plain = model.fit(X[rest], Y[rest])
    assert latent.objective_ == pytest.approx(plain.objective_, rel=0.02)
    assert np.mean(latent.predict(X) == plain.predict(X)) > 0.95
    # This also holds for a row of weight 0.
    weights = np.where(np.arange(40) == 0, 0.0, 1.0)
    partly[1:5] = Y[1:5]
    assert LatentSSVM(model).fit(X, partly, weights).n_hidden_ == 0
