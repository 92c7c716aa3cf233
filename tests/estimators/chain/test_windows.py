"""Test ChainSSVM with windows of long chains that overlap in one free label.

Tests of both windows and tiles are here, too.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from sstruct import ChainSSVM, LatentSSVM
from sstruct._estimators.chain import chain_training
from sstruct.solvers import MPBCFW
from tests.estimators.same_bits import assert_same_bits
from tests.reference import brute_force, dual_qp
from tests.registry import EXAMPLES

K = 3
TIGHT = {"lam": 0.1, "tol": 1e-7, "max_iter": 20_000, "random_state": 0}
MODEL = brute_force.Model(K)
MASK = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
cut = pytest.mark.parametrize(
    "example", [EXAMPLES["chain"], EXAMPLES["grid"]], ids=["chain", "grid"]
)


def make(rng, lengths=(7, 1, 5, 4, 3, 6), *, model=MODEL, ignored=False, F=2):
    X = [rng.standard_normal((length, F)) for length in lengths]
    y = []
    for length in lengths:
        choices = brute_force.labelings(length, model)
        y.append(np.array(choices[rng.integers(len(choices))]))
    if ignored:
        y[0][1], y[2][0], y[3][3], y[5][4] = -1, -1, -1, -1
    return X, y


CASES = {
    "plain": {},
    "share of wrong nodes": {"loss": "hamming", "ignored": True},
    "costs": {"loss": [[0, 1, 2], [1, 0, 1], [3, 1, 0]], "ignored": True},
    "weights": {"weights": [0.5, 1.0, 0.0, 3.0, 1.0, 2.0], "loss": "hamming"},
    "weights of nodes": {"of_nodes": True, "loss": "hamming"},
    "classes": {"class_weight": {0: 2.5, 2: 0.25}, "ignored": True},
    "mask": {"model": brute_force.Model(K, edge_mask=MASK)},
    "no boundaries": {"model": brute_force.Model(K, boundaries=False)},
    "no bias": {"model": brute_force.Model(K, bias=False)},
    "edge features": {"edges": True},
    "sparse": {"storage": sparse.csr_matrix},
    "bcfw": {"solver": "bcfw"},
    "cache": {"solver": MPBCFW(cache=True, sampling="gap", step="corrective")},
}


@pytest.mark.parametrize("window_size", [1, 2, 4])
@pytest.mark.parametrize("case", CASES)
def test_the_optimum_over_windows_is_reached(rng, case, window_size):
    options = {"model": MODEL, "ignored": False, **CASES[case]}
    model, ignored = options.pop("model"), options.pop("ignored")
    X, y = make(rng, model=model, ignored=ignored)
    storage = options.pop("storage", np.asarray)
    given, edges, factors = [storage(x) for x in X], None, None
    if options.pop("edges", False):
        edges = [rng.standard_normal((len(x) - 1, 2)) for x in X]
        given = list(zip(X, edges, strict=True))
    weights = sample_weight = options.pop("weights", None)
    if options.pop("of_nodes", False):
        sample_weight = factors = [rng.choice([0.5, 1.0, 3.0], len(x)) for x in X]
    estimator = ChainSSVM(pairwise_scale=1,
        **TIGHT, window_size=window_size, ignore_label=-1, transition_mask=model.edge_mask,
        boundaries=model.boundaries, fit_intercept=model.bias, classes=range(K), **options,
    ).fit(given, y, sample_weight)  # fmt: skip
    objective = {
        "loss": options.get("loss", "hamming-count"), "class_weight": options.get("class_weight"),
        "node_weights": factors, "edge_features": edges,
    }  # fmt: skip
    terms = brute_force.blocks(X, y, model, weights=weights, window_size=window_size, **objective)
    dual_qp.check_optimum(estimator, terms)
    whole = brute_force.blocks(X, y, model, weights=weights, **objective)
    assert len(terms) > len(whole)
    expected = brute_force.primal(estimator.w_, 0.1, whole)
    assert estimator.whole_objective_ == pytest.approx(expected, rel=1e-9)
    assert estimator.whole_objective_ <= estimator.objective_ * (1 + 1e-12)


def test_the_bound_holds_for_all_weights(rng):
    X, y = make(rng, model=brute_force.Model(K, edge_mask=MASK))
    model = brute_force.Model(K, edge_mask=MASK)
    whole = brute_force.blocks(X, y, model)
    for window_size in (1, 2, 3):
        terms = brute_force.blocks(X, y, model, window_size=window_size)
        for _ in range(5):
            w = rng.standard_normal(terms[0].phi.shape[1])
            bound = brute_force.primal(w, 0.1, terms)
            assert bound >= brute_force.primal(w, 0.1, whole) - 1e-12
            fitted = ChainSSVM(lam=0.1, window_size=window_size, transition_mask=MASK, tol=1)
            problem = fitted._structure().train(X, y, None).problem
            padded = problem.layout.padded(w)
            values = [problem.best_code(i, padded)[1] for i in range(problem.n_blocks)]
            truths = sum((block.phi[block.truth] @ w) for block in terms)
            hinge = (sum(values) - truths) / len(X)
            assert hinge + 0.05 * w @ w == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("lam", ["auto", 0.05])
@pytest.mark.parametrize("window_size", ["auto", 7, 10**30])
@cut
def test_one_window_a_sample_is_the_whole_sample(example, window_size, lam):
    X, y = example.samples(30)
    model = example.unfitted(lam=lam, max_iter=1000)
    assert_same_bits(
        clone(model).set_params(window_size=window_size).fit(X, y),
        clone(model).set_params(window_size=None).fit(X, y),
    )
    assert not hasattr(model.fit(X, y), "whole_objective_")


def test_lam_counts_the_nodes_of_windows(rng):
    X = list(rng.normal(size=(4, 6, 3)))
    y = [rng.integers(3, size=6) for _ in X]
    weights = np.array([1000, 2000, 0, 3000])
    for pairwise_scale, power in ((1.0, 0.2), ("auto", 1 / 3)):
        model = ChainSSVM(pairwise_scale=pairwise_scale, tol=1)
        lam = clone(model).set_params(window_size=None).fit(X, y, weights).lam_
        for window_size, nodes in ((1, 1), (2, 2), (3, 3), (4, 3), (6, 6)):
            model.set_params(window_size=window_size).fit(X, y, weights)
            assert model.lam_ == pytest.approx(lam * (nodes / 6) ** power)


def long(rng, lengths=(1001, 1000, 40, 1300)):
    y = [np.repeat(rng.integers(0, K, length), 3)[:length] for length in lengths]
    return [np.eye(K)[labels] + rng.standard_normal((len(labels), K)) for labels in y], y


def test_auto_cuts_chains_of_more_than_1000_nodes(rng):
    X, y = long(rng)
    data = ChainSSVM()._structure().train(X, y, None).data.arrays()
    start, length = data[2:4]
    own = np.diff(np.r_[start, sum(map(len, y))])
    sizes = [166, 167, 167, 167, 167, 167, 1000, 40, 185, 186, 186, 185, 186, 186, 186]
    assert own.tolist() == sizes
    assert (length - own).tolist() == [1] * 5 + [0] * 3 + [1] * 6 + [0]


def test_auto_windows_do_not_depend_on_other_samples(rng):
    # Otherwise warm starts could not add samples.
    X, y = long(rng)
    model = ChainSSVM(lam=1.0, tol=0.1, warm_start=True, random_state=0)
    model.fit(X[:2], y[:2]).fit(X, y)
    again = ChainSSVM(lam=1.0, tol=0.1, random_state=0).fit(X, y)
    assert model.objective_ == pytest.approx(again.objective_, rel=0.1)
    assert model.whole_objective_ <= model.objective_


@pytest.mark.parametrize(
    "parameters",
    [
        {"rescaling": "slack"},
        {"solver": "gdmm"},
        {"solver": "perceptron"},
        {"solver": "ssg"},
        {"solver": "fw"},
    ],
    ids=lambda p: next(iter(p.values())),
)
def test_auto_does_not_cut_unsupported_models(rng, parameters):
    X, y = long(rng)
    model = ChainSSVM(**{"lam": "auto", **parameters})
    assert model._structure().train(X, y, None).problem.n_blocks == len(X)


def test_auto_leaves_many_labels_to_gdmm(rng, monkeypatch):
    monkeypatch.setitem(chain_training.MIN_GDMM_LABELS, "dense", K)
    X, y = long(rng)
    model = ChainSSVM(lam=1.0)
    training = model._structure().train(X, y, None)
    assert training.problem.n_blocks == len(X)
    assert training.auto_solver == "gdmm"
    training = model.set_params(window_size=200)._structure().train(X, y, None)
    assert training.problem.n_blocks > len(X)
    assert training.auto_solver == "mp-bcfw"


@pytest.mark.parametrize("window_size", [0, -3, "long", 2.0, True, [2], 1.5])
@cut
def test_invalid_window_sizes(example, window_size):
    with pytest.raises((ValueError, TypeError), match="window_size must be"):
        example.fitted(window_size=window_size)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"rescaling": "slack"}, "window_size=2 cannot be combined with rescaling='slack'"),
        ({"solver": "gdmm"}, "window_size=2 is not supported by solver='gdmm'.*or 'bcfw'"),
        ({"solver": "perceptron"}, "window_size=2 is not supported by solver='perceptron'"),
        ({"solver": "ssg"}, "window_size=2 is not supported by solver='ssg'"),
    ],
)
def test_unsupported_parameters(rng, parameters, message):
    X, y = make(rng)
    model = ChainSSVM(window_size=2, **parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "w_")


def test_warm_starts_need_the_same_windows(rng):
    X, y = make(rng)
    model = ChainSSVM(**TIGHT, window_size=2, warm_start=True).fit(X, y)
    model.set_params(window_size=3)
    with pytest.raises(ValueError, match="the model or its loss, differ"):
        model.fit(X, y)


def test_hidden_labels(rng):
    X, y = make(rng, (6, 5, 4, 6) * 4)
    y[0][0], y[3][-2:] = -1, -1
    model = ChainSSVM(lam=0.1, window_size=2, ignore_label=-1, random_state=0)
    latent = LatentSSVM(model, states_per_label=2, random_state=0).fit(X, y)
    assert np.isfinite(latent.objective_)
    assert latent.estimator_.whole_objective_ <= latent.estimator_.objective_
