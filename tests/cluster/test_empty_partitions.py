"""Test partitions on a Dask cluster with samples that have no labeled node."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    PathCV,
    Sequences,
    TreeSSVM,
    TypedGraphCRFSSVM,
)
from sstruct.datasets import make_grids, make_sequences
from tests.estimators.tree.test_tree import candidates
from tests.estimators.typed_graph.test_typed_graph import make as typed_samples

dask = pytest.importorskip("dask")

N, CUTS = 24, [0, 6, 12, 18, 24]
PARAMETERS = {"lam": 0.5, "tol": 0.1, "random_state": 0}


def partitions(values, cuts=CUTS):
    return [dask.delayed(values[a:b]) for a, b in pairwise(cuts)]


def fitted(model, *given):
    """Fit a clone; return it and the messages of the UserWarnings about samples or splits."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = clone(model).fit(*given)
    texts = [str(warning.message) for warning in caught]
    return model, [text for text in texts if "nodes" in text or "splits" in text]


def edges_of(x):
    return np.array([(v, v + 1) for v in range(len(x) - 1)]).reshape(-1, 2)


CHAINS, TAGS = make_sequences(N, n_labels=3, n_features=4, random_state=0)
IMAGES, MASKS = make_grids(N, shape=(3, 4), n_labels=2, random_state=0)
GRAPHS, GRAPH_TAGS = typed_samples(np.random.default_rng(0), N)
# Estimator, X, y, and the forms of an empty sample, each with its labels.
KINDS = {
    "chain": (ChainSSVM(**PARAMETERS), CHAINS, TAGS, [([], []), (np.empty((0, 4)), np.empty(0))]),
    "graph": (
        GraphCRFSSVM(**PARAMETERS),
        [(x, edges_of(x)) for x in CHAINS],
        TAGS,
        [([], []), (([], []), np.empty(0, dtype=int))],
    ),
    "grid": (GridCRFSSVM(**PARAMETERS), list(IMAGES), list(MASKS), [([], []), (IMAGES[0][:0], [])]),
    "typed": (
        TypedGraphCRFSSVM(**PARAMETERS),
        GRAPHS,
        GRAPH_TAGS,
        [([], []), ((tuple(part[:0] for part in GRAPHS[0][0]), {}), [[] for _ in GRAPH_TAGS[0]])],
    ),
}


def without(values, places, empty):
    return [empty if i in places else value for i, value in enumerate(values)]


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_empty_partitions_are_ignored(client, kind, form):
    model, X, y, forms = KINDS[kind]
    nothing, no_labels = forms[form]
    # One partition in the middle, the last one, and one sample of the first one are empty.
    places = {2, *range(6, 12), *range(18, 24)}
    X, y = without(X, places, nothing), without(y, places, no_labels)
    remote, messages = fitted(model, partitions(X), partitions(y))
    assert messages == ["X has 13 samples without nodes, ignored in training; the first is X[2]"]
    some = [i for i in range(N) if i not in places]
    own = [X[i] for i in some], [y[i] for i in some]
    local = clone(model).fit(*own)
    assert np.array_equal(np.hstack(remote.classes_), np.hstack(local.classes_))
    assert np.hstack(remote.classes_).dtype == np.hstack(local.classes_).dtype
    left = clone(model).fit(*(partitions(values, [0, 5, 11]) for values in own))
    np.testing.assert_array_equal(remote.w_, left.w_)
    assert remote.dual_objective_ <= local.objective_ * (1 + 1e-12)
    assert local.dual_objective_ <= remote.objective_ * (1 + 1e-12)
    assert remote.score(partitions(X), partitions(y)) == pytest.approx(
        remote.score(*own), rel=1e-12
    )
    with pytest.raises(ValueError, match="no labeled node"):
        remote.score(partitions([nothing] * N), partitions([no_labels] * N))


@pytest.mark.slow
def test_indices_of_empty_samples_count_those_of_weight_zero(client):
    X, y = without(CHAINS, range(8, 12), []), without(TAGS, range(8, 12), [])
    weights = (np.arange(N) != 1).astype(float)
    _, messages = fitted(KINDS["chain"][0], partitions(X), partitions(y), weights)
    assert messages == ["X has 4 samples without nodes, ignored in training; the first is X[8]"]


@pytest.mark.parametrize("classes", [None, [0, 1, 2]])
@pytest.mark.parametrize("n_empty", [0, 2])
def test_unlabeled_partitions_are_ignored(client, classes, n_empty):
    model = clone(KINDS["chain"][0]).set_params(ignore_label=-1, classes=classes)
    X = without(CHAINS, range(n_empty), [])
    y = [np.full(len(x), -1) if i < 6 else labels for i, (x, labels) in enumerate(zip(X, TAGS))]
    remote, messages = fitted(model, partitions(X), partitions(y))
    first = "X has 2 samples without nodes, ignored in training; the first is X[0]"
    assert messages == ([first] if n_empty else [])
    left = clone(model).fit(*(partitions(values[6:], [0, 6, 12, 18]) for values in (X, y)))
    np.testing.assert_array_equal(remote.w_, left.w_)
    assert remote.classes_.tolist() == [0, 1, 2]


def test_unlabeled_partitions_of_trees_are_ignored(client, rng):
    X, y = candidates(rng, [-1, 0, 0], N)
    y = [np.full(3, -1) if i < 6 else states for i, states in enumerate(y)]
    model = TreeSSVM(parents=[-1, 0, 0], ignore_label=-1, **PARAMETERS)
    remote = clone(model).fit(partitions(X), partitions(y))
    left = clone(model).fit(*(partitions(values[6:], [0, 6, 12, 18]) for values in (X, y)))
    np.testing.assert_array_equal(remote.w_, left.w_)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_needs_a_labeled_node(client, kind):
    model, X, y, forms = KINDS[kind]
    for nothing, no_labels in forms:
        given = [nothing] * N, [no_labels] * N
        for X_given, y_given in (given, map(partitions, given)):
            with pytest.raises(ValueError, match=r"^X has no nodes: all samples are empty"):
                clone(model).fit(X_given, y_given)
    if kind == "chain":
        model = clone(model).set_params(ignore_label=-1)
        y = [np.full(len(labels), -1) for labels in y]
        X, y = without(X, range(6), []), without(y, range(6), [])
        for X_given, y_given in ((X, y), (partitions(X), partitions(y))):
            with pytest.raises(ValueError, match=r"^y has no labeled node in any sample"):
                clone(model).fit(X_given, y_given)


def test_errors_name_the_partition_despite_empty_ones(client):
    X, y = without(CHAINS, range(6), []), without(TAGS, range(6), [])
    X[7] = X[7] * np.nan
    with pytest.raises(ValueError, match=r"partition 1: X\[1\] contains NaN"):
        ChainSSVM().fit(partitions(X), partitions(y))


@pytest.mark.filterwarnings("ignore:X has .* without nodes")
def test_warm_start_with_an_empty_partition(client):
    X, y = without(CHAINS, range(6, 12), []), without(TAGS, range(6, 12), [])
    model = clone(KINDS["chain"][0]).set_params(warm_start=True)
    model.fit(partitions(X), partitions(y))
    n_iter = model.set_params(tol=0.02).fit(partitions(X), partitions(y)).n_iter_
    assert n_iter < clone(model).fit(partitions(X), partitions(y)).n_iter_
    more = partitions([*X, *CHAINS], [*CUTS, 2 * N]), partitions([*y, *TAGS], [*CUTS, 2 * N])
    model.fit(*more)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(partitions(CHAINS), partitions(TAGS))


@pytest.mark.filterwarnings("ignore:X has .* without nodes", "ignore:the test samples")
@pytest.mark.parametrize("lams, refit", [(None, False), ([1.0, 0.1], False), ([1.0, 0.1], True)])
def test_searches_ignore_folds_without_nodes(client, lams, refit):
    places = {1, *range(6, 12)}
    X, y = without(CHAINS, places, []), without(TAGS, places, [])
    numbers = np.split(np.arange(N), CUTS[1:-1])
    folds = [
        (np.concatenate([numbers[k] for k in train]), numbers[test[0]])
        for train, test in LeaveOneOut().split(numbers)
    ]
    search = PathCV(KINDS["chain"][0], lams=lams, eps=0.5, refit=refit, cv=LeaveOneOut())
    remote, messages = fitted(search, partitions(X), partitions(y))
    assert sorted(messages) == [
        "X has 7 samples without nodes, ignored in training; the first is X[1]",
        "the test samples of 1 of 4 splits have no labeled node, and mean_test_score excludes "
        "these splits; the first is split 1",
    ]
    local, local_messages = fitted(clone(search).set_params(cv=folds), X, y)
    assert local_messages == messages
    scored = [folds[k] for k in (0, 2, 3)]
    for rule in ("best", "one-se"):
        local = clone(search).set_params(cv=folds, rule=rule).fit(X, y)
        without_fold = clone(search).set_params(cv=scored, rule=rule).fit(X, y)
        at = np.searchsorted(
            -local.cv_results_["param_lam"], -without_fold.cv_results_["param_lam"]
        )
        for name in ("mean_test_score", "std_test_score"):
            np.testing.assert_array_equal(
                local.cv_results_[name][at], without_fold.cv_results_[name]
            )
        assert local.best_score_ == without_fold.best_score_
    for found in (remote, local):
        assert np.isnan(found.cv_results_["split1_test_score"]).all()
        assert np.isnan(found.split_scores(found.best_lam_)).tolist() == [False, True, False, False]
    np.testing.assert_array_equal(
        remote.cv_results_["mean_test_score"], local.cv_results_["mean_test_score"]
    )


def test_a_search_needs_a_fold_with_nodes():
    search = PathCV(KINDS["chain"][0], lams=[1.0], cv=[(np.arange(12), np.arange(12, 24))])
    X, y = without(CHAINS, range(12, 24), []), without(TAGS, range(12, 24), [])
    with pytest.raises(ValueError, match="no labeled node in the test samples of any split"):
        fitted(search, X, y)


@pytest.mark.parametrize("pack", [list, Sequences.from_list])
def test_lengths_are_rejected_as_sample_weights(client, pack):
    lengths = [len(x) for x in CHAINS]
    X, y = (partitions([*values]) for values in (CHAINS, TAGS))
    if pack is not list:
        X, y = (
            [dask.delayed(pack([*values[a:b]])) for a, b in pairwise(CUTS)]
            for values in (CHAINS, TAGS)
        )
    model = ChainSSVM(**PARAMETERS)
    for given in (lengths, np.array(lengths)):
        with pytest.raises(ValueError, match=r"Sequences\.from_lengths\(X, lengths\)"):
            clone(model).fit(X, y, given)
    few = [sum(lengths[:-1]), lengths[-1]]
    with pytest.raises(ValueError, match=r"Sequences\.from_lengths\(X, lengths\)"):
        clone(model).fit(X, y, few)
    other = [*lengths[:-1], lengths[-1] + 1]
    for given in (np.array(lengths, dtype=float), other):
        clone(model).fit(X, y, given)
