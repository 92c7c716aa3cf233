"""The latent objective of each round equals that of enumeration, and never increases."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChainSSVM, GraphCRFSSVM, GridCRFSSVM, LatentSSVM, MultilabelSSVM, TreeSSVM
from sstruct._estimators.tree.tree_state import tree_model
from tests.estimators.tree.test_tree import candidates, maps
from tests.reference import graphs, trees

HIDDEN = -1


def rounds(latent, X, y, sample_weight=None, most=8):
    """Yield `latent`, fitted with 1, 2, ... rounds, until it converges."""
    for n_rounds in range(1, most + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            latent.set_params(max_rounds=n_rounds).fit(X, y, sample_weight)
        yield latent
        if latent.n_rounds_ < n_rounds:
            return


def latent_objective(model, samples, weights, lam):
    """Return the latent objective; `samples` are lists of (score, loss, agrees with the truth)."""
    hinges = [
        max(score + loss for score, loss, _ in labelings)
        - max(score for score, _, is_true in labelings if is_true)
        for labelings in samples
    ]
    return lam / 2 * (model.w_ @ model.w_) + np.average(hinges, weights=weights)


def check_rounds(latent, X, y, labelings, used, weights=None):
    """Compare the objective after each round with enumeration; check that it never increases.

    labelings : function of a model and a sample's number, for `latent_objective`
    used : numbers of the samples with a known label
    """
    last = np.inf
    for fit in rounds(latent, X, y, weights):
        samples = [[*labelings(fit.estimator_, i)] for i in used]
        of_used = None if weights is None else weights[used]
        expected = latent_objective(fit.estimator_, samples, of_used, fit.estimator_.lam_)
        assert fit.objective_ == pytest.approx(expected, rel=1e-9)
        assert fit.objective_ <= last
        last = fit.objective_
    return fit


def chain_labelings(model, x, labels, costs, n_states=1):
    """Yield (score, loss of known labels, whether they agree) of all labelings of a chain."""
    known = np.flatnonzero(labels != HIDDEN)
    node = x @ model.coef_.T + model.intercept_
    node[0] += model.start_coef_
    node[-1] += model.end_coef_
    for states in itertools.product(range(node.shape[1]), repeat=len(x)):
        states = np.array(states)
        score = node[np.arange(len(x)), states].sum()
        score += model.edge_coef_[states[:-1], states[1:]].sum()
        found = states // n_states
        loss = costs[labels[known], found[known]].sum()
        yield score, loss, (found[known] == labels[known]).all()


def partly_labeled_chains(seed, n_labels=2, length=5):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(14):
        labels = rng.integers(n_labels, size=rng.integers(2, length + 1))
        X.append(2 * rng.normal(size=(len(labels), 2)) + labels[:, np.newaxis] * [1.0, 0.5])
        y.append(np.where(rng.random(len(labels)) < 0.5, HIDDEN, labels))
    y[0] = np.full(len(y[0]), HIDDEN)  # a row without known labels
    y[1], y[2] = np.arange(len(y[1])) % n_labels, np.full(len(y[2]), HIDDEN)
    y[2][0] = 1
    return X, y


@pytest.mark.parametrize(
    ("n_states", "seed", "least"),
    [(1, 0, 2), (1, 3, 2), (1, 1, 1), (2, 0, 3), (2, 3, 3), (2, 4, 3)],
)
def test_chains(n_states, seed, least):
    X, y = partly_labeled_chains(seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2, size=len(X))
    costs = np.array([[0.0, 1.0], [2.0, 0.0]])
    chain = ChainSSVM(
        pairwise_scale=1,
        lam=0.05,
        loss=costs,
        ignore_label=HIDDEN,
        tol=1e-4,
        max_iter=10_000,
        random_state=0,
    )
    latent = LatentSSVM(chain, states_per_label=n_states, tol=1e-4, random_state=0)

    def labelings(model, i):
        share = costs / (y[i] != HIDDEN).sum()  # the loss is a mean over labeled nodes
        return chain_labelings(model, X[i], y[i], share, n_states)

    used = [i for i in range(len(X)) if (y[i] != HIDDEN).any()]
    fit = check_rounds(latent, X, y, labelings, used, weights)
    history = fit.history_
    assert history["objective"][-1] == fit.objective_
    assert (history["objective"] <= history["bound"]).all()
    assert (np.diff(history["objective"]) <= 0).all()
    assert (history["bound"] - history["dual"] <= history["gap"] + 1e-12).all()
    assert (history["gap"] <= 1e-4 * history["bound"]).all()
    assert len(history["objective"]) >= least


def set_labelings(model, x, known, full):
    """Yield (score, loss of known labels, whether they agree) of all sets of labels of a row."""
    at = known >= 0
    node = model.coef_ @ x + model.intercept_
    for labels in itertools.product((0, 1), repeat=len(known)):
        labels = np.array(labels)
        u, v = labels[model.edges_.T]
        of_edges = model.edge_coef_[range(len(u)), u, v] if full else u * v * model.edge_coef_
        loss = (labels != known)[at].sum()
        yield node @ labels + of_edges.sum(), loss, loss == 0


def partly_known_sets(seed, n_labels=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    Y = (X @ rng.normal(size=(3, n_labels)) + rng.normal(size=(30, n_labels)) > 0).astype(float)
    Y[rng.random(Y.shape) < 0.5] = np.nan
    Y[0] = np.nan
    return X, Y


@pytest.mark.parametrize("edges", ["full", "tree", None])
@pytest.mark.parametrize("pairwise", ["and", "full"])
@pytest.mark.parametrize("seed", range(2))
def test_label_sets(seed, pairwise, edges):
    X, Y = partly_known_sets(seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2, size=len(X))
    sets = MultilabelSSVM(
        lam=0.05, edges=edges, pairwise=pairwise, tol=1e-4, max_iter=10_000, random_state=0
    )
    known = np.where(np.isnan(Y), -1, Y).astype(int)

    def labelings(model, i):
        return set_labelings(model, X[i], known[i], pairwise == "full")

    used = np.flatnonzero((known >= 0).any(axis=1))
    check_rounds(LatentSSVM(sets, tol=1e-4), X, Y, labelings, used, weights)


def graph_labelings(model, graph, labels, pairwise, n_states=1):
    """Yield (score, loss of known labels, whether they agree) of all labelings of a graph."""
    x, edges, features = (*graph, None)[:3]
    known, K = np.flatnonzero(labels != HIDDEN), len(model.classes_)
    for states in itertools.product(range(K), repeat=len(x)):
        phi = graphs.joint_feature(x, states, edges, features, pairwise, K)
        loss = (np.array(states)[known] // n_states != labels[known]).sum()
        yield phi @ model.w_, loss, loss == 0


def partly_labeled_graphs(rng, forest):
    X, y = [], []
    for _ in range(12):
        n_nodes = rng.integers(2, 6)
        labels = rng.integers(2, size=n_nodes)
        edges = graphs.random_edges(rng, n_nodes)
        if forest:
            edges = np.column_stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)])
        x = 2 * rng.normal(size=(n_nodes, 2)) + labels[:, np.newaxis]
        X.append((x, edges, rng.uniform(size=(len(edges), 2))))
        y.append(np.where(rng.random(n_nodes) < 0.5, HIDDEN, labels))
    y[0][:] = HIDDEN
    return X, y


@pytest.mark.parametrize(
    ("pairwise", "n_states", "seed"),
    [("potts", 1, 0), ("contrast", 1, 1), ("directed", 1, 0), ("full", 2, 1), ("potts", 2, 2)],
)
def test_graphs(pairwise, n_states, seed):
    # Decoding is exact for two labels with attractive edges (cuts), and for forests.
    forest = pairwise in ("directed", "full") or n_states > 1
    X, y = partly_labeled_graphs(np.random.default_rng(seed), forest)
    graph = GraphCRFSSVM(lam=0.1, pairwise=pairwise, tol=1e-4, max_iter=10_000, random_state=0)

    def labelings(model, i):
        assert model.inference_.endswith("(exact)")
        return graph_labelings(model, X[i], y[i], pairwise, n_states)

    latent = LatentSSVM(graph, states_per_label=n_states, random_state=0)
    check_rounds(latent, X, y, labelings, [i for i in range(len(X)) if (y[i] != HIDDEN).any()])


def test_images():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=(8, 1, 4))
    X = (2 * rng.normal(size=(8, 1, 4)) + y)[..., np.newaxis]
    y[rng.random(y.shape) < 0.5] = HIDDEN
    y[:, 0, 0] = [0, 1] * 4
    grid = GridCRFSSVM(lam=0.1, pairwise="full", tol=1e-4, max_iter=10_000, random_state=0)
    edges = np.column_stack([np.arange(3), np.arange(1, 4)])

    def labelings(model, i):
        return graph_labelings(model, (X[i][0], edges), y[i][0], "full")

    check_rounds(LatentSSVM(grid), X, y, labelings, range(8))


def tree_labelings(model, sample, truth, loss):
    """Yield (score, loss of known parts, whether they agree) of all states of a tree."""
    x, places = trees.listed(sample)
    known = np.flatnonzero(truth >= 0)
    for states in itertools.product(*(range(len(part)) for part in x)):
        phi = trees.joint_feature(
            tree_model(vars(model)), model.parents_, x, places, sample.get("pair_scores"), states,
            sample["scale"],
        )  # fmt: skip
        costs = [trees.cost(loss, places[p], states[p], truth[p], sample["scale"]) for p in known]
        share = 1 if loss == "hamming-count" else len(known)
        yield phi @ model.w_, sum(costs) / share, all(states[p] == truth[p] for p in known)


@pytest.mark.parametrize("loss", ["distance", "hamming-count"])
@pytest.mark.parametrize("form", ["candidates", "pairs", "maps", "types"])
def test_trees(rng, form, loss):
    parents = [-1, 0, 0]
    if form in ("maps", "types"):
        X, y = maps(rng, 3, 2 if form == "types" else 1, n=12)
    else:
        X, y = candidates(rng, parents, n=12, pairs=form == "pairs")
    y = [np.where(rng.random(len(states)) < 0.4, HIDDEN, states) for states in y]
    y[0][:] = HIDDEN
    tree = TreeSSVM(parents=parents, lam=0.1, loss=loss, tol=1e-4, max_iter=10_000, random_state=0)

    def labelings(model, i):
        return tree_labelings(model, X[i], y[i], loss)

    used = [i for i in range(len(X)) if (y[i] >= 0).any()]
    check_rounds(LatentSSVM(tree), X, y, labelings, used)
