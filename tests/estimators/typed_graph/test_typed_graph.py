"""Test optima, decoding and validation of TypedGraphCRFSSVM."""

import re
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from sstruct import ChainSSVM, GraphCRFSSVM, LatentSSVM, TypedGraphCRFSSVM
from sstruct._testing._graph_enumeration import graph_enumeration
from sstruct.solvers import MPBCFW
from tests.reference import dual_qp, mrf, typed_graphs

LAM = 0.05
# Labels and features of each type; edge features of each pair.
SIZES = [(3, 2), (2, 3), (1, 1)]
PAIRS = {(0, 0): 2, (0, 1): 1, (2, 1): 3}


def make(rng, n=6, *, forests=True, hidden=False):
    """Return graphs of three types with up to five nodes, and their labels as integers.

    All labels occur in the first two graphs, and all pairs of types in the first one.
    """
    X, y = [], []
    for i in range(n):
        counts = [2, 2 - i, 1] if i < 2 else rng.permuted([rng.integers(3), 1, 1]).tolist()
        features = [rng.standard_normal((k, F)) for k, (_, F) in zip(counts, SIZES, strict=True)]
        nodes = [(t, v) for t, k in enumerate(counts) for v in range(k)]
        edges = {pair: ([], []) for pair in PAIRS}
        joined = list(range(len(nodes)))
        for a, (t, u) in enumerate(nodes):
            for b in range(len(nodes)):
                pair = t, nodes[b][0]
                again = b < a if pair[0] == pair[1] else False
                if pair not in PAIRS or a == b or again or rng.random() < 0.2 * (i > 0):
                    continue
                if forests:
                    if joined[a] == joined[b]:
                        continue
                    joined = [joined[a] if k == joined[b] else k for k in joined]
                edges[pair][0].append((u, nodes[b][1]))
                edges[pair][1].append(rng.standard_normal(PAIRS[pair]))
        edges = {
            pair: (np.array(ends, dtype=int).reshape(-1, 2), np.reshape(values, (-1, PAIRS[pair])))
            for pair, (ends, values) in edges.items()
        }
        X.append((features, edges))
        y.append([(np.arange(k) + i) % K for k, (K, _) in zip(counts, SIZES, strict=True)])
        if hidden and i > 1:
            y[-1] = [np.where(rng.random(len(own)) < 0.3, -1, own) for own in y[-1]]
    return X, y


def tight(**parameters):
    return TypedGraphCRFSSVM(
        **{"lam": LAM, "tol": 1e-8, "max_iter": 20_000, "random_state": 0, **parameters}
    )


def ones():
    return [np.ones(K) for K, _ in SIZES]


@pytest.mark.parametrize("bias", [True, False])
def test_optimum_matches_qp(rng, bias):
    X, y = make(rng)
    model = tight(fit_intercept=bias).fit(X, y)
    dual_qp.check_optimum(model, typed_graphs.blocks(X, y, SIZES, PAIRS, ones(), bias=bias))
    assert model.inference_ == "max-sum (exact)"


def test_optimum_with_cycles_matches_qp(rng, monkeypatch):
    monkeypatch.setattr(
        "sstruct._estimators.graph.typed_structure.decoder_of", lambda *_, **__: graph_enumeration()
    )
    X, y = make(rng, forests=False)
    dual_qp.check_optimum(tight().fit(X, y), typed_graphs.blocks(X, y, SIZES, PAIRS, ones()))


def relaxed_objective(model, X, y):
    """Return the objective at w_ with the maxima over the local polytopes instead of labelings."""
    total = 0.0
    for (features, edges), labels in zip(X, y, strict=True):
        first = np.cumsum([0, *map(len, features)])
        costs = [
            -(coef @ x + intercept + (np.arange(len(coef)) != label))
            for coef, intercept, rows, own in zip(
                model.coef_, model.intercept_, features, labels, strict=True
            )
            for x, label in zip(rows, own, strict=True)
        ]
        joined = [(first[t] + a, first[u] + b) for (t, u), (e, _) in edges.items() for a, b in e]
        tables = [
            -np.tensordot(value, model.edge_coef_[pair], 1)
            for pair, (_, values) in edges.items()
            for value in values
        ]
        relaxed = mrf.Model(costs, np.reshape(joined, (-1, 2)), tables, np.ones(len(tables)))
        score = typed_graphs.joint_feature((features, edges), labels, SIZES, PAIRS) @ model.w_
        total -= (mrf.local_polytope(relaxed) + score) / len(X)
    return total + model.lam_ / 2 * model.w_ @ model.w_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_bounded_certificates_hold(rng):
    # If the local polytope has a larger maximum than the labelings, the gap cannot be closed.
    X, y = make(rng, 12, forests=False)
    tol = 1e-3
    model = TypedGraphCRFSSVM(lam=LAM, inference="fwmap", tol=tol, random_state=0).fit(X, y)
    terms = typed_graphs.blocks(X, y, SIZES, PAIRS, ones())
    _, primal = dual_qp.check_bounds(model, terms)
    assert model.inference_ == "trees by Frank-Wolfe (bounded)"
    relaxed = relaxed_objective(model, X, y)  # constraints of HiGHS hold up to 1e-7
    assert relaxed * (1 - 1e-7) <= model.objective_ <= relaxed * (1 + tol)
    # Labelings of graphs with so few nodes are rounded to the best ones.
    assert primal - model.dual_objective_ <= tol * primal


@pytest.mark.parametrize("loss", ["hamming", "hamming-count", "balanced"])
@pytest.mark.parametrize("weighted", [True, False])
def test_losses_weights_and_hidden_labels(rng, loss, weighted):
    every = [(t, k) for t, (K, _) in enumerate(SIZES) for k in range(K)]
    known = set()
    while len(known) < len(every):  # draw data in which every label is known
        X, y = make(rng, hidden=True)
        known = {(t, k) for t, k in every if any((labels[t] == k).any() for labels in y)}
    weights = rng.choice([0.5, 1.0, 2.0], len(X)) if weighted else np.ones(len(X))
    class_weight = [{0: 2.0}, None, {0: 0.5}] if weighted else None
    model = tight(loss=loss, class_weight=class_weight)
    model.fit(X, y, weights if weighted else None)
    count = [np.zeros(K) for K, _ in SIZES]
    for labels, weight in zip(y, weights, strict=True):
        for t, own in enumerate(labels):
            np.add.at(count[t], own[own >= 0], weight)
    cost = ones()
    if loss == "balanced":
        total, K = sum(own.sum() for own in count), sum(K for K, _ in SIZES)
        cost = [total / (K * own) for own in count]
    if weighted:
        cost[0][0] *= 2.0
        cost[2][0] *= 0.5
    terms = typed_graphs.blocks(X, y, SIZES, PAIRS, cost, weights, divided=loss != "hamming-count")
    dual_qp.check_optimum(model, terms)


def test_balanced_class_weights_of_each_type(rng):
    X, y = make(rng)
    model = tight(class_weight="balanced").fit(X, y)
    count = [np.bincount(np.concatenate([own[t] for own in y])) for t in range(3)]
    cost = [own.sum() / (len(own) * own) for own in count]
    dual_qp.check_optimum(model, typed_graphs.blocks(X, y, SIZES, PAIRS, cost))


def test_bounds_are_in_the_order_of_the_weights(rng):
    X, y = make(rng)
    free = tight().fit(X, y)
    box = np.full((2, len(free.w_)), [[-np.inf], [np.inf]])
    box[0, ::3], box[1, 1::3] = 0, 0.05
    model = tight(bounds=box).fit(X, y)
    assert (model.w_ >= box[0]).all()
    assert (model.w_ <= box[1]).all()
    dual_qp.check_optimum(model, typed_graphs.blocks(X, y, SIZES, PAIRS, ones()), box)


@pytest.mark.parametrize("forests", [True, False])
def test_predictions_and_max_marginals_by_enumeration(rng, forests):
    X, y = make(rng, 10, forests=forests)
    model = TypedGraphCRFSSVM(lam=0.01, random_state=0).fit(X, y)
    for graph, labels, scores in zip(X, model.predict(X), model.decision_function(X), strict=True):
        every = typed_graphs.labelings([len(x) for x in graph[0]], SIZES)
        value = np.array(
            [typed_graphs.joint_feature(graph, z, SIZES, PAIRS) @ model.w_ for z in every]
        )
        found = value[every.index(tuple(map(tuple, labels)))]
        assert found <= value.max() + 1e-9
        if forests:
            assert found == pytest.approx(value.max(), abs=1e-9)
        for t, own in enumerate(scores):
            assert own.shape == (len(graph[0][t]), SIZES[t][0])
            for v, k in np.ndindex(own.shape):
                best = max(s for s, z in zip(value, every, strict=True) if z[t][v] == k)
                assert own[v, k] <= best + 1e-9
                if forests:
                    assert own[v, k] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_predictions_given_known_labels_by_enumeration(rng, share):
    X, y = make(rng, 20)
    model = TypedGraphCRFSSVM(lam=0.01, random_state=0).fit(X, y)
    known = [
        [
            np.where(rng.random(len(x)) < share, rng.integers(K, size=len(x)), -1)
            for x, (K, _) in zip(features, SIZES, strict=True)
        ]
        for features, _ in X
    ]
    for graph, labels, own in zip(X, model.predict(X, known), known, strict=True):
        own = np.concatenate(own)
        every = typed_graphs.labelings([len(x) for x in graph[0]], SIZES)
        value = {
            z: typed_graphs.joint_feature(graph, z, SIZES, PAIRS) @ model.w_
            for z in every
            if all(k in (-1, a) for a, k in zip(chain(*z), own.tolist(), strict=True))
        }
        found = value[tuple(tuple(part.tolist()) for part in labels)]
        assert found == pytest.approx(max(value.values()), abs=1e-9)


def test_forms_of_known_labels(rng):
    X, y = make(rng, 8)
    y = [[a, b, np.full(len(c), "only", dtype=object)] for a, b, c in y]
    model = TypedGraphCRFSSVM(lam=0.01, random_state=0).fit(X, y)
    free = model.predict(X)
    for known in (
        [None] * 8,
        [[None, None, None]] * 8,
        [None, *[[a, None, None] for a, *_ in free[1:]]],
    ):
        for labels, expected in zip(model.predict(X, known), free, strict=True):
            assert all(map(np.array_equal, labels, expected))
    given = model.predict(X, y)
    assert all(map(np.array_equal, chain(*given), chain(*y)))


@pytest.mark.parametrize(
    "known, message",
    [
        (
            [[[0, 9], None, None], None],
            r"y_partial\[0\]\[0\] at node 1 is 9, expected one of 0, 1, 2",
        ),
        ([None, [None, [0, 1, 1], None]], r"y_partial\[1\]\[1\] has 3 labels, expected 1"),
        ([None, [None, [0]]], r"y_partial\[1\] has labels of 2 types, expected 3"),
        ([3, None], r"y_partial\[0\] is 3, expected a list of 3 lists of labels"),
        ([None, [5, None, None]], r"y_partial\[1\]\[0\] must be an array of labels or None"),
        ([None], "X has 2 samples but y_partial has 1"),
    ],
)
def test_invalid_known_labels(rng, known, message):
    X, y = make(rng, 4)
    model = TypedGraphCRFSSVM(lam=0.01, random_state=0).fit(X, y)
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict(X[:2], known)


def test_weights_have_the_shapes_of_their_types(rng):
    X, y = make(rng)
    model = TypedGraphCRFSSVM(random_state=0).fit(X, y)
    assert [own.shape for own in model.coef_] == SIZES
    assert [own.shape for own in model.intercept_] == [(K,) for K, _ in SIZES]
    expected = {(t, u): (G, SIZES[t][0], SIZES[u][0]) for (t, u), G in PAIRS.items()}
    assert {pair: own.shape for pair, own in model.edge_coef_.items()} == expected
    parts = [*model.coef_, *model.intercept_, *model.edge_coef_.values()]
    np.testing.assert_array_equal(model.w_, np.concatenate([part.ravel() for part in parts]))
    assert model.n_features_in_ == (2, 3, 1)
    plain = TypedGraphCRFSSVM(fit_intercept=False, random_state=0).fit(X, y)
    assert not np.concatenate(plain.intercept_).any()
    frame = pytest.importorskip("pandas") and model.to_frame()
    np.testing.assert_array_equal(frame.weight, model.w_)


def test_one_type_is_a_graph_with_directed_edges(rng):
    edges = np.array([(0, 1), (1, 2), (2, 3)])
    graphs = [(rng.standard_normal((4, 2)), edges, rng.standard_normal((3, 2))) for _ in range(8)]
    y = [rng.integers(0, 3, 4) for _ in graphs]
    common = {"lam": 0.01, "tol": 1e-8, "random_state": 0, "max_iter": 20_000}
    plain = GraphCRFSSVM(pairwise="directed", **common).fit(graphs, y)
    X = [([x], {(0, 0): (e, f)}) for x, e, f in graphs]
    typed = TypedGraphCRFSSVM(**common).fit(X, [[labels] for labels in y])
    assert typed.objective_ == pytest.approx(plain.objective_, rel=2e-6)
    assert TypedGraphCRFSSVM(random_state=0).fit(X, [[k] for k in y]).lam_ == pytest.approx(
        GraphCRFSSVM(pairwise="directed", random_state=0).fit(graphs, y).lam_, rel=1e-12
    )
    # Labelings of training samples may have the same score at the optimum: those of one loss that
    # both have the largest loss plus score.
    graphs = [(rng.standard_normal((4, 2)), edges, rng.standard_normal((3, 2))) for _ in range(8)]
    X = [([x], {(0, 0): (e, f)}) for x, e, f in graphs]
    for one, other in zip(plain.predict(graphs), typed.predict(X), strict=True):
        np.testing.assert_array_equal(one, other[0])


def test_labels_of_any_type_sparse_features_and_edges_without_features(rng):
    X, y = make(rng)
    named = [[np.array(["a", "b", "c"])[p], [(int(k),) for k in q], r] for p, q, r in y]
    rows = [([sparse.csr_array(x) for x in features], edges) for features, edges in X]
    one = TypedGraphCRFSSVM(random_state=0).fit(X, y)
    other = TypedGraphCRFSSVM(random_state=0).fit(rows, named)
    np.testing.assert_array_equal(one.w_, other.w_)
    assert other.classes_[1].tolist() == [(0,), (1,)]
    assert other.score(rows, named) == one.score(X, y)
    alone = [(features, {p: e for p, (e, _) in edges.items()}) for features, edges in X]
    with_ones = [
        (features, {p: (e, np.ones((len(e), 1))) for p, (e, _) in edges.items()})
        for features, edges in X
    ]
    weights = [TypedGraphCRFSSVM(random_state=0).fit(each, y).w_ for each in (alone, with_ones)]
    np.testing.assert_array_equal(*weights)


def test_graphs_without_edges(rng):
    X = [([rng.standard_normal((3, 2)), np.ones((1, 1))], {}) for _ in range(5)]
    y = [[rng.integers(0, 2, 3), [i % 2]] for i in range(5)]
    model = TypedGraphCRFSSVM(random_state=0).fit(X, y)
    assert model.inference_ == "node by node (exact)"
    assert model.edge_coef_ == {}
    assert len(model.predict(X)) == 5


def test_warm_start_with_other_classes_raises(rng):
    X, y = make(rng, 12)
    model = tight(warm_start=True).fit(X, y)
    model.classes_ = list(model.classes_)  # as a file may contain them
    model.fit(X, y)
    other = [[own + 1 for own in labels] for labels in y]
    with pytest.raises(ValueError, match=r"requires its classes, but \[\(0, 3\)"):
        model.fit(X, other)


def put(X, i, features=None, edges=None):
    """Return X with other features or edges in sample i."""
    item = (X[i][0] if features is None else features, X[i][1] if edges is None else edges)
    return [*X[:i], item, *X[i + 1 :]]


NODES = [np.ones((2, 2)), np.ones((2, 3)), np.ones((1, 1))]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[0], "X[0] is a list of 3 parts"),
        (lambda X: {0: X}, "X must be a list of graphs"),
        (lambda X: [X[0], (1, 2, 3)], "X[1] is a tuple of 3 parts, expected a tuple of 2 parts"),
        (lambda X: put(X, 1, features=NODES[0]), "the node features of X[1] are of type ndarray"),
        (lambda X: put(X, 1, features=NODES[:2]), "X[1] has node features of 2 types, expected 3"),
        (lambda X: put(X, 1, edges=[[0, 1]]), "the edges of X[1] are of type list, expected a"),
        (
            lambda X: put(X, 1, features=[np.ones((2, 5)), *NODES[1:]]),
            "the features of type 0 of X[1] have 5 columns, expected 2",
        ),
        (
            lambda X: put(X, 1, features=[NODES[0] * np.nan, *NODES[1:]], edges={}),
            "the features of type 0 of X[1] contain NaN",
        ),
        (
            lambda X: put(X, 1, features=[np.ones((2, 2, 1)), *NODES[1:]], edges={}),
            "the features of type 0 of X[1] have shape (2, 2, 1), expected (V_t, F_t)",
        ),
        (
            lambda X: put(X, 1, features=[sparse.csr_array(NODES[0]), *NODES[1:]], edges={}),
            "the features of type 0 mix sparse and dense arrays",
        ),
        (
            lambda X: put(X, 0, edges={(0, 1): ([[0, 0]], [[1.0]], 1)}),
            "the edges (0, 1) of X[0] are 3 parts, expected (edges, edge features)",
        ),
        (lambda X: put(X, 0, edges={(0, 3): [[0, 0]]}), "the edges of X[0] have the key (0, 3)"),
        (lambda X: put(X, 0, edges={"a": [[0, 0]]}), "the edges of X[0] have the key 'a'"),
        (
            lambda X: put(X, 0, edges={(0, 1): [[0, 2]]}),
            "edge 0 of the edges (0, 1) of X[0] is [0, 2], expected a node 0 to 1 of type 0 and "
            "a node 0 to 1 of type 1",
        ),
        (lambda X: put(X, 0, edges={(0, 1): [[-1, 0]]}), "is [-1, 0]"),
        (lambda X: put(X, 0, edges={(0, 1): [[0.5, 0]]}), "dtype float64, expected integers"),
        (lambda X: put(X, 0, edges={(0, 1): [[0, 1, 1]]}), "shape (1, 3), expected (E, 2)"),
        (
            lambda X: put(X, 0, edges={(0, 0): ([[1, 1]], [[1, 2]])}),
            "X[0] has a self-loop at node 1 of type 0",
        ),
        (
            lambda X: put(X, 0, edges={(0, 1): [[0, 1]], (1, 0): [[1, 0]]}),
            "X[0] has a duplicate edge between node 0 of type 0 and node 1 of type 1, in either "
            "direction; pass it once, in the edges (0, 1) or (1, 0)",
        ),
        (
            lambda X: put(X, 0, edges={(0, 0): ([[0, 1], [1, 0]], [[1, 2], [1, 2]])}),
            "in either direction; use np.unique(np.sort(edges, axis=1), axis=0)",
        ),
        (
            lambda X: put(X, 0, edges={(0, 1): ([[0, 1]], [[1.0], [1.0]])}),
            "the features of the edges (0, 1) of X[0] have shape (2, 1)",
        ),
        (
            lambda X: put(X, 0, edges={(0, 1): ([[0, 1]], [[np.inf]])}),
            "the features of the edges (0, 1) of X[0] contain NaN or infinity",
        ),
        (
            lambda X: put(X, 1, edges={(0, 1): (np.zeros((0, 2), int), np.zeros((0, 4)))}),
            "the edges (0, 1) of X[1] have 4 features, expected 1",
        ),
    ],
)
def test_invalid_graphs(rng, change, message):
    X, y = make(rng)
    wrong = change(X)
    model = TypedGraphCRFSSVM(random_state=0)
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        model.fit(wrong, y)
    assert not hasattr(model, "classes_")
    model.fit(X, y)
    with pytest.raises((ValueError, TypeError)):
        model.predict(wrong)


def test_a_fit_needs_a_node():
    empty = [x[:0] for x in NODES], {}
    for X, message in (([], "X is empty"), ([empty] * 2, "no nodes"), ([[], []], "no nodes")):
        with pytest.raises(ValueError, match=message):
            TypedGraphCRFSSVM().fit(X, [[]] * len(X))


def test_types_without_nodes_or_features(rng):
    nodes, y = np.arange(4.0).reshape(2, 2), [[[0, 1], []]] * 2
    with pytest.raises(ValueError, match=r"no sample of X has nodes of type 1, .*\(0, F_t\)"):
        TypedGraphCRFSSVM().fit([([nodes, []], {})] * 2, y)
    with pytest.raises(ValueError, match="type 1 of X has 0 features, expected at least 1"):
        TypedGraphCRFSSVM().fit([([nodes, np.ones((2, 0))], {})] * 2, [[[0, 1]] * 2] * 2)
    model = TypedGraphCRFSSVM(classes=[[0, 1], ["a", "b"]], random_state=0)
    model.fit([([nodes, np.ones((0, 3))], {})] * 2, y)  # as the first error advises
    assert len(model.predict([([nodes, np.ones((2, 3))], {})])[0][1]) == 2


def test_unseen_pairs_of_types_in_prediction(rng):
    X, y = make(rng)
    model = TypedGraphCRFSSVM(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"X\[0\] has edges \(1, 1\), which were not seen in fit"):
        model.predict(put(X, 0, edges={(1, 1): [[0, 1]]}))
    # Pairs of the fit may be missing in prediction.
    assert len(model.predict(put(X, 0, edges={}))) == len(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: None, "requires y to be passed"),
        (lambda y: y[:-1], "X has 6 samples but y has 5"),
        (lambda y: [[0, 1], *y[1:]], "y[0] has labels of 2 types, expected 3"),
        (lambda y: [3, *y[1:]], "y[0] is 3"),
        (lambda y: [[[0], *y[0][1:]], *y[1:]], "X[0] has 2 nodes of type 0 but y[0][0] has 1"),
        (
            lambda y: [["ab", *y[0][1:]], *y[1:]],
            "y[0][0] must be a sequence of labels",
        ),
        (
            lambda y: [[pd.DataFrame(y[0][0]), *y[0][1:]], *y[1:]],
            "of labels, found DataFrame",
        ),
        (lambda y: [[p * 0 - 1, q, r] for p, q, r in y], "y has no labeled node of type 0"),
        (
            lambda y: [[part * 0 - 1 for part in parts] for parts in y],
            "y has no labeled node in any sample with positive weight",
        ),
    ],
)
def test_invalid_labels(rng, change, message):
    X, y = make(rng)
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        TypedGraphCRFSSVM(random_state=0).fit(X, change(y))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"inference": "cut"}, "inference must be one of"),
        ({"loss": np.ones(3)}, "loss must be one of"),
        ({"classes": [[0, 1, 2]]}, "classes must be a list with an entry for each of 3 types"),
        ({"classes": [[0, 1], None, None]}, "which is not in classes"),
        ({"class_weight": {0: 1}}, "class_weight must be a list with an entry for each of 3"),
        ({"class_weight": "even"}, "class_weight must be"),
        (
            {"class_weight": [dict.fromkeys(range(3), 0)] * 3},
            "class_weight gives every labeled node weight 0",
        ),
        ({"classes": [[0, 1, 2], [0, 1], 5]}, "classes must be a list of labels"),
        ({"bounds": np.zeros((2, 3))}, "bounds has shape (2, 3)"),
    ],
)
def test_invalid_parameters(rng, parameters, message):
    X, y = make(rng)
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        TypedGraphCRFSSVM(**parameters).fit(X, y)


def test_unsupported_combinations(rng):
    X, y = make(rng)
    model = TypedGraphCRFSSVM(random_state=0)
    with pytest.raises(TypeError, match="does not support several types of nodes"):
        LatentSSVM(model).fit(X, y)
    cyclic = put(X, 0, edges={(0, 0): ([[0, 1]], [[1, 2]]), (0, 1): [[0, 0], [1, 0]]})
    with pytest.raises(ValueError, match=r"X\[0\] has a cycle"):
        clone(model).set_params(inference="max-sum").fit(cyclic, y)


@pytest.mark.parametrize("solver", ["perceptron", "pa", "ssg"])
def test_partial_fit_in_parts_equals_one_call(rng, solver):
    X, y = make(rng, 12)
    lam = 0.1 if solver == "ssg" else "auto"
    classes = [range(K) for K, _ in SIZES]
    model = TypedGraphCRFSSVM(solver=solver, lam=lam, random_state=0)
    parts, whole = clone(model), clone(model).partial_fit(X, y, classes)
    for first in range(0, 12, 3):
        part = slice(first, first + 3)
        parts.partial_fit(X[part], y[part], classes)
    np.testing.assert_array_equal(parts.w_, whole.w_)
    with pytest.raises(ValueError, match="differs from the classes of the last call"):
        parts.partial_fit(X, y, [[0, 1, 2], [0, 1], [3]])
    with pytest.raises(ValueError, match="classes has labels of 2 types, expected 3"):
        parts.partial_fit(X, y, [[0, 1, 2], [0, 1]])
    with pytest.raises(TypeError, match="expected a list of labels for each type"):
        parts.partial_fit(X, y, iter(classes))
    named = clone(model).set_params(classes=[None, *classes[1:]])
    np.testing.assert_array_equal(named.partial_fit(X, y, classes).w_, whole.w_)
    with pytest.raises(ValueError, match=r"classes=\[0\] differs from .*, \[0, 1\]"):
        clone(named).partial_fit(X, y, [[0, 1, 2], [0], [0]])
    fewer = [(features, {(0, 0): edges[0, 0]}) for features, edges in X]
    with pytest.raises(ValueError, match=r"_pairs is .*, but earlier calls"):
        parts.partial_fit(fewer, y)


def test_classes_may_contain_labels_that_do_not_occur(rng):
    X, y = make(rng)
    model = TypedGraphCRFSSVM(classes=[[2, 1, 0, 7], None, None], random_state=0).fit(X, y)
    assert model.classes_[0].tolist() == [2, 1, 0, 7]
    assert model.coef_[0].shape == (4, 2)
    assert model.score(X, y) > 0.5


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_file_of_other_pairs_of_types(rng, tmp_path):
    first = (0, 0)
    X, y = make(rng, 8)
    X[0][1][first] = np.array([[0, 1]]), np.zeros((1, PAIRS[first]))
    model = TypedGraphCRFSSVM(
        lam=LAM, max_iter=2, tol=0, solver=MPBCFW(checkpoint=tmp_path / "fit.npz")
    )
    model.fit(X, y)
    turned = [
        (features, {**edges, first: (edges[first][0][:, ::-1], edges[first][1])})
        for features, edges in X
    ]
    with pytest.raises(ValueError, match="checkpoint"):
        model.fit(turned, y)


def test_labels_that_do_not_occur_do_not_count_in_balanced_weights(rng):
    X = [rng.standard_normal((4, 2)) for _ in range(20)]
    y = [(x[:, 0] > 0.5).astype(int) for x in X]
    count = np.bincount(np.concatenate(y))
    balanced = count.sum() / (2 * count)  # as scikit-learn's compute_class_weight

    def objective(**parameters):
        return ChainSSVM(lam=0.1, tol=1e-6, classes=[0, 1, 2], **parameters).fit(X, y).objective_

    by_label = {0: balanced[0], 1: balanced[1]}
    expected = objective(class_weight=by_label)
    assert objective(class_weight="balanced") == pytest.approx(expected, rel=1e-5)
    expected = objective(loss=[*balanced, 5.0])
    assert objective(loss="balanced") == pytest.approx(expected, rel=1e-5)
    graphs, labels = [([x], {}) for x in X], [[own] for own in y]
    typed = TypedGraphCRFSSVM(lam=0.1, classes=[[0, 1, 2]], tol=1e-6)
    expected = typed.set_params(class_weight=[by_label]).fit(graphs, labels).objective_
    found = typed.set_params(class_weight="balanced").fit(graphs, labels).objective_
    assert found == pytest.approx(expected, rel=1e-5)
