"""Test certificates of graphs and grids with slack rescaling against enumeration."""

import numpy as np
import pytest
from sklearn.base import clone

from sstruct import GraphCRFSSVM, GridCRFSSVM, LatentSSVM, ssvm_path
from sstruct._problems.slack._slack_problem import SlackProblem
from sstruct._solvers.rounds.partitioned_blocks import PartitionedBlocks
from sstruct.solvers import MPBCFW
from tests.estimators.graph.test_graph import box, make, terms_of
from tests.estimators.same_bits import assert_same_bits, check_resuming
from tests.reference import brute_force, dual_qp, graphs
from tests.reference.brute_force import slack_terms

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
LAM = 0.1
SLACK = {"rescaling": "slack", "random_state": 0, "lam": LAM}
BOUNDED = [
    ({"pairwise": "potts"}, 2, "graph cut, bisecting search (bounded)"),
    ({"pairwise": "contrast", "search": "binary"}, 2, "graph cut, binary search (bounded)"),
    ({"pairwise": "full", "bounds": "submodular"}, 2, "graph cut, bisecting search (bounded)"),
    (
        {"pairwise": "directed", "inference": "fwmap"},
        3,
        "trees by Frank-Wolfe, bisecting search (bounded)",
    ),
    ({"pairwise": "full", "inference": "exact"}, 3, "branch and bound, bisecting search (bounded)"),
]


def check_slack_bounds(model, terms, bounds):
    dual_qp.check_bounds(model, terms, bounds)
    assert (bounds[0] <= model.w_).all()
    assert (model.w_ <= bounds[1]).all()
    reached = model.dual_gap_ <= model.tol * model.objective_
    assert model.status_ == ("CONVERGED" if reached else "STALLED")


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("parameters, K, inference", BOUNDED)
def test_bounded_certificates(rng, parameters, K, inference, weighted):
    pairwise = parameters["pairwise"]
    X, y = make(rng, K=K, pairwise="contrast" if K == 2 else pairwise, most=4, sizes=weighted)
    weights = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    model = GraphCRFSSVM(tol=1e-4, max_iter=20_000, **SLACK, **parameters)
    model.fit(X, y, sample_weight=weights)
    assert model.inference_ == inference
    bounds = box(model, K, 2, pairwise, submodular="bounds" in parameters)
    check_slack_bounds(model, slack_terms(terms_of(X, y, pairwise, K, weights=weights)), bounds)


def test_bounded_certificates_of_forests(rng):
    X, y = make(rng, K=3, pairwise="full", most=4)
    X = [(x, np.array([(v, v + 1) for v in range(len(x) - 1)], dtype=int).reshape(-1, 2))
         for x, *_ in X]  # fmt: skip
    model = GraphCRFSSVM(pairwise="full", tol=1e-4, max_iter=20_000, **SLACK).fit(X, y)
    assert model.inference_ == "max-sum, bisecting search (bounded)"
    terms = slack_terms(terms_of([(*graph, None, None) for graph in X], y, "full", 3))
    check_slack_bounds(model, terms, box(model, 3, 2, "full"))


def test_approximate_decoders_keep_the_lower_bound(rng):
    X, y = make(rng, K=3, pairwise="potts", most=5)
    model = GraphCRFSSVM(tol=1e-3, **SLACK).fit(X, y)
    assert model.inference_ == "alpha-expansion, bisecting search (approximate)"
    assert "approximate" in repr(model)
    terms = slack_terms(terms_of(X, y, "potts", 3))
    best, _ = dual_qp.optimum(terms, LAM, box(model, 3, 2, "potts"))
    assert model.dual_objective_ <= best * (1 + 1e-8)
    assert model.objective_ <= brute_force.primal(model.w_, LAM, terms) * (1 + 1e-9)


def test_unknown_labels_are_in_no_term(rng):
    X, y = make(rng, K=2, pairwise="potts", most=5)
    whole, completed = y, True
    while completed:  # completed labels would be in terms
        y = [np.where(rng.random(len(labels)) < 0.3, -1, labels) for labels in whole]
        completed = any((graphs.complete_labels(*pair) != pair[1]).any() for pair in zip(X, y))
    model = GraphCRFSSVM(tol=1e-4, max_iter=20_000, **SLACK).fit(X, y)
    terms = slack_terms(terms_of(X, y, "potts", 2))
    check_slack_bounds(model, terms, box(model, 2, 2, "potts"))


def images(rng, n=8, shape=(2, 3)):
    X = rng.standard_normal((n, *shape, 2))
    return X, (X[..., 0] + rng.standard_normal((n, *shape)) > 0).astype(int)


def test_grids_are_graphs(rng):
    X, y = images(rng)
    grid = GridCRFSSVM(tol=1e-4, max_iter=20_000, **SLACK).fit(X, y)
    edges = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]])
    pixels = [(x.reshape(-1, 2), edges, None, None) for x in X]
    assert grid.inference_ == "graph cut, bisecting search (bounded)"
    terms = slack_terms(terms_of(pixels, [labels.ravel() for labels in y], "potts", 2))
    check_slack_bounds(grid, terms, box(grid, 2, 2, "potts"))


def test_scores_without_a_fixed_cost_consist_of_weights_and_features(rng):
    assert GridCRFSSVM(pairwise=0.0, **SLACK).fit(*images(rng)).edge_coef_ is None


def test_resuming_with_more_weights_than_planes_are_kept_for(rng, tmp_path, monkeypatch):
    X, y = images(rng, n=12)
    X = np.concatenate([X, rng.standard_normal((*X.shape[:3], 200))], axis=-1)
    plain = GridCRFSSVM(tol=1e-9, max_iter=12, rescaling="slack", lam=1e-3, random_state=0)
    check_resuming(plain, X, y, tmp_path / "fit.npz", monkeypatch, least=8)
    warm = clone(plain).set_params(warm_start=True).fit(X, y)
    assert not warm._keeps_planes
    with pytest.raises(ValueError, match="the model or its loss, differ"):
        warm.set_params(rescaling="margin").fit(X, y)


def test_automatic_lambda_paths_and_latent_fits(rng):
    X, y = images(rng)
    auto = GridCRFSSVM(rescaling="slack", random_state=0).fit(X, y)
    assert auto.lam_ > 0
    path = ssvm_path(auto, X, y, eps=0.5, lam_min=0.1)
    assert path.guarantee_ == "approximate"
    assert path.gap(1.0) <= 0.5
    y[:, 0, 0] = -1
    latent = LatentSSVM(GridCRFSSVM(**SLACK), max_rounds=2).fit(X, y)
    assert latent.predict(X).shape == y.shape


def test_partitions_are_bounded_if_all_of_them_are():
    facts = [
        {
            "n_weights": 2, "n_feature_weights": 0, "bounded": bounded, "oracle_work": 1.0,
            "oracle_is_quick": False, "code_sizes": np.ones(1, int), "norms": np.ones(1),
            "fixed_scores": np.zeros(1),
        }
        for bounded in (True, False)
    ]  # fmt: skip
    assert not PartitionedBlocks(None, facts).bounded
    assert PartitionedBlocks(None, facts[:1]).bounded


def test_only_exact_decoders_bound_the_search(rng):
    X, y = images(rng, n=3)
    graphs = GridCRFSSVM(rescaling="slack")
    for labels, bounded in ((y, True), (np.arange(18).reshape(y.shape) % 3, False)):
        problem = graphs._structure().train(X, labels, None).problem
        assert SlackProblem(problem).bounded is bounded


def test_the_end_of_a_fit_does_not_change_the_multipliers_of_trees(rng, tmp_path):
    X, y = make(rng, K=3, pairwise="full", n=5, most=6)
    parameters = {"pairwise": "full", "inference": "fwmap", "tol": 1e-6, "max_iter": 6}
    model = GraphCRFSSVM(solver=MPBCFW(certificate_every=1), **parameters, **SLACK)
    whole = clone(model).fit(X, y)
    for last in (1, 3, 5):
        model.set_params(solver__checkpoint=tmp_path / f"{last}")
        clone(model).set_params(max_iter=last).fit(X, y)
        assert_same_bits(clone(model).fit(X, y), whole)
