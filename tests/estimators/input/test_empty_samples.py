"""Test that fits ignore samples without nodes, and predictions for them are empty."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sstruct import (
    AlignmentSSVM,
    ChainSSVM,
    DependencySSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    LatentSSVM,
    MatchingSSVM,
    PathCV,
    Sequences,
    StructuredSVM,
    TreeSSVM,
    TypedGraphCRFSSVM,
    ssvm_path,
)
from sstruct.datasets import make_stick_figures
from sstruct.masks import bio_transitions
from sstruct.metrics import (
    chunk_f1_score,
    flat_accuracy_score,
    flat_f1_score,
    sequence_accuracy_score,
)
from sstruct.preprocessing import PerNode
from sstruct.solvers import MPBCFW
from tests.estimators.state.test_fitted_state import Sign

N = 12
RNG = np.random.default_rng(0)
LABELS = [RNG.integers(0, 2, n) for n in RNG.integers(1, 6, size=N)]
NODES = [np.eye(2)[y] + RNG.normal(0, 0.5, (len(y), 2)) for y in LABELS]
STEPS = [RNG.normal(size=(len(y) - 1, 3)) for y in LABELS]
EDGES = [np.array([(v, v + 1) for v in range(len(y) - 1)]).reshape(-1, 2) for y in LABELS]
CYCLES = [np.r_[e, [(0, len(e))]] if len(e) > 1 else e for e in EDGES]
IMAGES = [RNG.normal(size=(3, 2, 2)) for _ in range(N)]
MASKS = [(image[..., 0] > 0).astype(int) for image in IMAGES]
TYPED = [([x, x[:1, :1]], {(0, 1): [[0, 0]]}) for x in NODES]
TYPED_LABELS = [[y, y[:1]] for y in LABELS]
COLUMNS = [np.where(np.arange(len(y)) < 3, np.arange(len(y)), -1) for y in LABELS]
PAIRS = [
    RNG.normal(size=(len(y), 4, 2)) + (y[:, np.newaxis] == np.arange(4))[:, :, np.newaxis]
    for y in COLUMNS
]
SIDES = [
    {"features": x, "unmatched_rows": x[:, 0], "unmatched_columns": x[0, :, :1]} for x in PAIRS
]
STRINGS = [("ab" * len(y), "abca") for y in LABELS]
ROWS = [np.where(np.arange(2 * len(y)) < 3, np.arange(2 * len(y)), -1) for y in LABELS]
ARCS = [RNG.normal(size=(len(y), len(y) + 1, 2)) for y in LABELS]
HEADS = [np.arange(len(y)) for y in LABELS]
RELATIONS = list(zip(HEADS, LABELS))

NO_ROWS = ([], np.empty(0), np.empty((0, 2)), np.empty((0, 0)), sparse.csr_array((0, 2)))
NO_ROWS += (pd.DataFrame(), pd.DataFrame(np.empty((0, 2))))
NO_PIXELS = ([], np.empty((0, 3, 2)), np.empty((4, 0, 2)), np.empty((0, 0, 2)))
FAST = {"random_state": 0, "lam": 0.1, "max_iter": 30, "tol": 0.05}

# Estimator, X, y, and the forms of an empty sample and of its labels.
KINDS = {
    "chain": (ChainSSVM(**FAST), NODES, LABELS, NO_ROWS),
    "chain, mask": (
        ChainSSVM(transition_mask=lambda a, b: (a, b) != (None, None), **FAST),
        NODES,
        LABELS,
        NO_ROWS,
    ),
    "chain, slack": (
        ChainSSVM(rescaling="slack", loss="hamming", **FAST),
        NODES,
        LABELS,
        NO_ROWS,
    ),
    "chain, gdmm": (ChainSSVM(solver="gdmm", **FAST), NODES, LABELS, NO_ROWS),
    "chain, edge features": (
        ChainSSVM(**FAST),
        list(zip(NODES, STEPS)),
        LABELS,
        ([], ([], []), (np.empty((0, 2)), np.empty((0, 3)))),
    ),
    "graph, cut": (GraphCRFSSVM(**FAST), list(zip(NODES, CYCLES)), LABELS, NO_ROWS[:3] + ((),)),
    "graph, max-sum": (
        GraphCRFSSVM(inference="max-sum", pairwise="full", **FAST),
        list(zip(NODES, EDGES)),
        LABELS,
        (([], []), (np.empty((0, 2)), np.empty((0, 2), dtype=int))),
    ),
    "graph, fwmap": (
        GraphCRFSSVM(inference="fwmap", pairwise="full", **FAST),
        list(zip(NODES, CYCLES)),
        LABELS,
        (([], []), []),
    ),
    "graph, exact": (
        GraphCRFSSVM(inference="exact", pairwise="full", **FAST),
        list(zip(NODES, CYCLES)),
        LABELS,
        (([], []), []),
    ),
    "graph, edge features": (
        GraphCRFSSVM(pairwise="directed", **FAST),
        [(x, e, s, np.ones(len(x))) for x, e, s in zip(NODES, EDGES, STEPS)],
        LABELS,
        (([], []), ([], [], []), (np.empty((0, 2)), [], np.empty((0, 3)), [])),
    ),
    "grid": (GridCRFSSVM(**FAST), IMAGES, MASKS, NO_PIXELS),
    "grid, contrast": (GridCRFSSVM(pairwise="contrast", **FAST), IMAGES, MASKS, NO_PIXELS),
    "grid, directed": (
        GridCRFSSVM(pairwise="directed", connectivity=8, **FAST),
        IMAGES,
        MASKS,
        NO_PIXELS,
    ),
    "typed": (
        TypedGraphCRFSSVM(**FAST),
        TYPED,
        TYPED_LABELS,
        ([], ([[], []], {}), ([np.empty((0, 2)), np.empty((0, 1))], {})),
    ),
    "matching": (MatchingSSVM(**FAST), PAIRS, COLUMNS, ([], np.empty(0), np.empty((0, 0, 2)))),
    "matching, features of rows": (MatchingSSVM(**FAST), SIDES, COLUMNS, ([],)),
    "alignment": (AlignmentSSVM(**FAST), PAIRS, COLUMNS, ([], np.empty(0), np.empty((0, 0, 2)))),
    "alignment, symbols": (AlignmentSSVM(**FAST), STRINGS, ROWS, ([], ("", ""))),
    "dependency": (DependencySSVM(**FAST), ARCS, HEADS, ([], np.empty(0), np.empty((0, 1, 2)))),
    "dependency, labels": (DependencySSVM(labeled=True, **FAST), ARCS, RELATIONS, ([],)),
}
CASES = [(kind, i) for kind, case in KINDS.items() for i in range(len(case[3]))]


def with_empty(values, places, empty):
    """Return values with an empty value inserted before some positions."""
    out = []
    for i in range(len(values) + 1):
        out += [empty] * places.count(i)
        out += list(values[i : i + 1])
    return out


def quiet(function, *arguments, **keywords):
    """Call a function; return its result and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = function(*arguments, **keywords)
    return out, [str(warning.message) for warning in caught]


def of_nodes(found, places):
    """Return the results of samples with nodes; check that the others are empty."""
    at = {i + k for k, i in enumerate(sorted(places))}
    for i in at:
        parts = found[i] if isinstance(found[i], list) else [found[i]]
        assert all(np.size(part) == 0 for part in parts)
    return [found[i] for i in range(len(found)) if i not in at]


def check_same(found, expected):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        for one, other in zip(ours, theirs) if isinstance(ours, list) else [(ours, theirs)]:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind, form", CASES)
def test_empty_samples_change_neither_fits_nor_predictions(kind, form):
    estimator, X, y, forms = KINDS[kind]
    places, empty = [0, 0, 5, N], forms[form]
    if kind == "chain" and sparse.issparse(empty):
        X = [sparse.csr_array(x) for x in X]
    padded, labels = with_empty(X, places, empty), with_empty(y, places, [])
    weights = RNG.uniform(1, 2, N).tolist()
    expected = quiet(clone(estimator).fit, X, y, weights)[0]
    model, messages = quiet(clone(estimator).fit, padded, labels, with_empty(weights, places, 9.0))
    assert sum("X has 4 samples without nodes" in text for text in messages) == 1
    assert "the first is X[0]" in " ".join(messages)
    np.testing.assert_array_equal(model.w_, expected.w_)
    assert model.n_oracle_calls_ == expected.n_oracle_calls_
    assert (model.objective_, model.dual_objective_) == (
        expected.objective_,
        expected.dual_objective_,
    )
    for method in ("predict", "decision_function"):
        found = getattr(model, method)(padded)
        check_same(of_nodes(found, places), getattr(expected, method)(X))
        assert len(getattr(model, method)([])) == 0
        of_nodes(getattr(model, method)([empty, empty]), [0, 0])
    assert model.score(padded, labels) == expected.score(X, y)
    assert model.score(padded, labels, with_empty(weights, places, 9.0)) == pytest.approx(
        expected.score(X, y, weights), rel=1e-12
    )
    with pytest.raises(ValueError, match="no labeled node"):
        model.score([empty], [[]])
    if kind != "typed":
        first = np.ravel(y[0])
        known = [np.where(np.arange(first.size) == 0, first, -1).reshape(np.shape(y[0]))]
        known += [None] * (N - 1)
        found = model.predict(padded, with_empty(known, places, []))
        check_same(of_nodes(found, places), expected.predict(X, known))
        assert len(model.predict([], [])) == 0
        of_nodes(model.predict([empty, empty], [None, []]), [0, 0])


@pytest.mark.parametrize("kind", ["chain", "graph, cut", "matching", "alignment", "dependency"])
def test_fits_require_a_sample_with_nodes(kind):
    with pytest.raises(ValueError, match="X has no nodes: all samples are empty"):
        clone(KINDS[kind][0]).fit([[], []], [[], []])


@settings(max_examples=40, deadline=None)
@given(
    places=st.lists(st.integers(0, N), min_size=1, max_size=6),
    data=st.data(),
    hidden=st.sets(st.tuples(st.integers(0, N - 1), st.integers(0, 5))),
)
def test_empty_samples_among_partly_labeled_chains(places, data, hidden):
    y = [labels.copy() for labels in LABELS]
    for i, t in hidden:
        if t < len(y[i]) and (i, t) != (0, 0):
            y[i][t] = -1
    X = [np.array(x) for x in NODES]
    model = ChainSSVM(ignore_label=-1, classes=[0, 1], **FAST)
    expected = clone(model).fit(X, y)
    empty = data.draw(st.sampled_from([[], np.empty((0, 2)), np.empty((0, 0))]))
    padded, labels = with_empty(X, places, empty), with_empty(y, places, [])
    found, messages = quiet(clone(model).fit, padded, labels)
    n = f"{len(places)} samples" if len(places) > 1 else "1 sample"
    first = min(places)
    assert messages == [f"X has {n} without nodes, ignored in training; the first is X[{first}]"]
    np.testing.assert_array_equal(found.w_, expected.w_)
    sequences, _ = quiet(clone(model).fit, Sequences.from_list(padded), Sequences.from_list(labels))
    np.testing.assert_array_equal(sequences.w_, expected.w_)


def test_transition_masks_hold_with_empty_sequences():
    tags = [["B-x", "I-x"], ["O", "I-x"]]
    X = [np.ones((2, 1))] * 2
    for places in ([0], [1], [2], [0, 0], [2, 2], [0, 1, 2]):
        padded, labels = with_empty(X, places, []), with_empty(tags, places, [])
        i = labels.index(tags[1])
        with pytest.raises(ValueError, match=rf"y\[{i}\] goes from 'O' to 'I-x' at node 1"):
            ChainSSVM(transition_mask=bio_transitions).fit(padded, labels)
        labels[i] = ["I-x", "O"]
        with pytest.raises(ValueError, match=rf"y\[{i}\] starts with 'I-x'"):
            ChainSSVM(transition_mask=bio_transitions).fit(padded, labels)


def test_errors_have_the_index_among_all_samples():
    padded, labels = with_empty(NODES, [0, 3], []), with_empty(LABELS, [0, 3], [])
    padded[6] = padded[6] * np.nan
    with pytest.raises(ValueError, match=r"X\[6\] contains NaN .* at node 0"):
        ChainSSVM().fit(padded, labels)
    pairs = list(zip(NODES, STEPS))
    i = next(i for i in range(6, N) if len(STEPS[i]) > 1)
    pairs[i] = pairs[i][0], np.vstack([STEPS[i][:1], STEPS[i][1:] * np.inf])
    with pytest.raises(ValueError, match=rf"X\[{i + 2}\] at step 1 contain"):
        ChainSSVM().fit(with_empty(pairs, [0, 3], []), labels)
    graphs = with_empty(list(zip(NODES, CYCLES)), [0, 3], ([], []))
    model = GraphCRFSSVM(inference="max-sum").fit(list(zip(NODES, EDGES)), LABELS)
    first = next(i for i, (_, edges) in enumerate(graphs) if len(edges) > 2)
    with pytest.raises(ValueError, match=rf"X\[{first}\] has a cycle"):
        model.predict(graphs)
    with pytest.raises(ValueError, match=r"X\[0\] has 0 nodes but y\[0\] has 1 labels"):
        ChainSSVM().fit([[], NODES[0]], [[0], LABELS[0]])
    model = ChainSSVM(**FAST).fit(NODES, LABELS)
    with pytest.raises(ValueError, match=r"X\[1\] has 3 features, expected 2"):
        model.predict([NODES[0], np.empty((0, 3))])


@pytest.mark.parametrize(
    "estimator, X",
    [
        (ChainSSVM(**FAST), np.empty((0, 3, 2))),
        (ChainSSVM(**FAST), np.empty((4, 0, 2))),
        (GridCRFSSVM(**FAST), np.empty((0, 3, 2, 2))),
        (GridCRFSSVM(**FAST), np.empty((3, 2, 0, 2))),
    ],
)
def test_arrays_without_nodes(estimator, X):
    samples, y = (IMAGES, MASKS) if X.ndim == 4 else (NODES, LABELS)
    model = quiet(estimator.fit, samples, y)[0]
    assert model.predict(X).shape == X.shape[:-1]
    assert model.decision_function(X).shape == (*X.shape[:-1], 2)
    with pytest.raises(ValueError, match="X has shape"):
        clone(estimator).fit(X, np.empty(X.shape[:-1], dtype=int))
    scaler = PerNode(StandardScaler()).fit(samples)
    assert scaler.transform(X).shape == X.shape


@pytest.mark.parametrize(
    "X", [(), np.array([]), np.empty(0, dtype=object), pd.Series([], dtype=object)]
)
def test_all_kinds_of_no_samples(X):
    model = ChainSSVM(**FAST).fit(NODES, LABELS)
    assert len(model.predict(X)) == 0
    assert len(model.predict(Sequences.from_list(NODES)[:0])) == 0
    with pytest.raises(ValueError, match="X is empty"):
        clone(model).fit(X, [])


def test_rankings_of_an_empty_sequence_have_the_empty_labeling():
    model = ChainSSVM(**FAST).fit(NODES, LABELS)
    labels, scores = model.predict_top_k([[], NODES[1], np.empty((0, 2))], 3)
    expected = model.predict_top_k(NODES[1:2], 3)
    np.testing.assert_array_equal(labels[1], expected[0][0])
    for i in (0, 2):
        assert labels[i].shape == (1, 0)
        assert scores[i].tolist() == [0.0]
    assert [len(part) for part in model.predict_top_k([], 3)] == [0, 0]


def test_early_stopping_holds_out_samples_with_nodes():
    model = ChainSSVM(solver=MPBCFW(early_stopping=True, validation_fraction=0.4), **FAST)
    places = [0, 2, 2, 7]
    padded, labels = with_empty(NODES, places, []), with_empty(LABELS, places, [])
    expected = clone(model).fit(NODES, LABELS)
    found, messages = quiet(clone(model).fit, padded, labels)
    assert len(messages) == 1
    assert "4 samples without nodes" in messages[0]
    np.testing.assert_array_equal(found.w_, expected.w_)
    given = {
        "X_val": with_empty(NODES[8:], [0, 2], []),
        "y_val": with_empty(LABELS[8:], [0, 2], []),
    }
    own = clone(model).fit(NODES[:8], LABELS[:8], X_val=NODES[8:], y_val=LABELS[8:])
    np.testing.assert_array_equal(clone(model).fit(NODES[:8], LABELS[:8], **given).w_, own.w_)
    with pytest.raises(ValueError, match=r"validation samples .* no labeled node"):
        clone(model).fit(NODES, LABELS, X_val=[[], []], y_val=[[], []])


def test_warm_starts_count_empty_samples():
    places = [0, 4]
    padded, labels = with_empty(NODES, places, []), with_empty(LABELS, places, [])
    model = ChainSSVM(**{**FAST, "warm_start": True, "tol": 0.5})
    quiet(model.fit, padded, labels)
    more = [*padded, [], NODES[0]], [*labels, [], LABELS[0]]
    _, messages = quiet(model.set_params(tol=0.01).fit, *more)
    assert "3 samples without nodes" in messages[0]
    other = [*padded[1:], NODES[0], NODES[0]], [*labels[1:], LABELS[0], LABELS[0]]
    with pytest.raises(ValueError, match="warm_start"):
        quiet(model.fit, *other)


def test_partial_fit_ignores_empty_samples():
    model, expected = (ChainSSVM(solver="perceptron") for _ in range(2))
    expected.partial_fit(NODES, LABELS, classes=[0, 1])
    for part in (slice(0, 5), slice(5, N)):
        X, y = [[], *NODES[part]], [[], *LABELS[part]]
        _, messages = quiet(model.partial_fit, X, y, classes=[0, 1])
        assert messages == ["X has 1 sample without nodes, ignored in training; the first is X[0]"]
    np.testing.assert_array_equal(model.w_, expected.w_)
    assert model.n_oracle_calls_ == N


@pytest.mark.parametrize("lams", [None, [1.0, 0.1]])
@pytest.mark.parametrize("refit", [True, False])
def test_searches_warn_once_about_all_empty_samples(lams, refit):
    places = [0, 3, 3, 9]
    padded, labels = with_empty(NODES, places, []), with_empty(LABELS, places, [])
    search = PathCV(ChainSSVM(**FAST), cv=3, lams=lams, refit=refit, eps=0.5)
    search, messages = quiet(search.fit, padded, labels)
    assert [text for text in messages if "nodes" in text] == [
        "X has 4 samples without nodes, ignored in training; the first is X[0]"
    ]
    if refit:
        assert len(search.predict([[], NODES[0]])[0]) == 0
    path, messages = quiet(ssvm_path, ChainSSVM(**FAST), padded, labels, eps=0.5)
    assert sum("4 samples without nodes" in text for text in messages) == 1
    expected = ssvm_path(ChainSSVM(**FAST), NODES, LABELS, eps=0.5)
    np.testing.assert_array_equal(path.lams_, expected.lams_)


@pytest.mark.parametrize("n_states", [1, 2])
@pytest.mark.parametrize("kind", ["chain", "graph, cut"])
def test_latent_fits_warn_once_about_all_empty_samples(kind, n_states):
    estimator, X, y, _ = KINDS[kind]
    estimator = clone(estimator).set_params(ignore_label=-1)
    y = [np.where(np.arange(len(labels)) == 1, -1, labels) for labels in y]
    model = LatentSSVM(estimator, states_per_label=n_states, n_init=2, random_state=0)
    expected, before = quiet(clone(model).fit, X, y)
    places = [0, 3, N]
    padded = with_empty(X, places, []), with_empty(y, places, [])
    found, messages = quiet(clone(model).fit, *padded, with_empty([1.0] * N, places, 2.0))
    first = "X has 3 samples without nodes, ignored in training; the first is X[0]"
    assert messages == [first, *before]
    np.testing.assert_array_equal(found.estimator_.w_, expected.estimator_.w_)
    assert found.score(*padded) == expected.score(X, y)
    check_same(of_nodes(found.predict(padded[0]), places), expected.predict(X))
    check_same(of_nodes(found.predict(*padded), places), expected.predict(X, y))
    for known in ([], [[]] * 2):
        assert len(found.predict(known, known)) == len(known)


def test_predictions_for_empty_list_are_empty():
    figures = make_stick_figures(6, random_state=0)
    model = TreeSSVM(parents=figures.parents, lam=0.1, random_state=0)
    model.fit(figures.data, figures.target)
    assert [len(model.predict([])), len(model.predict([], []))] == [0, 0]
    assert len(model.decision_function([])) == 0

    own = StructuredSVM(Sign(), random_state=0).fit([[2.0], [-1.0]], [1, -1])
    assert len(own.predict([])) == 0


def test_scalers_before_a_model_keep_empty_samples():
    model = make_pipeline(PerNode(StandardScaler()), ChainSSVM(**FAST))
    expected = clone(model).fit(NODES, LABELS).predict(NODES)
    padded, labels = with_empty(NODES, [0, N], []), with_empty(LABELS, [0, N], [])
    quiet(model.fit, padded, labels)
    check_same(of_nodes(model.predict(padded), [0, N]), expected)
    assert len(model.predict([])) == 0
    assert len(model.predict([[]])[0]) == 0
    frames = [pd.DataFrame(x, columns=["a", "b"]) for x in NODES]
    for empty in ([], pd.DataFrame(), frames[0].iloc[:0]):
        named = make_pipeline(PerNode(StandardScaler()), ChainSSVM(**FAST))
        quiet(named.fit, with_empty(frames, [0], empty), with_empty(LABELS, [0], []))
        assert named[-1].feature_names_in_.tolist() == ["a", "b"]
        check_same(of_nodes(named.predict(with_empty(frames, [0], empty)), [0]), expected)


@pytest.mark.parametrize("score", [flat_accuracy_score, flat_f1_score, sequence_accuracy_score])
def test_metrics_ignore_empty_samples(score):
    true, predicted = [["a", "b"], ["b"]], [["a", "a"], ["b"]]
    padded = with_empty(true, [0, 2], []), with_empty(predicted, [0, 2], np.empty(0))
    assert score(*padded) == score(true, predicted)
    weights = [1.0, 3.0]
    expected = score(true, predicted, sample_weight=weights)
    assert score(*padded, sample_weight=with_empty(weights, [0, 2], 2.0)) == expected


def test_chunks_of_empty_sequences():
    assert chunk_f1_score([[], ["B-x"]], [[], ["B-x"]]) == 1.0
    assert chunk_f1_score([], []) == chunk_f1_score([[]], [[]]) == 0.0
