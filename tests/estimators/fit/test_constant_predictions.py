"""Fits that predict one label for all training data raise a warning."""

import warnings

import numpy as np
import pytest

from sstruct import ChainSSVM, GraphCRFSSVM, GridCRFSSVM, MulticlassSSVM, MultilabelSSVM, Sequences

N = 60


def chains(rng, share=0.1):
    y = [np.where(rng.random(6) < share, "rare", "often") for _ in range(N)]
    return [rng.standard_normal((6, 2)) for _ in range(N)], y


def graphs(rng):
    X, y = chains(rng)
    path = np.column_stack([np.arange(5), np.arange(1, 6)])
    return [(x, path) for x in X], y


def grids(rng):
    X, y = chains(rng)
    return [x.reshape(2, 3, 2) for x in X], [labels.reshape(2, 3) for labels in y]


def rows(rng):
    X, y = chains(rng)
    return np.vstack(X), np.concatenate(y)


def sets(rng, scale=0.5):
    # With features this small, predictions are constant for a large lam in every draw.
    present = np.tile(np.arange(N) < 9, (3, 1))
    return scale * rng.standard_normal((N, 2)), rng.permuted(present, axis=1).T


MODELS = {
    "chains": (ChainSSVM, chains),
    "packed": (ChainSSVM, lambda rng: tuple(map(Sequences.from_list, chains(rng)))),
    "slack": (lambda **more: ChainSSVM(rescaling="slack", **more), chains),
    "rows as chains": (lambda **more: ChainSSVM(transitions=False, **more), rows),
    "graphs": (GraphCRFSSVM, graphs),
    "planes": (lambda **more: GraphCRFSSVM(pairwise="potts", **more), graphs),
    "images": (GridCRFSSVM, grids),
    "rows": (MulticlassSSVM, rows),
    "sets": (MultilabelSSVM, sets),
    "relaxed sets": (
        lambda **more: MultilabelSSVM(edges="full", **more),
        lambda rng: sets(rng, scale=1.0),
    ),
}


def fit_warnings(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(each.message) for each in caught if "predicts the" in str(each.message)]


def is_constant(model, X, y):
    found = model.predict(X)
    if isinstance(model, MultilabelSSVM):
        return (np.asarray(found) == np.asarray(found)[0]).all()
    return len(np.unique(np.concatenate([np.ravel(each) for each in found]))) == 1


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("lam", [1e-3, 0.1, 10.0])
def test_warning_for_constant_predictions(rng, kind, lam):
    make, data = MODELS[kind]
    X, y = data(rng)
    model = make(lam=lam, random_state=0)
    found = fit_warnings(model, X, y)
    assert model.status_ == "CONVERGED"
    assert len(found) == is_constant(model, X, y)
    if lam == 10.0 and kind != "relaxed sets":
        assert len(found) == 1
        assert "label" in found[0]
        assert "smaller lam, such as lam=0.3 (here 10)" in found[0]
        advice = ', or loss="balanced"' if kind == "sets" else ', or class_weight="balanced"'
        assert (advice in found[0]) == ("class_weight" in model.get_params())


def test_the_message_counts_nodes(rng):
    X, y = chains(rng)
    often = sum(np.sum(labels == "often") for labels in y)
    (found,) = fit_warnings(ChainSSVM(lam=10.0), X, y)
    assert f"the label 'often' for all 360 nodes of the training data, {often} of which" in found
    (found,) = fit_warnings(ChainSSVM(lam=10.0, class_weight={"often": 5, "rare": 1}), X, y)
    assert "class_weight" not in found


@pytest.mark.parametrize("loss", ["balanced", np.ones(3)], ids=["balanced", "costs"])
def test_the_advice_for_sets_respects_the_loss(rng, loss):
    (found,) = fit_warnings(MultilabelSSVM(lam=100.0, loss=loss, random_state=0), *sets(rng))
    assert "balanced" not in found


def test_no_warning_for_one_label_or_few_errors(rng):
    X, _ = chains(rng)
    same = [np.full(6, "often") for _ in range(N)]
    assert fit_warnings(ChainSSVM(lam=10.0, classes=["often", "rare"]), X, same) == []
    same[0][0] = "rare"
    assert fit_warnings(ChainSSVM(lam=10.0), X, same) == []


def test_rare_label_in_a_late_sample_is_found(rng):
    # The only sample with other labels is not among the first ones that are predicted.
    X, y = [np.ones((1, 1)) for _ in range(999)], [["a"] for _ in range(999)]
    X.insert(501, -np.ones((30, 1)))
    y.insert(501, ["b"] * 30)
    model = ChainSSVM(lam=1e-3, random_state=0)
    assert fit_warnings(model, X, y) == []
    assert set(model.predict(X)[501]) == {"b"}
