"""Test edge features of ChainSSVM against their definition, and their formats."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sstruct import ChainSSVM, GraphCRFSSVM, Sequences
from sstruct._estimators.core.fit import prepare_training
from sstruct._estimators.core.training import Samples
from sstruct._input.labels import object_array
from sstruct._problems.chain._sparse import decode_sparse, sparse_hinges
from sstruct._problems.core._rows import csr_arrays
from sstruct._solvers.gdmm._chain_pass import ChainFactors
from tests.estimators.equal import equal
from tests.reference import brute_force
from tests.reference.dual_qp import check_optimum

MASK = np.array([[True, True, False], [True, False, True], [True, True, True]])


@pytest.fixture
def chains(tiny_chains, rng):
    """Return the tiny chains with 2 features of each transition."""
    X, y = tiny_chains
    return [(x, rng.standard_normal((len(x) - 1, 2))) for x in X], y


def terms(X, y, model, *arguments, **options):
    return brute_force.blocks(
        [x for x, _ in X], y, model, *arguments, edge_features=[f for _, f in X], **options
    )


def fit(X, y, sample_weight=None, **parameters):
    parameters = {"lam": 0.1, "tol": 1e-8, "max_iter": 20_000, "random_state": 0, **parameters}
    return ChainSSVM(pairwise_scale=1, **parameters).fit(X, y, sample_weight)


@pytest.mark.parametrize("masked", [False, True], ids=["free", "masked"])
@pytest.mark.parametrize("switches", list(product([True, False], repeat=3)), ids=str)
def test_optimum_matches_qp(chains, switches, masked):
    X, y = chains
    if masked:
        y = [np.resize([0, 1, 0], len(labels)) for labels in y]
        y[-1][:] = [0, 0]
    reference = brute_force.Model(3, *switches, MASK if masked else None)
    names = ("fit_intercept", "boundaries", "transitions")
    model = fit(
        X, y, classes=[0, 1, 2], transition_mask=MASK if masked else None,
        **dict(zip(names, switches, strict=True)),
    )  # fmt: skip
    check_optimum(model, terms(X, y, reference))
    assert model.edge_feature_coef_.shape == (2, 3, 3)
    np.testing.assert_array_equal(model.w_[-18:], model.edge_feature_coef_.ravel())
    assert model.edge_feature_coef_.any()
    assert model.edge_coef_.any() == switches[2]


@pytest.mark.parametrize("loss", ["hamming", "balanced"])
@pytest.mark.parametrize("lam", [0.02, 0.5])
def test_unknown_labels_and_weights(chains, rng, lam, loss):
    # Chains are cut at unknown labels, which removes the transitions to and from them.
    X, y = chains
    y = [np.where(rng.random(len(labels)) < 0.3, -1, labels) for labels in y]
    y[2], y[5] = np.array([0, -1, 1]), np.array([2, 0, -1])
    reference = brute_force.Model(3)
    weights = rng.integers(0, 3, len(X)).astype(float)
    weights[2] = 1
    model = fit(X, y, weights, lam=lam, loss=loss, ignore_label=-1, classes=[0, 1, 2])
    check_optimum(model, terms(X, y, reference, loss, weights))
    of_nodes = [rng.choice([0.5, 1.0, 2.0], len(labels)) for labels in y]
    model = fit(X, y, of_nodes, lam=lam, loss=loss, ignore_label=-1, classes=[0, 1, 2])
    check_optimum(model, terms(X, y, reference, loss, node_weights=of_nodes))


@pytest.mark.filterwarnings("ignore:.*no labeling was found")
@pytest.mark.parametrize("search", ["auto", "bisecting", "binary"])
def test_slack_rescaling(chains, search):
    # The hinge losses by enumeration: max_y L(y) (1 - <w, psi(y)>).
    X, y = chains
    model = fit(X, y, rescaling="slack", search=search, loss="hamming", tol=1e-6)
    expected = 0.5 * model.lam_ * model.w_ @ model.w_ + sum(
        block.weight * max(0.0, (block.loss * (1 - block.psi @ model.w_)).max())
        for block in terms(X, y, brute_force.Model(3), "hamming")
    )
    assert model.dual_objective_ <= expected <= model.objective_ * (1 + 1e-9)
    if search == "auto":
        assert model.inference_ == "viterbi, error table (exact)"
        assert model.objective_ == pytest.approx(expected, rel=1e-9)
        assert model.converged_


FORMS = {
    "tuple": tuple,
    "object array": object_array,
    "array of pairs": lambda X: np.array([*X, (None, None)], dtype=object)[:-1],
    "series": pd.Series,
    "lists": lambda X: [(x.tolist(), f.tolist()) for x, f in X],
    "sequences": Sequences.from_list,
    "sparse nodes": lambda X: [(sparse.csr_matrix(x), f) for x, f in X],
    "sparse": lambda X: [(sparse.csr_array(x), sparse.csc_array(f)) for x, f in X],
    "sparse sequences": lambda X: Sequences.from_list(FORMS["sparse"](X)),
    "frames": lambda X: [(x, pd.DataFrame(f, columns=["a", "b"])) for x, f in X],
    "flat": lambda X: Sequences.from_lengths(
        np.vstack([x for x, _ in X]),
        [len(x) for x, _ in X],
        edge_features=np.vstack([f for _, f in X]),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_input_forms_agree(chains, form):
    X, y = chains
    expected = fit(X, y)
    given = FORMS[form](X)
    model = fit(given, y)
    if "sparse" in form:  # sums are in another order
        np.testing.assert_allclose(model.w_, expected.w_, rtol=0, atol=1e-5)
    else:
        np.testing.assert_array_equal(model.w_, expected.w_)
    assert equal(model.predict(given), expected.predict(X))
    assert model.n_edge_features_in_ == 2
    single = fit([(x.astype("f4"), f.astype("f4")) for x, f in X], y)
    np.testing.assert_allclose(single.w_, expected.w_, rtol=0, atol=1e-5)


def test_chains_without_edge_features(tiny_chains):
    X, y = tiny_chains
    model = fit(X, y)
    assert model.edge_coef_.shape == (3, 3)
    assert model.edge_feature_coef_.shape == (0, 3, 3)
    assert not hasattr(model, "n_edge_features_in_")
    assert not hasattr(model, "edge_feature_names_in_")
    assert set(model.to_frame().kind) == {"coef", "intercept", "start", "end", "edge"}
    # Features that are always 0 have no weight, and change nothing else.
    zeros = fit([(x, np.zeros((len(x) - 1, 1))) for x in X], y)
    assert not zeros.edge_feature_coef_.any()
    np.testing.assert_allclose(zeros.w_[:-9], model.w_, rtol=0, atol=1e-5)


def test_fitting_again_removes_attributes_of_edge_features(chains):
    X, y = chains
    model = fit(FORMS["frames"](X), y)
    model.fit([x for x, _ in X], y)
    assert not hasattr(model, "n_edge_features_in_")
    assert not hasattr(model, "edge_feature_names_in_")
    assert model.edge_feature_coef_.shape == (0, 3, 3)


def test_a_column_may_be_named_edge_features(rng):
    frame = pd.DataFrame({"edge_features": rng.standard_normal(20)})
    model = ChainSSVM(random_state=0).fit(frame, [0, 1] * 10)
    assert model.feature_names_in_.tolist() == ["edge_features"]


def test_names(chains):
    X, y = chains
    assert fit(X, y).to_frame().query("kind == 'edge_feature'").feature.unique().tolist() == [
        "edge0",
        "edge1",
    ]
    frames = FORMS["frames"](X)
    model = fit(frames, y)
    assert model.edge_feature_names_in_.tolist() == ["a", "b"]
    frame = model.to_frame()
    assert (frame.weight == model.w_).all()
    row = frame.query(
        "kind == 'edge_feature' and feature == 'b' and label == 2 and next_label == 0"
    )
    assert row.weight.item() == model.edge_feature_coef_[1, 2, 0]
    named = Sequences.from_list(frames)
    assert fit(named, y).edge_feature_names_in_.tolist() == ["a", "b"]
    model.predict(X)
    wrong = [(x, f[["b", "a"]]) for x, f in frames]
    for given_ in (wrong, Sequences.from_list(wrong)):
        with pytest.raises(ValueError, match=r"edge features of X are .*'b', 'a'"):
            model.predict(given_)
    with pytest.raises(ValueError, match=r"columns of the edge features of X\[13\] are"):
        model.predict([*frames[:-1], wrong[-1]])


def changed(X, i, part):
    return [*X[:i], part(*X[i]), *X[i + 1 :]]


BAD = {
    "too few": (
        lambda x, f: (x, f[1:]),
        ValueError,
        r"X\[3\] have shape \(2, 2\), expected 3 rows",
    ),
    "too many": (lambda x, f: (x, [*f, f[0]]), ValueError, r"consecutive nodes \(4 nodes\)"),
    "no rows": (lambda x, f: (x, []), ValueError, r"X\[3\] have shape \(0,\), expected 3 rows"),
    "wide": (lambda x, f: (x, np.c_[f, f]), ValueError, r"X\[3\] has 4 edge features, expected 2"),
    "flat": (lambda x, f: (x, f[:, 0]), ValueError, r"X\[3\] have shape \(3,\)"),
    "NaN": (lambda x, f: (x, f * [1, np.nan]), ValueError, r"X\[3\] at step 0 contain NaN"),
    "huge": (
        lambda x, f: (x, f * [[1], [1], [1e200]]),
        ValueError,
        r"at step 2 contain .*, expected at most 1e\+100",
    ),
    "strings": (lambda x, f: (x, [["a", "b"]] * 3), ValueError, r"edge features of X\[3\] must be"),
    "complex": (
        lambda x, f: (x, f * 1j),
        TypeError,
        r"edge features of X\[3\] must be an array of",
    ),
    "sparse": (lambda x, f: (x, sparse.csr_array(f)), TypeError, "has sparse and dense arrays"),
    "alone": (lambda x, f: x, TypeError, r"X\[3\] is ndarray, expected a tuple \(features, edge"),
    "graph": (lambda x, f: (x, f, f), TypeError, r"X\[3\] is a tuple of 3 parts.*GraphCRFSSVM"),
    "nodes": (lambda x, f: (x[:0], f), ValueError, r"of X\[3\] have shape .* expected 0 rows"),
}


@pytest.mark.parametrize("kind", BAD)
def test_error_names_sample_with_invalid_edge_features(chains, kind):
    X, y = chains
    change, error, message = BAD[kind]
    wrong = changed(X, 3, change)
    model = ChainSSVM(random_state=0)
    with pytest.raises(error, match=message):
        model.fit(wrong, y)
    assert not hasattr(model, "classes_")
    model.fit(X, y)
    with pytest.raises(error, match=message):
        model.predict(wrong)


def test_prediction_requires_the_edge_features_of_the_fit(chains):
    X, y = chains
    nodes = [x for x, _ in X]
    with_edges, without = fit(X, y), fit(nodes, y)
    for given_ in (nodes, X[0], Sequences.from_list(nodes)):
        with pytest.raises(
            ValueError, match="X has no edge features, expected 2: each sequence is"
        ):
            with_edges.predict(given_)
    for given_ in (X, Sequences.from_list(X)):
        with pytest.raises(ValueError, match="X has edge features, which were not seen in fit"):
            without.predict(given_)
    wide = [(x, np.c_[f, f]) for x, f in X]
    for given_ in (wide, Sequences.from_list(wide)):
        with pytest.raises(ValueError, match="4 edge features, expected 2"):
            with_edges.predict(given_)
    none = [(x, f[:, :0]) for x, f in X]
    for given_ in (none, Sequences.from_list(none)):
        with pytest.raises(ValueError, match="X has 0 edge features, expected at least 1"):
            ChainSSVM().fit(given_, y)
    single = [(x[:1], []) for x, _ in X]
    assert len(with_edges.predict(single)) == len(X)
    with pytest.raises(ValueError, match="no sequence of X has an edge"):
        ChainSSVM().fit(single, [labels[:1] for labels in y])
    with pytest.raises(TypeError, match="X has edge features, which GraphCRFSSVM does not use"):
        GraphCRFSSVM().fit(Sequences.from_list(X), y)


def test_gdmm_is_not_supported(chains, rng):
    X, y = chains
    with pytest.raises(ValueError, match="edge features are not supported by solver='gdmm'"):
        ChainSSVM(solver="gdmm").fit(X, y)
    # Decoders for one table of transitions reject problems with several, too.
    problem = prepare_training(ChainSSVM()._structure(), Samples(X, y)).problem
    w = np.ones(problem.n_weights)
    assert sparse_hinges(problem, w) is None
    with pytest.raises(
        ValueError, match="sparse decoding does not support masks or features of transitions"
    ):
        decode_sparse(problem, w, csr_arrays(np.eye(3)))
    with pytest.raises(ValueError, match="GDMM does not support features of transitions"):
        ChainFactors(problem, 1.0, np.full(14, 1 / 14), 1.0, 1, 0)
    K = 1000
    X = [(rng.standard_normal((2, 2)), rng.standard_normal((1, 1)))]
    model = ChainSSVM(classes=np.arange(K), max_iter=1, tol=10.0, random_state=0)
    assert model.fit(X, [[0, 1]]).solver_ == "mp-bcfw"


def test_warm_starts_need_the_same_edge_features(chains):
    X, y = chains
    model = ChainSSVM(lam=0.05, warm_start=True, random_state=0).fit(X, y)
    other = changed(X, 3, lambda x, f: (x, -f))
    for given_ in (other, [x for x, _ in X], [(x, f[:, :1]) for x, f in X]):
        with pytest.raises(ValueError, match="warm_start continues from the last fit"):
            model.fit(given_, y)


def test_a_number_in_place_of_no_edge_features():
    with pytest.raises(ValueError, match=r"X\[0\] have shape \(\), expected 0 rows"):
        ChainSSVM().fit([(np.ones((1, 1)), 0.5)], [[0]])
