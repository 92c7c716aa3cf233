"""Warm starts with more samples reach the same optimum in fewer passes; errors for other data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
)
from sstruct._estimators.core.fit import prepare_training
from sstruct._estimators.core.training import Samples
from sstruct.datasets import make_sequences
from sstruct.solvers import MPBCFW
from tests.estimators.graph import test_graph
from tests.reference import brute_force
from tests.solvers import test_optimum

# With a smaller tol, rounding errors would end some fits early.
TIGHT = {"tol": 1e-7, "max_iter": 20_000, "random_state": 0}


def chains(rng, **parameters):
    return test_optimum.make(rng, n=16, ignored=True, **parameters)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["dual", "primal"])
def test_certificate_covers_all_samples(rng, kind, weighted):
    # By the definition, from the working sets of old and new samples and the new weights.
    X, y = chains(rng)
    weights = rng.uniform(0.5, 2, len(X)) if weighted else None
    model = ChainSSVM(
        pairwise_scale=1,
        ignore_label=-1,
        lam=0.05,
        solver=MPBCFW(average=False),
        warm_start=kind,
        **TIGHT,
    )
    model.fit(X[:9], y[:9]).set_params(lam=0.1).fit(X, y, weights)
    found = test_optimum.certify(model, X, y, 0.1, brute_force.Model(3), weights=weights)
    assert len(model._warm_state["size"]) == len(found)


def test_planes_and_labelings_are_kept(rng):
    # Planes are stored if there are few weights per node. For small graphs, labelings are stored
    # until large graphs are added.
    large, of_large = test_graph.make(rng, K=2, n=6, most=14)
    large = [(np.repeat(x, 4, axis=1), *more) for x, *more in large]
    small = [(x[:1], np.zeros((0, 2), dtype=int), None, None) for x, *_ in large] * 2
    of_small = [labels[:1] for labels in of_large] * 2
    assert {labels[0] for labels in of_small} == {0, 1}
    both = small + large * 3, of_small + of_large * 3
    for first in (small, of_small), (large, of_large):
        rest = (large * 3, of_large * 3) if first[0] is small else (small * 4, of_small * 4)
        X, y = first[0] + rest[0], first[1] + rest[1]
        model = GraphCRFSSVM(lam=0.1, warm_start=True, **TIGHT).fit(*first)
        planes = model._keeps_planes
        model.fit(X, y)
        assert model._keeps_planes == planes
        cold = clone(model).set_params(warm_start=False).fit(X, y)
        assert model.objective_ == pytest.approx(cold.objective_, rel=3e-7)
    assert GraphCRFSSVM(lam=0.1, max_iter=1, tol=1).fit(*both)._keeps_planes
    assert not GraphCRFSSVM(lam=0.1, max_iter=1, tol=1).fit(small, of_small)._keeps_planes


def pieces():
    X, y = make_sequences(n_samples=200, random_state=0)
    digits, of_digits = load_digits(return_X_y=True)
    return {
        "chains": (ChainSSVM(lam=0.01), X, y),
        "auto": (ChainSSVM(), X, y),
        "digits": (MulticlassSSVM(lam=0.01), list(digits[:400] / 16), list(of_digits[:400])),
    }


@pytest.mark.parametrize("kind", ["dual", "primal"])
@pytest.mark.parametrize("case", ["chains", "auto", "digits"])
def test_fewer_passes_than_from_scratch(case, kind):
    model, X, y = pieces()[case]
    model = clone(model).set_params(warm_start=kind, solver=MPBCFW(certificate_every=1))
    # Fits of about seven passes depend on the order of visits, so several orders are tested.
    seeds = range(3) if case == "auto" else [0]
    for share in (0.9,) if case == "digits" else (0.75, 0.9):
        m = int(share * len(X))
        work = []
        for seed in seeds:
            model.set_params(random_state=seed)
            going_on = clone(model).fit(X[:m], y[:m]).fit(X, y)
            anew = clone(model).fit(X, y)
            assert going_on.converged_
            assert going_on.dual_objective_ <= anew.objective_
            assert anew.dual_objective_ <= going_on.objective_
            work.append([(fit.n_iter_, fit.n_oracle_calls_) for fit in (going_on, anew)])
        more, all_anew = np.sum(work, axis=0)
        assert (more < all_anew).all()


def test_error_if_first_samples_differ(rng):
    X, y = make_sequences(n_samples=30, random_state=0)
    model = ChainSSVM(lam=0.1, warm_start=True, random_state=0).fit(X[:20], y[:20])
    before = model.w_.copy()
    with pytest.raises(ValueError, match="that fit had 20 samples, but this one has only 19"):
        model.fit(X[:19], y[:19])
    first = r"X \(or its dtype .* differ within the first 20 samples\. Set warm_start=False"
    for order in (np.arange(1, 30), np.r_[20:30, :20], np.r_[:19, 20:30]):
        with pytest.raises(ValueError, match=first):
            model.fit([X[i] for i in order], [y[i] for i in order])
    weights = np.ones(30)
    weights[3] = 0  # removes an old sample
    with pytest.raises(ValueError, match=first):
        model.fit(X, y, weights)
    weights = np.ones(30)
    weights[25] = 0
    np.testing.assert_array_equal(model.w_, before)
    assert model.fit(X, y, weights).converged_


def test_error_for_other_classes():
    X, y = make_sequences(n_samples=30, random_state=0)
    y = [np.where(labels == 0, "a", "b") for labels in y]
    more = [*y, np.full(len(X[0]), "longer")]
    model = ChainSSVM(lam=0.1, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"but \['longer'\] is new\. Pass all labels"):
        model.fit([*X, X[0]], more)
    other = clone(model).fit(X, y).set_params(classes=list("acdefghi"))
    with pytest.raises(ValueError, match=r"'g'\] and 2 more are new and \['b'\] is missing"):
        other.fit(X, [["a"] * len(labels) for labels in y])
    model = clone(model).set_params(classes=["a", "b", "longer"]).fit(X, y)
    assert model.fit([*X, X[0]], more).converged_
    # An ignored label is not a class, even if it is longer than all classes.
    other = clone(model).set_params(ignore_label="longer", classes=None).fit(X, y)
    assert other.fit([*X, X[0], X[1]], [*more, y[1]]).converged_


def test_the_tree_of_labels_depends_on_all_samples(rng):
    # Equal labels are first (0, 1) and (2, 3), and in all samples mostly (0, 3) and (1, 2).
    X = rng.standard_normal((120, 2))
    Y = rng.integers(0, 2, (120, 4))
    Y[:30, [1, 3]], Y[30:, [3, 2]] = Y[:30, [0, 2]], Y[30:, [0, 1]]
    model = MultilabelSSVM(edges="tree", lam=0.1, warm_start=True, random_state=0)
    model.fit(X[:30], Y[:30])
    with pytest.raises(ValueError, match=r"set edges=model\.edges_"):
        model.fit(X, Y)
    model = clone(model).set_params(edges=model.edges_).fit(X[:30], Y[:30])
    assert model.fit(X, Y).converged_
    with pytest.raises(ValueError, match="warm_start continues from the last fit"):
        clone(model).set_params(edges=None).fit(X[:, :1], Y).fit(X[:, :1], np.c_[Y, 0 * Y[:, :1]])


def test_node_sizes_in_planes_are_part_of_the_data(rng):
    X, y = test_graph.make(rng, K=2, n=12, sizes=True)
    model = GraphCRFSSVM(lam=0.1, warm_start=True, random_state=0).fit(X[:8], y[:8])
    assert model._keeps_planes
    other = [(x, edges, features, 2 + sizes) for x, edges, features, sizes in X]
    with pytest.raises(ValueError, match="the model or its loss, differ"):
        model.fit(other, y)


def data_of(model, X, y):
    return prepare_training(model._structure(), Samples(X, y)).data


@settings(max_examples=40)
@given(
    lengths=st.lists(st.integers(1, 4), min_size=2, max_size=6),
    seed=st.integers(0, 2**32 - 1),
    storage=st.sampled_from(["dense", "csr"]),
    data=st.data(),
)
def test_added_samples_do_not_change_the_first_ones(lengths, seed, storage, data):
    rng = np.random.default_rng(seed)
    m = data.draw(st.integers(1, len(lengths) - 1))
    y = [rng.integers(-1, 3, L) for L in lengths]
    y[0][0] = 0
    X = [rng.integers(-1, 2, (L, 2)).astype(float) for L in lengths]
    if storage == "csr":
        X = [sparse.csr_matrix(x) for x in X]
    chain = ChainSSVM(classes=[0, 1, 2], ignore_label=-1)
    edges = [np.array([(v, v + 1) for v in range(L - 1)]).reshape(-1, 2) for L in lengths]
    graphs = [(x, e, np.ones((len(e), 1)), None) for x, e in zip(X, edges)]
    # Labelings are stored; whether planes are stored depends on the sizes of all graphs.
    labelings = {"warm_start": True, "loss": "balanced", "classes": [0, 1, 2]}
    graph = GraphCRFSSVM(pairwise="directed", **labelings)
    images = [x[np.newaxis] if storage == "dense" else x.toarray()[np.newaxis] for x in X]
    grid = GridCRFSSVM(pairwise="contrast", **labelings)
    for model, samples, labels in (
        (chain, X, y),
        (graph, graphs, y),
        (grid, images, [image[np.newaxis] for image in y]),
    ):
        of_all, of_first = data_of(model, samples, labels), data_of(model, samples[:m], labels[:m])
        n = of_first.n_samples
        assert of_all.fingerprint(n) == of_first.fingerprint()
        assert of_all.blocks_of_first(n) == of_first.blocks_of_first(n)
        # A change in the first samples changes their fingerprint; one in later samples does not.
        for i, same in ((data.draw(st.integers(0, m - 1)), False), (m, True)):
            changed = [np.array(image) for image in labels]
            place = tuple(rng.integers(0, changed[i].shape))
            if changed[i][place] < 0:
                continue
            changed[i][place] = (changed[i][place] + 1) % 3
            other = data_of(model, samples, changed)
            assert (other.fingerprint(n) == of_first.fingerprint()) == same


def test_labels_of_any_type():
    X, y = make_sequences(n_samples=12, random_state=0)
    names = [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5), 7, "x"]
    y = [[names[k] for k in labels] for labels in y]
    model = ChainSSVM(lam=0.1, warm_start=True, tol=1e-6, classes=names, random_state=0)
    cold = clone(model).set_params(warm_start=False).fit(X, y)
    model.fit(X[:8], y[:8]).fit(X, y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=3e-6)


def test_error_if_other_samples_have_weight_zero():
    X, y = make_sequences(n_samples=12, random_state=0)
    model = ChainSSVM(lam=0.1, warm_start=True, random_state=0).fit(X[:8], y[:8])
    model.fit(X, y, sample_weight=np.r_[np.full(11, 2.0), 0])
    with pytest.raises(ValueError, match="zero sample weights"):
        model.fit(X, y, sample_weight=np.r_[0, np.ones(11)])
