"""Test optima, bounds, unlabeled nodes and invalid input of GraphCRFSSVM."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from sstruct import GraphCRFSSVM
from sstruct._estimators.graph import graph_structure
from sstruct._estimators.graph.graph_samples import pack_graphs
from sstruct._estimators.graph.graph_training import LabeledGraphs
from sstruct._input.labels import object_array
from sstruct._input.ragged import ExpectedInput
from sstruct._testing._graph_enumeration import graph_enumeration
from sstruct.plotting import ConvergenceDisplay
from sstruct.solvers import SOLVER_OF_NAME
from tests.estimators.equal import equal
from tests.reference import brute_force, dual_qp, graphs

MODELS = ["potts", "contrast", "full", "directed", 0.3]
LAM = 0.05


def make(rng, K=3, n=8, pairwise="potts", most=4, sizes=False, storage="dense"):
    """Return noisy graphs of 1 to `most` nodes, not separable; every label occurs.

    The first graph is complete, so it has cycles if K > 2.
    """
    X, y = [], []
    for i in range(n):
        V = rng.integers(1, most + 1) if i else K
        edges = graphs.random_edges(rng, V, 0.8 if i else 1.0)
        features = rng.standard_normal((len(edges), 2))
        features = abs(features) if pairwise == "contrast" else features
        x = rng.standard_normal((V, 2))
        x = sparse.csr_matrix(x * (rng.random(x.shape) < 0.7)) if storage == "csr" else x
        X.append((x, edges, features, rng.uniform(0.5, 3, V) if sizes else None))
        y.append(np.arange(K) if i == 0 else rng.integers(0, K, V))
    return X, y


def dense(X):
    return [(x.toarray() if sparse.issparse(x) else x, *rest) for x, *rest in X]


def box(model, K, F, pairwise, bias=True, submodular=False):
    """Return the bounds as documented."""
    parts = [np.full((2, (F + bias) * K), [[-np.inf], [np.inf]])]
    shape = {"potts": (1,), "contrast": (2,), "full": (K, K), "directed": (2, K, K)}.get(pairwise)
    if shape is not None:
        edge = np.full((2, *shape), np.inf)
        edge[0] = -np.inf
        if pairwise in ("potts", "contrast"):
            edge[1] = 0
        elif submodular:
            for a in range(K):
                for b in range(K):
                    edge[0 if a == b else 1, ..., a, b] = 0
        parts.append(edge.reshape(2, -1))
    return np.concatenate(parts, axis=1)


def terms_of(X, y, pairwise, K, **keywords):
    fixed = isinstance(pairwise, float)
    return graphs.blocks(
        dense(X),
        y,
        "fixed" if fixed else pairwise,
        K,
        strength=pairwise if fixed else 0.0,
        **keywords,
    )


def tight(**parameters):
    return GraphCRFSSVM(**{"lam": LAM, "tol": 1e-8, "max_iter": 20_000, "random_state": 0,
                           **parameters})  # fmt: skip


def compare(model, terms, bounds):
    """Compare with the definition of the certificate, and the optimum of the independent QP."""
    best, _ = dual_qp.check_optimum(model, terms, bounds)
    assert (model.w_ >= bounds[0]).all()
    assert (model.w_ <= bounds[1]).all()
    assert model.dual_objective_ == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("sizes", [False, True], ids=["", "sizes"])
@pytest.mark.parametrize("pairwise", MODELS)
def test_optimum_equals_the_independent_qp(rng, enumerated, pairwise, sizes, weighted):
    X, y = make(rng, pairwise=pairwise, sizes=sizes)
    weights = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    model = tight(pairwise=pairwise).fit(X, y, sample_weight=weights)
    compare(model, terms_of(X, y, pairwise, 3, weights=weights), box(model, 3, 2, pairwise))


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("loss", ["hamming-count", "balanced", "weights", "table"])
def test_optimum_of_other_losses(rng, enumerated, loss, bias, storage):
    X, y = make(rng, pairwise="full", sizes=True, storage=storage)
    table = np.array([[0, 1, 3], [2, 0, 0.5], [1, 1, 0]])
    values = {"weights": np.array([0.5, 2, 1]), "table": table}
    cost = 1 - np.eye(3)
    if loss == "balanced":
        count = np.zeros(3)
        for graph, labels in zip(X, y, strict=True):
            np.add.at(count, labels, graph[3])
        cost *= (count.sum() / (3 * count))[:, np.newaxis]
    elif loss == "weights":
        cost *= values[loss][:, np.newaxis]
    elif loss == "table":
        cost = values[loss]
    model = tight(pairwise="full", loss=values.get(loss, loss), fit_intercept=bias).fit(X, y)
    terms = terms_of(X, y, "full", 3, cost=cost, bias=bias, divided=loss != "hamming-count")
    compare(model, terms, box(model, 3, 2, "full", bias))


@pytest.mark.parametrize("pairwise", MODELS)
def test_cuts_reach_the_boxed_optimum(rng, pairwise):
    X, y = make(rng, K=2, pairwise="contrast" if pairwise == "directed" else pairwise, most=5)
    model = tight(pairwise=pairwise, bounds="submodular", inference="cut").fit(X, y)
    assert model.inference_ == "graph cut (exact)"
    bounds = box(model, 2, 2, pairwise, submodular=True)
    terms = terms_of(X, y, pairwise, 2)
    compare(model, terms, bounds)
    for block, labels in zip(terms, model.predict([X[block.sample] for block in terms])):
        # Scores also contain the fixed cost, without the loss.
        edges = X[block.sample][1]
        strength = pairwise if isinstance(pairwise, float) else 0.0
        score = [
            phi @ model.w_ - strength * graphs.disagreements(y, edges)
            for phi, y in zip(block.phi, block.labelings, strict=True)
        ]
        assert score[block.labelings.index(tuple(labels.tolist()))] == pytest.approx(max(score))


@pytest.mark.parametrize("solver", ["mp-bcfw", "bcfw", "fw", "ssg", "cutting-plane"])
@pytest.mark.parametrize("pairwise", ["potts", "contrast", "full", "directed"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_repulsive_edge_reaches_the_decoder(rng, monkeypatch, pairwise, solver):
    # Labels that differ at every edge: free weights would repel.
    X, _ = make(rng, K=2, pairwise="contrast", most=2, n=20)
    y = [np.arange(len(x)) for x, *_ in X]
    monkeypatch.setattr(graph_structure, "decoder_of", lambda *_, **__: graph_enumeration(True))
    bounds = "submodular" if pairwise in ("full", "directed") else None
    if "bcfw" in solver:
        solver = SOLVER_OF_NAME[solver](average=True, step="fw")
    model = tight(pairwise=pairwise, bounds=bounds, solver=solver, max_iter=30).fit(X, y)
    model.predict(X)
    if bounds is not None:
        with pytest.raises(ValueError, match="is repulsive"):
            clone(model).set_params(bounds=None).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("pairwise", ["potts", "full", "directed"])
def test_guarantees_of_approximate_decoders(rng, pairwise):
    # The dual is a lower bound for any decoder; the objective at w_ is at most the primal.
    X, y = make(rng, K=3, n=12, pairwise=pairwise, most=5)
    X[1], y[1] = (rng.standard_normal((3, 2)), CYCLE, rng.standard_normal((3, 2)), None), [0, 1, 2]
    model = tight(pairwise=pairwise, tol=1e-3, max_iter=300).fit(X, y)
    terms = terms_of(X, y, pairwise, 3)
    best, _ = dual_qp.optimum(terms, LAM, box(model, 3, 2, pairwise))
    assert model.dual_objective_ <= best * (1 + 1e-8)
    assert model.objective_ <= brute_force.primal(model.w_, LAM, terms) * (1 + 1e-9)
    assert model.inference_.endswith("(approximate)")
    display = ConvergenceDisplay.from_estimators({"a": model})
    assert list(display.histories) == ["a (approximate)"]


CYCLE = np.array([[0, 1], [1, 2], [2, 0]])


def test_names_of_decoders(rng):
    X = [(rng.standard_normal((3, 2)), CYCLE, rng.random((3, 1))) for _ in range(3)]
    y, three = [[0, 1, 1]] * 3, [[0, 1, 2]] * 3
    for labels, pairwise, bounds, expected in [
        (y, "potts", None, "graph cut (exact)"),
        (y, "contrast", "submodular", "graph cut (exact)"),
        (y, 0.5, None, "graph cut (exact)"),
        (y, "full", "submodular", "graph cut (exact)"),
        (y, "full", None, "fusion moves (approximate)"),
        (y, "directed", None, "fusion moves (approximate)"),
        (three, "potts", None, "alpha-expansion (approximate)"),
        (three, "full", "submodular", "fusion moves (approximate)"),
    ]:
        model = GraphCRFSSVM(pairwise=pairwise, bounds=bounds, max_iter=1, tol=10)
        assert model.fit(X, labels).inference_ == expected
    model = GraphCRFSSVM(inference="expansion", max_iter=1, tol=10).fit(X, y)
    assert model.inference_ == "alpha-expansion (approximate)"
    alone = [(x, np.zeros((0, 2))) for x, *_ in X]
    for inference in ("auto", "fwmap"):
        model = GraphCRFSSVM(inference=inference).fit(alone, y)
        assert model.inference_ == "node by node (exact)"


@pytest.mark.parametrize("pairwise", MODELS)
def test_forests_are_decoded_exactly(rng, without_completion, pairwise):
    # Two trees of a forest, and single nodes; some nodes are not used in training.
    edges = [[2, 0], [3, 2], [2, 4], [6, 5]]
    X, y = [], []
    for V in (7, 8, 7, 1, 2):
        own = [edge for edge in edges if max(edge) < V]
        features = abs(rng.standard_normal((len(own), 2)))
        X.append((rng.standard_normal((V, 2)), np.array(own).reshape(-1, 2), features, None))
        y.append(rng.integers(0, 3, V))
    y[0][:3], y[1][3:6] = [0, 1, 2], -1
    model = tight(pairwise=pairwise).fit(X, y)
    assert model.inference_ == "max-sum (exact)"
    compare(model, terms_of(X, y, pairwise, 3), box(model, 3, 2, pairwise))


def test_max_sum_requires_forests(rng):
    path = (rng.standard_normal((3, 2)), CYCLE[:2])
    cycle = (rng.standard_normal((4, 2)), CYCLE)  # no more edges than a tree would have
    y = [[0, 1, 2], [0, 1, 2, 0]]
    model = GraphCRFSSVM(inference="max-sum", lam=0.1)
    with pytest.raises(ValueError, match=r"is for forests, but X\[1\] has a cycle"):
        model.fit([path, cycle], y)
    assert not hasattr(model, "w_")
    # Without node 2 the cycle is a path. It is not completed, since its neighbors' labels differ.
    model.fit([path, cycle], [y[0], [0, 1, -1, 2]])
    assert model.inference_ == "max-sum (exact)"
    with pytest.raises(ValueError, match=r"is for forests, but X\[0\] has a cycle"):
        model.predict([cycle])
    auto = GraphCRFSSVM(lam=0.1).fit([path, path], [y[0], y[0]])
    assert auto.inference_ == "max-sum (exact)"
    assert len(auto.predict([cycle, path])[0]) == 4  # decoded by moves
    assert GraphCRFSSVM().fit([path, cycle], y).inference_ == "alpha-expansion (approximate)"


@pytest.mark.parametrize("sizes", [False, True])
@pytest.mark.parametrize("pairwise", ["potts", "contrast", "directed"])
def test_nodes_far_from_known_labels_are_as_if_removed(
    rng, enumerated, without_completion, pairwise, sizes
):
    X, y = make(rng, pairwise=pairwise, n=12, sizes=sizes)
    y = [np.where(rng.random(len(labels)) < 0.3, -1, labels) for labels in y]
    y[0], y[1] = np.arange(3), np.full(len(y[1]), -1)
    weights = rng.integers(0, 3, len(X)).astype(float)
    weights[:2] = 2, 5
    model = tight(pairwise=pairwise, lam="auto", loss="balanced").fit(X, y, weights)
    parts = [graphs.drop_unlabeled(*pair) for pair in zip(X, y, strict=True)]
    kept = [i for i, part in enumerate(parts) if part is not None]
    assert len(kept) < len(X)
    removed = clone(model).fit([parts[i][0] for i in kept], [parts[i][1] for i in kept],
                               weights[kept])  # fmt: skip
    np.testing.assert_array_equal(model.w_, removed.w_)
    assert model.lam_ == pytest.approx(removed.lam_, rel=1e-12)
    assert [len(labels) for labels in model.predict(X)] == [len(labels) for labels in y]
    correct = total = 0
    for predicted, labels, weight in zip(model.predict(X), y, weights):
        correct += weight * ((predicted == labels) & (labels >= 0)).sum()
        total += weight * (labels >= 0).sum()
    assert model.score(X, y, weights) == pytest.approx(correct / total)


@pytest.mark.parametrize("loss", ["hamming", "hamming-count", "balanced"])
@pytest.mark.parametrize("pairwise", MODELS)
def test_unknown_nodes_are_completed_and_cost_nothing(rng, pairwise, loss):
    X, y = make(rng, pairwise=pairwise, n=60, most=12, sizes=True)
    y = [np.sort(labels) for labels in y]  # most neighbors agree in some graphs
    partly = [np.where(rng.random(len(labels)) < 0.4, -1, labels) for labels in y]
    partly[0], partly[1] = y[0], np.full(len(y[1]), -1)
    whole = [graphs.complete_labels(*pair) for pair in zip(X, partly)]
    assert sum((a != b).sum() for a, b in zip(whole, partly)) >= 3
    model = GraphCRFSSVM(pairwise=pairwise, loss=loss, lam=0.1, random_state=0)
    model = model.fit(X, partly)
    # This fit equals one to the completed labels with weight 0, without nodes that stay unknown.
    kept = [i for i, labels in enumerate(whole) if (labels >= 0).any()]
    parts = [graphs.drop_unlabeled(X[i], whole[i]) for i in kept]
    weights = [(partly[i] >= 0)[whole[i] >= 0].astype(float) for i in kept]
    given = clone(model).fit([x for x, _ in parts], [labels for _, labels in parts], weights)
    np.testing.assert_allclose(model.w_, given.w_, rtol=1e-9, atol=1e-12)
    assert model.objective_ == pytest.approx(given.objective_, rel=1e-12)
    assert model.dual_objective_ == pytest.approx(given.dual_objective_, rel=1e-12)


def test_optimum_with_unknown_nodes(rng, enumerated):
    completed = False
    while not completed:
        X, y = make(rng, pairwise="full", n=9, sizes=True)
        partly = [np.where(rng.random(len(labels)) < 0.3, -1, labels) for labels in y]
        partly[0] = y[0]
        whole = [graphs.complete_labels(*pair) for pair in zip(X, partly)]
        kept = [i for i, labels in enumerate(partly) if (labels >= 0).any()]
        completed = any((whole[i] != partly[i]).any() for i in kept)
    model = tight(pairwise="full").fit(X, partly)
    sized = [(*X[i][:3], np.where(partly[i] >= 0, X[i][3], 0.0)) for i in kept]
    terms = terms_of(sized, [whole[i] for i in kept], "full", 3)
    compare(model, terms, box(model, 3, 2, "full"))


def test_which_nodes_are_completed(rng):
    def trained(labels, **parameters):
        path = np.column_stack([np.arange(len(labels) - 1), np.arange(1, len(labels))])
        features = rng.standard_normal((len(labels), 2))
        model = GraphCRFSSVM(lam=0.1, classes=[0, 1], **parameters)
        structure = model._structure()
        packed = structure.pack([(features, path)])
        return LabeledGraphs(structure, packed, np.array(labels), None).graphs.length.tolist()

    labels = np.array([0, 0, -1, 1, 1, 1, 0, 0, 0, 1])
    assert trained(labels) == [10]
    assert trained(labels, pairwise=0.0) == [9]
    assert trained([0, 1, -1, 1, 0, 1, 0, 0, 1, 0]) == [9]  # most neighbors differ
    assert trained([0, -1, 0, -1, 1, -1, 1, -1, 0, -1]) == [5]  # no two known neighbors
    assert trained([0, 0] + [-1] * 5) == [7]
    assert trained([0, 0] + [-1] * 6) == [2]  # one of six is farther away than five edges
    assert trained([0, 0] + [-1] * 10 + [1, 1] + [-1] * 6) == [19]  # so is one of 16


def test_weights_and_containers(rng):
    X, y = make(rng, K=2, n=12)
    names = np.array(["a", "b"])
    y = [names[labels] for labels in y]
    model = GraphCRFSSVM(pairwise="contrast", lam=0.1, random_state=0)
    X = [(x, edges, abs(features)) for x, edges, features, _ in X]
    model.fit(X, y)
    assert model.coef_.shape == (2, 2)
    assert model.edge_coef_.shape == (2,)
    assert (model.edge_coef_ <= 0).all()
    assert len(model.w_) == 2 * 2 + 2 + 2
    assert GraphCRFSSVM(pairwise=0.1).fit(X, y).edge_coef_ is None
    for form in (object_array(X), tuple(X), [list(item) for item in X]):
        assert equal(model.predict(form), model.predict(X))


def test_warm_start_with_another_loss_raises(rng):
    # A plane contains its loss; for stored labelings, the loss is computed again.
    X, y = make(rng)
    model = tight(warm_start=True).fit(X, y)
    for other in ({"loss": "balanced"}, {"fit_intercept": False}, {"pairwise": "full"}):
        with pytest.raises(ValueError, match="the model or its loss, differ"):
            clone(model).fit(X, y).set_params(**other).fit(X, y)


@pytest.mark.parametrize("pairwise", ["fixed", "potts", "contrast", "full", "directed"])
def test_labelings_in_place_of_planes(rng, enumerated, monkeypatch, pairwise):
    X, y = make(rng, pairwise=pairwise)
    given = 0.3 if pairwise == "fixed" else pairwise
    problems = []
    fitted = []
    for choice in (graph_structure.explicit_where_cheaper, lambda problem: problem):
        monkeypatch.setattr(
            graph_structure,
            "explicit_where_cheaper",
            lambda problem, choice=choice: problems.append(choice(problem)) or problems[-1],
        )
        fitted.append(tight(pairwise=given).fit(X, y))
    assert [type(problem).__name__ for problem in problems] == ["ExplicitProblem", "GraphProblem"]
    planes, labelings = fitted
    assert planes.objective_ == pytest.approx(labelings.objective_, rel=1e-7)
    np.testing.assert_allclose(planes.w_, labelings.w_, rtol=0, atol=1e-3)


def test_contiguous_features_are_not_copied():
    x = np.random.default_rng(0).standard_normal((6, 2))
    packed = pack_graphs(ExpectedInput("GraphCRFSSVM"), x, "potts")
    assert np.shares_memory(packed.nodes.flat, x)


EDGE = np.array([[0, 1]])


@pytest.mark.parametrize(
    "graph, message",
    [
        ((np.ones((2, 2)), [[0, 2]]), r"edge 0 of X\[1\] is \[0, 2\], expected nodes 0 to 1"),
        ((np.ones((2, 2)), [[-1, 0]]), r"edge 0 of X\[1\] is \[-1, 0\], expected nodes 0 to 1"),
        ((np.ones((2, 2)), [[0, 1], [1, 1]]), r"edge 1 of X\[1\] is \[1, 1\], a self-loop"),
        ((np.ones((2, 2)), [[0, 1], [1, 0]]), r"edge 1 of X\[1\] is \[1, 0\], a duplicate"),
        ((np.zeros((0, 2)), EDGE), r"edge 0 of X\[1\] is \[0, 1\], expected no edges"),
        ((np.ones((2, 2)), [[0, 1, 1]]), r"the edges of X\[1\] have shape \(1, 3\), expected"),
        ((np.ones((2, 2)), [[0.0, 1.0]]), r"the edges of X\[1\] have dtype float64"),
        ((np.ones((2, 3)), EDGE), r"X\[1\] has 3 features, expected 2"),
        ((np.full((2, 2), np.nan), EDGE), r"X\[1\] contains NaN or infinity at node 0"),
        ((np.ones(2), EDGE), r"X\[1\] has 1 dimensions, expected 2"),
        ((np.ones((2, 2)),), r"X\[1\] is a tuple of 1 parts, expected a tuple of 2 to 4 parts"),
        (np.ones((2, 2)), r"X\[1\] is of type ndarray, expected a tuple"),
        ((np.ones((2, 2)), EDGE, np.ones((2, 1))), r"X\[1\] have shape \(2, 1\), expected one row"),
        ((np.ones((2, 2)), EDGE, np.ones(1)), r"X\[1\] have shape \(1,\), expected one row"),
        ((np.ones((2, 2)), EDGE, np.ones((1, 3))), r"X\[1\] has 3 edge features, expected 1"),
        ((np.ones((2, 2)), EDGE, [[np.nan]]), r"the edge features of X\[1\] contain NaN"),
        ((np.ones((2, 2)), EDGE, [["a"]]), r"the edge features of X\[1\] must be an array of"),
        ((np.ones((2, 2)), EDGE, [[-1.0]]), r"the edge features of X\[1\] contain -1, but"),
        ((np.ones((2, 2)), EDGE), r"X\[1\] has no edge features, required by"),
        ((np.ones((2, 2)), EDGE, [[1.0]], np.ones(3)), r"node sizes of X\[1\] have shape \(3,\)"),
        ((np.ones((2, 2)), EDGE, [[1.0]], [1.0, 0.0]), r"node sizes of X\[1\] must be positive"),
        ((np.ones((2, 2)), EDGE, [[1.0]], ["a", "b"]), r"the node sizes of X\[1\] have"),
    ],
)  # fmt: skip
def test_errors_name_invalid_graphs(graph, message):
    good = (np.array([[1.0, 0], [0, 1]]), EDGE, np.ones((1, 1)))
    model = GraphCRFSSVM(pairwise="contrast")
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit([good, graph], [[0, 1], [0, 1]])
    assert not hasattr(model, "w_")
    model.fit([good, good], [[0, 1], [0, 1]])
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict([good, graph])


@pytest.mark.parametrize(
    "parameters, y, message",
    [
        ({}, [[0, 1], [0]], r"X\[1\] has 2 nodes but y\[1\] has 1 labels"),
        ({}, [[0, 1]], "X has 2 samples but y has 1"),
        ({"classes": [0, 1]}, [[0, 1], [0, 2]], r"y\[1\] contains 2, which is not in classes"),
        ({}, [[-1, -1], [-1, -1]], "no labeled node"),
        ({"pairwise": "ising"}, None, "pairwise must be a number or"),
        ({"pairwise": -0.5}, None, "pairwise must be at least 0"),
        ({"pairwise": np.nan}, None, "pairwise must be finite"),
        ({"pairwise": True}, None, "pairwise must be a number"),
        ({"inference": "lp"}, None, "inference must be one of"),
        ({"bounds": "attractive"}, None, "bounds must be one of"),
        ({"pairwise": "full", "inference": "cut"}, None, 'requires bounds="submodular"'),
        ({"inference": "cut"}, [[0, 1], [2, 1]], "requires two labels, found 3"),
        ({"pairwise": "directed", "bounds": "submodular"}, None, "requires nonnegative edge"),
        ({"bounds": np.full((2, 7), [[-1.0], [1.0]])}, None, "expected upper bounds of at most 0"),
        ({"bounds": np.zeros((2, 6))}, None, r"bounds has shape \(2, 6\), expected \(2, 7\)"),
    ],
)
def test_invalid_labels_and_parameters(parameters, y, message):
    graph = (np.array([[1.0, 0], [0, 1]]), EDGE, -np.ones((1, 1)))
    model = GraphCRFSSVM(**parameters)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit([graph, graph], [[0, 1], [0, 1]] if y is None else y)
    assert not hasattr(model, "w_")


def test_invalid_types_of_input(rng):
    X, y = make(rng)
    for wrong in ([x for x, *_ in X], np.ones((3, 2, 2)), iter(X), {}):
        with pytest.raises((ValueError, TypeError), match="X must be a list"):
            GraphCRFSSVM().fit(wrong, y)
    with pytest.raises(ValueError, match="requires edge features"):
        GraphCRFSSVM(pairwise="directed").fit(np.ones((2, 2)), [0, 1])
    assert GraphCRFSSVM(pairwise="full").fit(np.eye(2), [0, 1]).predict(np.eye(2)).tolist() == [
        0,
        1,
    ]


def test_bounds_within_the_box_are_accepted(rng):
    X, y = make(rng, K=2)
    bounds = np.full((2, 7), [[-np.inf], [np.inf]])
    bounds[:, 6] = -0.25, -0.25
    model = GraphCRFSSVM(bounds=bounds, lam=0.1).fit(X, y)
    assert model.edge_coef_.tolist() == [-0.25]


def test_repr_marks_approximate_certificates(rng):
    X, y = make(rng)
    # A cycle with three labels is decoded by moves.
    X[0] = (np.ones((3, 2)), np.array([[0, 1], [1, 2], [0, 2]]))
    y[0] = np.array([0, 1, 2])
    model = GraphCRFSSVM(lam=0.1, random_state=0)
    assert repr(model) == "GraphCRFSSVM(lam=0.1, random_state=0)"
    model.fit(X, y)
    assert model.inference_ == "alpha-expansion (approximate)"
    assert repr(model) == "GraphCRFSSVM(lam=0.1, random_state=0)  # certificate: approximate"
    assert eval(repr(model)).get_params() == model.get_params()
    assert "#" not in repr(model.set_params(inference="cut").fit(X[:1], [np.array([0, 1, 1])]))


def with_matrices(X, storage):
    """Return the same graphs with adjacency matrices, and edges in the order of the matrices."""
    ordered, matrices = [], []
    for x, edges, features, sizes in X:
        edges = np.sort(edges, axis=1).reshape(-1, 2)
        order = np.lexsort(edges.T[::-1])
        ordered.append((x, edges[order], features[order], sizes))
        matrix = np.zeros((len(x), len(x)), dtype=bool)
        matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = True
        matrices.append((x, storage(matrix), features[order], sizes))
    return ordered, matrices


@pytest.mark.parametrize("pairwise", ["potts", "directed"])
@pytest.mark.parametrize(
    "storage",
    [sparse.csr_matrix, sparse.coo_array, lambda matrix: sparse.csc_array(matrix * 1.0)],
    ids=["csr", "coo", "csc"],
)
def test_adjacency_matrices_are_accepted(rng, storage, pairwise):
    X, y = make(rng, pairwise=pairwise, sizes=True)
    ordered, matrices = with_matrices(X, storage)
    model = GraphCRFSSVM(lam=LAM, pairwise=pairwise, random_state=0)
    expected = clone(model).fit(ordered, y)
    found = clone(model).fit(matrices, y)
    np.testing.assert_array_equal(found.w_, expected.w_)
    for a, b in zip(found.predict(matrices), expected.predict(ordered)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float16", ">f8", ">i4"])
def test_adjacency_matrices_of_numbers_that_scipy_does_not_convert(dtype):
    matrix = sparse.csr_array(np.ones((2, 2)) - np.eye(2))
    expected = GraphCRFSSVM(lam=0.1).fit([(np.eye(2), matrix)] * 4, [[0, 1]] * 4)
    matrix.data = matrix.data.astype(dtype)
    model = GraphCRFSSVM(lam=0.1).fit([(np.eye(2), matrix)] * 4, [[0, 1]] * 4)
    np.testing.assert_array_equal(model.w_, expected.w_)


def test_an_adjacency_matrix_is_not_changed():
    matrix = sparse.coo_matrix(([1, 1, 0], ([0, 1, 2], [1, 0, 2])), (3, 3))
    before = matrix.copy()
    GraphCRFSSVM(lam=1.0).fit([(np.eye(3), matrix)], [[0, 1, 1]])
    for name in ("data", "row", "col"):
        np.testing.assert_array_equal(getattr(matrix, name), getattr(before, name))


PATH = sparse.csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize(
    "edges, message, repair",
    [
        (PATH * 0.5, r"has the weight 0.5 at \(0, 1\).*edge features", lambda A: A.astype(bool)),
        (PATH + sparse.eye_array(3, dtype=int), "diagonal, at node 0", lambda A: A.setdiag(0)),
        (sparse.triu(PATH), "not symmetric.*between 0 and 1", lambda A: A.maximum(A.T)),
        (PATH[:, :2], r"has shape \(3, 2\), expected \(3, 3\)", None),
        (PATH.toarray(), r"shape \(3, 3\), expected \(E, 2\).* np.argwhere\(np.triu\(A, 1\)\)$",
         lambda A: np.argwhere(np.triu(A, 1))),
        (PATH.toarray() * 0.5, r"shape \(3, 3\).* np.argwhere\(np.triu\(A, 1\)\)$",
         lambda A: np.argwhere(np.triu(A, 1))),
        (np.triu(PATH.toarray()), r"shape \(3, 3\).*triu\(\(A != 0\) \| \(A != 0\).T, 1\)\)$",
         lambda A: np.argwhere(np.triu((A != 0) | (A != 0).T, 1))),
        ([[0, 1], [1, 2], [2, 1], [1, 0]], r"\[2, 1\], a duplicate, in either direction; "
         r"use np.unique\(np.sort\(edges, axis=1\), axis=0\)",
         lambda edges: np.unique(np.sort(edges, axis=1), axis=0)),
        (np.array([[0, 1], [1, 1], [1, 2], [2, 1]]), r"a self-loop; use np.unique\(np.sort\("
         r"edges\[edges\[:, 0\] != edges\[:, 1\]\], axis=1\), axis=0\)",
         lambda edges: np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)),
        (np.zeros((3, 4)), r"shape \(3, 4\).*; a graph is \(node features, edges\), in this order",
         None),
        (np.array([[0, 1, 0, 1], [1, 2, 2, 3]])[:, :3], r"shape \(2, 3\).*use edges.T$",
         np.transpose),
        ([[0, 1], [2]], r"must be an \(E, 2\) array", None),
    ],
    ids=["weights", "diagonal", "directed", "shape", "dense", "dense weights", "dense directed",
         "both ways", "loop", "swapped", "transposed", "ragged"],
)  # fmt: skip
def test_error_for_matrices_recommends_valid_code(edges, message, repair):
    good = np.eye(3), PATH
    model = GraphCRFSSVM(lam=1.0)
    with pytest.raises(ValueError, match=rf"of X\[1\] .*{message}"):
        model.fit([good, (np.eye(3), edges)], [[0, 1, 1]] * 2)
    if repair is not None:
        changed = repair(edges)
        model.fit([good, (np.eye(3), edges if changed is None else changed)], [[0, 1, 1]] * 2)


def test_graphs_in_an_array_of_objects():
    graphs = [(np.eye(2), EDGE), (np.ones((2, 2)), EDGE)]
    table = np.empty((2, 2), dtype=object)
    for i, parts in enumerate(graphs):
        table[i] = parts
    models = [GraphCRFSSVM(lam=1.0, random_state=0).fit(X, [[0, 1]] * 2) for X in (graphs, table)]
    np.testing.assert_array_equal(models[0].w_, models[1].w_)


class OtherGraph:
    """A graph of another package: its length and items are those of its nodes."""

    def __len__(self):
        return 2

    def __iter__(self):
        return iter("ab")


@pytest.mark.parametrize(
    "graph, message",
    [
        (
            {"x": np.eye(2), "edges": EDGE},
            r"X\[1\] is a dict with keys \['x', 'edges'\], expected a tuple",
        ),
        (OtherGraph(), r"X\[1\] is a OtherGraph, expected a tuple \(node features, edges"),
        (None, r"X\[1\] is a NoneType, expected a tuple"),
    ],
    ids=["dict", "object", "None"],
)
def test_error_for_other_graphs_describes_the_tuple(graph, message):
    good = np.eye(2), EDGE
    model = GraphCRFSSVM(lam=1.0)
    with pytest.raises(TypeError, match=message):
        model.fit([good, graph], [[0, 1]] * 2)
    with pytest.raises(TypeError, match=message.replace("1", "0", 1)):
        model.fit([graph, good], [[0, 1]] * 2)
    with pytest.raises(TypeError, match=message):
        model.fit([good, good], [[0, 1]] * 2).predict([good, graph])
    with pytest.raises(TypeError, match=r"X must be a list of graphs, tuples .*, found dict"):
        model.fit({0: good}, [[0, 1]])
